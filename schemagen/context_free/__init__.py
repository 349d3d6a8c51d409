"""Context-free grammars: what their texts are written in, and how those texts are read.

lark_reader, gbnf, ebnf -> syntax     grammar texts to rules over terminals
simplify -> items                     rules that derive nothing dropped, regular ones made terminals; rules as automata
"""
