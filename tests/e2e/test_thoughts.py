"""How many tokens thoughts take: every mask against a definition that looks at whole texts."""

from __future__ import annotations

import random
from itertools import count

import pytest
from pydantic import BaseModel

import schemagen
from schemagen import Regex, Vocabulary
from schemagen.errors import MatcherError, MatcherTerminatedError, OptionTypeError
from schemagen.prompts.healing import after_text
from schemagen.prompts.reasoning_grammar import ReasoningFormat
from schemagen.testing import mask_of

TOKENS = ["a", "b", "<", "/", ">", "</", "b</", "/>c", ">c", "ab", "ca", "c", "\n", ">cab", "\xe9", "</>"]
EOS, MARKER = len(TOKENS), len(TOKENS) + 1
VOCABULARY = Vocabulary.from_tokens([*TOKENS, None, None], eos_token_ids=[EOS], special_token_ids=[MARKER])
END = "</>"
#: The answers.
ANSWERS = ["c", "cab", "caab"]


def thoughts(most, *, special):
    """Return thoughts and an answer as a grammar."""
    answer = schemagen.compile(Regex("c|ca{1,2}b"), VOCABULARY)
    return ReasoningFormat("", END, most, ((END, MARKER),) if special else ()).before(answer)


def read(tokens, *, special):
    """Take some tokens apart: how many are inside the thoughts, their text, and the answer, None if it has not begun."""
    text = ""
    for place, token in enumerate(tokens):
        if special and token == MARKER:
            return place, text, "".join(TOKENS[each] for each in tokens[place + 1 :] if each < EOS)
        text += TOKENS[token] if token < EOS else ""
        if not special and END in text:
            head, _, rest = text.partition(END)
            inside = place + (not rest)
            return inside, head + END, rest + "".join(TOKENS[each] for each in tokens[place + 1 :] if each < EOS)
    return len(tokens), text, None


def tokens_to_end(text, *, special):
    """Return how many tokens the shortest text takes that ends the thoughts."""
    if special:
        return 0
    begun = next(length for length in reversed(range(len(END))) if text.endswith(END[:length]))
    front, rest = {""}, END[begun:]
    for tokens in count():
        if text.endswith(END) or rest in front:
            return tokens
        front = {each + token for each in front for token in TOKENS if rest.startswith(each + token)}
    raise AssertionError


def is_begun(tokens, most, *, special):
    """Whether tokens begin some thoughts with an answer, in time."""
    if EOS in tokens[:-1] or (MARKER in tokens and (not special or tokens.count(MARKER) > 1)):
        return False
    inside, text, answer = read(tokens, special=special)
    if tokens[-1:] == [EOS]:
        return answer in ANSWERS
    if special and END in text:
        return False
    if answer is not None and not any(each.startswith(answer) for each in ANSWERS):
        return False
    shortest = tokens_to_end("", special=special)
    needed = tokens_to_end(text, special=special) if answer is None else 0
    return inside + needed <= most + shortest


@pytest.mark.parametrize("special", [False, True], ids=["text", "special"])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_masks_are_exact(most, special):
    """Along random walks, and behind every way back, a token is allowed if thoughts and answer can still be ended in time."""
    rng = random.Random(most)
    grammar = thoughts(most, special=special)
    longest = 0
    for _ in range(25):
        matcher, tokens = grammar.matcher(), []
        while not matcher.is_terminated():
            expected = [each for each in range(VOCABULARY.size) if is_begun([*tokens, each], most, special=special)]
            assert matcher.allowed_tokens() == expected, tokens
            for each in set(range(VOCABULARY.size)) - set(expected):
                assert not matcher.accept_token(each)
            if tokens and rng.random() < 0.2:
                back = rng.randint(1, len(tokens))
                matcher.rollback(back)
                del tokens[-back:]
                continue
            fork, token = matcher.fork(), rng.choice(expected)
            assert matcher.accept_token(token)
            assert fork.allowed_tokens() == expected
            matcher, tokens = rng.choice([matcher, matcher.fork()]), [*tokens, token]
        longest = max(longest, read(tokens, special=special)[0])
        matcher.reset()
        assert matcher.allowed_tokens() == grammar.matcher().allowed_tokens()
    assert most <= longest <= most + tokens_to_end("", special=special)


def test_the_last_tokens_are_forced_and_explained():
    """Where the tokens of thoughts are used up, what ends them is the only way, and why is said."""
    tokens = [*"ab</>c", None]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=[6])
    grammar = ReasoningFormat("", END, 2, ()).before(schemagen.compile(Regex("c"), vocabulary))
    matcher = grammar.matcher()
    assert matcher.forced_tokens() == []
    assert matcher.accept_token(0)
    assert matcher.accept_token(1)
    assert matcher.forced_tokens() == [2, 3, 4, 5]
    assert matcher.forced_run() == [2]
    assert matcher.explain(0) == (
        "token 0 b'a' is not allowed: the thoughts may take 2 more tokens after it, in which it cannot end"
    )
    assert "is allowed" in matcher.explain(2)
    for token in [*matcher.forced_tokens(), 6]:
        assert matcher.accept_token(token)
    assert matcher.is_terminated()
    with pytest.raises(MatcherTerminatedError):
        matcher.allowed_tokens()
    matcher.rollback()
    assert matcher.is_accepting()
    assert (matcher.tokens_to_finish(), matcher.shortest_completion()) == (0, b"")
    with pytest.raises(MatcherError):
        matcher.rollback(10)


class Point(BaseModel):
    """A class to write."""

    x: int
    label: str | None = None


def every_kind():
    """Return grammars of every kind of spec, compiled in their own ways."""
    vocabulary = Vocabulary.byte_vocabulary()
    lark = 'start: "[" (NAME ("," NAME)*)? "]"\nNAME: /[a-z]+/\n%ignore " "'
    template = schemagen.Template("<{p}> {n}", p=Point, n=int)
    tag = {"format": {"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}}
    return {
        "a class": schemagen.compile(Point, vocabulary),
        "compact": schemagen.compile(Point, vocabulary, whitespace="compact"),
        "a template": schemagen.compile(template, vocabulary, whitespace="compact"),
        "a loose template": schemagen.compile(template, vocabulary, whitespace="any"),
        "recursion": schemagen.compile(schemagen.GBNF('root ::= "(" root ")" | "x"'), vocabulary),
        "a lexer": schemagen.compile(schemagen.Lark(lark), vocabulary),
        "yaml": schemagen.compile(Point, vocabulary, as_="yaml"),
        "python": schemagen.compile(Point, vocabulary, as_="python"),
        "choices": schemagen.compile(schemagen.Choice([f"word {each}" for each in range(3000)]), vocabulary),
        "a tag": schemagen.compile(schemagen.StructuralTag(tag), vocabulary),
        "resources": schemagen.compile({"$ref": "urn:x"}, vocabulary, resources={"urn:x": {"enum": [1, "a"]}}),
    }


@pytest.mark.parametrize("kind", every_kind())
def test_answers_of_every_kind(kind):
    """Behind thoughts, and behind a prompt whose end is written again, the masks are those of the answer alone."""
    grammar = every_kind()[kind]
    thinking = ReasoningFormat("", "</t>", 30, ()).before(grammar)
    healed = after_text("so", grammar)
    for seed in range(3):
        rng = random.Random(f"{kind} {seed}")
        alone, thought, written = grammar.matcher(), thinking.matcher(), healed.matcher()
        assert thought.accept_bytes(b"Hm </t>")
        assert written.accept_bytes(b"so")
        for _ in range(60):
            allowed = alone.allowed_tokens()
            assert thought.allowed_tokens() == allowed
            assert written.allowed_tokens() == allowed
            token = rng.choice(allowed)
            if rng.random() < 0.7:  # towards the end
                token = min(allowed, key=lambda each: finishing(alone, each))
            assert all(matcher.accept_token(token) for matcher in (alone, thought, written))
            if alone.is_terminated():
                break
    assert thinking.min_new_tokens == grammar.min_new_tokens + 4
    assert thinking.thought_tokens == 34


def finishing(matcher, token):
    """Return how many tokens are needed behind one."""
    fork = matcher.fork()
    assert fork.accept_token(token)
    return -1 if fork.is_terminated() else fork.tokens_to_finish()


@pytest.mark.parametrize("special", [False, True], ids=["text", "special"])
def test_a_vocabulary_without_eos(special):
    """The last tokens of thoughts end them there, too."""
    vocabulary = Vocabulary.from_tokens([*"abx</>", None], eos_token_ids=[], special_token_ids=[6])
    specials = ((END, 6),) if special else ()
    answer = schemagen.compile(Regex("xa"), vocabulary)
    matcher = ReasoningFormat("", END, 1, specials).before(answer).matcher()
    for token in [0, *([6] if special else [3, 4, 5]), 2]:
        assert matcher.allowed_tokens() == [each for each in range(7) if matcher.fork().accept_token(each)]
        assert matcher.accept_token(token)
    assert matcher.allowed_tokens() == [0]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_budgets_are_kept_in_thoughts(most):
    """Thoughts and answer end within any budget from the least on, where a token may hold the end of the one and all of the other."""
    tokens = [*"a<b/>cxyz", "</", "</>", ">xyz", "b<", "/>x", "yz"]
    vocabulary = Vocabulary.from_tokens([*tokens, None], eos_token_ids=[len(tokens)])
    grammar = ReasoningFormat("", END, most, ()).before(schemagen.compile(Regex("xyz"), vocabulary))
    assert grammar.min_new_tokens == 2
    for seed in range(60):
        rng, matcher, left = random.Random(seed), grammar.matcher(), grammar.min_new_tokens + seed % 5
        while not matcher.is_accepting():
            assert matcher.tokens_to_finish() <= left
            allowed = sorted(mask_of(matcher, vocabulary, budget=left))
            fitting = [each for each in matcher.allowed_tokens() if finishing(matcher, each) < left]
            assert allowed == fitting != []
            assert matcher.accept_token(rng.choice(allowed))
            left -= 1


def test_what_is_no_token_is_refused():
    """Near the end of thoughts, too."""
    matcher = thoughts(1, special=False).matcher()
    for wrong in ("a", None, []):
        with pytest.raises(OptionTypeError):
            matcher.explain(wrong)
