"""What a command over several versions came to: runs in the archive, what is missing, what failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ncu_assist.analysis.diff import Diff
from ncu_assist.ceilings import Floor
from ncu_assist.errors import EnvironmentProblem, StageFailed
from ncu_assist.misnamed import Misnamed
from ncu_assist.record import Source
from ncu_assist.store import Damage, StoredRun
from ncu_assist.store.draft_records import Draft
from ncu_assist.store.drafts import StoredDraft
from ncu_assist.store.findings import Judged
from ncu_assist.verdict import Verdict

EVERY_DRAFT_REJECTED, UNPROVEN = 3, 4  # exit codes


@dataclass(frozen=True)
class VersionOutcome:
    """One version: its run, or why there is none. A run with a ``failure`` holds what was finished before it.

    ``unserved`` are the workloads asked for that are not for this version, ``unmeasured`` those that are, and that no
    run of it holds where nothing can be measured.
    ``skipped`` says why a version without a run was not tried: no failure, what it needs is not installed.
    ``unreadable``: it may have a run, as something of it in the archive cannot be read.
    """

    version: str
    run: StoredRun | None
    failure: str = ""
    failure_code: int = StageFailed.exit_code
    unserved: tuple[str, ...] = ()
    skipped: str = ""
    unmeasured: tuple[str, ...] = ()
    unreadable: bool = False


@dataclass(frozen=True)
class Outcome:
    """All versions asked for, in the order of their numbers, on the workloads asked for."""

    kernel: str
    workloads: tuple[str, ...]
    source: Source
    versions: tuple[VersionOutcome, ...]
    diffs: tuple[Diff, ...] = ()  # between the first version and each other, where verdicts were asked for

    @property
    def exit_code(self) -> int:
        """0, or the exit code of what failed or could not be measured here, the highest of several."""
        unmeasured = [EnvironmentProblem.exit_code for v in self.versions if v.unmeasured]
        return max([*unmeasured, *(v.failure_code for v in self.versions if v.failure)], default=0)


@dataclass(frozen=True)
class KernelListing:
    """What `list` shows of a kernel: its versions, each with the run that shows it as it is now, if there is one.

    ``only`` has the workloads that are for some versions only, with those. ``misnamed`` are sources that were probably
    meant as versions.
    """

    kernel: str
    summary: str  # empty for a foreign program, which has no folder
    workloads: tuple[str, ...]
    default_workload: str | None
    versions: tuple[VersionOutcome, ...]
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    misnamed: tuple[Misnamed, ...] = ()


@dataclass(frozen=True)
class Standing:
    """One version on one workload: the run that has its time, and the verdict by time against the version before.

    ``workload`` is None for a program that knows of none. ``run`` is None where the version was not measured on it,
    ``verdict`` where one of the two versions has no time. ``predicted`` is the run of the version before whose findings
    were stored last before this version was first measured, None where there is none. ``judged`` is what the rules say
    now of a run that keeps no findings, on the workload whose times are shown. ``before`` is the version compared with
    on it, None for that of the step: not every version serves every workload. ``served`` is whether this one does.
    ``floor`` is the least time that the workload can take on the GPU of ``run``, None where no rate of it is known.
    """

    workload: str | None
    run: StoredRun | None
    verdict: Verdict | None
    predicted: StoredRun | None = None
    judged: Judged | None = field(default=None, repr=False)
    before: str | None = None
    served: bool = True
    floor: Floor | None = None


@dataclass(frozen=True)
class Step:
    """One version of a history, ``before`` being the one that it is compared with: the nearest that it builds on.

    That is on the workload shown, or, for a version that does not serve it, on the first that it does.
    ``missing`` says why nothing of it is shown; it is empty for a version that was measured as its source is now.
    ``dtypes`` are those that it serves, empty for all. ``is_peer``: it is a library's or a framework's own.
    """

    version: str
    before: str | None
    standings: tuple[Standing, ...]  # one a workload of the history
    missing: str = ""
    dtypes: tuple[str, ...] = ()
    is_peer: bool = False
    parents: tuple[str, ...] = ()  # what it builds on, measured or not


@dataclass(frozen=True)
class Sweep:
    """One version on workloads that differ in one integer only, ``axis``: each value with its workload, in order."""

    version: str
    axis: str
    points: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class History:
    """The versions of a kernel, oldest first, each against its parent, on all workloads that were measured.

    ``only`` has the workloads that are for some versions only, with those.
    """

    kernel: str
    workloads: tuple[str | None, ...]
    shown: str | None  # the workload whose times are shown: the default one, where it was timed
    steps: tuple[Step, ...]
    sweeps: tuple[Sweep, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class BaselineInForce:
    """What ``@baseline`` means: the run that was set, or that of v0.

    ``run`` is None where none was set and v0 has no run either; ``missing`` says then why, and ``to_set`` is the
    command that changes it. Among those of other kernels it is also None where what was set is gone or damaged,
    which ``exit_code`` tells.
    """

    kernel: str
    is_set: bool
    since: str | None  # when it was set
    run: StoredRun | None
    cleared: bool = False  # just now
    missing: str = ""
    to_set: str = ""
    exit_code: int = 0


@dataclass(frozen=True)
class KernelState:
    """What the archive knows of a kernel: its best version, against the baseline by time on one workload.

    ``best`` is None where no version is checked and timed as its source is now; ``shown`` is then the newest run, for a
    foreign program too. ``verdict`` is None where best and baseline are one, or one of them has no time. ``same``
    are the versions as fast as best by verdict, ``unclear`` those whose verdict is in doubt. ``floor`` is of ``shown``.
    """

    kernel: str
    summary: str  # empty for a foreign program
    workload: str | None
    best: StoredRun | None
    baseline: StoredRun | None
    verdict: Verdict | None
    shown: StoredRun
    source: Source
    versions: int
    runs: int
    changed: str  # when its newest run was made
    problem: str = ""  # why the kernel's folder or one of these runs could not be read
    same: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    floor: Floor | None = None


@dataclass(frozen=True)
class ArchiveState:
    """All kernels with at least one readable run, all those runs, and what is damaged."""

    kernels: tuple[KernelState, ...]
    runs: tuple[StoredRun, ...]
    damaged: tuple[Damage, ...]


# the ladder page
@dataclass(frozen=True)
class KernelLadder:
    """The history of a kernel with what its page says besides: what each version tried, every run, what is damaged.

    ``tried`` is the comment at the top of a version's archived source, by version. ``state`` is None where no run can
    be read. ``drafts`` are those of models, the oldest first.
    """

    history: History
    state: KernelState | None
    tried: Mapping[str, str]
    runs: tuple[StoredRun, ...]  # newest first
    damaged: tuple[Damage, ...]
    drafts: tuple[Draft, ...] = ()
    damaged_drafts: tuple[Damage, ...] = ()


# what writing pages came to
PageKind = Literal["run", "diff", "ladder", "index"]


@dataclass(frozen=True)
class WrittenPage:
    """A page that was written; ``of`` is the reference, the two references or the kernel that it is of."""

    kind: PageKind
    of: str
    path: Path


@dataclass(frozen=True)
class Written:
    """All pages, in the order in which they were written; ``asked`` is the one that was asked for.

    ``problems`` say why others could not be made, ``exit_code`` is the highest of theirs.
    """

    pages: tuple[WrittenPage, ...]
    asked: WrittenPage
    problems: tuple[str, ...] = ()
    exit_code: int = 0


@dataclass(frozen=True)
class Suggested:
    """The drafts of a suggestion in the order in which they were made; ``files`` are versions written of some.

    ``ended`` says what ended the work before its time, a budget or a model without an answer; ``dropped`` what the
    first prompt had no room for. Both are empty for nothing.
    """

    drafts: tuple[StoredDraft, ...]
    files: tuple[Path, ...] = ()
    ended: str = ""
    dropped: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0; 3 where every draft was rejected; 4 where none was kept and one could not be proved."""
        fates = {stored.draft.fate for stored in self.drafts}
        if not fates or "kept" in fates or "drafted" in fates or self.files:
            return 0
        return UNPROVEN if "unproven" in fates else EVERY_DRAFT_REJECTED
