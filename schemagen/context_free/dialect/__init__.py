"""The Lark dialect of llguidance and xgrammar: lark's notation with JSON Schemas, tokens and grammars in it."""
