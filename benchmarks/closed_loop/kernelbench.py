"""A problem in KernelBench's form, a torch module and perhaps a replacement, as a kernel folder.

usage: python benchmarks/closed_loop/kernelbench.py PROBLEM.py NAME FOLDER [REPLACEMENT.py]

PROBLEM.py has ``Model``, ``get_inputs`` and ``get_init_inputs``; REPLACEMENT.py has ``ModelNew``, which takes what
``Model`` takes. Writes FOLDER/kernels/NAME: the module is v0, the replacement v1, both called in evaluation mode (in
training mode BatchNorm would change its buffers, which are inputs, and Dropout would draw). Parameters and buffers are
inputs behind those of ``get_inputs``, in the order of ``state_dict``; the reference is the module in float64. Tolerance
is KernelBench's: 1e-2. Raises ValueError for a problem that does not fit: inputs or results that are no tensors.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ncu_assist.backends.python import import_file

TOML = """summary = "{summary}"
inputs = {inputs}
arguments = {arguments}
bytes = "{bytes}"
flops = "0"

[outputs]
{outputs}

{tolerances}

[workloads.given]
dtype = "{dtype}"
default = true
"""
TOLERANCE = "[tolerance.{dtype}]\nnorm = 1e-2\nrtol = 1e-2\natol = 1e-2"
REFERENCE = '''"""Inputs and result of the module in problem.py, in float64."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
import problem  # noqa: E402


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return what get_inputs gives, then parameters and buffers of a new module."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        given = problem.get_inputs()
        state = problem.Model(*problem.get_init_inputs()).state_dict()
    return tuple(one.detach().to(device).contiguous() for one in (*given, *state.values()))


def reference(*inputs) -> tuple:
    """Return the result, or the results."""
    module = problem.Model(*problem.get_init_inputs()).eval().double()
    wide = [one.double() if one.is_floating_point() else one for one in inputs]
    count = len(wide) - len(module.state_dict())
    state = dict(zip(module.state_dict(), wide[count:], strict=True))
    with torch.no_grad():
        result = torch.func.functional_call(module.to(wide[0].device), state, tuple(wide[:count]))
    return tuple(result) if isinstance(result, tuple | list) else (result,)
'''
VERSION = """# {comment}
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
import problem  # noqa: E402
{import_new}

_module = {module}(*problem.get_init_inputs()).eval()
_names = list(_module.state_dict())


def {name}(*arguments):
    inputs, outputs = arguments[:-{outputs}], arguments[-{outputs}:]
    count = len(inputs) - len(_names)
    state = dict(zip(_names, inputs[count:], strict=True))
    with torch.no_grad():
        result = torch.func.functional_call(_module, state, tuple(inputs[:count]))
    for output, one in zip(outputs, result if isinstance(result, tuple | list) else (result,), strict=True):
        output.copy_(one)
"""


def adapt(problem: Path, name: str, folder: Path, replacement: Path | None = None) -> Path:
    """Write the kernel folder and return it. The problem is run once, on the CPU, for the shapes of its tensors."""
    module = import_file(problem)
    inputs, state, results = _shapes(module)
    target = folder / "kernels" / name
    target.mkdir(parents=True)
    shutil.copyfile(problem, target / "problem.py")
    outputs = [f"out{place}" if len(results) > 1 else "out" for place in range(len(results))]
    names = [*(f"x{place}" for place in range(len(inputs))), *(one.replace(".", "_") for one in state)]
    every = [*inputs, *state.values(), *results]
    dtypes = dict.fromkeys(_dtype(one) for one in (inputs[0], *results))
    (target / "kernel.toml").write_text(
        TOML.format(
            summary=f"KernelBench: {problem.stem}".replace('"', "'"),
            inputs=_list(names),
            arguments=_list([*names, *outputs]),
            bytes=sum(one.numel() * one.element_size() for one in every),
            outputs="\n".join(_output(*pair) for pair in zip(outputs, results, strict=True)),
            tolerances="\n\n".join(TOLERANCE.format(dtype=one) for one in dtypes),
            dtype=_dtype(inputs[0]),
        )
    )
    (target / "reference.py").write_text(REFERENCE)
    said = {"name": name, "outputs": len(results)}
    first = VERSION.format(comment="Baseline: the module as it is", import_new="", module="problem.Model", **said)
    (target / "v0_module.py").write_text(first)
    if replacement is not None:
        shutil.copyfile(replacement, target / "replacement.py")
        _check_state(import_file(replacement), module, state)
        new = VERSION.format(
            comment="the replacement", import_new="import replacement", module="replacement.ModelNew", **said
        )
        (target / "v1_replacement.py").write_text(new)
    return target


def _shapes(module: Any) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """Return inputs, parameters and results of a problem."""
    inputs, made = list(module.get_inputs()), module.Model(*module.get_init_inputs()).eval()
    if not inputs or not all(isinstance(one, torch.Tensor) for one in inputs):
        raise ValueError("get_inputs returns something that is no tensor")
    with torch.no_grad():
        result = made(*inputs)
    results = list(result) if isinstance(result, tuple | list) else [result]
    if not all(isinstance(one, torch.Tensor) for one in results):
        raise ValueError("the module returns something that is no tensor")
    return inputs, made.state_dict(), results


def _check_state(new: Any, problem: Any, state: dict[str, Any]) -> None:
    """Raise ValueError for a replacement with other parameters, which would compute with those that it made itself."""
    own = {key: tuple(one.shape) for key, one in new.ModelNew(*problem.get_init_inputs()).state_dict().items()}
    wanted = {key: tuple(one.shape) for key, one in state.items()}
    if own != wanted:
        raise ValueError(f"the replacement has the parameters {own}, the module {wanted}")


def _output(name: str, one: Any) -> str:
    shape = _list([str(size) for size in one.shape] or ["1"])
    return f'{name} = {{ dtype = "{_dtype(one)}", shape = {shape} }}'


def _dtype(one: Any) -> str:
    return str(one.dtype).removeprefix("torch.")


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{one}"' for one in names) + "]"


if __name__ == "__main__":
    words = sys.argv[1:]
    made = adapt(Path(words[0]), words[1], Path(words[2]), *map(Path, words[3:]))
    sys.stdout.write(f"{made}\n")
