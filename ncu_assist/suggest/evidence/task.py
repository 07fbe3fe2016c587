"""What is to be computed and how it is called, from kernel.toml and reference.py."""

from __future__ import annotations

from ncu_assist.record import Run
from ncu_assist.render.escape import one_line
from ncu_assist.spec import Kernel, Version, Workload
from ncu_assist.suggest.evidence.cleaning import Cleaner
from ncu_assist.suggest.evidence.given import Argument, Bound, Language, Task, WorkloadTime

TORCH_HEADER = "torch/extension.h"


def task_of(kernel: Kernel, run: Run, workload: str, source: str, clean: Cleaner) -> Task:
    """Return the task of a kernel; ``source`` is the parent's text, ``workload`` the one that shapes are of."""
    shown = next(one for one in kernel.workloads if one.name == workload)
    version = kernel.version(run.version)
    suffix = version.path.suffix
    return Task(
        summary=clean.line(kernel.summary),
        language=_language(suffix, source),
        arguments=_arguments(kernel, shown, suffix),
        bounds=tuple(Bound(dtype, one.norm, one.rtol, one.atol) for dtype, one in kernel.tolerances.items()),
        bytes_expression=clean.line(kernel.bytes_expression),
        flops_expression=clean.line(kernel.flops_expression),
        workloads=tuple(_workload(one, run, clean) for one in kernel.workloads if _is_for_drafts(one, version)),
        build=_build(run, suffix),
        reference="\n".join(clean.code(kernel.reference.read_text(encoding="utf-8", errors="replace"))),
    )


def _is_for_drafts(workload: Workload, parent: Version) -> bool:
    """Tell whether a draft will meet a workload: its parent serves it, and it is not for named versions only."""
    return parent.serves(workload) and not workload.versions


def _build(run: Run, suffix: str) -> str:
    """Return what the parent was built and run with."""
    tools = run.toolchain
    known = [("Python", tools.python), ("torch", tools.torch), ("Triton", tools.triton)]
    known = [("nvcc", tools.nvcc)] if suffix == ".cu" else known
    return ", ".join(f"{name} {one_line(version, 40)}" for name, version in known if version)


def _language(suffix: str, source: str) -> Language:
    if suffix == ".py":
        return "python"
    return "torch-extension" if TORCH_HEADER in source else "cuda"


def _arguments(kernel: Kernel, workload: Workload, suffix: str) -> tuple[Argument, ...]:
    """Return the arguments in the order of the call: Python gets tensors alone."""
    outputs = {one.name: one for one in kernel.outputs}
    names = kernel.arguments if suffix == ".cu" else (*kernel.inputs, *outputs)
    found = []
    for name in names:
        if name in outputs:
            shape = "x".join(map(str, kernel.shape(outputs[name], workload)))
            expression = "[" + ", ".join(outputs[name].shape) + "]"
            found.append(Argument(name, "output", kernel.dtype(outputs[name], workload), f"{expression} = {shape}"))
        else:
            found.append(Argument(name, "input" if name in kernel.inputs else "integer"))
    return tuple(found)


def _workload(workload: Workload, run: Run, clean: Cleaner) -> WorkloadTime:
    timing = run.timing(workload.name)
    times = (timing.median_ns, timing.copy_ns) if timing else (None, None)
    return WorkloadTime(clean.line(workload.name, 60), workload.dtype, workload.integers, workload.default, *times)
