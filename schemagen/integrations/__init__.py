"""Engines of others that take a function which changes logits; each module needs the package that it is named after."""
