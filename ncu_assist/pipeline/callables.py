"""Python functions as versions of a kernel: a kernel folder is written for them, and measured like any other.

A child process calls them. What is defined in a module is imported there again; what a notebook or a script defines
itself goes there by value, with cloudpickle.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import itertools
import json
import pickle
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncu_assist.backends.python import jit_again
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.executors.base import Executor
from ncu_assist.harness.client import child_environment
from ncu_assist.harness.events import DESCRIBED, INPUTS, PICKLED, REFERENCE, error_of, parse
from ncu_assist.process import module_argv
from ncu_assist.project import Project
from ncu_assist.spec import DTYPE_BYTES, Kernel
from ncu_assist.spec_file import is_function_name, kernel_names, read_kernel

# (rtol, atol) of torch.testing.assert_close, by dtype.
CLOSE = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
}
JIT_OPTIONS = ("version", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline")
LIBRARIES = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}  # whose source is not kept
SHIM = """\
# {name}, given as a Python function: {place}
from ncu_assist.harness.callables import version

{kernel} = version(__file__, "{name}")
{source}"""
REFERENCE_FILE = '''\
"""Inputs, and the function that all are held against, as they were given from Python."""

from ncu_assist.harness import callables


def make_inputs(workload, seed, device):
    return callables.inputs(__file__, workload, seed, device)


def reference(*inputs):
    return callables.reference(__file__, *inputs)
'''
Function = Callable[..., Any]


@dataclass(frozen=True)
class CallableKernel:
    """Functions of the same inputs, by name, the first the baseline; each returns a tensor or a tuple of tensors.

    ``inputs`` are the arguments themselves, or a function of a workload's integers that makes them. ``workloads`` are
    integers by name, of each workload, or lists of values, all of whose combinations are workloads. Results are held
    against those of ``reference``, by default the first, with ``rtol`` and ``atol``, by default those of
    torch.testing.assert_close. ``flops`` are the operations of a call: a number, or a function of the integers.
    """

    name: str
    functions: Mapping[str, Function]
    inputs: Any
    workloads: Mapping[str, Mapping[str, int]]
    reference: Function
    flops: float | Callable[..., float] = 0
    rtol: float | None = None
    atol: float | None = None

    @property
    def shorts(self) -> tuple[str, ...]:
        """The short names of the versions that the functions become."""
        return tuple(f"v{number}" for number in range(len(self.functions)))


def callable_kernel(
    functions: Function | Sequence[Function] | Mapping[str, Function],
    inputs: Any,
    workloads: Mapping[str, Any] | None,
    name: str | None,
    **rest: Any,
) -> CallableKernel:
    """Return functions as a kernel; raises UsageProblem for names that versions or workloads cannot have."""
    named = _named(functions)
    own = name or next(iter(named))
    if inputs is None:
        raise UsageProblem(f"{own} needs inputs", "inputs=(x,), or inputs=FUNCTION that returns them")
    if not name and not is_function_name(own):  # that of an operator, of a lambda
        own = f"kernel_{own}"
    if not is_function_name(own):
        raise UsageProblem(f"'{own}' cannot be the name of a function in C and Python", "name= letters, digits and _")
    chosen = rest.pop("reference", None) or next(iter(named.values()))
    given = {key: value for key, value in rest.items() if value is not None}
    return CallableKernel(own, named, inputs, _workloads(workloads), chosen, **given)


def _named(functions: Function | Sequence[Function] | Mapping[str, Function]) -> dict[str, Function]:
    if isinstance(functions, Mapping):
        several = [(str(key), one) for key, one in functions.items()]
    else:
        several = [(_name_of(one), one) for one in ([functions] if callable(functions) else functions)]
    if not several:
        raise UsageProblem("there is no function to measure", "give one, or several in a list")
    found: dict[str, Function] = {}
    for key, one in several:
        if not callable(one):
            raise UsageProblem(f"{key} is not a function but {type(one).__name__}", "give functions of the inputs")
        name = re.sub(r"\W+", "_", key, flags=re.ASCII).strip("_") or "function"
        if name in found:
            raise UsageProblem(f"two functions have the name {name}", "give each its own: {'name': function, …}")
        found[name] = one
    return found


def _name_of(function: Any) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__name__", type(inner).__name__)).strip("<>")


def _workloads(given: Mapping[str, Any] | None) -> dict[str, dict[str, int]]:
    if not given:
        return {"default": {}}
    if not isinstance(given, Mapping):
        said = f"workloads must be a dictionary by name, not {type(given).__name__}"
        raise UsageProblem(said, 'workloads={"n": [1024, 4096]}, or {"large": {"n": 4096}}')
    if all(isinstance(one, Mapping) for one in given.values()):
        return {name: dict(one) for name, one in given.items()}
    axes = {key: list(one) if isinstance(one, Sequence | range) else [one] for key, one in given.items()}
    several = [key for key, values in axes.items() if len(values) > 1] or list(axes)
    rows = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return {"_".join(f"{key}{row[key]}" for key in several): row for row in rows}


def kernel_of(project: Project, given: CallableKernel, executor: Executor, device: str) -> Kernel:
    """Write the kernel folder of some functions below the project's cache, and return it read.

    Raises UsageProblem for what cannot be pickled or has the name of another kernel, StageFailed where inputs or
    reference fail, EnvironmentProblem without torch or a GPU.
    """
    if given.name in kernel_names(project):
        raise UsageProblem(f"{given.name} is a kernel folder of this project", f"name='{given.name}_functions'")
    folder = project.work / "callables" / "kernels" / given.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "reference.py").write_text(REFERENCE_FILE, encoding="utf-8")
    objects = {INPUTS: _pickled(INPUTS, given.inputs), REFERENCE: _pickled(REFERENCE, given.reference)}
    for number, (name, function) in enumerate(given.functions.items()):
        objects[name] = _pickled(name, function)
        (folder / f"v{number}_{name}.py").write_text(_shim(given.name, name, function), encoding="utf-8")
    whole = {"path": [place for place in sys.path if place], "workloads": dict(given.workloads), "objects": objects}
    (folder / PICKLED).write_bytes(pickle.dumps(whole))
    (folder / "kernel.toml").write_text(_toml(given, _described(folder, executor, device)), encoding="utf-8")
    return read_kernel(folder)


def _pickled(name: str, value: Any) -> bytes:
    module = _module_of(value)
    try:
        import cloudpickle
    except ImportError:
        if module == "__main__":
            said = f"{name} is defined in the notebook or script itself, which a child process cannot import"
            raise UsageProblem(said, "pip install cloudpickle, or define it in a module and import it") from None
        dump: Callable[[Any], bytes] = pickle.dumps
    else:

        class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
            """cloudpickle's, and Triton's functions, which hold a lock, made again from their Python functions."""

            def reducer_override(self, one: Any) -> Any:
                if type(one).__name__ == "JITFunction" and hasattr(one, "raw_src"):
                    options = {key: value for key in JIT_OPTIONS if (value := getattr(one, key, None))}
                    file = one.fn.__code__.co_filename
                    return jit_again, (one.fn, file, list(one.raw_src), int(one.starting_line_number), options)
                return super().reducer_override(one)

        def dump(one: Any) -> bytes:
            file = io.BytesIO()
            Pickler(file).dump(one)
            return file.getvalue()

    try:
        return dump(value)
    except Exception as error:
        said = f"{name} cannot be pickled for the child process that calls it: {error}"
        raise UsageProblem(said, "remove what it captures, or define it in a module and import it") from error


def _module_of(value: Any) -> str:
    inner = value.func if isinstance(value, functools.partial) else value
    own = inner if inspect.isroutine(inner) or inspect.isclass(inner) else type(inner)
    return str(getattr(own, "__module__", None) or "")


def _shim(kernel: str, name: str, function: Function) -> str:
    """Return the source of a version: the call, and the function's own source as a comment, where it is known."""
    inner = function.func if isinstance(function, functools.partial) else function
    inner = getattr(inner, "fn", inner)
    place, source = ".".join(filter(None, (_module_of(function), _name_of(function)))), ""
    with contextlib.suppress(OSError, TypeError):
        lines, first = inspect.getsourcelines(inner)
        file = Path(inspect.getsourcefile(inner) or "")
        if LIBRARIES.isdisjoint(file.parents):
            place = f"line {first} of {file.name}" if file.is_file() else "a notebook's or a prompt's own"
            source = "\n" + "".join(f"# {line.rstrip()}".rstrip() + "\n" for line in lines)
    if isinstance(function, functools.partial):
        bound = ", ".join([*map(repr, function.args), *(f"{key}={one!r}" for key, one in function.keywords.items())])
        source += "".join(f"# {line}\n" for line in f"called with {bound}".splitlines())
    return SHIM.format(name=name, place=place, kernel=kernel, source=source)


def _described(folder: Path, executor: Executor, device: str) -> dict[str, Any]:
    """Return what a child says of inputs and results on each workload."""
    problems = []

    def heard(line: str) -> None:
        event = parse(line)
        if event is not None and event.event == "problem":
            problems.append(event)

    argv = module_argv("ncu_assist.harness.callables", str(folder), device)
    done = executor.run(argv, env=child_environment(), cwd=folder, on_line=heard)
    if problems:
        raise error_of(problems[0])
    if done.exit_code != 0:
        words = done.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
        raise StageFailed(f"the child process that calls the functions ended with {done.exit_code}: {words[0]}")
    try:
        found: dict[str, Any] = json.loads((folder / DESCRIBED).read_text(encoding="utf-8"))
    except OSError as error:
        raise EnvironmentProblem(f"{folder / DESCRIBED} cannot be read ({error.strerror})") from error
    return found


def _toml(given: CallableKernel, described: Mapping[str, Any]) -> str:
    """Return the kernel.toml of functions whose inputs and results are known."""
    results = _alike(given.name, [one["results"] for one in described.values()])
    integers = {name: dict(one) for name, one in given.workloads.items()}
    shapes = []
    for place, dims in enumerate(len(one["shape"]) for one in results):
        sizes = []
        for dim in range(dims):
            values = {name: one["results"][place]["shape"][dim] for name, one in described.items()}
            sizes.append(_expression(values, integers, f"result{place}_{dim}"))
        shapes.append(sizes)
    moved = {name: sum(f["bytes"] for f in (*one["inputs"], *one["results"]) if f) for name, one in described.items()}
    count = given.flops
    flops = {name: int(count(**one) if callable(count) else count) for name, one in given.workloads.items()}
    size, work = _expression(moved, integers, "moved_bytes"), _expression(flops, integers, "operations")
    inputs, outputs = _names(given, len(next(iter(described.values()))["inputs"]), len(results), integers)
    dtypes = {name: _dtype_of(one) for name, one in described.items()}
    lines = [
        f"summary = {_text('Python functions: ' + ', '.join(given.functions))}",
        f"inputs = {json.dumps(inputs)}",
        f"arguments = {json.dumps([*inputs, *outputs])}",
        f"bytes = {_text(size)}",
        f"flops = {_text(work)}",
        "[outputs]",
    ]
    for name, one, shape in zip(outputs, results, shapes, strict=True):
        lines.append(f"{name} = {{ dtype = {_text(one['dtype'])}, shape = {json.dumps(shape)} }}")
    for dtype in dict.fromkeys(one["dtype"] for one in results):
        rtol, atol = CLOSE.get(dtype, (0.0, 0.0))
        rtol, atol = (own if own is not None else usual for own, usual in ((given.rtol, rtol), (given.atol, atol)))
        lines += [f"[tolerance.{dtype}]", f"norm = {max(rtol, atol)!r}", f"rtol = {rtol!r}", f"atol = {atol!r}"]
    for place, (name, own) in enumerate(integers.items()):
        lines.append(f"[workloads.{_text(name)}]")
        lines += [f"{key} = {value}" for key, value in own.items()]
        lines += [f"dtype = {_text(dtypes[name])}", *(["default = true"] if place == 0 else [])]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _alike(name: str, every: Sequence[Sequence[Mapping[str, Any]]]) -> Sequence[Mapping[str, Any]]:
    """Return the results of the first workload, those of the others being as many, of the same kinds."""
    kinds = [[(one["dtype"], len(one["shape"])) for one in results] for results in every]
    if any(one != kinds[0] for one in kinds):
        said = f"{name} returns different dtypes or dimensions on some workloads"
        raise UsageProblem(said, "measure those workloads separately, under another name=")
    unknown = [dtype for dtype, _ in kinds[0] if dtype not in DTYPE_BYTES]
    if unknown:
        raise UsageProblem(f"{name} returns {unknown[0]}; results can be {', '.join(DTYPE_BYTES)}", "convert it")
    return every[0]


def _expression(values: Mapping[str, int], integers: dict[str, dict[str, int]], name: str) -> str:
    """Return what is so large on each workload: a number, the name of an integer, or one that is added as ``name``."""
    if len(set(values.values())) == 1:
        return str(next(iter(values.values())))
    for key in set.intersection(*(set(one) for one in integers.values())):
        if all(integers[workload][key] == value for workload, value in values.items()):
            return key
    for workload, value in values.items():
        integers[workload][name] = value
    return name


def _dtype_of(described: Mapping[str, Any]) -> str:
    """Return the dtype of a workload: that of the first floating-point input, else of the first result."""
    found = [one["dtype"] for one in (*described["inputs"], *described["results"]) if one]
    floats = [dtype for dtype in found if "float" in dtype and dtype in DTYPE_BYTES]
    return next(iter(floats), str(described["results"][0]["dtype"]))


def _names(
    given: CallableKernel, inputs: int, outputs: int, integers: Mapping[str, Mapping[str, int]]
) -> tuple[list[str], list[str]]:
    """Return names of the inputs, those of the first function's parameters where they fit, and of the outputs."""
    names = []
    with contextlib.suppress(TypeError, ValueError):
        names = list(inspect.signature(next(iter(given.functions.values()))).parameters)[:inputs]
    taken = {key for one in integers.values() for key in one}
    if len(names) < inputs or taken & set(names) or any(not one.isascii() for one in names):
        names = [f"input{place}" for place in range(inputs)]
    return names, [f"result{place}" for place in range(outputs)]
