"""`TokenTree`: what a model expects after a prompt and any of its continuations, each token read once.

Idea: the continuations of a prompt form a tree of tokens. The model reads new nodes of any depth in one pass: all nodes are in
one sequence, each attends to the prompt and to its own ancestors, and has the position that it would have in its own text
(tree attention; Miao et al. 2023, arXiv:2305.09781). The keys and values of all nodes stay in one cache, so a continuation of a
known node costs one token, and texts with a common beginning share it.

Invariants: the columns of the cache are the prompt, then the nodes in the order in which they were read; a node is read after
its parent, or in the same pass.

Models that accept no mask for pairs of tokens, or forget positions, read whole texts instead, padded to one length.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.budget import context_of
from schemagen.decode.cache_slots import empty_cache
from schemagen.decode.speculation.draft_tree import can_branch
from schemagen.decode.speculation.eligibility import is_plain_decoder
from schemagen.errors import BudgetError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Bytes of scores that are kept; those of other nodes are asked for again.
KEPT_BYTES = 1 << 29


class TokenTree:
    """The continuations of a prompt, with the scores of the token after each.

    Node 0 is the prompt.

    Args:
        model: A causal model of transformers.
        prompt: The tokens of the prompt, at least one.
        kept_bytes: As `KEPT_BYTES`.

    Attributes:
        passes: How often the model was called.

    Raises:
        OptionError: The model is an encoder-decoder.
    """

    def __init__(self, model: Any, prompt: Sequence[int], *, kept_bytes: int = KEPT_BYTES) -> None:
        if getattr(model.config, "is_encoder_decoder", False):
            raise OptionError(
                f"the model, {type(model).__name__}, is an encoder-decoder",
                why="it reads the prompt in its encoder, and this needs a model that reads prompt and answer as one text",
                fix="load a decoder, as SmolLM2 or Qwen3",
            )
        self._model, self._prompt, self._kept_bytes = model, list(prompt), kept_bytes
        self._tokens: list[int] = [-1]
        self._parents: list[int] = [-1]
        self._depths: list[int] = [0]
        self._children: dict[tuple[int, int], int] = {}
        self._scores: OrderedDict[int, torch.Tensor] = OrderedDict()
        self._columns: dict[int, int] = {}  # node -> its column of the cache; of the root the last one of the prompt
        cache = empty_cache(model.config) if is_plain_decoder(model) else None
        self._cache: Any = cache if cache is not None and can_branch(model, cache) else None
        self._context = context_of(model)
        self.passes = 0

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._tokens)

    def child(self, node: int, token_id: int) -> int:
        """Return the node of a token after a node. The model does not read it yet."""
        found = self._children.get((node, token_id))
        if found is None:
            found = self._children[node, token_id] = len(self._tokens)
            self._tokens.append(token_id)
            self._parents.append(node)
            self._depths.append(self._depths[node] + 1)
        return found

    def node(self, token_ids: Sequence[int], start: int = 0) -> int:
        """Return the node of some tokens after a node."""
        for token_id in token_ids:
            start = self.child(start, token_id)
        return start

    def path(self, node: int) -> list[int]:
        """Return the tokens of a node, without those of the prompt."""
        found: list[int] = []
        while node:
            found.append(self._tokens[node])
            node = self._parents[node]
        return found[::-1]

    def scores(self, nodes: Sequence[int]) -> torch.Tensor:
        """Return the logits of the token after each node: float32 [N, V], on the CPU.

        Raises:
            BudgetError: A text is longer than the context of the model.

        Cost: one pass of the model over the tokens that it has not read yet; none if all scores are known.
        """
        asked = sorted({node for node in nodes if node not in self._scores})
        if asked:
            if not self.passes:
                asked = sorted({0, *asked})
            self._check_context(asked)
            found = self._read_texts(asked) if self._cache is None else self._read_nodes(asked)
            self._scores |= zip(asked, found, strict=True)
        for node in nodes:
            self._scores.move_to_end(node)
        rows = torch.stack([self._scores[node] for node in nodes])
        self._scores.move_to_end(0)  # never given up: to know them again, the model would read the prompt again
        while len(self._scores) > 1 and len(self._scores) * rows[0].nbytes > self._kept_bytes:
            self._scores.popitem(last=False)
        return rows

    def log_probabilities(self, nodes: Sequence[int]) -> torch.Tensor:
        """Return the logarithm of the probability of every token after each node: float64 [N, V]; as `scores`."""
        return torch.log_softmax(self.scores(nodes).double(), dim=-1)

    def _check_context(self, nodes: Sequence[int]) -> None:
        longest = len(self._prompt) + max(self._depths[node] for node in nodes)
        if self._context is not None and longest > self._context:
            raise BudgetError(
                f"a text of {longest} tokens, the context of the model is {self._context}",
                why="the model cannot read a longer text",
                fix="shorten the prompt, or bound the strings and lists of the type",
            )

    def _read_texts(self, nodes: Sequence[int]) -> torch.Tensor:
        """Read whole texts, padded at their ends, which no token of a causal model reads; return float32 [N, V]."""
        texts = [[*self._prompt, *self.path(node)] for node in nodes]
        longest = max(map(len, texts))
        ids = torch.tensor([text + [0] * (longest - len(text)) for text in texts], device=self._model.device)
        with torch.inference_mode():
            logits = self._model(input_ids=ids).logits
        self.passes += 1
        return torch.stack([row[len(text) - 1] for row, text in zip(logits, texts, strict=True)]).float().cpu()

    def _read_nodes(self, nodes: Sequence[int]) -> torch.Tensor:
        """Read nodes with their unread ancestors in one pass; return float32 [N, V]."""
        before = self._cache.get_seq_length()
        prompt = [] if before else self._prompt
        unread = self._unread(nodes)
        first = before + len(prompt)
        self._columns |= {0: len(self._prompt) - 1, **{node: first + place for place, node in enumerate(unread)}}
        ids = torch.tensor([[*prompt, *(self._tokens[node] for node in unread)]], device=self._model.device)
        with torch.inference_mode():
            logits = self._model(
                input_ids=ids,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=len(unread) + bool(prompt),
                **self._layout(unread, before, len(prompt)),
            ).logits[0]
        self.passes += 1
        places = {node: place for place, node in enumerate([0, *unread] if prompt else unread)}
        found: torch.Tensor = logits[[places[node] for node in nodes]].float().cpu()
        return found

    def _unread(self, nodes: Sequence[int]) -> list[int]:
        """Return the nodes to read, in ascending order, so that each comes after its parent.

        Of a node whose scores are no longer kept the token is read again.
        """
        found = {node for node in nodes if node}
        for node in nodes:
            above = self._parents[node]
            while above > 0 and above not in self._columns:
                found.add(above)
                above = self._parents[above]
        return sorted(found)

    def _layout(self, unread: Sequence[int], before: int, prompt: int) -> dict[str, torch.Tensor]:
        """Return the mask and the positions of a pass.

        Args:
            unread: The nodes of the pass.
            before: Tokens in the cache.
            prompt: Tokens of the prompt in the pass, before the nodes.

        Returns:
            ``attention_mask``: 0 or the lowest number, [1, 1, T, before + T], and ``position_ids``: int64 [1, T].
        """
        width = prompt + len(unread)
        seen = torch.zeros((width, before + width), dtype=torch.bool)
        seen[:prompt] = torch.ones((prompt, before + width), dtype=torch.bool).tril()
        seen[prompt:, : len(self._prompt)] = True
        for place, node in enumerate(unread, prompt):
            above = node
            while above:
                seen[place, self._columns[above]] = True
                above = self._parents[above]
        positions = [*range(prompt), *(len(self._prompt) + self._depths[node] - 1 for node in unread)]
        lowest = torch.finfo(self._model.dtype).min
        mask = torch.zeros(seen.shape, dtype=self._model.dtype).masked_fill_(~seen, lowest)
        place_of = self._model.device
        return {
            "attention_mask": mask[None, None].to(place_of),
            "position_ids": torch.tensor([positions], device=place_of),
        }
