"""Random texts of a grammar over bytes that end soon."""

import random

END, QUOTE, ESCAPE = 256, ord('"'), ord("\\")
#: What closes something outside of strings, in this order: a quote ends no string there but begins the shortest value.
CLOSING = [ord(c) for c in '"]}']
#: After so many bytes closing ones are preferred; after more they are taken, or looked for one byte ahead; then it ends.
LOOSE, TIRED, MOST = 40, 160, 4000


def random_text(grammar, seed):
    """Return a random text of a grammar over `Vocabulary.byte_vocabulary()`; None if it did not end."""
    choose = random.Random(seed)
    matcher, text, in_string = grammar.matcher(), bytearray(), False
    for step in range(MOST):
        allowed = matcher.allowed_tokens()
        assert allowed, f"a dead end after {bytes(text)!r}"
        if END in allowed and (len(allowed) == 1 or step > LOOSE or choose.random() < 0.3):
            return text.decode()
        token = _pick(matcher, allowed, step, [QUOTE] if in_string else CLOSING, choose)
        assert matcher.accept_token(token), f"{token} is in the mask after {bytes(text)!r}, and refused"
        text.append(token)
        in_string ^= token == QUOTE and not _is_escaped(text)
    return None


def _is_escaped(text):
    """Whether an odd number of backslashes stands before the last byte."""
    before = bytes(text[:-1])
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def _pick(matcher, allowed, step, closing, choose):
    eager = 1.0 if step > TIRED else 0.7 if step > LOOSE else 0.15
    known = [token for token in closing if token in allowed]
    if known and choose.random() < eager:
        return known[0]
    tokens = [token for token in allowed if token < END and token not in b" \t\r\n"]
    # Mostly ASCII, so that not every text is full of rare characters.
    plain = [token for token in tokens if 0x20 < token < 0x7F and token != ESCAPE]
    if step > TIRED:
        leading = [token for token in tokens if token != ESCAPE and _leads(matcher, token, closing)]
        escape = [ESCAPE] if ESCAPE in tokens and choose.random() < 0.2 else []
        tokens = leading or escape or plain or tokens
    elif plain and choose.random() < 0.8:
        tokens = plain
    return choose.choice(tokens or [token for token in allowed if token < END])


def _leads(matcher, token, closing):
    """Whether something may be closed, or the text may end, right after a token."""
    ahead = matcher.fork()
    return ahead.accept_token(token) and (ahead.is_accepting() or not set(closing).isdisjoint(ahead.allowed_tokens()))
