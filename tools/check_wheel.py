"""Install wheels the way a user does, and see that they work: `make wheel-test`.

    python tools/check_wheel.py install dist/*.whl      each in an environment of its own, with no compiler in reach
    python tools/check_wheel.py smoke                   the same questions to the schemagen of this interpreter

A wheel is installed by the interpreter that its tag names (`python3.12` for cp312), if there is one. The environment
is empty, the constraints are those of the repository, and the compilers are replaced by a command that fails. Then
`schemagen demo` runs in an empty folder, and the smoke test after it. Of a source distribution pip has to say that it needs a
compiler; that it compiles is known, for `make wheel` builds the wheels from it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}


def smoke() -> None:
    """Ask the installed package for an instance, a grammar and a mask."""
    from pydantic import BaseModel

    import schemagen

    assert not Path(schemagen.__file__).is_relative_to(ROOT / "schemagen"), "this is the source tree, not the wheel"

    class Person(BaseModel):
        name: str
        age: int

    lm = schemagen.load_bundled()
    grammar = lm.compile(Person)
    person = lm("Ada Lovelace, 36, London", Person)
    assert person == Person(name="Ada Lovelace", age=36), person
    pieces = lm.vocabulary.tokens
    first = {pieces[token][:1] for token in grammar.matcher().allowed_tokens()}
    assert first == {b"{"}, first
    print(f"schemagen {schemagen.__version__}, Python {sys.version.split()[0]}: {person!r}")


def interpreter_of(package: Path) -> str | None:
    """Return the command of the interpreter that a wheel is for; of a source distribution, this one."""
    if package.suffix != ".whl":
        return sys.executable
    tag = re.search(r"-cp3(\d+)-cp3\d+(t?)-", package.name)
    if tag is None:
        return sys.executable
    minor, threads = int(tag[1]), tag[2]
    if (3, minor) == sys.version_info[:2] and not threads:
        return sys.executable
    return shutil.which(f"python3.{minor}{threads}")


def install_and_try(package: Path) -> bool:
    """Install a package in an empty environment and try it; return whether an interpreter for it was found."""
    python = interpreter_of(package)
    if python is None:
        print(f"-- {package.name}: skipped, there is no interpreter for it")
        return False
    size = package.stat().st_size / 1e6
    print(f"-- {package.name}: {size:.1f} MB", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run = Runner(place)
        run(python, "-m", "venv", "env")
        inside = "Scripts" if os.name == "nt" else "bin"
        install = (f"env/{inside}/python", "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"))
        if package.suffix != ".whl":
            said = run.failing(*install, "--no-deps", str(package))
            assert "the compiled core of schemagen was not built" in said, said
            return True
        run(*install, str(package))
        run(f"env/{inside}/schemagen", "demo")
        run(f"env/{inside}/python", "-W", "ignore", str(Path(__file__).resolve()), "smoke")
    return True


class Runner:
    """Runs commands in a folder, with no compiler and nothing of the caller's Python settings.

    Args:
        folder: The working directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        self._environment = {**kept, **NO_COMPILER}

    def __call__(self, *command: str) -> None:
        """Run a command and stop if it fails."""
        subprocess.run(self._found(command), cwd=self._folder, env=self._environment, check=True)

    def failing(self, *command: str) -> str:
        """Run a command that has to fail; return its output."""
        run = subprocess.run(
            self._found(command), cwd=self._folder, env=self._environment, check=False, capture_output=True, text=True
        )
        assert run.returncode, f"{command} did not fail"
        return run.stdout + run.stderr

    def _found(self, command: tuple[str, ...]) -> list[str]:
        # A path is one in the folder; an absolute path stays unchanged.
        return [shutil.which(command[0]) or str(self._folder / command[0]), *command[1:]]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("smoke", help="try the schemagen of this interpreter")
    installing = commands.add_parser("install", help="install packages in empty environments, and try each")
    installing.add_argument("packages", nargs="+", type=Path)
    options = parser.parse_args()
    if options.command == "smoke":
        smoke()
        return
    tried = sum(install_and_try(package.resolve()) for package in options.packages)
    print(f"{tried} of {len(options.packages)} packages installed and tried")
    if tried == 0:
        sys.exit("no package was tried")


if __name__ == "__main__":
    main()
