"""Find the runs of a gate: those its references name, other runs of the same sources, and which of them still count.

kernel.toml and reference.py may have changed since the runs were made.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_assist.analysis.diff.timing import Pair
from ncu_assist.analysis.gate import NotMeasured, Unmeasured
from ncu_assist.errors import NUMBER, DamagedData, UsageProblem
from ncu_assist.pipeline.baselines import in_force
from ncu_assist.pipeline.opened_reports import opened
from ncu_assist.project import Project
from ncu_assist.record import Run, WorkloadFacts
from ncu_assist.sources import source_sha256
from ncu_assist.spec import ALL, Kernel, Workload, why_skipped
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun, machine_hash, shown_source
from ncu_assist.store.choosing import (
    Context,
    known_kernels,
    live_first,
    misnamed_of,
    refuse_misnamed,
    same_source,
    sources_of,
    versions_of,
)
from ncu_assist.store.index import RunHead
from ncu_assist.store.references import VersionNotMeasured, refuse_kernel_of_none, resolve
from ncu_assist.store.report_names import REPORT_ENDINGS
from ncu_assist.verdict.levels import FEWEST
from ncu_assist.versions import short_name, version_order, with_short_names

REFERENCE = "source/reference.py"
BASELINE = "@baseline"
VERSION_LIKE = re.compile(r"v\d")  # a version, not a kernel
MOST_OFFERED, MOST_LISTED = 3, 12  # similar names to offer; names to list if none is similar
NEARLY_WINDOW = re.compile(r"(?P<word>[a-z]+)(?:[:=. -]+|(?=\d))(?P<count>\w*)", re.ASCII)
USUAL_WINDOW = 10  # runs
NEAR = 0.5  # difflib's ratio, as for other typed names
Timed = tuple[Sequence[StoredRun], Sequence[StoredRun]]


def kernel_now(project: Project, run: Run) -> Kernel | None:
    """Return the kernel of a run from its current folder, None for a foreign program and for a folder with mistakes."""
    if run.source_sha256 is None or run.kernel not in kernel_names(project):
        return None
    try:
        return load_kernel(project, run.kernel)
    except UsageProblem:
        return None


def as_now(kernel: Kernel | None, stored: StoredRun) -> StoredRun:
    """Return a run reduced to the workloads that kernel.toml has not changed since the run was made."""
    run = stored.run
    names = {facts.name for facts in run.workloads if kernel is None or _is_as_now(kernel, facts)}
    if len(names) == len(run.workloads):
        return stored
    timings = tuple(one for one in run.timings if one.workload in names)
    held = replace(
        run,
        workloads=tuple(one for one in run.workloads if one.name in names),
        checks=tuple(one for one in run.checks if one.workload in names),
        bench=replace(run.bench, timings=timings) if run.bench else None,
        launches=tuple(one for one in run.launches if one.workload in names),
    )
    return replace(stored, run=held)


def outdated(kernel: Kernel, runs: Sequence[StoredRun], wanted: str | None) -> tuple[str, ...]:
    """Return the workloads on which no run counts because kernel.toml changed or renamed them since.

    A removed workload is not in the result if others are left. ``wanted`` is the only workload to check, None for all;
    raises UsageProblem if kernel.toml no longer has it.
    """
    measured = [facts for one in runs for facts in one.run.workloads if wanted in (None, facts.name)]
    held = {facts.name for facts in measured if _is_as_now(kernel, facts)}
    changed = [facts for facts in measured if facts.name not in held]
    if changed and wanted is not None:
        kernel.select_workloads(wanted)
    left = [one for one in kernel.workloads if one.name not in held]
    again = [one.name for one in left if any(one.name == old.name or _is_like(one, old) for old in changed)]
    return tuple(again or ([kernel.default_workload.name] if changed and not held else []))


def without_folder(project: Project, sides: Sequence[StoredRun]) -> Iterator[str]:
    """Yield the kernels without a folder, for which changes since their runs are unknown."""
    own = {one.run.kernel for one in sides if one.run.source_sha256 is not None}
    for kernel in sorted(own - set(kernel_names(project))):
        yield f"kernels/{kernel} has no kernel.toml: only stored runs were judged, whatever has changed since"


def other_references(project: Project, sides: Sequence[StoredRun]) -> Iterator[str]:
    """Yield the runs that were checked against a different reference.py."""
    old = dict.fromkeys(short_name(one.run.version) for one in sides if _is_of_another_reference(project, one))
    if old:
        yield f"reference.py has changed since it checked the results of {' and '.join(old)}"


def _is_of_another_reference(project: Project, stored: StoredRun) -> bool:
    """Return whether a run was checked against a reference.py that differs from the existing one."""
    kept = stored.run.files.get(REFERENCE)
    if kept is None or not stored.run.checks:
        return False
    try:
        now = (project.kernels / stored.run.kernel / "reference.py").read_bytes()
    except OSError:  # reading the kernel's folder reports the error
        return False
    return hashlib.sha256(now).hexdigest() != kept.sha256


def _is_as_now(kernel: Kernel, facts: WorkloadFacts) -> bool:
    return any(one.name == facts.name and _is_like(one, facts) for one in kernel.workloads)


def _is_like(workload: Workload, facts: WorkloadFacts) -> bool:
    return workload.dtype == facts.dtype and workload.integers == facts.integers


@dataclass(frozen=True)
class GateRequest:
    """A request for a gate: ``candidate`` is a reference, or a kernel, which means its newest version.

    ``workload`` None or ``all`` means all that both runs have. ``fail_on`` are limits as typed. ``require_live``: only
    runs measured on this machine count. ``unclear_passes``: an unclear result passes if no time is beyond its limit.
    """

    candidate: str
    against: str = BASELINE
    kernel: str | None = None
    workload: str | None = None
    fail_on: tuple[str, ...] = ()
    force: bool = False
    require_live: bool = False
    unclear_passes: bool = False


def both_sides(project: Project, request: GateRequest) -> Pair | NotMeasured:
    """Return baseline and candidate; the baseline is of the candidate's kernel unless it names another.

    A version without a run of its current source is not measured; no other run replaces it. Raises UsageProblem for an
    unknown reference and for a kernel folder with mistakes, DamagedData for unreadable data, even if an older run could
    replace a damaged newest one.
    """
    store, context = Store(project.reports), Context(project, Path.cwd(), request.kernel)
    reference = _reference(request.candidate, store, context)
    try:
        candidate = _misnamed_newest(request.candidate, store, context) or _side(reference, request, store, context)
    except UsageProblem:
        if request.candidate == reference and not set("/@") & set(reference) and not reference.endswith(REPORT_ENDINGS):
            _refuse_unknown(reference, store, context)
        raise
    kernel = request.kernel if isinstance(candidate, Path) else kernel_of(candidate)
    if kernel in kernel_names(project) and not _is_exact(request.candidate):
        load_kernel(project, kernel)  # raises if the folder has mistakes, which may be in a new file
    if kernel is None and request.against == BASELINE:
        command = f"ncu-assist gate {shlex.quote(request.candidate)} --against OTHER.ncu-rep"
        raise UsageProblem("a report belongs to no kernel and has no baseline", command)
    try:
        baseline = _side(request.against, request, store, Context(project, Path.cwd(), kernel))
    except UsageProblem as error:
        if request.against == BASELINE:
            in_force(project, kernel)  # raises with the problem of the baseline, and what to do
        if window := _window_meant(request.against):
            said = f"'{request.against}' is not a reference; did you mean '{window}'?"
            raise UsageProblem(said, f"--against {window}") from error
        raise
    kernels = [None if isinstance(one, Path) else kernel_of(one) for one in (candidate, baseline)]
    refuse_kernel_of_none(request.kernel, (reference, request.against), kernels)
    sides: list[StoredRun | Unmeasured]
    if isinstance(baseline, Unmeasured) or isinstance(candidate, Unmeasured):
        sides = [
            one if isinstance(one, Unmeasured) else opened([text], [one], kernel)[0]
            for text, one in ((request.against, baseline), (reference, candidate))
        ]
    else:
        before, after = opened((request.against, reference), (baseline, candidate), kernel)
        sides = _on_workloads_as_now(project, request, (before, after))
        if not any(isinstance(one, Unmeasured) for one in sides):
            return before, after
    return NotMeasured(sides[0], sides[1], _to_measure(project, request, sides))


def _window_meant(against: str) -> str:
    """Return the window that an unknown reference looks like, such as ``last:10``, empty if it looks like none."""
    version, _, typed = against.rpartition("@")
    found = NEARLY_WINDOW.fullmatch(typed)
    if found is None or not difflib.get_close_matches(found["word"], ["last"], n=1, cutoff=NEAR):
        return ""
    count = int(found["count"]) if found["count"].isdecimal() else 0
    return f"{version}@last:{count if count >= FEWEST else USUAL_WINDOW}"


def own_side(project: Project, request: GateRequest) -> StoredRun | NotMeasured:
    """Return the candidate alone, or that it is not measured if no run of it counts. Raises as ``both_sides`` does."""
    store, context = Store(project.reports), Context(project, Path.cwd(), request.kernel)
    found = both_sides(project, replace(request, against=_reference(request.candidate, store, context)))
    return found if isinstance(found, NotMeasured) else found[1]


def _on_workloads_as_now(project: Project, request: GateRequest, sides: Pair) -> list[StoredRun | Unmeasured]:
    """Return both sides; a side is not measured if kernel.toml changed or renamed the workloads of its runs."""
    wanted = None if request.workload == ALL else request.workload
    found: list[StoredRun | Unmeasured] = []
    for stored, runs in zip(sides, _counting(project, request, sides), strict=True):
        run, kernel = stored.run, None if is_about_runs(request) else kernel_now(project, stored.run)
        names = outdated(kernel, runs, wanted) if kernel else ()
        unmeasured = Unmeasured(run.kernel, run.version, stored, is_stale=stale(project, run), workloads=names)
        found.append(unmeasured if names else stored)
    return found


def kernel_of(side: StoredRun | Unmeasured) -> str:
    """Return the kernel of a side."""
    return side.kernel if isinstance(side, Unmeasured) else side.run.kernel


def runs_of_source(
    project: Project, request: GateRequest, sides: Pair
) -> tuple[Sequence[StoredRun], Sequence[StoredRun]]:
    """Return for either side the runs of its source on the candidate's model of GPU, live before recorded, then newest.

    If a reference names an exact run, only the two runs count. Otherwise results on workloads that kernel.toml has
    changed since do not count.
    """
    if is_about_runs(request):
        return (sides[0],), (sides[1],)
    baseline, candidate = (
        [as_now(kernel_now(project, one.run), run) for run in runs]
        for one, runs in zip(sides, _counting(project, request, sides), strict=True)
    )
    return baseline, candidate


def _counting(project: Project, request: GateRequest, sides: Pair) -> tuple[Sequence[StoredRun], Sequence[StoredRun]]:
    """Return for either side the runs of its source that count, on any workload."""
    store = Store(project.reports)
    baseline, candidate = (
        [one for one in _of_source(store, stored, sides[1]) if is_live(one) or not request.require_live]
        for stored in sides
    )
    return baseline or (sides[0],), candidate or (sides[1],)


def stale(project: Project, run: Run) -> bool:
    """Return whether a version's current source differs from that of the run."""
    now = [v for v in sources_of(Context(project, Path.cwd()), run.kernel) if v.name == run.version]
    return any(source_sha256(version.path) != run.source_sha256 for version in now)


def _reference(text: str, store: Store, context: Context) -> str:
    """Return the reference to resolve: for a kernel its newest version, or its last run if it has no folder."""
    if text not in known_kernels(store, context):
        return text
    versions = sources_of(context, text)
    return f"{text}/{versions[-1].name}" if versions else f"{text}/@last"


def _misnamed_newest(text: str, store: Store, context: Context) -> Unmeasured | None:
    """Return a kernel's source whose number is above every version but whose name is not a version's, None without one.

    A file without a number may be anything, and is only noted.
    """
    if text not in known_kernels(store, context):
        return None
    newest = max((version.number for version in sources_of(context, text)), default=-1)
    stray = max(misnamed_of(context.project, text), key=lambda one: one.number, default=None)
    if stray is None or stray.number <= newest:
        return None
    return Unmeasured(text, Path(stray.name).stem, misnamed=stray)


def _side(text: str, request: GateRequest, store: Store, context: Context) -> StoredRun | Path | Unmeasured:
    """Return the run or path of a reference, or the version that has no such run; raises as ``resolve`` does."""
    try:
        found = resolve(text, store, context)
    except VersionNotMeasured as error:
        if error.newest is not None:
            _refuse_damaged_successor(store, f"{error.kernel}/{error.version}", error.newest)
        version = next((v for v in sources_of(context, error.kernel) if v.name == error.version), None)
        skipped = why_skipped(version) if version else ""
        return Unmeasured(error.kernel, error.version, error.newest, is_stale=error.newest is not None, skipped=skipped)
    if isinstance(found, StoredRun):
        _refuse_damaged_successor(store, text, found)
    return _live(text, found, store, context.project) if request.require_live else found


def _live(text: str, found: StoredRun | Path, store: Store, project: Project) -> StoredRun | Unmeasured:
    """Return a run of this machine: the one found, else the newest of its source unless an exact run was named."""
    if isinstance(found, Path):
        raise UsageProblem(
            f"{text} is a report, but --require-live needs a run measured on this machine", "drop --require-live"
        )
    if is_live(found):
        return found
    others = [] if _is_exact(text) or found.run.source_sha256 is None else same_source(store, found)
    run = found.run
    unmeasured = Unmeasured(run.kernel, run.version, found, needs_live=True, is_stale=stale(project, run))
    live = next((one for one in others if is_live(one)), None)
    return store.opened(live) if live else unmeasured


def is_live(stored: StoredRun | RunHead) -> bool:
    """Return whether a run was measured on this machine."""
    return shown_source(stored.run, machine_hash()) == "live"


def _to_measure(project: Project, request: GateRequest, sides: Sequence[StoredRun | Unmeasured]) -> str:
    """Return the command that measures the missing sides, on all requested workloads.

    Raises UsageProblem for a workload that the kernel does not have.
    """
    baseline, candidate = sides
    if isinstance(candidate, Unmeasured) and candidate.misnamed:
        return candidate.misnamed.command
    if isinstance(baseline, Unmeasured) and _is_out_of_reach(baseline) and not _is_exact(request.against):
        return f"ncu-assist baseline clear {baseline.kernel}"  # its source is gone, so nothing can measure it again
    missing = [one for one in sides if isinstance(one, Unmeasured)]
    kernel = missing[-1].kernel
    if any(one.run and one.run.run.source_sha256 is None for one in missing):
        return f"ncu-assist profile --kernel {kernel} --version {missing[-1].version} -- PROGRAM"
    names = sorted({one.version for one in missing if one.kernel == kernel}, key=version_order)
    runs = [one.run if isinstance(one, Unmeasured) else one for one in sides]
    several = any(run is not None and len(run.run.workloads) > 1 for run in runs)
    changed = {name for one in missing for name in one.workloads}
    workload = request.workload or (min(changed) if len(changed) == 1 else ALL if several or changed else None)
    if workload and kernel in kernel_names(project):
        load_kernel(project, kernel).select_workloads(workload)
    options = ["--workload", shlex.quote(workload)] if workload else []
    return " ".join(["ncu-assist", "profile", kernel, *map(short_name, names), *options])


def _is_out_of_reach(side: Unmeasured) -> bool:
    """Return whether a side needs a source that no longer exists."""
    return side.is_stale and (side.needs_live or bool(side.workloads))


def _refuse_unknown(typed: str, store: Store, context: Context) -> None:
    """Raise UsageProblem, with similar names, for a word that names neither a kernel nor a version."""
    kernels = known_kernels(store, context)
    searched = [context.kernel] if context.kernel else kernels
    versions = with_short_names(dict.fromkeys(name for one in searched for name in versions_of(store, context, one)))
    if not kernels or typed in versions or context.kernel not in (None, *kernels):
        return
    refuse_misnamed(context, searched, typed)
    is_version = VERSION_LIKE.match(typed) is not None
    meant = [*kernels, *(name for name in versions if is_version or not VERSION_LIKE.match(name))]
    near = [] if NUMBER.fullmatch(typed) else difflib.get_close_matches(typed, meant, n=MOST_OFFERED, cutoff=NEAR)
    offered = " or ".join(f"'{name}'" for name in near)
    numbers = sorted({short_name(name) for name in versions}, key=version_order)
    known = f"kernels: {_some(kernels)}; versions: {_some(numbers)}"
    help_ = f"did you mean {offered}?" if near else known
    hint = f"ncu-assist gate {shlex.quote(near[0])}" if near else "ncu-assist list"
    raise UsageProblem(f"there is no kernel or reference '{typed}'; {help_}", hint) from None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")


def is_about_runs(request: GateRequest) -> bool:
    """Return whether the request names exact runs, which are then compared as they were."""
    return any(_is_exact(text) for text in (request.candidate, request.against))


def _is_exact(text: str) -> bool:
    """Return whether a reference names one run, as ``v7@20261121T0854`` does and ``@last`` does not."""
    version, at, _ = text.rpartition("/")[2].partition("@")
    return bool(version and at)


def _refuse_damaged_successor(store: Store, text: str, stored: StoredRun) -> None:
    """Raise DamagedData if a reference means the newest run, and a run newer than this one is damaged."""
    version, at, which = text.rpartition("/")[2].partition("@")
    if not stored.run.run_id or (at and which != "last"):
        return
    place = f"{stored.run.kernel}/{stored.run.version}/" if version else f"{stored.run.kernel}/"
    for damage in store.damaged(stored.run.kernel):
        folder, _, run_id = damage.path.rpartition("/")
        is_run = folder.count("/") == 1
        if damage.concerns(place) and (not is_run or run_id > stored.run.run_id):
            newer = "and newer" if is_run else "and its contents may be newer"
            message = f"{damage.path} is damaged, {newer} than {stored.reference}: {damage.problem}"
            raise DamagedData(message, "ncu-assist verify")


def _of_source(store: Store, stored: StoredRun, like: StoredRun) -> Sequence[StoredRun]:
    if stored.run.source_sha256 is None:
        return (stored,)
    runs = live_first(store.runs(stored.run.kernel, stored.run.version))
    return [r for r in runs if r.run.source_sha256 == stored.run.source_sha256 and _gpu(r) == _gpu(like)] or [stored]


def _gpu(stored: StoredRun) -> str | None:
    return stored.run.device.name if stored.run.device else None
