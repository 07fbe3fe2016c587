"""Tensors as files of their raw bytes, for a crossing between two processes. Runs in the children."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy
import torch

from ncu_assist.harness.exam.paper import Input
from ncu_assist.harness.exam.untrusted import read_exactly

CROSSINGS = 4  # tensors on their way at once: one thread moves 1.5 GB/s between a GPU, its host and a file


def write(tensor: Any, path: Path) -> None:
    """Write the elements of a tensor in row-major order."""
    tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tofile(path)


def write_input(name: str, value: Any, folder: Path, file: str) -> Input:
    """Write an input of a question if it is a tensor, and return what the question says of it."""
    if not isinstance(value, torch.Tensor):
        return Input(name, value=value)
    write(value, folder / file)
    return Input(name, str(value.dtype).removeprefix("torch."), tuple(value.shape), file)


def read_input(given: Input, folder: Path, device: str) -> Any:
    """Return an input of a question on the device."""
    if not given.dtype:
        return given.value
    data = torch.from_numpy(numpy.fromfile(folder / given.file, dtype=numpy.uint8))
    return data.view(getattr(torch, given.dtype)).view(given.shape).to(device)


def read_answer(folder: Path, file: str, dtype: str, shape: tuple[int, ...], device: str) -> Any:
    """Return an output that came out of the sandbox, on the device; raises what read_exactly raises."""
    kind = getattr(torch, dtype)
    data = read_exactly(folder, file, prod(shape) * kind.itemsize)
    if not data:
        return torch.empty(shape, dtype=kind, device=device)
    return torch.frombuffer(data, dtype=kind).view(shape).to(device)
