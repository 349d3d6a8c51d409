"""Sampling with the model's own law, under the condition that the text is in the language.

A mask scales the allowed tokens at each place to add up to 1, which bends the law of whole texts: it prefers beginnings that
the model finds likely, even if their endings are not (``docs/concepts/distributions.md``). The samplers here do not, or say by
a weight how much they do:

| sampler     | law of a text                                            | cost                                            |
|-------------|----------------------------------------------------------|-------------------------------------------------|
| `rejection` | exact                                                    | attempts, fewer the more is known               |
| `mask`      | that of the mask; exact with the weights of many texts   | one attempt for each text                       |
| `awrs`      | as `mask`, with weights from checked tokens alone        | one attempt, no masks: for slow constraints     |
| `smc`       | exact for many texts, which compete while they are written | one attempt for each text, all side by side   |
"""

from schemagen.sampling.samples import Distortion, Samples

__all__ = ["Distortion", "Samples"]
