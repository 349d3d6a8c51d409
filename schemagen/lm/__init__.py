"""Language models: any causal model of transformers, or the small one that comes with the package.

torch and transformers are imported when a model is loaded, not with this package.
"""

from schemagen.generation import Failure, Generation
from schemagen.lm.language_model import LanguageModel
from schemagen.lm.load import from_transformers, load, load_bundled
from schemagen.lm.repairing import Edit, Repair
from schemagen.options.draft import Draft
from schemagen.options.reasoning import Reasoning
from schemagen.options.speculation import Speculation

__all__ = [
    "Draft",
    "Edit",
    "Failure",
    "Generation",
    "LanguageModel",
    "Reasoning",
    "Repair",
    "Speculation",
    "from_transformers",
    "load",
    "load_bundled",
]
