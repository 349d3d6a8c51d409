"""`Speculation`: how much a language model reads ahead, and from what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.arguments import check_count
from schemagen.errors import OptionError

if TYPE_CHECKING:
    from schemagen.decode.speculation.drafts import Drafter

#: With the token that is read in any case these are sixteen, a width that matrix products like.
MAX_DRAFT = 15


@dataclass(frozen=True, slots=True)
class Speculation:
    """What proposes tokens that the model then reads several at a time; the answers are the same with all of it and without.

    Attributes:
        max_draft: Tokens that are proposed at a time, at most; 0: none, the model is asked token by token. How many it is worth
            to propose is measured.
        counts: Whether tokens are proposed that came at the same place of the grammar before.
        prompt_lookup: Whether what the prompt says is proposed.
        assistant: A small model of transformers, or a `LanguageModel`, with the same tokens, that proposes under the same
            constraint.
        branches: Whether a second guess is read in the same pass where the first one is unsure.
        drafters: Further objects that propose (`schemagen.decode.Drafter`).
        opportunistic: Whether a token is first chosen without a mask, and the mask is worked out only if the grammar forbids it
            (DOMINO, algorithm 1). The same text again; `Generation.masked_mass` is not measured then.

    Raises:
        OptionError: A number is negative.
    """

    max_draft: int = MAX_DRAFT
    counts: bool = True
    prompt_lookup: bool = True
    assistant: Any = None
    branches: bool = True
    drafters: tuple[Drafter, ...] = ()
    opportunistic: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        check_count("max_draft", self.max_draft, least=0)
        model = getattr(self.assistant, "model", self.assistant)
        if model is not None and not callable(model):
            raise OptionError(
                f"the assistant is {type(self.assistant).__name__}",
                why="it is neither a model of transformers nor a LanguageModel",
                fix="give what schemagen.load or AutoModelForCausalLM.from_pretrained returns",
            )

    @property
    def assistant_model(self) -> Any:
        """The model of the assistant; None if there is none."""
        inner = getattr(self.assistant, "model", None)
        return inner if hasattr(inner, "generate") else self.assistant


#: What a model does where nothing else is said.
DEFAULT = Speculation()
