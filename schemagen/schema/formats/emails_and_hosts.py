"""Host names, mail addresses and IP addresses.

Sources: RFC 1123 section 2.1 and RFC 5890 (labels), RFC 5321 section 4.1.2 (mailboxes), RFC 6531 (international ones),
RFC 4291 section 2.2 and RFC 3986 section 3.2.2 (IPv6). Lengths over a whole name are intersections with a repeat of any
character, which costs one counter instead of one state per split.

``xn--`` labels must decode to a valid international label, which no regular expression of reasonable size can tell. So
host names have none of them (and their superset has all).
"""

from __future__ import annotations

from schemagen.regex import ast
from schemagen.schema.formats.parts import ALNUM, ALPHA, DIGIT, HEX, LDH, any_case, some, without, words
from schemagen.schema.numbers.ranges import integer_range_regex

_DOT = ast.char_set(".")
_DASH = ast.char_set("-")
_COLON = ast.char_set(":")
_AT = ast.char_set("@")
#: RFC 5321 section 4.1.2 after RFC 5322 section 3.2.3.
_ATEXT = ast.union(ALNUM, ast.char_set("!#$%&'*+-/=?^_`{|}~"))
_NON_ASCII = ast.chars((0x80, 0xD7FF), (0xE000, ast.MAX_CODE_POINT))
_LABEL = 63
_HOSTNAME = 253
_LOCAL_PART = 64
_ADDRESS = 254
#: Top-level names that no mail server has (RFC 6761 and others); email_validator refuses them.
_SPECIAL_USE = ("arpa", "invalid", "local", "localhost", "onion", "test")


def _rest(most: int) -> ast.Regex:
    """The rest of a label: nothing, or up to ``most`` characters the last of which is no hyphen."""
    return ast.optional(ast.concat(ast.repeat(LDH, 0, most - 1), ALNUM))


def _more(most: int) -> ast.Regex:
    """As `_rest`, at least one character."""
    return ast.concat(ast.repeat(LDH, 0, most - 1), ALNUM)


def label_regex() -> ast.Regex:
    """Letters, digits and inner hyphens, 1 to 63."""
    return ast.concat(ALNUM, _rest(_LABEL - 1))


def plain_label_regex() -> ast.Regex:
    """As `label_regex` but not ``xn--`` at the start, written out along those four characters."""
    after_hyphen = ast.concat(ALNUM, _rest(_LABEL - 4))
    after_n = ast.union(ast.EPSILON, ast.concat(ALNUM, _rest(_LABEL - 3)), ast.concat(_DASH, after_hyphen))
    after_x = ast.union(
        ast.EPSILON,
        ast.concat(without(ALNUM, "nN"), _rest(_LABEL - 2)),
        ast.concat(_DASH, _more(_LABEL - 2)),
        ast.concat(ast.char_set("nN"), after_n),
    )
    return ast.union(ast.concat(without(ALNUM, "xX"), _rest(_LABEL - 1)), ast.concat(ast.char_set("xX"), after_x))


def unreserved_label_regex() -> ast.Regex:
    """As `label_regex` but without hyphens at both third and fourth place (RFC 5891 section 4.2.3.1)."""
    third = ast.union(ast.concat(ALNUM, _rest(_LABEL - 3)), ast.concat(_DASH, ALNUM, _rest(_LABEL - 4)))
    return ast.concat(ALNUM, ast.union(ast.EPSILON, ALNUM, ast.concat(LDH, third)))


def dotted(label: ast.Regex) -> ast.Regex:
    """One label or more with dots between them."""
    return ast.concat(label, ast.star(ast.concat(_DOT, label)))


def at_most(inner: ast.Regex, length: int) -> ast.Regex:
    """``inner`` with at most ``length`` code points."""
    return ast.conjunction(inner, ast.repeat(ast.ANY_CHAR, 0, length))


def hostname_regex() -> ast.Regex:
    """RFC 1123 host names of at most 253 characters, without ``xn--`` labels and without a final dot."""
    return at_most(dotted(plain_label_regex()), _HOSTNAME)


def hostname_superset_regex() -> ast.Regex:
    """As `hostname_regex`, with every ``xn--`` label."""
    return at_most(dotted(label_regex()), _HOSTNAME)


def ipv4_regex() -> ast.Regex:
    """Four decimal octets without leading zeros (RFC 2673 section 3.2)."""
    octet = integer_range_regex(0, 255)
    return ast.concat(*([octet, _DOT] * 3), octet)


def ipv6_regex(*, shortened_groups: int = 7) -> ast.Regex:
    """RFC 4291 section 2.2: eight groups, or fewer around one ``::``; the last two may be an IPv4 address; no zone.

    Args:
        shortened_groups: Most groups beside ``::``; RFC 5321 has 6 where RFC 4291 has 7.

    Returns:
        The language.
    """
    group = some(HEX, 1, 4)
    grouped = ast.concat(group, _COLON)
    ipv4 = ipv4_regex()
    forms = [ast.concat(ast.repeat(grouped, 6, 6), ast.union(ast.concat(grouped, group), ipv4))]
    for before in range(shortened_groups + 1):
        head = ast.concat(ast.repeat(grouped, before - 1, before - 1), group) if before else ast.EPSILON
        left = shortened_groups - before
        tails: list[ast.Regex] = [ast.EPSILON]
        if left >= 1:
            tails.append(ast.concat(ast.repeat(grouped, 0, left - 1), group))
        if left >= 2:
            tails.append(ast.concat(ast.repeat(grouped, 0, left - 2), ipv4))
        forms.append(ast.concat(head, ast.literal("::"), ast.union(*tails)))
    return ast.union(*forms)


def ipv4_network_regex() -> ast.Regex:
    """An IPv4 network as `ipaddress.IPv4Network` reads it: the host bits are zero; without prefix it is ``/32``."""
    octet = integer_range_regex(0, 255)
    slash = ast.char_set("/")
    forms = [ast.concat(ipv4_regex(), ast.optional(ast.literal("/32")))]
    for whole in range(4):
        head = ast.concat(*([octet, _DOT] * whole))
        zeros = ast.literal(".0" * (3 - whole))
        for bits in range(8):
            part = words([str(value) for value in range(0, 256, 2 ** (8 - bits))])
            forms.append(ast.concat(head, part, zeros, slash, ast.literal(str(8 * whole + bits))))
    return ast.union(*forms)


def ipv6_network_regex() -> ast.Regex:
    """IPv6 networks with zero host bits: an address alone or ``/128``, or groups, ``::`` and a prefix that covers them.

    A subset: other prefixes are offered at group and hexadecimal digit boundaries only.
    """
    group = some(HEX, 1, 4)
    forms = [ast.concat(ipv6_regex(), ast.optional(ast.literal("/128")))]
    forms.append(ast.concat(ast.literal("::/"), integer_range_regex(0, 128)))
    for count in range(1, 8):
        head = ast.repeat(ast.concat(group, _COLON), count - 1, count - 1)
        end = ast.literal("::/")
        forms.append(ast.concat(head, group, end, integer_range_regex(16 * count, 128)))
        for zeros in range(1, 4):
            last = ast.concat(some(HEX, 1, 4 - zeros), ast.literal("0" * zeros))
            forms.append(ast.concat(head, last, end, ast.literal(str(16 * count - 4 * zeros))))
    return ast.union(*forms)


def interface_regex(address: ast.Regex, bits: int) -> ast.Regex:
    """An address with an optional prefix length."""
    return ast.concat(address, ast.optional(ast.concat(ast.char_set("/"), integer_range_regex(0, bits))))


def email_regex() -> ast.Regex:
    """``Mailbox`` of RFC 5321, at most 254 characters: dot-atom or quoted local part, domain or address literal."""
    local = at_most(ast.union(_dot_atom(_ATEXT), _quoted(ast.EMPTY)), _LOCAL_PART)
    return at_most(ast.concat(local, _AT, ast.union(dotted(label_regex()), _address_literal())), _ADDRESS)


def idn_email_regex() -> ast.Regex:
    """RFC 6531: also non-ASCII characters in the local part and in domain labels.

    A local part has at most 64 octets of UTF-8. That sum is approximated from below by the widest character in it.
    """
    atext = ast.union(_ATEXT, _NON_ASCII)
    local = ast.conjunction(ast.union(_dot_atom(atext), _quoted(_NON_ASCII)), _octets(_LOCAL_PART))
    wide = ast.union(ALNUM, _NON_ASCII)
    label = ast.concat(wide, ast.optional(ast.concat(ast.repeat(ast.union(LDH, _NON_ASCII), 0, _LABEL - 2), wide)))
    return ast.concat(local, _AT, ast.union(dotted(label), _address_literal()))


def _dot_atom(atext: ast.Regex) -> ast.Regex:
    return dotted(some(atext))


def _quoted(extra: ast.Regex) -> ast.Regex:
    """``Quoted-string``: printable ASCII, quote and backslash escaped."""
    text = ast.union(ast.chars((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E)), extra)
    pair = ast.concat(ast.char_set("\\"), ast.chars((0x20, 0x7E)))
    quote = ast.char_set('"')
    return ast.concat(quote, ast.star(ast.union(text, pair)), quote)


def _address_literal() -> ast.Regex:
    ipv6 = ast.concat(any_case("IPv6:"), ipv6_regex(shortened_groups=6))
    return ast.concat(ast.char_set("["), ast.union(ipv4_regex(), ipv6), ast.char_set("]"))


def _octets(most: int) -> ast.Regex:
    """Strings of surely at most ``most`` octets of UTF-8."""
    widest = ((1, 0x7F), (2, 0x7FF), (3, 0xFFFF), (4, ast.MAX_CODE_POINT))
    return ast.union(*(ast.repeat(ast.chars((0, last)), 0, most // octets) for octets, last in widest))


def python_email_regex() -> ast.Regex:
    """What pydantic's EmailStr (email_validator) accepts without delivery checks, plain ASCII addresses only."""
    local = at_most(_dot_atom(_ATEXT), _LOCAL_PART)
    special = ast.union(*(any_case(name) for name in _SPECIAL_USE))
    top = ast.conjunction(some(ALPHA, 2, _LABEL), ast.complement(special))
    domain = ast.concat(some(ast.concat(unreserved_label_regex(), _DOT)), top)
    return at_most(ast.concat(local, _AT, domain), _ADDRESS)


def python_name_email_regex() -> ast.Regex:
    """What pydantic's NameEmail accepts: an address, or a name of ASCII words before one in angle brackets."""
    address = python_email_regex()
    word = some(ast.union(ALPHA, DIGIT), 1, 32)
    name = ast.concat(word, ast.star(ast.concat(ast.char_set(" "), word)))
    return ast.union(address, ast.concat(name, ast.literal(" <"), address, ast.char_set(">")))
