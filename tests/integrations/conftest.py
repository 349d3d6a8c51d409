"""What the tests with other packages share: a type in a module that every process can import, and prompts."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

MODULE = """
from pydantic import BaseModel

class Person(BaseModel):
    name: str
    age: int
"""
#: The third is too long for the model.
PROMPTS = ["Ada Lovelace, 36", "Grace Hopper is 85 years old.", "word " * 2000, "Alan Turing, 41"]


@pytest.fixture(scope="session")
def people(tmp_path_factory) -> ModuleType:
    """A module with a class, importable here and in the processes that are started."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "people_of_tests.py").write_text(MODULE, encoding="utf-8")
    sys.path.insert(0, str(folder))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), str(Path.cwd()), before]))
    import people_of_tests

    yield people_of_tests
    sys.path.remove(str(folder))
    os.environ["PYTHONPATH"] = before or ""
