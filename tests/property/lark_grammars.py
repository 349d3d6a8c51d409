"""Grammars of lark on which we are compared with lark itself: those of every run, and those of `make test-all`."""

#: Name -> grammar, characters, longest text.
GRAMMARS = {
    "reserved words": (
        r"""
        start: stmt+
        stmt: "if" N ":" | N "=" N ";"
        N: /[a-z]+/
        %ignore " "
        """,
        "if=;: ",
        5,
    ),
    "operators": (
        r"""
        start: e
        e: e "+" e | "(" e ")" | N | "-" e
        N: /[0-9]+/
        W: /_+/
        %ignore W
        """,
        "1+(_)",
        5,
    ),
    "rules that may be empty": (
        r"""
        start: x* y?
        x: A | "b" y
        y: | A start
        A: /a+b?/
        """,
        "ab",
        8,
    ),
    "a lexer that goes back": (
        r"""
        start: item+
        item: INT ".." INT | FLOAT | INT
        INT: /[0-9]+/
        FLOAT: /[0-9]+\.[0-9]+/
        """,
        "1.2",
        7,
    ),
    "a longer terminal that fails": (
        r"""
        start: (A|B|C)+
        A: /a+b/
        B: /a/
        C: "c"
        """,
        "abc",
        7,
    ),
    "a branch that may be empty before another": (
        r"""
        start: A "c"? B
        A: /a(b*|c)/
        B: /a|[bc]b?|b/
        """,
        "abc",
        6,
    ),
    "the order of terminals": (
        r"""
        start: (A|B|C)+
        A: /a{1,9}/
        B: /ab/
        C: "b" "a"? "c"
        """,
        "abc",
        7,
    ),
    "a conflict of shift and reduce": (
        r"""
        start: x "a" "c" | y
        x: "b" | "b" "a"
        y: "b" "a" "a" "d"
        """,
        "abcd",
        6,
    ),
    "comments": (
        r"""
        start: (N | "/" N)*
        N: /[ab]+/
        C: /\/\*(.|\n)*?\*\//
        %ignore C
        %ignore " "
        """,
        "ab/* ",
        5,
    ),
    "operators that begin alike": (
        r"""
        start: e
        e: e OP n | n
        OP: "<" | "<=" | "<<" | "="
        n: N | "if" N | "(" e ")"
        N: /[a-z]\w*/i
        %ignore " "
        """,
        "<=if( )",
        4,
    ),
    "lazy repetitions": (
        r"""
        start: (S|W)+
        S: /".*?"/
        W: /a|ab/
        """,
        '"ab',
        7,
    ),
    "look-arounds": (
        r"""
        start: (S|W|"b")+
        S: /"(?!"").*?(?<!a)"/
        W: /a(?!b)/ | /ab(?=")/
        """,
        '"ab',
        7,
    ),
    "priorities of terminals": (
        r"""
        start: (X|Y|Z)+
        X.2: /ab?/
        Y: /aba/
        Z: /b+a?/
        """,
        "ab",
        8,
    ),
    "hidden left recursion": (
        r"""
        start: a
        a: e a "x" | "y"
        e: | "x"
        """,
        "xy",
        8,
    ),
    "templates and aliases": (
        r"""
        start: _list{item, ","} | "[" _list{item, ";"} "]" -> block
        _list{x, sep}: x (sep x)*
        item: /[ab]/ ~ 1..2
        """,
        "a,;[]b",
        5,
    ),
    "a longest match that leaves nothing": (
        r"""
        start: A "a" | "b" A "b" | C+ "d"
        A: /a+/
        C: /bc?/
        """,
        "abcd",
        6,
    ),
    "no end behind a longest match": (
        r"""
        start: A rest
        rest: "b" start | "a"
        A: /a+/
        """,
        "ab",
        7,
    ),
    "one way to go on": (
        r"""
        start: A "a" | B
        A: /x|ya+/
        B: /yab/
        """,
        "xyab",
        6,
    ),
    "what is ignored up to the end of a line": (
        r"""
        start: ("a" "b" N?)+
        N: /\n+/
        C: /#[^\n]*/
        S: /_+/
        %ignore C
        %ignore S
        """,
        "ab#_\n",
        5,
    ),
    "a terminal that something ignored always takes": (
        r"""
        start: B
        B: /ba/
        I.1: /b/
        %ignore I
        """,
        "ab",
        6,
    ),
    "an alternative that something ignored always takes": (
        r"""
        start: "x" | B "y" | "z" [start]
        B: /ba|bx/
        I.1: /b/
        %ignore I
        """,
        "abxyz",
        5,
    ),
    "letters of any case": (
        r"""
        start: ("if"i | NAME)+
        NAME: /[a-f]+/
        %ignore " "
        """,
        "iIfF ",
        5,
    ),
}

#: More of them, whose texts are too many for every run.
MORE_GRAMMARS = {
    "an if without its else": (
        r"""
        start: s
        s: "i" s | "i" s "e" s | "x" | "{" s* "}"
        """,
        "iex{}",
        6,
    ),
    "ambiguous without end": (
        r"""
        start: a
        a: a a | "(" a ")" | b | "x"?
        b: a
        """,
        "(x)",
        7,
    ),
    "recursion on both sides": (
        r"""
        start: a b
        a: a "x" | "y" a |
        b: "x" b "y" | "y" | a
        """,
        "xy",
        9,
    ),
    "recursion that goes round": (
        r"""
        start: a
        a: b "1" | "x"
        b: c "2" | "y"
        c: a "3" | "1" c | a
        """,
        "123xy",
        6,
    ),
    "palindromes": (
        r"""
        start: p
        p: "a" p "a" | "b" p "b" | [A] | B
        A: /a+/
        B: /ab?/
        """,
        "ab",
        9,
    ),
    "terminals that contain each other": (
        r"""
        start: (A b | AB c | ABC)+
        b: B | "b"
        c: "c" | B c
        A: "a"
        AB: /ab?c?/
        ABC: /[abc]{3}/
        B: /[bc]/
        """,
        "abc",
        7,
    ),
    "priorities below zero": (
        r"""
        start: (item ";"?)+
        item: WORD | KEY WORD | NUMBER
        KEY: "ab"
        WORD.-1: /[a-b]+/
        NUMBER.3: /a1+|1/
        """,
        "ab1;",
        6,
    ),
    "priorities of rules": (
        r"""
        start: (first | second)+
        first.2: A B?
        second.-1: A+ | B
        A: /x/
        B: /xy?|y/
        """,
        "xy",
        9,
    ),
    "what is ignored is also meant": (
        r"""
        start: (NAME | S NAME | "-" NAME)+
        NAME: /[a-z]+(-[a-z]+)*/
        S: /\s+/
        D: /-+ /
        %ignore S
        %ignore D
        """,
        "ab- ",
        6,
    ),
    "two that are ignored": (
        r"""
        start: ("a" | B "c")+
        B: /b+_?/
        X: /_+/
        Y: /b_/
        %ignore X
        %ignore Y
        """,
        "abc_",
        6,
    ),
    "keywords of any case": (
        r"""
        start: ("or"i NAME | "not"i | NAME "=")+
        NAME: /[a-z]+/i
        %ignore " "
        """,
        "oOrR= ",
        5,
    ),
    "a string and its escapes": (
        r"""
        start: (STRING | RAW | "b" | N)+
        STRING: /"([^"\\]|\\.)*"/
        RAW.1: /r".*?(?<!\\)"/
        N: /r/
        """,
        '"\\rb',
        6,
    ),
    "look ahead at what comes": (
        r"""
        start: (INT | FLOAT | "." | NAME)+
        INT: /[0-9]+(?![0-9.])/
        FLOAT: /[0-9]+\.[0-9]*(?=x|1)/
        NAME: /x+1?(?<!1)(?!\.)/
        """,
        "1x.",
        7,
    ),
    "lazy and greedy": (
        r"""
        start: (A|B|C)*
        A: /<.*?>/
        B: /<<.*>/
        C: /[ab]+?(?=<)|a/
        """,
        "<>ab",
        6,
    ),
    "repetitions with bounds": (
        r"""
        start: pair ~ 1..3 tail?
        pair: X ~ 2 | X Y
        tail: Y ~ 0..2 "z"
        X: /x{1,2}/
        Y: /xy|y/
        """,
        "xyz",
        7,
    ),
    "terminals made of terminals": (
        r"""
        start: (OP | WORD | PAIR)*
        OP: "+" | "++" | "+="
        WORD: LETTER (LETTER | "+")*
        PAIR.2: WORD "=" WORD
        LETTER: "a".."b"
        """,
        "ab+=",
        6,
    ),
    "alternatives of one length": (
        r"""
        start: x | y | z
        x: A "1" | A x
        y: B "2" | B y
        z: C "1" "2"? | A z
        A: /p|pq/
        B: /p|qp/
        C: /[pq]{2}/
        """,
        "pq12",
        6,
    ),
    "templates that call themselves": (
        r"""
        start: list{"x"} | list{pair}
        list{item}: item | list{item} "," item | "(" list{item} ")"
        pair: "x" ":" "x"
        """,
        "x,:()",
        5,
    ),
    "the end of a line ends a statement": (
        r"""
        start: (line? NL)* line?
        line: NAME ("+" NAME)* | "(" [start] ")"
        NAME: /[ab]+/
        NL: /(\n|#.*)+/
        %ignore /_+/
        """,
        "a+(\n#",
        5,
    ),
    "letters beyond ASCII": (
        r"""
        start: (W | "é" | D)+
        W: /\w+/
        D: /[^\wé ]/
        %ignore " "
        """,
        "aé1-ß",
        5,
    ),
    "a literal that is ignored": (
        r"""
        start: ("a" | " " | B)+
        B: /b+/
        I: /[ b]+ ?/
        %ignore I
        """,
        "ab ",
        7,
    ),
}

#: Ignored terminals whose longest match is open for long.
IGNORING_GRAMMARS = {
    "an ignored match that may yet be longer": ("start: X\nX: /b/\nI: /[ab]*a/\n%ignore I", "ab", 5),
    "an ignored match behind a look-ahead": ("start: A\nA: /aa./\nI: /[ab](?!b)./\n%ignore I", "ab", 5),
}
