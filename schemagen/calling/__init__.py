"""Typed function calling: tools, calls, and the grammars of the wire formats in which models write them."""

from __future__ import annotations

from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.families import detect_profile, find_profile, profiles, register_profile
from schemagen.calling.tools import Tool, tool
from schemagen.calling.wire_profiles import Profile

__all__ = [
    "Profile",
    "Tool",
    "ToolCall",
    "ToolResult",
    "detect_profile",
    "find_profile",
    "profiles",
    "register_profile",
    "tool",
]
