"""A greedy decode loop that reads ahead where the grammar knows, or remembers, what comes.

Idea: a forward pass over several tokens costs little more than one over a single token, because reading the weights is what
takes the time. What a grammar forces (the rest of a key, a quote, a colon), and what was chosen when a text came to the
same place before, is proposed as a draft; the model reads the draft in one pass, and its own choice at each position,
under the mask of that position, decides. As long as choice and draft agree a pass yields several tokens; where they part,
the cache is cropped and the loop goes on from there. So the result is the one of a loop that goes token by token, whatever
was proposed. (Drafts from what followed a grammar state before: DOMINO, Beurer-Kellner et al. 2024, section 3.4, there
with counts; verification in one pass: Leviathan et al. 2023, arXiv:2211.17192.)

Invariants: the cache holds the prompt and every chosen token but the last; a draft never reaches beyond the budget; tokens
of a draft are allowed by the grammar, so a mask is filled at every position that the model is asked about.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch

from schemagen.decode.broken_logits import logits_error
from schemagen.masks.bitmask import BITS, allocate_token_bitmask
from schemagen.masks.logits import mask_and_check, removed_mass
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.engine.protocol import Constraint, Matcher

#: What a generation_config may say without changing a greedy search.
_HARMLESS = frozenset({
    "bos_token_id", "eos_token_id", "pad_token_id", "max_length", "max_new_tokens", "do_sample", "temperature", "top_k",
    "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h", "transformers_version", "_from_model_config",
    "use_cache", "trust_remote_code",
})  # fmt: skip
#: Methods with which a class of models changes what ``generate`` does.
_OF_GENERATE = ("generate", "prepare_inputs_for_generation", "_update_model_kwargs_for_generation", "_sample")
#: Options of ``generate`` that this loop knows, too.
_KNOWN = frozenset({"do_sample", "temperature", "top_k", "top_p", "max_new_tokens", "max_length", "streamer"})
#: Tokens of a draft. More cost more than they bring: the chance that all of them are right falls with each.
MAX_DRAFT = 12
#: Bytes of fixed text that are read in one pass.
MOST_FORCED = 4096
_MOST_PLACES = 20_000


class Memory:
    """What followed each place of a grammar when a text came there last, and how sure that is.

    Shared by all generations of a grammar; two threads may use it at once, since a wrong draft costs time alone.
    """

    def __init__(self) -> None:
        self._lock = brief_lock()
        self._followed: OrderedDict[int, tuple[int, int]] = OrderedDict()  # place -> token, times in a row

    def recall(self, place: int) -> int | None:
        """Return the token that followed a place the last two times; None if there is no such token."""
        token, times = self._followed.get(place, (None, 0))
        return token if times > 1 else None

    def learn(self, place: int, token: int) -> None:
        """Note which token followed."""
        if not place:
            return
        with self._lock:  # only the look-ups of an OrderedDict may be done at once
            known, times = self._followed.get(place, (token, 0))
            self._followed[place] = (token, times + 1 if known == token else 1)
            if len(self._followed) > _MOST_PLACES:
                self._followed.popitem(last=False)


_memories: WeakKeyDictionary[Constraint, Memory] = WeakKeyDictionary()


def memory_of(grammar: Constraint) -> Memory:
    """Return the memory of a grammar; it goes with it."""
    return _memories.setdefault(grammar, Memory())


def can_read_ahead(
    model: Any, inputs: Mapping[str, torch.Tensor], options: Mapping[str, Any], grammar: Constraint
) -> bool:
    """Whether `decode_greedily` writes what ``model.generate`` would with these inputs and (completed) options.

    That is so for greedy search without any option or configuration that changes scores, for one prompt without padding,
    for decoders that are called as transformers calls them by default, whose cache keeps every position and so can be
    cropped, and for grammars of the compiled engine, alone or as parts of thoughts and tool calls.
    """
    from transformers import GenerationMixin, PreTrainedModel

    if not isinstance(model, PreTrainedModel) or not grammar.reads_ahead:
        return False
    default = all(_function(model, name) is _function(GenerationMixin, name) for name in _OF_GENERATE)
    if not default or not _is_one_text(inputs):
        return False
    given = {name for name, value in options.items() if value is not None}
    if options.get("do_sample") is not False or not given <= _KNOWN or not _settings_of(model).keys() <= _HARMLESS:
        return False
    config = model.config.get_text_config()
    layers = getattr(config, "layer_types", None) or ["full_attention"]
    whole = set(layers) == {"full_attention"} and not getattr(config, "sliding_window", None)
    takes = inspect.signature(model.forward).parameters
    decoder = not getattr(model.config, "is_encoder_decoder", False) and not getattr(model, "_is_stateful", False)
    return (
        whole and decoder and not _depends_on_length(config) and {"past_key_values", "logits_to_keep"} <= takes.keys()
    )


def _function(owner: Any, name: str) -> Any:
    """The plain function behind a method; None if there is none."""
    found = getattr(owner, name, None)
    return getattr(found, "__func__", found)


def _is_one_text(inputs: Mapping[str, torch.Tensor]) -> bool:
    """Whether a model that is given the ids alone is given everything."""
    if "input_ids" not in inputs or not inputs.keys() <= {"input_ids", "attention_mask"}:
        return False
    mask = inputs.get("attention_mask")
    return inputs["input_ids"].shape[0] == 1 and (mask is None or bool(mask.all()))


def _depends_on_length(config: Any) -> bool:
    """Whether rotary frequencies are those of the longest position of a pass, which may be one of a draft."""
    found = [getattr(config, name, None) for name in ("rope_parameters", "rope_scaling")]
    stated = [rope for rope in found if isinstance(rope, dict)]
    stated += [each for rope in stated for each in rope.values() if isinstance(each, dict)]
    return any({rope.get("rope_type"), rope.get("type")} & {"dynamic", "longrope"} for rope in stated)


def _settings_of(model: Any) -> dict[str, Any]:
    """What the generation_config of a model says beside the defaults."""
    config = getattr(model, "generation_config", None)
    if config is None:
        return {}
    # What is off is off, also where that is not the default: models without a configuration of their own say so of outputs.
    return {name: value for name, value in config.to_diff_dict().items() if value is not None and value is not False}


@dataclass(slots=True)
class Run:
    """What a loop did.

    Attributes:
        token_ids: The chosen tokens, EOS included if it was chosen.
        passes: How often the model was called.
        drafted: Tokens that were proposed.
        accepted: Those of them that were chosen.
        forced: Tokens that nobody asked the model about.
        masked_mass: Mean probability that the masks removed.
    """

    token_ids: list[int] = field(default_factory=list)
    passes: int = 0
    drafted: int = 0
    accepted: int = 0
    forced: int = 0
    masked_mass: float | None = None

    def forced_next(self, matcher: Any, most: int) -> list[int]:
        """Return the tokens of text without a choice that is next, all but the last one: that may be a part of another token.

        Args:
            matcher: Where the text stands.
            most: How many tokens there may be in all. None is forced that would leave too few for the rest.
        """
        tokens: list[int] = matcher.forced_run(MOST_FORCED)[:-1]
        if not tokens:
            return []
        ahead = _ahead_of(matcher)
        if not all(map(ahead.accept_token, tokens)):
            return []
        needed = ahead.tokens_to_finish()
        return [] if needed is None or needed > most - len(self.token_ids) - len(tokens) else tokens

    def force(self, matcher: Any, most: int, streamer: Any) -> list[int]:
        """Write the text without a choice that is next, and return its tokens; arguments as for `forced_next`."""
        tokens = self.forced_next(matcher, most)
        for token in tokens:
            matcher.accept_token(token)
        self.token_ids += tokens
        self.forced += len(tokens)
        if streamer is not None and tokens:
            streamer.put(torch.tensor(tokens))
        return tokens


def _ahead_of(matcher: Any) -> Any:
    """Return a copy of a matcher to read ahead with; copying the way that led here would cost more with every token."""
    copy = getattr(matcher, "ahead", matcher.fork)
    return copy()


def draft(matcher: Any, memory: Memory, limit: int) -> list[int]:
    """Return tokens that are likely to follow, all of them allowed; at most `limit`."""
    ahead = _ahead_of(matcher)
    tokens: list[int] = []
    while len(tokens) < limit and not ahead.is_terminated():
        remembered = memory.recall(ahead.place())
        proposed = [remembered] if remembered is not None else ahead.forced_run()
        proposed = proposed[: limit - len(tokens)]
        for token in proposed:
            if not ahead.accept_token(token):
                return tokens
            tokens.append(token)
        if not proposed:
            break
    return tokens


@torch.inference_mode()
def decode_greedily(  # noqa: PLR0913 - what varies from call to call
    model: Any,
    input_ids: torch.Tensor,
    grammar: Constraint,
    max_new_tokens: int,
    memory: Memory,
    *,
    budget: bool = True,
    max_draft: int = MAX_DRAFT,
    streamer: Any = None,
) -> Run:
    """Write the text that ``model.generate`` writes with a `LogitsProcessor` under greedy search.

    Fixed text of a template is no draft: the model reads it, and does not choose how to split it.

    Args:
        model: A decoder of transformers whose cache can be cropped.
        input_ids: int64 [1, T] on the device of the model.
        grammar: Whose matchers can tell what comes next.
        max_new_tokens: At most as many tokens.
        memory: What is remembered of the grammar.
        budget: Whether the mask sees to it that the text is complete within `max_new_tokens`.
        max_draft: Longest draft; 0: token by token.
        streamer: Gets the prompt and then each token, as from ``generate``.

    Raises:
        LogitsError: The model gives logits from which no token can be chosen.

    Cost: one pass of the model for each run of tokens on which draft and choice agree; for each token a mask, and a copy
    of the logits to the CPU.
    """
    from transformers import DynamicCache

    matcher: Any = grammar.matcher()
    words = allocate_token_bitmask(1, grammar.vocabulary.size)
    cache = DynamicCache(config=model.config)
    run, removed = Run(), 0.0
    pending = input_ids
    if streamer is not None:
        streamer.put(input_ids.cpu())
    while len(run.token_ids) < max_new_tokens and not matcher.is_terminated():
        forced = run.force(matcher, max_new_tokens, streamer) if grammar.forces_text else []
        left = max_new_tokens - len(run.token_ids)
        ahead = draft(matcher, memory, min(max_draft, left - 1)) if max_draft else []
        step = torch.cat([pending, pending.new_tensor([forced + ahead])], dim=-1)
        logits = model(input_ids=step, past_key_values=cache, use_cache=True, logits_to_keep=len(ahead) + 1).logits[0]
        run.passes += 1
        run.drafted += len(ahead)
        chosen = -1
        for position, scores in enumerate(logits.float().cpu().split(1)):
            rest = max_new_tokens - len(run.token_ids) if budget else None
            chosen, mass = _choose(matcher, scores, words, rest, generated=run.token_ids, of=grammar.vocabulary)
            removed += mass
            memory.learn(matcher.place(), chosen)
            matcher.accept_token(chosen)
            run.token_ids.append(chosen)
            if streamer is not None:
                streamer.put(torch.tensor([chosen]))
            if matcher.is_terminated() or position == len(ahead) or chosen != ahead[position]:
                break
            run.accepted += 1
            if grammar.forces_text and run.forced_next(matcher, max_new_tokens):
                break
        # What was read beyond the last agreement is forgotten; the last choice itself has not been read.
        cached = input_ids.shape[1] + len(run.token_ids) - 1
        if surplus := cache.get_seq_length() - cached:
            cache.crop(-surplus)
        pending = torch.tensor([[chosen]], dtype=input_ids.dtype, device=input_ids.device)
    if streamer is not None:
        streamer.end()
    run.masked_mass = removed / (len(run.token_ids) - run.forced) if len(run.token_ids) > run.forced else None
    return run


def _choose(
    matcher: Matcher, scores: torch.Tensor, words: torch.Tensor, budget: int | None, *, generated: list[int], of: Any
) -> tuple[int, float]:
    """Return the allowed token of the highest score [1, V], as ``generate`` does, and the probability that was masked.

    Raises:
        LogitsError: No token can be chosen, after the `generated` ones of a vocabulary (`of`).
    """
    matcher.fill_next_token_bitmask(words, 0, budget=budget)
    covered = min(words.shape[1] * BITS, scores.shape[1])
    removed = removed_mass(scores, words, [0], covered)
    masked, broken = mask_and_check(scores, words, [0], covered, ends=of.eos_token_ids)
    if broken:
        allowed = int((masked > float("-inf")).sum())
        raise logits_error(scores[0], allowed=allowed, row=0, generated=generated, vocabulary=of)
    return int(masked.argmax()), float(removed.sum())
