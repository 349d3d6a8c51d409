"""Names of other libraries that stand for no option here, and those of the options of `schemagen.load`."""

from __future__ import annotations

BUDGET = "the budget is called max_new_tokens"
_SEVERAL = "for several answers: lm.batch([prompt] * n, spec, temperature=1.0, seed=0)"
_APART = "give each option by its name, or generation_config="
_SPEC = "the type or schema is the second argument: lm(prompt, Person)"
_TOOLS = "tools are for lm.call(prompt, tools) and lm.chat(prompt, tools)"
_MODEL = "the model is the object that is called, lm(prompt, Person); structured classes take it as lm="
_PROMPT = 'the chat is the first argument: [{"role": "system", "content": "..."}, ...]'

#: Names of other libraries -> the advice about them; those of options are in `schemagen.options.table`.
NO_OPTIONS = {
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
    **dict.fromkeys(("messages", "system", "system_prompt", "inputs_text"), _PROMPT),
    **dict.fromkeys(("model", "llm", "client", "language_model"), _MODEL),
    "stream": "for events use lm.stream(prompt, spec)",
    "strict": "it is for compiling: lm(prompt, lm.compile(spec, strict=False))",
}  # fmt: skip

#: Names of other libraries -> the corresponding argument.
STANDS_FOR = {name: {_SPEC: "spec", _PROMPT: "prompt", _TOOLS: "tools"}.get(fix) for name, fix in NO_OPTIONS.items()}

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
    "max_tokens": f"{BUDGET}, and is an option of lm(...)",
    "max_new_tokens": "it is an option of lm(...)",
    "temperature": "it is an option of lm(...)",
}
