"""From a spec to a `Grammar`: `compile`, its caches, and grammars that are made of several."""
