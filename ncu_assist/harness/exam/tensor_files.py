"""Tensors as files of their raw bytes, for a crossing between two processes, and the answers of a draft with them.

Runs in the children.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import msgspec
import numpy
import torch

from ncu_assist.errors import DamagedData
from ncu_assist.executors.sandbox import read_result
from ncu_assist.harness.exam.plan import ANSWERS, ExamAnswer, QuestionInput, answer_file
from ncu_assist.harness.problem import Tensors

CROSSINGS = 4  # tensors on their way at once: one thread moves 1.5 GB/s between a GPU, its host and a file


def write_tensor(tensor: Any, path: Path) -> None:
    """Write the elements of a tensor in row-major order."""
    tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tofile(path)


def write_input(name: str, value: Any, folder: Path, file: str) -> QuestionInput:
    """Write an input of a question if it is a tensor, and return what the question says of it."""
    if not isinstance(value, torch.Tensor):
        return QuestionInput(name, value=value)
    write_tensor(value, folder / file)
    return QuestionInput(name, str(value.dtype).removeprefix("torch."), tuple(value.shape), file)


def read_input(given: QuestionInput, folder: Path, device: str) -> Any:
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


def read_exactly(folder: Path, name: str, size: int) -> bytearray:
    """Return the bytes of a regular file in ``folder``; raises DamagedData unless it has exactly ``size`` of them."""
    data = read_result(folder, name, size)
    if len(data) != size:
        raise DamagedData(f"{name}, a result of a program in the sandbox, has {len(data)} bytes, not {size}")
    return bytearray(data)


class AnswerWriter:
    """The folder that answers go to."""

    def __init__(self, out: Path) -> None:
        self._out = out

    def write_outputs(self, version: str, question: int, results: Tensors, again: bool = False) -> None:
        """Write the outputs of a call."""
        for place, result in enumerate(results):
            write_tensor(result, self._out / answer_file(version, question, place, again))

    def write_answer(self, answer: ExamAnswer) -> None:
        """Write what is to be said of a call; it is answered then."""
        with (self._out / ANSWERS).open("ab") as file:
            file.write(msgspec.json.encode(answer) + b"\n")
