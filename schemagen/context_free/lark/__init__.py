"""Grammars of lark, read as lark reads them: its options, its lexers and its tables."""
