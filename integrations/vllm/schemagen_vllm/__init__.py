"""schemagen as the structured-output backend of a vLLM engine, and helpers for its clients.

The environment variable ``SCHEMAGEN_VLLM_SLOT=outlines`` enables it in an engine (see `schemagen_vllm.slot`). The
helpers need neither vLLM nor the slot:

    params = SamplingParams(max_tokens=200, structured_outputs=StructuredOutputsParams(json=schema(Order)))
    orders = [value(Order, output) for output in llm.generate(prompts, params)]
"""

from __future__ import annotations

from schemagen_vllm.values import schema, value

__version__ = "0.1.0"

__all__ = ["__version__", "schema", "value"]
