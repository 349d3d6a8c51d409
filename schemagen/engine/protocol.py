"""What every engine offers: an immutable grammar, a cheap cursor over one sequence, and the tokens that its masks force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from schemagen.vocabulary import Vocabulary

#: A run of forced tokens longer than this is handed out in pieces: a regex like ``a*`` over one token forces without end.
MAX_FORCED = 1024


@runtime_checkable
class Matcher(Protocol):
    """The cursor of one sequence over a grammar; for one thread at a time.

    Tokens are ids of the grammar's vocabulary. A bitmask is int32 ``[B, ceil(V/32)]`` (torch on the CPU, or numpy),
    bit ``i % 32`` of word ``i // 32`` is token ``i``, 1 = allowed.
    """

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens allowed next into ``bitmask[row]``; return False if every token is allowed.

        Args:
            bitmask: As above.
            row: The row to write.
            budget: How many tokens may still come, the next one included, EOS not needed: tokens after which
                `tokens_to_finish` is more than ``budget - 1`` are left out. A budget below the number needed counts
                as that number.

        Raises:
            MatcherTerminatedError: EOS was already accepted.
            BitmaskShapeError: dtype, device or width differ from the above, or ``row`` is out of range.
            OptionError: ``budget`` is negative.
            OptionTypeError: ``row`` or ``budget`` is no whole number.
        """
        ...

    def tokens_to_finish(self) -> int | None:
        """Return how many tokens the shortest completion takes, 0 where the text may end; None if there is none to be found.

        The shortest completion is the text of the fewest bytes that ends here, the first of them in order of bytes; it is
        written in as few tokens as possible. Another text may take fewer tokens, if it has more bytes.
        """
        ...

    def shortest_completion(self) -> bytes:
        """Return that completion; empty where the text may end, or if the vocabulary has no tokens to write one.

        Raises:
            LimitError: The search for an end was given up, so that there may be one.
        """
        ...

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token; return False, and change nothing, if it is not allowed.

        Raises:
            OptionTypeError: It is no whole number.
        """
        ...

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all of it or nothing; counts as one step for `rollback`.

        Where tokens are counted, the text counts as one token. It is not a token of the vocabulary, so where the grammar wants
        whole tokens, it is refused.

        Raises:
            OptionTypeError: It is something else, such as a str.
        """
        ...

    def is_accepting(self) -> bool:
        """Whether the text may end here."""
        ...

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        ...

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        ...

    @property
    def steps(self) -> int:
        """How many steps `rollback` can undo."""
        ...

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accepted steps."""
        ...

    def fork(self) -> Matcher:
        """Return an independent copy, in O(1) amortised."""
        ...

    def reset(self) -> None:
        """Go back to the start."""
        ...

    def forced_tokens(self) -> list[int]:
        """Return the tokens that follow here without any choice (each mask on the way allows a single token)."""
        ...

    def forced_run(self, most: int = ...) -> list[int]:
        """Return tokens that are likely to follow because their text has no choice, all of them allowed; see `place`.

        Args:
            most: Bytes of text, at most.
        """
        ...

    def place(self) -> int:
        """Return a number for this place, the same for texts that go on alike; 0 if it is not known."""
        ...

    def temperature(self) -> float | None:
        """Return the temperature that the grammar asks for at the next token; None to use that of the call.

        It is that of the innermost rule around the token that has one; where the text may be read in several ways, the highest
        of these.

        Raises:
            LimitError: The text may be read in too many ways.
        """
        ...

    def captures(self, complete: bool | None = None) -> list[tuple[str, int, int | None]]:
        """Return the labelled parts of the text so far: label, first byte, byte after the last one (None while it is open).

        Parts come in the order in which they begin. Bytes are those of the text, in which special tokens have none. If the text
        can be read in several ways, the first difference decides: a beginning wins against an end, an earlier beginning against
        a later one, a later end against an earlier one.

        Args:
            complete: Whether to read the text as a whole; by default whether EOS was accepted. Otherwise only what all ways to
                go on reading it have in common is returned.

        Raises:
            MatcherError: ``complete`` is True and the text may not end here, or the engine does not know labels.

        Cost: the first call reads the text so far, and later ones the text that was added since.
        """
        ...

    def explain(self, token_id: int) -> str:
        """Say in a sentence why a token is, or is not, allowed here."""
        ...

    def allowed_tokens(self) -> list[int]:
        """Return the ids allowed next, ascending (EOS ids included where the text may end)."""
        ...


@runtime_checkable
class Engine(Protocol):
    """A compiled constraint over a vocabulary, without any per-sequence state; safe to share between threads."""

    def matcher(self) -> Matcher:
        """Return a cursor at the start."""
        ...


@runtime_checkable
class Constraint(Engine, Protocol):
    """What a decoding loop follows: a `Grammar`, the grammar of tool calls, or of thoughts and an answer."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that its matchers are over."""
        ...

    @property
    def min_new_tokens(self) -> int | None:
        """The number of tokens of the shortest text, without EOS; None if it is not known."""
        ...

    @property
    def least_new_tokens(self) -> int:
        """A lower bound of that, also where it is not known."""
        ...

    @property
    def thought_tokens(self) -> int:
        """How many tokens of thoughts may come before an answer, which have a budget of their own."""
        ...

    @property
    def forces_text(self) -> bool:
        """Whether text without a choice is written without asking the model for its tokens, as in a template."""
        ...

    @property
    def has_temperatures(self) -> bool:
        """Whether `Matcher.temperature` may be anything but None."""
        ...

    @property
    def has_inner_ends(self) -> bool:
        """Whether an EOS token may stand inside a text, as after a draft, so that a text is over where its matcher says so."""
        ...

    @property
    def token_table(self) -> Any:
        """The table over tokens for devices; None if there is none."""
        ...


def forced_by_masks(matcher: Matcher) -> list[int]:
    """Return the tokens that follow without any choice, an EOS id among them. The matcher is left as it was.

    Cost: a fork, and a mask for each token.
    """
    probe, forced = matcher.fork(), list[int]()
    while len(forced) < MAX_FORCED and not probe.is_terminated():
        only = only_token(probe)
        if not only or not probe.accept_token(only[0]):
            break
        forced += only
    return forced


def only_token(matcher: Matcher) -> list[int]:
    """Return the token that is allowed next if it is the only one, else nothing."""
    allowed = matcher.allowed_tokens()
    return allowed if len(allowed) == 1 else []
