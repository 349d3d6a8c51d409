"""The function schemas of a public benchmark as tools."""

from __future__ import annotations

import json

from schemagen.calling import Tool, find_profile
from schemagen.calling.answer_format import build
from schemagen.errors import UnsatisfiableSchemaError
from tests import corpora


def test_every_schema_of_bfcl_is_a_tool(byte_vocabulary):
    """Each schema compiles as the parameters of a tool, and its instances are the arguments of calls that are read back."""
    cases = [case for case in corpora.groups("maskbench") if case["id"].startswith("BFCL_")]
    profile = find_profile("hermes")
    assert len(cases) > 500
    for case in cases:
        tool = Tool.from_dict({"name": "f", "parameters": case["schema"]})
        try:
            wire = build(profile, (tool,), byte_vocabulary, (), may_answer=False)
        except UnsatisfiableSchemaError:
            assert not any(test["valid"] for test in case["tests"]), case["id"]
            continue
        for test in case["tests"]:
            text = json.dumps(test["data"], ensure_ascii=False)
            written = f'<tool_call>\n{{"name": "f", "arguments": {text}}}\n</tool_call>'.encode()
            matcher = wire.graph.matcher()
            assert (matcher.accept_bytes(written) and matcher.is_accepting()) is test["valid"], case["id"]
            if test["valid"]:
                assert json.loads(wire.read(written).calls[0].json) == test["data"]
