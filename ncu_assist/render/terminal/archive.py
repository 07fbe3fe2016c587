"""What an archive holds on a terminal: kernels and versions, baselines, damage, the pages that were written."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, UNREADABLE, KernelListing, VersionOutcome
from ncu_assist.quantity import duration, number_of
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.terminal.style import (
    GAP,
    NARROWEST_COLUMN,
    Style,
    broken_lines,
    detected,
    is_torn,
    styled,
    table,
    to_text,
)
from ncu_assist.render.words.floors import library_sentence
from ncu_assist.render.words.values import query_cell, shown_path
from ncu_assist.render.words.verdicts import origin

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from ncu_assist.analysis.archive import (
        BaselineInForce,
        Merged,
        Packed,
        PrunePlan,
        QueryResult,
        Written,
        WrittenPage,
    )
    from ncu_assist.analysis.records import ArchivedRun, Damage
    from ncu_assist.render.table import Align

MOST_LETTERS = 200  # of a value
TO_SET = "if none is set, it is v0; to set one: ncu-assist baseline set KERNEL/VERSION"


def baseline_text(shown: BaselineInForce, style: Style | None = None) -> str:
    """Return which run ``@baseline`` names, since when, and what is known of it."""
    if shown.run is None:
        return to_text([styled(line) for line in _no_baseline(shown)], style)
    lines = [styled(one_line(shown.run.reference), "bold"), styled(_since_when(shown))]
    lines += [styled(_origin_and_time(shown.run), "dim")]
    lines += [styled(f"note: {one_line(text)}", "red") for text in _failed_checks(shown.run)]
    return to_text(lines, style)


def baselines_text(every: Sequence[BaselineInForce], style: Style | None = None) -> str:
    """Return the baseline of each kernel, a line each, and below them what keeps a kernel from having one."""
    if not every:
        return to_text([styled("there are no kernels: no kernels/*/kernel.toml and no run in reports/")], style)
    made = table(("kernel", "left"), ("baseline", "left"), ("set", "left"), ("time", "left"))
    for one in every:
        version = one.run.run.version if one.run else "-"
        since = one.since[:10] if one.since else "yes" if one.is_set else "no"
        made.add_row(*(one_line(text) for text in (one.kernel, version, since, _default_time(one.run) or "-")))
    parts: list[RenderableType] = [made]
    for one in every:
        if one.exit_code:
            lines = [f"{one_line(one.kernel)}: {one_line(one.missing)}", f"try: {one_line(one.to_set)}"]
        else:
            lines = [] if one.run else _no_baseline(one)
        parts += [styled(line, "red" if one.exit_code else "") for line in lines]
    return to_text([*parts, styled(TO_SET, "dim")], style)


def _no_baseline(shown: BaselineInForce) -> list[str]:
    """Return that a kernel has no baseline, why, and how it gets one."""
    set_ = "the one that was set is cleared" if shown.cleared else "none is set"
    lines = [f"{one_line(shown.kernel)} has no baseline: {set_}, and {one_line(shown.missing)}"]
    return [*lines, *([f"try: {one_line(shown.to_set)}"] if shown.to_set else [])]


def query_text(found: QueryResult, style: Style | None = None) -> str:
    """Return the rows of a query, numbers to the right; where columns would be torn, each row as a block of lines."""
    style = style or detected()
    headings = [one_line(name) for name in found.columns]
    rows = [[one_line(query_cell(value), MOST_LETTERS) for value in row] for row in found.rows]
    cells = [[row[place] for row in rows] for place in range(len(headings))]
    if is_torn(headings, cells, style.width):
        return "\n".join(_block(headings, row, style.width) for row in rows or [[""] * len(headings)])
    numbers = [
        all(isinstance(row[place], int | float | None) for row in found.rows) for place in range(len(found.columns))
    ]
    made = table(*((name, "right" if is_number else "left") for name, is_number in zip(headings, numbers, strict=True)))
    for row in rows:
        made.add_row(*row)
    return to_text([made], style)


def _block(headings: Sequence[str], row: Sequence[str], width: int) -> str:
    """Return a row as a line for each column, its name before its value."""
    size = max(map(len, headings)) + GAP
    lines = []
    for name, value in zip(headings, row, strict=True):
        first, *rest = broken_lines(value, max(width - size, NARROWEST_COLUMN))
        lines += [f"{name:{size}}{first}", *(f"{'':{size}}{line}" for line in rest)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def query_csv(found: QueryResult) -> str:
    """Return the rows of a query as CSV, whole; what is absent is empty."""
    sink = StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(["" if value is None else value for value in row] for row in found.rows)
    return sink.getvalue()


def packed_text(done: Packed, style: Style | None = None) -> str:
    """Return what went into packs, and what stayed as it was."""
    said = "nothing to pack"
    if done.packs:
        sizes = f"{mebibytes(done.bytes_before)} packed to {mebibytes(done.bytes_after)}"
        said = f"{number_of(done.runs, 'run')} of {number_of(done.files, 'file')} in {number_of(done.packs, 'pack')}"
        said += f", {sizes}" + (f"; {number_of(done.merged, 'smaller pack')} merged into them" if done.merged else "")
    return to_text([styled(said), *(_left_line("stays as it is", one) for one in done.left)], style)


def pruned_text(found: tuple[PrunePlan, bool], style: Style | None = None) -> str:
    """Return the runs that nothing needs, or that were removed, and for what reasons how many others are kept."""
    plan, removed = found
    made = table(("run", "left"), ("created", "left"), ("size", "right"))
    for one, own in plan.going:
        made.add_row(one_line(one.reference), one_line(one.created[:10]), mebibytes(own))
    count, size = number_of(len(plan.going), "run"), mebibytes(sum(own for _, own in plan.going))
    kept = Counter(plan.kept.values())
    lines = [styled(f"kept: {number_of(many, 'run')}: {one_line(why)}", "dim") for why, many in kept.most_common()]
    if removed:
        last = f"removed: {count}, {size}"
    else:
        last = f"--yes removes them: {count}, {size}" if plan.going else "every run is needed"
    return to_text([*([made] if plan.going else []), *lines, styled(last)], style)


def merged_text(done: Merged, style: Style | None = None) -> str:
    """Return what was taken of another archive, and what was not."""
    taken = [number_of(done.runs, "run"), *([number_of(done.drafts, "draft")] if done.drafts else [])]
    taken += [number_of(done.baselines, "baseline")] if done.baselines else []
    lines = [styled(f"added: {', '.join(taken)}; {number_of(done.same, 'run')} in both")]
    lines += [styled(f"conflict: {one_line(said, 500)}", "yellow") for said in done.conflicts]
    return to_text([*lines, *(_left_line("left out", one) for one in done.damaged)], style)


def mebibytes(count: int) -> str:
    """Return a size in MB, or kB where it is small."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def _left_line(what: str, damage: Damage) -> Text:
    return styled(f"{what}: {one_line(damage.path, 500)}: {one_line(damage.problem, 500)}", "yellow")


def _since_when(shown: BaselineInForce) -> str:
    """Return for which kernel it is the baseline, and since when or why."""
    text = f"is @baseline of {one_line(shown.kernel)}"
    if shown.is_set:
        return f"{text} since {one_line(shown.since)}" if shown.since else text
    return f"{text} again" if shown.cleared else f"{text}, because none was set"


def _origin_and_time(stored: ArchivedRun) -> str:
    """Return where the run was measured, and its time on the first of its workloads, which is the default one."""
    where = origin(stored.run.source, stored.run)
    time = _default_time(stored)
    return f"{where}; {time}" if time else where


def _default_time(stored: ArchivedRun | None) -> str:
    """Return the time of a run on the first of its workloads; empty where it has none."""
    workloads = stored.run.workloads if stored else ()
    timing = stored.run.timing(workloads[0].name) if stored and workloads else None
    return f"{duration(timing.median_ns)} on {one_line(timing.workload)}" if timing else ""


def _failed_checks(stored: ArchivedRun) -> list[str]:
    wrong = [check for check in stored.run.checks if not check.passed]
    return [f"its check failed on {check.workload}, so it has no time there" for check in wrong]


NO_MEDIAN = "-"
LEAST_BESIDE = 36  # columns for a median and where a run comes from, in two or three lines


LONGEST_LINE = 1000  # characters of a line of a summary, or of what is wrong with a folder


def list_text(kernels: Sequence[KernelListing], style: Style | None = None) -> str:
    """Return kernels, their versions and the run that shows each as text."""
    parts: list[RenderableType] = []
    for kernel in kernels:
        parts += [styled(one_line(kernel.kernel), "bold")]
        parts += [
            styled(f"  {one_line(line, LONGEST_LINE)}") for line in kernel.summary.splitlines()
        ]  # a line a mistake
        parts += [styled(f"  workloads: {_workloads(kernel)}", "dim")] if kernel.workloads else []
        peers = [one_line(version.version) for version in kernel.versions if version.is_peer]
        parts += [styled(f"  libraries to beat: {', '.join(peers)}", "dim")] if peers else []
        parts += _versions(kernel, (style or detected()).width)
        parts += [styled(f"  {line}", "dim") for line in [library_sentence(kernel.against_library)] if line]
        parts += [styled("")]
    return to_text(parts or [styled("there are no kernels: no kernels/*/kernel.toml and no run in reports/")], style)


def _workloads(kernel: KernelListing) -> str:
    return one_line(", ".join(f"{name}{_remark(kernel, name)}" for name in kernel.workloads), 1000)


def _remark(kernel: KernelListing, workload: str) -> str:
    """Return what is to be known of a workload: that it is the default one, or for whom it is."""
    if workload == kernel.default_workload:
        return " (default)"
    names = kernel.only.get(workload, ())
    return f" ({' and '.join(names)} only)" if names else ""


def _versions(kernel: KernelListing, width: int) -> list[RenderableType]:
    """Return a row a version. Names stay whole, to be typed again: where one is long, each has a line of its own."""
    names = [f"  {one_line(version.version)}" for version in kernel.versions]
    longest = max(map(len, names), default=0)
    medians = [_median(version, kernel.default_workload) for version in kernel.versions]
    median: list[tuple[str, Align]] = [("median", "right")] if set(medians) != {NO_MEDIAN} else []
    cells = [(*([ns] if median else []), _run_words(one)) for ns, one in zip(medians, kernel.versions, strict=True)]
    if longest > width - LEAST_BESIDE:
        lines = ((name, f"    {'  '.join(beside)}") for name, beside in zip(names, cells, strict=True))
        return [styled(line) for both in lines for line in both]
    made = table(("  version", "left"), *median, ("run", "left"))
    made.columns[0].no_wrap, made.columns[-1].no_wrap = True, False
    made.columns[-1].overflow = "fold"
    for name, beside in zip(names, cells, strict=True):
        made.add_row(name, *beside)
    return [made]


def _median(version: VersionOutcome, workload: str | None) -> str:
    timing = version.run.run.timing(workload) if version.run and workload else None
    return duration(timing.median_ns) if timing else NO_MEDIAN


def _run_words(version: VersionOutcome) -> str:
    if version.run is None and version.unreadable:
        return UNREADABLE
    if version.run is None:
        return f"{SKIPPED}: {one_line(version.skipped)}" if version.skipped else NOT_MEASURED
    run = version.run.run
    return origin(run.source, run)


def verify_text(damages: Sequence[Damage], runs: int, drafts: int = 0) -> str:
    """Return what cannot be read as text; ``runs`` and ``drafts`` are how many others can be."""
    if not damages:
        read = number_of(runs, "run") + (f" and {number_of(drafts, 'draft')}" if drafts else "")
        return to_text([styled(f"✓ {read}, nothing damaged", "green")])
    lines = [
        styled(
            f"{'?' if damage.is_newer else '✗'} {one_line(damage.place, 500)}: {one_line(damage.problem, 500)}",
            style="yellow" if damage.is_newer else "red",
        )
        for damage in damages
    ]
    newer = sum(damage.is_newer for damage in damages)
    parts = [f"{len(damages) - newer} damaged" if newer < len(damages) else ""]
    parts += [f"{newer} from a newer ncu-assist" if newer else "", f"{number_of(runs, 'other run')} can be read"]
    return to_text([*lines, styled("; ".join(part for part in parts if part))])


FEW_PAGES = 6  # pages, of which each is named


def report_text(written: Written, folder: Path) -> str:
    """Return a line a page, the one that was asked for first; of many pages of one kind how many there are."""
    others = [one for one in written.pages if one != written.asked]
    counts = Counter(one.kind for one in others)
    named = [one for one in others if len(others) < FEW_PAGES or one.kind in ("ladder", "index")]
    lines = [shown_path(one.path, folder) for one in (written.asked, *named)]
    kinds = dict.fromkeys(one.kind for one in others if one not in named)
    lines += [f"and {number_of(counts[kind], 'page')} of {kind}s" for kind in kinds]
    return "\n".join(plain(line) for line in lines)


def report_note(written: Written, folder: Path) -> str:
    """Return where to start reading, in one line."""
    ladders: list[WrittenPage] = [one for one in written.pages if one.kind == "ladder"]
    start = ladders[-1] if ladders else written.asked
    return f"pages: {plain(shown_path(start.path, folder))}"
