"""Only the constraint: `model.generate` of transformers stays yours, with all of its options."""

from datetime import date

from pydantic import BaseModel

import schemagen


class Booking(BaseModel):
    """A stay in a hotel."""

    guest: str
    check_in: date
    nights: int


lm = schemagen.load_bundled()
model, tokenizer = lm.model, lm.tokenizer  # any transformers model and its tokenizer

vocab = schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=model.config.vocab_size)
grammar = schemagen.compile(Booking, vocab)
processor = schemagen.LogitsProcessor(grammar)

prompt = lm.render("Book a room for Lena Fischer from 3 May 2024 for 4 nights.", Booking)
inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
output = model.generate(**inputs, logits_processor=[processor], max_new_tokens=100, do_sample=False)

text = tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
booking = grammar.validate(text)
print(booking.guest, "arrives on", booking.check_in.isoformat(), "and stays", booking.nights, "nights")
