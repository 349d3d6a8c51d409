"""Context-free grammars: the languages they are written in, and the one form that all of them are read to.

bnf/        GBNF, and the EBNF of xgrammar and of the W3C
lark/       grammars of lark, as lark reads them
dialect/    the Lark dialect of llguidance and xgrammar
scanner     the parts that these languages share: places, literals, sets, tokens
syntax      the form: rules over terminals that are regular languages (`regular`); `simplify` makes them smaller
items       rules as automata, for the engines; `spans` and `ambiguity` read them in Python, `names` is for messages
"""
