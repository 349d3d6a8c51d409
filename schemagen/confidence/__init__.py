"""How sure a model is: of the fields of an answer, and of the options of a type with few values."""
