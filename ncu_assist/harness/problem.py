"""One workload of a kernel as tensors: inputs by seed, the reference's outputs, empty outputs. Runs in the child."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from ncu_assist.errors import StageFailed
from ncu_assist.harness.accelerator import OUT_OF_MEMORY, describe
from ncu_assist.harness.host_memory import Placement
from ncu_assist.spec import Kernel, Workload

Tensors = tuple[Any, ...]


class ReferenceProblem(StageFailed):
    """reference.py fails or does not fit kernel.toml: no version is to blame."""


@dataclass(frozen=True)
class Problem:
    """A kernel, one of its workloads, the module of its reference.py, the device, and who places inputs elsewhere."""

    kernel: Kernel
    workload: Workload
    module: Any
    device: str
    placement: Placement = field(default_factory=Placement)

    def inputs(self, seed: int) -> Tensors:
        """Return the inputs for a seed, each where kernel.toml wants it.

        Raises ReferenceProblem if there are not as many as it names.
        """
        workload = {**self.workload.integers, "dtype": self.workload.dtype, "name": self.workload.name}
        tensors = self._ask("make_inputs", workload, seed, self.device)
        if len(tensors) != len(self.kernel.inputs):
            raise ReferenceProblem(
                f"{self.kernel.name}/reference.py: make_inputs returns {len(tensors)} inputs, kernel.toml names "
                f"{len(self.kernel.inputs)}"
            )
        return tuple(self._placed(name, value) for name, value in zip(self.kernel.inputs, tensors, strict=True))

    def expected(self, inputs: Tensors, *drawn: Any) -> Tensors:
        """Return the reference's outputs, for what a version ``drawn`` by itself or else for the reference's own draws.

        It gets copies, all on the device, so that it may work in place.
        """
        copies = tuple(t.to(self.device, copy=True) if isinstance(t, torch.Tensor) else t for t in inputs)
        outputs = self._ask("reference", *copies, *drawn)
        shapes = [tuple(t.shape) for t in outputs]
        wanted = [self.kernel.shape(o, self.workload) for o in self.kernel.outputs]
        if shapes != wanted:
            raise ReferenceProblem(
                f"{self.kernel.name}/reference.py: outputs of shape {shapes}, kernel.toml says {wanted}"
            )
        return outputs

    def drawn(self, inputs: Tensors, results: Tensors) -> Tensors:
        """Return what a version drew by itself, as its outputs tell: the fields of Draws."""
        return self._ask("drawn", inputs, results)

    def outputs(self) -> Tensors:
        """Return uninitialized outputs."""
        kernel, workload = self.kernel, self.workload
        return tuple(
            torch.empty(kernel.shape(o, workload), dtype=getattr(torch, kernel.dtype(o, workload)), device=self.device)
            for o in kernel.outputs
        )

    def _placed(self, name: str, value: Any) -> Any:
        of_host = self.kernel.host is not None and name in self.kernel.host.names
        if not isinstance(value, torch.Tensor):
            if of_host:
                raise ReferenceProblem(f"{self.kernel.name}/reference.py: host input '{name}' is no tensor")
            return value
        return self.placement.place(name, value, self.device) if of_host else value.contiguous()

    def _ask(self, function: str, *arguments: Any) -> Tensors:
        try:
            return tuple(getattr(self.module, function)(*arguments))
        except Exception as error:
            words = describe(error)
            if words.startswith(OUT_OF_MEMORY):
                raise
            raise ReferenceProblem(f"{self.kernel.name}/reference.py: {function} fails: {words}") from error
