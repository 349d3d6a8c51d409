"""Bitmasks of allowed tokens, and how they are applied to logits."""
