"""Foreign engines that accept a function on logits; each module needs the package that it is named after."""
