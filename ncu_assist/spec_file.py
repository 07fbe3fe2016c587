"""Reading kernel.toml: strict about keys, types, names and numbers; all mistakes of a folder are told at once."""

from __future__ import annotations

import keyword
import math
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ncu_assist.errors import EnvironmentProblem, UsageProblem, cut, did_you_mean
from ncu_assist.project import Project
from ncu_assist.sources import move, told_together, unreadable_folder, versions_and_mistakes
from ncu_assist.spec import (
    ALL,
    DTYPE_BYTES,
    MATHS,
    OF_WORKLOAD,
    Kernel,
    Math,
    Output,
    Tolerance,
    Version,
    Workload,
    evaluate,
)
from ncu_assist.versions import NONE

FILE = "kernel.toml"
KEYS: dict[str, type] = {
    "summary": str,
    "inputs": list,
    "arguments": list,
    "bytes": str,
    "flops": str,
    "outputs": dict,
    "tolerance": dict,
    "workloads": dict,
}
OPTIONAL: dict[str, type] = {"host": dict, "numbers": list, "math": str, "work": dict}
OUTPUT_KEYS: dict[str, type] = {"dtype": str, "shape": list}
HOST_KEYS: dict[str, type] = {"inputs": list, "bytes": str}
TOLERANCE_KEYS: dict[str, type] = {"norm": float, "rtol": float, "atol": float}
EXAMPLES = {  # of a key, wherever it stands
    "summary": 'summary = "adds one"',
    "inputs": 'inputs = ["x"]',
    "arguments": 'arguments = ["x", "y", "n"]',
    "numbers": 'numbers = ["seed"]',
    "bytes": 'bytes = "8 * n"',
    "flops": 'flops = "n"',
    "math": f"one of {', '.join(MATHS)}",
    "work": '[work] and below it xu = "n"',
    "outputs": 'below [outputs], y = { dtype = "float32", shape = ["n"] }',
    "tolerance": "[tolerance.float32] and below it norm, rtol and atol",
    "workloads": '[workloads.small] and below it n = 1024, dtype = "float32" and default = true',
    "host": '[host] and below it inputs = ["x"] and bytes = "4 * n"',
    "dtype": 'dtype = "float32"',
    "shape": 'shape = ["n"]',
    "norm": "norm = 1e-6",
    "rtol": "rtol = 1e-6",
    "atol": "atol = 1e-6",
}
MOST = 2**63 - 1  # a launcher gets integers as long long
OF_WORKLOADS = {"dtype", "default", "versions"}  # the keys of a workload that are no integers of it
UNKNOWN = ""  # the dtype of a workload that names none that there is
C_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Of C and C++ (C++23, [lex.key] and [lex.digraph]; C17, 6.4.1), which cannot name a launcher; main is the program's.
RESERVED = """\
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
requires restrict return short signed sizeof static static_assert static_cast struct switch template this
thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
xor_eq main
"""


def kernel_names(project: Project) -> tuple[str, ...]:
    """Return the names of all kernel folders, sorted: folders below ``kernels/`` that hold a kernel.toml.

    One that may not be looked into counts: reading it says so. Raises EnvironmentProblem where ``kernels/`` itself
    may not be.
    """
    if not project.kernels.is_dir():
        return ()
    try:
        names = sorted(os.listdir(project.kernels))  # noqa: PTH208
    except OSError as error:
        raise EnvironmentProblem(f"kernels/ cannot be read ({error.strerror})", "chmod u+rx kernels") from error
    return tuple(name for name in names if _is_there(project.kernels / name / FILE))


def load_kernel(project: Project, name: str) -> Kernel:
    """Return the kernel called ``name``.

    Raises UsageProblem if there is none, or with all that is wrong in its kernel.toml, its files and their names.
    """
    names = kernel_names(project)
    if name not in names:
        if (project.kernels / name).is_dir():
            raise UsageProblem(f"kernels/{name} has no {FILE}, so it is not a kernel yet", "see docs/guide/kernels.md")
        raise UsageProblem(f"there is no kernel '{name}'; {did_you_mean(name, names)}", "ncu-assist list")
    return _read(project.kernels / name, is_whole=True)


def read_kernel(folder: Path) -> Kernel:
    """Return a kernel folder as data; raises UsageProblem as load_kernel does.

    The folder may hold some of the kernel's versions only, as that of a draft's proof does.
    """
    return _read(folder, is_whole=False)


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


@dataclass(frozen=True)
class _Mistakes:
    """What is wrong in a kernel folder, in the order in which it was found."""

    folder: Path
    found: list[UsageProblem] = field(default_factory=list)

    def add(self, message: str, hint: str) -> None:
        """Add a mistake of kernel.toml, with what to write."""
        self.found.append(UsageProblem(f"{self.folder.name}/{FILE}: {message}", hint))

    def of_folder(self, message: str, hint: str) -> None:
        self.found.append(UsageProblem(f"{self.folder.name}: {message}", hint))


def _read(folder: Path, is_whole: bool) -> Kernel:
    wrong = _Mistakes(folder)
    _check_name(folder, wrong)
    table = _table_of(folder, wrong)
    try:
        versions, mistakes = versions_and_mistakes(folder)
        wrong.found.extend(mistakes)
        if not (folder / "reference.py").is_file():
            wrong.of_folder("reference.py is missing", "write make_inputs() and reference() in it")
    except OSError as error:
        versions = ()
        wrong.found.append(unreadable_folder(folder, error))
    kernel = _kernel(folder, table, versions, wrong) if table is not None else None
    if kernel is not None and is_whole and versions:
        for workload in kernel.workloads:
            _check_versions(kernel, workload, wrong)
        _check_dtypes(kernel, wrong)
        _check_parents(kernel, wrong)
    if kernel is None or wrong.found:
        raise told_together(folder.name, wrong.found)
    return kernel


def check_kernel_name(name: str) -> None:
    """Raise UsageProblem for the name of a kernel to be that cannot be that of its functions."""
    wrong = _Mistakes(Path(name))
    _check_name(wrong.folder, wrong)
    if wrong.found or wrong.folder.name != name:
        better = function_name(name)
        said = f"'{name}' cannot be a function name in C and Python, and each version has a function of that name"
        raise UsageProblem(f"{said}; did you mean '{better}'?", f"ncu-assist new {better}")


def function_name(name: str) -> str:
    """Return the nearest name to this one that a function of C and of Python can have, words of theirs apart."""
    better = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "my_kernel"
    return better if C_NAME.fullmatch(better) else f"kernel_{better}"


def is_function_name(name: str) -> bool:
    """Return whether a function of C and of Python can have this name."""
    return bool(C_NAME.fullmatch(name)) and name not in RESERVED.split() and not keyword.iskeyword(name)


def _check_name(folder: Path, wrong: _Mistakes) -> None:
    if is_function_name(folder.name):
        return
    better = re.sub(r"[^A-Za-z0-9]+", "_", folder.name).strip("_")
    if not is_function_name(better):
        better = f"kernel_{better}".rstrip("_")
    message = (
        "the folder's name cannot be a function name in C and Python, and each version has a function of that name"
    )
    wrong.of_folder(message, move(folder, folder.with_name(better)))


def _table_of(folder: Path, wrong: _Mistakes) -> dict[str, Any] | None:
    try:
        return tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    except OSError as error:
        wrong.add(f"cannot be read ({error.strerror})", "make it a readable file")
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, UnicodeDecodeError, numbers of 5,000 digits
        wrong.add(f"not valid TOML: {error}", 'lines of the form key = value, with text in "quotes"')
    return None


def _kernel(folder: Path, table: dict[str, Any], versions: tuple[Version, ...], wrong: _Mistakes) -> Kernel | None:
    """Return the kernel that a table says; None where a part is wrong that others hang on, and that is then told."""
    before = len(wrong.found)
    given = _checked(table, KEYS, "the file", wrong, OPTIONAL)
    names = {key: _names(given[key], key, wrong) for key in ("inputs", "arguments", "numbers") if key in given}
    outputs = [_output(name, value, wrong) for name, value in given.get("outputs", {}).items()]
    tolerances = {dtype: _tolerance(dtype, value, wrong) for dtype, value in given.get("tolerance", {}).items()}
    workloads = [_workload(name, value, wrong) for name, value in given.get("workloads", {}).items()]
    host_inputs, host_bytes = _host(given["host"], wrong) if "host" in given else ((), "")
    if given.get("outputs") == {}:
        wrong.add("there is no output, so nothing could be checked", f"write {EXAMPLES['outputs']}")
    if "workloads" in given:
        _check_default(given["workloads"], wrong)
    known = {key: value for key, value in names.items() if value is not None}
    kernel = Kernel(
        name=folder.name,
        folder=folder,
        summary=given.get("summary", ""),
        inputs=known.get("inputs", ()),
        arguments=known.get("arguments", ()),
        outputs=tuple(one for one in outputs if one),
        bytes_expression=given.get("bytes", ""),
        flops_expression=given.get("flops", ""),
        tolerances={dtype: value for dtype, value in tolerances.items() if value},
        workloads=tuple(one for one in workloads if one),
        versions=versions,
        host_inputs=host_inputs,
        host_bytes_expression=host_bytes,
        numbers=known.get("numbers", ()),
        math=_math(given["math"], "'math'", wrong) if "math" in given else None,
        work_expressions=_work(given.get("work", {}), wrong),
    )
    if "inputs" in known:
        _check_inputs(kernel, wrong)
    if {"inputs", "arguments"} <= set(known) and given.get("outputs"):
        _check_arguments(kernel, list(given["outputs"]), given.get("workloads", {}), wrong)
    if "tolerance" in given:
        _check_tolerances(kernel, set(tolerances), wrong)
    _check_expressions(kernel, given, wrong)
    return kernel if len(wrong.found) == before else None


def _checked(
    table: dict[str, Any],
    keys: dict[str, type],
    where: str,
    wrong: _Mistakes,
    optional: dict[str, type] | None = None,
) -> dict[str, Any]:
    """Return the entries of a table that are known and of their type; what else there is, and what lacks, is told."""
    known = keys | (optional or {})
    given, misspelt = {}, [""]
    for key, value in table.items():
        if key not in known:
            misspelt.append(did_you_mean(key, known.keys() - table.keys()))
            wrong.add(f"{where} has an unknown key '{key}'", misspelt[-1])
        elif not isinstance(value, known[key]):
            said = f"{where}: '{key}' must be a {known[key].__name__}, not {_shown(value)}"
            wrong.add(said, f"write {EXAMPLES[key]}")
        else:
            given[key] = value
    for key in keys:
        if key not in table and not any(f"'{key}'" in hint for hint in misspelt):
            wrong.add(f"{where} lacks the key '{key}'", f"write {EXAMPLES[key]}")
    return given


def _shown(value: Any) -> str:
    return cut(repr(value), 80)


def _names(values: list[Any], where: str, wrong: _Mistakes) -> tuple[str, ...] | None:
    if all(isinstance(v, str) for v in values) and len(set(values)) == len(values):
        return tuple(values)
    example = EXAMPLES.get(where.rpartition(".")[2], 'versions = ["v8", "v9"]')
    wrong.add(f"'{where}' must be a list of different names, not {_shown(values)}", f"write {example}, each name once")
    return None


def _dtype(value: str, where: str, wrong: _Mistakes) -> str | None:
    if value in DTYPE_BYTES:
        return value
    wrong.add(f"{where}: unknown dtype '{value}'", did_you_mean(value, DTYPE_BYTES))
    return None


def _table(value: Any, where: str, example: str, wrong: _Mistakes) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value
    wrong.add(f"{where} must be a table, not {_shown(value)}", f"write {example}")
    return None


def _output(name: str, value: Any, wrong: _Mistakes) -> Output | None:
    where = f"output '{name}'"
    table = _table(value, where, EXAMPLES["outputs"], wrong)
    if table is None:
        return None
    given = _checked(table, OUTPUT_KEYS, where, wrong)
    dtype = given.get("dtype")
    if dtype is not None and dtype != OF_WORKLOAD:
        dtype = _dtype(dtype, where, wrong)
    if dtype is None or "shape" not in given:
        return None
    return Output(name, dtype, tuple(str(size) for size in given["shape"]))


def _host(table: dict[str, Any], wrong: _Mistakes) -> tuple[tuple[str, ...], str]:
    given = _checked(table, HOST_KEYS, "[host]", wrong)
    names = _names(given["inputs"], "host.inputs", wrong) if "inputs" in given else None
    if names == ():
        wrong.add("[host] names no input", "remove [host] if every input is on the device")
    return (names, given["bytes"]) if names and "bytes" in given else ((), "")


def _math(said: str, where: str, wrong: _Mistakes) -> Math | None:
    found = next((kind for kind in MATHS if kind == said), None)
    if found is None:
        wrong.add(f"{where}: there is no unit '{said}'", did_you_mean(said, MATHS))
    return found


def _work(table: dict[str, Any], wrong: _Mistakes) -> dict[Math, str]:
    """Return the expressions of [work] by what does them."""
    found: dict[Math, str] = {}
    for key, expression in table.items():
        kind = _math(key, "[work]", wrong)
        if not isinstance(expression, str):
            wrong.add(f"[work]: '{key}' must be a str, not {_shown(expression)}", f"write {EXAMPLES['work']}")
        elif kind is not None:
            found[kind] = expression
    return found


def _tolerance(dtype: str, value: Any, wrong: _Mistakes) -> Tolerance | None:
    where = f"tolerance '{dtype}'"
    known = _dtype(dtype, "tolerance", wrong)
    table = _table(value, where, EXAMPLES["tolerance"], wrong)
    if table is None:
        return None
    numbers = {key: _float(v) if isinstance(v, int) and not isinstance(v, bool) else v for key, v in table.items()}
    given = _checked(numbers, TOLERANCE_KEYS, where, wrong)
    for key, number in given.items():
        if not (math.isfinite(number) and number >= 0):
            hint = f"write {EXAMPLES[key]}; 0 where results must be the same"
            wrong.add(f"{where}: '{key}' must be 0 or more and finite, not {_shown(table[key])}", hint)
    return (
        Tolerance(given["norm"], given["rtol"], given["atol"]) if known and set(given) == set(TOLERANCE_KEYS) else None
    )


def _float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _workload(name: str, value: Any, wrong: _Mistakes) -> Workload | None:
    """Return a workload, also one that is wrong where its integers are right: expressions can be tried on it."""
    where = f"workload '{name}'"
    if name == ALL:
        message = f"no workload can be called '{ALL}': --workload {ALL} means every workload"
        wrong.add(message, "write another name, e.g. [workloads.large]")
    given = _table(value, where, EXAMPLES["workloads"], wrong)
    if given is None:
        return None
    table = dict(given)
    said, default = table.pop("dtype", None), table.pop("default", False)
    versions = table.pop("versions", None)
    if not isinstance(said, str):
        wrong.add(f"{where} lacks the key 'dtype'", f"write {EXAMPLES['dtype']}")
    dtype = _dtype(said, where, wrong) if isinstance(said, str) else None
    if not isinstance(default, bool):
        message = f"{where}: 'default' must be true or false, not {_shown(default)}"
        wrong.add(message, "write default = true for one workload, and leave it out of the others")
    before = len(wrong.found)
    for key, number in table.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            wrong.add(
                f"{where}: '{key}' must be a whole number, not {_shown(number)}", f"write {key} = 1024, for example"
            )
        elif number > MOST:
            wrong.add(f"{where}: '{key}' does not fit in 64 bits: {_shown(number)}", f"write {MOST} at most")
    are_numbers = len(wrong.found) == before
    only_for = _for_versions(versions, default is True, where, wrong)
    return Workload(name, dtype or UNKNOWN, table, default is True, only_for) if are_numbers else None


def _for_versions(names: Any, default: bool, where: str, wrong: _Mistakes) -> tuple[str, ...]:
    """Return the versions that a workload is for; none where it is for all."""
    if names is None:
        return ()
    if not isinstance(names, list) or not names:
        message = f"{where}: 'versions' must be a list of versions, not {_shown(names)}"
        wrong.add(message, 'e.g. versions = ["v9"]')
        return ()
    if default:
        message = f"{where} is the default workload, which all versions run, so it takes no 'versions'"
        wrong.add(message, "remove 'versions', or make another workload the default")
        return ()
    return _names(names, f"{where}.versions", wrong) or ()


def _check_versions(kernel: Kernel, workload: Workload, wrong: _Mistakes) -> None:
    """Tell where a workload is for a version that is not there, or that does not serve its dtype."""
    for name in workload.versions:
        where = f"workload '{workload.name}'"
        try:
            version = kernel.version(name)
        except UsageProblem:
            known = [n for one in kernel.versions for n in (one.short, one.name)]
            wrong.add(f"{where} names '{name}', which is not a version", did_you_mean(name, known))
            continue
        if not version.serves(workload):
            served = ", ".join(version.dtypes)
            message = f"{where} names '{name}', which does not support {workload.dtype}"
            wrong.add(message, f"remove '{name}' from its versions: it supports {served}")


def _check_dtypes(kernel: Kernel, wrong: _Mistakes) -> None:
    """Tell which versions say that they serve a dtype that there is not: they would silently be left out."""
    for version in kernel.versions:
        for dtype in version.dtypes:
            if dtype not in DTYPE_BYTES:
                message = f"{version.path.name} lists the unknown dtype '{dtype}'"
                wrong.of_folder(message, did_you_mean(dtype, DTYPE_BYTES))


def _check_parents(kernel: Kernel, wrong: _Mistakes) -> None:
    """Tell which versions name a parent that is not there or is the version itself, and which build on each other."""
    lineage = kernel.lineage
    for version in kernel.versions:
        where = f"{version.path.name} names the parent"
        for name in version.descent.parents or ():
            if lineage.meant(name) is None:
                known = [n for v in kernel.versions for n in (v.short, v.name)]
                wrong.of_folder(f"{where} '{name}', which is not a version", did_you_mean(name, [*known, NONE]))
            elif lineage.meant(name) == version.name:
                hint = f"name the version that it builds on, or write parent: {NONE}"
                wrong.of_folder(f"{where} '{name}', which is itself", hint)
    circle = lineage.circle()
    if len(set(circle)) > 1:  # one that names itself has been told
        shorts = " on ".join(kernel.version(name).short for name in circle)
        wrong.of_folder(f"versions build on each other: {shorts}", "change one of their `parent:` lines")


def _check_default(workloads: dict[str, Any], wrong: _Mistakes) -> None:
    said = {name: table.get("default") for name, table in workloads.items() if isinstance(table, dict)}
    defaults = [name for name, default in said.items() if default is True]
    if not workloads:
        wrong.add("there is no workload", f"write {EXAMPLES['workloads']}")
    elif not defaults and not any(said.values()):
        hint = f"write default = true below [workloads.{next(iter(workloads))}]"
        wrong.add("exactly one workload must say default = true, and none does", hint)
    elif len(defaults) > 1:
        message = f"exactly one workload must say default = true, and {len(defaults)} do: {', '.join(defaults)}"
        wrong.add(message, f"keep it for one of them, e.g. {defaults[0]}")


def _check_inputs(kernel: Kernel, wrong: _Mistakes) -> None:
    for where, names in (("[host]", kernel.host_inputs), ("'numbers'", kernel.numbers)):
        for name in names:
            if name not in kernel.inputs:
                wrong.add(f"{where} names '{name}', which is not an input", did_you_mean(name, kernel.inputs))


def _check_arguments(kernel: Kernel, outputs: list[str], workloads: dict[str, Any], wrong: _Mistakes) -> None:
    """Tell which arguments are nothing that a launcher could be given, and which inputs and outputs it is not given.

    ``outputs`` and ``workloads`` as the file names them: their names are known where something else of them is wrong.
    """
    for name in outputs:
        if name in kernel.inputs:
            wrong.add(f"'{name}' is an input and an output", "give the output another name; it has its own memory")
    tensors = {*kernel.inputs, *outputs}
    integers = {name: set(table) - OF_WORKLOADS for name, table in workloads.items() if isinstance(table, dict)}
    for name in kernel.arguments:
        lacks = next((one for one, known in integers.items() if name not in tensors | known), None)
        if lacks is not None:
            message = f"argument '{name}' is not an input, output or integer of workload '{lacks}'"
            wrong.add(message, did_you_mean(name, tensors | integers[lacks]))
    for what, names in (("input", kernel.inputs), ("output", outputs)):
        for name in names:
            if name not in kernel.arguments:
                message = f"{what} '{name}' is not in 'arguments', so no launcher gets it"
                wrong.add(message, f"add '{name}' to 'arguments' in its place, or remove it from '{what}s'")


def _check_tolerances(kernel: Kernel, told: set[str], wrong: _Mistakes) -> None:
    for name, dtype in sorted({(o.name, kernel.dtype(o, w)) for o in kernel.outputs for w in kernel.workloads}):
        if dtype not in {*told, UNKNOWN}:
            hint = f"write [tolerance.{dtype}] and below it norm, rtol and atol"
            wrong.add(f"there is no [tolerance.{dtype}] for output '{name}'", hint)


def _check_expressions(kernel: Kernel, given: dict[str, Any], wrong: _Mistakes) -> None:
    """Tell which expressions cannot be worked out, or come to what cannot be, on any workload that is right itself."""
    least_bytes = "write the bytes that a call must move: each input read once, each output written once"
    if "bytes" in given:
        _check_values("'bytes'", kernel.bytes_expression, 1, least_bytes, kernel.workloads, wrong)
    if "flops" in given:
        hint = "write the operations that a call must do; 0 if it only moves bytes"
        _check_values("'flops'", kernel.flops_expression, 0, hint, kernel.workloads, wrong)
    for kind, expression in kernel.work_expressions.items():
        hint = "write the operations that a call must do in addition to 'flops'"
        _check_values(f"'{kind}' of [work]", expression, 0, hint, kernel.workloads, wrong)
    if kernel.host_inputs:
        hint = "write the bytes that a call must fetch from the host, or remove [host]"
        _check_values("'bytes' of [host]", kernel.host_bytes_expression, 1, hint, kernel.workloads, wrong)
    for output in kernel.outputs:
        for size in dict.fromkeys(output.shape):
            where = f"a size of output '{output.name}'"
            _check_values(where, size, 1, "write a size of 1 or more", kernel.workloads, wrong)


def _check_values(
    where: str, expression: str, least: int, hint: str, workloads: Iterable[Workload], wrong: _Mistakes
) -> None:
    comes: list[str] = []
    for workload in workloads:
        try:
            value = evaluate(expression, workload.integers)
        except UsageProblem as error:
            wrong.add(f"{where}, {_shown(expression)}: {error.message}", error.hint)
            return
        if not least <= value <= MOST:
            comes.append(f"{_shown(value)} on workload '{workload.name}'")
    if comes:
        beyond = "" if all(one.startswith(("-", "0")) for one in comes) else f"; the maximum is {MOST}"
        wrong.add(f"{where}, {_shown(expression)}, comes to {' and '.join(comes)}{beyond}", hint)
