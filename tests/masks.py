"""The slow way to masks."""


def brute_force(matcher, size):
    """Return the tokens that can be accepted, each of them tried."""
    allowed = []
    for token_id in range(size):
        if matcher.accept_token(token_id):
            allowed.append(token_id)
            matcher.rollback()
    return allowed
