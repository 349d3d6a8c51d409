"""What cannot be meant is refused at once, by errors that say what to do."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from pathlib import Path

import pytest
import transformers

import schemagen
from schemagen.errors import BudgetError, GenerationError, ModelError, OptionError, ToolError


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


TEMPLATE = (
    "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] }}"
    "{% if m['role'] == 'cat' %}{{ raise_exception('no cats') }}{% endif %}{% endfor %}<assistant>"
)


@pytest.fixture(params=[False, True], ids=["plain", "templated"])
def any_lm(request, make_lm, tokenizer, monkeypatch):
    """A model without a chat template, and one whose template takes texts alone."""
    if request.param:
        monkeypatch.setattr(tokenizer, "chat_template", TEMPLATE)
    return make_lm()


# --- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"retries": -1}, {"max_new_tokens": 0}, {"max_new_tokens": -1}, {"max_new_tokens": 1.5}, {"seed": "x"}]
)
def test_numbers_of_a_generation(lm, options):
    """Every front door refuses them, with the name and the value."""
    name = next(iter(options))
    doors = [
        lambda: lm("x", bool, **options),
        lambda: lm.batch(["x", "y"], bool, **options),
        lambda: lm.call("x", [double], **options),
    ]
    if name != "retries":
        doors += [lambda: list(lm.stream("x", bool, **options)), lambda: list(lm.stream_call("x", [double], **options))]
        doors += [lambda: lm.chat("x", [double], **options), lambda: lm.generate_text("x", **options)]
    for door in doors:
        with pytest.raises(OptionError, match=f"{name}={options[name]!r}"):
            door()


def test_numbers_of_batches_and_chats(lm):
    """Rows at a time, steps, and seconds."""
    with pytest.raises(OptionError, match="batch_size=0"):
        lm.batch(["x"], bool, batch_size=0)
    with pytest.raises(OptionError, match="max_steps=0"):
        lm.chat("x", [double], max_steps=0)
    with pytest.raises(OptionError, match="timeout_s=-1"):
        lm.chat("x", [double], timeout_s=-1)
    with pytest.raises(OptionError, match="timeout_s=0"):
        asyncio.run(lm.achat("x", [double], timeout_s=0))


@pytest.mark.parametrize("options", [{"num_beams": 2}, {"retries": 1}, {"streamer": print}, {"num_beams": 0}])
def test_what_a_stream_cannot_have(lm, options):
    """It is refused before the model works, in all streams."""
    for door in (
        lambda: lm.stream("x", bool, **options),
        lambda: lm.stream_call("x", [double], **options),
        lambda: next(itertools.islice(lm.stream_chat("x", [double], **options), 1, None)),
    ):
        with pytest.raises(OptionError, match=next(iter(options))):
            door()
    assert list(lm.stream("x", bool, num_beams=1))
    config = transformers.GenerationConfig(num_beams=2, max_new_tokens=8)
    with pytest.raises(OptionError, match="num_beams=2 in a stream"):
        lm.stream("x", bool, generation_config=config)
    with pytest.raises(OptionError, match="inputs="):
        lm("x", bool, inputs=1)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"max_time": 1e-9}, "max_time=1e-09"), ({"stopping_criteria": [lambda *_: True]}, "stopping_criteria")],
)
def test_what_ended_a_text_is_told(lm, options, told):
    """A text that is not complete says whether it was tokens or time that ran out."""
    with pytest.raises(BudgetError) as caught:
        lm("x", schemagen.Regex("a{20}"), max_new_tokens=40, **options)
    assert told in caught.value.why
    assert "before the budget of 40 tokens" in caught.value.why
    assert next(iter(options)) in caught.value.fix


# --- what a call cannot do without -------------------------------------------------------------------------------------


SPEC = "a type or schema"


def _awaited(coroutine):
    return asyncio.run(coroutine)


@pytest.mark.parametrize("options", [{}, {"response_model": bool}, {"schema": {"type": "null"}}, {"stream": True}])
def test_a_call_without_a_type_says_where_it_goes(lm, options):
    """Every front door, whatever the type was called; not the TypeError of some class of ours."""
    doors = {
        "lm(prompt, Person)": lambda: lm("x", **options),
        "lm.generate(prompt, Person)": lambda: lm.generate("x", **options),
        "lm.run(prompt, Person)": lambda: lm.run("x", **options),
        "lm.stream(prompt, Person)": lambda: lm.stream("x", **options),
        "lm.astream(prompt, Person)": lambda: lm.astream("x", **options),
        "lm.batch(prompts, Person)": lambda: lm.batch(["x"], **options),
        "lm.run_batch(prompts, Person)": lambda: lm.run_batch(["x"], **options),
        "await lm.agenerate(prompt, Person)": lambda: _awaited(lm.agenerate("x", **options)),
        "await lm.arun(prompt, Person)": lambda: _awaited(lm.arun("x", **options)),
        "await lm.abatch(prompts, Person)": lambda: _awaited(lm.abatch(["x"], **options)),
        "await lm.arun_batch(prompts, Person)": lambda: _awaited(lm.arun_batch(["x"], **options)),
    }
    for call, door in doors.items():
        with pytest.raises(OptionError) as caught:
            door()
        assert f"the type or schema is the second argument: {call}" in caught.value.fix
        foreign = next((name for name in options if name != "stream"), "")
        assert caught.value.fact == (
            f"{foreign}= is not an option here" if foreign else f"{call.split('(')[0]}(...) needs {SPEC}"
        )


def test_a_call_without_tools_or_prompt_says_where_they_go(lm):
    """Also where they have the names of another library."""
    for call, door in {
        "lm.call(prompt, [function])": lambda: lm.call("x"),
        "lm.stream_call(prompt, [function])": lambda: lm.stream_call("x"),
        "lm.astream_call(prompt, [function])": lambda: lm.astream_call("x"),
        "await lm.acall(prompt, [function])": lambda: _awaited(lm.acall("x")),
    }.items():
        with pytest.raises(OptionError, match=r"needs tools") as caught:
            door()
        assert f"the tools are the second argument, in a list: {call}" in caught.value.fix
    with pytest.raises(OptionError, match="functions= is not an option here"):
        lm.call("x", functions=[double])
    for door in (lm, lm.run, lm.call, lm.chat, lm.stream, lm.batch):
        with pytest.raises(OptionError, match="messages= is not an option here") as caught:
            door(messages=[{"role": "user", "content": "x"}], response_model=bool)
        assert "first" in caught.value.fix
    with pytest.raises(OptionError, match="needs a type or schema"):
        schemagen.Generator(lm)


def test_arguments_may_be_given_by_name(lm):
    """What is required may stand anywhere."""
    assert isinstance(lm(spec=bool, prompt="x"), bool)
    assert isinstance(lm.batch(prompts=["x"], spec=bool)[0], bool)
    assert asyncio.run(lm.agenerate(prompt="x", spec=bool)) in (True, False)
    assert inspect.iscoroutinefunction(lm.agenerate)


# --- prompts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "at", "fact"),
    [
        (None, "", "the prompt is None"),
        (5, "", "the prompt is an int"),
        (b"abc", "", "the prompt is a bytes"),
        ({"role": "user", "content": "x"}, "", "the prompt is a dict"),
        (["abc"], "/0", "a message is a str: 'abc'"),
        ([{}], "/0/role", "a message has the role None"),
        ([{"role": "user"}], "/0/content", "the content of a message is None"),
        ([{"role": "user", "content": 5}], "/0/content", "the content of a message is 5"),
        ([{"role": "user", "content": b"x"}], "/0/content", "the content of a message is b'x'"),
        ([{"role": "user", "content": ["x"]}], "/0/content/0", "a part of a message is of type 'str'"),
        ([{"role": "user", "content": [{"type": "image", "image": "x"}]}], "/0/content/0", "is of type 'image'"),
        ([{"role": "user", "content": [{"type": "text"}]}], "/0/content/0", "is of type 'text'"),
        ("a\ud800b", "", r"the prompt holds '\ud800', half of a surrogate pair, as character 1"),
        ([{"role": "user", "content": "\udc00"}], "/0/content", "half of a surrogate pair, as character 0"),
    ],
)
def test_prompts_that_are_none(any_lm, prompt, at, fact):
    """Whatever is wrong with a prompt is said with its place, by every front door."""
    for door in (
        lambda: any_lm(prompt, bool),
        lambda: any_lm.stream(prompt, bool),
        lambda: any_lm.call(prompt, [double]),
        lambda: any_lm.stream_call(prompt, [double]),
        lambda: any_lm.chat(prompt, [double]),
        lambda: any_lm.generate_text(prompt, max_new_tokens=1),
    ):
        with pytest.raises(GenerationError) as caught:
            door()
        assert (caught.value.code, caught.value.at) == ("invalid-prompt", at)
        assert fact in caught.value.fact
        str(caught.value).encode()


def test_a_wrong_prompt_harms_no_other_row(lm):
    """In a batch it is the failure of its row."""
    good, bad = lm.batch(["x", [{"role": "user", "content": 5}]], bool)
    assert isinstance(good, bool)
    assert bad.error.code == "invalid-prompt"


def test_texts_in_parts_are_texts(any_lm):
    """A template that takes texts alone gets the parts as a text."""
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "you"}]}]
    assert "Hi\nyou" in any_lm.render(parts, bool, show_schema=False)
    assert "Hi\nyou" in any_lm.render(parts, bool)
    assert isinstance(any_lm(parts, bool), bool)


def test_a_template_that_refuses_says_why(any_lm):
    """Its own words, and the roles."""
    messages = [{"role": "cat", "content": "meow"}]
    if getattr(any_lm.tokenizer, "chat_template", None) is None:
        assert isinstance(any_lm(messages, bool), bool)
        return
    with pytest.raises(GenerationError, match="no cats") as caught:
        any_lm(messages, bool)
    assert caught.value.why == "the roles are cat"


def test_a_prompt_without_tokens(lm, tokenizer, monkeypatch):
    """A template that writes nothing leaves nothing to read, alone and in a batch."""
    monkeypatch.setattr(tokenizer, "chat_template", "{{ '' }}")
    with pytest.raises(GenerationError, match="no tokens") as caught:
        lm("x", bool)
    assert caught.value.code == "empty-prompt"
    assert [row.error.code for row in lm.batch(["x", "y"], bool)] == ["empty-prompt"] * 2


# --- models and tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "fact"),
    [
        (None, "None is neither a name nor a folder"),
        ("", "'' is neither a name nor a folder"),
        ("./nosuchfolder", "there is no folder './nosuchfolder'"),
        ("/no/such/folder", "there is no folder '/no/such/folder'"),
    ],
)
def test_places_without_a_model(place, fact):
    """Nothing is asked of the network for what cannot be a name."""
    with pytest.raises(ModelError) as caught:
        schemagen.load(place)
    assert fact in caught.value.fact


def test_a_model_in_place_of_a_name():
    """It is named in one short line, not drawn whole."""
    with pytest.raises(ModelError) as caught:
        schemagen.load(schemagen.load_bundled().model)
    assert "\n" not in caught.value.fact
    assert len(caught.value.fact) < 130
    assert caught.value.why.endswith("ForCausalLM")


def test_folders_without_a_model(tmp_path, monkeypatch):
    """An empty folder, a file, and a folder whose files are no model."""
    monkeypatch.chdir(tmp_path)
    for place in (".", tmp_path, str(tmp_path)):
        with pytest.raises(ModelError, match=r"has no config\.json"):
            schemagen.load(place)
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "nothing"}')
    with pytest.raises(ModelError, match="there is no folder"):
        schemagen.load(file)
    with pytest.raises(OSError, match="has no tokenizer and no weights") as caught:
        schemagen.load(tmp_path)
    assert isinstance(caught.value, ModelError)
    assert isinstance(caught.value.__cause__, (OSError, ValueError))


BUNDLED = Path(schemagen.__file__).parent / "lm" / "bundled"


@pytest.mark.parametrize(
    ("left_out", "fact", "fix"),
    [
        ("tokenizer*", "has no tokenizer", "tokenizer.save_pretrained(folder)"),
        ("*.safetensors", "has no weights", "model.save_pretrained(folder)"),
        ("config.json", "has no config.json", "model.save_pretrained(folder)"),
        (
            "[!c]*",
            "has no tokenizer and no weights",
            "model.save_pretrained(folder) and tokenizer.save_pretrained(folder)",
        ),
    ],
)
def test_a_folder_says_which_part_it_lacks(tmp_path, left_out, fact, fix):
    """What transformers says of it is cut off, or about the hub."""
    for file in BUNDLED.iterdir():
        if file.is_file() and not file.match(left_out):
            (tmp_path / file.name).symlink_to(file)
    with pytest.raises(ModelError) as caught:
        schemagen.load(tmp_path)
    assert caught.value.fact == f"folder {str(tmp_path)!r} {fact}"
    assert fix in caught.value.fix
    assert "hugging" not in str(caught.value)


def test_a_damaged_folder_is_not_looked_for_on_the_hub(tmp_path):
    """All of what transformers says, and what to do with a folder."""
    for file in BUNDLED.iterdir():
        if file.is_file():
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="transformers cannot load") as caught:
        schemagen.load(tmp_path)
    assert not caught.value.fact.rstrip().endswith(":")
    assert "hugging" not in str(caught.value)


def test_names_without_a_model():
    """What transformers says is the cause; where there is no network the files have to be there before."""
    with pytest.raises(ModelError, match="transformers cannot load 'no/such'") as caught:
        schemagen.load("no/such", local_files_only=True)
    assert "hf download no/such" in caught.value.fix
    assert "HF_HUB_OFFLINE=1" in caught.value.fix


@pytest.mark.parametrize(
    ("option", "fix"),
    [
        ({"device": "cpu"}, "device_map='cpu'"),
        ({"devce_map": "cpu"}, "did you mean device_map=?"),
        ({"dtyp": "float32"}, "did you mean dtype=?"),
        ({"torch_type": "float32"}, "did you mean torch_dtype=?"),
        ({"load_in_4bit": True}, "quantization_config="),
        ({"tokenizer": "x"}, "from_transformers(model, tokenizer)"),
        ({"use_auth_token": "x"}, "token="),
        ({"gobbledygook": 3}, "from_pretrained"),
    ],
)
def test_options_of_load_that_there_are_not(option, fix):
    """A misspelt one, one of another library, and one that only the model can refuse."""
    name = next(iter(option))
    with pytest.raises(OptionError) as caught:
        schemagen.load(BUNDLED, **option)
    assert caught.value.fact == f"{name}= is not an option of load"
    assert fix in caught.value.fix


def test_names_are_not_asked_for_with_wrong_options():
    """Before anything is downloaded."""
    with pytest.raises(OptionError, match="devce_map="):
        schemagen.load("no/such", devce_map="cpu")


def test_options_of_transformers_reach_it():
    """Also attributes of the configuration."""
    lm = schemagen.load(BUNDLED, attn_implementation="eager", use_cache=False)
    assert lm.model.config.use_cache is False


def test_what_is_no_model(lm):
    """A name in place of a model, and both the wrong way around."""
    for model, tokenizer in ((None, lm.tokenizer), ("gpt2", "gpt2"), (lm.tokenizer, lm.model), (lm.model, None)):
        with pytest.raises(OptionError, match=r"the (model|tokenizer) is (a|None)"):
            schemagen.from_transformers(model, tokenizer)


def test_what_is_no_model_or_no_class(lm):
    """A generator without a model, or the wrong way around, and a decorated value."""
    for model, spec in ((None, bool), (bool, lm)):
        with pytest.raises(OptionError, match="the model of a Generator is"):
            schemagen.Generator(model, spec)
    with pytest.raises(schemagen.SchemagenError, match="5 is not a class"):
        schemagen.structured(5)


@pytest.mark.parametrize("tools", [double, "double", {"name": "double"}, None, 3])
def test_a_single_tool_is_no_list(lm, tools):
    """A list is asked for."""
    for door in (lm.call, lm.chat, lm.stream_call):
        with pytest.raises(ToolError, match="is not a list") as caught:
            door("x", tools)
        assert "tools=[" in caught.value.fix


def test_strict_is_an_option_of_compile(lm):
    """The way out that the errors of schemas name is open, and a call that does not take it says so."""
    schema = {"type": "string", "pattern": r"^(a|b)\1$", "maxLength": 4}
    with pytest.raises(schemagen.SchemagenError, match="strict=False"):
        lm.compile(schema)
    with pytest.raises(OptionError, match="strict= is not an option here") as caught:
        lm("x", schema, strict=False)
    assert "lm.compile(spec, strict=False)" in caught.value.fix
    grammar = lm.compile(schema, strict=False)
    assert not grammar.report.is_exact
    assert grammar.validate('"aa"') == "aa"
    with pytest.raises(schemagen.ValidationFailed):
        grammar.validate('"ab"')
