"""schemagen as a grammar backend of SGLang, by its official registry: ``sglang serve --grammar-backend schemagen``.

Installed beside SGLang it adds the name to the choices; nothing else changes until it is chosen.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
