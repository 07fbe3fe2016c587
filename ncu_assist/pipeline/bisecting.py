"""A search over commits for the first at which a version is slower or wrong: git's bisection, measured by bench."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_assist.analysis.trend import Bisection, MeasuredCommit, Symptom, side_of
from ncu_assist.commits import checked_out, git, is_ancestor, resolved
from ncu_assist.environment import gpu_here
from ncu_assist.errors import NcuAssistError, UsageProblem
from ncu_assist.pipeline.planning import MeasureRequest, bench
from ncu_assist.project import Project, find_project
from ncu_assist.sources import source_files
from ncu_assist.spec_file import load_kernel
from ncu_assist.steps import Reporter
from ncu_assist.verdict import MARGIN
from ncu_assist.versions import short_name

MOST_BENCHES = 3  # of a commit whose time is between the two
FIRST_BAD = re.compile(r"^([0-9a-f]{40}) is the first", re.MULTILINE)
CANDIDATE = re.compile(r"^([0-9a-f]{40})$", re.MULTILINE)


def bisect(
    project: Project,
    named: str,
    ends: tuple[str, str],
    reporter: Reporter,
    workload: str | None = None,
    rounds: int | None = None,
) -> Bisection:
    """Return the first commit between two at which a version is slower, or wrong, as the bad one is.

    ``named`` is a kernel, or kernel/version; ``ends`` are the good commit and the bad one. Each commit is checked out
    in a work tree of its own; the one that the user stands in is left alone. What cannot be built or checked is
    skipped, as git does. Raises EnvironmentProblem without a GPU, UsageProblem for names that mean nothing, for ends
    with nothing between them to try and for those that do not differ, and as ``bench`` does.
    """
    kernel_name, _, typed = named.partition("/")
    kernel = load_kernel(project, kernel_name)
    version = kernel.select_versions((typed,) if typed else (short_name(kernel.versions[-1].name),))[0]
    workload = kernel.select_workloads(workload)[0].name
    measure = MeasureRequest(kernel.name, (version.short,), workload, rounds, again=True)
    root = project.root
    good, bad = (resolved(root, name) for name in ends)
    _check_ends(root, ends, good, bad)
    touching = _made_of(project, measure, good, bad)
    if not git(root, "rev-list", f"{good}..{bad}", "--", *touching):
        message = f"no commit between {ends[0]} and {ends[1]} touches the files of {named}"
        raise UsageProblem(message, f"ncu-assist trend {named}")
    gpu_here()  # before anything is built, and after mistakes, which need none to be seen
    search = _Search(root, measure, version.name, workload, reporter, touching)
    measured = [search.measured(commit) for commit in (good, bad)]
    symptom = _symptom(named, ends, *measured)
    found = search.run(good, bad, measured, symptom)
    return Bisection(kernel.name, version.name, workload, symptom, *found)


def _check_ends(root: Path, ends: tuple[str, str], good: str, bad: str) -> None:
    """Raise UsageProblem for ends that are no beginning and end of a history."""
    if good == bad:
        message = f"{ends[0]} and {ends[1]} are the same commit"
    elif is_ancestor(root, good, bad):
        return
    elif is_ancestor(root, bad, good):
        message = f"{ends[0]} is later than {ends[1]}: --good must be the earlier commit"
    else:
        message = f"{ends[0]} is not an ancestor of {ends[1]}"
    raise UsageProblem(message, "git log --oneline")


def _made_of(project: Project, measure: MeasureRequest, *ends: str) -> tuple[str, ...]:
    """Return git's patterns for what a kernel is made of, here or at one of the ends: its folder, and what its version
    includes, without the other versions.
    """
    prefix = git(project.root, "rev-parse", "--show-prefix").strip()
    files, others = set[str](), set[str]()
    for commit in (None, *ends):
        with nullcontext(project.root) if commit is None else checked_out(project.root, commit) as root:
            try:
                kernel = load_kernel(find_project(root), str(measure.kernel))
                (own,) = kernel.select_versions(measure.versions)
            except UsageProblem:  # the version or the kernel is not there yet
                continue
            files |= {os.path.relpath(path, root) for path in source_files(own.path)}
            files.add(os.path.relpath(kernel.folder, root))
            others |= {os.path.relpath(one.path, root) for one in kernel.versions if one != own}

    def in_repository(names: set[str]) -> list[str]:
        paths = sorted(os.path.normpath(prefix + name) for name in names)
        return [path for path in paths if not path.startswith("..")]

    patterns = [f":(top,literal){path}" for path in in_repository(files)]
    return (*patterns, *(f":(top,literal,exclude){path}" for path in in_repository(others - files)))


def _symptom(named: str, ends: tuple[str, str], good: MeasuredCommit, bad: MeasuredCommit) -> Symptom:
    """Return what to look for. Raises UsageProblem where the good end is none or the two do not differ."""
    if good.median_ns is None:
        raise UsageProblem(f"{ends[0]} is not good: {good.problem}", "name a commit with right results as --good")
    if bad.found == "bad":
        return "wrong"
    if bad.median_ns is None:
        raise UsageProblem(f"{ends[1]} cannot be measured: {bad.problem}", "name a later commit as --bad")
    if bad.median_ns <= good.median_ns * (1 + MARGIN):
        change = f"{100 * (bad.median_ns / good.median_ns - 1):+.1f} %"
        raise UsageProblem(
            f"{ends[1]} is not slower than {ends[0]}: {change}, and a change is at least {100 * MARGIN:g} %",
            f"ncu-assist trend {named}",
        )
    return "slower"


@dataclass
class _Search:
    """git's bisection in a work tree of its own, over the commits that touch some files: git's patterns."""

    root: Path
    request: MeasureRequest
    version: str
    workload: str
    reporter: Reporter
    touching: tuple[str, ...]

    def measured(self, commit: str) -> MeasuredCommit:
        with checked_out(self.root, commit) as folder:
            return self._bench(folder, commit)

    def run(
        self, good: str, bad: str, ends: list[MeasuredCommit], symptom: Symptom
    ) -> tuple[MeasuredCommit, MeasuredCommit, tuple[MeasuredCommit, ...], tuple[str, ...], tuple[str, ...]]:
        tried: list[MeasuredCommit] = []
        first: tuple[str, ...] = ()
        with checked_out(self.root, bad) as folder:
            top = Path(git(folder, "rev-parse", "--show-toplevel").strip())  # where alone git bisects
            said = git(top, "bisect", "start", bad, good, "--", *self.touching)
            while not first:
                done = FIRST_BAD.search(said)
                if done:
                    first = (done[1],)
                elif "only 'skip'ped commits left" in said:
                    first = tuple(CANDIDATE.findall(said))
                else:
                    commit = git(top, "rev-parse", "HEAD").strip()
                    one = self._judged(folder, commit, ends, symptom)
                    tried.append(one)
                    said = _said(top, "skip" if one.found == "skipped" else one.found)
            git(top, "bisect", "reset", bad)
        files = git(self.root, "show", "--format=", "--name-only", first[0]).splitlines() if len(first) == 1 else []
        return replace(ends[0], found="good"), replace(ends[1], found="bad"), tuple(tried), first, tuple(files)

    def _judged(self, folder: Path, commit: str, ends: list[MeasuredCommit], symptom: Symptom) -> MeasuredCommit:
        good_ns, bad_ns = ends[0].median_ns, ends[1].median_ns
        for _ in range(MOST_BENCHES):
            one = self._bench(folder, commit)
            if symptom == "wrong":
                return replace(one, found="good") if one.median_ns else one
            if one.median_ns is None or good_ns is None or bad_ns is None:
                return replace(one, found="skipped")
            found = side_of(one.median_ns, good_ns, bad_ns)
            if found:
                return replace(one, found=found)
        return replace(one, problem=f"its time was between the two in {MOST_BENCHES} benches")

    def _subject(self, commit: str) -> str:
        return git(self.root, "show", "--no-patch", "--format=%s", commit).strip()

    def _bench(self, folder: Path, commit: str) -> MeasuredCommit:
        """Return what a commit comes to that is checked out in a folder, ``bad`` if wrong, else ``skipped``."""
        made = MeasuredCommit(commit, self._subject(commit), "skipped")
        self.reporter.note(f"measuring {commit[:12]} {made.subject}")
        try:
            outcome = bench(find_project(folder), self.request, self.reporter)
        except UsageProblem as error:  # the version, the workload or the kernel is not there yet
            return replace(made, problem=error.message)
        row = next(one for one in outcome.versions if one.version.startswith(short_name(self.version)))
        run = row.run.run if row.run else None
        timing, is_wrong = (run.timing(self.workload), run.is_wrong(self.workload)) if run else (None, False)
        if is_wrong or timing is None:
            return replace(made, found="bad" if is_wrong else "skipped", problem=row.failure or "it was not timed")
        return replace(made, median_ns=timing.median_ns)


def _said(folder: Path, word: str) -> str:
    """Return what git says to a verdict on a commit; that nothing but skipped ones is left is no error here."""
    try:
        return git(folder, "bisect", word)
    except NcuAssistError as error:
        log = git(folder, "bisect", "log")
        if "only skipped commits left" not in log:
            raise
        found = re.findall(r"# possible first bad commit: \[([0-9a-f]{40})\]", log)
        if not found:
            raise error
        return "\n".join(["only 'skip'ped commits left", *found])
