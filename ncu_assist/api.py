"""The public Python API: what `show`, `diff`, `bench` and `profile` answer, and reports in pandas, for notebooks.

References are those of the command line: ``kernel/version@run``, ``@last``, ``@best``, or the path of a report. The
project is the one that the current folder stands in, unless ``project`` names a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ncu_assist.analysis.diff import Diff, DiffOptions
from ncu_assist.analysis.history import History
from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.analysis.launches import narrowed
from ncu_assist.analysis.run_view import RunView
from ncu_assist.analysis.trend import By, Trend
from ncu_assist.errors import NoSuchName, NoSuchPlace, UsageProblem, did_you_mean
from ncu_assist.launch_selection import EVERY_LAUNCH, LaunchSelection, can_choose, chosen
from ncu_assist.ncu import report as reports
from ncu_assist.ncu.child import MEMORY_BYTES
from ncu_assist.ncu.report import Report
from ncu_assist.project import Project, find_project
from ncu_assist.quantity import number_of, times_as_fast
from ncu_assist.record import Launch
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.frame.launch_metrics import LaunchMetrics
    from ncu_assist.pipeline.callables import CallableKernel
    from ncu_assist.pipeline.querying import ArchiveFrames
    from ncu_assist.rules.model.of_run import RuleResults

__all__ = [
    "DiagnosedReport",
    "KernelHistory",
    "KernelTrend",
    "MeasuredKernel",
    "RunComparison",
    "RunSummary",
    "archive",
    "bench",
    "diff",
    "explain",
    "history",
    "metrics",
    "profile",
    "read_report",
    "show",
    "trend",
]
Place = str | Path | None
Functions = Callable[..., Any] | Sequence[Callable[..., Any]] | Mapping[str, Callable[..., Any]]
Pair = tuple[StoredRun, StoredRun]


@dataclass(frozen=True, repr=False)
class RunSummary:
    """What `show` says of a run: ``view`` has its facts; text, JSON, page and tables are made when they are asked for.

    ``len`` counts its launches, and an index chooses some: by place, by a slice, by the name of a kernel, ``regex:…``
    or ``nvtx:…``, by a list of these or a mask. They are those of ``workload``, of all without one. A notebook shows
    the answer of its page. ``stored`` is the whole run.
    """

    view: RunView
    stored: StoredRun
    project: Project
    selection: LaunchSelection = EVERY_LAUNCH
    with_lines: bool = False
    workload: str | None = None  # as it was asked for

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """The records of the launches that were chosen."""
        return tuple(
            one
            for one in self.selection.of(self.stored.run.launches)
            if self.workload is None or one.workload == self.workload
        )

    def __len__(self) -> int:
        return len(self.launches)

    def __iter__(self) -> Iterator[RunSummary]:
        """Yield each launch alone."""
        return (self[place] for place in range(len(self)))

    def __contains__(self, which: object) -> bool:
        return can_choose(which, self.launches)

    def __getitem__(self, which: int | slice | str | Iterable[Any]) -> RunSummary:
        """Return some of the launches.

        Raises NoSuchPlace, an IndexError too, and NoSuchName, a KeyError too; both are UsageProblems.
        """
        numbers = tuple(one.index for one in chosen(which, self.launches))
        some = LaunchSelection(only=numbers)
        return _summary(self.stored, self.workload, self.project, some, self.with_lines)

    def __repr__(self) -> str:
        from ncu_assist.render.words.launches import selection_words

        words = selection_words(self.launches, len(self.stored.run.launches))
        on = f" on {self.view.combined.workload}" if self._other_workloads else ""
        damaged = _damaged_words(self.view.left_out)
        return f"<{self.view.reference}: {words}; {self.diagnosis.partition(':')[0] or 'no counters'}{on}{damaged}>"

    def _repr_html_(self) -> str:
        from ncu_assist.render.html.run_verdict import run_box

        return run_box(self.view, self.launches)

    @property
    def diagnosis(self) -> str:
        """What is wrong and what could be won, in a sentence, as `show` says it; empty without counters.

        It is of ``workload``, by default of the first one that was profiled; ``findings`` has all workloads.
        """
        results = self.view.detail.results
        first = results.diagnosis.first if results else None
        if first is None:
            return ""
        won = "" if first.severity == "info" else f", up to {times_as_fast(first.estimated_speedup)}"
        return f"{first.finding.rule}{won}: {first.finding.message}"

    @property
    def _other_workloads(self) -> tuple[str, ...]:
        """The workloads of the launches that ``view`` is not about; none where one was asked for."""
        shown = self.view.combined.workload
        if self.workload is not None or shown is None:
            return ()
        return tuple(dict.fromkeys(one.workload for one in self.launches if one.workload not in (None, shown)))

    @cached_property
    def findings(self) -> pd.DataFrame:
        """What the rules say: a row a finding, workload by workload, what could win most first.

        The workload that ``view`` and ``diagnosis`` are about is first; with ``show(..., workload=)`` it is alone.
        workload, launch, kernel, whole, rule, severity, estimated_speedup, saved_ns, message, advice; file and line of
        the first place to look at, None without ``show(..., lines=True)``. What is ``whole`` is of all launches of the
        workload together, and its first row is ``diagnosis``: there ``launch`` is NA where it is of several,
        ``kernel`` None where they are of several kernels. Then come those of each launch alone, the longest first.
        Raises UsageProblem for a ``workload`` that was timed and not profiled.
        """
        import pandas as pd

        if self.workload is not None and not self.launches and self.stored.whole.launches:
            known = did_you_mean(self.workload, {one.workload or "" for one in self.stored.whole.launches})
            raise UsageProblem(
                f"this run has no launches of workload '{self.workload}'; {known}", "diagnosis, to_text()"
            )
        results = self.view.detail.results
        about = results.facts.combined.launches if results else ()
        calls = {one.call for one in about}
        whole = len(about) == sum(one.call in calls for one in self.stored.whole.launches)
        found = [*_findings(results, whole)] if whole or len(about) > 1 else []
        rows = [row for row in self.view.launches_shown if not found or len(about) > 1]
        found += [one for row in rows for one in _findings(row.results, False)]
        for workload in self._other_workloads:
            other = _summary(self.stored, workload, self.project, self.selection, self.with_lines)
            found += other.findings.astype(object).itertuples(index=False, name=None)
        return pd.DataFrame(found, columns=list(FINDING)).astype({"launch": "Int64", "line": "Int64"})

    @cached_property
    def metrics(self) -> LaunchMetrics:
        """The metrics that were counted: a row a launch, its ``kernel``, then a column a key of `ncu-assist metrics`.

        Values are in base units, which ``attrs["units"]`` has by column; ``.mean(numeric_only=True)`` and
        ``.groupby("kernel")`` are pandas' own. ``["sm__cycles_elapsed.avg"]``, a list of names, or a pattern such as
        ``["dram*"]`` finds what ncu counted beside them, also of some rows, and one name in a group. What pandas
        computed has its columns only: choose such names first. Every one, tidy, is in ``table("metrics")``. Shares of
        stalls are of all states of warps: with the share that issued, which is no column, they add up
        to 100. Raises UsageProblem, a KeyError too, for a name of none, with what may have been meant.
        """
        from ncu_assist.frame.launch_metrics import launch_metrics
        from ncu_assist.ncu.catalogue.rows import ROWS

        by_launch = partial(_by_launch, self.project, self.stored.reference, self.selection, self.workload)
        values = by_launch(list(ROWS)).dropna(axis=1, how="all")
        values.insert(0, "kernel", self.table().set_index("launch")["kernel"])
        values.attrs["units"] = {key: ROWS[key].unit for key in values if key in ROWS}  # which the archive may lack
        return launch_metrics(values, by_launch)

    @cached_property
    def lines(self) -> pd.DataFrame:
        """What each source line cost in each launch, as ``Report.lines``.

        Stalls are counts of samples here, by the names that ``metrics`` has (``stall_gmma``, where ncu's samples and
        ``table("lines")`` say ``stall_warpgroup_arrive``). A ``…_not_issued`` is the part of its reason in which the
        scheduler issued nothing, and no reason beside it; with ``stall_selected``, which is no stall, reasons add up to
        ``samples``. Of a few dozen samples a share can be 20 points off. Without line numbers ``file`` and
        ``line`` are NA, without its text ``source``: ``groupby(…, dropna=False)`` keeps such rows. A recorded run
        keeps the report of one workload: ``attrs["notes"]`` says how many launches are missing here.
        Raises UsageProblem without a report, and where the one that is kept has none of the launches chosen.
        """
        from ncu_assist.ncu.catalogue.stalls import as_counted

        return self.table("lines").rename(columns=as_counted)

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """The samples that ncu took over time, as ``Report.timeline``; no rows where it took none.

        They go on after the launch has ended: ``time_ns`` up to its ``duration`` of ``metrics`` is of the launch.
        """
        return self.table("timeline")

    def table(self, name: str = "launches", *metrics: str) -> pd.DataFrame:
        """Return what ``export --table`` writes: launches, metrics, instances, rules, lines, sass and others.

        ``metrics`` are columns of ``launches``, or rows: keys of `ncu-assist metrics` such as ``dram_bytes``, ncu's
        names, patterns with ``*``. Raises UsageProblem for what there is not, with what may have been meant.
        """
        return _table(self.project, self.stored.reference, self.selection, self.workload, metrics, name)

    def plot(self, kind: str = "roofline", ax: Any = None) -> Any:
        """Draw ``roofline``, ``stalls`` or ``timeline`` into matplotlib axes, new ones unless given; return them.

        It is of one workload: ``workload``, by default the first one that was profiled. The title names it, and the
        launches that are drawn: all of a call, else the one to look at first, or the longest.
        """
        from ncu_assist.ncu.tables import sampled_metrics
        from ncu_assist.render.plots import plot_run

        sampled = sampled_metrics(self.timeline) if kind == "timeline" else ()
        return plot_run(self.view, kind, sampled, ax)

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal.run import show_text
        from ncu_assist.render.terminal.style import Style

        return show_text(self.view, Style())

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json.run import show_json

        return show_json(self.view)

    def to_html(self, redact: bool = True) -> str:
        """Return the page of the run, whole in one file, with details of ``workload`` where one was asked for.

        ``redact`` takes out who measured it and where.
        """
        from ncu_assist.pipeline.pages.run import run_page

        some = narrowed(self.stored, self.selection)
        return run_page(some, Store(self.project.reports), linked=False, redact=redact, workload=self.workload)


def _table(
    project: Project,
    reference: str,
    selection: LaunchSelection,
    workload: str | None,
    metrics: Sequence[str],
    name: str = "launches",
) -> pd.DataFrame:
    from ncu_assist.pipeline.exporting import TABLES, export

    if name not in TABLES:
        raise UsageProblem(f"there is no table '{name}'; {did_you_mean(name, TABLES)}", 'table("launches")')
    if name == "session":
        selection, workload = EVERY_LAUNCH, None
    try:
        made = export(project, reference, name, tuple(metrics), selection=selection, workload=workload, redact=False)
    except UsageProblem as error:
        raise UsageProblem(error.message, HINTS.get(error.hint, error.hint.removeprefix("--metrics "))) from error
    said = {"notes": made.notes, "units": made.units}
    made.frame.attrs |= {name: words for name, words in said.items() if words}
    return made.frame


def _by_launch(
    project: Project, reference: str, selection: LaunchSelection, workload: str | None, names: Sequence[str]
) -> pd.DataFrame:
    """Return metrics by launch; on its own, so that a frame that asks it later can be pickled."""
    frame = _table(project, reference, selection, workload, names).set_index("launch")
    found = frame[[*frame.columns][[*frame.columns].index("duration_ns") + 1 :]]
    found.attrs["units"] = {name: unit for name, unit in found.attrs.get("units", {}).items() if name in found}
    return found


HINTS = {
    "--table metrics or --table launches": 'table("metrics") or table("launches")',
    "leave out --metrics": "no metrics",
    "drop --metrics": "no metrics",
    "drop --workload": "show() without workload=",
    "ncu-assist metrics": 'ncu_assist.metrics("PART OF A NAME")',
}
FINDING = (
    *("workload", "launch", "kernel", "whole", "rule", "severity", "estimated_speedup", "saved_ns"),
    *("message", "advice", "file", "line"),
)
STEP = (
    *("version", "before", "workload", "fault", "rule", "detail", "estimated_speedup", "assumed", "low", "high"),
    *("achieved", "achieved_by", "judged", "tool"),
)
METRIC = ("group", "key", "label", "unit", "meaning", "better", "exact", "name")
CHANGE = ("metric", "label", "unit", "baseline", "candidate", "delta", "verdict", "role")


def _findings(results: RuleResults | None, whole: bool) -> Iterator[tuple[object, ...]]:
    if results is None:
        return
    launches = results.facts.combined.launches
    kernels = {one.kernel for one in launches}
    of = launches[0].index if len(launches) == 1 else None, kernels.pop() if len(kernels) == 1 else None
    for one in results.diagnosis.findings:
        said, place = one.finding, next(iter(one.places), None)
        win = (one.severity, one.estimated_speedup, one.saved_ns)
        where = (place.file, place.line) if place else (None, None)
        yield launches[0].workload, *of, whole, said.rule, *win, said.message, said.full_advice, *where


@dataclass(frozen=True, repr=False)
class RunComparison:
    """What `diff` says of two runs: ``diff`` has all of it, ``verdict`` which is faster.

    ``len`` counts the metrics of ``changes``; an index is a place among them, or the key of a metric or its label.
    """

    diff: Diff
    runs: Pair = field(repr=False)
    project: Project = field(repr=False)
    options: DiffOptions = field(repr=False)

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[pd.Series[Any]]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, which: int | str) -> pd.Series[Any]:
        """Return the row of one metric; raises NoSuchPlace, an IndexError too, or NoSuchName, a KeyError too."""
        if isinstance(which, str):
            names = [*self.changes["metric"], *self.changes["label"]]
            if not names:
                raise NoSuchName(f"nothing was compared but times: {self._why_empty()}", ".verdict")
            if which not in names:
                told = "it is compared by every=True, if both have it" if "__" in which else did_you_mean(which, names)
                hint = "diff(…, every=True) compares all metrics" if not self.options.every else "a metric of .changes"
                raise NoSuchName(f"this diff has no metric '{which}'; {told}", hint)
            return self.changes.iloc[names.index(which) % len(self)]
        if not -len(self) <= which < len(self):
            raise NoSuchPlace(f"{which} is no place among {len(self)} metrics", "a place in .changes")
        return self.changes.iloc[which]

    @property
    def verdict(self) -> Verdict:
        return self.diff.verdict

    @property
    def workload(self) -> str | None:
        """What both were measured on; None where a report, or two launches, know of no workload."""
        return self.diff.workload

    @property
    def diagnosis(self) -> str:
        """Which is faster, by how much and how sure that is, in a sentence."""
        from ncu_assist.render.words.verdicts import verdict_line

        return verdict_line(self.diff)

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal.diff import diff_text
        from ncu_assist.render.terminal.style import Style

        return diff_text(self.diff, Style())

    def __repr__(self) -> str:
        return f"<{self.diagnosis}>"

    def _why_empty(self) -> str:
        on = f" on {self.diff.workload}" if self.diff.workload else ""
        without = [
            one.run.version
            for one in self.runs
            if not any(self.diff.workload in (None, launch.workload) for launch in one.run.launches)
        ]
        have = "have" if len(without) > 1 else "has"
        return f"{' and '.join(without)} {have} no counters{on}" if without else f"no counter of both{on}"

    def _repr_html_(self) -> str:
        from ncu_assist.render.html.run_verdict import diff_box

        return diff_box(self.diff)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """What changed, a row a metric that both sides or one of them have, unchanged ones last.

        ``ratio`` is candidate over baseline, 0.5 is half as much; ``delta`` the difference in points where ``unit`` is
        ``%``, else the relative change: 0.1 is 10 % more. ``factor`` is the larger over the smaller, to sort by: 1
        where nothing changed, infinite where one side is 0, NaN where one side has none. ``verdict`` knows for which
        metrics less is better. All are of ``workload``. Without rows, ``attrs["note"]`` says why.
        """
        import numpy as np
        import pandas as pd

        rows = [{name: getattr(one, name) for name in CHANGE} for one in self.diff.changes]
        frame = pd.DataFrame(rows, columns=list(CHANGE))
        sides = frame[["baseline", "candidate"]].astype(float)
        ratio = sides["candidate"] / sides["baseline"].where(sides["baseline"] != 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.abs(np.log(sides["candidate"]) - np.log(sides["baseline"]))
        factor = pd.Series(np.exp(apart), index=frame.index)
        frame.insert(CHANGE.index("delta"), "ratio", ratio)
        frame.insert(CHANGE.index("delta") + 1, "factor", factor.mask(sides["candidate"] == sides["baseline"], 1.0))
        if frame.empty:
            frame.attrs["note"] = self._why_empty()
        frame.insert(0, "workload", pd.Series(self.workload, frame.index, dtype=object))
        last = frame["verdict"].eq("unchanged")
        return pd.concat([frame[~last], frame[last]], ignore_index=True)

    @cached_property
    def lines(self) -> pd.DataFrame:
        """Every source line of both sides, a row a line, what explains most first; reads both reports again.

        ``kind`` is appeared or vanished (in one text only), started or stopped (executed by one side only), kept (among
        the lines around it), moved (its text stands elsewhere) or not-read; ``became`` a word for it: the
        kind, else more or less (time), more excess or less excess; ``beyond_noise`` whether its cost changed by more
        than samples wander. ``baseline_ns`` and ``candidate_ns`` are its time: its share of the warp samples
        times the duration under ncu. No rows where a side keeps no lines.
        """
        from ncu_assist.pipeline.reading import compare_runs
        from ncu_assist.render.export.columns import changed_lines

        return changed_lines(
            self.diff if self.options.lines else compare_runs(self.runs, replace(self.options, lines=True))
        )

    def to_markdown(self) -> str:
        """Return the comment for a pull request."""
        from ncu_assist.render.markdown import diff_markdown

        return diff_markdown(self.diff)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json.diff import diff_json

        return diff_json(self.diff)

    def to_html(self, redact: bool = True) -> str:
        """Return the page, whole in one file; ``redact`` takes out who measured the runs and where."""
        from ncu_assist.pipeline.pages.diff import diff_page

        return diff_page(self.runs, Store(self.project.reports), self.options, redact=redact)


@dataclass(frozen=True, repr=False)
class MeasuredKernel:
    """What `bench` or `profile` came to: ``outcome`` has a run of each version, or why there is none.

    ``len`` counts the versions that have a run, measured now or recorded. An index is a place among them, a version
    (``v1``, ``v1_fused``) or the name of a function, and gives what `show` says of its run.
    """

    outcome: KernelOutcome
    command: Literal["bench", "profile"]
    project: Project = field(repr=False)
    workload: str | None = None

    @property
    def versions(self) -> tuple[str, ...]:
        """The names of the versions that have a run."""
        return tuple(one.version for one in self.outcome.versions if one.run)

    def __len__(self) -> int:
        return len(self.versions)

    def __iter__(self) -> Iterator[RunSummary]:
        return (self[name] for name in self.versions)

    def __getitem__(self, which: int | str) -> RunSummary:
        """Return what `show` says of one version; raises NoSuchPlace, an IndexError too, or NoSuchName, a KeyError."""
        if isinstance(which, int):
            if not -len(self) <= which < len(self):
                raise NoSuchPlace(f"{which} is no place among {len(self)} versions", "a name of .versions")
            name = self.versions[which]
        else:
            called = {name: (name, *name.split("_", 1)) for name in self.versions}
            name = next((name for name, names in called.items() if which in names), "")
            if not name:
                raise NoSuchName(self._why_not(which, called), f"one of {', '.join(self.versions) or 'none'}")
        stored = next(one.run for one in self.outcome.versions if one.version == name)
        assert stored is not None
        return _summary(stored, self.workload, self.project, EVERY_LAUNCH, False)

    def _why_not(self, which: str, called: Mapping[str, Sequence[str]]) -> str:
        failed = next(
            (one for one in self.outcome.versions if which in (one.version, *one.version.split("_", 1))), None
        )
        if failed is not None:
            return f"{failed.version} has no run: {failed.failure or failed.skipped or 'it was not measured'}"
        near = did_you_mean(which, [name for names in called.values() for name in names])
        return f"{self.outcome.kernel} has no version '{which}' here; {near}"

    @cached_property
    def timings(self) -> pd.DataFrame:
        """A row a version and workload: as in ``archive().timings``, with ``speedup`` over the first version.

        That is of paired samples of one bench, else the ratio of their medians. ``verdict`` is that of `bench` against
        the first, None without one. Raises DamagedData for samples that were changed.
        """
        import pandas as pd

        from ncu_assist.pipeline.querying import ArchiveFrames

        frame = ArchiveFrames([one.run for one in self.outcome.versions if one.run], self.project.reports).timings
        frame = frame[frame["workload"].isin(self.outcome.workloads)].reset_index(drop=True).drop(columns="default")
        runs = {one.version: one.run for one in self.outcome.versions if one.run}
        first = frame.drop_duplicates("workload").set_index("workload")["version"]
        said = {(one.candidate.version, one.workload): one.verdict.verdict for one in self.outcome.diffs}
        pairs = list(zip(frame["version"], frame["workload"], strict=True))
        ratios = [self.outcome.speedup(runs[first[on]], runs[version], on)[0] for version, on in pairs]
        verdicts = pd.Series([said.get(pair) for pair in pairs], dtype=object)
        return frame.assign(speedup=pd.Series(ratios, dtype=float), verdict=verdicts)

    def plot(self, ax: Any = None) -> Any:
        """Draw the median of each version on each workload into matplotlib axes, new ones unless given."""
        from ncu_assist.render.plots import plot_outcome

        return plot_outcome(self.outcome, ax)

    def __repr__(self) -> str:
        failed = [one.version for one in self.outcome.versions if one.failure]
        troubles = f"; failed: {', '.join(failed)}" if failed else ""
        recorded = "; recorded, nothing was measured here" if self.outcome.source == "recorded" else ""
        return f"<{self.outcome.kernel}: {', '.join(self.versions) or 'no version'}{troubles}{recorded}>"

    def _repr_html_(self) -> str:
        from ncu_assist.render.html.run_verdict import outcome_box

        return outcome_box(self.outcome)

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal.style import Style
        from ncu_assist.render.terminal.versions import outcome_text

        return outcome_text(self.outcome, Style())

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json.versions import outcome_json

        return outcome_json(self.outcome, self.command)


@dataclass(frozen=True, repr=False)
class KernelHistory:
    """What `history` says of a kernel: each version against its parent. ``history`` has all of it."""

    history: History

    @cached_property
    def versions(self) -> pd.DataFrame:
        """A row a version and workload that was timed: version, before, gpu, workload, median_ns, speedup, verdict, …

        ``speedup`` and ``verdict`` are against ``before``, ``low`` and ``high`` the 99 % interval of the speed-up;
        ``share_of_floor`` is the least time possible, ``floor_ns``, over the median: 1 is at the floor, which
        ``floor_bound`` sets. Floors are of bandwidths measured in other runs, and some bytes can stay in L2, so that it
        can be a few hundredths above 1. ``finding`` is the rule that could win most; None where it was not profiled.
        """
        import pandas as pd

        from ncu_assist.analysis.faults_gone import findings_of

        names = ("version", "is_peer", "gpu", "workload", "before", "median_ns", "speedup", "verdict", "share_of_floor")
        more = ("low", "high", "floor_ns", "floor_bound", "finding")
        rows = []
        for row in self.history.rows:
            findings = {cell.workload: some[0].rule for cell, some in findings_of(row, self.history)}
            for cell in (one for one in row.cells if one.time_ns):
                verdict, floor = cell.verdict, cell.floor
                rows.append(
                    (
                        *(row.version, row.is_peer, cell.stored.run.gpu if cell.stored else None),
                        *(cell.workload, cell.before, cell.time_ns, cell.speedup),
                        *(verdict.verdict if verdict else None, cell.share_of_floor),
                        *((verdict.low, verdict.high) if verdict else (None, None)),
                        *((floor.ns, floor.bound) if floor else (None, None)),
                        findings.get(cell.workload),
                    )
                )
        return pd.DataFrame(rows, columns=[*names, *more])

    @cached_property
    def steps(self) -> pd.DataFrame:
        """What was promised and what came, on the workload shown: a row a fault that a version mended, or has anew.

        version, before, workload, ``fault`` (gone, lessened, renamed, worse, new), rule, detail (pipe or limiter),
        estimated_speedup (of this fault alone), assumed, low and high (of all that went: if they wasted the same time,
        or each its own; high is NaN where that is more than there was), achieved (speed-up over ``before``),
        achieved_by, judged, tool. What is *new* or *worse* is judged of ``version``, all else of ``before``: *stored*
        when that was archived, or *now* where it keeps no findings. A ``renamed`` fault is found on the same resource
        by another rule; one that is ``lessened`` or ``worse`` is still there, with less or more to win. No rows of a
        step to another program, such as a library's or in another language: no fault was mended there. ``achieved`` is
        of the whole change: where several faults went at once, of all of them. Raises DamagedData for findings that
        were changed.
        """
        import pandas as pd

        from ncu_assist.analysis.faults_gone import faults_gone

        rows = []
        for step in faults_gone(self.history).values():
            fates = {
                "gone": step.gone,
                "lessened": [old for old, _ in step.lessened],
                "renamed": [old for old, _ in step.renamed],
                "worse": [now for _, now in step.worse],
                "new": step.appeared,
            }
            judged = "stored" if step.source == "stored" else "now"
            for fate, one in ((fate, one) for fate, some in fates.items() for one in some if not step.another_program):
                rows.append(
                    (
                        *(step.version, step.before, self.history.shown, fate, one.rule),
                        *(" ".join(one.detail.values()) or None, one.estimated_speedup, one.assumed),
                        *((step.low, step.high) if fate == "gone" else (None, None)),
                        *(step.achieved, step.achieved_by, judged, step.tool),
                    )
                )
        return pd.DataFrame(rows, columns=list(STEP)).astype(dict.fromkeys(("low", "high", "achieved"), float))

    def plot(self, ax: Any = None) -> Any:
        """Draw the median of each version on the workload shown, and the floor, into matplotlib axes."""
        from ncu_assist.render.plots import plot_history

        return plot_history(self.history, _axes(ax))

    def __repr__(self) -> str:
        on = f"{self.history.shown}, {', '.join(self.history.gpus) or 'no GPU'}"
        damaged = _damaged_words(self.history.left_out)
        return f"<{self.history.kernel}: {number_of(len(self.history.rows), 'version')} on {on}{damaged}>"

    def _repr_html_(self) -> str:
        from ncu_assist.render.html.run_verdict import history_box

        return history_box(self.history)

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal.history import history_text

        return history_text(self.history)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json.history import history_json

        return history_json(self.history)


@dataclass(frozen=True, repr=False)
class KernelTrend:
    """What `trend` says of a kernel: its times run after run, and where they changed. ``trend`` has all of it."""

    trend: Trend

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a run, the oldest of each series first: series, gpu, reference, created, median_ns, level_ns, error, …

        version, commit and dirty (NA where no git was), source_sha256, source (live, recorded, imported), driver and
        sm_clock_mhz of the bench; then each counter of ``trend(metrics=)``, NaN where the run has not counted it, in
        the unit that ``attrs["units"]`` has.
        """
        import pandas as pd

        from ncu_assist.ncu.catalogue.rows import ROWS
        from ncu_assist.pipeline.querying import commit_columns
        from ncu_assist.render.words.trend import name_of

        rows = [
            (
                *(name_of(series), series.gpu, one.reference, one.run.created, one.timing.median_ns, level, one.error),
                *(one.run.version, *commit_columns(one.run).values(), one.run.source_sha256, one.run.source),
                *(getattr(one.run.device, "driver", None), one.timing.sm_clock_mhz),
                *(one.counters.get(key) for key in self.trend.metrics),
            )
            for series in self.trend.series
            for one, level in zip(series.points, series.levels_ns, strict=True)
        ]
        names = ("series", "gpu", "reference", "created", "median_ns", "level_ns", "error", "version", "commit")
        more = ("dirty", "source_sha256", "source", "driver", "sm_clock_mhz", *self.trend.metrics)
        frame = pd.DataFrame(rows, columns=[*names, *more]).astype({"dirty": "boolean"})
        frame.attrs["units"] = {key: ROWS[key].unit for key in self.trend.metrics}
        return frame.assign(created=pd.to_datetime(frame["created"], utc=True, format="ISO8601"))

    @cached_property
    def changes(self) -> pd.DataFrame:
        """A row a change, the newest first: series, kind, before, after, change, low, high, runs, per_run, differences.

        ``differences`` says what changed between the two runs, as ``driver: 580 against 575; …``; empty for nothing.
        """
        import pandas as pd

        from ncu_assist.render.words.trend import name_of

        rows = [
            (
                *(name_of(series), one.kind, one.before.reference, one.after.reference),
                *(one.change, one.low, one.high, one.runs, one.per_run),
                "; ".join(f"{each.what}: {each.baseline} to {each.candidate}" for each in one.differences),
            )
            for series, one in self.trend.changes
        ]
        names = ("series", "kind", "before", "after", "change", "low", "high", "runs", "per_run", "differences")
        return pd.DataFrame(rows, columns=list(names))

    def plot(self, ax: Any = None) -> Any:
        """Draw the runs and the levels that they stand at into matplotlib axes."""
        from ncu_assist.render.plots import plot_trend

        return plot_trend(self.trend, _axes(ax))

    def __repr__(self) -> str:
        counts = number_of(len(self.trend.points), "run"), number_of(len(self.trend.changes), "change")
        return f"<{self.trend.kernel} on {self.trend.workload}: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        from ncu_assist.render.html.run_verdict import trend_box

        return trend_box(self.trend)

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal.history import trend_text

        return trend_text(self.trend)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json.history import trend_json

        return trend_json(self.trend)

    def to_html(self) -> str:
        """Return the page, whole in one file."""
        from ncu_assist.render.html.trend import trend_html

        return trend_html(self.trend)


Reference = str | Path | RunSummary | Report


class DiagnosedReport(Report):
    """A report with what `show` says of it, worked out when it is asked for. A notebook shows that first."""

    @cached_property
    def shown(self) -> RunSummary:
        """What ``show`` returns for this report, which is not read again for it."""
        return show(self)

    @property
    def diagnosis(self) -> str:
        """What is wrong and what could be won, as ``RunSummary.diagnosis``."""
        return self.shown.diagnosis

    @property
    def findings(self) -> pd.DataFrame:
        """What our rules say, as ``RunSummary.findings``; ``rules`` has what NVIDIA's say."""
        return self.shown.findings

    def to_html(self, redact: bool = True) -> str:
        """Return the page of the report, as ``RunSummary.to_html``."""
        return self.shown.to_html(redact)

    def _repr_html_(self) -> str:
        return self.shown._repr_html_() + super()._repr_html_()


def read_report(
    path: str | Path, *, timeout_s: float | None = None, memory_bytes: int = MEMORY_BYTES
) -> DiagnosedReport:
    """Return the report in a file, .ncu-rep or a page that ncu printed, CSV or text, plain or compressed.

    It is read in a child process, which may take ``timeout_s`` seconds (None: by the size of the file) and
    ``memory_bytes`` beside the file itself. Raises UsageProblem for no file or another page of a report, DamagedData
    for what is no report, or is cut or inconsistent.
    """
    read = reports.read_report(path, timeout_s=timeout_s, memory_bytes=memory_bytes)
    return DiagnosedReport(**{one.name: getattr(read, one.name) for one in fields(read)})


def show(
    reference: Reference = "@last",
    *,
    workload: str | None = None,
    kernel: str | None = None,
    lines: bool = False,
    project: Place = None,
) -> RunSummary:
    """Return what `show` says of a run; ``lines`` reads its report again, for the source lines of each finding.

    Damaged runs of its kernel are not compared with it, and named in ``view.left_out`` and in the repr. Raises
    UsageProblem for a reference that names nothing, DamagedData for a run whose own files were changed.
    """
    from ncu_assist.pipeline.opened_reports import bare_report, named

    where = _project(project)
    if isinstance(reference, Report):
        stored: StoredRun = bare_report(str(reference.path), reference, kernel)
    else:
        (stored,) = named(where, (_text(reference),), kernel)
    return _summary(stored, workload, where, EVERY_LAUNCH, lines)


def _damaged_words(left_out: Iterable[Damage]) -> str:
    """Return the runs that a result is without; empty if there are none."""
    paths = ", ".join(one.path for one in left_out)
    return f"; damaged: {paths}" if paths else ""


def _summary(
    stored: StoredRun, workload: str | None, project: Project, selection: LaunchSelection, lines: bool
) -> RunSummary:
    from ncu_assist.pipeline.showing import gather

    view = gather(narrowed(stored, selection), workload, Store(project.reports), lines=lines, every=True)
    return RunSummary(view, stored, project, selection, lines, workload)


def diff(
    baseline: Reference,
    candidate: Reference = "@last",
    *,
    workload: str | None = None,
    kernel: str | None = None,
    every: bool = False,
    force: bool = False,
    lines: bool = False,
    project: Place = None,
) -> RunComparison:
    """Return which of two runs is faster, by how much and why; ``every`` compares all metrics.

    ``lines`` reads all source lines of both sides at once, for ``lines`` and ``to_dict``, as ``diff --lines`` does.
    Of runs that ``show`` gave for a ``workload``, that one is compared. ``force`` compares what cannot be compared, and
    says so. Raises as ``show`` does.
    """
    from ncu_assist.pipeline.reading import compare_runs, informed, two_named

    where = _project(project)
    shown = {one.workload for one in (baseline, candidate) if isinstance(one, RunSummary) and one.workload}
    if workload is None and len(shown) > 1:
        raise UsageProblem(f"a diff is of one workload, and not of {' and '.join(sorted(shown))}", "diff(…, workload=)")
    wish = DiffOptions(workload or next(iter(shown), None), None, force, every, lines=lines)
    chosen = [one.selection if isinstance(one, RunSummary) else EVERY_LAUNCH for one in (baseline, candidate)]
    runs, options = two_named(where, (_text(baseline), _text(candidate)), kernel, wish)
    if not all(one.is_of_all for one in chosen):
        runs = (narrowed(runs[0], chosen[0], wish.workload), narrowed(runs[1], chosen[1], wish.workload))
        options = informed(Store(where.reports), runs, wish, free=False)
    return RunComparison(compare_runs(runs, options), runs, where, options)


def history(
    kernel: str | None = None, *, workload: str | None = None, gpu: str | None = None, project: Place = None
) -> KernelHistory:
    """Return how a kernel got faster, version by version, from the archive.

    ``gpu`` is a model, or a part of its name such as ``H100``; without one each version is shown by its newest run,
    whose GPU ``versions`` has. Damaged runs are left out and named in ``history.left_out`` and in the repr. Raises
    UsageProblem as `history` does, and for a GPU that no run is of; DamagedData if every run is damaged.
    """
    from ncu_assist.pipeline import history as histories

    return KernelHistory(histories.history(_project(project), kernel, workload, gpu))


def trend(
    kernel: str | None = None,
    *,
    workload: str | None = None,
    by: By = "version",
    metrics: str | Sequence[str] = (),
    gpu: str | None = None,
    project: Place = None,
) -> KernelTrend:
    """Return how the time of a kernel, or of ``kernel/version``, moved over its runs, by version or by commit.

    ``gpu`` is a model, or a part of its name; without one each model is a series of its own.
    Raises UsageProblem for another ``by``, and as `trend` does.
    """
    from ncu_assist.pipeline import trend as trends

    if by not in get_args(By):
        raise UsageProblem(f"a trend is by version or commit, and not by '{by}'", 'by="version"')

    return KernelTrend(trends.trend(_project(project), kernel, workload, by, _several(metrics), gpu))


def archive(*, project: Place = None) -> ArchiveFrames:
    """Return the runs of the project as tables: ``runs``, ``timings``, ``samples``, ``findings``."""
    from ncu_assist.pipeline.querying import archive_frames

    return archive_frames(_project(project))


def metrics(*patterns: str, chip: str | None = None) -> pd.DataFrame:
    """Return the metrics that `metrics` lists, all without a pattern: group, key, label, unit, meaning and more.

    A pattern is a part of a key, a name of ncu or a label; with a ``*`` it stands for the whole. Where the catalogue
    has nothing, and for a ``chip``, ncu's own names follow, without a key. ``better`` is lower, higher or neither,
    which depends; of ncu's own names it is not known. What a report has values for are the columns of its ``metrics``.
    Raises UsageProblem where nothing matches.
    """
    import pandas as pd

    from ncu_assist.ncu.catalogue.lookup import search
    from ncu_assist.render.json.metrics import metrics_json

    found = metrics_json(search(patterns, chip))
    rows = [
        {**{name: one.get(name) for name in METRIC}, "better": one["better"] or "neither"} for one in found["metrics"]
    ]
    rows += [{"name": one["name"], "unit": one["unit"]} for one in found["names"]]
    return pd.DataFrame(rows, columns=list(METRIC))


class Explanation(str):
    """What `explain` says; a notebook shows it as it is printed, and not as a quoted string."""

    __slots__ = ()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def explain(name: str) -> Explanation:
    """Return what `explain` says of a metric, a stall reason, a rule or a word of the field.

    Raises UsageProblem, with the nearest name, where nothing is called so.
    """
    from ncu_assist.pipeline.explaining import explain_any
    from ncu_assist.render.terminal.metrics import explain_text
    from ncu_assist.render.terminal.style import Style

    return Explanation(explain_text(explain_any(name), Style()))


def bench(
    kernel: str | Functions,
    versions: str | Sequence[str] = (),
    *,
    inputs: Any = None,
    workloads: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    flops: float | Callable[..., float] | None = None,
    name: str | None = None,
    workload: str | None = None,
    rounds: int | None = None,
    again: bool = False,
    project: Place = None,
) -> MeasuredKernel:
    """Check versions of a kernel and time them against each other, interleaved round by round.

    ``kernel`` is a folder's name, or Python functions: one, a list, or a mapping of names to them. They are called in
    a child process with ``inputs``, a tuple, or a function of a workload's integers that returns one, and return
    their results, which are held against those of ``reference``, by default the first function. ``workloads`` are
    ``{"large": {"n": 4096}}``, or ``{"n": [1024, 4096]}`` for a workload each. ``rtol`` and ``atol`` are by default
    those of torch.testing.assert_close; ``flops`` are a call's operations, a number or a function of the integers.
    The runs are archived under ``name``, by default that of the first function.
    Of a folder's versions only those that changed since they were measured here are measured, unless ``again``.

    What comes back has ``timings``, ``plot()``, and by a function's name its run, with what ``show`` has of one.

    Raises UsageProblem for names that there are not, and for a function that cannot be pickled; EnvironmentProblem
    where nothing can be measured.
    """
    from ncu_assist.pipeline import planning

    given = _given(kernel, inputs, workloads, name, reference=reference, rtol=rtol, atol=atol, flops=flops)
    where, several = _project(project), workload or (None if isinstance(given, str) else "all")
    chosen = _several(versions) or (() if isinstance(given, str) else given.shorts)
    request = planning.MeasureRequest(given, chosen, several, rounds, again=again)
    return MeasuredKernel(planning.bench(where, request, _Silent()), "bench", where, workload)


def profile(
    kernel: str | Functions,
    versions: str | Sequence[str] = (),
    *,
    inputs: Any = None,
    workloads: Mapping[str, Any] | None = None,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    flops: float | Callable[..., float] | None = None,
    name: str | None = None,
    workload: str | None = None,
    section_set: str = "full",
    rounds: int | None = None,
    repeats: int = 1,
    again: bool = False,
    project: Place = None,
) -> MeasuredKernel:
    """Build, check, time and profile versions of a kernel, all unless named, and archive a run of each.

    Takes what ``bench`` takes. Where there is no GPU or no ncu, recorded runs of a kernel folder answer. Raises
    UsageProblem for a kernel, version or workload that does not exist, EnvironmentProblem where nothing can be
    measured and nothing is recorded.
    """
    from ncu_assist.ncu.command import ProfileOptions
    from ncu_assist.pipeline import planning

    given = _given(kernel, inputs, workloads, name, reference=reference, rtol=rtol, atol=atol, flops=flops)
    where, several = _project(project), workload or (None if isinstance(given, str) else "all")
    request = planning.MeasureRequest(given, _several(versions), several, rounds, repeats=repeats, again=again)
    outcome = planning.profile(where, request, ProfileOptions(section_set), _Silent())
    return MeasuredKernel(outcome, "profile", where, workload)


def _given(
    kernel: str | Functions, inputs: Any, workloads: Mapping[str, Any] | None, name: str | None, **rest: Any
) -> str | CallableKernel:
    from ncu_assist.pipeline.callables import callable_kernel

    are_functions = callable(kernel) or (isinstance(kernel, Iterable) and not isinstance(kernel, str | bytes))
    if not isinstance(kernel, str) and not are_functions:
        raise UsageProblem(f"a kernel is the name of its folder or Python functions, not {kernel!r}", 'bench("KERNEL")')
    if not isinstance(kernel, str):
        return callable_kernel(kernel, inputs, workloads, name, **rest)
    unfit = [key for key, value in {"inputs": inputs, "workloads": workloads, "name": name, **rest}.items() if value]
    if unfit:
        raise UsageProblem(f"{unfit[0]}= is for Python functions; {kernel} has that in its folder", "workload=NAME")
    return kernel


class _Silent:
    """A reporter that says nothing."""

    def note(self, text: str) -> None:
        """Drop a line that would stay."""

    def status(self, text: str) -> None:
        """Drop a live line."""


def _project(place: Place) -> Project:
    if place is not None and not Path(place).is_dir():
        raise UsageProblem(f"there is no folder {place}", "project=, a folder of a project")
    return find_project(Path.cwd() if place is None else Path(place))


def _several(words: str | Sequence[str]) -> tuple[str, ...]:
    """Return words that were given; one alone needs no list around it."""
    return (words,) if isinstance(words, str) else tuple(words)


def _axes(ax: Any) -> Any:
    """Return axes of matplotlib, or None. Raises UsageProblem for the kind of a plot: only a run has several."""
    if isinstance(ax, str):
        raise UsageProblem(f"this has one kind of plot, and ax= are matplotlib axes, not '{ax}'", "plot()")
    return ax


def _text(reference: Reference) -> str:
    """Return a reference as it would be typed; that of a run in the archive names this very run."""
    if not isinstance(reference, str | Path | RunSummary | Report):
        raise UsageProblem(f"{reference!r} is no reference of a run", 'show("KERNEL/VERSION"), or show() for the last')
    if isinstance(reference, RunSummary):
        return reference.stored.reference
    return str(reference.path if isinstance(reference, Report) else reference)
