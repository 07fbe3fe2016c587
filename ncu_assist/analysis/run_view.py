"""What is shown of a run: its record, its times, its counters and what the rules say, gathered for every format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ncu_assist.analysis.launches import (
    LaunchGroup,
    LaunchRow,
    Payoff,
    check_workload,
    launch_groups,
    most_winnable,
    payoffs,
)
from ncu_assist.analysis.yardstick import AgainstYardstick
from ncu_assist.ceilings import Ceilings, Floor, floor_of
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS
from ncu_assist.ncu.source.contents import STALL_COLUMN
from ncu_assist.ncu.source.tables import told_apart
from ncu_assist.rules.model.resources import Bottleneck, bottleneck
from ncu_assist.rules.model.warp_roles import waits_for_room
from ncu_assist.spec import ALL

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.frame import Combined
    from ncu_assist.ncu.code import Code
    from ncu_assist.ncu.line_sums import HotSpots
    from ncu_assist.ncu.report import NvidiaFinding
    from ncu_assist.ncu.tables import SampledMetric
    from ncu_assist.record import Check, InL2, Run, Source, Timing, WorkloadFacts
    from ncu_assist.rules.model.of_run import RuleResults
    from ncu_assist.store import Damage, StoredRun
    from ncu_assist.verdict import Verdict

LINK = "host_link_busy"
BARS = ("sm_throughput", "memory_throughput", "l1_cache_throughput", "l2_cache_throughput", "dram_throughput", LINK)


def throughputs(combined: Combined) -> list[tuple[str, float]]:
    """Return the keys and values that were counted; the link to the host only where something crossed it."""
    known = [(key, value) for key in BARS if (value := combined.values[key]) is not None]
    return [(key, value) for key, value in known if value or key != LINK]


MOST_OF_TIME = 0.5  # of all launches: what goes there is what a reader asks about first
NOTABLE = 0.05  # of the bytes: less, staying in L2, hardly changes a rate


@dataclass(frozen=True)
class WorkloadRow(AgainstYardstick):
    """One workload of a run: its check, its times, and what they come to; None where something was not stored.

    ``share_of_copy`` is the time of a device copy of the same bytes over the time of the version: 1 is as fast. Where
    bytes have to come from the host, the rate is of those, and ``share_of_link`` the time of the copy engine for them.
    ``in_l2`` is what of the data fits in the ``l2_bytes`` of the GPU: the copy's does too, but a rate would be none of
    DRAM, so there is no ``bytes_per_second``. ``floor`` is the least time, None where no rate of it is known.
    """

    workload: WorkloadFacts
    check: Check | None
    timing: Timing | None
    bytes_per_second: float | None
    flops_per_second: float | None
    share_of_copy: float | None
    share_of_link: float | None = None
    in_l2: InL2 | None = None
    l2_bytes: int | None = None
    floor: Floor | None = None


def gigabytes_per_second(row: WorkloadRow | None) -> str:
    """Return the rate of a workload in GB/s without the unit, ``-`` where there is none; a host link's to a tenth."""
    if row is None or row.bytes_per_second is None:
        return "-"
    digits = 0 if row.workload.host_bytes is None else 1
    return f"{row.bytes_per_second / 1e9:.{digits}f}"


@dataclass(frozen=True)
class ParentVerdict:
    """The version before the one shown, by number, that was timed on the workload, and the verdict against it.

    ``runs`` are the two that the verdict is of, the version before first.
    """

    version: str
    verdict: Verdict
    runs: tuple[StoredRun, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class CloseLook:
    """What only the report of a run says: the hot lines, the code behind findings, NVIDIA's findings.

    None for what was not asked for, or is not there: ``spots.note`` and ``note`` say why. ``texts`` are files whole, by
    the names that lines have: those that ncu imported, else the run's own; ``kept`` names the latter. ``timeline`` is
    what ncu sampled while launches ran, by their numbers; ``waits`` are samples by stall reason of those whose code was
    read, with waits apart that ncu books under another.
    """

    spots: HotSpots | None = None
    code: Code | None = field(default=None, repr=False)
    nvidia: tuple[NvidiaFinding, ...] | None = None
    note: str = ""
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    kept: frozenset[str] = frozenset()
    timeline: tuple[SampledMetric, ...] = field(
        default=(), repr=False
    )  # as Report.timeline, by the numbers of launches
    waits: Mapping[int, Mapping[str, float]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class RunView:
    """A run ready to be shown; ``combined`` holds the counters of one workload, ``launches`` all that were asked for.

    ``profiled`` is how many launches the run has of which these are some. ``left_out`` are the damaged runs of its
    kernel, which it is not compared with.
    """

    run: Run
    reference: str
    source: Source
    rows: tuple[WorkloadRow, ...]
    combined: Combined
    bottleneck: Bottleneck | None
    launches: tuple[LaunchRow, ...]
    keeps_report: bool  # with source lines and NVIDIA's findings in it
    results: (
        RuleResults | None
    )  # what the rules say of the launches that ``combined`` is about, or of one kernel of them
    before: ParentVerdict | None = None
    library: ParentVerdict | None = None  # the fastest version of a library or framework, likewise
    ceilings: Ceilings | None = None
    close: CloseLook = CloseLook()
    profiled: int = 0
    left_out: tuple[Damage, ...] = ()

    @property
    def launches_shown(self) -> tuple[LaunchRow, ...]:
        """The launches of the workload that ``combined`` is about, of a program of its first run; the longest first."""
        about = self.combined.workload
        own = self._of_a_call if about is None else [row for row in self.launches if row.launch.workload == about]
        return tuple(sorted(own, key=lambda row: -(row.launch.duration_ns or 0.0)))

    @cached_property
    def stalls(self) -> dict[str, float]:
        """``Combined.stalls`` with waits apart that ncu books under one reason, as the code of the launches tells."""
        sums: dict[str, float] = {}
        for one in self.combined.launches:
            own = self.close.waits.get(one.index, {})
            scale = (one.duration_ns or 1.0) / (sum(own.values()) or 1.0)
            for reason, samples in own.items():
                sums[reason] = sums.get(reason, 0.0) + samples * scale
        return told_apart(self.combined.stalls, sums) if sums else self.combined.stalls

    def lines_of_stall(self, reason: str) -> list[tuple[str, int, float]]:
        """Return file, line and share of the lines with most samples of a stall reason; none where no line was read."""
        code = self._code
        known = STALL_REASONS.get(reason)
        name = STALL_COLUMN + (known.sampled_as or reason if known else reason)
        if code is None or name not in code or not (whole := float(code[name].sum())):
            return []
        sums = code.groupby(["file", "line"], observed=True)[name].sum().sort_values(ascending=False, kind="stable")
        rows = sums[sums > 0].reset_index().itertuples(index=False, name=None)
        return [(str(file), int(line), float(value) / whole) for file, line, value in rows if file]

    @cached_property
    def room_share(self) -> float:
        """The part of waits at mbarriers of warps that only load, and wait for room; 0 where no code was read."""
        return 0.0 if self._code is None else waits_for_room(self._code)

    @property
    def _code(self) -> pd.DataFrame | None:
        code = self.close.code
        return None if code is None else code.of([one.index for one in self.combined.launches]).sass

    @cached_property
    def groups(self) -> tuple[LaunchGroup, ...]:
        """The rows of the launch table: of the workload shown, those of its first call."""
        return launch_groups(self._of_a_call)

    @cached_property
    def payoffs(self) -> tuple[Payoff, ...]:
        """What would pay across all launches of the table, the most winnable time first."""
        return payoffs(self._of_a_call)

    @cached_property
    def focus(self) -> LaunchRow | None:
        """The launch that details are shown of, where they are of one: it was asked for, or it has the most winnable
        time of those that the change is for that pays most over all of them. Where that change is to how several
        kernels are called, none of them shows it, and it is the launch with the most winnable time by itself.

        Where most of the time goes to launches of one row that are farther above their floors, for no known cause, than
        that change wins, it is one of these. None for the launches of a call on a workload, which are one piece of
        work, and where there are none.
        """
        rows = self._of_a_call
        if len(rows) > 1 and self.combined.workload is not None:
            return None
        best = self.payoffs[0] if self.payoffs else None
        won = best.winnable_ns if best else 0.0
        for group in self.groups:
            if (group.unexplained_ns or 0.0) > won and (group.share or 0.0) > MOST_OF_TIME:
                return max(group.rows, key=lambda row: row.unexplained_ns or 0.0)
        return best.worst if best and best.kernels == 1 else most_winnable(rows)

    @cached_property
    def detail(self) -> RunView:
        """What details are shown of: one launch, or the launches of a call on a workload together."""
        return self if self.focus is None or len(self._of_a_call) == 1 else self.of_launch(self.focus)

    def of_launch(self, row: LaunchRow) -> RunView:
        """Return what is shown of one launch alone."""
        alone = self.combined.only([row.launch])
        return replace(self, combined=alone, bottleneck=bottleneck(alone.values), launches=(row,), results=row.results)

    @cached_property
    def counted(self) -> RunView:
        """What ratios, stalls, roofline and occupancy are shown of: one launch alone, or a call on a workload.

        That is the launch in ``focus``, or of different kernels the one that stands for the call.
        """
        if self.focus is not None:
            return self.detail
        if not self.combined.is_of_kernels:
            return self
        alone = self.combined.representative.launches[0].index
        return self.of_launch(next(one for one in self.launches if one.launch.index == alone))

    @property
    def _of_a_call(self) -> tuple[LaunchRow, ...]:
        if self.combined.workload is None and not any(row.launch.repeat for row in self.launches):
            return self.launches
        own = {one.index for one in self.combined.launches}
        return tuple(row for row in self.launches if row.launch.index in own)

    @property
    def row(self) -> WorkloadRow | None:
        """The times of the workload that ``combined`` is about; None for a program that knows of no workloads."""
        return next((row for row in self.rows if row.workload.name == self.combined.workload), None)


def workload_row(run: Run, facts: WorkloadFacts, ceilings: Ceilings | None = None) -> WorkloadRow:
    """Return one workload of a run with the rates that its median comes to, and the least time by ``ceilings``."""
    timing = run.timing(facts.name)
    seconds = timing.median_ns * 1e-9 if timing else None
    copy, link = (timing.copy_ns, timing.link_ns) if timing else (None, None)
    kept = in_l2(facts, run)
    whole = facts.algorithmic_bytes if facts.host_bytes is None else facts.host_bytes
    moved = whole if kept is None else None
    return WorkloadRow(
        workload=facts,
        check=next((check for check in run.checks if check.workload == facts.name), None),
        timing=timing,
        bytes_per_second=moved / seconds if seconds and moved else None,
        flops_per_second=facts.flops / seconds if seconds and facts.flops else None,
        share_of_copy=copy * 1e-9 / seconds if seconds and copy else None,
        share_of_link=link * 1e-9 / seconds if seconds and link else None,
        in_l2=kept,
        l2_bytes=run.device.l2_bytes if run.device else None,
        floor=floor_of(facts, ceilings, run),
    )


def in_l2(facts: WorkloadFacts | None, run: Run) -> InL2 | None:
    """Return what of a workload's data DRAM need not have moved when a call ends: all of it, or what it writes.

    None where it has to move it, and for inputs that come from the host, as the link then sets the pace. Also a call
    that starts with a cold L2 leaves there what it wrote last.
    """
    l2_bytes = run.device.l2_bytes if run.device else None
    if not l2_bytes or facts is None or facts.host_bytes is not None:
        return None
    moved, written = facts.algorithmic_bytes or 0, facts.written_bytes
    if not moved:
        return None
    if moved <= l2_bytes:
        return "all"
    return "written" if written and NOTABLE * moved <= written <= l2_bytes else None


def shown_workload(run: Run, wanted: str | None, whole: Run | None = None) -> str | None:
    """Return the workload whose counters are shown: the one wanted, else the first with counters; None without any.

    Where there are no counters at all, it is the first that has a time. ``whole`` is the run with all launches where
    ``run`` has only some. Raises UsageProblem for one that it lacks.
    """
    profiled, names = {launch.workload for launch in run.launches}, [facts.name for facts in (whole or run).workloads]
    again = f"ncu-assist show {run.kernel}/{run.version}@{run.run_id}"
    if whole is not None and whole is not run:
        names = [name for name in names if name in profiled]
        if wanted is not None:
            try:
                check_workload(run, whole, wanted)
            except UsageProblem as error:
                more = f" --workload {wanted}" if error.hint.startswith("--launch") else ""
                hint = f"{again} {error.hint}{more}" if error.hint.startswith("--") else error.hint
                raise UsageProblem(error.message, hint) from error
    if wanted is not None and not names:
        raise UsageProblem(f"{run.version} has no workloads, so there is no '{wanted}'", "leave out --workload")
    if wanted is not None and wanted not in names:
        about = "one workload is shown at a time" if wanted == ALL else did_you_mean(wanted, names)
        message = f"{run.kernel}/{run.version} was not measured on workload '{wanted}'; {about}"
        raise UsageProblem(message, f"{again} --workload {names[0]}")
    timed = {one.workload for one in run.timings}
    first = next((name for name in names if name in (profiled & {*names} or timed)), names[0] if names else None)
    return wanted or first
