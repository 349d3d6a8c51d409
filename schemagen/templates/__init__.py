"""Templates: fixed text with holes, each of a type."""

from schemagen.templates.holes import Filled, gen
from schemagen.templates.template import Template

__all__ = ["Filled", "Template", "gen"]
