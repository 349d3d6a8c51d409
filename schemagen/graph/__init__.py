"""Grammars one after another: answers of several parts, such as thoughts, free text and tool calls."""
