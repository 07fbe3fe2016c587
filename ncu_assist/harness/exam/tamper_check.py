"""Whether what measures and compares is still what it was before a draft was loaded. Runs in the sandbox."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

OURS = ("ncu_assist.harness.", "ncu_assist.backends.")
FOREIGN = {
    "time": "perf_counter_ns perf_counter monotonic_ns monotonic time_ns time process_time_ns sleep",
    "ctypes": "CDLL CDLL.__getattr__ CDLL.__getitem__ c_void_p c_int64",
    "random": "Random Random.shuffle",
    "numpy": "fromfile median",
    "torch": (
        "equal empty empty_like zeros from_numpy Tensor Tensor.copy_ Tensor.clone Tensor.fill_ Tensor.nonzero "
        "Tensor.__ne__ Tensor.__eq__ Tensor.view Tensor.reshape Tensor.numel Tensor.cpu Tensor.numpy Tensor.data_ptr "
        "Tensor.data Tensor.detach Tensor.contiguous Tensor.__getitem__ Tensor.__setitem__"
    ),
    "torch.cuda": (
        "synchronize current_stream stream Stream Stream.synchronize Event Event.__new__ Event.record "
        "Event.elapsed_time Event.synchronize Event.query"
    ),
    "torch._C": "_cuda_synchronize _cuda_getCurrentStream",
    "torch.cuda.nvtx": "range_push range_pop",
}
ABSENT = object()


class TamperCheck:
    """Remembers the functions that must not change: those of torch, the clocks, ctypes, and this package's own."""

    def __init__(self) -> None:
        self._kept = dict(_watched())
        self._replaced: dict[str, None] = {}

    def replaced(self) -> tuple[str, ...]:
        """Return the names of all that was found replaced or rewritten so far, now included."""
        now = dict(_watched())
        found = (name for name, was in self._kept.items() if not _same(was, now.get(name, (ABSENT, None))))
        self._replaced |= dict.fromkeys(found)
        return tuple(self._replaced)


def _same(was: tuple[Any, Any], now: tuple[Any, Any]) -> bool:
    return was[0] is now[0] and was[1] is now[1]


def _watched() -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield each function with its code, which can be exchanged too."""
    for module, names in FOREIGN.items():
        owner = sys.modules.get(module) or importlib.import_module(module)
        for name in names.split():
            found = _static(owner, name)
            if found is not ABSENT:
                yield f"{module}.{name}", (found, getattr(found, "__code__", None))
    for name, module_object in list(sys.modules.items()):
        if name.startswith(OURS):
            yield from _functions(name, vars(module_object))


def _static(owner: Any, name: str) -> Any:
    """Return an attribute as it is written down, through the classes that it is inherited from."""
    for part in name.split("."):
        places = owner.__mro__ if isinstance(owner, type) else (owner,)
        owner = next((vars(place)[part] for place in places if part in vars(place)), ABSENT)
        if owner is ABSENT:
            break
    return owner


def _functions(prefix: str, names: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, value in list(names.items()):
        if isinstance(value, types.FunctionType):
            yield f"{prefix}.{name}", (value, value.__code__)
        elif isinstance(value, type) and value.__module__.startswith(OURS):
            yield f"{prefix}.{name}", (value, None)
            if value.__module__ == prefix:
                yield from _functions(f"{prefix}.{name}", vars(value))
