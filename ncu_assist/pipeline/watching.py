"""From a saved file to its verdict, and then to its diagnosis, again and again.

Each edit is measured in a copy of the kernel folder, so that what is typed meanwhile is in no measurement, and in a
process of its own that was warmed before. Runs stay in the copy's archive; those of the last edit, and of one that is
kept, go into the project's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.ladder import Attempt, KernelOutcome
from ncu_assist.backends import build_versions
from ncu_assist.commits import commit_of
from ncu_assist.environment import gpu_here
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, UsageProblem
from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local, Stoppable, Warm
from ncu_assist.harness.client import child_environment
from ncu_assist.harness.request import new_request
from ncu_assist.ncu.command import ADAPTIVE, ProfileOptions, check_set, find_ncu
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.project import Project
from ncu_assist.sources import COMMENT_SIGNS, HEADER_COMMENT, source_files, source_sha256
from ncu_assist.spec import Kernel, Version, why_skipped
from ncu_assist.spec_file import FILE, read_kernel
from ncu_assist.steps import Reporter
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import fastest_run, live_first

# A folder has a dozen files: to look at them twenty times a second takes 1 % of a core, works over network disks and in
# containers, where the system tells of no change, and needs no package.
POLL_S = 0.05
# What editors write beside a file while they have it open, or to find out whether they can.
OF_EDITORS = (".#*", "#*#", "*~", ".*.sw?", "4913", "___jb_*___")
NOT_COPIED = ("__pycache__", ".git", *OF_EDITORS)
WARM_LIMIT_S = 60.0  # a process that is warming up would disturb what ncu counts
Signature = dict[str, tuple[int, int]]  # of files, by their paths: time of the last change, size


class FolderWatch:
    """A kernel folder that is watched; a context, at whose end everything warm is given back."""

    def __init__(
        self,
        project: Project,
        kernel: str,
        reporter: Reporter,
        *,
        against: str | None = None,
        workload: str | None = None,
        rounds: int | None = None,
        section_set: str = "full",
        profiles: bool = True,
    ) -> None:
        """``against`` is compared with in place of the parent; ``profiles``: counters after each verdict.

        Raises UsageProblem for names that there are not, EnvironmentProblem without a GPU.
        """
        self.project, self.reporter = project, reporter
        self._against, self._workload, self._profiles = against, workload, profiles
        self._options = ProfileOptions(section_set)
        asked = MeasureRequest(kernel, workload=workload, rounds=rounds)
        self._job = plan(project, asked, ("check", "bench"), reporter=reporter)
        if against:
            self._job.kernel.version(against)
        missing = self._missing_ncu()
        if self._job.settings.device == "cuda" and type(self._job.executor) is Local:
            gpu_here()
        if profiles and missing:
            reporter.note(f"verdicts only: {missing}")
            self._profiles = False
        self.folder = self._job.kernel.folder
        self.attempts: list[Attempt] = []
        self._seen = _signature(self.folder)
        self._texts = _texts(self.folder)
        self._root = Path(tempfile.mkdtemp(prefix="ncu-assist-watch-"))
        self.copy = Project(self._root, project.settings)
        self._sources: dict[int, bytes] = {}  # of the attempts, by number
        self._looked: tuple[Signature, bool | None] = {}, None  # the last look while something was measured
        self._ended = ""  # the version whose measurement a save ended, until it is taken again
        base = self._job.executor
        has_pipes = hasattr(os, "mkfifo")
        self._warm = Warm(self._job.settings.device, base) if type(base) is Local and has_pipes else None

    def __enter__(self) -> FolderWatch:
        """Build what edits will be compared with, and begin to warm a process for the first one."""
        try:
            self._prepare()
        except BaseException:
            self._give_back()
            raise
        return self

    def _prepare(self) -> None:
        self._copy()
        self.reporter.status("building what edits are compared with")
        kernel = read_kernel(self.copy.kernels / self.folder.name)
        self._rehearsed(kernel)
        self.warm()
        own = [one for one in kernel.versions if not one.is_peer and not why_skipped(one)]
        if own:
            versions = tuple(dict.fromkeys((own[-1], *self._partners(kernel, own[-1]))))
            with contextlib.suppress(EnvironmentProblem):  # of a missing compiler the first edit tells
                build_versions(kernel, versions, self.copy.work)

    def _rehearsed(self, kernel: Kernel) -> None:
        if self._warm is not None:
            workloads, work = kernel.select_workloads(self._workload), self.copy.work
            with contextlib.suppress(EnvironmentProblem):
                self._warm.rehearsal = new_request(kernel, {}, workloads, self._job.settings, work).path

    def __exit__(self, *_: object) -> None:
        try:
            self.archive()
        finally:
            self._give_back()

    def _give_back(self) -> None:
        if self._warm is not None:
            self._warm.close()
        shutil.rmtree(self._root, ignore_errors=True)

    def warm(self) -> None:
        """Begin to warm the process for the next edit."""
        if self._warm is not None:
            self._warm.start(child_environment(), self._root)

    def is_warm(self, timeout_s: float) -> bool:
        """Wait until the process for the next edit is warm, and tell whether it is."""
        return self._warm is not None and self._warm.wait(timeout_s)

    def is_changed(self) -> bool:
        """Tell whether a file of the folder was saved since the last edit was taken."""
        return _signature(self.folder) != self._seen

    def is_edited(self) -> bool:
        """Tell whether code was saved since that ``take`` would return a version for, and no file is being written.

        What is measured may be ended then: something else will be measured in its place.
        """
        now = _signature(self.folder)
        if now == self._seen:
            return False
        before, answer = self._looked
        if now != before:  # the next look tells whether it is whole
            self._looked = now, None
            return False
        if answer is None:
            answer = False  # nor is half of kernel.toml an edit
            with contextlib.suppress(UsageProblem, OSError):
                answer = self._edited(_texts(self.folder))[0] is not None
            self._looked = now, answer
        return answer

    def take(self) -> Version | None:
        """Return the version that was saved last, once its file is whole; None where no code of a version changed.

        Of a header it is the version edited last, or else the newest, that includes it; of kernel.toml and reference.py
        the same. What a save ended that is no edit in the end is returned again. Raises UsageProblem for a folder that
        cannot be read as it is now; what was saved in it is taken once it can.
        """
        seen = _signature(self.folder)
        while True:  # an editor may write in several steps
            time.sleep(POLL_S)
            now = _signature(self.folder)
            if now == seen:
                break
            seen = now
        self._seen = seen
        texts = _texts(self.folder)
        try:
            found, kernel = self._edited(texts)
            self._copy()
        except OSError as error:  # a file went while it was read
            raise UsageProblem(f"{self.folder.name} cannot be read: {error}") from error
        self._texts = texts
        if found is None and self._ended:
            found = next((one for one in kernel.versions if one.name == self._ended), None)
        self._ended = ""
        return found

    def _edited(self, texts: dict[Path, bytes]) -> tuple[Version | None, Kernel]:
        """Return the version whose code differs from what was taken last, None for none, and the kernel as it is."""
        changed = {name for name, text in texts.items() if self._texts.get(name) != text}
        kernel = read_kernel(self.folder)
        shared = bool(changed & {(self.folder / FILE).resolve(), kernel.reference.resolve()})
        found = [
            one
            for one in (kernel.versions if changed else ())
            if shared or changed & {file.resolve() for file in source_files(one.path)}
        ]
        last = self.attempts[-1].version if self.attempts else ""
        best = max(found, key=lambda one: (one.path.resolve() in changed, one.name == last, one.number), default=None)
        return best, kernel

    def again(self, is_over: Callable[[], bool], on_step: Callable[[Attempt], None]) -> Attempt:
        """Measure the version of the last edit as it is, with counters.

        Raises as ``measure`` does, and EnvironmentProblem without ncu: the last attempt stays as it is then.
        """
        find_ncu()
        version = read_kernel(self.copy.kernels / self.folder.name).version(self.attempts[-1].version)
        return self.measure(version, is_over, on_step, profiles=True)

    def measure(
        self,
        version: Version,
        is_over: Callable[[], bool],
        on_step: Callable[[Attempt], None],
        profiles: bool | None = None,
    ) -> Attempt:
        """Build, check and time a version beside what it is compared with, then profile it; ``on_step`` sees each step.

        ``is_over`` says that the person wants something else: what runs is ended then. An error that every version
        would meet is the attempt's failure. A profile that fails leaves the verdict: the attempt stays ``timed``.
        """
        attempt = Attempt(len(self.attempts) + 1, version.name)
        self._sources[attempt.number] = (self.copy.kernels / self.folder.name / version.path.name).read_bytes()
        self.attempts.append(attempt)
        started, over = time.monotonic(), threading.Event()

        def is_ended() -> bool:
            if is_over():
                over.set()
            return over.is_set()

        def step(**known: Any) -> None:
            self.attempts[-1] = replace(self.attempts[-1], **known)
            on_step(self.attempts[-1])

        def timed(outcome: KernelOutcome) -> None:
            known = self._judged(version.name, outcome)
            step(**known, seconds=time.monotonic() - started, state="failed" if known["failure"] else "timed")
            self.warm()
            if job.options is not None and not known["failure"]:
                self.is_warm(WARM_LIMIT_S)
                step(state="profiling")

        def failed(why: str) -> None:
            last = self.attempts[-1]
            is_timed = last.seconds is not None and last.state != "failed"
            step(failure=why, state="timed" if is_timed else "failed")

        step()
        try:
            job = self._job_of(version, is_ended, self._profiles if profiles is None else profiles)
            row = next(one for one in measure(job, self.reporter, timed).versions if one.version == version.name)
            self.attempts[-1] = replace(self.attempts[-1], run=row.run or self.attempts[-1].run)
            if row.failure:
                failed(row.failure)
            else:
                step(state="done" if job.options is not None else "timed")
        except KeyboardInterrupt:
            if not over.is_set():
                raise
            self._ended = version.name
            step(state="superseded" if self.attempts[-1].seconds is None else "timed")
        except NcuAssistError as error:
            failed(error.message)
        self.warm()
        return self.attempts[-1]

    def archive(self, attempt: Attempt | None = None) -> StoredRun | None:
        """Take an attempt, the last one unless given, with the runs timed beside it into the project's archive.

        None where there is none, and for one whose source is not what the folder holds now.
        """
        attempt = attempt or next((one for one in reversed(self.attempts) if one.run is not None), None)
        if attempt is None or attempt.run is None:
            return None
        with contextlib.suppress(UsageProblem):
            now = read_kernel(self.folder).version(attempt.version)
            if source_sha256(now.path) == attempt.run.run.source_sha256:
                return [self._taken_over(stored) for stored in (*attempt.beside, attempt.run)][-1]
        return None

    def keep(self, attempt: Attempt) -> Path:
        """Write an attempt as the folder's next version, a child of the one that was edited; return its file.

        Raises UsageProblem for one that failed.
        """
        if attempt.state == "failed":
            raise UsageProblem(f"not kept, as it failed: {attempt.failure}", "mend it, or copy the file")
        source = self._sources[attempt.number]
        kernel = read_kernel(self.folder)
        edited = kernel.version(attempt.version)
        number = 1 + max(one.number for one in kernel.versions)
        path = self.folder / f"v{number}_{edited.name.partition('_')[2]}{edited.path.suffix}"
        sign = COMMENT_SIGNS[path.suffix].encode()
        said = HEADER_COMMENT[path.suffix].match(source)
        lines = [line for line in (said[0] if said else b"").splitlines() if b"parent:" not in line]
        code = source[said.end() if said else 0 :]
        path.write_bytes(b"\n".join([*lines, sign + f" parent: {edited.short}".encode(), code]))
        self._seen, self._texts = _signature(self.folder), _texts(self.folder)
        return path

    def _missing_ncu(self) -> str:
        """Return why there can be no counters, empty where they can; raises UsageProblem for an unknown section set."""
        try:
            ncu = find_ncu()
            if self._options.section_set != ADAPTIVE:
                check_set(ncu, self._options.section_set)
        except EnvironmentProblem as problem:
            return problem.message
        return ""

    def _job_of(self, version: Version, is_over: Callable[[], bool], profiles: bool) -> MeasureJob:
        kernel = read_kernel(self.copy.kernels / self.folder.name)
        workloads = kernel.select_workloads(self._workload)
        own = kernel.version(version.name)
        options = self._options if profiles else None
        executor: Executor = self._warm or self._job.executor
        return replace(
            self._job,
            project=self.copy,
            kernel=kernel,
            versions=(own,),
            workloads=tuple(one for one in workloads if own.serves(one)) or workloads,
            options=options,
            executor=Stoppable(executor, is_over),
            beside=self._partners(kernel, own),
        )

    def _partners(self, kernel: Kernel, own: Version) -> tuple[Version, ...]:
        """Return what a version is compared with: --against, else the nearest that it builds on, and the fastest."""
        workload = next(iter(kernel.select_workloads(self._workload)))
        names = [self._against] if self._against else list(kernel.lineage.ancestors(own.name))
        served = [one for one in map(kernel.version, names) if one.serves(workload) and one.name != own.name]
        others = [one for one in kernel.versions if one != own and not one.is_peer and one.serves(workload)]
        store = Store(self.project.reports)
        runs = [
            stored
            for one in others
            for stored in live_first(store.runs(kernel.name, one.name))[:1]
            if stored.run.source_sha256 == source_sha256(one.path)
        ]
        best = fastest_run(live_first(runs), workload.name)
        found = [*served[:1], *([kernel.version(best.run.version)] if best else [])]
        return tuple(dict.fromkeys(found))

    def _judged(self, version: str, outcome: KernelOutcome) -> dict[str, Any]:
        """Return the fields of an attempt that its times decide."""
        rows = {row.version: row for row in outcome.versions}
        own = rows.pop(version)
        broken = "; ".join(f"{row.version}: {row.failure}" for row in rows.values() if row.failure)
        if broken:
            self.reporter.note(f"not compared with {broken}")
        beside = tuple(row.run for row in rows.values() if row.run)
        pairs = ((other, name) for other in beside for name in outcome.workloads if other.run.timing(name))
        run = own.run
        diffs = tuple(diff_runs(one, run, DiffOptions(name)) for one, name in pairs if run and run.run.timing(name))
        return {"failure": own.failure, "run": run, "beside": beside, "diffs": () if own.failure else diffs}

    def _taken_over(self, stored: StoredRun) -> StoredRun:
        store, run = Store(self.project.reports), stored.run
        known = [one for one in store.runs(run.kernel, run.version) if one.run.run_id == run.run_id]
        if known:
            return known[0]
        files = {name: stored.read(name) for name in run.files}
        return store.save(replace(run, files={}, digest="", commit=commit_of(self.folder)), files)

    def _copy(self) -> None:
        copy_folder(self.project, self.folder, self.copy)


def copy_folder(project: Project, folder: Path, copy: Project) -> None:
    """Copy a kernel folder, and what its versions include from beside it, below the root of another project.

    What editors leave there, and links to nothing, are left out. Raises UsageProblem for what cannot be read.
    """
    target = copy.kernels / folder.name
    shutil.rmtree(target, ignore_errors=True)
    try:
        shutil.copytree(folder, target, ignore=_left_out)
        root = project.root.resolve()
        for version in read_kernel(folder).versions:
            for file in source_files(version.path):
                whole = file.resolve()
                if folder.resolve() not in whole.parents and root in whole.parents:
                    beside = copy.root / whole.relative_to(root)
                    beside.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(whole, beside)
    except OSError as error:
        each = error.args[0] if isinstance(error, shutil.Error) else None
        why = each[0][-1] if isinstance(each, list) and each else error
        raise UsageProblem(f"{folder.name} cannot be copied: {why}") from error


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return what is not copied of a folder: what editors leave, and links to nothing, pipes and the like."""
    odd = {name for name in names if not ((path := Path(folder, name)).is_file() or path.is_dir())}
    return odd | {name for name in names if any(fnmatchcase(name, one) for one in NOT_COPIED)}


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files whose changes are looked at: none that are hidden, nor what editors leave."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_left = any(one.startswith(".") or any(fnmatchcase(one, odd) for odd in NOT_COPIED) for one in parts)
        if not is_left and path.is_file():
            yield path


def _signature(folder: Path) -> Signature:
    found: Signature = {}
    for path in _files(folder):
        with contextlib.suppress(OSError):  # it went between two looks
            facts = path.stat()
            found[str(path)] = facts.st_mtime_ns, facts.st_size
    return found


def _texts(folder: Path) -> dict[Path, bytes]:
    """Return what counts of each file: of a version all but the comment at its top."""
    found = {}
    for path in _files(folder):
        with contextlib.suppress(OSError):
            header = HEADER_COMMENT.get(path.suffix)
            found[path.resolve()] = header.sub(b"", path.read_bytes(), count=1) if header else path.read_bytes()
    return found
