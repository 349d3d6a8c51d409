"""Grammar texts in the manner of BNF: GBNF, and the EBNF of xgrammar and of the W3C."""
