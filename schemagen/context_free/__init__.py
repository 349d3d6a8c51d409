"""Context-free grammars: what their texts are written in, and how those texts are read.

gbnf, ebnf -> notation -> syntax      grammar texts to rules; scanner, literals, macros and regular are their parts
lark_work -> lark_source -> lark_reader   grammars of lark: lark_lexers and matching have what terminals take,
                                      reserved_words what keywords are
simplify -> items                     rules that derive nothing dropped, regular ones made terminals; rules as automata
"""
