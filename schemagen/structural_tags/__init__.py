"""Structural tags: free text, tags and the text between them, described in JSON, read as rules of a grammar.

The format is that of xgrammar's documentation ("Structural Tag"), which vLLM and SGLang take as ``response_format``, too.
"""
