"""`schemagen.load`: what says where a model goes, and in which form, reaches transformers as it is."""

import os
import subprocess
import sys
from importlib.resources import files

import pytest

import schemagen

FOLDER = str(files("schemagen.lm") / "bundled")


class Reached(Exception):  # noqa: N818 - it ends the call
    """Raised with what `from_pretrained` was given."""


@pytest.fixture
def reach(monkeypatch):
    """A function: the keywords that a call of `load` hands to `from_pretrained`, on a machine with an accelerator or not."""
    import torch
    from transformers import AutoModelForCausalLM

    def given(*, accelerator, **options):
        def stop(_name, **keywords):
            raise Reached(keywords)

        monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", stop)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: accelerator)
        with pytest.raises(Reached) as error:
            schemagen.load(FOLDER, **options)
        return error.value.args[0]

    return given


@pytest.mark.parametrize("accelerator", [False, True])
@pytest.mark.parametrize(
    ("options", "on_cpu", "on_accelerator"),
    [
        ({}, None, "auto"),
        ({"device_map": {"": 1}}, {"": 1}, {"": 1}),
        ({"device_map": "cuda:3"}, "cuda:3", "cuda:3"),
        ({"tp_plan": "auto"}, None, None),
        ({"distributed_config": "a plan"}, None, None),
        ({"tp_plan": "auto", "device_map": "cuda:1"}, "cuda:1", "cuda:1"),
    ],
    ids=str,
)
def test_device_maps(reach, options, on_cpu, on_accelerator, accelerator):
    """A map that is given is handed on; none is made beside a plan that says itself where parts of the model go."""
    assert reach(accelerator=accelerator, **options)["device_map"] == (on_accelerator if accelerator else on_cpu)


@pytest.mark.parametrize(
    "name", ["quantization_config", "tp_plan", "attn_implementation", "max_memory", "offload_folder"]
)
def test_options_reach_transformers(reach, name):
    """The very object, with a dtype beside it."""
    value = object()
    keywords = reach(accelerator=True, dtype="bfloat16", **{name: value})
    assert keywords[name] is value
    assert keywords.get("dtype", keywords.get("torch_dtype")) == "bfloat16"


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"LOCAL_RANK": "1"}, "cuda:1"),
        ({"LOCAL_RANK": "5"}, "cuda:1"),
        ({"SLURM_LOCALID": "0"}, "cuda:0"),
        ({"LOCAL_RANK": "0", "SLURM_LOCALID": "1"}, "cuda:0"),
        ({}, None),
    ],
)
def test_each_process_has_a_device(monkeypatch, environment, found):
    """By its number on the machine, where there are accelerators."""
    import torch

    from schemagen.lm.load import device_of_rank

    assert device_of_rank(environment) is None or torch.cuda.is_available()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_of_rank(environment) == found


PARALLEL = f"""
import warnings
warnings.simplefilter("ignore")
import schemagen
lm = schemagen.load({FOLDER!r}, tp_plan="auto", dtype="float32")
assert any(type(part).__name__ == "DTensor" for part in lm.model.parameters())
found = lm.batch(["Ada Lovelace, 36", "Bob, 4"], int, max_new_tokens=9, progress=False)
alone = schemagen.load_bundled().batch(["Ada Lovelace, 36", "Bob, 4"], int, max_new_tokens=9, progress=False)
assert found == alone, (found, alone)
"""


@pytest.mark.slow
def test_a_model_in_two_parts_answers_as_one(tmp_path):
    """Tensor parallel over two processes on the CPU: both have the values of the model in one piece."""
    pytest.importorskip("transformers", minversion="5.0")
    program = tmp_path / "parallel.py"
    program.write_text(PARALLEL, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", str(program)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
