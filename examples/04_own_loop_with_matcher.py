"""A decoding loop of your own: one matcher, one bitmask, and any model that gives logits.

The loop is greedy and has no cache of keys and values, so that nothing hides the four calls that matter.
"""

import json

import torch

import schemagen

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
}

lm = schemagen.load_bundled()
vocab = lm.vocabulary
grammar = schemagen.compile(SCHEMA, vocab)

matcher = grammar.matcher()
bitmask = schemagen.allocate_token_bitmask(1, vocab.size)
prompt = lm.tokenizer(lm.render("Ada Lovelace, 36, London", SCHEMA), return_tensors="pt")["input_ids"]

tokens: list[int] = []
while not matcher.is_terminated():
    so_far = torch.cat([prompt, torch.tensor([tokens], dtype=torch.long)], dim=1)
    with torch.no_grad():
        logits = lm.model(input_ids=so_far).logits[:, -1]  # [1, V]
    matcher.fill_next_token_bitmask(bitmask, 0)
    schemagen.apply_token_bitmask_inplace(logits, bitmask)
    token = int(logits.argmax(dim=-1))
    assert matcher.accept_token(token)
    tokens.append(token)

text = vocab.decode(tokens).decode()  # EOS has no bytes
print(json.loads(text))
