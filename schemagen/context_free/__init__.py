"""Context-free grammars: what their texts are written in, and how those texts are read.

gbnf, ebnf -> notation -> syntax      grammar texts to rules; scanner, literals, macros and regular are their parts
lark_source -> lark_reader            grammars of lark: matching has what `re` takes, reserved_words what keywords are
simplify -> items                     rules that derive nothing dropped, regular ones made terminals; rules as automata
"""
