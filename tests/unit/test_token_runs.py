"""Grammars that count tokens: against their definition over all short sequences of tokens."""

import itertools
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import schemagen
from schemagen import EBNF, GBNF, Lark, Regex, Template, reference, text
from schemagen.errors import OptionError, UnsatisfiableSchemaError, UnsupportedGrammarError, UnsupportedPatternError
from schemagen.prompts.reasoning_grammar import ReasoningFormat
from schemagen.testing import mask_of

pytestmark = pytest.mark.sampled(3)

TOKENS = [b"", b"a", b"b", b"ab", b"ba", b"\n", b"a\nb", b"\xc3", b"\xa9", b"\xc3\xa9", b"<", b"<a", b"b>", b">", b"1"]
SMALL = schemagen.Vocabulary.from_tokens(TOKENS, eos_token_ids=[0])
#: Tokens of whole characters, and those of them without line breaks.
WHOLE = [token for token in TOKENS if token and token not in (b"\xc3", b"\xa9")]
LINES = [token for token in WHOLE if b"\n" not in token]

#: All tokens of text.
TEXT = [token for token in TOKENS if token]


class Bound(NamedTuple):
    """A text of a pattern that has bytes of so many tokens at most."""

    pattern: str
    most: int


#: Patterns over bytes as texts of whole characters; `Bound`s; and (low, high, tokens), perhaps with a pattern for all.
Parts = list[Any]


def reads(parts: Parts, tokens: list[bytes], inside: bytes = b"") -> bool:
    """Whether tokens can be read as the parts: what is left of a token inside a pattern goes on there."""
    if not parts:
        return not tokens and not inside
    part, *rest = parts
    if isinstance(part, str | Bound):
        pattern, most = part if isinstance(part, Bound) else (part, len(tokens) + 1)
        joined = inside + b"".join(tokens)
        for end in range(len(joined) + 1):
            try:
                piece = joined[:end].decode()
            except UnicodeDecodeError:
                continue
            if re.fullmatch(pattern, piece, re.DOTALL if isinstance(part, Bound) else 0):
                left, over, taken = end - len(inside), list(tokens), int(bool(inside) and end > 0)
                if left < 0:
                    over_inside = inside[end:]
                else:
                    while over and left >= len(over[0]):
                        left -= len(over.pop(0))
                    over_inside = over.pop(0)[left:] if left else b""
                    taken += len(tokens) - len(over)
                if taken <= most and reads(rest, over, over_inside):
                    return True
        return False
    low, high, members, *within = part
    if inside:
        return False
    most = len(tokens) if high is None else min(high, len(tokens))
    return any(
        all(token in members for token in tokens[:count])
        and all(is_text_of(pattern, b"".join(tokens[:count])) for pattern in within)
        and reads(rest, tokens[count:])
        for count in range(low, most + 1)
    )


def is_text_of(pattern: str, data: bytes) -> bool:
    """Whether bytes are a text that a pattern matches."""
    try:
        return bool(re.fullmatch(pattern, data.decode(), re.DOTALL))
    except UnicodeDecodeError:
        return False


def structural(body: dict[str, Any]) -> schemagen.StructuralTag:
    """Return a structural tag of a format."""
    return schemagen.StructuralTag({"type": "structural_tag", "format": body})


def between(content: dict[str, Any]) -> schemagen.StructuralTag:
    """Return a tag from "<" to ">"."""
    return structural({"type": "tag", "begin": "<", "content": content, "end": ">"})


CASES: list[tuple[Any, list[Parts]]] = [
    (text.text_tokens(1, 2), [[(1, 2, WHOLE)]]),
    (text.paragraph_tokens(0, 1), [[(0, 1, LINES)]]),
    (text.text_tokens(2), [[(2, None, WHOLE)]]),
    (Regex("<(?P<TEXT_TOKEN>)>"), [["<", (1, 1, WHOLE), ">"]]),
    (Regex("<(?P<PARAGRAPH_TOKEN>)+"), [["<", (1, None, LINES)]]),
    (Regex("(?P<TEXT_TOKEN>){1,2}b*"), [[(1, 2, WHOLE), "b*"]]),
    (Regex("(a(?P<PARAGRAPH_TOKEN>))*b?"), [[*["a", (1, 1, LINES)] * n, "b?"] for n in range(4)]),
    (Regex("a|(?P<TEXT_TOKEN>)(?P<PARAGRAPH_TOKEN>)"), [["a"], [(1, 1, WHOLE), (1, 1, LINES)]]),
    (Template("<{a}>", a=text.text_tokens(1, 2)), [["<", (1, 2, WHOLE), ">"]]),
    (
        Template("{a}<{b}", a=text.paragraph_tokens(1), b=schemagen.Choice("a", "ab")),
        [[(1, None, LINES), "<", "ab?"]],
    ),
    (schemagen.concat(text.text_tokens(1, 1), Regex("(ab)+")), [[(1, 1, WHOLE), "(ab)+"]]),
    (schemagen.union(text.text_tokens(2, 2), GBNF('root ::= "a" | "é"')), [[(2, 2, WHOLE)], ["a|é"]]),
    (schemagen.repeat(Template("a{t}", t=text.text_tokens(1, 1)), 1, 2), [[*["a", (1, 1, WHOLE)] * n] for n in (1, 2)]),
    (between({"type": "any_text", "max_tokens": 2}), [["<", Bound("[^>]*", 2), ">"]]),
    (between({"type": "any_text", "max_tokens": 1, "max_chars": 1}), [["<", Bound("[^>]?", 1), ">"]]),
    (structural({"type": "any_text", "max_tokens": 3, "excludes": ["a", "b>"]}), [[Bound("(?:(?!a|b>).)*", 3)]]),
    (
        structural({"type": "any_tokens", "max_tokens": 2, "exclude_tokens": [3, "a"]}),
        [[(0, 2, [*TEXT[1:2], *TEXT[3:]], ".*")]],
    ),
    (
        structural({"type": "any_tokens", "max_tokens": 2, "exclude_tokens": [9]}),
        [[(0, 2, [each for each in TEXT if each != b"\xc3\xa9"], ".*")]],
    ),
    (structural({"type": "exclude_token", "exclude_tokens": [1, "\n"]}), [[(1, 1, [*WHOLE[1:4], *WHOLE[5:]])]]),
    (
        structural(
            {
                "type": "star",
                "content": {
                    "type": "sequence",
                    "elements": [
                        {"type": "exclude_token", "exclude_tokens": [2]},
                        {"type": "const_string", "value": "<a"},
                    ],
                },
            }
        ),
        [[*[(1, 1, [each for each in WHOLE if each != b"b"]), "<a"] * n] for n in range(3)],
    ),
    (GBNF('root ::= "a" <[5,9]>+'), [["a", (1, None, [b"\n", b"\xc3\xa9"])]]),
    (EBNF('root ::= (Token(3) | "a") Token(1){0,2}'), [[(1, 1, [b"ab"]), (0, 2, [b"a"])], ["a", (0, 2, [b"a"])]]),
    (Lark('start: "<" <[*]> ">"', dialect="llguidance"), [["<", (1, 1, WHOLE), ">"]]),
    (Lark("start: <[^2-3]>{1,2} /a*/", dialect="xgrammar"), [[(1, 2, [*WHOLE[:1], *WHOLE[3:]]), "a*"]]),
    (
        Lark('start: b "b"?\nb: <[1,3-4]>+ | "<"', dialect="xgrammar"),
        [[(1, None, WHOLE[:1] + WHOLE[2:4]), "b?"], ["<b?"]],
    ),
    (
        Lark('start: "<" <[*]>? ">"\n%ignore /1/', dialect="llguidance"),
        [["<1*", (1, 1, WHOLE), "1*>1*"], ["<1*>1*"]],
    ),
    (
        Template("{n}{t}", n={"enum": [1, 11]}, t=text.text_tokens(1, 1)),
        [["1", (1, 1, WHOLE)], ["11", (1, 1, WHOLE)]],
    ),
]


@pytest.mark.parametrize(("spec", "ways"), CASES, ids=[repr(spec)[:60] for spec, _ in CASES])
def test_all_short_sequences(spec: Any, ways: list[Parts]) -> None:
    """Which of them are complete, which can go on, and each mask on the way: by definition."""
    longest = 3
    complete = {
        ids
        for length in range(longest + 2)
        for ids in itertools.product(range(1, len(TOKENS)), repeat=length)
        if (length <= longest or ids[0] in (1, 10)) and any(reads(way, [TOKENS[each] for each in ids]) for way in ways)
    }
    grammar = schemagen.compile(spec, SMALL)
    for length in range(longest + 1):
        for ids in itertools.product(range(1, len(TOKENS)), repeat=length):
            matcher = grammar.matcher()
            if not all(map(matcher.accept_token, ids)):
                assert ids not in complete
                continue
            assert matcher.is_accepting() == (ids in complete), ids
            allowed = mask_of(matcher, SMALL)
            assert allowed == {each for each in range(len(TOKENS)) if matcher.fork().accept_token(each)}
            assert (0 in allowed) == (ids in complete)
    read = {ids for ids in complete if len(ids) <= longest}
    assert all(all(map(grammar.matcher().accept_token, ids[:1])) for ids in read)
    assert read


@pytest.mark.parametrize(("spec", "ways"), CASES, ids=[repr(spec)[:60] for spec, _ in CASES])
def test_budgets_are_kept(spec: Any, ways: list[Parts]) -> None:
    """From the smallest budget on, whatever is drawn ends in time."""
    grammar = schemagen.compile(spec, SMALL, cache=None)
    least = grammar.min_new_tokens
    assert least is not None
    for seed in range(20):
        rng, matcher = random.Random(seed), grammar.matcher()
        budget, ids = least + rng.randrange(3), list[int]()
        while len(ids) < budget:
            allowed = sorted(mask_of(matcher, SMALL, budget=budget - len(ids)) - {0})
            if not allowed or (matcher.is_accepting() and rng.random() < 0.5):
                break
            ids.append(rng.choice(allowed))
            assert matcher.accept_token(ids[-1])
        assert matcher.is_accepting(), ids
        assert any(reads(way, [TOKENS[each] for each in ids]) for way in ways)


def test_no_order_of_preference_is_needed() -> None:
    """A token that is text of the pattern and a member of a run is followed as both."""
    matcher = schemagen.compile(Regex("(ab(?P<TEXT_TOKEN>)<|(?P<TEXT_TOKEN>)>)"), SMALL).matcher()
    assert matcher.accept_token(TOKENS.index(b"ab"))
    assert matcher.fork().accept_token(TOKENS.index(b">"))
    assert matcher.accept_token(TOKENS.index(b"\n"))
    assert matcher.accept_token(TOKENS.index(b"<"))
    assert matcher.is_accepting()


def test_going_back() -> None:
    """Rollback, fork and reset count as well."""
    matcher = schemagen.compile(text.text_tokens(2, 2), SMALL).matcher()
    assert matcher.accept_token(1)
    other = matcher.fork()
    assert matcher.accept_token(2)
    assert not matcher.accept_token(2)
    matcher.rollback(1)
    assert not matcher.is_accepting()
    assert matcher.accept_token(3)
    assert matcher.is_accepting()
    assert not other.is_accepting()
    matcher.reset()
    assert matcher.accept_token(1)
    assert not matcher.is_accepting()
    assert matcher.tokens_to_finish() == 1


def test_what_is_refused() -> None:
    """Text that is no token, where whole tokens are counted; what is read byte by byte inside others."""
    matcher = schemagen.compile(text.text_tokens(), SMALL).matcher()
    assert not matcher.accept_bytes(b"a")
    with pytest.raises(OptionError):
        text.text_tokens(3, 2)
    with pytest.raises(OptionError):
        text.text_tokens(-1)
    for pattern in ("(?P<TEXT_TOKEN>a)", "(?P<DELIMITED_LIST>,|(?P<TEXT_TOKEN>))", "^(?P<TEXT_TOKEN>)"):
        with pytest.raises(schemagen.PatternError):
            schemagen.compile(Regex(pattern), SMALL)
    with pytest.raises(UnsupportedPatternError, match="TEXT_TOKEN"):
        schemagen.to_regex(Regex("(?P<TEXT_TOKEN>)"))
    with pytest.raises(UnsupportedGrammarError, match="tokens"):
        text.list_of(text.text_tokens(1, 2))
    with pytest.raises(UnsupportedGrammarError, match="tokens"):
        text.subsequence_of(["a", text.text_tokens(1, 2)])
    with pytest.raises(UnsupportedGrammarError, match="counts tokens"):
        reference.compile(text.text_tokens(), SMALL)


def test_bounds_that_no_text_keeps() -> None:
    """The shortest text of a rule has to fit into its bound; a rule that is not called does not count."""
    grammar = 'root ::= "a" part | "b"\npart[max_tokens={}] ::= "abab"'
    with pytest.raises(UnsatisfiableSchemaError, match="takes 2 tokens, limit 1"):
        schemagen.compile(EBNF(grammar.format(1)), SMALL)
    matcher = schemagen.compile(EBNF(grammar.format(2)), SMALL).matcher()
    assert mask_of(matcher, SMALL) == {1, 2}
    assert matcher.accept_token(1)
    assert mask_of(matcher, SMALL) == {3}
    unreached = EBNF('root ::= "a"\npart[max_tokens=1] ::= "abab"')
    assert mask_of(schemagen.compile(unreached, SMALL).matcher(), SMALL) == {1}


@pytest.mark.parametrize(
    ("spec", "completion"),
    [
        (GBNF("root ::= <[5,9]>"), b"\n"),
        (GBNF("root ::= <[9]> root? <[3]>"), b"\xc3\xa9ab"),
        (Lark("start: <[^1,5]>", dialect="xgrammar"), b"1"),
        (Lark("start: <[^5,14]>{2}", dialect="xgrammar"), b"<<"),
    ],
)
def test_shortest_completions_consist_of_members(spec: Any, completion: bytes) -> None:
    """The shortest completion of a run is a text of tokens that may stand there."""
    matcher = schemagen.compile(spec, SMALL).matcher()
    assert matcher.shortest_completion() == completion
    for token in (completion[:2], completion[2:]) if b"\xc3" in completion else (bytes([each]) for each in completion):
        assert not token or matcher.accept_token(TOKENS.index(token))
    assert matcher.is_accepting()


def test_recursion_beside_runs() -> None:
    """Rules that call themselves may contain runs, and stand beside them."""
    recursive = EBNF('root ::= "<" root ">" | ExcludeToken(1)')
    matcher = schemagen.compile(schemagen.concat(text.text_tokens(1, 1), recursive), SMALL).matcher()
    accepted = [TOKENS.index(each) for each in (b"ab", b"<", b"<", b"ba", b">", b">")]
    assert all(map(matcher.accept_token, accepted))
    assert matcher.is_accepting()
    assert mask_of(matcher, SMALL) == {0}


def test_values_and_prompts() -> None:
    """The text, and how long it is to be."""
    spec = Template("Title: {title}\n{body}", title=text.paragraph_tokens(1, 8), body=text.text_tokens(5))
    grammar = schemagen.compile(spec, schemagen.Vocabulary.byte_vocabulary())
    value: Callable[[str], Any] = grammar.validate
    assert vars(value("Title: abc\nlonger\ntext")) == {"title": "abc", "body": "longer\ntext"}
    assert spec.shown() == "Title: {title: one line of 1 to 8 tokens}\n{body: a text of at least 5 tokens}"
    assert repr(text.text_tokens(1, 2)) == "text_tokens(min=1, max=2)"


BEHIND = schemagen.Vocabulary.from_tokens([*TOKENS, b":", b'"', b"><", b">a", b'>"a"', b">1:"], eos_token_ids=[0])
#: Specs, and the tokens in which thoughts that end in ">" may end and their texts begin.
BEHIND_THOUGHTS: list[tuple[Any, set[bytes]]] = [
    (Regex("<(?P<TEXT_TOKEN>)+"), {b"><"}),
    (Template("{n}:{t}", n={"enum": [1, "a"]}, t=text.paragraph_tokens(1, 2)), {b'>"a"', b">1:"}),
    (schemagen.concat(text.text_tokens(1, 1), Regex("(ab)+")), set()),
]


@pytest.mark.parametrize(("spec", "crossing"), BEHIND_THOUGHTS, ids=[repr(spec)[:60] for spec, _ in BEHIND_THOUGHTS])
def test_thoughts_before_runs(spec: Any, crossing: set[bytes]) -> None:
    """Behind thoughts tokens are counted as without them: the masks there are the same, and no run shares a token with them."""
    grammar = schemagen.compile(spec, BEHIND)
    thinking = ReasoningFormat("", ">", 4, ()).before(grammar)
    marker = TOKENS.index(b">")
    first = {BEHIND.tokens[each] for each in mask_of(thinking.matcher(), BEHIND)}
    assert {token for token in first if token.startswith(b">") and token != b">"} == crossing
    for seed in range(12):
        rng, matcher, alone = random.Random(seed), thinking.matcher(), grammar.matcher()
        thoughts = [rng.choice([1, 2, 3, 5]) for _ in range(rng.randint(0, 4))]
        for token in [*thoughts, marker]:
            assert token in mask_of(matcher, BEHIND)
            assert matcher.accept_token(token)
        ids = list[int]()
        while mask_of(alone, BEHIND) != {0} and (len(ids) < 4 or not alone.is_accepting()):
            allowed = mask_of(alone, BEHIND)
            assert mask_of(matcher, BEHIND) == allowed
            ids.append(rng.choice(sorted(allowed - {0})))
            assert matcher.accept_token(ids[-1])
            assert alone.accept_token(ids[-1])
        assert matcher.is_accepting()
        written = b"".join(BEHIND.tokens[each] for each in ids)
        assert thinking.split([*thoughts, marker, *ids, 0])[0] == written.decode()


def test_reading_nothing_changes_nothing() -> None:
    """The empty text is a step, and all ways to read the text are still there."""
    matcher = schemagen.compile(Regex("(ab(?P<TEXT_TOKEN>)<|(?P<TEXT_TOKEN>)>)"), SMALL).matcher()
    before = mask_of(matcher, SMALL)
    assert matcher.accept_bytes(b"")
    assert mask_of(matcher, SMALL) == before
    matcher.rollback()


def test_a_token_that_ends_the_text() -> None:
    """A grammar may name it, and ends there."""
    vocabulary = schemagen.Vocabulary.from_tokens(
        [None, "a", None], eos_token_ids=[0, 2], token_names={0: "<eos>", 2: "<end>"}
    )
    grammar = schemagen.compile(schemagen.concat(text.text_tokens(1, 2), GBNF("root ::= <[2]>")), vocabulary)
    matcher = grammar.matcher()
    assert mask_of(matcher, vocabulary) == {1}
    assert matcher.accept_token(1)
    assert mask_of(matcher, vocabulary) == {1, 2}
    assert matcher.accept_token(2)
    assert matcher.is_terminated()


def test_many_runs_that_may_be_empty() -> None:
    """The work grows with their number alone."""
    holes = {f"h{k}": text.paragraph_tokens(0, 20) for k in range(150)}
    spec = Template("".join(f"F{k}: {{h{k}}}\n" for k in range(150)), **holes)
    grammar = schemagen.compile(spec, schemagen.Vocabulary.byte_vocabulary(), cache=None)
    assert grammar.min_new_tokens == len("".join(f"F{k}: \n" for k in range(150)))


def test_a_bound_inside_an_embedded_grammar() -> None:
    """Its tokens are counted there as elsewhere, and a run inside it consists of whole tokens."""
    inner = EBNF("root[max_tokens=2] ::= [ab]* ExcludeToken(1)")
    spec = Lark('start: ("<" J ">")+\n%declare J', bind={"J": inner})
    grammar = schemagen.compile(spec, SMALL, cache=None)

    def reads(*tokens: bytes) -> bool:
        matcher = grammar.matcher()
        return all(matcher.accept_token(TOKENS.index(each)) for each in tokens) and matcher.is_accepting()

    assert reads(b"<", b"ab", b"b", b">")
    assert reads(b"<", b"b", b">", b"<", b"ba", b"\n", b">")
    assert not reads(b"<", b"ab", b"b", b"b", b">")
    assert not reads(b"<", b"ab", b"b>")
    assert not reads(b"<", b"b", b"a", b">")
    matcher = grammar.matcher()
    for token in (b"<", b"ab"):
        assert matcher.accept_token(TOKENS.index(token))
    assert mask_of(matcher, SMALL) == {each for each in range(len(TOKENS)) if matcher.fork().accept_token(each)}
