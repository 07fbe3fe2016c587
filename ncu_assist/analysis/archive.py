"""What the archive holds: the state of each kernel, the baseline in force, the pages written of it; what keeping it in
order came to, and what a query of it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ncu_assist.frame import combine_tables

if TYPE_CHECKING:
    from ncu_assist.analysis.history import History
    from ncu_assist.analysis.yardstick import OwnAgainstLibrary
    from ncu_assist.ceilings import Floor
    from ncu_assist.record import Source
    from ncu_assist.store import Damage, StoredRun
    from ncu_assist.store.drafts import Draft, StoredDraft
    from ncu_assist.store.index import RunHead
    from ncu_assist.verdict import Verdict

EVERY_DRAFT_REJECTED, UNPROVEN = 3, 4  # exit codes


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
    ``own_times`` are the medians of one's own versions on the workload, in their order, in ns, and ``against_library``
    is how the fastest of them stands to the fastest library; None without both.
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
    own_times: tuple[tuple[str, float], ...] = ()
    against_library: OwnAgainstLibrary | None = None

    @property
    def under_ncu_ns(self) -> float | None:
        """The time of ``shown`` under ncu over all launches; that of a program without workloads needs no counters."""
        run = self.shown.run
        return combine_tables(run, {}, self.workload).duration_ns if run.launches else None


@dataclass(frozen=True)
class ArchiveState:
    """All kernels with at least one readable run, all those runs, and what is damaged."""

    kernels: tuple[KernelState, ...]
    runs: tuple[StoredRun | RunHead, ...]
    damaged: tuple[Damage, ...]


@dataclass(frozen=True)
class KernelLadder:
    """The history of a kernel with what its page says besides: what each version tried, every run, what is damaged.

    ``tried`` is the comment at the top of a version's archived source, by version. ``state`` is None where no run can
    be read. ``drafts`` are those of models, the oldest first. ``heads`` are all runs where ``runs`` are but the newest.
    """

    history: History
    state: KernelState | None
    tried: Mapping[str, str]
    runs: tuple[StoredRun, ...]  # newest first
    damaged: tuple[Damage, ...]
    drafts: tuple[Draft, ...] = ()
    damaged_drafts: tuple[Damage, ...] = ()
    heads: tuple[RunHead, ...] = ()

    @property
    def every(self) -> tuple[StoredRun | RunHead, ...]:
        """All runs, newest first."""
        return self.heads or self.runs


PageKind = Literal["run", "diff", "ladder", "index", "bundle"]


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
class CompiledFunction:
    """What ptxas counts of a kernel in a build: registers a thread, bytes a thread or a block.

    ``warps`` fit an SM by registers and static shared memory, by threads a block; none is told of an unknown chip. Of
    its code, where cuobjdump is installed: ``instructions`` in all, ``opcodes`` without modifiers, the most first, and
    ``loops``, the instructions of each loop body that has no other in it, in the order of the code.
    """

    name: str
    registers: int = 0
    stack_bytes: int = 0
    spilled_bytes: int = 0
    shared_bytes: int = 0  # static, a block
    warps: dict[str, int] = field(default_factory=dict)
    instructions: int = 0
    opcodes: dict[str, int] = field(default_factory=dict)
    loops: tuple[int, ...] = ()


@dataclass(frozen=True)
class DraftBuild:
    """What compiling a draft, by its id, came to: the compiler's errors and warnings, and what it counted.

    ``id`` is empty for a source that is no draft of the archive.
    """

    id: str
    passed: bool
    seconds: float
    said: str
    functions: tuple[CompiledFunction, ...] = ()


@dataclass(frozen=True)
class Suggested:
    """The drafts of a suggestion in the order in which they were made; ``files`` are versions written of some.

    ``ended`` says what ended the work before its time, a budget or a model without an answer; ``dropped`` what the
    first prompt had no room for. Both are empty for nothing. ``builds`` are those of drafts that were compiled alone.
    """

    drafts: tuple[StoredDraft, ...]
    files: tuple[Path, ...] = ()
    ended: str = ""
    dropped: tuple[str, ...] = ()
    builds: tuple[DraftBuild, ...] = ()

    @property
    def exit_code(self) -> int:
        """0; 3 where every draft was rejected, or a source does not compile; 4 where none was kept and one unproven."""
        fates = {stored.draft.fate for stored in self.drafts}
        if any(not one.id and not one.passed for one in self.builds):
            return EVERY_DRAFT_REJECTED
        if not fates or "kept" in fates or "drafted" in fates or self.files:
            return 0
        return UNPROVEN if "unproven" in fates else EVERY_DRAFT_REJECTED


@dataclass
class Packed:
    """``runs`` loose runs of ``files`` files went into ``packs`` packs, together with those of ``merged`` packs before.

    ``left`` stayed as they were, and why. Bytes are of files before, and of the packs.
    """

    runs: int = 0
    files: int = 0
    packs: int = 0
    merged: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    left: list[Damage] = field(default_factory=list)


@dataclass(frozen=True)
class PrunePlan:
    """The runs that go, each with the bytes of its files, and why each of the others is ``kept``, by reference."""

    going: tuple[tuple[RunHead, int], ...]
    kept: Mapping[str, str]


@dataclass
class Merged:
    """What was taken of another archive; ``same`` are runs that were here, ``conflicts`` what differs and stayed."""

    runs: int = 0
    same: int = 0
    baselines: int = 0
    drafts: int = 0
    conflicts: list[str] = field(default_factory=list)
    damaged: list[Damage] = field(default_factory=list)


@dataclass(frozen=True)
class QueryResult:
    """The rows of a query, a value a column; ``more``: there are more than were asked for.

    ``left_out`` is what of the archive is damaged, and in no table.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False
    left_out: tuple[Damage, ...] = ()
