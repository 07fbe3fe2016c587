"""Inputs in pinned memory of the host: allocated so, and on which NUMA node their pages came to lie. In the child."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch

from ncu_assist.harness import numa
from ncu_assist.record import HostMemory

Empty = Callable[[Any], Any]


def pinned_empty(like: Any) -> Any:
    """Return an uninitialized page-locked tensor of the shape and dtype of ``like``.

    torch takes it from cudaHostAlloc. Under unified addressing, which every 64-bit program has, the GPU uses it by the
    address that the host has for it (CUDA C++ Programming Guide, "Unified Virtual Address Space").
    """
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=True)


class Placement:
    """Puts inputs into memory of the host and notes where that lies. On a CPU it is memory like any other."""

    def __init__(self, empty: Empty = pinned_empty) -> None:
        self._empty = empty
        self._noted: HostMemory | None = None

    def place(self, name: str, tensor: Any, device: str) -> Any:
        """Return a contiguous tensor of the host with these elements: page-locked if there is a GPU to read it."""
        if device != "cuda":
            placed = tensor.cpu().contiguous()
        elif tensor.is_pinned() and tensor.is_contiguous():
            placed = tensor
        else:
            placed = self._empty(tensor)
            placed.copy_(tensor)
        self._note(name, placed, device == "cuda")
        return placed

    def noted(self, gpu: HostMemory) -> HostMemory | None:
        """Return what is known of the memory and of its way to the GPU, None if nothing was placed."""
        if self._noted is None:
            return None
        return replace(
            self._noted,
            gpu_node=gpu.gpu_node,
            pcie_generation=gpu.pcie_generation,
            pcie_lanes=gpu.pcie_lanes,
        )

    def _note(self, name: str, tensor: Any, is_pinned: bool) -> None:
        old = self._noted or HostMemory((), True)
        nodes = numa.nodes_of_pages(tensor.data_ptr(), tensor.numel() * tensor.element_size())
        self._noted = HostMemory(
            inputs=_union(old.inputs, (name,)),
            pinned=old.pinned and is_pinned,
            nodes=tuple(sorted(_union(old.nodes, nodes))),
            cpu_node=numa.node_of_cpu(),
        )


def _union(old: tuple[Any, ...], new: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*old, *new)))
