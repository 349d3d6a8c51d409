"""Samplers with the law of the model among the texts of a language."""
