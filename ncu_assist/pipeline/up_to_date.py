"""Measure only what changed: find the versions whose run is still valid, and measure the rest.

If this machine measures, a valid run is one of this machine. With a cluster, it is any run on the same GPU model with
the same driver, programs and libraries as one of the workers, because any of them may measure.

Times are compared within one bench, so a changed version is timed together with the versions that it is compared with.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ncu_assist import __version__
from ncu_assist.analysis.diff.timing import common_bench
from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.ncu.command import ADAPTIVE
from ncu_assist.pipeline.archiving import Setup, need_of
from ncu_assist.pipeline.measuring import MeasureJob, measure_all
from ncu_assist.pipeline.work_units import OneGpu, WorkPlace
from ncu_assist.quantity import number_of
from ncu_assist.record import Run, Toolchain
from ncu_assist.sources import DRAWS_LINE, header_comment, name_beside, source_files, source_sha256
from ncu_assist.spec import Version, Workload, unserved, why_skipped
from ncu_assist.spec_file import FILE
from ncu_assist.steps import Reporter
from ncu_assist.store import Store, StoredRun, machine_hash, shown_source
from ncu_assist.store.choosing import fastest_run, passed
from ncu_assist.versions import short_name

SHOWN = {"metrics.parquet", "samples.parquet"}  # the files behind the figures of a table
NOT_HERE, NOT_THERE, EDITED = "no run of this machine", "no run of this model of GPU", "its source has changed"
SPAN = 3  # neighbours from which on the first and the last are named
MOST = "full"  # the set that contains everything --adaptive would collect
Pair = tuple[str, str, str]  # the two versions of a verdict, and the workload


@dataclass(frozen=True)
class KnownRuns:
    """The valid runs of a job, by the versions' names.

    ``kept`` are the runs that represent versions, ``timed`` all runs with valid times, newest first; ``changed`` says
    why a version has to be measured, ``beside`` names versions that are only timed again, with a changed one or each
    other; ``skipped`` says why a version cannot be measured.
    """

    kept: Mapping[str, StoredRun]
    timed: Mapping[str, tuple[StoredRun, ...]]
    changed: Mapping[str, str]
    beside: frozenset[str]
    skipped: Mapping[str, str]


NOTHING_KNOWN = KnownRuns({}, {}, {}, frozenset(), {})


def known_runs(job: MeasureJob, against: str = "", place: WorkPlace | None = None) -> KnownRuns:
    """Return what needs no measurement. ``against``: verdicts hold every version against the one of this name.

    Where it is empty they hold each against the nearest that it builds on, and the fastest own version against the
    fastest library; what changed is held against both of these too. ``place`` is where it would be measured, this
    machine unless given. Raises EnvironmentProblem where GPU, driver or compiler are missing.
    """
    place = place or OneGpu()
    needs = frozenset(need_of(version) for version in job.versions)
    setups = place.setups(job.on, needs, job.settings.device == "cuda", job.options is not None)
    if not setups:
        raise EnvironmentProblem("no worker reports its setup")
    judge = _Judge(job, setups, place.is_away)
    skipped = {version.name: why for version in job.versions if (why := judge.skipped(version))}
    kept: dict[str, StoredRun] = {}
    timed: dict[str, tuple[StoredRun, ...]] = {}
    changed: dict[str, str] = {}
    store = Store(job.project.reports)
    for version in job.versions:
        if version.name in skipped or not judge.served(version):
            continue
        problem, timed[version.name] = judge.timed(store.runs(job.kernel.name, version.name), version)
        lacks = [(one, judge.without_counters(version, one)) for one in timed[version.name]]
        whole = [one for one, lack in lacks if not lack]
        if whole:
            kept[version.name] = whole[0]
        else:
            changed[version.name] = problem or lacks[0][1]
    names = set(kept) | set(changed)
    versions = [version for version in job.versions if version.name in names]
    pairs = set(_against_one(job, versions, against) if against else _against_parents(job, versions, kept, changed))
    together = (pair for pair in pairs if not _in_one_bench(pair, timed, changed))
    beside = {name for one, other, _ in together for name in (one, other)} - set(changed)
    return KnownRuns(kept, timed, changed, frozenset(beside), skipped)


def measure_changed(
    jobs: Sequence[MeasureJob], reporter: Reporter, against: str = "", place: WorkPlace | None = None
) -> list[tuple[KernelOutcome, KnownRuns]]:
    """Measure what of jobs has no run that still holds, say what has, and return all versions of each.

    Without a GPU or a compiler nothing is known to hold. Raises as ``measure_all`` does.
    """
    place = place or OneGpu()
    known = [_known(job, against, place) for job in jobs]
    for job, runs in zip(jobs, known, strict=True):
        for line in in_words(job, runs) if runs.kept else ():
            reporter.note(line)
    parts = [_to_measure(job, runs) for job, runs in zip(jobs, known, strict=True)]
    measured = iter(measure_all([part for part in parts if part is not None], reporter, place=place))
    new = [next(measured) if part is not None else None for part in parts]
    return [(_whole(*one), one[1]) for one in zip(jobs, known, new, strict=True)]


def _known(job: MeasureJob, against: str, place: WorkPlace) -> KnownRuns:
    try:
        return known_runs(job, against, place)
    except EnvironmentProblem:  # which is met again where it matters, and told there
        return NOTHING_KNOWN


def _to_measure(job: MeasureJob, known: KnownRuns) -> MeasureJob | None:
    if not known.kept:
        return job
    changed = tuple(version for version in job.versions if version.name in known.changed)
    beside = tuple(version for version in job.versions if version.name in known.beside)
    if not changed and not beside:
        return None
    if not changed:
        return replace(job, versions=beside, options=None)
    return replace(job, versions=changed, beside=beside)


def _whole(job: MeasureJob, known: KnownRuns, measured: KernelOutcome | None) -> KernelOutcome:
    if measured is not None and not known.kept:
        return measured
    new = {version.version: version for version in measured.versions} if measured is not None else {}
    rows = tuple(_row(job, version, known, new.get(version.name)) for version in job.versions)
    return KernelOutcome(job.kernel.name, tuple(w.name for w in job.workloads), "live", rows)


def _row(job: MeasureJob, version: Version, known: KnownRuns, new: VersionOutcome | None) -> VersionOutcome:
    """Return a version's new run, with the counters that it already has, or else its kept run."""
    kept = known.kept.get(version.name)
    if new is not None:
        return replace(new, counted=kept) if new.run else replace(new, run=kept, kept=kept is not None)
    skipped, apart = known.skipped.get(version.name, ""), unserved(version, job.workloads)
    return VersionOutcome(
        version.name, kept, skipped=skipped, unserved=apart, is_peer=version.is_peer, kept=kept is not None
    )


@dataclass(frozen=True)
class _Judge:
    """Compares runs with the current setup. Its answer is empty if nothing differs."""

    job: MeasureJob
    setups: Sequence[Setup]
    is_away: bool

    def skipped(self, version: Version) -> str:
        """Return why a version cannot run anywhere, empty if it can."""
        return min((why_skipped(version, setup.absent) for setup in self.setups), key=len)

    def served(self, version: Version) -> list[Workload]:
        return [workload for workload in self.job.workloads if version.serves(workload)]

    def timed(self, runs: Sequence[StoredRun], version: Version) -> tuple[str, tuple[StoredRun, ...]]:
        """Return a version's runs with valid checks and times, and why the newest of its source is not valid."""
        machine, source = machine_hash(), source_sha256(version.path)
        if self.is_away:
            here = [one for one in runs if one.run.source == "live" and one.run.gpu == self.job.on]
        else:
            here = [one for one in runs if shown_source(one.run, machine) == "live"]
        same = [one for one in here if one.run.source_sha256 == source]
        if not same:
            return EDITED if here else NOT_THERE if self.is_away else NOT_HERE, ()
        found = [(one, self._difference(version, one)) for one in same]
        return found[0][1], tuple(one for one, problem in found if not problem)

    def without_counters(self, version: Version, stored: StoredRun) -> str:
        """Return which requested counters a run with valid times lacks."""
        options, run, profile = self.job.options, stored.run, stored.run.profile
        if options is None:
            return ""
        asked = (options.section_set, options.clock_control, options.cache_control, options.replay_mode)
        if profile is None:
            return "no counters yet"
        had = (profile.section_set, profile.clock_control, profile.cache_control, profile.replay_mode)
        if had not in (asked, (MOST, *asked[1:]) if options.section_set == ADAPTIVE else asked):
            return f"its counters are of set {profile.section_set}, not {options.section_set}"
        if profile.repeats < self.job.settings.profile_repeats:
            return f"profiled {profile.repeats} times, not {self.job.settings.profile_repeats}"
        if all((run.toolchain.ncu or "") != setup.ncu for setup in self.setups):
            return f"ncu {run.toolchain.ncu} is {self.setups[0].ncu} now"
        counted = {launch.workload for launch in run.launches} | set(run.silent)
        lacking = [one.name for one in self.served(version) if one in (self.job.counted or self.job.workloads)]
        lacking = [name for name in lacking if name not in counted and not run.launched_nothing]
        return f"no counters on {', '.join(lacking)}" if lacking else ""

    def _difference(self, version: Version, stored: StoredRun) -> str:
        """Return the first difference to the current setup, empty if one of the places is unchanged.

        Raises EnvironmentProblem if no place can build the version.
        """
        need = need_of(version)
        able = [(setup, setup.toolchains[need]) for setup in self.setups if need in setup.toolchains]
        if not able:
            raise EnvironmentProblem(f"there is no compiler for {version.name}")
        there = [next(_other_setup(stored.run, *one), "") for one in able]
        return min(there, key=len) or next(self._differences(version, stored), "")

    def _differences(self, version: Version, stored: StoredRun) -> Iterator[str]:
        run, settings = stored.run, self.job.settings
        if run.tool != __version__:
            yield f"ncu-assist {run.tool} is {__version__} now"
        yield from self._other_problem(version, stored)
        lacking = [one.name for one in self.served(version) if not passed(run, one.name)]
        if lacking:
            yield f"not yet checked as right on {', '.join(lacking)}"
        if any(len(check.seeds) < settings.trials for check in run.checks):
            yield f"checked with fewer seeds than {settings.trials}"
        if "bench" not in settings.stages:
            return
        lacking = [one.name for one in self.served(version) if run.timing(one.name) is None]
        if run.bench is None or lacking:
            yield f"not timed on {', '.join(lacking)} yet"
        elif run.bench.flush != settings.flush:
            yield f"timed with --flush {run.bench.flush}"
        elif run.bench.rounds < settings.rounds:
            yield f"timed in {number_of(run.bench.rounds, 'round')}, not {settings.rounds}"
        damage = damage_of(stored)
        if damage is not None:
            yield damage.message

    def _other_problem(self, version: Version, stored: StoredRun) -> Iterator[str]:
        """Yield the changes of a version's problem, in kernel.toml and reference.py."""
        files, reference = stored.run.files, self.job.kernel.reference
        for path in source_files(reference):
            name = name_beside(reference, path)
            fact = files.get(f"source/{name}")
            if fact is None or fact.sha256 != hashlib.sha256(path.read_bytes()).hexdigest():
                yield f"{name} has changed"
        names = [one.name for one in self.served(version)]
        try:
            now = (self.job.kernel.folder / FILE).read_bytes()
            if _said(stored.read(f"source/{FILE}"), names) != _said(now, names):
                yield "kernel.toml has changed"
            then = header_comment(stored.read(f"source/{version.path.name}"), version.path.suffix)
            if bool(DRAWS_LINE.search(then)) != version.draws_own:
                yield "its first comment now says something else about its draws"
        except DamagedData as error:
            yield error.message


def _other_setup(run: Run, setup: Setup, now: Toolchain) -> Iterator[str]:
    """Yield the differences of a run's setup to the current one. Its nvcc may have built only others of its bench."""
    then = run.toolchain
    if run.gpu != setup.gpu:
        yield f"measured on {run.gpu}, here is {setup.gpu}"
    if run.device and run.device.driver != setup.driver:
        yield f"driver {run.device.driver} is {setup.driver} now"
    names = ("python", "torch", "nvcc") if now.nvcc else ("python", "torch")
    for name in names:
        if getattr(then, name) != getattr(now, name):
            yield f"{name} {getattr(then, name)} is {getattr(now, name)} now"
    if then.triton is not None and then.triton != setup.triton:
        yield f"triton {then.triton} is {setup.triton} now"
    if then.nvcc_options != now.nvcc_options:
        yield f"built with {then.nvcc_options or 'other options'}, not {now.nvcc_options}"
    if then.packages != now.packages:
        yield f"{', '.join(now.packages or then.packages)} has another version now"


def _said(toml: bytes, workloads: Sequence[str]) -> dict[str, Any]:
    """Return the parts of kernel.toml that a result depends on: all but the summary and other workloads."""
    said = tomllib.loads(toml.decode("utf-8", "replace"))
    own = {name: said.get("workloads", {}).get(name) or {} for name in workloads}
    own = {name: {key: one[key] for key in one if key not in ("default", "versions")} for name, one in own.items()}
    return {**said, "summary": "", "workloads": own}


def damage_of(stored: StoredRun) -> DamagedData | None:
    """Return the damage of the files behind a table's figures, if any."""
    try:
        for name in SHOWN & set(stored.run.files):
            stored.read(name)
    except DamagedData as error:
        return error
    return None


def _against_one(job: MeasureJob, versions: Sequence[Version], against: str) -> Iterator[Pair]:
    for one in (version for version in versions if version.name == against):
        for other in versions:
            for workload in job.workloads:
                if other != one and one.serves(workload) and other.serves(workload):
                    yield one.name, other.name, workload.name


def _against_parents(
    job: MeasureJob, versions: Sequence[Version], kept: Mapping[str, StoredRun], changed: Mapping[str, str]
) -> Iterator[Pair]:
    lineage, named = job.kernel.lineage, {version.name: version for version in versions}
    for workload in job.workloads:
        served = [version for version in versions if version.serves(workload)]
        for version in served:
            older = (named[name] for name in lineage.ancestors(version.name) if name in named)
            parent = next((one for one in older if one.serves(workload)), None)
            if parent is not None:
                yield parent.name, version.name, workload.name
        runs = [(version.is_peer, kept[version.name]) for version in served if version.name in kept]
        groups = [[stored for is_peer, stored in runs if is_peer is wanted] for wanted in (True, False)]
        bests = [fastest_run(group, workload.name) for group in groups]
        fastest = [best.run.version for best in bests if best is not None]
        if len(fastest) == 2:
            yield fastest[0], fastest[1], workload.name
        yield from ((best, name, workload.name) for best in fastest for name in changed if named[name] in served)


def _in_one_bench(pair: Pair, timed: Mapping[str, tuple[StoredRun, ...]], changed: Mapping[str, str]) -> bool:
    one, other, workload = pair
    if one in changed or other in changed:
        return False
    return common_bench(timed[one], timed[other], workload) is not None


def in_words(job: MeasureJob, known: KnownRuns) -> Iterator[str]:
    """Yield a line for each day on which what is kept was measured, for each reason to measure, for what is beside."""
    order, kernel = [version.name for version in job.versions], job.kernel.name
    on = f" on {job.on}" if job.on else ""
    days: dict[str, list[str]] = {}
    for name, stored in known.kept.items():
        if name not in known.beside:
            days.setdefault(stored.run.created[:10], []).append(name)
    for day in sorted(days):
        yield f"{kernel} {spans(days[day], order)}{on}: measured on {day} and unchanged; --again measures it again"
    reasons: dict[str, list[str]] = {}
    for name, why in known.changed.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield f"{kernel} {spans(names, order)}{on}: {why}"
    if known.beside:
        beside = [name for name in order if name in known.beside]
        yield f"{kernel} {spans(beside, order)}{on}: timed again with it, because a verdict needs times of one bench"


def spans(names: Iterable[str], order: Sequence[str]) -> str:
    """Return short names of versions, with neighbours in ``order`` as a span: ``v0 … v3, v5``."""
    groups: list[list[str]] = []
    for name in sorted(names, key=order.index):
        if groups and order.index(groups[-1][-1]) + 1 == order.index(name):
            groups[-1].append(name)
        else:
            groups.append([name])
    said = ((f"{short_name(g[0])} … {short_name(g[-1])}",) if len(g) >= SPAN else map(short_name, g) for g in groups)
    return ", ".join(name for group in said for name in group)
