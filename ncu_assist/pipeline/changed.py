"""Find the versions whose sources or runs changed since a commit, and measure and gate them.

Also measure the versions of all kernels that changed since they were measured.
"""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist.analysis.gate import BASELINE_ITSELF, TOO_FEW_RUNS, Gate, GateCheck, GateSet, NotMeasured, Unmeasured
from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.analysis.trend import SHOWN_DIGITS
from ncu_assist.commits import checked_out, files_at, files_changed, git, resolved, text_at
from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline import planning
from ncu_assist.pipeline.gate_sides import BASELINE, GateRequest, is_live, own_side
from ncu_assist.pipeline.gating import gate
from ncu_assist.pipeline.planning import MeasureRequest, profile
from ncu_assist.project import Project
from ncu_assist.sources import VERSION_FILE, Misnamed, code_of, discover_versions, misnamed, source_files
from ncu_assist.spec import python_tree
from ncu_assist.spec_file import FILE as KERNEL_FILE
from ncu_assist.spec_file import kernel_names
from ncu_assist.steps import Reporter
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.baselines import FILE, READERS
from ncu_assist.store.folders import RUN_JSON
from ncu_assist.verdict.levels import FEWEST
from ncu_assist.versions import short_name

SHARED = ("kernel.toml", "reference.py")  # every version of a kernel is measured with these
MEASURES = re.compile(r"ncu-assist (bench|profile) ")
RUN_PART = 3  # of reports/KERNEL/VERSION/RUN


@dataclass(frozen=True)
class ChangedVersion:
    """A version that differs from a commit. ``is_new``: the commit has no such version.

    ``runs`` are the ids of its runs in the commit. ``is_edited``: its source changed, or a file that every version is
    measured with (``shared`` names these), and not only its runs. ``rewritten`` are runs of which a file was changed or
    removed, ``added`` are runs that git has known since.
    """

    kernel: str
    version: str
    is_new: bool
    is_edited: bool
    runs: tuple[str, ...]
    shared: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        return f"{self.kernel}/{short_name(self.version)}"


def _statements(source: bytes, file: Path) -> object:
    """Return what a file of SHARED says, apart from comments and blanks."""
    text = source.decode()
    return ast.dump(python_tree(text)) if file.suffix == ".py" else tomllib.loads(text)


@dataclass(frozen=True)
class Since:
    """A project at the commit where this branch left another, or at a given commit."""

    project: Project
    name: str
    commit: str

    def versions(self) -> tuple[ChangedVersion, ...]:
        """Return the versions that changed, by kernel and number."""
        root = self.project.root
        changed = files_changed(root, self.commit, "kernels") if self.project.kernels.is_dir() else set[str]()
        # files unknown to git may be the history that CI keeps
        measured = files_changed(root, self.commit, "reports", unknown=False)
        sources, runs = (set(files_at(root, self.commit, below)) for below in ("kernels", "reports"))
        return tuple(self._versions(changed, measured, sources, runs))

    def _versions(
        self, changed: set[str], measured: set[str], sources: set[str], runs: set[str]
    ) -> Iterator[ChangedVersion]:
        for kernel in kernel_names(self.project):
            folder = self.project.kernels / kernel
            shared = tuple(
                name
                for name in SHARED
                if (file := f"kernels/{kernel}/{name}") in changed and self._is_other(file, _statements, Path(name))
            )
            for version in discover_versions(folder):
                own = [file.resolve().relative_to(self.project.root).as_posix() for file in _within(version.path, self)]
                place = f"reports/{kernel}/{version.name}/"
                edited = (name for name in own if name in changed and self._is_other(name, code_of, version.path))
                is_edited = bool(shared) or any(edited)
                held = {name.split("/")[RUN_PART] for name in runs if name.startswith(place)}
                changed_runs = {name.split("/")[RUN_PART] for name in measured & runs if name.startswith(place)}
                new = {name.split("/")[RUN_PART] for name in measured - runs if name.startswith(place)} - held
                if is_edited or changed_runs or new:
                    there = {
                        run for run in changed_runs | new if (self.project.root / place / run / RUN_JSON).is_file()
                    }
                    other, added = (tuple(sorted(some)) for some in (there & held, there - held))
                    is_new, known = own[0] not in sources, tuple(sorted(held))
                    yield ChangedVersion(kernel, version.name, is_new, is_edited, known, shared, other, added)

    def _is_other(self, name: str, counts: Callable[[bytes, Path], object], of: Path) -> bool:
        """Return whether a file of a version, or of SHARED, differs from the commit in what counts of it."""
        before, path = text_at(self.project.root, self.commit, name), self.project.root / name
        if before is None or not path.is_file():
            return True
        try:
            return counts(before.encode(), of) != counts(path.read_bytes(), of)
        except (SyntaxError, ValueError):  # the code that reads the file reports the error
            return True

    def misnamed(self) -> tuple[tuple[str, Misnamed], ...]:
        """Return the changed files that were probably meant as versions, each with its kernel."""
        if not self.project.kernels.is_dir():
            return ()
        changed = files_changed(self.project.root, self.commit, "kernels")
        strays = (
            (kernel, one) for kernel in kernel_names(self.project) for one in misnamed(self.project.kernels / kernel)
        )
        return tuple((kernel, one) for kernel, one in strays if f"kernels/{kernel}/{one.path.name}" in changed)

    def removed(self) -> tuple[str, ...]:
        """Return the versions of the commit that no longer exist, as ``KERNEL/VERSION``."""
        files = [Path(name) for name in files_at(self.project.root, self.commit, "kernels")]
        kernels = {file.parent for file in files if file.name == KERNEL_FILE}
        gone = (one for one in files if one.parent in kernels and VERSION_FILE.fullmatch(one.name))
        return tuple(f"{one.parent.name}/{one.stem}" for one in gone if not (self.project.root / one).is_file())

    def baseline(self, kernel: str) -> str:
        """Return the reference of a kernel's baseline at the commit, by default v0."""
        text = text_at(self.project.root, self.commit, f"reports/{kernel}/{FILE}")
        if text is None:
            return f"{kernel}/v0"
        try:
            said = READERS[1](text.encode())
        except msgspec.DecodeError:
            return f"{kernel}/v0"
        return f"{kernel}/{said.version}" + (f"@{said.run_id}" if said.run_id else "")


def _within(path: Path, since: Since) -> list[Path]:
    """Return the files of a version that are in the project, its own source first."""
    root = since.project.root.resolve()
    return [file for file in source_files(path) if file.resolve().is_relative_to(root)]


def since_of(project: Project, name: str) -> Since:
    """Return the project at the commit where this branch left ``name``.

    Raises UsageProblem if there is no such commit, or if neither the commit nor the project has a kernel: a gate that
    checks nothing must not pass.
    """
    commit = resolved(project.root, name)
    try:
        base = git(project.root, "merge-base", commit, "HEAD").strip()
    except UsageProblem as error:
        said = f"'{name}' and HEAD have no common commit in this clone"
        raise UsageProblem(said, "git fetch --unshallow") from error
    if not kernel_names(project) and not any(
        Path(one).name == KERNEL_FILE for one in files_at(project.root, base, "kernels")
    ):
        below = git(project.root, "ls-files", "--", f"*/kernels/*/{KERNEL_FILE}").splitlines()
        place = below[0].rpartition("/kernels/")[0] if below else "FOLDER_WITH_KERNELS"
        raise UsageProblem(
            f"{project.root.name}/ has no kernels/*/{KERNEL_FILE}, so nothing was checked", f"cd {shlex.quote(place)}"
        )
    return Since(Project(project.root.resolve(), project.settings), name, base)


def gate_since(project: Project, request: GateRequest, name: str, window: int | None = None) -> GateSet:
    """Return a gate for each version that changed since a commit.

    An edited version is compared with its newest earlier run. A new version, or one without an earlier run, is compared
    with ``request.against``; if that has no run either, the version only has to be measured and correct. With
    ``window``, the time of each version is also compared with that many earlier runs, if there are enough. Raises as
    ``gate`` does.
    """
    since = since_of(project, name)
    gates: list[Gate | NotMeasured] = []
    first: list[str] = []
    for version in since.versions():
        own = replace(request, candidate=version.reference, kernel=version.kernel)
        gates += _gone(since, version)
        found = _held(since, version, own)
        if not isinstance(found, Gate):
            gates += [found] if found else []
            continue
        if found.is_alone:
            gates += [found] if found.checks else []
            first += [version.reference] if not found.checks or found.outcome == "pass" else []
            continue
        gates.append(found)
        if window and len(_earlier(project, found.candidate)) >= FEWEST:
            gates += _by_window(project, own, window)
    gates += [_misnamed(project, since, request, kernel, stray) for kernel, stray in since.misnamed()]
    return GateSet(name, tuple(gates), tuple(first), since.removed())


def _held(since: Since, version: ChangedVersion, own: GateRequest) -> Gate | NotMeasured | None:
    """Return the gate of a version against its earlier state, None if nothing new was measured of it."""
    project, before = since.project, _before(since, version, own)
    if not version.is_edited:  # the source is the same, so the added run is judged
        every = Store(project.reports).runs(version.kernel, version.version)
        added = next((one.reference for one in every if one.run.run_id in version.added), None)
        if added is None or own.require_live:  # only new runs of this machine count
            return None
        own = replace(own, candidate=added)
    if own.require_live and before is None and not version.is_new:
        return _not_live(since, version, own)
    against = before.reference if before else _baseline(since, version, own)
    found = gate(project, replace(own, against=against or own.candidate))
    if before is None and not own.require_live and _has_no_baseline(found):
        against, found = None, gate(project, replace(own, against=own.candidate))
    if isinstance(found, Gate) and version.shared and found.candidate.run.run_id in version.runs:
        return _of_before(found, version)
    if against is not None:
        return _as_measured_again(found, since.name)
    if isinstance(found, NotMeasured):
        return replace(found, window=since.name)
    return replace(found, checks=tuple(one for one in found.checks if one.reason != BASELINE_ITSELF), by_window=True)


def _has_no_baseline(found: Gate | NotMeasured) -> bool:
    """Return whether the only side not measured is the baseline, and it has no run at all."""
    if isinstance(found, Gate) or isinstance(found.candidate, Unmeasured):
        return False
    return isinstance(found.baseline, Unmeasured) and found.baseline.run is None


def _by_window(project: Project, own: GateRequest, window: int) -> list[Gate | NotMeasured]:
    """Return the gates of a version against its earlier runs, for the workloads that have enough of them."""
    by_time = tuple(limit for limit in own.fail_on if limit.startswith("time"))
    found = gate(project, replace(own, against=f"@last:{window}", fail_on=by_time))
    if isinstance(found, Gate):
        found = replace(found, checks=tuple(one for one in found.checks if one.reason != TOO_FEW_RUNS))
    return [found] if isinstance(found, NotMeasured) or found.checks else []


def _gone(since: Since, version: ChangedVersion) -> list[NotMeasured]:
    """Return a failure if runs of the commit were changed: a branch must not choose its own baseline.

    A run that was packed still exists.
    """
    store = Store(since.project.reports)
    kept = {one.run.run_id for one in store.runs(version.kernel, version.version)}
    gone = tuple(one for one in version.runs if one in version.rewritten or one not in kept)
    if not gone:
        return []
    own = Unmeasured(version.kernel, version.version, since=since.name, gone=gone)
    command = f"git checkout {since.commit[:SHOWN_DIGITS]} -- reports/{version.kernel}/{version.version}"
    return [NotMeasured(own, own, command, window=since.name)]


def _not_live(since: Since, version: ChangedVersion, own: GateRequest) -> NotMeasured:
    """Return that a version was not measured on this machine as it is in the commit, and maybe not as it is now."""
    side = own_side(since.project, own)
    before = Unmeasured(version.kernel, version.version, since=since.name)
    command = f"ncu-assist profile --since {shlex.quote(since.name)} --workload all"
    return NotMeasured(before, side.candidate if isinstance(side, NotMeasured) else side, command)


def _of_before(found: Gate, version: ChangedVersion) -> NotMeasured:
    """Return that a version has no run with the current shared files, kernel.toml and reference.py."""
    run = found.candidate.run
    own = Unmeasured(run.kernel, run.version, found.candidate, shared=version.shared)
    command = f"ncu-assist profile {shlex.quote(run.kernel)} {short_name(run.version)} --workload all --again"
    return NotMeasured(found.baseline, own, command)


def _as_measured_again(found: Gate | NotMeasured, name: str) -> Gate | NotMeasured:
    """Return the gate of one version, with the command that measures it together with its earlier source.

    A result within the limit does not need another bench.
    """
    if isinstance(found, NotMeasured) or found.baseline.run.version != found.candidate.run.version:
        return found

    def command(check: GateCheck) -> str:
        if not MEASURES.match(check.next):
            return check.next
        workload = shlex.quote(check.workload or "all")
        return "" if check.is_inside else f"ncu-assist profile --since {shlex.quote(name)} --workload {workload}"

    checks = [replace(one, next=command(one)) for one in found.checks]
    return replace(found, checks=tuple(checks))


def _misnamed(project: Project, since: Since, request: GateRequest, kernel: str, stray: Misnamed) -> NotMeasured:
    """Return that a file is not measured because its name is not one of a version."""
    own = Unmeasured(kernel, Path(stray.name).stem, misnamed=stray)
    against = since.baseline(kernel)
    try:
        held = own_side(project, replace(request, candidate=against, kernel=kernel, workload=None))
    except UsageProblem:  # the kernel has no version
        return NotMeasured(own, own, stray.command, window=against)
    return NotMeasured(held.candidate if isinstance(held, NotMeasured) else held, own, stray.command)


def _earlier(project: Project, stored: StoredRun) -> list[StoredRun]:
    run = stored.run
    every = Store(project.reports).runs(run.kernel, run.version)
    return [one for one in every if one.run.created < run.created and one.run.gpu == run.gpu]


def _baseline(since: Since, version: ChangedVersion, request: GateRequest) -> str | None:
    """Return the baseline of a version without an earlier run, None for the baseline itself."""
    against = since.baseline(version.kernel) if request.against == BASELINE else request.against
    is_itself = against.partition("@")[0] in (version.reference, f"{version.kernel}/{version.version}")
    return None if is_itself else against


def _before(since: Since, version: ChangedVersion, request: GateRequest) -> StoredRun | None:
    """Return the run that shows a version at the commit: this machine's if there is one, then the newest."""
    every = Store(since.project.reports).runs(version.kernel, version.version)
    known = [
        one for one in every if one.run.run_id in version.runs or (version.is_edited and _is_at(one, since.commit))
    ]
    live = [one for one in known if is_live(one)]
    return next(iter(live or ([] if request.require_live else known)), None)


def _is_at(stored: StoredRun, commit: str) -> bool:
    at = stored.run.commit
    return at is not None and at.id == commit and not at.dirty


def profile_since(
    project: Project, name: str, request: MeasureRequest, options: ProfileOptions, reporter: Reporter
) -> tuple[KernelOutcome, ...]:
    """Measure each version that changed since a commit, together with its baseline.

    A new version is measured in one bench with the baseline, so that their samples are paired; an edited one is also
    measured as it is in the commit, in a work tree of its own. Both sides are measured now, even if older runs exist,
    because a GPU differs from day to day. Raises EnvironmentProblem if nothing can be measured.
    """
    since = since_of(project, name)
    versions = since.versions()
    for _, stray in since.misnamed():
        reporter.note(stray.note)
    why = planning.why_not_measurable()
    if versions and why is not None:
        raise why
    outcomes: list[KernelOutcome] = []
    for kernel in dict.fromkeys(one.kernel for one in versions):
        own = [one for one in versions if one.kernel == kernel and (one.is_edited or one.is_new)]
        if not own:
            continue
        names = [short_name(one.version) for one in own]
        if any(one.is_new for one in own):
            baseline = since.baseline(kernel).partition("/")[2].partition("@")[0]
            names += [short_name(baseline)] if _has(project, kernel, baseline) else []
        outcomes.append(profile(project, _of(request, kernel, names), options, reporter))
        edited = [short_name(one.version) for one in own if not one.is_new]
        if edited:
            with checked_out(since.project.root, since.commit) as folder:
                reporter.note(f"{kernel} {', '.join(edited)} at {shlex.quote(name)}, to compare with")
                there = Project(folder, project.settings)
                before = profile(there, _of(request, kernel, edited), options, reporter)
                _take_over(project, [one.run for one in before.versions if one.run])
    return tuple(outcomes)


def profile_changed(
    project: Project, request: MeasureRequest, options: ProfileOptions, reporter: Reporter
) -> tuple[KernelOutcome, ...]:
    """Measure the versions of all kernels that changed since their last run on this machine; report unchanged kernels.

    Raises EnvironmentProblem if nothing can be measured.
    """
    why = planning.why_not_measurable()
    if why is not None:
        raise why
    requests = [replace(request, kernel=name) for name in kernel_names(project)]
    found = planning.profile_all(project, requests, options, reporter)
    return tuple(one for one in found if any(not row.kept and (row.run or row.failure) for row in one.versions))


def _of(request: MeasureRequest, kernel: str, names: Sequence[str]) -> MeasureRequest:
    return replace(request, kernel=kernel, versions=tuple(dict.fromkeys(names)), again=True)


def _has(project: Project, kernel: str, version: str) -> bool:
    return any(short_name(one.name) == short_name(version) for one in discover_versions(project.kernels / kernel))


def _take_over(project: Project, runs: Sequence[StoredRun]) -> None:
    """Save runs of another work tree in this project's archive."""
    store = Store(project.reports)
    for stored in runs:
        files = {name: stored.read(name) for name in stored.run.files}
        store.save(replace(stored.run, files={}, digest=""), files)
