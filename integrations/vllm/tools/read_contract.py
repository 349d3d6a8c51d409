"""Write ``schemagen_vllm/contract.json``: the names and signatures of vLLM that the plug-in touches, by version.

    pip download --no-deps -d wheels vllm==0.33.0
    python tools/read_contract.py wheels/vllm-*.whl

The sources are read as text out of the wheels, and nothing of them is imported or run. It writes names: of
methods with their parameters, of fields and members, and of what a function imports when it is called.
"""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "schemagen_vllm" / "contract.json"

#: Module -> class -> its methods and properties that matter ("*": all); "" stands for functions of the module.
TOUCHED: dict[str, dict[str, tuple[str, ...]]] = {
    "vllm.v1.structured_output.backend_types": {
        "StructuredOutputGrammar": ("*",),
        "StructuredOutputBackend": ("*",),
        "StructuredOutputOptions": ("*",),
    },
    "vllm.v1.structured_output": {"StructuredOutputManager": ("_create_grammar", "grammar_bitmask")},
    "vllm.v1.structured_output.backend_outlines": {
        "OutlinesBackend": (),
        "": ("validate_structured_output_request_outlines",),
    },
    "vllm.v1.structured_output.request": {"": ("get_structured_output_key",)},
    "vllm.v1.structured_output.utils": {"": ("grammar_is_likely_lark",)},
    "vllm.v1.request": {"Request": ("num_output_tokens", "num_tokens")},
    "vllm.sampling_params": {"SamplingParams": ("_validate_structured_outputs", "all_stop_token_ids")},
    "vllm.exceptions": {"VLLMValidationError": ()},
}

#: Function -> the names that it must import when it is called, so that a replaced attribute is seen.
IMPORTED_AT_CALL = {
    "vllm.v1.structured_output:StructuredOutputManager.grammar_init": "OutlinesBackend",
    "vllm.sampling_params:SamplingParams._validate_structured_outputs": "validate_structured_output_request_outlines",
}


def tree_of(wheel: zipfile.ZipFile, module: str) -> ast.Module:
    """Return the syntax of a module in a wheel."""
    path = module.replace(".", "/")
    names = set(wheel.namelist())
    found = next(name for name in (f"{path}.py", f"{path}/__init__.py") if name in names)
    return ast.parse(wheel.read(found))


def functions_of(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    """Return the functions of a module or class by name."""
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def class_of(tree: ast.Module, name: str) -> ast.ClassDef:
    """Return a class of a module."""
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def parameters(function: ast.FunctionDef) -> list[str]:
    """Return the names of the parameters; one with a default ends in ``=``."""
    named = [*function.args.posonlyargs, *function.args.args]
    optional = len(named) - len(function.args.defaults)
    plain = [f"{arg.arg}=" if place >= optional else arg.arg for place, arg in enumerate(named)]
    keyword = [
        f"*{arg.arg}" + ("=" if default else "")
        for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    ]
    return plain + keyword


def is_property(function: ast.FunctionDef) -> bool:
    """Whether it is a property."""
    return any(isinstance(each, ast.Name) and each.id == "property" for each in function.decorator_list)


def fields_of(node: ast.ClassDef) -> list[str]:
    """Return annotated fields and members of an enum, in order."""
    found = []
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            found.append(each.target.id)
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            found.append(each.targets[0].id)
    return found


def described(tree: ast.Module, name: str, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Return the contract of a class, or with an empty name of functions of the module."""
    if not name:
        functions = functions_of(tree.body)
        return {each: parameters(functions[each]) for each in wanted}
    node = class_of(tree, name)
    methods = functions_of(node.body)
    chosen = [*methods] if wanted == ("*",) else list(wanted)
    found: dict[str, Any] = {
        each: "property" if is_property(methods[each]) else parameters(methods[each]) for each in chosen
    }
    if wanted == ("*",) and (fields := fields_of(node)):
        found["fields"] = fields
    return found


def imports_inside(tree: ast.Module, path: str) -> set[str]:
    """Return the names that a method imports in its body."""
    owner, method = path.split(".")
    function = functions_of(class_of(tree, owner).body)[method]
    return {alias.name for node in ast.walk(function) if isinstance(node, ast.ImportFrom) for alias in node.names}


def contract_of(path: Path) -> dict[str, Any]:
    """Return the contract of one wheel.

    Raises:
        SystemExit: A name is not imported when the function is called: the slot does not work in this version.
    """
    with zipfile.ZipFile(path) as wheel:
        found: dict[str, Any] = {}
        for module, classes in TOUCHED.items():
            tree = tree_of(wheel, module)
            found[module] = {name: described(tree, name, wanted) for name, wanted in classes.items()}
        for place, name in IMPORTED_AT_CALL.items():
            module, function = place.split(":")
            if name not in imports_inside(tree_of(wheel, module), function):
                raise SystemExit(f"{path.name}: {place} does not import {name} when it is called")
    return found


def main(paths: list[str]) -> None:
    """Write the contracts of some wheels; versions that are not given stay as they are."""
    known = json.loads(TARGET.read_text(encoding="utf-8"))["versions"] if TARGET.is_file() else {}
    for path in map(Path, paths):
        version = path.name.split("-")[1]
        known[version] = contract_of(path)
        print(version)
    ordered = dict(sorted(known.items(), key=lambda item: tuple(map(int, item[0].split(".")))))
    TARGET.write_text(json.dumps({"versions": _merged(ordered)}, indent=1) + "\n", encoding="utf-8")


def _merged(versions: dict[str, Any]) -> dict[str, Any]:
    """Write a version that is like the one before it as the name of that one."""
    merged: dict[str, Any] = {}
    last = None
    for version, contract in versions.items():
        whole = merged[contract] if isinstance(contract, str) else contract
        merged[version] = last if last is not None and merged[last] == whole else whole
        last = last if merged[version] == last else version
    return merged


if __name__ == "__main__":
    main(sys.argv[1:])
