"""The benchmark scripts run, their results have the promised fields, and the page is made of the committed ones."""

import importlib
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

import schemagen

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
PEERS = [name for name in ("llguidance",) if importlib.util.find_spec(name)]


@pytest.fixture(scope="module")
def script():
    """Import a script by name, as it would see its neighbours."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A folder with a byte-level tokenizer of a few hundred tokens."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["</s>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(['{"name": "Ada", "count": 12, "tags": ["a", "b"]}'] * 9, trainer)
    folder = tmp_path_factory.mktemp("tokenizer")
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>").save_pretrained(folder)
    return folder


def run(script, name, tokenizer, out, *more):
    """The results that a script writes."""
    assert script(name).main(["--tokenizer", str(tokenizer), "--out", str(out), *more]) == 0
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record.keys() == {"benchmark", "date", "commit", "machine", "versions", "settings", "results"}
    assert record["benchmark"] == name
    assert record["versions"]["numpy"]
    assert record["machine"].keys() == {"cpu", "cores", "system", "python", "load_average"}
    return record["results"]


def page_of(script, folder):
    """The page made of the results in a folder."""
    page = script("page")
    return page.render(page.load(folder))


def test_masks(script, tokenizer, tmp_path):
    """`masks.py` judges every schema with every engine, and compares times and memory; the page shows it."""
    engines = ["schemagen", *PEERS]
    out = tmp_path / "m.json"
    found = run(script, "masks", tokenizer, out, "--sample", "5", "--engines", *engines)
    assert list(found["engines"]) == engines
    ours = found["engines"]["schemagen"]
    assert ours["verdicts"] == {"pass": 5}
    assert ours["not_pass"] == {}
    assert ours["ttfm_us"]["max"] > ours["tbm_us"]["p50"] > 0
    assert ours["memory_bytes"]["peak"] >= ours["memory_bytes"]["baseline"] > 0
    assert found["common"]["masks"] >= found["common"]["schemas"] > 0
    assert list(found["ratios"]) == [f"schemagen / {name}" for name in PEERS]
    script("verdicts").main([str(out), "--out", str(tmp_path / "coverage.json")])
    page = page_of(script, tmp_path)
    assert "`benchmarks/results/m.json`" in page
    assert all(f"schemagen / {peer}" in page for peer in PEERS)


def test_masks_of_a_file(script, tokenizer, tmp_path):
    """A data file is read, wrong verdicts name their tests, and a schema that is refused is a verdict."""
    tests = [{"valid": True, "data": "a"}, {"valid": True, "data": 1}, {"valid": False, "data": [1]}]
    schemas = {"right": True, "narrow": {"type": "string"}, "empty": False}
    lines = [{"id": name, "schema": schema, "tests": tests[:2]} for name, schema in schemas.items()]
    lines.append({"id": "wide", "schema": True, "tests": tests})
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = run(script, "masks", tokenizer, tmp_path / "m.json", "--data", str(data), "--engines", "schemagen")
    not_pass = found["engines"]["schemagen"]["not_pass"]
    assert not_pass["narrow"][:2] == ["false_reject", [1]]
    assert not_pass["wide"][:2] == ["false_accept", [2]]
    assert not_pass["empty"][0] == "compile_error"
    assert not_pass["empty"][2].startswith("UnsatisfiableSchemaError")
    assert found["engines"]["schemagen"]["verdicts"] == {
        "pass": 1,
        "false_reject": 1,
        "compile_error": 1,
        "false_accept": 1,
    }


def test_ratios_are_of_what_all_pass(script):
    """Times of a schema that one engine does not pass are left out for all."""
    memory = {"baseline": 1, "peak": 3}

    def row(verdict, *times):
        return {"verdict": verdict, "ttfm_us": times[0], "tbm_us": list(times), "memory_bytes": memory}

    ours = {"a": row("pass", 2.0, 2.0), "b": row("pass", 1000.0)}
    theirs = {"a": row("pass", 4.0, 8.0), "b": row("false_accept", 1.0)}
    found = script("masks").summary({"schemagen": ours, "other": theirs})
    assert found["common"] == {"schemas": 1, "masks": 2}
    assert found["ratios"]["schemagen / other"]["ttfm_us"]["p50"] == 0.5
    assert found["ratios"]["schemagen / other"]["tbm_us"]["max"] == 0.25
    assert found["engines"]["other"]["memory_bytes"]["growth"] == 2


def test_decode_overhead(script, tokenizer, tmp_path):
    """`decode_overhead.py` runs a step of each generation in turn, and compares those of one moment."""
    processors = ["schemagen", "schemagen, inplace", "schemagen, measure_mass", "copy"]
    small = ["--batches", "1", "2", "--steps", "3", "--repeats", "2", "--hidden", "64", "--layers", "1"]
    found = run(
        script,
        "decode_overhead",
        tokenizer,
        tmp_path / "d.json",
        *small,
        "--device",
        "cpu",
        "--processors",
        *processors,
    )
    assert len(found) == 2
    for model in found.values():
        expected = [(batch, name) for batch in (1, 2) for name in ("unconstrained", *processors)]
        assert [(row["batch"], row["processor"]) for row in model["rows"]] == expected
        assert {row["steps"] for row in model["rows"]} == {6}
        assert all(row["ratio"] == 1 for row in model["rows"] if row["processor"] == "unconstrained")
        assert all(row["processor_ms"] > 0 for row in model["rows"] if row["processor"] != "unconstrained")
        assert model["skipped"] == {}
    assert "`benchmarks/results/d.json`" in page_of(script, tmp_path)


def test_row_queue(script, tokenizer, tmp_path):
    """`row_queue.py` writes the same texts in two ways, and says how much faster the queue is."""
    small = ["--texts", "4", "--rounds", "1", "--sizes", "2"]
    found = run(script, "row_queue", tokenizer, tmp_path / "q.json", *small)
    assert [(row["texts"], row["batch_size"]) for row in found["rows"]] == [("uneven", 2), ("even", 2)]
    assert all(row["speedup"] > 0 for row in found["rows"])
    assert "| uneven | 2 |" in page_of(script, tmp_path)


def test_device_overhead(script, tokenizer, tmp_path):
    """`device_overhead.py` runs small on a CPU, where nothing can be waited for."""
    small = ["--device", "cpu", "--steps", "3", "--repeats", "2", "--rows", "2", "--max-states", "3000"]
    found = run(script, "device_overhead", tokenizer, tmp_path / "d.json", *small)
    assert [row["processor"] for row in found["rows"]] == ["unconstrained", "device", "host"]
    assert {row["synchronisations"] for row in found["rows"]} == {None}
    assert {row["steps"] for row in found["rows"]} == {6}
    assert all(row["processor_ms"] > 0 for row in found["rows"][1:])
    assert found["tables"]["states"] > 1000
    page = script("page")
    assert "This has not been measured" not in page.render(page.load(tmp_path))


def test_device_overhead_needs_a_device(script, tokenizer, tmp_path, capsys, monkeypatch):
    """Without a GPU nothing is run and nothing written, and the message says what can be done."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    out = tmp_path / "d.json"
    assert script("device_overhead").main(["--tokenizer", str(tokenizer), "--out", str(out)]) == 2
    assert "no CUDA device" in capsys.readouterr().err
    assert not out.exists()


def test_a_contender_that_fails_ends_the_race(script):
    """An error in one generation is raised, and the others get their turns until the end."""
    import torch

    module = script("decode_overhead")
    model = schemagen.load_bundled().model

    class Broken:
        def __call__(self, _input_ids, _scores):
            raise ValueError("no mask")

    with pytest.raises(ValueError, match="no mask"):
        module.race(model, torch.tensor([[1, 2]]), {"free": None, "broken": Broken, "other": None}, 3)


def test_memory(script, tokenizer, tmp_path):
    """`memory.py` weighs grammars before and after their use."""
    found = run(script, "memory", tokenizer, tmp_path / "m.json", "--sample", "5")
    assert found["grammars"] == 5
    assert found["used_bytes"]["avg"] >= found["fresh_bytes"]["avg"] > 0
    assert {"baseline", "now", "peak", "growth"} == found["process_bytes"].keys()
    assert "`benchmarks/results/m.json`" in page_of(script, tmp_path)


def test_batch(script, tokenizer, tmp_path):
    """`batch.py` compares 1, 8 and 64 rows over the same grammar and over different ones."""
    found = run(script, "batch", tokenizer, tmp_path / "b.json", "--rounds", "3")
    rows = found["rows"]
    assert [(row["rows"], row["grammars"]) for row in rows] == [
        *[(1, "same"), (8, "same"), (8, "different"), (64, "same"), (64, "different")]
    ]
    assert all(row["batch / single"] > 0 and row["threads / single"] > 0 for row in rows)
    assert found["new"]["one_thread_ms"] > 0 < found["new"]["threads / one thread"]
    assert "`benchmarks/results/b.json`" in page_of(script, tmp_path)


def test_tokens_behind_something_else(script):
    """A tokenizer that writes a space before the first word is asked behind a line break."""

    class SentencePiece:
        def encode(self, text, *, add_special_tokens):
            assert not add_special_tokens
            return [ord("\N{LOWER ONE EIGHTH BLOCK}"), *map(ord, text)]

        def convert_ids_to_tokens(self, ids):
            return [chr(one) for one in ids]

    class ByteLevel(SentencePiece):
        def encode(self, text, *, add_special_tokens):
            return super().encode(text, add_special_tokens=add_special_tokens)[1:]

    harness = script("harness")
    for tokenizer in (SentencePiece(), ByteLevel()):
        assert harness.tokens_of(tokenizer, '{"a') == list(map(ord, '{"a'))
    assert harness.tokens_of(SentencePiece(), "") == []


def test_vocabulary(script, tokenizer, tmp_path):
    """`vocabulary.py` times each step beside loading the tokenizer."""
    rows = run(script, "vocabulary", tokenizer, tmp_path / "v.json", "--repeats", "1")["rows"]
    assert rows[0]["what"].endswith("load the tokenizer")
    assert {"schemagen: from_tokenizer", "schemagen: tables of the core"} <= {row["what"] for row in rows}
    assert all(row["ms"] > 0 for row in rows)
    assert "`benchmarks/results/v.json`" in page_of(script, tmp_path)


def test_stress(script, tokenizer, tmp_path):
    """`stress.py` measures a random walk, starting again where a text is complete."""
    found = run(script, "stress", tokenizer, tmp_path / "s.json", "--steps", "30", "--only", "recursive tree")
    row = found["schemas"]["recursive tree"]["schemagen"]
    assert row["verdict"] == "done"
    assert row["steps"] == 30
    assert row["walk_us"]["max"] > 0
    assert row["grammar_bytes"] > 0
    assert "`benchmarks/results/s.json`" in page_of(script, tmp_path)


def test_families(script, tokenizer, tmp_path):
    """`families.py` measures the first mask of a schema of each size, in a process of its own."""
    found = run(script, "families", tokenizer, tmp_path / "f.json", "--sizes", "3", "--only", "not both")
    row = found["families"]["not both"]["schemagen"]["3"]
    assert row["verdict"] == "done"
    assert row["ms"] > 0
    assert "`benchmarks/results/f.json`" in page_of(script, tmp_path)


@pytest.mark.slow
def test_every_family_is_of_valid_schemas(script):
    """At a small size, which tells as much as a large one."""
    from jsonschema import Draft202012Validator

    for make in script("families").FAMILIES.values():
        Draft202012Validator.check_schema(make(3))


@pytest.mark.parametrize(("case", "verdict"), [("die", "crash"), ("sleep", "timeout"), ("answer", "done")])
def test_workers_are_guarded(script, tmp_path, monkeypatch, case, verdict):
    """A process that dies or hangs is a verdict, and the next case is answered."""
    (tmp_path / "guarded.py").write_text(
        "import os, time\n"
        "def answer():\n"
        "    return lambda case: os._exit(3) if case == 'die' else time.sleep(60) if case == 'sleep' else "
        "{'verdict': 'done'}\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    harness = script("harness")
    worker = harness.Worker("guarded:answer", (), timeout_s=1.0)
    with harness.workers({"one": worker}):
        assert worker.ask(case)["verdict"] == verdict
        assert worker.ask("answer")["verdict"] == "done"


def test_generated_schemas(script):
    """The same seed makes the same schemas, with instances of both kinds; all valid JSON Schema."""
    from jsonschema import Draft202012Validator

    schemas = script("schemas")
    cases = schemas.generate(40, 1)
    assert cases == schemas.generate(40, 1) != schemas.generate(40, 2)
    for case in cases:
        Draft202012Validator.check_schema(case["schema"])
    labels = [test["valid"] for case in cases for test in case["tests"]]
    assert labels.count(True) >= 80
    assert labels.count(False) >= 40


@pytest.mark.slow
def test_every_stress_schema_is_one(script):
    """The hard schemas are valid JSON Schema."""
    from jsonschema import Draft202012Validator

    for _, make in script("stress").STRESS.values():
        Draft202012Validator.check_schema(make())


def test_percentiles(script):
    """Nearest rank: the smallest value that so many percent do not exceed."""
    percentile = script("harness").percentile
    assert [percentile([3.0, 1.0, 2.0, 4.0], p) for p in (0, 25, 26, 50, 99.9, 100)] == [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert script("harness").aggregate([]) == {}


def test_peers_are_optional(script, capsys, monkeypatch):
    """A peer that is not installed is named on a line and left out."""
    engines = script("engines")
    monkeypatch.setitem(engines.ENGINES, "absent", (None, "no_such_module"))
    assert engines.installed(["schemagen", "absent"]) == ["schemagen"]
    assert "skipped: absent is not installed" in capsys.readouterr().out


def test_page_is_made_from_the_results(script):
    """docs/benchmarks.md and its plots are what `benchmarks/page.py` writes."""
    page = script("page")
    results = page.load()
    rendered = page.render(results)
    assert page.PAGE.read_text(encoding="utf-8") == rendered, "run python benchmarks/page.py"
    assert "{{" not in rendered
    for name, plot in page.plots(results).items():
        assert (page.PLOTS / name).read_text(encoding="utf-8") == plot
        assert page.figure(name, "").splitlines()[1] in rendered


def test_plots_follow_the_page_and_fit(script):
    """Every plot has the colour of the text around it, no ground of its own, and no letter outside of it."""
    plots, folder = script("plots"), script("page").PLOTS
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.svg"))]
    assert len(texts) > 5
    for text in texts:
        assert {'fill="currentColor"'} <= set(re.findall(r'fill="currentColor"|#fff"/>|white', text))
        for x, anchor, said in re.findall(r'<text x="([\d.]+)" [^>]*anchor="(\w+)"[^>]*>([^<]*)<', text):
            wide = plots.LETTER * len(said)
            begin = float(x) - wide * {"start": 0, "middle": 0.5, "end": 1}[anchor]
            assert begin > -6, said
            assert begin + wide < plots.WIDTH + 20, said


def test_kinds_of_plots(script):
    """Each row, kind and point is drawn; numbers are shown where the scale is logarithmic."""
    plots = script("plots")
    bars = plots.bar_plot(
        "A title", {"ours": {"good": 3, "bad": 0}, "theirs": {"good": 1, "bad": 2}}, {"good": "#111", "bad": "#222"}
    )
    assert bars.count("<rect") == 3 + 2  # the parts, and the legend
    rows = {"a group": {"ours": (20.0, 10.0, 1500.0)}}
    assert ">20</text>" in plots.interval_plot("A title", "us", rows, logarithmic=True)
    assert ">10k</text>" in plots.interval_plot("A title", "us", rows, logarithmic=True)
    assert ">20</text>" not in plots.interval_plot("A title", "us", rows)
    lines = plots.line_plot("A <title>", ("x", "y"), {"one": [(0, 1), (5, 100)]}, logarithmic=True)
    assert lines.count("<polyline") == 1
    assert "A &lt;title>" in lines


def test_keywords(script, tokenizer, tmp_path):
    """`keywords.py` judges every case with every engine; ours ignores nothing, and refuses what the page says."""
    found = run(script, "keywords", tokenizer, tmp_path / "k.json", "--engines", "schemagen", *PEERS)
    assert list(found["verdicts"]) == ["schemagen", *PEERS]
    ours = found["verdicts"]["schemagen"]
    assert {case for case, verdict in ours.items() if verdict != "enforced"} == {
        "`pattern` with a back-reference",
        "`not` of `uniqueItems`",
    }
    committed = json.loads((FOLDER / "results" / "keywords.json").read_text(encoding="utf-8"))
    assert found["cases"] == committed["results"]["cases"]
    assert ours == committed["results"]["verdicts"]["schemagen"]


def test_keywords_are_judged(script):
    """Each verdict of `keywords.py` can come about."""
    keywords = script("keywords")
    case = keywords.Case("a case", {}, [1], [2])

    def verdict(*accepted):
        return keywords.judge(lambda _: lambda text: text in accepted, case)

    assert [verdict("1"), verdict("1", "2"), verdict("2"), verdict()] == ["enforced", "ignored", "ignored", "narrower"]
    assert keywords.judge(lambda schema: schema["no"], case) == "refused"
    assert '{"b":2,"a":1}' in set(keywords.texts({"a": 1, "b": 2}))


def test_comparison_shows_the_keywords(script):
    """The table in docs/comparison.md is that of the committed result."""
    keywords = script("keywords")
    committed = json.loads((FOLDER / "results" / "keywords.json").read_text(encoding="utf-8"))
    assert keywords.PAGE.read_text(encoding="utf-8") == keywords.write_page(committed), (
        "run python benchmarks/keywords.py --page"
    )


def test_every_departure_is_argued(script):
    """Each group of the suite that is judged wrong has an argument, each refusal a reason, and no argument is idle."""
    verdicts = script("verdicts")
    suite, _, not_pass = verdicts.departures()
    assert [case for case in suite if not verdicts.argument_for(case)] == []
    assert [case for case, verdict in not_pass.items() if not verdicts.refusal_for(verdict)] == []
    assert {case.split("---", 1)[1] for case in suite} == verdicts.ARGUMENTS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], pytest.param(["--kills", "2"], marks=pytest.mark.slow)])
def test_rows_are_measured(script, more, capfd):
    """The run over rows is whole, also when it is killed, and says what it took."""
    pytest.importorskip("pyarrow")
    assert script("batch_rows").main(["--rows", "2000", "--only-rows", *more]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["rows"] == 2000
    assert found["kills"] == 2 if more else len(found["peak_mib_after_tenths"]) == 10


# --- a real model ----------------------------------------------------------------------------------------------------


def test_tasks_have_right_answers(script):
    """Each right answer is one of its schema, is found in full by the comparison, and no question is in both halves."""
    from jsonschema import Draft202012Validator

    from schemagen.evaluation.scoring import fields_right

    for task in script("tasks").TASKS.values():
        halves = [task.examples(split, 120) for split in ("tune", "test")]
        assert halves[0][:10] == task.examples("tune", 10)
        assert not {one.prompt for one in halves[0]} & {one.prompt for one in halves[1]}
        validator = Draft202012Validator(task.schema)
        for example in halves[0] + halves[1]:
            validator.validate(example.answer)
            right = fields_right(example.answer, example.answer, task.uncounted)
            assert right
            assert all(right.values())


def test_a_model_answers_the_tasks_in_all_ways(script, tmp_path):
    """One by one with times, then in a batch without; both are kept, and the page of evidence shows both."""
    out = tmp_path / "real_model.json"
    ways = ("unconstrained", "retries", "schemagen", "schemagen processor")
    common = ("--model", str(ROOT / "schemagen" / "lm" / "bundled"), "--label", "bundled", "--tasks", "classification")
    arguments = [*common, "--out", str(out), "--count", "2", "--threads", "1", "--methods", *ways]
    assert script("real_model").main(arguments) == 0
    assert script("real_model").main([*arguments, "--batch-size", "2"]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))["results"]
    assert found.keys() == {"times", "quality"}
    for kind, keys in (("times", {"tokens_per_second", "first_seconds"}), ("quality", set())):
        answers = found[kind]["classification"]["ways"]
        assert list(answers) == list(ways)
        assert all(keys <= answers[way].keys() and answers[way]["count"] == 2 for way in ways)
        assert all(answers[way]["valid"][0] == 1 for way in ways[2:])
    evidence = script("evidence_page")
    page = evidence.render(evidence.load(tmp_path))
    assert page.count("| schemagen processor |") == 2
    (right,) = evidence.plots(evidence.load(tmp_path)).values()
    assert right.count("<circle") == len(ways)
    assert "bundled, 2 million parameters" in page


def test_texts_are_kept_of_a_question_that_breaks(script, tmp_path):
    """The text of the model alone and the one with schemagen, and the page of evidence says how right each is."""
    out = tmp_path / "real_model.json"
    common = (
        "--model",
        str(ROOT / "schemagen" / "lm" / "bundled"),
        "--label",
        "bundled",
        "--out",
        str(out),
        "--count",
        "1",
    )
    tasks = ("--tasks", "classification", "extraction_15")
    assert script("real_model").main([*common, "--threads", "1", "--texts", *tasks]) == 0
    assert not out.exists()
    record = json.loads((tmp_path / "real_model_texts.json").read_text(encoding="utf-8"))
    assert record["results"]["classification"] == {}
    found = record["results"]["extraction_15"]
    assert {way: one["valid"] for way, one in found["texts"].items()} == {"unconstrained": False, "schemagen": True}
    assert len(json.loads(found["texts"]["schemagen"]["text"])) == len(found["right"])
    found["texts"]["unconstrained"]["text"] = "<" * 600
    shown = script("evidence_page").broken(record)
    assert "**extraction, 15 fields**, question 1: Text: " in shown
    assert "not all of their values are right: extraction, 15 fields." in shown
    assert "Alone, not valid, 0 of 15 fields right; the first 500 of 600 characters:" in shown
    assert f"<pre><code>{'&lt;' * 500}</code></pre>" in shown


def test_renderings_are_compared(script, tmp_path):
    """Every way answers the same questions; the page of evidence has a table of them."""
    out = tmp_path / "prompts.json"
    arguments = ["--model", str(ROOT / "schemagen" / "lm" / "bundled"), "--count", "2", "--out", str(out)]
    assert script("prompts").main([*arguments, "--tasks", "classification", "--ways", "shape", "none"]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))["results"]["classification"]
    assert {way: len(one["fields"]) for way, one in found.items()} == {"shape": 2, "none": 2}
    evidence = script("evidence_page")
    assert "| none |" in evidence.render(evidence.load(tmp_path))


def test_renderings_are_compared_in_each_format(script, tmp_path):
    """Tables have rows of several questions; a run goes on where it stopped; the page of evidence has a table."""
    out = tmp_path / "prompt_formats.json"
    arguments = ["--model", str(ROOT / "schemagen" / "lm" / "bundled"), "--count", "2", "--out", str(out)]
    arguments += ["--tasks", "classification", "--formats", "csv", "template", "--ways", "types", "placeholders"]
    assert script("prompt_formats").main(arguments) == 0
    record = json.loads(out.read_text(encoding="utf-8"))
    cells = record["results"]
    assert cells["classification, csv"]["placeholders"]["shown"].endswith(
        "example:\ncategory,urgent\n<category>,<urgent>"
    )
    assert {way: len(one["fields"]) for way, one in cells["classification, template"].items()} == {
        "types": 2,
        "placeholders": 2,
    }
    assert script("prompt_formats").main(arguments) == 0
    assert json.loads(out.read_text(encoding="utf-8")) == record
    assert "| placeholders |" in script("evidence_page").formats(record)


@pytest.mark.parametrize("as_", ["json", "yaml", "xml", "csv", "markdown"])
def test_the_ways_are_the_renderings(script, as_):
    """The ways show the texts of ``show_schema`` where they have the same name; docstrings of the tasks apart."""
    formats = script("prompt_formats")
    task = formats.TASKS["extraction_5"]
    row = task.spec
    spec = formats.FORMATS[as_](list[row] if as_ in formats.TABLES else row)
    for way in ("example", "placeholders"):
        assert formats.shown(task, as_, way) == formats.told(spec, way)
    assert len({formats.shown(task, as_, way) for way in formats.WAYS[:-1]}) == len(formats.WAYS) - 1


def test_the_page_of_evidence_is_made_of_the_committed_results(script):
    """`python benchmarks/evidence_page.py` writes it, with its plots."""
    evidence = script("evidence_page")
    results = evidence.load()
    assert (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8") == evidence.render(results)
    for name, plot in evidence.plots(results).items():
        assert (ROOT / "docs" / "plots" / name).read_text(encoding="utf-8") == plot


def test_the_page_on_speed_is_made_of_the_committed_results(script):
    """`python benchmarks/advice.py --page` writes its tables."""
    advice = script("advice")
    text = advice.PAGE.read_text(encoding="utf-8")
    assert advice.render(text, advice.committed()) == text
    assert "| bundled |" in text


def test_the_page_on_models_is_made_of_the_committed_result(script):
    """`python benchmarks/model_memory.py --page` writes its tables."""
    memory = script("model_memory")
    text = memory.PAGE.read_text(encoding="utf-8")
    (record,) = script("page").load()["model_memory"]
    assert memory.render(text, record) == text
    assert record["results"]["families"].keys() == memory.FAMILIES.keys()


def test_memory_is_counted_on_empty_models(script):
    """Published numbers of parameters come out of the sizes; the other numbers follow."""
    memory = script("model_memory")
    name = "HuggingFaceTB/SmolLM2-135M-Instruct"
    found = memory.memory_of(memory.FAMILIES[name])
    assert found["parameters"] == 134_515_008
    assert found["bf16_bytes"] == 2 * found["parameters"]
    assert found["bf16_bytes"] / 4 < found["four_bit_bytes"] < found["bf16_bytes"]
    assert found["cache_bytes_of_token"] == 2 * 30 * 3 * 64 * 2
    assert found["reads_ahead"]
    windows = memory.memory_of(memory.FAMILIES["google/gemma-3-1b-it"]._replace(layers=2))
    assert not windows["reads_ahead"]


def test_the_page_on_confidence_is_made_of_the_committed_result(script):
    """`python benchmarks/calibration.py --page` writes its tables and plots; the temperature lowers the error it is for."""
    calibration = script("calibration")
    results = json.loads(calibration.RESULT.read_text(encoding="utf-8"))["results"]
    text = calibration.PAGE.read_text(encoding="utf-8")
    assert calibration.render(text, results) == text
    for name, plot in calibration.plots(results).items():
        assert (script("page").PLOTS / name).read_text(encoding="utf-8") == plot
        assert plot.count("<circle") == 20
        assert plot.count("stroke-dasharray") == 1
    assert results.keys() == calibration.LABELS.keys()
    for task, halves in results.items():
        assert min(map(len, halves.values())) >= 150
        found = calibration.figures(task, halves)
        assert found["after"]["nll"] < found["before"]["nll"]


@pytest.mark.slow
def test_advice_is_measured(script, tokenizer, tmp_path):
    """`advice.py` runs every case; ways that only change the speed write as many tokens."""
    found = run(script, "advice", tokenizer, tmp_path / "a.json", "--count", "1", "--rounds", "0", "--threads", "1")
    advice = script("advice")
    assert found.keys() == {*advice.CASES, "compile", "profile"}
    for case in ("batch", "read_ahead", "budget"):
        assert len({row["tokens"] for row in found[case]}) == 1
    slow, fast = found["read_ahead"]
    assert slow["passes"] == slow["tokens"] > fast["passes"]
    assert all(0 < row["constraint"] < row["model"] < 1 for row in found["profile"])
    settings = {"model": "bundled", "count": 1, "rounds": 0, "threads": 1}
    made = advice.tables([{"settings": settings, "results": found}])
    assert made.keys() == found.keys()


def test_marks_of_pages_are_needed(script):
    """Parts go between their marks; a page without them is an error."""
    between = script("page").between_marks
    text = "<!-- a b: begin -->\nold\n<!-- a b: end -->\nrest"
    assert between(text, "a", {"b": "new"}) == "<!-- a b: begin -->\n\nnew\n\n<!-- a b: end -->\nrest"
    with pytest.raises(ValueError, match="no marks"):
        between(text, "a", {"c": "new"})


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_pages_quote_the_evidence(script, page):
    """The table there is that of the committed results."""
    evidence = script("evidence_page")
    assert evidence.summary(evidence.load()) in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_papers_are_measured_again(script, tmp_path):
    """Every part with one prompt of the bundled model, and the page and plots that are made of it."""
    out = tmp_path / "papers.json"
    arguments = ["--model", str(ROOT / "schemagen" / "lm" / "bundled"), "--label", "bundled", "--out", str(out)]
    arguments += ["--count", "1", "--warm", "1", "--tokens", "48", "--threads", "1", "--tasks", "classification"]
    arguments += ["--lengths", "0", "4", "--positions", "5", "9", "--every", "400"]
    assert script("papers").main(arguments) == 0
    record = json.loads(out.read_text(encoding="utf-8"))
    answers = record["results"]["accuracy"]["classification"]
    assert answers["k = inf"]["well_formed"] == answers["k = 0"]["well_formed"] == 1
    assert record["results"]["speculation"].keys() == {"JSON (no schema)", "JSON (schema)"}
    pages = script("papers_page")
    page = pages.render(record)
    assert "{{" not in page
    assert page.count("| JSON (schema) |") == 3
    assert all("<polyline" in plot for plot in pages.plots(record["results"]).values())


@pytest.mark.parametrize(
    ("mode", "data", "count"),
    [
        ("BETWEEN", b'{"a', 2),
        ("STRING", b'a", "b', 4),
        ("STRING", rb"\"x", 1),
        ("SCALAR", b"12", 1),
        ("SCALAR", b"2, ", 3),
        ("BLANK", b"  ", 1),
    ],
)
def test_the_look_ahead_counts_terminals(mode, data, count, script):
    """What a token holds of the terminal that a text stands in, and of those behind it."""
    lookahead = script("lookahead")
    assert lookahead.terminals(getattr(lookahead, mode), data) == count


def test_a_look_ahead_leaves_out_what_crosses_more_borders(script, bundled_vocabulary):
    """The masks of k grow with k to the exact ones, and each is what counting the terminals of each token says."""
    lookahead = script("lookahead")
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    exact = schemagen.compile(schema, bundled_vocabulary, cache=None)
    for prefix in (b"", b'{"a": "x', b'{"a": "x", "b": 1'):
        allowed = []
        for k in (0, 1, 2, 99):
            matcher = lookahead.LookaheadGrammar(exact, k).matcher()
            ids = bundled_vocabulary.tokens
            for byte in prefix:
                assert matcher.accept_token(ids.index(bytes([byte])))
            words = schemagen.allocate_token_bitmask(1, bundled_vocabulary.size)
            matcher.fill_next_token_bitmask(words, 0)
            bits = words.numpy().view("uint8")
            allowed.append({i for i in range(bundled_vocabulary.size) if bits[0, i // 8] >> i % 8 & 1})
        whole = exact.matcher()
        assert whole.accept_bytes(prefix)
        assert allowed[0] <= allowed[1] <= allowed[2] <= allowed[3] == set(whole.allowed_tokens())
        assert allowed[0] < allowed[3]


def test_the_page_of_the_papers_is_made_of_the_committed_result(script):
    """`python benchmarks/papers_page.py` writes it, with its plots."""
    pages = script("papers_page")
    record = json.loads(pages.RESULT.read_text(encoding="utf-8"))
    assert pages.PAGE.read_text(encoding="utf-8") == pages.render(record)
    for name, plot in pages.plots(record["results"]).items():
        assert (ROOT / "docs" / "plots" / name).read_text(encoding="utf-8") == plot
