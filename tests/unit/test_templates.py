"""Templates: fixed text with holes, and their values."""

import enum
import re
from dataclasses import dataclass
from datetime import date
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from annotated_types import Ge, MaxLen, MinLen
from pydantic import AfterValidator, AliasChoices, AliasPath, BaseModel, ConfigDict, Field, RootModel, field_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import NotRequired, Required, TypedDict

import schemagen
from schemagen import GBNF, Choice, Regex, Template, gen
from schemagen.errors import OptionError, OptionTypeError, PatternError, UnsupportedTypeError, ValidationFailed
from schemagen.regex.wildcards import LINE_ENDS
from schemagen.templates import Filled
from schemagen.testing import random_text
from tests.grammars import BYTES, check_masks_along, derives


class Person(BaseModel):
    """Whose fields are holes."""

    name: str
    age: int = Field(ge=0)
    town: str = "Paris"


class Mood(enum.Enum):
    """Whose values are texts."""

    GOOD = "good"
    BAD = "bad"


def read(template: Template[Any], text: str) -> Any:
    """Return the value of a text, which must be one of the grammar."""
    assert derives(template, text)
    return schemagen.compile(template, BYTES).validate(text)


# --- what holes take -------------------------------------------------------------------------------------------------


def test_the_first_example() -> None:
    """A text and a number."""
    template = Template("Name: {name}\nAge: {age}", name=str, age=Annotated[int, Ge(0)])
    assert read(template, "Name: Ada Lovelace\nAge: 36") == Filled(name="Ada Lovelace", age=36)
    for text in ("Name: Ada\nAge: -1", "Name: Ada", "Name: Ada\nAge: x", "Name: Ada\n\nAge: 1", "name: Ada\nAge: 1"):
        assert not derives(template, text)


HOLES: list[tuple[Any, str, Any]] = [
    (str, 'say "so"', 'say "so"'),
    (str, "", ""),
    (Annotated[str, MinLen(2), MaxLen(3)], "ab", "ab"),
    (Annotated[str, Field(pattern="^[a-z]+$")], "abc", "abc"),
    (date, "2026-11-22", date(2026, 11, 22)),
    (Literal["yes", "no"], "no", "no"),
    (Mood, "bad", Mood.BAD),
    (int, "-5", -5),
    (float, "1.5", 1.5),
    (bool, "true", True),
    (None, "null", None),
    (str | None, '"a"', "a"),
    (str | None, "null", None),
    (int | str, '"5"', "5"),
    (list[int], "[1, 2]", [1, 2]),
    (dict[str, int], '{"a":1}', {"a": 1}),
    (Person, '{"name":"a","age":1}', Person(name="a", age=1)),
    ({"type": "string", "maxLength": 2}, "ab", "ab"),
    ({"type": "integer"}, "7", 7),
    (Regex("[0-9]{2}"), "07", "07"),
    (re.compile("[a-c]+"), "abc", "abc"),
    (Choice("x", "y"), "y", "y"),
    (Choice(Mood), "good", Mood.GOOD),
    (["p", "q"], "p", "p"),
    (GBNF('root ::= "(" root ")" | "o"'), "((o))", "((o))"),
    (gen(), "two\nlines", "two\nlines"),
    (gen(regex="[ab]+;?"), "ab;", "ab;"),
]


@pytest.mark.parametrize(("spec", "text", "value"), HOLES, ids=[f"{spec!r:.40}-{text!r}" for spec, text, _ in HOLES])
def test_what_holes_take(spec: Any, text: str, value: Any) -> None:
    """Strings as they are, other types as JSON, other specs as anywhere; between texts, and alone."""
    assert read(Template("<{hole}>;", hole=spec), f"<{text}>;").hole == value
    assert read(Template("{hole}", hole=spec), text).hole == value


def test_words_in_the_braces() -> None:
    """Types in their place, and a keyword goes before them."""
    template = Template("{a:int} {b:text}|{c:str}{{}}", c=Literal["z"])
    assert read(template, "1 x\ny|z{}") == Filled(a=1, b="x\ny", c="z")


def test_the_end_of_free_text_is_where_the_fixed_text_begins() -> None:
    """Not where it begins again."""
    template = Template("{a}, aged {b}", a=str, b=str)
    assert read(template, "Ada, aged 3, aged 4") == Filled(a="Ada", b="3, aged 4")
    template = Template("{a}aa{b}", a=gen(), b=gen())
    assert read(template, "aaa") == Filled(a="", b="a")
    template = Template("{a}END{b}", a=gen(stop=["x", "y"]), b=gen(stop="END"))
    assert read(template, "EENDE") == Filled(a="E", b="E")
    for text in ("xEND", "ENDEND"):
        assert not derives(template, text)


def test_one_line_is_one_line() -> None:
    """A plain str has no line breaks."""
    assert not derives(Template("{a}!", a=str), "x\ny!")
    assert not derives(Template("{a}!", a=str), "x\ry!")
    for line_end in LINE_ENDS:
        assert f"x{line_end}y".splitlines() == ["x", "y"]
        assert not derives(Template("{a}!", a=str), f"x{line_end}y!")
    assert derives(Template("{a}!", a=str), "x\ty!")


# --- templates in holes ----------------------------------------------------------------------------------------------

STEP = Template("- {what} ({when})\n", what=str, when=date)


def test_many() -> None:
    """As often as is said, in a list."""
    template = Template("Plan:\n{steps}Done", steps=STEP.many(1, 2))
    one = "- walk (2026-01-01)\n"
    step = Filled(what="walk", when=date(2026, 1, 1))
    assert read(template, f"Plan:\n{one}Done").steps == [step]
    assert read(template, f"Plan:\n{one}{one}Done").steps == [step, step]
    for count in (0, 3):
        assert not derives(template, f"Plan:\n{one * count}Done")


def test_many_with_a_separator() -> None:
    """Between two of them, and none at the ends."""
    pair = Template("{key}={value:int}", key=str)
    for low, high in ((0, None), (1, 3), (2, 2), (0, 1), (0, 0)):
        template = Template("[{pairs}]", pairs=pair.many(low, high, sep="; "))
        for count in range(5):
            text = f"[{'; '.join(f'k={number}' for number in range(count))}]"
            assert derives(template, text) == (low <= count <= (9 if high is None else high))
            if derives(template, text):
                assert read(template, text).pairs == [Filled(key="k", value=number) for number in range(count)]


def test_optional() -> None:
    """The value, or None."""
    template = Template("{name}{nick}.", name=str, nick=Template(" aka {nick}", nick=str).optional())
    assert read(template, "Ada aka A.") == Filled(name="Ada", nick=Filled(nick="A"))
    assert read(template, "Ada.") == Filled(name="Ada", nick=None)


def test_a_template_in_a_hole() -> None:
    """It reads as its own value, of its own class."""
    template = Template("{person}!", person=Template("{name} is {age}", Person))
    assert read(template, "Ada is 36!") == Filled(person=Person(name="Ada", age=36))


def test_empty_texts() -> None:
    """Where everything may be left out."""
    inner = Template("{a}{b}", a=gen(stop="x"), b=Template("{c}", c=gen(regex="y*")).many(2, 2))
    assert read(Template("{o}", o=inner.optional()), "") in (
        Filled(o=None),
        Filled(o=Filled(a="", b=[Filled(c=""), Filled(c="")])),
    )
    assert read(inner, "") == Filled(a="", b=[Filled(c=""), Filled(c="")])
    assert read(Template(""), "") == Filled()


# --- into a class ----------------------------------------------------------------------------------------------------


@dataclass
class Point:
    """A dataclass."""

    x: int
    y: float = 0.5


class Pair(NamedTuple):
    """A NamedTuple."""

    x: int
    y: float = 0.5


class Row(TypedDict, total=False):
    """A TypedDict."""

    x: int
    y: float


def test_into_classes() -> None:
    """Holes have the types of the fields, and fields without a hole their defaults."""
    assert read(Template("{name}, {age}", Person), "Ada, 3") == Person(name="Ada", age=3)
    assert read(Template("{x}", Point), "3") == Point(3)
    assert read(Template("{x} {y}", Pair), "3 1.5") == Pair(3, 1.5)
    assert read(Template("{x}", Row), "3") == {"x": 3}
    assert not derives(Template("{name}, {age}", Person), "Ada, -3")


def test_aliases() -> None:
    """Holes are named by fields."""

    class Aliased(BaseModel):
        first: int = Field(alias="firstName")

    assert read(Template("{first}", Aliased), "3") == Aliased(firstName=3)


def test_aliases_of_every_kind() -> None:
    """The first name of several counts; of pydantic's dataclasses they are those of the fields, as are the bounds."""

    class Several(BaseModel):
        first: int = Field(validation_alias=AliasChoices(AliasPath("x", 0), "y", "z"))

    @pydantic_dataclass
    class Own:
        first: int = Field(alias="FIRST", ge=0)

    assert read(Template("{first}", Several), "3").first == 3
    assert read(Template("{first}", Own), "3").first == 3
    assert not derives(Template("{first}", Own), "-3")

    class Deep(BaseModel):
        first: int = Field(validation_alias=AliasPath("x", 0))

    with pytest.raises(OptionError, match="is found by"):
        Template("{first}", Deep)


def test_keys_of_a_typed_dict() -> None:
    """What is said of a key is no part of its type."""

    class Keys(TypedDict):
        a: Required[int]
        b: Annotated[NotRequired[Annotated[int, Ge(0)]], "any"]

    assert read(Template("{a} {b}", Keys), "1 2") == {"a": 1, "b": 2}
    assert read(Template("{a}", Keys), "1") == {"a": 1}
    assert not derives(Template("{a} {b}", Keys), "1 -2")


def test_a_validator_runs_once() -> None:
    """Of a field, whose text is read as JSON."""

    class Next(BaseModel):
        model_config = ConfigDict(strict=True)
        n: Annotated[int, AfterValidator(lambda n: n + 1)]
        when: date

    assert read(Template("{n} {when}", Next), "1 2026-01-01") == Next(n=1, when=date(2026, 1, 1))


def test_a_validator_refuses() -> None:
    """Of the class; the error has the text and the place."""

    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("odd")
            return n

    with pytest.raises(ValidationFailed, match="odd") as caught:
        schemagen.compile(Template("{n}", Even), BYTES).validate("3")
    assert caught.value.text == "3"
    with pytest.raises(ValidationFailed, match="fit"):
        schemagen.compile(Template("{n}!", Even), BYTES).validate("3")


def test_a_t_string() -> None:
    """Anything with its interface: there are none before Python 3.14."""
    given = SimpleNamespace(
        strings=("Name: ", " {", "}"),
        interpolations=(
            SimpleNamespace(value=str, expression="str", conversion=None, format_spec="name"),
            SimpleNamespace(value=int, expression="age", conversion=None, format_spec=""),
        ),
    )
    template: Template[Filled] = Template(given)
    assert read(template, "Name: Ada {3}") == Filled(name="Ada", age=3)


# --- what is refused -------------------------------------------------------------------------------------------------


def within_one_another(depth: int, width: int) -> Template[Any]:
    """Return a template in a template and so on, so many times in each."""
    text = "".join(f"({{a{number}}})" for number in range(width))
    template: Template[Any] = Template("x")
    for _ in range(depth):
        template = Template(text, **{f"a{number}": template for number in range(width)})
    return template


def test_what_is_said_of_the_braces_is_said_once() -> None:
    """The error of a word is not taken for one of the braces."""
    with pytest.raises(OptionError) as caught:
        Template("{a:integer}")
    assert caught.value.fact == "{a:integer}"


def test_fifty_within_one_another() -> None:
    """With the value in the innermost."""
    value = read(Template("{o}", o=within_one_another(50, 1)), "(" * 50 + "x" + ")" * 50)
    for _ in range(51):
        (value,) = vars(value).values()
    assert value == Filled()


WRONG: list[tuple[Any, str]] = [
    (lambda: Template("{a", a=int), "cannot be read"),
    (lambda: Template("a}"), "cannot be read"),
    (lambda: Template("{}", a=int), "has a name"),
    (lambda: Template("{a.b}"), "has a name"),
    (lambda: Template("{a}{a}", a=int), "two holes"),
    (lambda: Template("{a}"), "has no type"),
    (lambda: Template("{a:integer}"), "is none of"),
    (lambda: Template("{a!r}", a=int), "nothing is converted"),
    (lambda: Template("{a}", a=int, b=int), "names no hole"),
    (lambda: Template("{a}", a=str, c=int), "write {c} in it"),
    (lambda: Template("{city}", ctiy=str), "did you mean city="),
    (lambda: Template("{} {}", str, int), "a template with 2 classes"),  # type: ignore[call-overload]
    (lambda: Template("{name}", Person), "no hole for 'age'"),
    (lambda: Template("{nme}", Person), "{nme} is not a field of Person[^?]*did you mean {name}"),
    (lambda: STEP.many(3, 2), "no number is both"),
    (lambda: STEP.many(-1), "min=-1"),
    (lambda: gen(stop=""), "everywhere"),
    (lambda: gen(stop="a", regex="b"), "one of them"),
    (lambda: Template("{a}", a=gen), "takes gen"),
    (lambda: Template("{name}{age}{more}", Person, more=int), "is not a field"),
    (lambda: Template("{__class__}", __class__=int), "has a name|__class__"),
    (lambda: Template("\ud800{a}", a=int), "surrogate"),
    (lambda: STEP.many(sep="\udfff"), "surrogate"),
    (lambda: within_one_another(61, 1), "61 templates within"),
    (lambda: within_one_another(14, 2), "the limits are 10,000"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_what_is_refused(make: Any, message: str) -> None:
    """At once, with what to do."""
    with pytest.raises(OptionError, match=message) as caught:
        make()
    assert caught.value.fix


def test_what_is_no_text() -> None:
    """Nor class, nor type."""
    with pytest.raises(OptionTypeError):
        Template(3)
    with pytest.raises(OptionTypeError):
        Template("{a}", int)
    with pytest.raises(OptionTypeError):
        gen(stop=3)  # type: ignore[arg-type]
    with pytest.raises(OptionTypeError):
        gen(regex=3)  # type: ignore[arg-type]
    with pytest.raises(OptionTypeError):
        STEP.many(sep=3)  # type: ignore[arg-type]
    for into in ({}, "x", list[int], RootModel[int]):
        with pytest.raises(OptionTypeError, match="no fields"):
            Template("{root}", into)  # type: ignore[call-overload]
    with pytest.raises(PatternError):
        Template("{a}", a=gen(regex="("))
    with pytest.raises(UnsupportedTypeError):
        Template("{a}", a=type("Unknown", (), {}))


# --- as a spec -------------------------------------------------------------------------------------------------------

SEVERAL = [
    Template("Name: {name}\nAge: {age}", name=str, age=Annotated[int, Ge(0)]),
    Template("{a}aab{b}", a=gen(), b=gen(stop="aab")),
    Template("Plan:\n{steps}Done", steps=STEP.many(0, 2)),
    Template("{p}{o}|{l}", p=Literal["a", "ab"], o=Template("b{x:int}", x=int).optional(), l=list[bool]),
    Template("{x}{y}", x=Template("{k}:{v}", k=str, v=str).many(1, sep=", "), y=gen()),
]


@pytest.mark.parametrize("template", SEVERAL, ids=map(repr, SEVERAL))
def test_texts_have_values_and_masks_are_exact(template: Template[Any]) -> None:
    """Random texts of the grammar, along which every mask is what brute force says."""
    grammar = schemagen.compile(template, BYTES)
    for number in range(30):
        text = random_text(grammar, seed=number, max_tokens=60)
        value = grammar.validate(text)
        assert list(vars(value)) == [name for name, _ in template.holes]
        if number < 3:
            check_masks_along(template, text)


def test_it_is_one_spec_among_others() -> None:
    """Equal by what it says, kept in memory, pickled; in a binding, with spans and pictures."""
    import copy
    import pickle

    twin = Template("- {what} ({when})\n", what=str, when=date)
    assert twin == STEP
    assert hash(STEP) == hash(twin)
    assert schemagen.compile(STEP, BYTES) is schemagen.compile(twin, BYTES)
    assert pickle.loads(pickle.dumps(STEP)) == STEP  # noqa: S301 - our own
    assert copy.deepcopy(STEP) == STEP
    grammar = schemagen.compile(Template("{steps}", steps=STEP.many(1, 1)), BYTES)
    names = [span.name for span in grammar.spans("- a (2026-01-01)\n")]
    assert names == ["template", "steps", "steps[]", "steps[].what", "steps[].when"]
    assert "steps" in grammar.draw("rules").svg()
    pytest.importorskip("lark")
    bound = schemagen.Lark('start: "<" STEP ">"\n%declare STEP', bind={"STEP": STEP})
    assert derives(bound, "<- a (2026-01-01)\n>")


def test_the_prompt_says_what_is_filled_in() -> None:
    """With types and fixed text."""
    assert SEVERAL[0].shown() == "Name: {name: str}\nAge: {age: Annotated[int, Ge(ge=0)]}"
