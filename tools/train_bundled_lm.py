"""Trains the tokenizer and the tiny Llama model of `schemagen/lm/bundled` on generated text.

    python tools/train_bundled_lm.py --threads 1                 # about 80 minutes on one undisturbed core
    python tools/train_bundled_lm.py --steps 300 --out /tmp/lm   # a quick look
    python tools/train_bundled_lm.py --resume /tmp/schemagen-train.pt

Needs torch, transformers and tokenizers; nothing is downloaded. The examples come from `bundled_data`, the shape in the
prompt from `schemagen.prompts.shapes`; a share (`--calls`) are dialogues with tools, of `bundled_dialogues`. The first steps
use only short examples that ask for copying. Hidden matrices are trained with Muon, the rest with AdamW, in bfloat16
autocast. A checkpoint of everything is written now and then (see `--state`) together with the model folder, so that a run
can be stopped and resumed. With `--minutes` the learning rate falls with the clock as well as with the steps, whichever is
further, so that the run ends on time.

The weights in the repository come from 76 minutes on one core of a busy machine (3657 steps, about 22 million tokens);
the run was stopped and resumed five times, when examples were added to the generator (the last two times with
`--new-schedule --lr 2e-3 --minutes 9`). Dialogues with tools were added in three more runs of 43, 10 and 25 minutes on a very
busy machine, the last one (`--new-schedule --minutes 25 --lr 1.5e-3 --calls 0.4 --seed 13`) from a mean of the weights before
(0.3) and after the first two (0.7): plain objects fell from 94.0 to 92.2 % exact, calls left to choose rose from 0.5 to 86.5 %.
A run from scratch gives other bits; that it is about as good was not measured.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import torch
from rich.console import Console
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from bundled_data import examples
from bundled_dialogues import Dialogue, dialogues, rendered

from schemagen.prompts.shapes import SHAPE_INSTRUCTION, shape_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundled_world import Example

SPECIALS = ["<|pad|>", "<|bos|>", "<|eos|>", "<|user|>", "<|assistant|>", "<|system|>"]
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<|bos|>",
    "eos_token": "<|eos|>",
    "pad_token": "<|pad|>",
    "additional_special_tokens": SPECIALS[3:],
    "model_max_length": 512,
    "clean_up_tokenization_spaces": False,
    "chat_template": CHAT_TEMPLATE,
}
"""Written by hand: what transformers 5 writes names a class that transformers 4 does not have."""
WORD_PATTERN = r"""\p{L}+|\p{N}|["{}\[\]:,]+(?: ["{\[]+| )?|\s+|[^\s\p{L}\p{N}]"""
"""Words without their space, digits one by one, JSON punctuation in runs: a name has the same tokens everywhere."""

MAX_TOKENS = 420
POOL = 5000

console = Console(log_path=False, width=160)


def user_text(example: Example) -> str:
    """Return what the user says: the prompt, the instruction and the shape."""
    return f"{example.prompt}\n\n{SHAPE_INSTRUCTION}\n{shape_text(example.schema)}"


def train_tokenizer(seed: int, size: int = 2048, sample: int = 30_000) -> PreTrainedTokenizerFast:
    """Train the byte-level BPE tokenizer on generated text."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    texts = (f"{user_text(example)}\n{example.target()}" for example in islice(examples(seed), sample))
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|bos|>",
        eos_token="<|eos|>",
        pad_token="<|pad|>",
        additional_special_tokens=SPECIALS[3:],
        model_max_length=512,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def make_model(args: argparse.Namespace, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Make an untrained model."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=args.hidden,
        intermediate_size=args.inner,
        num_hidden_layers=args.layers,
        num_attention_heads=args.heads,
        num_key_value_heads=args.heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


@dataclass
class Row:
    """The ids of a text, and where in it the answers are: pairs of their first and last index, the latter exclusive."""

    ids: list[int]
    answers: list[tuple[int, int]]


def encode(tokenizer: PreTrainedTokenizerFast, batch: list[Example]) -> list[Row]:
    """Encode examples that are not too long."""
    prompts = [f"<|bos|><|user|>{user_text(example)}<|assistant|>" for example in batch]
    targets = [f"{example.target()}<|eos|>" for example in batch]
    heads = tokenizer(prompts, add_special_tokens=False)["input_ids"]
    tails = tokenizer(targets, add_special_tokens=False)["input_ids"]
    rows = [Row(head + tail, [(len(head), len(head) + len(tail))]) for head, tail in zip(heads, tails, strict=True)]
    return [row for row in rows if len(row.ids) <= MAX_TOKENS]


def encode_dialogues(tokenizer: PreTrainedTokenizerFast, batch: list[Dialogue]) -> list[Row]:
    """Encode dialogues that are not too long; the end of an answer of `Dialogue.endless` is none to learn."""
    begin, end = tokenizer.convert_tokens_to_ids(["<|assistant|>", "<|eos|>"])
    texts = [rendered(tokenizer, dialogue) for dialogue in batch]
    rows = []
    for dialogue, ids in zip(batch, tokenizer(texts, add_special_tokens=False)["input_ids"], strict=True):
        starts = [index + 1 for index, token in enumerate(ids) if token == begin]
        stops = [index + 1 for index, token in enumerate(ids) if token == end]
        stops[: dialogue.endless] = [stop - 1 for stop in stops[: dialogue.endless]]
        rows.append(Row(ids, list(zip(starts, stops, strict=True))))
    return [row for row in rows if len(row.ids) <= MAX_TOKENS]


@dataclass
class Batch:
    """Right-padded ids, the flat positions that predict the answers, and the ids to predict there."""

    ids: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor


def collate(rows: list[Row], pad: int) -> Batch:
    """Pad rows of similar length into one batch."""
    width = max(len(row.ids) for row in rows)
    matrix = torch.tensor([row.ids + [pad] * (width - len(row.ids)) for row in rows])
    spans = [(n * width + low - 1, n * width + high - 1) for n, row in enumerate(rows) for low, high in row.answers]
    positions = torch.cat([torch.arange(low, high) for low, high in spans])
    return Batch(matrix, positions, matrix.reshape(-1)[positions + 1])


def pool_of(tokenizer: PreTrainedTokenizerFast, seed: int, calls: float, *, easy: bool) -> list[Row]:
    """Return some thousand rows, sorted by length; a share of them are dialogues with tools, once the easy ones are over."""
    if easy:
        rows = encode(tokenizer, list(islice(examples(seed, easy=True), 1500)))
    else:
        rows = encode(tokenizer, list(islice(examples(seed), round(POOL * (1 - calls)))))
        rows += encode_dialogues(tokenizer, list(islice(dialogues(seed), round(POOL * calls))))
    return sorted(rows, key=lambda row: len(row.ids))


def batches(tokenizer: PreTrainedTokenizerFast, args: argparse.Namespace, start: int) -> Iterator[Batch]:
    """Yield batches of about `args.tokens` ids: of easy examples first, then of everything."""
    made = start
    for pool in range(1_000_000):
        pool_seed = args.seed * 1_000_003 + pool + start * 7919
        groups: list[list[Row]] = [[]]
        for row in pool_of(tokenizer, pool_seed, args.calls, easy=made < args.easy_steps):
            if (len(groups[-1]) + 1) * len(row.ids) > args.tokens:
                groups.append([])
            groups[-1].append(row)
        Random(pool_seed).shuffle(groups)
        for group in groups:
            yield collate(group, tokenizer.pad_token_id)
            made += 1


def loss_of(model: LlamaForCausalLM, batch: Batch) -> torch.Tensor:
    """Return the mean cross-entropy of the answers. Rows are right-padded, so that causal attention needs no mask."""
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(input_ids=batch.ids, use_cache=False).last_hidden_state
        logits = model.lm_head(hidden.reshape(-1, hidden.shape[-1])[batch.positions])
    return torch.nn.functional.cross_entropy(logits.float(), batch.targets)


@torch.no_grad()
def answers(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, batch: list[Example]) -> list[str]:
    """Return the greedy, unconstrained answers to some examples."""
    prompts = [f"<|bos|><|user|>{user_text(example)}<|assistant|>" for example in batch]
    inputs = tokenizer(prompts, add_special_tokens=False, padding=True, padding_side="left", return_tensors="pt")
    known = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    output = model.generate(**known, max_new_tokens=160, do_sample=False)
    return list(tokenizer.batch_decode(output[:, known["input_ids"].shape[1] :], skip_special_tokens=True))


def exact_match(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, count: int) -> float:
    """Return the share of held-out examples whose greedy, unconstrained answer is the target, to the letter."""
    model.eval()
    rows = list(islice(examples(987_654_321, held_out=True), count))
    texts = [text for start in range(0, count, 50) for text in answers(model, tokenizer, rows[start : start + 50])]
    model.train()
    return sum(text == example.target() for text, example in zip(texts, rows, strict=True)) / count


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write the model folder, weights in half precision."""
    copy = LlamaForCausalLM(model.config)
    copy.load_state_dict(model.state_dict())
    copy.half()
    copy.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    copy.save_pretrained(out)
    config = out / "config.json"  # Stored as float16, to be computed with in float32.
    config.write_text(config.read_text().replace('"float16"', '"float32"'))
    tokenizer.backend_tokenizer.no_padding()  # That of the last evaluation.
    tokenizer.save_pretrained(out, save_jinja_files=False)
    (out / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG, indent=2) + "\n")
    for path in out.iterdir():
        path.chmod(0o644)


def optimizers(model: LlamaForCausalLM, args: argparse.Namespace) -> list[torch.optim.Optimizer]:
    """Return Muon for the hidden matrices and AdamW for embeddings and norms."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    muon = torch.optim.Muon(matrices, lr=args.lr, weight_decay=0.02, adjust_lr_fn="match_rms_adamw")
    return [muon, torch.optim.AdamW(others, lr=args.lr, betas=(0.9, 0.98), weight_decay=0.0)]


def rate(progress: float, step: int) -> float:
    """Return the factor of the learning rate: a short warm-up, then a cosine down to 1 %."""
    return min(1.0, (step + 1) / 60) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


class Run:
    """One training run with all its state."""

    def __init__(self, args: argparse.Namespace) -> None:
        torch.manual_seed(args.seed)
        torch.set_num_threads(args.threads)
        self.args = args
        fresh = args.resume is None
        self.tokenizer = train_tokenizer(args.seed) if fresh else PreTrainedTokenizerFast.from_pretrained(args.out)
        self.model = make_model(args, self.tokenizer)
        self.optimizers = optimizers(self.model, args)
        self.step = 0
        self.spent = 0.0
        self.began = time.time()
        if args.resume:
            self._resume(args.resume)

    def _resume(self, path: Path) -> None:
        """Take over the state of a stopped run."""
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.step, self.spent = state["step"], 0.0 if self.args.new_schedule else state["spent"]

    def _checkpoint(self) -> None:
        """Write the model folder and the state to resume from."""
        save(self.model, self.tokenizer, self.args.out)
        optimizer_states = [optimizer.state_dict() for optimizer in self.optimizers]
        state = {"model": self.model.state_dict(), "optimizers": optimizer_states}
        state |= {"step": self.step, "spent": self._elapsed()}
        temporary = self.args.state.with_suffix(".tmp")
        torch.save(state, temporary)
        temporary.replace(self.args.state)

    def _elapsed(self) -> float:
        """Return the seconds of training, those before a resume included."""
        return self.spent + time.time() - self.began

    def _progress(self) -> float:
        """Return how much of the run is over, from 0 to 1."""
        by_clock = self._elapsed() / (60 * self.args.minutes) if self.args.minutes else 0.0
        return max(by_clock, self.step / int(self.args.steps))

    def _update(self, batch: Batch) -> float:
        """Take one optimizer step and return the loss."""
        factor = rate(self._progress(), self.step)
        for optimizer in self.optimizers:
            optimizer.param_groups[0]["lr"] = self.args.lr * factor
        loss = loss_of(self.model, batch)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def train(self) -> None:
        """Train to the end."""
        args = self.args
        console.log(f"{sum(p.numel() for p in self.model.parameters()):,} parameters, {len(self.tokenizer)} tokens")
        losses, seen, mark = [], 0, time.time()
        for batch in batches(self.tokenizer, args, self.step):
            losses.append(self._update(batch))
            seen += batch.ids.numel()
            self.step += 1
            if self.step % 50 == 0:
                speed, mean = seen / (time.time() - mark), sum(losses) / len(losses)
                console.log(f"step {self.step}  loss {mean:.4f}  {speed:.0f} tokens/s  {100 * self._progress():.1f} %")
                losses, seen, mark = [], 0, time.time()
            done = self._progress() >= 1
            if self.step % args.every == 0 or done:
                self._checkpoint()
                matched = exact_match(self.model, self.tokenizer, 500 if done else 100)
                console.log(f"step {self.step}  exact match, held out: {matched:.1%}  after {self._elapsed():.0f} s")
                mark = time.time()
            if done:
                return


def main() -> None:
    """Parse the options and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=0.0, help="end after this time even if steps are left")
    parser.add_argument("--out", type=Path, default=ROOT / "schemagen" / "lm" / "bundled")
    parser.add_argument("--state", type=Path, default=Path(tempfile.gettempdir()) / "schemagen-train.pt")
    parser.add_argument("--resume", type=Path, default=None)
    parser.add_argument("--new-schedule", action="store_true", help="with --resume: start the clock of --minutes anew")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=6144, help="tokens a batch")
    parser.add_argument("--easy-steps", type=int, default=400)
    parser.add_argument("--calls", type=float, default=0.4, help="share of dialogues with tools")
    parser.add_argument("--every", type=int, default=400, help="steps between checkpoints")
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--inner", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=6)
    Run(parser.parse_args()).train()


if __name__ == "__main__":
    main()
