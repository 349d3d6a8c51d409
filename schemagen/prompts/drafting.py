"""A draft before an answer: the model answers freely, then writes the typed answer with its own draft before it.

    question | draft EOS request | answer EOS

A small model that has to reason inside the form of an answer reasons worse than one that may write as it likes first. So the
first text is free: it ends where the model ends it, with EOS, or at its limit. Then comes a fixed text, by which the chat
template asks for the answer, and the answer under its own grammar. All three are one text of one grammar (`ReasoningGrammar`):
the model reads the draft once, one budget covers everything, and the draft ends in time for the shortest answer.

Without a chat template a draft is reasoning with markers of our own: a base model that is made to end its document goes on
with another one. A model whose template knows thoughts thinks in its own markers.

Source: draft-conditioned constrained decoding, arXiv:2603.03305.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.errors import GenerationError, OptionError
from schemagen.options.draft import as_draft
from schemagen.options.reasoning import Reasoning
from schemagen.prompts.messages import apply_template
from schemagen.prompts.reasoning_grammar import ReasoningFormat, markers_of
from schemagen.vocabulary.adapters import special_tokens

if TYPE_CHECKING:
    from schemagen.options.draft import Draft
    from schemagen.vocabulary import Vocabulary

#: The texts around a draft where there is no chat template.
_BEGIN, _END = "Draft: ", "\n{answer}\n"
#: The temperature of several drafts of one answer that have none of their own.
_SAMPLED = 0.7
_OTHERWISE = "leave draft out, or use reasoning=Reasoning(begin=..., end=...)"
#: Stands for the draft in a chat that shows how the template goes on after it.
_PLACE = "schemagendraft"


def draft_format(given: bool | int | Draft | None, tokenizer: Any, vocabulary: Vocabulary) -> ReasoningFormat | None:
    """Return the format of a draft and the text after it; None for no draft.

    Raises:
        OptionError: The value is wrong, or the model cannot end a draft.
    """
    draft = as_draft(given)
    if draft is None:
        return None
    sampled = _SAMPLED if draft.best_of > 1 and draft.temperature is None else draft.temperature
    own: dict[str, Any] = {"temperature": sampled, "best_of": draft.best_of}
    if not getattr(tokenizer, "chat_template", None):
        plain = Reasoning(draft.max_tokens, _BEGIN, _END.format(answer=draft.answer))
        return ReasoningFormat.of(plain, tokenizer, vocabulary, instruction=draft.prompt, **own)
    markers = markers_of(tokenizer)
    if markers is not None:
        return ReasoningFormat.of(Reasoning(draft.max_tokens), tokenizer, vocabulary, **own)
    after = _after_draft(tokenizer, draft.answer)
    names = special_tokens(tokenizer, vocabulary)
    ends = vocabulary.eos_token_ids
    if not ends:
        raise OptionError(
            "a draft of a model without an EOS token",
            why="nothing ends the draft",
            fix="build the vocabulary with eos_token_ids=[...], or use reasoning=Reasoning(begin=..., end=...)",
        )
    first = next((name for name, token_id in names.items() if token_id in ends and after.startswith(name)), "")
    end = after.removeprefix(first)
    specials = sorted(each for each in names.items() if each[0] in end)
    return ReasoningFormat("", end, draft.max_tokens, tuple(specials), ends=ends, instruction=draft.prompt, **own)


def _after_draft(tokenizer: Any, answer: str) -> str:
    """Return how the chat template goes on after a text of the model, until the next one.

    Raises:
        OptionError: The template does not write the text.
    """
    chat = [("user", "?"), ("assistant", _PLACE), ("user", answer)]
    try:
        text = apply_template(tokenizer, [{"role": role, "content": content} for role, content in chat])
    except GenerationError as error:
        raise OptionError(
            "the chat template of this model takes no second question",
            why=error.fact,
            fix=_OTHERWISE,
        ) from error
    before, found, after = text.partition(_PLACE)
    if not (before and found and answer.strip() in after):
        raise OptionError(
            "the chat template of this model leaves out earlier answers",
            why="the text that follows a draft cannot be derived from it",
            fix=_OTHERWISE,
        )
    return after
