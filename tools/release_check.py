"""Take the steps of a release on this machine, all but the upload: `make release-check`.

    python tools/release_check.py all                    build, audit, install, try; packages are left in dist/
    python tools/release_check.py ready --tag v0.2.0     list the obstacles to publishing
    python tools/release_check.py smoke-core             ask the schemagen of this interpreter for masks, without torch
    python tools/release_check.py smoke-lm               ask it for an instance of the bundled model

`all` builds the source distribution, from it a wheel for each interpreter (--python), and both packages of schemagen-lm.
auditwheel and twine check them. Then `schemagen-core` is installed in an empty environment, where no compiler is in
reach, and has to work without torch; `schemagen-lm` is installed on top, and has to turn the nine sentences of
`schemagen demo` into instances. It prints sizes and times, and writes them with --output.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "release"
LM = ROOT / "packages" / "schemagen-lm"
PINNED = ("-c", str(ROOT / "constraints.txt"))
NO_COMPILER = {"CC": "/bin/false", "CXX": "/bin/false"}
MODEL_PACKAGES = ("torch", "transformers", "tokenizers", "accelerate", "safetensors")
EXECUTABLES = "Scripts" if os.name == "nt" else "bin"


# --- questions to an installed schemagen ------------------------------------------------------------------------------


def smoke_core(tokenizer: Path | None) -> dict[str, Any]:
    """Ask the engine for masks and clear errors; return how long the masks took.

    Args:
        tokenizer: A tokenizer.json, for masks over a big vocabulary.
    """
    from importlib.resources import as_file, files
    from importlib.util import find_spec

    import schemagen

    found = [name for name in MODEL_PACKAGES if find_spec(name) is not None]
    assert not found, f"the engine alone has to work, and {found} is installed"
    assert not is_source_tree(schemagen), "this is the source tree, not the wheel"
    with as_file(files("schemagen") / "lm" / "bundled") as folder:
        sizes = [ask_for_mask(folder)] + ([] if tokenizer is None else [ask_for_mask(tokenizer)])
    said = error_of(schemagen.load_bundled)
    assert "torch, transformers" in said, said
    return {"python": platform.python_version(), "masks": sizes}


def error_of(function: Callable[[], object]) -> str:
    """Return the error of a call for a package that is missing; "" if there is none."""
    try:
        function()
    except ImportError as error:
        return str(error)
    return ""


def ask_for_mask(tokenizer: Path) -> dict[str, Any]:
    """Compile a schema over a vocabulary, and apply its first mask to logits of numpy."""
    import numpy as np

    import schemagen

    start = time.perf_counter()
    vocabulary = schemagen.Vocabulary.from_tokenizer_json(tokenizer)
    read = time.perf_counter()
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    matcher = schemagen.compile(schema, vocabulary, cache=None).matcher()
    bitmask = schemagen.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask, 0)
    done = time.perf_counter()
    logits = np.zeros((1, vocabulary.size), dtype=np.float32)
    schemagen.apply_token_bitmask_inplace(logits, bitmask)
    allowed = np.flatnonzero(logits[0] == 0).tolist()
    assert allowed == matcher.allowed_tokens(), "the logits are not those of the mask"
    assert {vocabulary.tokens[token][:1] for token in allowed} == {b"{"}, "an object begins with a brace"
    return {
        "tokens": vocabulary.size,
        "read_ms": round((read - start) * 1e3, 1),
        "compile_and_first_mask_ms": round((done - read) * 1e3, 2),
    }


def smoke_lm() -> dict[str, Any]:
    """Ask the bundled model for an instance."""
    from pydantic import BaseModel

    import schemagen

    assert not is_source_tree(schemagen), "this is the source tree, not the wheel"

    class Person(BaseModel):
        name: str
        age: int

    person = schemagen.load_bundled()("Ada Lovelace, 36, London", Person)
    assert person == Person(name="Ada Lovelace", age=36), person
    return {"python": platform.python_version(), "instance": repr(person)}


def is_source_tree(module: Any) -> bool:
    """Whether a module was imported from this repository."""
    return Path(module.__file__).is_relative_to(ROOT / "schemagen")


# --- building ---------------------------------------------------------------------------------------------------------


def run(*command: str | Path, folder: Path = ROOT, **environment: str) -> str:
    """Run a command, show it, and return its output; stop if it fails."""
    words = [str(word) for word in command]
    print("$", *(Path(words[0]).name, *words[1:]), flush=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    settings: dict[str, Any] = {"cwd": folder, "env": {**kept, **environment}, "text": True}
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **settings)
    if done.returncode:
        sys.exit(f"{done.stdout}\nit ended with status {done.returncode}")
    return done.stdout


def release_tools() -> Path:
    """Return the folder with the programs of the extra `release`, in an environment of its own."""
    folder = WORK / "tools"
    if not (folder / EXECUTABLES).is_dir():
        run(sys.executable, "-m", "venv", folder)
    tools = folder / EXECUTABLES
    run(tools / "python", "-m", "pip", "install", "--quiet", "--upgrade", *PINNED, "pip", *extra_requirements())
    return tools


def extra_requirements() -> list[str]:
    """Return the requirements of the extra `release`, without those of other systems."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (block,) = re.findall(r"^release = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    return re.findall(r'^  "(.*)",$', block, re.MULTILINE)


def build_all(tools: Path, pythons: list[str]) -> list[tuple[str, Path]]:
    """Build every package into dist/; return each interpreter with its wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(WORK / "wheels", ignore_errors=True)
    run(tools / "python", "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    run(tools / "python", "-m", "build", "--outdir", DIST, LM)
    (sources,) = DIST.glob("schemagen_core-*.tar.gz")
    wheels: list[tuple[str, Path]] = []
    for python in pythons:
        used = cpu_seconds()
        place = WORK / "wheels" / str(len(wheels))
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, sources)
        print(f"  {cpu_seconds() - used:.0f} s of CPU time")
        (built,) = place.glob("*.whl")
        wheels.append((python, repaired(tools, built)))
    return wheels


def repaired(tools: Path, wheel: Path) -> Path:
    """Put a wheel into dist/; on Linux with the oldest C library that it runs with in its name."""
    if sys.platform != "linux":
        return Path(shutil.copy(wheel, DIST))
    known = {*DIST.iterdir()}
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    print(run(tools / "auditwheel", "repair", "--wheel-dir", DIST, wheel, PATH=path).strip())
    (new,) = {*DIST.iterdir()} - known
    return new


def cpu_seconds() -> float:
    """Return the CPU time of all processes that were started here and have ended."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_packages(tools: Path) -> None:
    """Let twine read the metadata, and look for the list of libraries in each wheel of the core."""
    packages = sorted(DIST.iterdir())
    print(run(tools / "twine", "check", "--strict", *packages).strip())
    for wheel in DIST.glob("schemagen_core-*.whl"):
        names = zipfile.ZipFile(wheel).namelist()
        (bill,) = [name for name in names if name.endswith(".dist-info/sboms/schemagen-core.cdx.json")]
        parts = {
            part["name"]: part.get("version") for part in json.loads(zipfile.ZipFile(wheel).read(bill))["components"]
        }
        assert parts["nanobind"], parts
        assert any(".dist-info/licenses/" in name for name in names), names


# --- installing -------------------------------------------------------------------------------------------------------


class Environment:
    """An environment in a folder of its own, without pip and without a compiler.

    Args:
        python: The interpreter.
        tools: Where the pip is that installs into it.
        folder: An empty folder.
    """

    def __init__(self, python: str, tools: Path, folder: Path) -> None:
        self._tools, self._folder = tools, folder
        run(python, "-m", "venv", "--without-pip", folder / "env")
        self.executables = folder / "env" / EXECUTABLES

    def run(self, *command: str | Path) -> str:
        """Run a program of the environment; return its output."""
        return run(self.executables / command[0], *command[1:], folder=self._folder, **NO_COMPILER)

    def ask(self, question: str, *options: str | Path) -> dict[str, Any]:
        """Return the answers to a question of this file."""
        said = self.run("python", "-W", "ignore", Path(__file__), question, *options).splitlines()[-1]
        print(said)
        answers: dict[str, Any] = json.loads(said)
        return answers

    def install(self, *packages: Path) -> None:
        """Install packages with their dependencies."""
        pip = (self._tools / "python", "-m", "pip", "--python", self.executables / "python")
        run(*pip, "install", "--quiet", *PINNED, "--find-links", DIST, *packages, folder=self._folder, **NO_COMPILER)

    def megabytes(self) -> dict[str, float]:
        """Return the sizes of its packages, and their sum under "all"."""
        packages = Path(self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        sizes = {path.name: size_of(path) for path in packages.iterdir() if not path.name.endswith(".dist-info")}
        biggest = sorted(sizes, key=lambda name: -sizes[name])[:5]
        return {"all": size_of(packages)} | {name: sizes[name] for name in {*biggest, "schemagen"}}

    def import_ms(self) -> float:
        """Return the least time of five that `import schemagen` takes in a new process."""
        code = "import time; t = time.perf_counter(); import schemagen; print((time.perf_counter() - t) * 1e3)"
        return round(min(float(self.run("python", "-c", code)) for _ in range(5)), 1)


def size_of(path: Path) -> float:
    """Return the megabytes (1e6 bytes) of a file, or of all files of a folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file() and not each.is_symlink()]
    return round(sum(each.stat().st_size for each in files) / 1e6, 1)


def try_core(environment: Environment, wheel: Path) -> dict[str, Any]:
    """Install the engine alone, and try it."""
    import corpora  # type: ignore[import-not-found]  # of tests/

    environment.install(wheel)
    big = corpora.path("gpt2")
    asked = environment.ask("smoke-core", *(("--tokenizer", big.parent) if big.is_file() else ()))
    environment.run("schemagen", "compile", '{"type": "integer"}')
    return {
        "wheel": wheel.name,
        "wheel_mb": size_of(wheel),
        "installed_mb": environment.megabytes(),
        "import_ms": environment.import_ms(),
        **asked,
    }


def try_lm(environment: Environment) -> dict[str, Any]:
    """Install language models on top, and run the demo."""
    (wheel,) = DIST.glob("schemagen_lm-*.whl")
    environment.install(wheel)
    demo = environment.run("schemagen", "demo")
    instances = re.search(r"(\d+) of (\d+) are validated instances", " ".join(demo.split()))
    assert instances is not None, demo
    assert instances[1] == instances[2] == "9", instances[0]
    return {"demo": instances[0], "installed_mb": environment.megabytes(), **environment.ask("smoke-lm")}


def check_refusal(tools: Path) -> None:
    """Install the source distribution where no compiler is: the core is needed, and pip has to say how to get one."""
    (sources,) = DIST.glob("schemagen_core-*.tar.gz")
    command = [str(tools / "python"), "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(WORK), str(sources)]
    done = subprocess.run(command, env={**os.environ, **NO_COMPILER}, capture_output=True, text=True, check=False)
    assert done.returncode, "the core was built without a compiler"
    assert "the compiled core of schemagen was not built" in done.stdout + done.stderr, done.stdout + done.stderr


def all_steps(pythons: list[str], output: Path | None, *, with_models: bool) -> None:
    """Take every step; write the sizes and times."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]
    tools = release_tools()
    wheels = build_all(tools, pythons)
    check_packages(tools)
    if sys.platform == "linux":
        check_refusal(tools)
    results: dict[str, Any] = {"core": []}
    for python, wheel in wheels:
        with tempfile.TemporaryDirectory() as folder:
            environment = Environment(python, tools, Path(folder))
            results["core"].append(try_core(environment, wheel))
            if with_models and python == wheels[0][0]:
                results["lm"] = try_lm(environment)
    print(json.dumps(results, indent=1))
    if output is not None:
        from harness import write_result  # type: ignore[import-not-found]  # of benchmarks/

        write_result(output, "release", {"command": "make release-check"}, results)
    print("\n".join(f"NOT YET: {obstacle}" for obstacle in obstacles()))


def obstacles(tag: str | None = None) -> list[str]:
    """Return the reasons not to publish this tree, as this tag."""
    core, whole = ((folder / "pyproject.toml").read_text(encoding="utf-8") for folder in (ROOT, LM))
    (version,) = re.findall(r'^version = "(.*)"$', core, re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    installing = (ROOT / "schemagen" / "errors" / "installing.py").read_text(encoding="utf-8")
    checks = {
        "[project.urls] of pyproject.toml is still a placeholder": ".example" in core.partition("[project.urls]")[2],
        f"schemagen-lm has another version than {version}": f'version = "{version}"' not in whole,
        f"schemagen-lm requires another schemagen-core than {version}": f"schemagen-core[lm]=={version}" not in whole,
        f"CHANGELOG.md has no section [{version}]": f"## [{version}]" not in changes,
        "IS_PUBLISHED in schemagen/errors/installing.py is not True": "\nIS_PUBLISHED = True" not in installing,
        f"the tag is {tag}, and the version {version}": tag not in {None, f"v{version}"},
    }
    return [obstacle for obstacle, stands in checks.items() if stands]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    everything = commands.add_parser("all", help="build, audit and install both distributions")
    everything.add_argument("--python", action="append", dest="pythons", help="an interpreter (several: repeat it)")
    everything.add_argument(
        "--core-only", action="store_true", help="do not install torch and the other packages of schemagen-lm"
    )
    everything.add_argument("--output", type=Path, help="write sizes and times to this JSON file")
    ready = commands.add_parser("ready", help="list the obstacles to publishing")
    ready.add_argument("--tag", help="the tag of the release")
    core = commands.add_parser("smoke-core", help="try the engine of this interpreter")
    core.add_argument("--tokenizer", type=Path, help="a tokenizer.json, or its folder")
    commands.add_parser("smoke-lm", help="try the bundled model with this interpreter")
    options = parser.parse_args()
    if options.command == "all":
        all_steps(options.pythons or [sys.executable], options.output, with_models=not options.core_only)
    elif options.command == "ready":
        if found := obstacles(options.tag):
            sys.exit("\n".join(found))
    elif options.command == "smoke-core":
        print(json.dumps(smoke_core(options.tokenizer)))
    else:
        print(json.dumps(smoke_lm()))


if __name__ == "__main__":
    main()
