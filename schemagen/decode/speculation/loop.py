"""A decode loop that reads ahead if the grammar forces, or a drafter expects, the next tokens.

Idea: a forward pass over several tokens costs little more than one over a single token, because reading the weights
dominates the time. `DraftPlanner` proposes a draft of likely tokens; the model reads it in one pass, and its own choice
at each position, under the mask of that position, decides. As long as choice and draft agree a pass yields several
tokens; where they differ, the cache is cropped and the loop continues from there. So the result does not depend on the
proposals and is that of a loop that goes token by token: the same text greedily and for the same random numbers, and
the same distribution if the drafts were drawn at random (`Choices`). Sources: DOMINO, Beurer-Kellner et al. 2024,
section 3.6, for drafts from earlier tokens at a grammar state; Leviathan et al. 2023, arXiv:2211.17192, for
verification in one pass.

Invariants: the cache holds the prompt and every chosen token but the last; a draft never exceeds the budget; the
grammar allows all tokens of a draft, so a mask can be filled at every position of a pass.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.guide import Numbers, TakenBack, judged
from schemagen.decode.speculation.choice import Choices, Tally
from schemagen.decode.speculation.draft_tree import can_branch, keep_path, tree_layout
from schemagen.decode.speculation.drafters import ModelDrafter, forced_next
from schemagen.decode.speculation.drafts import Context
from schemagen.decode.speculation.planner import planner_of
from schemagen.decode.token_records import Records
from schemagen.options.speculation import DEFAULT, Speculation

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from schemagen.decode.brevity import Brevity
    from schemagen.decode.guide import Guide
    from schemagen.decode.row_sampling import RowSampler
    from schemagen.decode.speculation.draft_tree import DraftTree
    from schemagen.decode.speculation.drafts import Draft
    from schemagen.engine.protocol import Constraint


@dataclass(slots=True)
class Run:
    """The result of a loop, with counts.

    Attributes:
        token_ids: The chosen tokens, EOS included if it was chosen.
        passes: How often the model was called.
        drafted: Tokens that were proposed.
        accepted: Proposed tokens that were chosen.
        forced: Tokens that were written without asking the model.
        tally: The effect of the masks.
        records: The distribution at each token; None to record nothing.
    """

    token_ids: list[int] = field(default_factory=list)
    passes: int = 0
    drafted: int = 0
    accepted: int = 0
    forced: int = 0
    tally: Tally = field(default_factory=Tally)
    records: Records | None = None

    @property
    def masked_mass(self) -> float | None:
        """Mean probability that the masks removed; None if it was not measured."""
        return self.tally.masked_mass


def decode_ahead(
    model: Any,
    input_ids: torch.Tensor,
    grammar: Constraint,
    max_new_tokens: int,
    *,
    streamer: Any = None,
    **options: Any,
) -> Run:
    """Write a text to its end; arguments as for `Loop`.

    A streamer gets the prompt and then the tokens of each step, as from ``generate``.
    """
    loop = Loop(model, input_ids, grammar, max_new_tokens, **options)
    if streamer is not None:
        streamer.put(input_ids.cpu())
    for step in loop.steps():
        if streamer is not None and isinstance(step, list):
            streamer.put(torch.tensor(step))
    if streamer is not None:
        streamer.end()
    return loop.run


class Loop:
    """Writes the text that ``model.generate`` writes with a `LogitsProcessor` under greedy search or sampling.

    Fixed text of a template is not a draft: the model reads it, and does not choose how to split it.

    Args:
        model: A decoder of transformers whose cache can be cropped.
        input_ids: int64 [1, T] on the device of the model.
        grammar: A grammar whose matchers can read ahead.
        max_new_tokens: The maximum number of tokens.
        speculation: The drafters to use.
        sampler: Draws the tokens; None for greedy search.
        budget: Whether the mask makes the text complete within `max_new_tokens`.
        brevity: The penalties against loops and length; None for none.
        records: Records the distribution at each token (`Run.records`); None to record nothing.
        guide: Takes tokens back; None for none.

    Attributes:
        run: The tokens so far, and the counts.
    """

    def __init__(  # noqa: PLR0913 - how tokens are proposed, chosen and bounded
        self,
        model: Any,
        input_ids: torch.Tensor,
        grammar: Constraint,
        max_new_tokens: int,
        *,
        speculation: Speculation = DEFAULT,
        sampler: RowSampler | None = None,
        budget: bool = True,
        brevity: Brevity | None = None,
        records: Records | None = None,
        guide: Guide | None = None,
    ) -> None:
        from transformers import DynamicCache

        self._records = Records() if records is None and guide is not None else records
        self.run = Run(records=records)
        self._guide = guide
        self._numbers = None if guide is None or sampler is None else Numbers(sampler.numbers)
        self._model, self._grammar = model, grammar
        self._matcher: Any = grammar.matcher()
        self._context = Context(grammar.vocabulary, input_ids[0].tolist())
        self._most, self._budget = max_new_tokens, budget
        self._cache = DynamicCache(config=model.config)
        self._pending = input_ids  # [1, n], tokens that the model has not read yet
        own: dict[str, Any] = {"brevity": brevity, "records": self._records, "guide": guide}
        opportunistic = speculation.opportunistic
        self._choices = Choices(self._context, self.run.tally, sampler, opportunistic=opportunistic, **own)
        assistant = None if self._numbers is not None else speculation.assistant_model  # drawn drafts take numbers, too
        slow = () if assistant is None else (ModelDrafter(assistant, budget=self._rest, sampler=sampler),)
        branches = can_branch(model, self._cache)
        self._planner = planner_of(
            model, grammar, speculation, sampled=sampler is not None, slow=slow, branches=branches
        )

    @torch.inference_mode()
    def steps(self) -> Iterator[list[int] | TakenBack]:
        """Write the text; yield each chosen token, and the tokens of each run of forced text, as soon as they are known.

        Tokens that the guide refuses at once are not yielded; that others are taken back is.

        Raises:
            LogitsError: The model gives logits from which no token can be chosen.
            ValidationFailed: Of the guide.

        Cost: one pass of the model for each run of tokens on which draft and choice agree; for each token a mask, and a
            copy of the logits to the CPU.
        """
        forced = self._force()
        if isinstance(forced, TakenBack):
            self._cut(forced.length)
        elif forced:
            self._pending = self._with(self._pending, forced)
            yield forced
        while len(self.run.token_ids) < self._most and not self._matcher.is_terminated():
            yield from self._step()

    def _rest(self, context: Context) -> int | None:
        """Return how many tokens may still follow a text; None if unlimited."""
        return self._most - len(context.tokens) if self._budget else None

    def _step(self) -> Iterator[list[int] | TakenBack]:
        """Read the pending tokens with a draft, and choose tokens until the draft is wrong or text is forced."""
        left, pending = self._most - len(self.run.token_ids), self._pending.shape[1]
        tree = self._planner.plan(self._context, self._matcher, left - 1, pending)
        started = time.perf_counter()
        logits = self._read(tree)
        self._planner.measure(pending + len(tree.tokens), time.perf_counter() - started)
        self.run.passes += 1
        self.run.drafted += len(tree.tokens)
        path = yield from self._follow(tree, logits)
        keep_path(self._cache, len(tree.tokens), path)
        # Crop the cache to tokens that are still in the text. The last one, and forced ones before it, are not in it yet.
        cached, prompt = self._cache.get_seq_length(), self._context.prompt
        kept = min(cached - len(tree.tokens) + len(path), len(prompt) + len(self.run.token_ids) - 1)
        if surplus := cached - kept:
            self._cache.crop(-surplus)
        unread = [*prompt[kept:], *self.run.token_ids[max(0, kept - len(prompt)) :]]
        self._pending = self._pending.new_tensor([unread])

    def _read(self, tree: DraftTree) -> torch.Tensor:
        """Have the model read the pending tokens and a tree; return float [1 + nodes, V] on the CPU."""
        before, cached = self._pending.shape[1], self._cache.get_seq_length()
        output = self._model(
            input_ids=self._with(self._pending, tree.tokens),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=len(tree.tokens) + 1,
            **({} if tree.is_chain else tree_layout(tree, cached, before, self._model)),
        )
        logits: torch.Tensor = output.logits[0].float().cpu()
        return logits

    @staticmethod
    def _with(ids: torch.Tensor, tokens: list[int]) -> torch.Tensor:
        """Return tokens [1, n] followed by others."""
        return torch.cat([ids, ids.new_tensor([tokens])], dim=-1)

    def _follow(self, tree: DraftTree, logits: torch.Tensor) -> Generator[list[int] | TakenBack, None, list[int]]:
        """Choose tokens as long as they are those of the tree, and one more; yield them, and return the chosen nodes."""
        path: list[int] = []
        node = -1
        while True:
            children = tree.children(node)
            draft = tree.drafts[children[0]] if children else None
            token = self._choose(logits[node + 1 : node + 2], draft)
            if isinstance(token, TakenBack):
                yield from self._go_back(token)
                return path
            yield [token]
            for child in children:
                self._planner.judge(tree, child, chosen=tree.tokens[child] == token)
            node = next((child for child in children if tree.tokens[child] == token), -1)
            if node >= 0:
                path.append(node)
                self.run.accepted += 1
            forced = self._force()
            if isinstance(forced, TakenBack):
                yield from self._go_back(forced)
                return path
            if forced:
                yield forced
            if node < 0 or forced or self._matcher.is_terminated():
                return path

    def _choose(self, scores: torch.Tensor, draft: Draft | None) -> int | TakenBack:
        """Choose the next token, and advance; return what the guide takes back instead."""
        place = len(self.run.token_ids)
        while True:
            if self._numbers is not None:
                self._numbers.begin()
            token = self._choices.choose(self._matcher, scores, self._rest(self._context), draft)
            if token is None:
                assert self._guide is not None, "only a guide bans tokens"
                return self._guide.exhausted()
            self._planner.observe(self._context, self._matcher, token)
            taken = self._accept(token)
            if taken is None:
                return token
            if taken.length < place:
                return taken
            self._cut(place)

    def _accept(self, token: int) -> TakenBack | None:
        """Add a token; return what the guide takes back with it."""
        self._matcher.accept_token(token)
        self._context.append(token)
        self.run.token_ids.append(token)
        if self._numbers is not None:
            self._numbers.end()
        record = None if self._records is None else self._records.take(token)
        return judged(self._guide, token, record, self._matcher, self._most - len(self.run.token_ids))

    def _go_back(self, taken: TakenBack) -> Iterator[TakenBack]:
        self._cut(taken.length)
        yield taken

    def _cut(self, length: int) -> None:
        """Take back the tokens from an index on."""
        self._matcher.rollback(len(self.run.token_ids) - length)
        self._context.cut(length)
        del self.run.token_ids[length:]
        self.run.tally.cut(length)
        if self._numbers is not None:
            self._numbers.cut(length)
        if self._records is not None:
            self._records.cut(length)

    def _force(self) -> list[int] | TakenBack:
        """Write the forced text that is next, and return its tokens, or what the guide takes back."""
        tokens = forced_next(self._grammar, self._matcher, self._most - len(self.run.token_ids))
        for token in tokens:
            if self._numbers is not None:
                self._numbers.begin()
            if (taken := self._accept(token)) is not None:
                return taken
        self.run.forced += len(tokens)
        return tokens
