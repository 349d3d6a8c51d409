"""Prompts: messages, the shape of the answer, and the conventions of families of models."""
