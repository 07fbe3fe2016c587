"""Hold every ratio that pages and `show` print against one computed from the tidy metrics, by what it is a ratio over.

    python benchmarks/printed_ratios.py                  every run of reports/: its page, `show` of every workload as
                                                         text and JSON, and the diff with the version before
    python benchmarks/printed_ratios.py KERNEL …         of these kernels only
    python benchmarks/printed_ratios.py FILE.ncu-rep …   of reports

The formulas stand here once more, on ncu's own names, and nothing of `ncu_assist.frame` takes part: a ratio of counters
is the sum of what is above over the sum of what is below. Where no report holds what is above, it is the ratio of each
launch times what is below. Of launches of different kernels no ratio may be printed, but of one launch that is named.
Exit code 3 if a printed ratio is off by more than its last digit, or stands where there is none.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.pipeline.opened_reports import bare_reports
from ncu_assist.pipeline.pages.diff import diff_page
from ncu_assist.pipeline.pages.run import run_page
from ncu_assist.pipeline.showing import gather
from ncu_assist.project import find_project
from ncu_assist.record import Launch
from ncu_assist.render.json.run import show_json
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.store import Store, StoredRun

Table = dict[str, float]  # of one launch, by ncu's name
Formula = Callable[[Sequence[Table]], float | None]
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
ISSUED = "smsp__inst_issued.sum"
LANES, SECTOR, SCHEDULERS, NS = 32, 32, 4, 1e9
MOST = 100  # lines
TIME, ELAPSED = ["gpu__time_duration.sum"], (["gpc__cycles_elapsed.max"],)
L1_SECTORS = [
    f"l1tex__t_sectors_pipe_lsu_mem_{what}.sum"
    for what in ("global_op_ld", "global_op_st", "global_op_red", "global_op_atom", "local_op_ld", "local_op_st")
]
LD, ST = ("l1tex__t_{}_pipe_lsu_mem_global_op_" + op + ".sum" for op in ("ld", "st"))
L2_UNITS = ("t_sectors", "t_tag_requests", "d_sectors", "lts2xbar_cycles_active", "xbar2lts_cycles_active")
L1_UNITS = (
    "data_pipe_lsu_wavefronts", "lsuin_requests", "lsu_writeback_active", "m_l1tex2xbar_req_cycles_active",
    "m_xbar2l1tex_read_sectors",
)  # fmt: skip
OF_PEAK = ".avg.pct_of_peak_sustained_elapsed"
DRAM = ("dram__bytes_read.sum", "dram__bytes_write.sum")
TYPES = ("fp16", "fp16_dst_fp32", "bf16_dst_fp32", "tf32_dst_fp32", "fp64", "fp8_sparsity_off", "fp8_dst_fp32")
TENSOR = [f"sm__ops_path_tensor_src_{one}.sum" for one in TYPES]
USED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"


def total(tables: Sequence[Table], *names: str) -> float | None:
    """Return the sum over launches of the sum of some counters; None where one is missing."""
    values = [table.get(name) for table in tables for name in names]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def over(above: Sequence[str], below: Sequence[str], scale: float = 1.0) -> Formula:
    """Return the ratio of sums of counters."""

    def ratio(tables: Sequence[Table]) -> float | None:
        parts = total(tables, *above), total(tables, *below)
        return scale * parts[0] / parts[1] if parts[0] is not None and parts[1] else None

    return ratio


def is_impossible(name: str, value: float) -> bool:
    """Tell whether no hardware can have a percentage: beyond what two passes may be apart, 1 % each."""
    return (".pct" in name or name.endswith("_pct")) and not -2 <= value <= 102


def times(name: str, *below: Sequence[str]) -> Formula:
    """Return the ratio of each launch, times what it is a ratio over, over the sum of that.

    ``below`` are counters whose sum that is, then others where a report lacks those.
    """

    def mean(tables: Sequence[Table]) -> float | None:
        held = [table for table in tables if name in table]
        possible = [table for table in held if not is_impossible(name, table[name])] or held
        pairs = [(table[name], weight(table)) for table in possible]
        known = [(value, by) for value, by in pairs if by is not None]
        whole = sum(by for _, by in known)
        if len({value for value, _ in pairs}) == 1:
            return pairs[0][0]
        return sum(value * by for value, by in known) / whole if len(known) == len(pairs) and whole else None

    def weight(table: Table) -> float | None:
        return next((found for one in below if (found := total([table], *one)) is not None), None)

    return mean


def busiest(unit: str, parts: Sequence[str], cycles: Sequence[Sequence[str]]) -> Formula:
    every = [times(f"{unit}__{part}{OF_PEAK}", *cycles) for part in parts]

    def largest(tables: Sequence[Table]) -> float | None:
        found = [one(tables) for one in every]
        return None if None in found else max(one for one in found if one is not None)

    return largest


def flops(letter: str, double: bool) -> Formula:
    """Return operations of one precision: an FMA is two, and HFMA2 works on two halves."""

    def count(tables: Sequence[Table]) -> float | None:
        name = "smsp__sass_thread_inst_executed_op_{}{}_pred_on.sum.per_cycle_elapsed"
        ops = [[one.get(name.format(letter, op)) for op in ("add", "mul", "fma")] for one in tables]
        cycles = [one.get("smsp__cycles_elapsed.avg") for one in tables]
        if any(None in each for each in (*ops, cycles)):
            return None
        pairs = zip(ops, cycles, strict=True)
        done = sum((add + mul + 2 * fma) * cycle for (add, mul, fma), cycle in pairs)  # type: ignore[operator,misc]
        return 2 * done if double else done

    return count


def intensity(work: Formula) -> Formula:
    def ratio(tables: Sequence[Table]) -> float | None:
        done, moved = work(tables), total(tables, *DRAM)
        return done / moved if done is not None and moved else None

    return ratio


def tensor(tables: Sequence[Table]) -> float | None:
    held = [name for name in TENSOR if any(name in table for table in tables)]
    return total(tables, *held) if held else None


def idle_lanes(tables: Sequence[Table]) -> float | None:
    lanes = RATIOS["smsp__thread_inst_executed_per_inst_executed.ratio"](tables)
    return None if lanes is None else 100 * (1 - lanes / LANES)


def used(verb: str) -> Formula:
    """Return the bytes used of those in touched sectors, in percent."""
    mean = times(
        f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{verb}.ratio",
        LD.format("sectors") if verb == "ld" else ST.format("sectors"),
    )
    return lambda tables: None if (found := mean(tables)) is None else 100 * found / SECTOR


def ideal(verb: str, excess: bool = False) -> Formula:
    name = LD if verb == "ld" else ST
    touched = over([name.format("sectors")], [name.format("requests")])

    def per_request(tables: Sequence[Table]) -> float | None:
        part, every = used(verb)(tables), touched(tables)
        if part is None or every is None:
            return None
        least = max(1.0, part / 100 * every)
        return every - least if excess else least

    return per_request


def difference(formula: Formula) -> Formula:
    return lambda tables: None if (found := formula(tables)) is None else 100 - found


def share_of_states(reason: str) -> Formula:
    """Return the share of a stall reason in all warp states: warps in it at each issue, times issues."""

    def share(tables: Sequence[Table]) -> float | None:
        names = sorted({name for table in tables for name in table if re.fullmatch(STALLED.format(r"\w+"), name)})
        states = {name: times(name, [ISSUED])(tables) for name in names}
        whole = sum(value for value in states.values() if value is not None)
        own = states.get(STALLED.format(reason))
        return 100 * own / whole if own is not None and whole else None

    return share


def by_unit(name: str) -> Formula | None:
    """Return the formula of a share of peak, by the cycles of its unit; None for a name that is no such share."""
    found = re.fullmatch(r"(\w+?)__\w+\.(?:avg|sum)\.(?:pct_of_peak_sustained|per_cycle)_(active|elapsed)", name)
    if found:
        unit, when = found.groups()
        if when == "elapsed" and unit in ("lts", "dram"):  # their clocks hardly move: cycles are the time
            return times(name, [f"{unit}__cycles_elapsed.avg"], TIME)
        if unit in ("sm", "smsp", "l1tex"):
            return times(
                name,
                [f"{unit}__cycles_{when}.avg"],
                [f"sm__cycles_{when}.avg"],
                *(ELAPSED if when == "elapsed" else ()),
            )
        return times(name, TIME) if unit == "gpu" else None
    return times(name, TIME) if re.fullmatch(r"\w+\.(?:avg|sum)\.per_second", name) else None


# Ratios without a counter of what is above, and what they are ratios over.
BELOW: dict[str, tuple[str, ...]] = {
    "lts__t_sector_op_read_hit_rate.pct": ("lts__t_sectors_srcunit_tex_op_read.sum",),
    "lts__t_sector_op_write_hit_rate.pct": ("lts__t_sectors_srcunit_tex_op_write.sum",),
    "l1tex__t_sector_hit_rate.pct": tuple(L1_SECTORS),
    "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct": (LD.format("sectors"),),
    "l1tex__t_sector_pipe_lsu_mem_local_op_ld_hit_rate.pct": (L1_SECTORS[4],),
    "smsp__average_warp_latency_per_inst_issued.ratio": (ISSUED,),
    "smsp__thread_inst_executed_per_inst_executed.ratio": ("smsp__inst_executed.sum",),
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": ("smsp__inst_executed.sum",),
    "smsp__sass_average_branch_targets_threads_uniform.pct": ("smsp__inst_executed_op_branch.sum",),
    USED.format("ld"): (LD.format("sectors"),),
    USED.format("st"): (ST.format("sectors"),),
    "idc__request_hit_rate.pct": ("idc__requests.sum",),
}
BRANCHES, INSTRUCTIONS = "smsp__inst_executed_op_branch.sum", "smsp__inst_executed.sum"
# By ncu's name.
RATIOS: dict[str, Formula] = {
    **{name: times(name, below) for name, below in BELOW.items()},
    "dram__bytes.sum.per_second": over(DRAM, ["gpu__time_duration.sum"], NS),
    "lts__t_sector_hit_rate.pct": over(["lts__t_sectors_lookup_hit.sum"], ["lts__t_sectors.sum"], 100),
    "sm__inst_executed.avg.per_cycle_active": over([INSTRUCTIONS], ["sm__cycles_active.sum"]),
    "sm__inst_executed.avg.per_cycle_elapsed": over([INSTRUCTIONS], ["sm__cycles_elapsed.sum"]),
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed": over([ISSUED], ["sm__cycles_elapsed.sum"], 100 / SCHEDULERS),
    "smsp__issue_active.avg.per_cycle_active": over([ISSUED], ["smsp__cycles_active.sum"]),
    "derived__smsp__inst_executed_op_branch_pct": over([BRANCHES], [INSTRUCTIONS]),
}
THEORETICAL, EXCESSIVE = "memory_l2_theoretical_sectors_global", "derived__memory_l1_wavefronts_shared_excessive"
# Ours, by label.
DERIVED: dict[str, Formula] = {
    "DRAM reads": over(DRAM[:1], DRAM, 100),
    "DRAM bytes over time": over(DRAM, ["gpu__time_duration.sum"], NS),
    "L2 bytes over time": over(["lts__t_sectors_srcunit_tex.sum"], ["gpu__time_duration.sum"], SECTOR * NS),
    "L2, busiest part": busiest("lts", L2_UNITS, (["lts__cycles_elapsed.avg"], TIME)),
    "L1, busiest part": busiest("l1tex", L1_UNITS, (["sm__cycles_elapsed.avg"], *ELAPSED)),
    "Sector efficiency, global": over([f"{THEORETICAL}_ideal"], [THEORETICAL], 100),
    "Sector efficiency, global loads": used("ld"),
    "Sector efficiency, global stores": used("st"),
    "Sectors per request, global loads": over([LD.format("sectors")], [LD.format("requests")]),
    "Sectors per request, global stores": over([ST.format("sectors")], [ST.format("requests")]),
    "Ideal sectors per request, loads": ideal("ld"),
    "Ideal sectors per request, stores": ideal("st"),
    "Excess sectors per request, loads": ideal("ld", excess=True),
    "Excess sectors per request, stores": ideal("st", excess=True),
    "Bank conflict ways": over(["memory_l1_wavefronts_shared"], ["memory_l1_wavefronts_shared_ideal"]),
    "Excess wavefronts, shared memory": over([EXCESSIVE], ["memory_l1_wavefronts_shared"], 100),
    "SM imbalance": over(["sm__cycles_active.max"], ["sm__cycles_active.avg"]),
    "SMs active": over(["sm__cycles_active.avg"], ["sm__cycles_elapsed.avg"], 100),
    "SMs idle": difference(over(["sm__cycles_active.avg"], ["sm__cycles_elapsed.avg"], 100)),
    "Idle lanes": idle_lanes,
    "Arithmetic intensity, FP64": intensity(flops("d", False)),
    "Arithmetic intensity, FP32": intensity(flops("f", False)),
    "Arithmetic intensity, FP16": intensity(flops("h", True)),
    "Arithmetic intensity, tensor cores": intensity(tensor),
}  # fmt: skip
LABELS = {row.label: row.names[0] for row in CATALOGUE.values()}  # what terminals and pages call ncu's metrics
CLOCKS = (
    "gpc__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
    "lts__cycles_elapsed.avg.per_second",
)


def of_all_time(formula: Formula | None) -> Formula | None:
    """Return the share of all time of what is a share of the time in which SMs had a warp."""

    def share(tables: Sequence[Table]) -> float | None:
        parts = formula(tables) if formula else None, DERIVED["SMs active"](tables)
        return None if None in parts else math.prod(one for one in parts if one is not None) / 100

    return share


def formula_of(name: str) -> Formula | None:
    """Return the formula of a ratio by ncu's name, our label, or ``stall:`` and a reason; None for what is no ratio."""
    if name.startswith("stall:"):
        return share_of_states(name.removeprefix("stall:"))
    if name.startswith("all:"):
        return of_all_time(by_unit(name.removeprefix("all:")))
    name = name if name in DERIVED else LABELS.get(name, name)
    if re.fullmatch(STALLED.format(r"\w+"), name):
        return times(name, [ISSUED])
    return RATIOS.get(name) or DERIVED.get(name) or by_unit(name)


@dataclass
class Row:
    """A row of a table or a fact of a page: the texts of its cells, and the names that their tooltips have."""

    section: str
    table: str
    cells: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of the cells, empty for one without
    is_head: bool = False


class Page(HTMLParser):
    """Reads the rows of a page, and the text of each section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.text: dict[str, str] = {}
        self._section = self._table = ""
        self._tip = 0  # depth of spans within a tooltip
        self._is_code = self._is_open = self._is_head = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self._section = given.get("id") or ""
        elif tag == "table":
            self._table = given.get("id") or given.get("class") or ""
        elif tag in ("thead", "tbody"):
            self._is_head = tag == "thead"
        elif tag in ("tr", "dt"):
            self.rows.append(Row(self._section, self._table if tag == "tr" else "dl", is_head=self._is_head))
        if tag in ("th", "td", "dt", "dd") and self.rows:
            self.rows[-1].cells.append("")
            self.rows[-1].names.append("")
            self._is_open, self._tip = True, 0
        elif tag == "span":
            self._tip += 1 if self._tip or given.get("class") == "tip" else 0
        self._is_code = tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._is_code = False
        if tag == "span" and self._tip:
            self._tip -= 1
        elif tag in ("th", "td", "dt", "dd", "tr", "table"):
            self._is_open = False

    def handle_data(self, data: str) -> None:
        self.text[self._section] = self.text.get(self._section, "") + data
        if self._is_open and self._tip and self._is_code and not self.rows[-1].names[-1]:
            self.rows[-1].names[-1] = data.strip()
        elif self._is_open and not self._tip:
            self.rows[-1].cells[-1] += data


ROUNDING = 1e-4  # of the cycles of a unit, which are its clock times the time
NUMBER = re.compile(r"(-?[\d,]*\.?\d+)(e[+-]?\d+)?\s*([kMGT](?=B|Hz|\b|flop|inst|sector|cycle|request))?")
PREFIX = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
ALONE = re.compile(r"launch (\d+) alone")


def printed(text: str) -> tuple[float, float] | None:
    """Return a printed number and half of its last digit, both in base units; None for a text without a number."""
    found = NUMBER.search(text)
    if not found:
        return None
    digits, exponent, prefix = found.groups()
    scale = PREFIX.get(prefix or "", 1.0) * 10.0 ** int((exponent or "e0")[1:])
    places = len(digits.partition(".")[2])
    return float(digits.replace(",", "")) * scale, 0.5 * 10.0**-places * scale


@dataclass
class Side:
    """The launches of a run on one workload, with their counters."""

    launches: list[Launch]
    tables: dict[int, Table]

    @property
    def is_of_kernels(self) -> bool:
        return len({one.signature or one.kernel for one in self.launches}) > 1

    def of(self, launch: int | None) -> list[Table]:
        return [self.tables[launch]] if launch is not None else [self.tables[one.index] for one in self.launches]


@dataclass
class Tally:
    """How many ratios were held against their formula, and those that are off."""

    where: str = ""
    held: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def hold(self, name: str, text: str, side: Side, launch: int | None = None) -> None:
        """Hold a printed text against the formula of a metric over the launches of a side, or over one of them."""
        formula, number = formula_of(name), printed(text)
        if formula is None or number is None or text.startswith(("n/a", "-")):
            return
        value, half = number
        if name == "derived__smsp__inst_executed_op_branch_pct" and "%" in text:
            value, half = value / 100, half / 100
        self.held[self.where.partition(" ")[0]] += 1
        if launch is None and side.is_of_kernels and LABELS.get(name, name) not in CLOCKS:
            self.wrong.append(f"{self.where}: {name} {text} of different kernels")
            return
        expected = formula(side.of(launch))
        if (
            expected is None
            or not math.isfinite(expected)
            or abs(value - expected) > 1.001 * half + ROUNDING * abs(expected)
        ):
            self.wrong.append(f"{self.where}: {name} {text.strip()!r}, computed {expected}, launch {launch}")


def hold_page(page: Page, side: Side, tally: Tally) -> None:
    """Hold the page of a run: bars, facts, the tables of all metrics, of the memory chart, and of the occupancy."""
    head: Row | None = None
    stalls = {reason for table in side.tables.values() for reason in _reasons(table)}
    for row in page.rows:
        head = row if row.is_head else head
        found = ALONE.search(page.text.get(row.section, ""))
        launch = int(found[1]) if found else None
        own = next((place for place, name in enumerate(row.names) if name), 0)
        if row.is_head or len(row.cells) < 2:
            continue
        if row.section == "metrics" and head:
            name = row.cells[1] if row.cells[0].startswith("=") else row.cells[0]
            for title, text in zip(head.cells[2:-1], row.cells[2:-1], strict=False):
                of = int(title[1:]) if title.startswith("#") else None
                tally.hold(name.strip(), text, side, of)
        elif row.table == "occupancy-table" and head:
            number = re.match(r"#(\d+)", row.cells[0])
            for name, text in zip(head.names, row.cells, strict=True):
                tally.hold(name, text, side, int(number[1]) if number else None)
        elif row.section in ("speed", "stalls", "occupancy", "mix"):
            name = row.names[0] or row.cells[0].strip()
            reason = row.cells[0].strip().lower().replace(" ", "_")
            is_state = row.section == "stalls" and row.table == "bars" and reason in stalls
            tally.hold(f"stall:{reason}" if is_state else name, row.cells[-1], side, launch)
        elif row.section == "memory" and row.names[own]:
            tally.hold(row.names[own], row.cells[own + 1], side)
            if len(row.cells) > own + 2 and "sysmem" not in row.names[own]:  # of the host it is of what was measured
                tally.hold(f"{row.names[own]}.pct_of_peak_sustained_elapsed", row.cells[own + 2], side)


def hold_diff(page: Page, sides: tuple[Side, Side], tally: Tally) -> None:
    """Hold the page of a diff: the values of both sides in the tables of changes and in the bars."""
    for row in page.rows:
        if row.is_head or row.section not in ("speed", "changes", "warps", "metrics") or len(row.cells) < 3:
            continue
        label = row.cells[0].strip()
        reason = label.removeprefix("Stall: ").replace(" ", "_")
        is_state = label.startswith("Stall: ") or (row.section == "warps" and row.table == "bars")
        name = f"stall:{reason}" if is_state else row.names[0] or label
        texts = row.cells[-1].split("→") if row.table == "bars" else row.cells[1:3]
        if row.section == "speed" and row.names[0].endswith("sustained_active"):
            name = f"all:{name}"  # a share of all time, where the counter is of the time that an SM had a warp
        for side, text in zip(sides, texts, strict=False):
            tally.hold(name, text, side)


def hold_text(text: str, side: Side, tally: Tally) -> None:
    """Hold what `show` prints on a terminal."""
    launch, part, told = None, "", None  # told: of which launch everything below is
    for line in text.splitlines():
        told = int(alone[1]) if (alone := re.match(r"Launch (\d+), ", line)) else told
        title = re.match(r"(Speed of light|Warp states|Counters)", line)
        if title:
            part, found = title[1], ALONE.search(line)
            launch = int(found[1]) if found and part != "Counters" else told
        cells = re.split(r"\s{2,}", line.strip())
        if line.startswith("Occupancy:"):
            for word in ("achieved", "theoretical"):
                if found := re.search(rf"([\d.]+ %) {word}", line):
                    tally.hold(f"{word.capitalize()} Occupancy", found[1], side, launch)
        elif part == "Warp states" and len(cells) > 1 and cells[1].endswith("%"):
            tally.hold(f"stall:{cells[0].replace(' ', '_')}", cells[1], side, launch)
        elif part in ("Speed of light", "Counters") and len(cells) > 1:
            of = re.fullmatch(r"launch (\d+)", cells[2]) if len(cells) > 2 else None
            tally.hold(cells[0], cells[1], side, int(of[1]) if of else launch)


def hold_json(answer: dict[str, Any], side: Side, tally: Tally) -> None:
    """Hold what `show --json` says, all launches together and one by one."""
    for key, one in answer["metrics"].items():
        row = ROWS[key]
        name = row.label if row.label in DERIVED else getattr(row, "names", (row.label,))[0]
        values = {None: one["value"], **(one.get("per_launch") or {})}
        for launch, value in values.items():
            if value is not None:
                tally.hold(name, repr(value), side, _number(launch))
    for launch, stalls in {None: answer["stalls"], **(answer.get("stalls_per_launch") or {})}.items():
        for reason, share in stalls.items():
            tally.hold(f"stall:{reason}", repr(share), side, _number(launch))


def _number(launch: str | None) -> int | None:
    return None if launch is None else int(launch)


def _reasons(table: Table) -> Iterator[str]:
    for name in table:
        if found := re.fullmatch(STALLED.format(r"(\w+)"), name):
            yield found[1]


def side_of(stored: StoredRun, workload: str | None) -> Side:
    """Return the counters of the first profiled call of a workload."""
    launches = [one for one in stored.run.launches if workload in (None, one.workload) and one.repeat == 0]
    frame = stored.metrics()
    own = frame[frame["launch"].isin([one.index for one in launches]) & frame["value"].notna()]
    tables: dict[int, Table] = {}
    for launch, name, value in zip(own["launch"].tolist(), own["metric"].tolist(), own["value"].tolist(), strict=True):
        tables.setdefault(launch, {})[str(name)] = value
    return Side(launches, {one.index: tables.get(one.index, {}) for one in launches})


def hold_run(stored: StoredRun, store: Store | None, tally: Tally, only: str | None = None) -> None:
    """Hold the page of a run, `show` of each of its workloads, and the diff with the version before.

    Of ``only`` one workload, if it is named, nothing but what `show` says.
    """
    workloads: Sequence[str | None] = [one.name for one in stored.run.workloads] or [None]
    profiled = {one.workload for one in stored.run.launches}
    known = [name for name in workloads if (name in profiled or name is None) and only in (None, name)]
    for name in known:
        side, shown = side_of(stored, name), gather(stored, name, store)
        tally.where = f"show {stored.reference} {name or ''}"
        hold_text(show_text(shown, Style(width=300)), side, tally)
        tally.where = f"json {stored.reference} {name or ''}"
        hold_json(show_json(shown), side, tally)
    if only is not None:
        return
    if known:
        tally.where = f"page {stored.reference}"
        hold_page(Page(run_page(stored, store)), side_of(stored, known[0]), tally)
    before = shown.before if known else None
    if before and store:
        tally.where = f"diff {stored.reference}"
        sides = tuple(side_of(one, known[-1]) for one in (before.runs[0], stored))
        if all(side.launches for side in sides):
            text = diff_page((before.runs[0], stored), store, DiffOptions(known[-1]))
            hold_diff(Page(text), (sides[0], sides[1]), tally)


def run(names: Sequence[str]) -> int:
    """Hold what is named; return 0, or 3 where something is off."""
    tally = Tally()
    files = [name for name in names if Path(name).is_file()]
    for report in bare_reports(files, [Path(name) for name in files], None) if files else ():
        hold_run(report, None, tally)
    if not files:
        store = Store(find_project(Path(__file__).parent).reports)
        for stored in store.runs():
            if not names or stored.run.kernel in names:
                hold_run(stored, store, tally)
    held = ", ".join(f"{count} of {what}" for what, count in tally.held.items())
    lines = [*tally.wrong[:MOST], f"ratios held: {held}; off: {len(tally.wrong)}"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 3 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
