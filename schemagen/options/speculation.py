"""`Speculation`: how far a language model reads ahead, and the sources of its drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_count
from schemagen.errors import OptionError

if TYPE_CHECKING:
    from schemagen.decode.speculation.drafts import Drafter

#: With the token that is read in any case these are sixteen, a good width for matrix products.
MAX_DRAFT = 15


@dataclass(frozen=True, slots=True)
class Speculation:
    """The sources of draft tokens, which the model reads several at a time; they never change the answers.

    Attributes:
        max_draft: Maximum number of tokens in a draft; 0 for none, so that the model goes token by token. The best
            number is measured.
        counts: Whether to propose tokens that came at the same place of the grammar before.
        prompt_lookup: Whether to propose text of the prompt.
        assistant: A small model of transformers, or a `LanguageModel`, with the same tokens, that proposes under the
            same constraint.
        branches: Whether to read a second guess in the same pass if the first one is unsure.
        drafters: Further objects that propose (`schemagen.decode.Drafter`).
        opportunistic: Whether a token is first chosen without a mask, and the mask is computed only if the grammar
            forbids it (DOMINO, algorithm 1). The text is the same; `Generation.masked_mass` is not measured then.

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
        """Refuse invalid values."""
        check_count("max_draft", self.max_draft, least=0)
        model = getattr(self.assistant, "model", self.assistant)
        if model is not None and not callable(model):
            raise OptionError(
                f"the assistant is {type(self.assistant).__name__}",
                why="it is neither a model of transformers nor a LanguageModel",
                fix="give the result of schemagen.load or AutoModelForCausalLM.from_pretrained",
            )

    @property
    def assistant_model(self) -> Any:
        """The model of the assistant; None if there is none."""
        inner = getattr(self.assistant, "model", None)
        return inner if hasattr(inner, "generate") else self.assistant


#: The default of a model.
DEFAULT = Speculation()
