"""Grammars one after another: answers of several parts, such as thoughts, text and tool calls, and counts of tokens."""
