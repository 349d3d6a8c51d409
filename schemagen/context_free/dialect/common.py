"""The terminals of lark's library ``common``."""

_DIGITS = "[0-9]+"
_EXPONENT = f"(?:[eE][+-]?{_DIGITS})"
_DECIMAL = rf"(?:{_DIGITS}\.[0-9]*|\.{_DIGITS})"
_FLOAT = f"(?:{_DIGITS}{_EXPONENT}|{_DECIMAL}{_EXPONENT}?)"
_NUMBER = f"(?:{_FLOAT}|{_DIGITS})"

#: The terminals of lark's library ``common``, as patterns of Rust's `regex` crate. Source: lark's page "Importing grammars from
#: lark", checked against lark itself by `tests/unit/test_dialect.py`. Terminals that look back or take the shortest match there
#: (strings, comments) are written so that their longest match is the same.
COMMON = {
    "DIGIT": "[0-9]",
    "HEXDIGIT": "[a-fA-F0-9]",
    "INT": _DIGITS,
    "SIGNED_INT": f"[+-]?{_DIGITS}",
    "DECIMAL": _DECIMAL,
    "_EXP": _EXPONENT,
    "FLOAT": _FLOAT,
    "SIGNED_FLOAT": f"[+-]?{_FLOAT}",
    "NUMBER": _NUMBER,
    "SIGNED_NUMBER": f"[+-]?{_NUMBER}",
    "ESCAPED_STRING": r'"(?:[^"\\\n]|\\[^\n])*"',
    "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]",
    "LETTER": "[a-zA-Z]",
    "WORD": "[a-zA-Z]+",
    "CNAME": "[_a-zA-Z][_a-zA-Z0-9]*",
    "WS_INLINE": r"[ \t]+",
    "WS": r"[ \t\f\r\n]+",
    "CR": r"\r",
    "LF": r"\n",
    "NEWLINE": r"(?:\r?\n)+",
    "SH_COMMENT": r"#[^\n]*",
    "CPP_COMMENT": r"//[^\n]*",
    "C_COMMENT": r"/\*(?:[^*]|\*+[^*/])*\*+/",
    "SQL_COMMENT": r"--[^\n]*",
}
