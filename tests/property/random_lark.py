"""Random grammars of lark whose terminals overlap: all made of the letters a and b, from a seed."""

import random

#: All texts of a random grammar are over these.
CHARACTERS = "ab"


def random_grammar(seed: int) -> str:
    """The text of a grammar with two to four terminals and one to three rules, which ignores nothing; some derive no text."""
    choose = random.Random(seed)
    terminals = ["A", "B", "C", "D"][: choose.randint(2, 4)]
    rules = ["start", "x", "y"][: choose.randint(1, 3)]
    lines = [f"{name}: {_expansions(choose, rules, terminals)}" for name in rules]
    for name in terminals:
        priority = choose.choice(["", "", "", ".1", ".2", ".-1"])
        lines.append(f"{name}{priority}: /{_pattern(choose, 3)}/{choose.choice(['', '', '', 'i'])}")
    return "\n".join(lines)


def random_ignoring_grammar(seed: int) -> str:
    """The text of a random grammar that ignores a pattern of its own, a terminal that its rules may use, or both."""
    choose = random.Random(f"ignored {seed}")
    source = random_grammar(seed)
    own = f"I{choose.choice(['', '', '.1', '.-1'])}: /{_pattern(choose, choose.choice([0, 1, 2, 3]))}/\n%ignore I"
    used = f"%ignore {choose.choice('AB')}"
    return "\n".join([source, *choose.choice([[own], [own], [used], [own, used]])])


def _expansions(choose: random.Random, rules: list[str], terminals: list[str]) -> str:
    return " | ".join(_sequence(choose, rules, terminals, 2) for _ in range(choose.randint(1, 3)))


def _sequence(choose: random.Random, rules: list[str], terminals: list[str], depth: int) -> str:
    return " ".join(_item(choose, rules, terminals, depth) for _ in range(choose.choice([0, 1, 1, 2, 2, 3])))


def _item(choose: random.Random, rules: list[str], terminals: list[str], depth: int) -> str:
    kind = choose.random()
    if kind < 0.15 and depth:
        inner = " | ".join(_sequence(choose, rules, terminals, depth - 1) or "A" for _ in range(2))
        return choose.choice(["({})", "[{}]", "({})?", "({})+", "({})*"]).format(inner)
    if kind < 0.35:
        return choose.choice(rules)
    if kind < 0.55:
        return choose.choice(['"a"', '"b"', '"ab"', '"ba"', '"A"i'])
    return choose.choice(terminals) + choose.choice(["", "", "", "", "?", "+", "*", "~1..2"])


def _pattern(choose: random.Random, depth: int) -> str:
    """A pattern that is never empty: something is left out or repeated only beside a letter."""
    letter = choose.choice(["a", "b", "[ab]", "a", "b", "."])
    if not depth:
        return letter
    inner = _pattern(choose, depth - 1)
    forms = [
        *("{0}", "{0}{1}", "{0}{1}", "{0}|{1}{1}", "{1}*{0}", "{0}+", "{0}{1}?", "(?:{0}|{1}b)", "(?:{0}){{1,2}}"),
        *("{0}(?!{1})", "{0}(?={1})", "(?<!{1}){0}", "{0}{1}*?", "{1}+?{0}"),
    ]
    return "(?:" + choose.choice(forms).format(inner, letter) + ")"
