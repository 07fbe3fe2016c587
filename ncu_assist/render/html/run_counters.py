"""What the counters of a run say: speed of light, stall reasons, pipes, occupancy; raw counters and logs below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from ncu_assist.analysis.diff.timing import TimedSamples
from ncu_assist.analysis.launches import LaunchRow
from ncu_assist.analysis.records import ArchivedRun, Combined
from ncu_assist.analysis.run_view import BARS, RunView, throughputs
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS, ISSUED, MBARRIER, STALL_REASONS, TOLD_APART, in_ncu, spoken
from ncu_assist.quantity import digits, noun_of, quantity
from ncu_assist.record import Launch
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import Bar, Bars, BarTone, Fact
from ncu_assist.render.html.curves import occupancy_basis, occupancy_charts
from ncu_assist.render.html.page import PageSection
from ncu_assist.render.html.run_diagnosis import diagnosis_first, finding_about
from ncu_assist.render.table import Cell, Column, Table, Term, number
from ncu_assist.render.words.launches import block_limits, bound_note, kernel_words, limits_of, room_words
from ncu_assist.render.words.terms import part_label, stall_name, stall_waits, term_of
from ncu_assist.render.words.values import drivers_part, to_profile
from ncu_assist.render.words.verdicts import estimated, impossible_lines
from ncu_assist.rules.low_occupancy import LIMITS, allowed_blocks
from ncu_assist.rules.model.dram import OF_CEILING, reach
from ncu_assist.rules.model.resources import HOST_LINK, LATENCY
from ncu_assist.verdict import Verdict

# The bar of the part of the GPU that binds a kernel (Bottleneck.group).
BOUND = {
    "SM": "sm_throughput",
    "memory": "memory_throughput",
    "L1": "l1_cache_throughput",
    "shared memory": "l1_cache_throughput",
    "L2": "l2_cache_throughput",
    "DRAM": "dram_throughput",
    HOST_LINK: "host_link_busy",
}
TOP_PARTS = 8
TITLES = {"sm_throughput": "Compute (SM) breakdown", "memory_throughput": "Memory breakdown"}
BY_NAME = {name: key for key, metric in CATALOGUE.items() for name in metric.names}


def speed_section(shown: RunView, breakdowns: Breakdowns, alone: str = "") -> PageSection:
    """Return what binds the kernel in a sentence, the throughputs, and their breakdown: the busiest parts and the rest.

    Bars are in percent of peak, the one that binds marked; empty ones were not collected. ``alone`` names the launch
    shown of several.
    """
    counted, combined = shown.counted, shown.counted.combined
    group = counted.bottleneck.group if counted.bottleneck else ""
    ceiling = _dram_ceiling(counted)
    bars = tuple(
        _share_bar(term_of(key), value, key == BOUND.get(group), ceiling if key == "dram_throughput" else None)
        for key, value in throughputs(combined)
    )
    scale = "; ".join([*_scale(combined, ceiling), *impossible_lines(combined, BARS)])
    model = {
        "throughputs": Bars("Throughput of each part, in percent of its peak", bars, scale if bars else ""),
        "units": [_throughput_parts(key, parts, group) for key, parts in breakdowns.items()],
        "collect": to_profile(shown),
    }
    return PageSection("speed", "Speed of light", model, "run_speed.html.j2", _bound_sentence(counted, alone))


def _bound_sentence(shown: RunView, alone: str) -> str:
    bound, count = shown.bottleneck, len(shown.combined.launches)
    together = f"{count} launches of one kernel together. " if count > 1 else f"Of {alone}. " if alone else ""
    if bound is None:
        return together
    why = bound_note(shown)
    if bound.name == LATENCY:
        return f"{together}No unit is busy: bound by latency ({bound.percent:.0f} % at the busiest unit){why}."
    return f"{together}Bound by {bound.name}, {bound.percent:.0f} % busy{why}."


def _scale(combined: Combined, ceiling: float | None) -> list[str]:
    """Return what is said below the bars: their scale, DRAM in bytes, and its line."""
    rate, peak = combined.values["dram_bandwidth"], combined.values["dram_peak_bandwidth"]
    words = ["0 to 100 % of peak"]
    words += [f"DRAM moved {quantity(rate, 'byte/s')}"] if rate else []
    if ceiling:
        reached = f", {quantity(ceiling * peak, 'byte/s')}" if peak else ""
        words.append(f"the line on its bar is the rate of a plain kernel with this mix of reads and writes{reached}")
    return words


def _share_bar(term: Term, percent: float, binds: bool = False, ceiling: float | None = None) -> Bar:
    return Bar(term, percent / 100, f"{percent:.1f} %", ceiling=ceiling, tone="limit" if binds else "")


def _dram_ceiling(shown: RunView) -> float | None:
    """Return what a plain kernel of the same mix and size reaches of DRAM's peak, 0 to 1; None where not measured."""
    if shown.results is None or shown.results.facts.get("dram_bytes") is None:
        return None
    limit = reach(shown.results.facts)
    return None if limit.assumed else min(1.0, limit.share / OF_CEILING)


def _throughput_parts(key: str, parts: Sequence[tuple[str, float]], group: str) -> tuple[str, Bars, Bars | None]:
    """Return the title of a throughput, its busiest parts and the others."""
    binds = group not in (LATENCY, HOST_LINK) and (key == "sm_throughput") == (group == "SM")
    bars = tuple(_part_bar(name, percent, binds and place == 0) for place, (name, percent) in enumerate(parts))
    caption = f"Parts of {ROWS[key].label}, in percent of their peak"
    rest = Bars(f"{caption}: the others", bars[TOP_PARTS:]) if len(bars) > TOP_PARTS else None
    return TITLES[key], Bars(caption, bars[:TOP_PARTS]), rest


def _part_bar(name: str, percent: float, binds: bool) -> Bar:
    key = BY_NAME.get(name, "")
    term = Term(part_label(name), name, CATALOGUE[key].meaning if key else "")
    return _share_bar(term, percent, binds)


LEAST_STALL = 0.1  # percent: what would print as 0.0 %
WARP_FACTS = ("warp_cycles_per_instruction", "eligible_warps", "active_warps", "no_eligible", "issue_slots_busy")
PIPES = (
    "pipe_lsu", "pipe_fma", "pipe_alu", "pipe_fp16", "pipe_fp64", "pipe_xu", "pipe_tensor_cycles", "pipe_tensor_hmma",
    "pipe_tensor_gmma", "pipe_tensor_imma", "pipe_tensor_dmma", "pipe_adu", "pipe_cbu", "pipe_uniform", "pipe_tex",
    "pipe_tma",
)  # fmt: skip
MIX_FACTS = (
    "instructions", "ipc", "fp32_flops", "fp64_flops", "fp16_flops", "tensor_flops", "branch_share", "idle_lane_share",
)  # fmt: skip
IN_FULL = ("grid_size", "block_size")
UNSAID_ZEROS = ("cluster_size", "fp32_flops", "fp64_flops", "fp16_flops", "tensor_flops")
TOP_OPCODES = 14


def stalls_model(shown: RunView) -> dict[str, object]:
    """Return where warps spent their time, the largest share first, and the schedulers.

    ``advice`` is what the largest waits for and what to try, and the same of the one that is marked, the largest that
    the diagnosis is about, where that is another; ``here`` whether it is bad here, and where.
    """
    counted = shown.counted
    known = [(reason, share) for reason, share in counted.stalls.items() if share >= LEAST_STALL]
    first = diagnosis_first(counted.results)[:1] if counted.results else ()
    about = first[0].finding.stalls if first and first[0].severity != "info" else ()
    marked = next((reason for reason, _ in known if {reason, BOOKED_AS.get(reason)} & set(about)), "")
    bars = tuple(_stall_bar(reason, share, reason == marked, counted) for reason, share in known)
    largest = next((reason for reason, _ in known if reason != ISSUED), "")
    rest = 100 - sum(counted.combined.stalls.values())
    scale = f"of all warp states; in the other {rest:.1f} % they issued an instruction" if bars else ""
    scale += "; marked: what the diagnosis is about" if any(bar.tone == "limit" for bar in bars) else ""
    return {
        "bars": Bars("Warp states, in percent", bars, scale),
        "as_ncu": _as_ncu_sums(counted),
        "advice": [_stall_advice(reason, counted) for reason in dict.fromkeys(filter(None, (largest, marked)))],
        "here": [*filter(None, (_stall_here(largest, counted) if largest else "", _room_here(counted)))],
        "facts": warp_facts(counted, WARP_FACTS),
        "collect": to_profile(shown),
    }


def _stall_bar(reason: str, share: float, is_marked: bool, shown: RunView) -> Bar:
    tone: BarTone = "good" if reason == ISSUED else "limit" if is_marked else ""
    term = term_of(reason, one_line(stall_name(reason, shown)))
    waits = stall_waits(reason, shown)
    if waits:
        term = replace(term, meaning=f"the warp waits for {waits}")
    return Bar(term, share / 100, f"{share:.1f} %", tone=tone)


def _stall_advice(reason: str, shown: RunView) -> str:
    known = TOLD_APART.get(reason) or STALL_REASONS.get(reason)
    return f"{in_ncu(reason)}: the warp waits for {stall_waits(reason, shown)}. {known.try_this}" if known else ""


MOST_SUMMED = 4  # reasons


def _as_ncu_sums(counted: RunView) -> str:
    """Return the largest reasons as ncu has them, where some of its are told apart here; empty where none is."""
    ours, theirs = counted.stalls, counted.combined.stalls
    if not any(ours.get(name, 0.0) >= LEAST_STALL for name in BOOKED_AS):
        return ""
    ranked = sorted(((share, name) for name, share in theirs.items() if name != ISSUED), reverse=True)[:MOST_SUMMED]
    return f"As ncu sums them: {', '.join(f'{spoken(name)} {share:.1f} %' for share, name in ranked)}."


LEAST_ROOM = 0.05  # of the waits at mbarriers


def _stall_here(reason: str, counted: RunView) -> str:
    """Return whether a stall is what a finding is about, how much that could win, and where it stands."""
    about = finding_about(reason, counted.results) if counted.results else None
    if about:
        gain = estimated(about.estimated_speedup, about.finding.assumed)
        said = f"Here {spoken(reason)} is part of what {about.finding.rule} is about ({gain})"
    else:
        said = f"No finding here is about {spoken(reason)}"
    lines = counted.lines_of_stall(reason)[:2] if counted.stalls.get(reason, 0.0) >= LEAST_STALL else []
    named = [f"{one_line(PurePath(file).name)}:{line} ({100 * share:.0f} %)" for file, line, share in lines]
    return f"{said}{'; of its samples most are at ' if named else ''}{' and '.join(named)}."


def _room_here(counted: RunView) -> str:
    """Return how much of the waits at mbarriers is of warps that wait for room; empty where it is next to nothing."""
    share = counted.stalls.get(MBARRIER, 0.0)
    if share < LEAST_STALL or counted.room_share < LEAST_ROOM:
        return ""
    room = f"{counted.room_share * share:.1f} of {share:.1f} %"
    return f"Of mbarrier, {room} is warps that only load and wait for room for the next tile. That costs nothing."


def mix_model(record: RunRecord) -> dict[str, object]:
    """Return the pipes that did something, the busiest first, and the opcodes executed most, of which launches."""
    shown, launches = record.shown, record.opcode_launches
    counted = shown.counted
    known = [(key, value) for key in PIPES if (value := counted.combined.values[key])]
    ranked = sorted(known, key=lambda one: -one[1])
    bound = counted.bottleneck.name if counted.bottleneck else ""
    pipes = tuple(_share_bar(term_of(key), value, ROWS[key].label.partition(",")[0] == bound) for key, value in ranked)
    scale = "in percent of the pipe's peak while SMs are active; idle pipes are left out" if pipes else ""
    of_some = 0 < launches < len(shown.combined.launches)
    return {
        "pipes": Bars("How busy each pipe was", pipes, scale),
        "opcodes": _opcode_bars(record.opcodes),
        "note": f"counted in the {launches} longest launches" if of_some else "",
        "facts": warp_facts(counted, MIX_FACTS),
        "why_missing": one_line(shown.close.note, 500),
        "collect": to_profile(shown),
    }


def _opcode_bars(opcodes: tuple[tuple[str, float], ...]) -> Bars:
    whole = sum(executed for _, executed in opcodes)
    if not whole:
        return Bars("Executed instructions", ())
    most = opcodes[0][1] / whole
    bars = [_opcode_bar(name, executed, whole, most) for name, executed in opcodes[:TOP_OPCODES]]
    rest = opcodes[TOP_OPCODES:]
    if rest:
        bars.append(_opcode_bar(f"{len(rest)} others", sum(executed for _, executed in rest), whole, most))
    return Bars(
        "Executed instructions by opcode", tuple(bars), "of all warp instructions; the longest bar is full width"
    )


# What else is easily taken for a nop: instructions of Hopper that start work which goes on by itself, and that wait.
OPCODES = {
    "HGMMA": "a matrix product by four warps on tensor cores, halves or tf32 (wgmma)",
    "QGMMA": "a matrix product by four warps on tensor cores, fp8 (wgmma)",
    "IGMMA": "a matrix product by four warps on tensor cores, int8 (wgmma)",
    "WARPGROUP": "four warps start products or wait for them (wgmma fence and wait)",
    "SYNCS": "an mbarrier: initialised, arrived at, or polled until its phase ends; each poll counts",
    "UTMALDG": "TMA: a tile from global to shared memory",
    "UTMASTG": "TMA: a tile from shared to global memory",
    "UTMAREDG": "TMA: a tile from shared memory is added to global memory",
    "UBLKCP": "a bulk copy: contiguous bytes between global and shared memory",
    "UCGABAR_ARV": "arrives at the barrier of a cluster",
    "UCGABAR_WAIT": "waits at the barrier of a cluster",
    "USETMAXREG": "takes or releases registers (setmaxnreg)",
    "LDGSTS": "cp.async: from global to shared memory without registers",
    "HMMA": "a matrix product by one warp on tensor cores, halves (mma.sync)",
}


def _opcode_bar(name: str, executed: float, whole: float, most: float) -> Bar:
    share = executed / whole
    term = Term(one_line(name, 40), "", OPCODES.get(name.split(".")[0], ""))
    return Bar(term, min(1.0, share / most), f"{100 * share:.1f} % · {quantity(executed, '')}")


def warp_facts(shown: RunView, keys: tuple[str, ...]) -> tuple[Fact, ...]:
    """Return counters in reading size, those that are told of the launches together."""
    values = shown.combined.values
    known = [(key, value) for key in keys if (value := values[key]) is not None and (value or key not in UNSAID_ZEROS)]
    drivers = drivers_part(shown.combined)
    return tuple(
        Fact(term_of(key), _fact_text(key, value) + (f", {drivers}" if drivers and key == "shared_memory" else ""))
        for key, value in known
    )


def _fact_text(key: str, value: float) -> str:
    """Return a value in reading size; counts of the launch in full, a ratio as a percentage."""
    if key == "branch_share":
        return quantity(100 * value, "%")
    in_full = key in IN_FULL or (key == "waves_per_sm" and value >= 1000)
    return f"{value:,.0f}" if in_full else quantity(value, ROWS[key].unit)


SHAPE_FACTS = (
    "registers", "shared_memory", "grid_size", "block_size", "waves_per_sm", "last_wave_fill", "theoretical_warps",
    "achieved_warps", "cluster_size",
)  # fmt: skip
OF_LAUNCH = ("theoretical_occupancy", "achieved_occupancy", "registers", "shared_memory", "waves_per_sm")


def occupancy_model(shown: RunView) -> dict[str, object]:
    """Return how many warps there were, what allows no more, and the shape of the launch.

    ``sentence`` names what limits them; of several launches ``launches`` has that of each.
    """
    keys, counted = ("theoretical_occupancy", "achieved_occupancy"), shown.counted
    known = [(key, value) for key in keys if (value := counted.combined.values[key]) is not None]
    bars = tuple(_share_bar(term_of(key), value) for key, value in known)
    allowed = block_limits(counted)
    room = room_words(counted.results.facts) if counted.results else ()
    return {
        "sentence": " ".join((_limiter(allowed), *room)) if allowed else "",
        "bars": Bars("Occupancy, in percent of the warps that an SM can hold", bars, "0 to 100 %" if bars else ""),
        "limits": _limit_bars(allowed),
        "curves": occupancy_charts(shown),
        "basis": occupancy_basis(shown),
        "facts": warp_facts(counted, SHAPE_FACTS),
        "launches": _occupancy_of_launches(shown) if len(shown.combined.launches) > 1 else None,
        "collect": to_profile(shown),
    }


def _limiter(allowed: dict[str, float]) -> str:
    names, fewest = limits_of(allowed)
    return f"Limited by {names}: {digits(fewest)} {noun_of(fewest, 'block')} fit{'s' * (fewest == 1)} an SM."


def _limit_bars(allowed: dict[str, float]) -> Bars:
    most, fewest = max(allowed.values(), default=1.0), min(allowed.values(), default=0.0)
    ranked = sorted(allowed.items(), key=lambda one: (one[1], one[0]))
    bars = tuple(_limit_bar(word, count, most, count == fewest) for word, count in ranked)
    return Bars("Blocks that fit an SM, by what each limit allows", bars)


def _limit_bar(word: str, count: float, most: float, binds: bool) -> Bar:
    return Bar(term_of(LIMITS[word]), count / most if most else 0.0, digits(count), tone="limit" if binds else "")


def _occupancy_of_launches(shown: RunView) -> Table | None:
    """Return the launches that the rules looked at one by one, the longest first."""
    rows = tuple(_occupancy_row(row) for row in shown.launches_shown if row.results)
    columns = (
        Column("launch"),
        Column("limited by"),
        *(Column(ROWS[key].label, "right", "number", term_of(key)) for key in OF_LAUNCH),
    )
    caption = "Occupancy of each launch"
    return Table("occupancy-table", caption, columns, rows).without_empty() if rows else None


def _occupancy_row(row: LaunchRow) -> tuple[Cell, ...]:
    facts = row.results.facts if row.results else None
    values = [facts.get(key) if facts else None for key in OF_LAUNCH]
    allowed = allowed_blocks(facts) if facts else {}
    return (
        Cell(f"#{row.launch.index} {kernel_words(row.launch, 60)}"),
        Cell(limits_of(allowed)[0]) if allowed else Cell(),
        *(
            Cell() if value is None else number(quantity(value, ROWS[key].unit), value)
            for key, value in zip(OF_LAUNCH, values, strict=True)
        ),
    )


Value = float | str | None  # None where the launch lacks it
# By the key of a throughput of ncu the counters that it is the largest of, in percent of their peaks, busiest first.
Breakdowns = Mapping[str, Sequence[tuple[str, float]]]


@dataclass(frozen=True)
class RawMetric:
    """One metric of the report by ncu's name: a value for each launch that is shown, and over all launches."""

    name: str
    unit: str
    values: tuple[Value, ...]
    together: float | None


@dataclass(frozen=True)
class RawMetrics:
    """All metrics of the longest launches, in the report's order of names; ``left_out`` launches are not shown."""

    launches: tuple[Launch, ...] = ()
    rows: tuple[RawMetric, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class Log:
    """A text that a program wrote; ``cut`` is how many of its characters are left out, in the middle."""

    name: str
    text: str
    cut: int = 0


@dataclass(frozen=True)
class RunRecord:
    """All that a run's page is made of."""

    stored: ArchivedRun
    shown: RunView
    verdicts: tuple[tuple[str, Verdict], ...] = ()  # against the version before, by workload
    samples: TimedSamples | None = None
    metrics: RawMetrics = RawMetrics()
    breakdowns: Breakdowns = field(default_factory=dict)
    opcodes: tuple[tuple[str, float], ...] = ()  # of SASS without modifiers, and how often warps executed each
    opcode_launches: int = 0  # the launches that the opcodes are of
    logs: tuple[Log, ...] = ()
    read: tuple[ArchivedRun, ...] = field(default=())  # the further runs that it depends on
    diff: str = ""  # the link to the page that compares it with the version before, where there is one
    alone: tuple[RunRecord, ...] = field(default=(), repr=False)  # of a report of many launches, of one launch each
    linked: bool = True  # whether the page lies in its archive, below the ladder and the index
