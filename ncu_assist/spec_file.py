"""Reading kernel.toml: strict about keys, types and names, with the nearest right spelling for a wrong one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ncu_assist.errors import NcuAssistError, UsageProblem, did_you_mean
from ncu_assist.lineage import NONE
from ncu_assist.project import Project
from ncu_assist.spec import DTYPE_BYTES, OF_WORKLOAD, HostInputs, Kernel, Output, Tolerance, Workload, discover_versions

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
OPTIONAL: dict[str, type] = {"host": dict, "numbers": list}


def kernel_names(project: Project) -> tuple[str, ...]:
    """Return the names of all kernel folders, sorted: folders below ``kernels/`` that hold a kernel.toml."""
    if not project.kernels.is_dir():
        return ()
    return tuple(sorted(f.parent.name for f in project.kernels.glob(f"*/{FILE}")))


def load_kernel(project: Project, name: str) -> Kernel:
    """Return the kernel called ``name``.

    Raises UsageProblem if there is none, or if its kernel.toml, reference.py or file names are wrong.
    """
    names = kernel_names(project)
    if name not in names:
        raise UsageProblem(f"there is no kernel '{name}'", did_you_mean(name, names))
    kernel = read_kernel(project.kernels / name)
    for workload in kernel.workloads:
        _check_versions(kernel, workload)
    _check_parents(kernel)
    return kernel


def read_kernel(folder: Path) -> Kernel:
    """Return a kernel folder as data; raises UsageProblem as load_kernel does.

    The folder may hold some of the kernel's versions only, as that of a draft's proof does.
    """
    try:
        return _read(folder)
    except NcuAssistError as error:
        if error.message.startswith(folder.name):
            raise
        raise UsageProblem(f"{folder.name}/{FILE}: {error.message}", error.hint) from error


def _read(folder: Path) -> Kernel:
    try:
        table = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"not valid TOML: {error}") from error
    _check_keys(table, KEYS, "the file", OPTIONAL)
    if not (folder / "reference.py").is_file():
        raise UsageProblem(f"{folder.name}: reference.py is missing", "write make_inputs() and reference() in it")
    kernel = Kernel(
        name=folder.name,
        folder=folder,
        summary=table["summary"],
        inputs=_names(table["inputs"], "inputs"),
        arguments=_names(table["arguments"], "arguments"),
        outputs=tuple(_output(name, value) for name, value in table["outputs"].items()),
        bytes_expression=table["bytes"],
        flops_expression=table["flops"],
        tolerances={dtype: _tolerance(dtype, value) for dtype, value in table["tolerance"].items()},
        workloads=tuple(_workload(name, value) for name, value in table["workloads"].items()),
        versions=discover_versions(folder),
        host=_host(table["host"]) if "host" in table else None,
        numbers=_names(table.get("numbers", []), "numbers"),
    )
    _check_consistency(kernel)
    return kernel


def _check_keys(
    table: dict[str, Any], keys: dict[str, type], where: str, optional: dict[str, type] | None = None
) -> None:
    known = keys | (optional or {})
    for key, value in table.items():
        if key not in known:
            raise UsageProblem(f"{where} has an unknown key '{key}'", did_you_mean(key, known))
        if not isinstance(value, known[key]):
            raise UsageProblem(f"{where}: '{key}' must be a {known[key].__name__}, not {value!r}")
    for key in keys:
        if key not in table:
            raise UsageProblem(f"{where} lacks the key '{key}'", f"add '{key}'; kernels/*/kernel.toml show its form")


def _names(values: list[Any], where: str) -> tuple[str, ...]:
    if not all(isinstance(v, str) for v in values) or len(set(values)) != len(values):
        raise UsageProblem(f"'{where}' must be a list of different names, not {values!r}")
    return tuple(values)


def _dtype(value: str, where: str) -> str:
    if value not in DTYPE_BYTES:
        raise UsageProblem(f"{where}: unknown dtype '{value}'", did_you_mean(value, DTYPE_BYTES))
    return value


def _output(name: str, value: Any) -> Output:
    where = f"output '{name}'"
    _check_keys(_table(value, where), {"dtype": str, "shape": list}, where)
    dtype = value["dtype"] if value["dtype"] == OF_WORKLOAD else _dtype(value["dtype"], where)
    return Output(name, dtype, tuple(str(size) for size in value["shape"]))


def _host(table: dict[str, Any]) -> HostInputs:
    _check_keys(table, {"inputs": list, "bytes": str}, "[host]")
    names = _names(table["inputs"], "host.inputs")
    if not names:
        raise UsageProblem("[host] names no input", "leave [host] out if every input lies on the device")
    return HostInputs(names, table["bytes"])


def _tolerance(dtype: str, value: Any) -> Tolerance:
    where = f"tolerance '{_dtype(dtype, 'tolerance')}'"
    table = {key: float(v) if isinstance(v, int) else v for key, v in _table(value, where).items()}
    _check_keys(table, {"norm": float, "rtol": float, "atol": float}, where)
    return Tolerance(table["norm"], table["rtol"], table["atol"])


def _workload(name: str, value: Any) -> Workload:
    where = f"workload '{name}'"
    table = dict(_table(value, where))
    dtype, default = table.pop("dtype", None), table.pop("default", False)
    versions = table.pop("versions", None)
    if not isinstance(dtype, str):
        raise UsageProblem(f"{where} lacks the key 'dtype'", 'e.g. dtype = "float32"')
    if not isinstance(default, bool):
        raise UsageProblem(f"{where}: 'default' must be true or false, not {default!r}")
    for key, number in table.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise UsageProblem(f"{where}: '{key}' must be a whole number, not {number!r}")
    return Workload(name, _dtype(dtype, where), table, default, _for_versions(versions, default, where))


def _for_versions(names: Any, default: bool, where: str) -> tuple[str, ...]:
    """Return the versions that a workload is for; none where it is for all."""
    if names is None:
        return ()
    if not isinstance(names, list) or not names:
        raise UsageProblem(f"{where}: 'versions' must be a list of versions, not {names!r}", 'e.g. versions = ["v9"]')
    if default:
        raise UsageProblem(f"{where} is the default one, on which all versions are compared: it takes no 'versions'")
    return _names(names, f"{where}.versions")


def _check_versions(kernel: Kernel, workload: Workload) -> None:
    """Raise UsageProblem if a workload is for a version that is not there, or that does not serve its dtype."""
    for name in workload.versions:
        where = f"{kernel.name}/{FILE}: workload '{workload.name}'"
        try:
            version = kernel.version(name)
        except UsageProblem as error:
            raise UsageProblem(f"{where} is for '{name}', which is no version", error.hint) from error
        if not version.serves(workload):
            raise UsageProblem(f"{where} is for '{name}', which does not serve {workload.dtype}")


def _check_parents(kernel: Kernel) -> None:
    """Raise UsageProblem if a version names a parent that is not there or is itself, or several name each other."""
    lineage = kernel.lineage
    for version in kernel.versions:
        where = f"{kernel.name}: {version.path.name} names the parent"
        for name in version.descent.parents or ():
            if lineage.meant(name) is None:
                known = [n for v in kernel.versions for n in (v.short, v.name)]
                raise UsageProblem(f"{where} '{name}', which is no version", did_you_mean(name, [*known, NONE]))
            if lineage.meant(name) == version.name:
                hint = f"name the version that it builds on, or write parent: {NONE}"
                raise UsageProblem(f"{where} '{name}', which is itself", hint)
    circle = lineage.circle()
    if circle:
        shorts = " on ".join(kernel.version(name).short for name in circle)
        raise UsageProblem(
            f"{kernel.name}: versions build on each other: {shorts}", "change a `parent:` line of theirs"
        )


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageProblem(f"{where} must be a table, not {value!r}")
    return value


def _check_consistency(kernel: Kernel) -> None:
    for name in kernel.host.names if kernel.host else ():
        if name not in kernel.inputs:
            raise UsageProblem(f"[host] names '{name}', which is no input", did_you_mean(name, kernel.inputs))
    for name in kernel.numbers:
        if name not in kernel.inputs:
            raise UsageProblem(f"'numbers' names '{name}', which is no input", did_you_mean(name, kernel.inputs))
    if [w.default for w in kernel.workloads].count(True) != 1:
        raise UsageProblem("exactly one workload must say default = true")
    for name, dtype in sorted({(o.name, kernel.dtype(o, w)) for o in kernel.outputs for w in kernel.workloads}):
        if dtype not in kernel.tolerances:
            raise UsageProblem(f"there is no [tolerance.{dtype}] for output '{name}'")
    tensors = {*kernel.inputs, *(o.name for o in kernel.outputs)}
    for workload in kernel.workloads:
        known = tensors | set(workload.integers)
        for name in kernel.arguments:
            if name not in known:
                where = f"argument '{name}' is no input, output or integer of workload '{workload.name}'"
                raise UsageProblem(where, did_you_mean(name, known))
        kernel.algorithmic_bytes(workload)
        kernel.flops(workload)
        kernel.host_bytes(workload)
        for output in kernel.outputs:
            kernel.shape(output, workload)
