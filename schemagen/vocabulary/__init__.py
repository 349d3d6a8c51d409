"""The vocabulary of a language model: the bytes that each token id stands for."""

from schemagen.vocabulary.vocabulary import Vocabulary

__all__ = ["Vocabulary"]
