"""What the writer of a version is given, redacted: the task, the parent's code, the GPU and what bounds the time."""

from __future__ import annotations

import getpass
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ncu_assist.analysis.run_view import CloseLook, workload_row
from ncu_assist.backends.nvcc import whole_chip
from ncu_assist.ceilings import Ceilings, bytes_in_flight, chip_facts, split_ns
from ncu_assist.ceilings import floor_of as least_time
from ncu_assist.ceilings.chips import LANES
from ncu_assist.pipeline.pages.readable import longest_first
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Run, WorkloadFacts
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.redact import NOBODY, Identity, redact_text
from ncu_assist.render.words.floors import l2_words
from ncu_assist.spec import Kernel, Workload
from ncu_assist.store import StoredRun
from ncu_assist.suggest.evidence.records import (
    Argument,
    Bound,
    FloorFacts,
    HardwareFacts,
    KernelTask,
    Language,
    SourceText,
    WorkloadTime,
    line_notes,
)

LONGEST = 600  # characters of a text that stands in one line


@dataclass(frozen=True)
class Cleaner:
    """Redacts texts by the names that it knows."""

    identity: Identity = NOBODY

    def text(self, text: str) -> str:
        """Return a text redacted."""
        return redact_text(text, self.identity)

    def line(self, text: str, limit: int = LONGEST) -> str:
        """Return a text redacted, on one line, cut after ``limit`` characters."""
        return one_line(redact_text(text, self.identity), limit)

    def code(self, text: str) -> tuple[str, ...]:
        """Return the lines of a file redacted one by one, so that their numbers stay; numbered as compilers do."""
        lines = text.removesuffix("\n").split("\n")
        return tuple(plain(redact_text(line.removesuffix("\r"), self.identity)) for line in lines)


def this_machine() -> Identity:
    """Return the names of this host and this user, to be redacted wherever they stand."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without a name, a system without a list of them
        user = ""
    return Identity.of([platform.node()], [f"USER={user}"] if user else [])


def cleaner(run: Run, sources: Iterable[str], identity: Identity) -> Cleaner:
    """Return what redacts the texts of a run: names of ``identity`` and those that its command and sources give."""
    found = Identity.of((), [run.profile.command] if run.profile else [], sources)
    hosts, users = (*identity.hosts, *found.hosts), (*identity.users, *found.users)
    return Cleaner(Identity(longest_first(hosts), longest_first(users)))


TORCH_HEADER = "torch/extension.h"
ATTRIBUTE = "device__attribute_"
OF_AN_FMA = 2  # operations: a product and a sum
TENSOR = (("wgmma_bf16", "bf16 by wgmma"), ("mma_bf16", "bf16 by mma.sync"))
NO_CODE = "the run keeps no report, so nothing is known about single lines"
BELOW = "the lines that take the time are in the files that it includes, with their notes"
NO_LINES = "the report has no line of this file: its time is in code without line numbers, or in libraries"


def task_of(
    kernel: Kernel, run: Run, workload: str, source: str, clean: Cleaner, ceilings: Ceilings | None = None
) -> KernelTask:
    """Return the task of a kernel; ``source`` is the parent's text, ``workload`` the one that shapes are of."""
    shown = next(one for one in kernel.workloads if one.name == workload)
    version = kernel.version(run.version)
    # A draft meets what its parent serves, and not what is for named versions only.
    served = (one for one in kernel.workloads if version.serves(one) and not one.versions)
    suffix = version.path.suffix
    return KernelTask(
        summary=clean.line(kernel.summary),
        language=_language(suffix, source),
        arguments=_arguments(kernel, shown, suffix),
        bounds=tuple(Bound(dtype, one.norm, one.rtol, one.atol) for dtype, one in kernel.tolerances.items()),
        bytes_expression=clean.line(kernel.bytes_expression),
        flops_expression=clean.line(kernel.flops_expression),
        workloads=tuple(_workload(one, kernel, run, ceilings, clean) for one in served),
        build=_build(run, suffix),
        reference="\n".join(clean.code(kernel.reference.read_text(encoding="utf-8", errors="replace"))),
    )


def _build(run: Run, suffix: str) -> str:
    """Return what the parent was built and run with."""
    tools = run.toolchain
    known = [("Python", tools.python), ("torch", tools.torch), ("Triton", tools.triton)]
    known = [("nvcc", tools.nvcc)] if suffix == ".cu" else known
    said = ", ".join(f"{name} {one_line(version, 40)}" for name, version in known if version)
    return f"{said} for {_arch(run)}" if said and suffix == ".cu" and _arch(run) else said


def _arch(run: Run) -> str:
    """Return what a version is compiled for, with all instructions of the chip; empty where that is not known."""
    chip = run.device.compute_capability.replace(".", "") if run.device else ""
    version = run.toolchain.nvcc or ""
    return whole_chip(f"sm_{chip}", version) if chip and version[:1].isdigit() else ""


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


def _workload(workload: Workload, kernel: Kernel, run: Run, ceilings: Ceilings | None, clean: Cleaner) -> WorkloadTime:
    timing, facts = run.timing(workload.name), run.workload(workload.name)
    least = least_time(_as_now(facts, kernel, workload), ceilings, run) if facts else None
    made = WorkloadTime(clean.line(workload.name, 60), workload.dtype, workload.integers, workload.default)
    median, copy = (timing.median_ns, timing.copy_ns) if timing else (None, None)
    return replace(made, median_ns=median, copy_ns=copy, floor_ns=least.ns if least else None)


def _as_now(facts: WorkloadFacts, kernel: Kernel, workload: Workload) -> WorkloadFacts:
    """Return what a workload has to do as kernel.toml says it now: older runs lack a part of it."""
    return replace(facts, written_bytes=kernel.written_bytes(workload), work=kernel.work(workload))


def hardware_of(stored: StoredRun, ceilings: Ceilings | None) -> HardwareFacts:
    """Return the GPU of a run in sentences; empty ones where its report does not say."""
    device = stored.run.device
    if device is None:
        return HardwareFacts("unknown", (), ())
    facts = tuple(_hardware_facts(stored.run, _attributes(stored)))
    known = chip_facts(device.compute_capability)
    flight = bytes_in_flight(device.name, device.compute_capability)
    also = (f"about {quantity(flight, 'byte')} of loads in flight on each SM to fill DRAM",) if known and flight else ()
    return HardwareFacts(one_line(device.name, 60), facts, (*(_ceiling_words(ceilings) if ceilings else ()), *also))


def floor_of(run: Run, kernel: Kernel, workload: str, ceilings: Ceilings | None, peak: float | None) -> FloorFacts:
    """Return what bounds the time of a workload: its bytes or operations at a measured rate, and a copy of as many.

    ``peak`` is the bandwidth that DRAM has by its clock, in bytes a second.
    """
    facts, timing = run.workload(workload), run.timing(workload)
    own = next(one for one in kernel.workloads if one.name == workload)
    least = least_time(_as_now(facts, kernel, own), ceilings, run) if facts else None
    return FloorFacts(
        median_ns=timing.median_ns if timing else None,
        cold=run.bench is not None and run.bench.flush != "none",
        interval=f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}" if timing else "",
        bytes=facts.algorithmic_bytes if facts else None,
        flops=facts.flops if facts else None,
        copy_ns=timing.copy_ns if timing else None,
        least=least,
        split_ns=split_ns(least, own.dtype, ceilings, run) if least else None,
        peak_bytes_per_second=peak,
        in_l2=l2_words(workload_row(run, facts)) if facts else "",
    )


def _attributes(stored: StoredRun) -> dict[str, float]:
    """Return what the report says of the GPU, by the end of ncu's names; empty without counters."""
    metrics = stored.metrics()
    names = metrics["metric"].astype(str)
    own = metrics[names.str.startswith(ATTRIBUTE) & metrics["value"].notna()].drop_duplicates("metric")
    return {str(n).removeprefix(ATTRIBUTE): float(v) for n, v in zip(own["metric"], own["value"], strict=True)}


def _hardware_facts(run: Run, attributes: dict[str, float]) -> Iterator[str]:
    device, get = run.device, attributes.get
    assert device is not None
    clock = get("max_gpu_frequency_khz")
    sms = f"{device.sm_count} SMs" if device.sm_count else "SMs"
    speed = f" at up to {clock / 1e6:.2f} GHz" if clock else ""
    yield f"compute capability {device.compute_capability}, {sms}{speed}"
    sizes = [("L2", device.l2_bytes), ("DRAM", device.memory_bytes)]
    yield ", ".join(f"{name} {quantity(size, 'byte')}" for name, size in sizes if size)
    limits = [
        ("threads", "max_threads_per_multiprocessor"),
        ("blocks", "max_blocks_per_multiprocessor"),
        ("registers", "max_registers_per_multiprocessor"),
        ("bytes of shared memory", "max_shared_memory_per_multiprocessor"),
    ]
    known = [f"{int(value)} {name}" for name, key in limits if (value := get(key))]
    block = get("max_shared_memory_per_block_optin")
    static = get("max_shared_memory_per_block")
    if known:
        yield f"an SM holds {', '.join(known)}"
    if block and static:
        yield f"a block may have {int(static)} bytes of shared memory, {int(block)} after opting in"


def _ceiling_words(ceilings: Ceilings) -> Iterator[str]:
    l2 = max((one.bytes_per_second for one in ceilings.l2 if one.source == "events"), default=None)
    shared = ceilings.rate("shared", "wavefronts", "events")
    fma = ceilings.rate("pipe", "fma", "events")
    if l2:
        yield f"L2 hits {quantity(l2, 'byte/s')}"
    if shared:
        yield f"shared memory {quantity(shared.per_second, 'byte/s')}"
    if fma:
        yield f"float32 multiply-adds {quantity(fma.per_second * LANES * OF_AN_FMA, 'flop/s')}"
    tensor = [(rate, words) for name, words in TENSOR if (rate := ceilings.rate("tensor", name, "events"))]
    yield from (f"tensor cores {quantity(rate.per_second, 'flop/s')}, {words}" for rate, words in tensor[:1])


def _included(name: str, text: str, close: CloseLook, clean: Cleaner) -> SourceText:
    """Return a file that the version includes, with notes on its hot lines where any is known."""
    return SourceText(name, clean.code(text), line_notes(close.code, name) if close.code is not None else ())


def source_of(sources: dict[str, str], close: CloseLook, clean: Cleaner) -> SourceText:
    """Return the code of a version, its own file first in ``sources``, redacted line by line."""
    (file, text), *others = sources.items()
    lines, margins = clean.code(text), line_notes(close.code, file) if close.code is not None else ()
    includes = tuple(_included(name, own, close, clean) for name, own in others)
    nowhere = BELOW if any(one.margins for one in includes) else NO_LINES
    return SourceText(
        file=file,
        lines=lines,
        margins=margins,
        about_margins="" if margins else (close.note or NO_CODE if close.code is None else nowhere),
        includes=includes,
        redacted=sum(
            on_disk.removesuffix("\r") != line for on_disk, line in zip(text.split("\n"), lines, strict=False)
        ),
    )
