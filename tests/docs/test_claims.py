"""What pages say of the package in passing: names, files and commands that must exist."""

import json
import re
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_home_page_names_every_guide() -> None:
    """A guide that "Where to go" leaves out is found by the menu alone."""
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("## Where to go")[2]
    guides = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "guides").glob("*.md")}
    assert guides - {*re.findall(r"\((guides/[a-z-]+\.md)", home)} == set()


FIRST = (ROOT / "README.md", ROOT / "docs" / "index.md")
RESULTS = {
    name: json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("masks", "real_model", "real_model_texts", "release")
}


def test_the_table_of_the_first_pages_says_how_many_questions() -> None:
    """The speed of a handful of questions is not that of the shares beside it."""
    runs = RESULTS["real_model"]["results"]
    said = []
    for kind in ("quality", "times"):
        counts = {name: run["count"] for name, run in runs[kind].items()}
        fewer = counts.pop("extraction_15")
        (usual,) = {*counts.values()}
        said.append(f'{usual} questions per task ({fewer} for "15 fields")')
    for page in (*FIRST, ROOT / "docs" / "evidence.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert [one for one in [*said, "greed", "did other work"] if one not in text] == [], page


def test_the_sizes_of_the_engine_are_measured() -> None:
    """Those of the last `make release-check` whose result is committed."""
    results = RESULTS["release"]["results"]
    (core,) = results["core"]
    sizes, (_, gpt2) = core["installed_mb"], core["masks"]
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    numpy = sizes["numpy"] + sizes["numpy.libs"]
    assert f"{sizes['all']:.0f} MB: numpy {numpy:.0f}, schemagen {sizes['schemagen']:.0f}" in page
    assert f"| {results['lm']['installed_mb']['all']:.0f} MB |" in page
    assert f"| {core['import_ms']:.0f} ms |" in page
    assert gpt2["tokens"] == 50257
    assert f"| {(gpt2['read_ms'] + gpt2['compile_and_first_mask_ms']) / 1000:.1f} s |" in page
    assert results["lm"]["demo"].startswith("9 of 9")


def test_the_first_pages_show_what_the_model_wrote() -> None:
    """Both texts for one question, the second of them right; and how many such answers are valid and right."""
    found, run = (
        results["tools"]
        for results in (RESULTS["real_model_texts"]["results"], RESULTS["real_model"]["results"]["quality"])
    )
    alone, ours = (found["texts"][way] for way in ("unconstrained", "schemagen"))
    assert (alone["valid"], ours["valid"], {*ours["right"].values()}) == (False, True, {True})
    (free_valid, valid), (free_exact, exact) = (
        [round(run["ways"][way][key][0] * run["count"]) for way in ("unconstrained", "schemagen")]
        for key in ("valid", "exact")
    )
    assert (free_valid, valid) == (0, run["count"])
    said = (
        f'for "{found["prompt"].rpartition("Request: ")[2]}"',
        alone["text"],
        f"Of {run['count']} such answers, none was valid without schemagen; with it, all were.",
        f"with schemagen {exact} answers were right in every field, without it {free_exact}.",
    )
    for page in FIRST:
        text = page.read_text(encoding="utf-8")
        plain = " ".join(text.replace("\n> ", "\n").split())
        assert [one for one in said if one not in plain] == [], page
        assert f"```json\n{ours['text']}\n```" in text


def test_the_readme_dates_its_measurement() -> None:
    """The day of the run that the ratios are from."""
    day = RESULTS["masks"]["date"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"in one run on {date.fromisoformat(day):%d %B %Y}" in readme


def test_right_answers_are_told_from_outputs() -> None:
    """Each text of "What breaks" says who wrote it and how right it is; one with schemagen at least is valid and wrong."""
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    part = page.partition("## What breaks")[2].partition("\n## ")[0]
    labels = re.findall(r"^(.*)\n\n<pre>", part, flags=re.MULTILINE)
    found = list(RESULTS["real_model_texts"]["results"].values())
    wanted = []
    for one in found:
        for way, heading in (("unconstrained", "Alone, not valid"), ("schemagen", "With schemagen, valid")):
            right = one["texts"][way]["right"]
            wanted.append(f"{heading}, {sum(right.values())} of {len(right)} fields right")
        wanted.append("The right answer, from the data")
    assert [re.sub(r"(; the first .*)?:$", "", label) for label in labels] == wanted
    assert len(found) == 5
    assert "these texts are valid, and not all of their values are right: " in part
