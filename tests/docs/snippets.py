"""Python code blocks of Markdown pages: find them, run them in order, compare what they print."""

import ast
import builtins
import re
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(
    r"(?:<!-- no-test: (?P<reason>[^>]+?) -->\s*)?^```python[^\n]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
_EXPECTED = re.compile(r"# -> ?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its code, the line it starts on, and why it is not run, if it is not."""

    code: str
    line: int
    reason: str


def pages() -> list[Path]:
    """Every page that may hold code for a reader to copy."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(text: str) -> list[Block]:
    """Each fenced Python block of a page, in order; those that only include a file are left out."""
    found = []
    for match in _BLOCK.finditer(text):
        if not match["code"].lstrip().startswith("--8<--"):
            line = text.count("\n", 0, match.start("code"))
            found.append(Block(match["code"], line + 1, match["reason"] or ""))
    return found


def undefined_names(block: Block, known: Iterable[str]) -> list[str]:
    """The names that a block reads and nobody defines: not the block, not the page before it, not Python."""
    read = {node.id for node in ast.walk(ast.parse(block.code)) if isinstance(node, ast.Name)}
    return sorted(read - names_defined_by(block) - set(known) - set(dir(builtins)))


def names_defined_by(block: Block) -> set[str]:
    """The names that a block assigns, imports, takes as arguments or matches."""
    tree = ast.parse(block.code)
    defined = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            defined.add(node.name)
    return defined


def run_block(block: Block, page: Path, module: ModuleType) -> None:
    """Run one block in the module of its page; where it says `# -> text`, exactly that must be printed."""
    printed = StringIO()
    code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    with redirect_stdout(printed):
        exec(code, module.__dict__)  # noqa: S102 - our own documentation
    expected = _EXPECTED.findall(block.code)
    if expected:
        assert printed.getvalue().splitlines() == expected, f"{page}:{block.line}"
