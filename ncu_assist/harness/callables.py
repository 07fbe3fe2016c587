"""Python functions as versions of a kernel: what a parent pickled, loaded, called and described. Runs in the child."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ncu_assist.backends.python import Returning, results_of
from ncu_assist.errors import StageFailed
from ncu_assist.harness import accelerator
from ncu_assist.harness.events import DESCRIBED, INPUTS, PICKLED, REFERENCE, exit_code_of

SEED = 1  # of the inputs that results are described for


@cache
def _pickled(folder: Path) -> Mapping[str, Any]:
    found: dict[str, Any] = pickle.loads((folder / PICKLED).read_bytes())
    sys.path += [place for place in found["path"] if place not in sys.path]
    return found


@cache
def _loaded(folder: Path, name: str) -> Any:
    return pickle.loads(_pickled(folder)["objects"][name])


def version(file: str, name: str) -> Returning:
    """Return a function as the version that the source ``file`` stands for."""
    return Returning(name, _loaded(Path(file).parent, name))


def inputs(file: str, workload: Mapping[str, Any], seed: int, device: str) -> tuple[Any, ...]:
    """Return the inputs of a workload: made for its integers with torch's generators at ``seed``, or those given."""
    folder = Path(file).parent
    made = _loaded(folder, INPUTS)
    torch.manual_seed(seed)
    if callable(made):
        made = made(**_pickled(folder)["workloads"][workload["name"]])
    values = tuple(made) if isinstance(made, tuple | list) else (made,)
    return tuple(one.detach().to(device) if isinstance(one, torch.Tensor) else one for one in values)


def reference(file: str, *values: Any) -> tuple[Any, ...]:
    """Return what the function returns that the others are held against."""
    returned = _loaded(Path(file).parent, REFERENCE)(*values)
    return tuple(one.detach() for one in results_of("the reference", returned))


def describe(folder: Path, device: str) -> int:
    """Call the reference once on each workload and write the dtypes, shapes and bytes of inputs and results."""
    accelerator.open_device(device)
    file, found = str(folder / PICKLED), {}
    for name in _pickled(folder)["workloads"]:
        try:
            given = inputs(file, {"name": name}, SEED, device)
            results = reference(file, *(one.clone() if isinstance(one, torch.Tensor) else one for one in given))
        except StageFailed:
            raise
        except Exception as error:
            raise StageFailed(f"inputs or reference fail on {name}: {accelerator.describe(error)}") from error
        found[name] = {"inputs": [_facts(one) for one in given], "results": [_facts(one) for one in results]}
    (folder / DESCRIBED).write_text(json.dumps(found), encoding="utf-8")
    return 0


def _facts(value: Any) -> dict[str, Any] | None:
    """Return dtype, shape and bytes of a tensor, None for what is none."""
    if not isinstance(value, torch.Tensor):
        return None
    size = value.numel() * value.element_size()
    return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "bytes": size}


if __name__ == "__main__":
    sys.exit(exit_code_of(lambda: describe(Path(sys.argv[1]), sys.argv[2])))
