"""The table of options: a row holds everything about an option but its type and its methods.

Those two are in `schemagen.options`, where type checkers read them. From the rows follow the checks of values
(`checked_values`), the advice about names of other libraries (`FOREIGN`), and the tables of ``docs/options.md``.

transformers checks some values where they are used, some not at all, and does not accept an ``int`` as a ``float``. So
each value is checked here, before the model works: numbers of any type become those of Python, sequences become lists,
and an invalid value is an error that names the option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_flag, check_seed
from schemagen.grammar.reading import check_property_order, check_whitespace
from schemagen.options import DecodingOptions, names_of
from schemagen.options.draft import as_draft
from schemagen.options.reasoning import as_reasoning
from schemagen.options.values import (
    CUTOFF,
    POSITIVE_SHARE,
    SHARE,
    a_number,
    an_object,
    as_biases,
    as_callables,
    as_count,
    as_early_stopping,
    as_name,
    as_sequences,
    as_temperature,
    as_texts,
    as_token_ids,
    check_show_schema,
    check_tokenization,
)
from schemagen.types.checks import Checker
from schemagen.writers import check_format

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.options.values import Reader


@dataclass(frozen=True, slots=True)
class Option:
    """A row of the table.

    Attributes:
        name: The name of the option.
        meaning: One sentence.
        read: Returns a value in the form that is used, or raises an `OptionError`; None if the method itself reads it.
        default: The default in words; empty if transformers or the model has one.
        elsewhere: The names of the option in other libraries.
        advice: The advice to users of these names; empty for "it is called ...".
        takes_none: Whether None means that the option is not given.
    """

    name: str
    meaning: str
    read: Reader | None = None
    default: str = ""
    elsewhere: tuple[str, ...] = ()
    advice: str = ""
    takes_none: bool = True


def _flag(fix: str = "give True or False") -> Reader:
    return lambda name, value: check_flag(name, value, fix=fix)


def _checker(_: str, value: Any) -> Checker:
    return value if isinstance(value, Checker) else Checker(value)


def _checked(check: Callable[[Any], Any]) -> Reader:
    """Return a reader that leaves the value as it is."""

    def read(_: str, value: Any) -> Any:
        check(value)
        return value

    return read


def _seed(_: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(check_seed(each) for each in value)
    return check_seed(value)


_BUDGET = "the budget is called max_new_tokens"
_CONFIG = "give each option by its name, lm(prompt, spec, **options), or give transformers.GenerationConfig(**options)"
_END = (
    "leave it out: the constraint says where the text ends (stop_strings= of transformers ends it early, which is an error "
    "unless the type lets it end there)"
)
_TOKENIZER = an_object(
    ("get_vocab", "decode"), "give a tokenizer of transformers, as AutoTokenizer.from_pretrained returns"
)
_MODEL = an_object(
    ("generate", "config"),
    "give a model of transformers, as AutoModelForCausalLM.from_pretrained returns, or lm.model",
)
#: Beyond it float32 overflows.
_LONGEST = 50
#: The budget if neither `max_new_tokens` nor `max_length` is given.
DEFAULT_MAX_NEW_TOKENS = 512

_ROWS = (
    Option(
        "max_new_tokens", "Maximum number of tokens of an answer", as_count(1), str(DEFAULT_MAX_NEW_TOKENS),
        ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "n_predict", "max_gen_len"), _BUDGET,
    ),
    Option("max_length", "Maximum number of tokens of prompt and answer together", as_count(1)),
    Option("min_new_tokens", "Minimum number of tokens of an answer", as_count(0)),
    Option(
        "max_time", "Seconds after which the answer is cut off, which is an error", a_number(above=0, finite=False),
        elsewhere=("timeout",), advice="transformers has max_time=, in seconds; half a text is an error then",
    ),
    Option("do_sample", "Whether tokens are drawn at random", _flag(), "False"),
    Option("temperature", "Divides the logits before sampling; 0 is greedy", as_temperature),
    Option("top_k", "Sample from this many of the likeliest tokens", as_count(0), elsewhere=("top_n",)),
    Option("top_p", "Sample from the likeliest tokens that together have this probability", SHARE),
    Option("min_p", "Sample from tokens with at least this share of the highest probability", SHARE),
    Option("typical_p", "Sample from tokens of typical information that together have this probability", POSITIVE_SHARE),
    Option("epsilon_cutoff", "Sample from tokens of at least this probability", CUTOFF),
    Option("eta_cutoff", "The same, with a bound that follows the entropy", CUTOFF),
    Option("num_beams", "Beams of beam search", as_count(1), elsewhere=("beam_width", "beam_size")),
    Option(
        "length_penalty", "Above 0, beams prefer long texts, below 0 short ones", a_number(least=-_LONGEST, most=_LONGEST)
    ),
    Option("early_stopping", "When beam search ends", as_early_stopping),
    Option(
        "repetition_penalty", "Above 1, tokens that are in the text already become unlikely", a_number(above=0),
        elsewhere=("frequency_penalty", "presence_penalty", "repeat_penalty"), advice="transformers has repetition_penalty=",
    ),
    Option("no_repeat_ngram_size", "Runs of this many tokens occur at most once", as_count(0)),
    Option("bad_words_ids", "Sequences of tokens that must not occur", as_sequences),
    Option(
        "sequence_bias", "Sequences of tokens, and the numbers to add to their logits", as_biases,
        elsewhere=("logit_bias",), advice="transformers has sequence_bias=",
    ),
    Option("suppress_tokens", "Tokens that must not occur", as_token_ids),
    Option("penalty_alpha", "Contrastive search", SHARE),
    Option("guidance_scale", "Classifier-free guidance", a_number()),
    Option("assistant_model", "A smaller model that proposes tokens", _MODEL),
    Option("prompt_lookup_num_tokens", "Tokens that are proposed from the prompt at a time", as_count(1)),
    Option(
        "stop_strings", "Texts that end the answer; an error, unless the type lets it end there", as_texts,
        elsewhere=("stop", "stop_sequences", "stop_words", "stop_at", "stop_token_ids"), advice=_END,
    ),
    Option("tokenizer", "The tokenizer of the model, if not that of ``lm``, for the options that need one", _TOKENIZER),
    Option("assistant_tokenizer", "The tokenizer of the assistant, if it has another", _TOKENIZER),
    Option("use_cache", "Whether keys and values are kept", _flag(), "True"),
    Option("cache_implementation", "How they are kept", as_name),
    Option(
        "generation_config", "An object with any of these options, and all others that transformers has",
        an_object(("from_model_config", "max_length"), _CONFIG),
    ),
    Option("logits_processor", "Further processors; the constraint comes after them", as_callables("processor")),
    Option("stopping_criteria", "Further reasons to cut the answer off", as_callables("criterion")),
    Option(
        "streamer", "An object that receives the tokens",
        an_object(("put", "end"), "give an object with put(tokens) and end(), as transformers.TextStreamer"),
    ),
    Option(
        "whitespace", "Where JSON may have whitespace, as for `schemagen.compile`; a compiled grammar has its own",
        _checked(check_whitespace), '"flexible"', takes_none=False,
    ),
    Option(
        "property_order", "The order of keys, as for `schemagen.compile`; a compiled grammar has its own",
        _checked(check_property_order), '"schema"', takes_none=False,
    ),
    Option(
        "as_", "How the value is written, as for `schemagen.compile`; a compiled grammar has its own",
        _checked(check_format), '"json"', ("output_format",), takes_none=False,
    ),
    Option(
        "reasoning", "Whether the model thinks before it answers, and in how many tokens", _checked(as_reasoning), "False",
        ("enable_thinking", "thinking", "think", "reasoning_effort", "thinking_budget"),
    ),
    Option(
        "draft", "Whether the model writes a free draft before it answers, and in how many tokens", _checked(as_draft), "False",
        ("scratchpad", "cot", "chain_of_thought"),
    ),
    Option(
        "loop_guard", "Whether text that repeats itself becomes unlikely, where the answer could end instead", _flag(),
        "False", ("repetition_detection", "dry_multiplier"),
    ),
    Option("prefer_length", "Number of tokens after which tokens that lengthen the answer become unlikely", as_count(1)),
    Option(
        "show_schema", 'In the prompt: True, "shape", "example", "placeholders", "json_schema", "typescript"; False',
        _checked(check_show_schema), "True", takes_none=False,
    ),
    Option(
        "chat_template", "Whether the chat template of the tokenizer is used, if there is one",
        _flag("give True or False; for a template of your own set lm.tokenizer.chat_template"), "True", takes_none=False,
    ),
    Option(
        "retries", "How often to ask again, with the reasons, when a validator refuses the value or the arguments",
        as_count(0, most=None), "0", ("max_retries", "num_retries"), takes_none=False,
    ),
    Option(
        "tries", "How many values of a field validators may refuse while the text is written, before the field around it is "
        "written again; 1 to validate the whole at its end", as_count(1, most=None), "1", takes_none=False,
    ),
    Option(
        "checker", "A `schemagen.Checker`, or a function, that may refuse each token of the answer", _checker, "none",
    ),
    Option(
        "tokenization", '"any" for all tokens that spell a valid answer; "canonical" for those that the tokenizer writes',
        _checked(check_tokenization), '"any"', takes_none=False,
    ),
    Option(
        "confidence", "Whether to record how sure the model is of each field", _flag(), "False", takes_none=False,
    ),
    Option(
        "seed", "Makes sampling reproducible; for many rows, a list, or a number to add the row's index to", _seed, "none",
        ("random_state", "random_seed"),
    ),
    Option(
        "heal", "Whether the answer may share a token with the end of the prompt",
        _flag("give True or False; the number of tokens to generate again is chosen for you"), "False", takes_none=False,
    ),
    Option("batch_size", "Rows that the model works on at a time, at most", as_count(1, most=None), "what fits"),
    Option(
        "window", "Number of prompts to read and answer before reading the next ones", as_count(1, most=None),
        "eight batches, then more",
    ),
    Option("progress", "Whether there is a progress bar", None, "on a terminal"),
    Option("partials", "Whether to yield a `Snapshot` after each step that changes it", _flag(), "False", takes_none=False),
    Option("profile", "The wire format, unless the chat template determines it", None, "that of the template"),
    Option("tool_choice", "The tools that may be called in the first step", None, '"auto"'),
    Option("parallel", "Whether one answer may have several calls", None, "False", ("parallel_tool_calls",)),
    Option("max_steps", "Maximum number of answers of the model, the last one included", None, "8"),
    Option("timeout_s", "Seconds that a tool may take", None, "none"),
    Option("approve", "Called before a tool runs; returns True or False; after False the model gets a refusal", None, "none"),
)  # fmt: skip
OPTIONS = {row.name: row for row in _ROWS}

# --- names of other libraries ------------------------------------------------------------------------------------------

_SEVERAL = "for several answers: lm.batch([prompt] * n, spec, temperature=1.0, seed=0)"
_APART = "give each option by its name, or generation_config="
_SPEC = "the type or schema is the second argument: lm(prompt, Person)"
_TOOLS = "tools are for lm.call(prompt, tools) and lm.chat(prompt, tools)"
_CALLED = "the model is the object that is called, lm(prompt, Person); structured classes take it as lm="
_PROMPT = 'the chat is the first argument: [{"role": "system", "content": "..."}, ...]'

#: Names of other libraries that stand for no option -> the advice about them.
_NO_OPTIONS: dict[str, str] = {
    **dict.fromkeys(("n", "best_of", "num_samples", "candidate_count"), _SEVERAL),
    **dict.fromkeys(
        ("sampling_params", "sampling_parameters", "generation_kwargs", "generate_kwargs", "gen_kwargs", "extra_body"), _APART
    ),
    **dict.fromkeys(
        (
            "response_format", "response_model", "response_schema", "output_type", "output_schema", "json_schema", "schema",
            "grammar", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs",
            "regex", "choices",
        ),
        _SPEC,
    ),
    **dict.fromkeys(("tools", "functions", "function_call"), _TOOLS),
    **dict.fromkeys(("messages", "system", "system_prompt", "inputs", "inputs_text"), _PROMPT),
    **dict.fromkeys(("model", "llm", "client", "language_model"), _CALLED),
    "stream": "for events use lm.stream(prompt, spec)",
    **dict.fromkeys(
        ("context", "validation_context"), "let validators read a contextvars.ContextVar that you set before the call"
    ),
    "mode": "there is one way to enforce a type, so leave it out",
    "sampler": "for the model's own law among valid texts: lm.sample(prompt, spec, n, sampler=...); else write temperature=",
    "whitespace_pattern": 'whitespace="compact" forbids whitespace in JSON, "flexible" allows it',
    "strict": "it is for compiling: lm(prompt, lm.compile(spec, strict=False))",
}  # fmt: skip
#: Names of other libraries -> the advice about them.
FOREIGN: dict[str, str] = {
    **{name: row.advice or f"it is called {row.name}" for row in _ROWS for name in row.elsewhere},
    **_NO_OPTIONS,
}
#: Names of other libraries -> the corresponding argument.
STANDS_FOR = {name: {_SPEC: "spec", _PROMPT: "prompt", _TOOLS: "tools"}.get(fix) for name, fix in _NO_OPTIONS.items()}

_QUANTIZED = "transformers has quantization_config=, as BitsAndBytesConfig(load_in_4bit=True)"

#: Names of other libraries -> the advice for `schemagen.load`; {value} is the given value.
FOREIGN_IN_LOAD = {
    **dict.fromkeys(("device", "devices"), "write device_map={value}"),
    **dict.fromkeys(("precision", "data_type"), "it is called dtype"),
    **dict.fromkeys(("load_in_4bit", "load_in_8bit", "quantization", "quantize"), _QUANTIZED),
    **dict.fromkeys(("tokenizer", "model", "processor"), "for objects: schemagen.from_transformers(model, tokenizer)"),
    **dict.fromkeys(("use_auth_token", "api_key", "hf_token"), "write token={value}"),
    **dict.fromkeys(("model_kwargs", "kwargs"), "give each option by its name"),
    "gpu_memory_utilization": "transformers has max_memory=",
    "max_tokens": f"{_BUDGET}, and is an option of lm(...)",
    "max_new_tokens": "it is an option of lm(...)",
    "temperature": "it is an option of lm(...)",
}

# --- reading values ----------------------------------------------------------------------------------------------------

#: Options of transformers that are not listed, and how their values are read.
_UNLISTED: dict[str, Reader] = {"min_length": as_count(0), "top_h": POSITIVE_SHARE}


def checked_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with their values in the form that is used.

    Args:
        given: Options by name. Unknown options, and None, are left unchanged; but None is no flag.

    Raises:
        OptionError: A value is invalid, even one of a ``generation_config``.
    """
    found = {name: _read(name, value) for name, value in given.items()}
    config = found.get("generation_config")
    for name in (*names_of(DecodingOptions), *_UNLISTED) if config is not None else ():
        _read(name, getattr(config, name, None), f"generation_config.{name}")
    return found


def _read(name: str, value: Any, shown: str = "") -> Any:
    row = OPTIONS.get(name)
    read = _UNLISTED.get(name) if row is None else row.read
    if read is None or (value is None and (row is None or row.takes_none)):
        return value
    return read(shown or name, value)
