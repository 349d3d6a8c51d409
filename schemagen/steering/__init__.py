"""Steering while a text is written: validators and checkers of fields, and how the tokens of a field are drawn."""
