"""URIs, IRIs, URI templates and JSON pointers.

Sources: RFC 3986 appendix A, RFC 3987 section 2.2, RFC 6570 section 2, RFC 6901 section 3. One set of productions
serves URI and IRI; an `_Alphabet` says which non-ASCII characters there are. A registered name already covers every
IPv4 host, so that alternative is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemagen.regex import ast
from schemagen.schema.formats.emails_and_hosts import ipv4_regex, ipv6_regex, unreserved_label_regex
from schemagen.schema.formats.parts import ALNUM, ALPHA, DIGIT, HEX, any_case, some
from schemagen.schema.numbers.ranges import integer_range_regex

_SUB_DELIMS = ast.char_set("!$&'()*+,;=")
_PERCENT = ast.concat(ast.char_set("%"), HEX, HEX)
_SLASH = ast.char_set("/")
_COLON = ast.char_set(":")
_PLANES = tuple((0x10000 * plane, 0x10000 * plane + 0xFFFD) for plane in range(1, 14))
#: RFC 3987 section 2.2.
_UCSCHAR = ast.chars((0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF), *_PLANES, (0xE1000, 0xEFFFD))
_IPRIVATE = ast.chars((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
#: Schemes for which URL parsers demand a host.
_HOSTED_SCHEMES = ("http", "https", "ws", "wss", "ftp")


@dataclass(frozen=True, slots=True)
class _Alphabet:
    """``unreserved`` characters, and those that a query has beyond a path."""

    unreserved: ast.Regex
    private: ast.Regex


_URI = _Alphabet(ast.union(ALNUM, ast.char_set("-._~")), ast.EMPTY)
_IRI = _Alphabet(ast.union(ALNUM, ast.char_set("-._~"), _UCSCHAR), _IPRIVATE)


def uri_regex() -> ast.Regex:
    """``URI``: with a scheme."""
    return _absolute(_URI)


def uri_reference_regex() -> ast.Regex:
    """``URI-reference``: with a scheme or relative."""
    return ast.union(_absolute(_URI), _relative(_URI))


def iri_regex() -> ast.Regex:
    """``IRI``."""
    return _absolute(_IRI)


def iri_reference_regex() -> ast.Regex:
    """``IRI-reference``."""
    return ast.union(_absolute(_IRI), _relative(_IRI))


def _scheme() -> ast.Regex:
    return ast.concat(ALPHA, ast.star(ast.union(ALNUM, ast.char_set("+-."))))


def _pchar(alphabet: _Alphabet) -> ast.Regex:
    return ast.union(alphabet.unreserved, _SUB_DELIMS, ast.char_set(":@"), _PERCENT)


def _absolute(alphabet: _Alphabet) -> ast.Regex:
    rootless = ast.concat(some(_pchar(alphabet)), _path_abempty(alphabet))
    return ast.concat(_scheme(), _COLON, ast.union(_hierarchy(alphabet), rootless), _tail(alphabet))


def _relative(alphabet: _Alphabet) -> ast.Regex:
    no_colon = ast.union(alphabet.unreserved, _SUB_DELIMS, ast.char_set("@"), _PERCENT)
    noscheme = ast.concat(some(no_colon), _path_abempty(alphabet))
    return ast.concat(ast.union(_hierarchy(alphabet), noscheme), _tail(alphabet))


def _hierarchy(alphabet: _Alphabet) -> ast.Regex:
    """``//`` authority and path, an absolute path, or nothing; all absolute forms share their slash."""
    authority = ast.concat(_SLASH, _authority(alphabet), _path_abempty(alphabet))
    absolute = ast.optional(ast.concat(some(_pchar(alphabet)), _path_abempty(alphabet)))
    return ast.optional(ast.concat(_SLASH, ast.union(authority, absolute)))


def _path_abempty(alphabet: _Alphabet) -> ast.Regex:
    return ast.star(ast.concat(_SLASH, ast.star(_pchar(alphabet))))


def _tail(alphabet: _Alphabet) -> ast.Regex:
    """Optional query and fragment."""
    text = ast.union(_pchar(alphabet), ast.char_set("/?"))
    query = ast.concat(ast.char_set("?"), ast.star(ast.union(text, alphabet.private)))
    fragment = ast.concat(ast.char_set("#"), ast.star(text))
    return ast.concat(ast.optional(query), ast.optional(fragment))


def _authority(alphabet: _Alphabet) -> ast.Regex:
    name = ast.union(alphabet.unreserved, _SUB_DELIMS, _PERCENT)
    user = ast.concat(ast.star(ast.union(name, _COLON)), ast.char_set("@"))
    port = ast.concat(_COLON, ast.star(DIGIT))
    return ast.concat(ast.optional(user), ast.union(_ip_literal(), ast.star(name)), ast.optional(port))


def _ip_literal() -> ast.Regex:
    future = ast.concat(
        ast.char_set("vV"), some(HEX), ast.char_set("."), some(ast.union(_URI.unreserved, _SUB_DELIMS, _COLON))
    )
    return ast.concat(ast.char_set("["), ast.union(ipv6_regex(), future), ast.char_set("]"))


def python_uri_regex(schemes: tuple[str, ...] | None = None) -> ast.Regex:
    """URIs that pydantic's AnyUrl accepts: a subset of RFC 3986 and of the WHATWG URL standard.

    Hosts are plain host names whose last label starts with a letter (else they are read as IPv4 numbers), IPv4 or IPv6
    addresses; ports end at 65535; http, https, ws, wss and ftp have a host, other schemes have none or a path.

    Args:
        schemes: Allowed schemes in lower case; None is any.

    Returns:
        The language.
    """
    hosted = ast.union(*(any_case(name) for name in (_HOSTED_SCHEMES if schemes is None else schemes)))
    located = ast.concat(ast.literal("//"), _python_authority(), _path_abempty(_URI))
    with_host = ast.concat(hosted, _COLON, located, _tail(_URI))
    if schemes is not None:
        return with_host
    special = ast.union(*(any_case(name) for name in (*_HOSTED_SCHEMES, "file")))
    scheme = ast.conjunction(_scheme(), ast.complement(special))
    pchar = _pchar(_URI)
    path = ast.union(
        ast.concat(some(pchar), _path_abempty(_URI)),
        ast.concat(_SLASH, ast.optional(ast.concat(some(pchar), _path_abempty(_URI)))),
        located,
    )
    file = ast.concat(any_case("file"), ast.literal("://"), some(ast.concat(_SLASH, some(_URI.unreserved))))
    return ast.union(with_host, ast.concat(scheme, _COLON, path, _tail(_URI)), file)


def _python_authority() -> ast.Regex:
    label = unreserved_label_regex()
    last = ast.conjunction(label, ast.concat(ALPHA, ast.ANY_STRING))
    name = ast.concat(ast.star(ast.concat(label, ast.char_set("."))), last)
    name = ast.conjunction(name, ast.repeat(ast.ANY_CHAR, 0, 253))
    host = ast.union(name, ipv4_regex(), ast.concat(ast.char_set("["), ipv6_regex(), ast.char_set("]")))
    text = some(ast.union(_URI.unreserved, _PERCENT))
    user = ast.concat(text, ast.optional(ast.concat(_COLON, text)), ast.char_set("@"))
    return ast.concat(ast.optional(user), host, ast.optional(ast.concat(_COLON, integer_range_regex(0, 65535))))


def uri_template_regex() -> ast.Regex:
    """RFC 6570 up to level 4, without the operators it only reserves; an apostrophe is a literal (erratum 6937)."""
    literals = ast.union(
        ast.chars((0x21, 0x21), (0x23, 0x24), (0x26, 0x3B), (0x3D, 0x3D), (0x3F, 0x5B), (0x5D, 0x5D), (0x5F, 0x5F)),
        ast.chars((0x61, 0x7A), (0x7E, 0x7E)),
        _UCSCHAR,
        _IPRIVATE,
        _PERCENT,
    )
    varchar = ast.union(ALNUM, ast.char_set("_"), _PERCENT)
    name = ast.concat(varchar, ast.star(ast.concat(ast.optional(ast.char_set(".")), varchar)))
    prefix = ast.concat(_COLON, ast.chars((0x31, 0x39)), ast.repeat(DIGIT, 0, 3))
    variable = ast.concat(name, ast.optional(ast.union(prefix, ast.char_set("*"))))
    variables = ast.concat(variable, ast.star(ast.concat(ast.char_set(","), variable)))
    expression = ast.concat(ast.char_set("{"), ast.optional(ast.char_set("+#./;?&")), variables, ast.char_set("}"))
    return ast.star(ast.union(literals, expression))


def json_pointer_regex() -> ast.Regex:
    """RFC 6901: reference tokens after slashes, ``~`` only as ``~0`` and ``~1``."""
    plain = ast.chars((0, 0x2E), (0x30, 0x7D), (0x7F, ast.MAX_CODE_POINT))
    token = ast.star(ast.union(plain, ast.concat(ast.char_set("~"), ast.char_set("01"))))
    return ast.star(ast.concat(_SLASH, token))


def relative_json_pointer_regex() -> ast.Regex:
    """draft-handrews-relative-json-pointer-01: levels up, then ``#`` or a pointer."""
    levels = ast.union(ast.char_set("0"), ast.concat(ast.chars((0x31, 0x39)), ast.star(DIGIT)))
    return ast.concat(levels, ast.union(ast.char_set("#"), json_pointer_regex()))
