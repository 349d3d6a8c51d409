"""Learn the usual tokens of answers from examples, before the first answer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemagen.checks import kind_of
from schemagen.errors import OptionError, OptionTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.decode.speculation.planner import DraftPlanner
    from schemagen.engine.protocol import Constraint
    from schemagen.lm.language_model import LanguageModel


def learn_examples(lm: LanguageModel, spec: Any, examples: Iterable[Any] | str | os.PathLike[str]) -> int:
    """Count which tokens the texts of examples have at which places; see `LanguageModel.warm_up`."""
    from schemagen.decode.speculation.planner import planner_of

    grammar = lm.compile(spec)
    planner = planner_of(lm.model, grammar, lm.speculation)
    learnt = 0
    for index, text in enumerate(_texts(spec, examples)):
        token_ids = lm.tokenizer(text, add_special_tokens=False)["input_ids"]
        if not _learn(planner, grammar, token_ids):
            raise OptionError(
                f"example {index} is not a text of the type: {text:.80}",
                why="the grammar of the type does not allow it, or not in the order of its keys",
                fix="give values of the type, or texts that it allows",
            )
        learnt += 1
    return learnt


def _learn(planner: DraftPlanner, grammar: Constraint, token_ids: list[int]) -> bool:
    """Read a text as if the model had written it; return whether it is one of the grammar."""
    from schemagen.decode.speculation.drafts import Context

    context, matcher = Context(grammar.vocabulary, ()), grammar.matcher()
    for token in token_ids:
        before = matcher.fork()
        if not matcher.accept_token(token):
            return False
        planner.observe(context, before, token)
        context.append(token)
    return matcher.is_accepting()


def _texts(spec: Any, examples: Iterable[Any] | str | os.PathLike[str]) -> Iterator[str]:
    """Yield the examples as a model writes them: JSON with a space after commas and colons."""
    if isinstance(examples, str | os.PathLike):
        yield from _lines(Path(examples))
        return
    if not isinstance(examples, Iterable):
        raise OptionTypeError(
            f"the examples are {kind_of(examples)}", fix="give values or texts, or the path of a file of JSON Lines"
        )
    for example in examples:
        yield example if isinstance(example, str) else json.dumps(_plain(spec, example), ensure_ascii=False)


def _lines(path: Path) -> Iterator[str]:
    """Yield the values of a file of JSON Lines.

    Raises:
        OptionError: It cannot be read, or a line is not JSON.
    """
    try:
        for line in filter(str.strip, path.read_text(encoding="utf-8").split("\n")):
            yield json.dumps(json.loads(line), ensure_ascii=False)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"cannot read examples from {str(path)!r}: {error}", fix="give a file with a JSON value in each line"
        ) from error


def _plain(spec: Any, example: Any) -> Any:
    """Return a value as JSON data.

    Raises:
        OptionError: pydantic cannot convert it.
    """
    from pydantic import TypeAdapter

    try:
        adapter = TypeAdapter(spec if isinstance(spec, type) else type(example))
        return adapter.dump_python(example, mode="json", by_alias=True)
    except (ValueError, TypeError) as error:
        raise OptionError(
            f"an example is {type(example).__name__}", why=str(error), fix="give values of the type, or texts"
        ) from error
