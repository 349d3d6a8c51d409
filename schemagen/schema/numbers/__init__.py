"""Texts of numbers: bounds, multiples and exponents as regular expressions or rules."""
