"""The families of models: the formats in which they write calls, a registry, and detection from a chat template.

Sources: the chat templates that the makers of the models publish, and the documentation of vLLM's and xgrammar's formats.
``docs/guides/families.md`` shows the table. Where a template lays out a call with other whitespace, the model may do so, too,
so families that differ in whitespace alone share a profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.calling.wire_profiles import Profile
from schemagen.errors import ToolError
from schemagen.prompts.messages import template_text

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The text before the arguments of a call that is a JSON object.
_OBJECT_HEAD = '{"name": "{name}", "arguments": '
#: Our own format, for models whose template has none.
PLAIN = Profile(
    "plain",
    head=_OBJECT_HEAD,
    tail="}",
    separator="\n",
    tools_in="prompt",
    models="all others, and models without a template",
)

_DEEPSEEK_MARKERS = (
    "<｜tool▁calls▁begin｜>",  # noqa: RUF001 - the markers have full-width bars
    "<｜tool▁call▁begin｜>",  # noqa: RUF001
    "<｜tool▁sep｜>",  # noqa: RUF001
    "<｜tool▁call▁end｜>",  # noqa: RUF001
    "<｜tool▁calls▁end｜>",  # noqa: RUF001
)
_CALLS_BEGIN, _CALL_BEGIN, _SEPARATOR, _CALL_END, _CALLS_END = _DEEPSEEK_MARKERS
_STEP_MARKERS = tuple(marker.replace("▁", "_") for marker in _DEEPSEEK_MARKERS)
_DSML = "\uff5cDSML\uff5c"
_ARGUMENT_TAGS = ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")


def _dsml(name: str, models: str, signs: tuple[str, ...], calls: str, tag: str) -> Profile:
    """Return a format of DeepSeek's markup, whose versions differ in the names of tags."""
    return Profile(
        name,
        begin=f"<{_DSML}{calls}>\n",
        head=f'<{_DSML}{tag}invoke name="{{name}}">\n',
        tail=f"</{_DSML}{tag}invoke>\n",
        end=f"</{_DSML}{calls}>",
        markers=(f"<{_DSML}{calls}>", _DSML),
        arguments="deepseek_v4_1_xml" if tag else "deepseek_xml",
        signs=(_DSML, *signs),
        models=models,
    )


_BUILT_IN = (
    Profile(
        "deepseek",
        begin=_CALLS_BEGIN,
        head=f"{_CALL_BEGIN}function{_SEPARATOR}{{name}}\n```json\n",
        tail=f"\n```{_CALL_END}",
        separator="\n",
        end=_CALLS_END,
        markers=_DEEPSEEK_MARKERS,
        signs=(_CALLS_BEGIN, "```json"),
        arguments_in_history="text",
        models="DeepSeek V3, R1",
    ),
    Profile(
        "deepseek-v3.1",
        begin=_CALLS_BEGIN,
        head=f"{_CALL_BEGIN}{{name}}{_SEPARATOR}",
        tail=_CALL_END,
        end=_CALLS_END,
        markers=_DEEPSEEK_MARKERS,
        signs=(_CALLS_BEGIN,),
        arguments_in_history="text",
        models="DeepSeek V3.1",
    ),
    _dsml("deepseek-v3.2", "DeepSeek V3.2", ("function_calls",), "function_calls", ""),
    _dsml("deepseek-v4.1", "DeepSeek V4.1", (" calls>",), " calls", " "),
    _dsml("deepseek-v4", "DeepSeek V4", ("tool_calls",), "tool_calls", ""),
    Profile(
        "kimi",
        begin="<|tool_calls_section_begin|>",
        head="<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>",
        tail="<|tool_call_end|>",
        end="<|tool_calls_section_end|>",
        markers=(
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "<|tool_call_argument_begin|>",
            "<|tool_call_end|>",
            "<|tool_calls_section_end|>",
        ),
        id="functions.{name}:{index}",
        signs=("<|tool_calls_section_begin|>",),
        models="Kimi K2, K2.5",
    ),
    Profile(
        "kimi-k3",
        begin="<|close|>response<|sep|><|open|>tools<|sep|>",
        head='<|open|>call tool="{name}" index="{number}"<|sep|>',
        tail="<|close|>call<|sep|>",
        end="<|close|>tools<|sep|><|close|>message<|sep|>",
        markers=("<|close|>", "<|open|>", "<|sep|>"),
        arguments="kimi_k3_xml",
        words=("", "<|close|>response<|sep|><|close|>message<|sep|>"),
        signs=("<|open|>", "<|close|>", "<|sep|>"),
        models="Kimi K3",
    ),
    Profile(
        "harmony",
        head="<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>",
        separator=None,  # <|call|> ends the answer
        markers=("<|channel|>", "<|constrain|>", "<|message|>"),
        other_heads=(
            " to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>",
            " to=functions.{name}<|channel|>commentary json<|message|>",
        ),
        words=("<|channel|>final<|message|>", ""),
        signs=("<|channel|>final<|message|>", "<|channel|>commentary"),
        models="gpt-oss",
    ),
    Profile(
        "cohere",
        begin="<|START_ACTION|>[\n    ",
        head='{"tool_call_id": "{index}", "tool_name": "{name}", "parameters": ',
        tail="}",
        separator=",\n    ",
        end="\n]<|END_ACTION|>",
        markers=("<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        id="{index}",
        words=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        signs=("<|START_ACTION|>", "<|START_RESPONSE|>"),
        models="Command R7B, Command A",
    ),
    Profile(
        "minimax",
        begin="<minimax:tool_call>\n",
        head='<invoke name="{name}">\n',
        tail="</invoke>\n",
        end="</minimax:tool_call>",
        markers=("<minimax:tool_call>", "</minimax:tool_call>"),
        arguments="minimax_xml",
        signs=("<minimax:tool_call>", "<invoke name="),
        models="MiniMax M2, M2.5, M2.7",
    ),
    Profile(
        "minimax-m1",
        begin="<tool_calls>\n",
        head=_OBJECT_HEAD,
        tail="}\n",
        end="</tool_calls>",
        markers=("<tool_calls>", "</tool_calls>"),
        signs=("<tool_calls>", '{"name": <tool-name>'),
        models="MiniMax M1",
    ),
    Profile(
        "mistral-ids",
        head="[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]",
        markers=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
        signs=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
        models="Mistral with tokenizer v11: Mistral Small 3.2",
    ),
    Profile(
        "mistral-args",
        head="[TOOL_CALLS]{name}[ARGS]",
        markers=("[TOOL_CALLS]", "[ARGS]"),
        signs=("[TOOL_CALLS]", "[ARGS]"),
        not_signs=("[CALL_ID]",),
        models="Mistral since tokenizer v13: Magistral",
    ),
    Profile(
        "mistral",
        begin="[TOOL_CALLS] [",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]",
        markers=("[TOOL_CALLS]",),
        signs=("[TOOL_CALLS]",),
        not_signs=("[ARGS]",),
        models="Mistral before tokenizer v11",
    ),
    Profile(
        "granite",
        begin="<|tool_call|>[",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]",
        markers=("<|tool_call|>",),
        signs=("<|start_of_role|>", "<|tool_call|>"),
        models="Granite 3",
    ),
    Profile(
        "phi",
        begin="<|tool_call|>[",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]<|/tool_call|>",
        markers=("<|tool_call|>", "<|/tool_call|>"),
        signs=("<|tool|>",),
        tools_in="system",
        models="Phi 4 mini",
    ),
    Profile(
        "seed-oss",
        head="<seed:tool_call>\n<function={name}>\n",
        tail="</function>\n</seed:tool_call>",
        markers=("<seed:tool_call>", "</seed:tool_call>"),
        arguments="tagged",
        argument_head="<parameter={key}>",
        argument_tail="</parameter>\n",
        signs=("<seed:tool_call>", "<function="),
        models="Seed-OSS",
    ),
    Profile(
        "mimo",
        head="<tool_call><function={name}>",
        tail="</function></tool_call>",
        markers=("<tool_call>", "</tool_call>"),
        arguments="qwen_xml",
        signs=("<tool_call><function=", "<parameter="),
        models="MiMo V2.6",
    ),
    Profile(
        "qwen-coder",
        head="<tool_call>\n<function={name}>\n",
        tail="</function>\n</tool_call>",
        markers=("<tool_call>", "</tool_call>"),
        arguments="tagged",
        argument_head="<parameter={key}>\n",
        argument_tail="\n</parameter>\n",
        signs=("<tool_call>", "<function=", "<parameter="),
        models="Qwen 3 Coder, Qwen 3.5 and 3.6, Step 3.5 and 3.7, Nemotron 3",
    ),
    Profile(
        "hunyuan-v3",
        begin="<tool_calls>\n",
        head="<tool_call>{name}<tool_sep>\n",
        tail="</tool_call>\n",
        end="</tool_calls>",
        markers=("<tool_calls>", "</tool_calls>", "<tool_call>", "</tool_call>", "<tool_sep>", *_ARGUMENT_TAGS),
        arguments="glm_xml",
        signs=("<tool_calls>", "<tool_sep>", "<arg_key>"),
        models="Hunyuan 3",
    ),
    Profile(
        "glm",
        head="<tool_call>{name}\n",
        tail="</tool_call>",
        markers=("<tool_call>", "</tool_call>", *_ARGUMENT_TAGS),
        arguments="glm_xml",
        signs=("<tool_call>", "<arg_key>", "<arg_value>"),
        models="GLM 4.5, 4.6, 4.7 and 5",
    ),
    Profile(
        "step3",
        begin=f"{_STEP_MARKERS[0]}\n",
        head=f'{_STEP_MARKERS[1]}function{_STEP_MARKERS[2]}<steptml:invoke name="{{name}}">\n',
        tail=f"</steptml:invoke>{_STEP_MARKERS[3]}",
        separator="\n",
        end=f"\n{_STEP_MARKERS[4]}",
        markers=_STEP_MARKERS,
        arguments="tagged",
        argument_head='<steptml:parameter name="{key}">',
        argument_tail="</steptml:parameter>\n",
        signs=(_STEP_MARKERS[0], "steptml:"),
        models="Step 3",
    ),
    Profile(
        "hunyuan",
        begin="<tool_calls>[",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]</tool_calls>",
        markers=("<tool_calls>", "</tool_calls>"),
        signs=("<tool_calls>[",),
        models="Hunyuan A13B; Jamba by its name",
    ),
    Profile(
        "nemotron",
        begin="<TOOLCALL>[",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]</TOOLCALL>",
        markers=("<TOOLCALL>", "</TOOLCALL>"),
        signs=("<TOOLCALL>",),
        models="Nemotron Nano 2, Nemotron Super 1.5",
    ),
    Profile(
        "internlm",
        head="<|action_start|><|plugin|>\n" + _OBJECT_HEAD,
        tail="}<|action_end|>",
        markers=("<|action_start|>", "<|plugin|>", "<|action_end|>"),
        signs=("<|action_start|>", "<|plugin|>"),
        arguments_in_history="text",
        models="InternLM 2.5",
    ),
    Profile(
        "apertus",
        begin="<|tools_prefix|>[",
        head='{"{name}": ',
        tail="}",
        separator=", ",
        end="]<|tools_suffix|>",
        markers=("<|tools_prefix|>", "<|tools_suffix|>"),
        signs=("<|tools_prefix|>",),
        arguments_in_history="text",
        models="Apertus",
    ),
    Profile(
        "longcat",
        head="<longcat_tool_call>\n" + _OBJECT_HEAD,
        tail="}\n</longcat_tool_call>",
        markers=("<longcat_tool_call>", "</longcat_tool_call>"),
        signs=("<longcat_tool_call>", "</longcat_tool_call>"),
        models="LongCat",
    ),
    Profile(
        "xlam",
        begin="[",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]",
        signs=('[{"name": "tool_call_name"',),
        models="xLAM 2",
    ),
    Profile(
        "hermes",
        head="<tool_call>\n" + _OBJECT_HEAD,
        tail="}\n</tool_call>",
        markers=("<tool_call>", "</tool_call>"),
        signs=("<tool_call>", "</tool_call>", "arguments"),
        not_signs=("<function=", "<arg_key>", "]<]minimax[>["),
        models="Hermes, Qwen 2.5 and 3, Granite 4, EXAONE 4, ERNIE 4.5",
    ),
    Profile(
        "llama-pythonic",
        begin="[",
        head="{name}(",
        tail=")",
        separator=", ",
        end="]",
        arguments="python",
        signs=("[func_name1(params_name1=",),
        models="Llama 3.2 and 4, where the template asks for it",
    ),
    Profile(
        "llama",
        head='{"name": "{name}", "parameters": ',
        tail="}",
        separator="; ",
        signs=("header_", '"parameters":'),  # <|start_header_id|> of Llama 3, <|header_start|> of Llama 4
        models="Llama 3.1 to 3.3, Llama 4",
    ),
    Profile(
        "gemma",
        begin="```tool_code\n",
        head="{name}(",
        tail=")",
        separator="\n",
        end="\n```",
        markers=("```tool_code", "```"),
        arguments="python",
        signs=("<start_of_turn>",),
        not_signs=("<start_function_call>",),
        tools_in="prompt",
        models="Gemma 3, whose template does not support tools",
    ),
    PLAIN,
)
_registry: list[Profile] = list(_BUILT_IN)


def register_profile(profile: Profile) -> None:
    """Add a format, for `find_profile` and `detect_profile`.

    It takes precedence over the known formats, and replaces one of the same name.

    Args:
        profile: The format, with ``signs`` if `detect_profile` should recognise its templates.
    """
    _registry[:] = [profile, *(known for known in _registry if known.name != profile.name)]


def profiles() -> Mapping[str, Profile]:
    """Return the known formats by name, in the order in which `detect_profile` tries them."""
    return {profile.name: profile for profile in _registry}


def find_profile(name: str) -> Profile:
    """Return a format by its name.

    Raises:
        ToolError: No format has this name.
    """
    known = profiles()
    if name not in known:
        raise ToolError(
            f"no profile {name!r}",
            why=f"known are {', '.join(known)}",
            fix="choose one of these, or register_profile() your own",
            code="wrong-profile",
        )
    return known[name]


def detect_profile(tokenizer: Any) -> Profile:
    """Return the format of the tokenizer's chat template; `PLAIN` if it has no template, or an unknown one."""
    template = template_text(tokenizer)
    return next((profile for profile in _registry if profile.matches(template)), PLAIN)
