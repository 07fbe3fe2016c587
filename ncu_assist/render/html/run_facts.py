"""What an engineer needs to know to measure a run again: GPU, clocks, programs, command, hashes."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.records import Combined
from ncu_assist.analysis.run_view import Shown
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Bench, HostMemory, Profile, Run
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.badge import Badge, source_badge
from ncu_assist.render.html.term import Term, term_of

UNKNOWN = "not known"
COMMAND_LETTERS = 2000
HINTS = {
    "live": "measured for this archive",
    "recorded": "measured elsewhere, shipped with the archive",
    "imported": "read from a foreign report, unverified",
}
CLOCKS = {"none": "not locked", "base": "locked to base", "boost": "locked to boost"}  # --clock-control
CACHES = {"all": "flushed before every pass", "none": "as they were"}  # --cache-control


@dataclass(frozen=True)
class Fact:
    """One fact; ``is_code`` for what is typed or compared letter by letter."""

    term: Term
    text: str
    note: str = ""
    is_code: bool = False
    badge: Badge | None = None


@dataclass(frozen=True)
class FactGroup:
    """Facts under a heading."""

    title: str
    facts: tuple[Fact, ...]


def fact_groups(shown: Shown) -> tuple[FactGroup, ...]:
    """Return the facts by what they are about, the run itself first; what a run lacks altogether has no group."""
    run = shown.run
    was_profiled = bool(run.launches) or run.launched_nothing
    groups = (
        FactGroup("Run", _run(shown)),
        FactGroup("GPU", _device(run)),
        FactGroup("Memory of the host", _host(run.host_memory) if run.host_memory else ()),
        FactGroup("Programs", _programs(run)),
        FactGroup("Timing", _timing(shown, run.bench) if run.bench else ()),
        FactGroup("Counters", _counters(run.profile, shown.combined, run) if was_profiled else ()),
    )
    return tuple(group for group in groups if group.facts)


def _run(shown: Shown) -> tuple[Fact, ...]:
    run = shown.run
    command = run.profile.command if run.profile else ""
    created = {"imported": "imported"}.get(run.source, "measured")
    return _known(
        Fact(Term("run"), one_line(shown.reference), is_code=True),
        Fact(Term("source"), run.source, HINTS[run.source], badge=source_badge(run.source)),
        Fact(Term(created), one_line(run.created.replace("T", " ").replace("Z", " UTC"))),
        Fact(Term("command"), one_line(command, COMMAND_LETTERS) or _no_command(run), is_code=bool(command)),
        Fact(Term("source hash", "", "sha256 of the version's own files"), run.source_sha256 or "", is_code=True),
        Fact(_hash_term(run), run.digest, is_code=True),
        Fact(Term("bytes at capture"), "" if run.verified else "not known: the report came from elsewhere"),
        *(Fact(Term("note"), one_line(note, 500)) for note in run.notes),
    )


def _hash_term(run: Run) -> Term:
    if not run.run_id:
        return Term("file hash", "", "sha256 of the report")
    return Term("record hash", "", "sha256 of the run's record, which holds the hashes of its files")


def _no_command(run: Run) -> str:
    if run.source == "imported":
        return "kept in the report alone: ncu --import FILE --page session"
    return ""


def _device(run: Run) -> tuple[Fact, ...]:
    device = run.device
    if device is None:
        return (Fact(Term("GPU"), UNKNOWN),)
    return _known(
        Fact(Term("GPU"), one_line(device.name)),
        Fact(Term("compute capability"), one_line(device.compute_capability)),
        Fact(Term("SMs"), str(device.sm_count or "")),
        Fact(Term("L2"), quantity(device.l2_bytes, "byte") if device.l2_bytes else ""),
        Fact(Term("memory"), quantity(device.memory_bytes, "byte") if device.memory_bytes else ""),
        Fact(Term("driver"), one_line(device.driver or UNKNOWN)),
        Fact(Term("which GPU", "", "sha256 of its UUID: tells two apart"), device.uuid_sha256[:16], is_code=True),
    )


def _host(memory: HostMemory) -> tuple[Fact, ...]:
    generation, lanes = memory.pcie_generation, memory.pcie_lanes
    link = f"PCIe generation {generation}, {lanes} lanes" if generation and lanes else ""
    return _known(
        Fact(Term("inputs there"), ", ".join(one_line(name) for name in memory.inputs)),
        Fact(Term("pinned"), "yes" if memory.pinned else "no"),
        Fact(Term("NUMA node"), ", ".join(map(str, memory.nodes)) or UNKNOWN),
        Fact(Term("node of the CPU that allocated"), _node(memory.cpu_node)),
        Fact(Term("node of the GPU"), _node(memory.gpu_node)),
        Fact(Term("link"), link or UNKNOWN, "when the measurement ended" if link else ""),
    )


def _node(node: int | None) -> str:
    return UNKNOWN if node is None else str(node)


def _programs(run: Run) -> tuple[Fact, ...]:
    tools = run.toolchain
    nvcc = "nvcc" if tools.nvcc and not tools.cuda else ""
    return _known(
        Fact(Term("ncu"), one_line(tools.ncu or UNKNOWN)),
        Fact(Term("CUDA"), one_line(tools.cuda or tools.nvcc or UNKNOWN), nvcc),
        Fact(Term("torch"), one_line(tools.torch or "")),
        Fact(Term("triton"), one_line(tools.triton or "")),
        Fact(Term("python"), one_line(tools.python or "")),
        Fact(Term("ncu-assist"), one_line(run.tool)),
    )


def _timing(shown: Shown, bench: Bench) -> tuple[Fact, ...]:
    timing = shown.row.timing if shown.row else None
    timing = timing or next(iter(bench.timings), None)
    late = f"{timing.dropped} late ones dropped" if timing and timing.dropped else ""
    degrees = bench.temperature_c
    return _known(
        Fact(Term("bench"), one_line(bench.bench_id), is_code=True),
        Fact(Term("rounds"), f"{bench.rounds}, versions interleaved", late),
        Fact(Term("L2 before each call"), {"read": "flushed by reading"}.get(bench.flush, one_line(bench.flush))),
        Fact(Term("SM clock"), f"{timing.sm_clock_mhz:.0f} MHz" if timing and timing.sm_clock_mhz else ""),
        Fact(Term("temperature"), f"{degrees[0]:.0f} °C before, {degrees[1]:.0f} °C after" if degrees else ""),
        Fact(Term("throttled"), _throttled(bench.throttle_reasons)),
        Fact(Term("an empty call"), duration(timing.empty_ns) if timing and timing.empty_ns else ""),
    )


def _throttled(reasons: tuple[str, ...] | None) -> str:
    if reasons is None:
        return UNKNOWN
    return ", ".join(one_line(reason) for reason in reasons) or "no"


def _counters(profile: Profile | None, combined: Combined, run: Run) -> tuple[Fact, ...]:
    o = profile
    return _known(
        Fact(Term("sections"), f"--set {one_line(o.section_set)}" if o else UNKNOWN, is_code=o is not None),
        Fact(Term("clocks"), CLOCKS.get(o.clock_control, one_line(o.clock_control)) if o else UNKNOWN),
        Fact(Term("caches"), CACHES.get(o.cache_control, one_line(o.cache_control)) if o else UNKNOWN),
        Fact(Term("replay"), one_line(o.replay_mode) if o else UNKNOWN),
        *(Fact(term_of(key), _value(combined, key)) for key in ("sm_clock", "dram_clock")),
        Fact(Term("launches"), _launches(combined, run), f"{o.repeats} profiled calls" if o and o.repeats > 1 else ""),
    )


def _value(combined: Combined, key: str) -> str:
    value = combined.values[key]
    return "" if value is None else f"{value / 1e6:.0f} MHz"


def _launches(combined: Combined, run: Run) -> str:
    own, every = len(combined.launches), len(run.launches)
    if run.launched_nothing:
        return "none: it launched no kernel"
    return f"{own} of {combined.workload}, {every} in the run" if own < every else str(every)


def _known(*facts: Fact) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact.text)
