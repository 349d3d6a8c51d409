"""Grammars of lark, read as lark itself reads them: its options, its lexers and its tables."""
