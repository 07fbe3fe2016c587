"""A kernel folder as data: versions and workloads, and the arithmetic of kernel.toml. Runs no code of the kernel."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Literal, overload

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.quantity import noun_of
from ncu_assist.versions import Descent, Lineage

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
PARSE_TRIES = 10  # of a reading, of which one in 30 fails at worst: tests/test_spec.py forces it
SHOWN = 80  # characters of an expression that cannot be read
ALL = "all"  # of --workload: every workload
DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "uint8": 1}
Math = Literal["fma", "tensor", "tf32", "fp64", "int", "xu"]  # what does operations: a pipe, and for which type
MATHS: tuple[Math, ...] = ("fma", "tensor", "tf32", "fp64", "int", "xu")
OF_DTYPE: dict[str, Math] = {"float64": "fp64", "float32": "fma", "float16": "tensor", "bfloat16": "tensor"}
OF_WORKLOAD = "workload"  # an output's dtype where it has that of the inputs


def math_of(dtype: str) -> Math:
    """Return what does the operations of a type where kernel.toml does not say it: the fastest that can."""
    return OF_DTYPE.get(dtype, "int")


@overload
def python_tree(code: str) -> ast.Module: ...
@overload
def python_tree(code: str, mode: Literal["eval"]) -> ast.Expression: ...
def python_tree(code: str, mode: str = "exec") -> ast.AST:
    """Return the tree of Python code, also while other threads parse; raises as ``ast.parse`` does.

    Python 3.11 counts the depth of all threads in one place. It raises SystemError if a garbage collection lets
    another thread parse in the middle of this one (CPython's issue 106905), so that is tried again.
    """
    for _ in range(PARSE_TRIES):
        with contextlib.suppress(SystemError):
            return ast.parse(code, mode=mode)
    return ast.parse(code, mode=mode)


def evaluate(text: str, integers: Mapping[str, int]) -> int:
    """Return the value of ``text``, which may use integers, names, ``+ - * //`` and parentheses, and nothing else.

    Raises UsageProblem for any other syntax and for names that are not in ``integers``.
    """
    try:
        tree = python_tree(text, "eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # NUL, and parentheses without end
        raise UsageProblem(f"'{text[:SHOWN]}' is not an expression", "use integers, names and + - * //") from error
    try:
        return _value(tree.body, integers)
    except ZeroDivisionError as error:
        raise UsageProblem(f"'{text}' divides by zero", "use a divisor that is not 0 on any workload") from error
    except RecursionError as error:
        raise UsageProblem(f"'{text[:SHOWN]}' is too long", "write a shorter expression") from error


def _value(node: ast.expr, integers: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in integers:
            return integers[name]
        case ast.Name(id=name):
            known = did_you_mean(name, integers)
            raise UsageProblem(f"an expression names '{name}'; {known}", "use integers, names and + - * //")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, integers), _value(right, integers))
    raise UsageProblem(f"'{ast.unparse(node)}' is not allowed in an expression", "use integers, names and + - * //")


@dataclass(frozen=True)
class Tolerance:
    """How far an output may be from the reference.

    ``norm`` bounds ||out - ref|| / ||ref||; each element obeys |out - ref| <= atol + rtol * |ref|.
    """

    norm: float
    rtol: float
    atol: float


@dataclass(frozen=True)
class Output:
    """One tensor a kernel writes. ``shape`` holds expressions over the workload's integers."""

    name: str
    dtype: str  # perhaps OF_WORKLOAD: ask Kernel.dtype
    shape: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """One problem size: its name, the dtype its inputs have, and its integers by name.

    ``versions`` are those that it is for, as kernel.toml calls them; empty: every version that serves its dtype.
    """

    name: str
    dtype: str
    integers: dict[str, int]
    default: bool
    versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Version:
    """One source file: ``v3_global_memory.cu`` is number 3, short ``v3``, name ``v3_global_memory``."""

    number: int
    name: str
    path: Path
    dtypes: tuple[str, ...]  # empty: every dtype of the kernel
    packages: tuple[str, ...] = ()  # that it cannot run without, by the names that Python imports
    draws_own: bool = False  # random numbers of another generator than the reference's
    descent: Descent = field(default_factory=Descent)  # what it says of the versions that it builds on

    @property
    def is_peer(self) -> bool:
        """Whether it is of a library or framework: the steps are held against it."""
        return self.descent.is_peer

    @property
    def short(self) -> str:
        return f"v{self.number}"

    def serves(self, workload: Workload) -> bool:
        """Tell whether a workload is for this version: of a dtype that it serves, and not for others alone."""
        is_for_it = not workload.versions or not {self.short, self.name}.isdisjoint(workload.versions)
        return is_for_it and (not self.dtypes or workload.dtype in self.dtypes)


def why_skipped(version: Version, absent: Collection[str] | None = None) -> str:
    """Return which of a version's packages are not installed, as a reason to skip it; empty where all are.

    ``absent`` are those that lack where it would run; None: here. Nothing is imported: a package that is there and
    broken is a failure of the version, told by its own words.
    """
    absent = [
        name
        for name in version.packages
        if (importlib.util.find_spec(name) is None if absent is None else name in absent)
    ]
    if not absent:
        return ""
    return f"{noun_of(len(absent), 'package')} {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed"


@dataclass(frozen=True)
class Kernel:
    """A kernel folder: one function, its arguments, its workloads, its versions in the order of their numbers.

    ``numbers`` are the inputs that are no tensors, but numbers that CUDA C gets as integers. ``host_inputs`` lie in
    pinned memory of the host; ``host_bytes_expression`` is for the bytes of them that a call needs.
    """

    name: str
    folder: Path
    summary: str
    inputs: tuple[str, ...]
    arguments: tuple[str, ...]
    outputs: tuple[Output, ...]
    bytes_expression: str
    flops_expression: str
    tolerances: dict[str, Tolerance]
    workloads: tuple[Workload, ...]
    versions: tuple[Version, ...]
    host_inputs: tuple[str, ...] = ()
    host_bytes_expression: str = ""
    numbers: tuple[str, ...] = ()
    math: Math | None = None  # what does ``flops``; None: by dtype
    work_expressions: dict[Math, str] = field(default_factory=dict)  # what else has to be done at the same time

    @property
    def default_workload(self) -> Workload:
        return next(w for w in self.workloads if w.default)

    @property
    def reference(self) -> Path:
        return self.folder / "reference.py"

    def algorithmic_bytes(self, workload: Workload) -> int:
        """Return the bytes that a call has to move: each input read once, each output written once."""
        return evaluate(self.bytes_expression, workload.integers)

    def written_bytes(self, workload: Workload) -> int:
        """Return the bytes of the outputs, each written once."""
        sizes = (DTYPE_BYTES[self.dtype(one, workload)] * prod(self.shape(one, workload)) for one in self.outputs)
        return sum(sizes)

    def host_bytes(self, workload: Workload) -> int | None:
        """Return the bytes that a call has to fetch across the host link, None if all inputs lie on the device."""
        return evaluate(self.host_bytes_expression, workload.integers) if self.host_inputs else None

    def flops(self, workload: Workload) -> int:
        """Return the floating-point operations that a call has to do."""
        return evaluate(self.flops_expression, workload.integers)

    def work(self, workload: Workload) -> dict[str, int]:
        """Return all operations that a call has to do, by what does them; without those that are none."""
        first = self.math or math_of(workload.dtype)
        found: dict[str, int] = {first: self.flops(workload)}
        for math, expression in self.work_expressions.items():
            found[math] = found.get(math, 0) + evaluate(expression, workload.integers)
        return {math: amount for math, amount in found.items() if amount}

    def shape(self, output: Output, workload: Workload) -> tuple[int, ...]:
        """Return the shape of an output for a workload."""
        return tuple(evaluate(size, workload.integers) for size in output.shape)

    def dtype(self, output: Output, workload: Workload) -> str:
        """Return the dtype of an output for a workload."""
        return workload.dtype if output.dtype == OF_WORKLOAD else output.dtype

    @property
    def lineage(self) -> Lineage:
        """Which version builds on which."""
        return Lineage([one.name for one in self.versions], lambda name: self.version(name).descent)

    def version(self, name: str) -> Version:
        """Return the version called ``v3`` or ``v3_global_memory``; raises UsageProblem with the nearest name."""
        for version in self.versions:
            if name in (version.short, version.name):
                return version
        known = [n for v in self.versions for n in (v.short, v.name)]
        message = f"{self.name} has no version '{name}'; {did_you_mean(name, known)}"
        raise UsageProblem(message, f"ncu-assist list {self.name}")

    def select_versions(self, names: tuple[str, ...]) -> tuple[Version, ...]:
        """Return the versions named, in the order of their numbers; all of them when none is named."""
        if not self.versions:
            raise UsageProblem(f"{self.name} has no versions", f"write {self.folder.name}/v0_<idea>.py or .cu")
        chosen = {self.version(name) for name in names} or set(self.versions)
        return tuple(v for v in self.versions if v in chosen)

    def select_workloads(self, name: str | None) -> tuple[Workload, ...]:
        """Return the workload called ``name``, all of them for ``all``, the default one for None."""
        if name is None:
            return (self.default_workload,)
        found = tuple(w for w in self.workloads if name in (ALL, w.name))
        if not found:
            known = [*(w.name for w in self.workloads), *([ALL] if name.lower().startswith("al") else [])]
            message = f"{self.name} has no workload '{name}'; {did_you_mean(name, known)}"
            raise UsageProblem(message, f"ncu-assist list {self.name}")
        return found


def unserved(version: Version, workloads: Iterable[Workload]) -> tuple[str, ...]:
    """Return the names of the workloads that are not for a version."""
    return tuple(workload.name for workload in workloads if not version.serves(workload))
