"""What Nsight Compute's own rules say of a case, in the ids of this project.

Advice is ranked by its largest *global* estimate; advice without one follows, local estimates first. Of several
launches an estimate counts by its launch's part of the time. The translation is generous: wherever a rule's message can
be read as naming a cause, it counts as naming it, even if it names several at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.report import Report
from ncu_assist.record import Launch

if TYPE_CHECKING:
    from table import Case

LOUD_PCT = 2.0  # below, the project's own findings are ``info``; the same is held against NVIDIA's global estimates

DONE = ("at-dram-roofline", "at-compute-roofline", "near-ceiling")

# "waiting on an L1TEX operation … memory access patterns … cache hit rates … data locality … moving to shared memory"
WAITS_ON_MEMORY = (
    "low-bytes-in-flight",
    "l2-bound",
    "l1-bound",
    "host-link-bound",
    "uncoalesced-global-load",
    "redundant-traffic",
    "tensor-underfed",
)

# (rule, part of the title, part of the message) -> ids that it may be read as, the plainest reading first.
# The first row that fits holds. A near miss is held against the plainest reading only.
TRANSLATION: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    # "uncoalesced global accesses": does not say which
    ("UncoalescedGlobalAccess", "", "", ("uncoalesced-global-load", "uncoalesced-global-store")),
    ("MemoryCacheAccessPattern", "Global Load", "", ("uncoalesced-global-load",)),
    ("MemoryCacheAccessPattern", "Global Store", "", ("uncoalesced-global-store",)),
    # local traffic: does not say whether of a spill or of an array
    ("MemoryCacheAccessPattern", "Local", "", ("register-spill", "local-array")),
    # "avoid writes with large strides as they lead to partial accesses"
    ("MemoryL2Compression", "Access Pattern", "", ("uncoalesced-global-store",)),
    ("SharedMemoryConflicts", "", "", ("shared-bank-conflict",)),
    ("UncoalescedSharedAccess", "", "", ("shared-bank-conflict",)),
    ("TheoreticalOccupancy", "", "", ("low-occupancy",)),
    # "warp scheduling overheads or workload imbalances": idle SMs and an empty last wave are such
    ("AchievedOccupancy", "", "", ("low-occupancy", "workload-imbalance", "tail-effect", "grid-underfill")),
    # one busy slice is what an atomic on one address makes
    ("WorkloadImbalance", "L2 Slices", "", ("workload-imbalance", "atomic-contention")),
    ("WorkloadImbalance", "", "", ("workload-imbalance", "tail-effect", "grid-underfill")),
    ("LaunchConfiguration", "Tail Effect", "", ("tail-effect",)),
    ("LaunchConfiguration", "Small Grid", "", ("grid-underfill", "launch-bound")),
    ("ThreadDivergence", "", "", ("warp-divergence",)),
    ("FPInstructions", "", "", ("pipe-bound",)),
    ("SOLFPRoofline", "Utilization", "", ("pipe-bound",)),
    ("HighPipeUtilization", "High Utilization", "", ("pipe-bound",)),  # and "Very High Utilization"
    ("CPIStall", "Long Scoreboard", "", WAITS_ON_MEMORY),
    ("CPIStall", "Barrier", "", ("barrier-stall",)),
    # "a lot of data is written to memory towards the end … memory access patterns of these store operations"
    ("CPIStall", "Drain", "", ("uncoalesced-global-store", "host-link-bound")),
    # "redundant global memory accesses … dynamically indexed arrays … spills"
    ("CPIStall", "Lg Throttle", "", ("l1-bound", "local-array", "register-spill", "pipe-bound")),
    # "special math instructions, dynamic branches, as well as shared memory instructions"
    ("CPIStall", "Mio Throttle", "", ("shared-bank-conflict", "pipe-bound", "atomic-contention", "l1-bound")),
    ("CPIStall", "Short Scoreboard", "", ("shared-bank-conflict", "pipe-bound", "atomic-contention")),
    ("CPIStall", "Math Pipe Throttle", "", ("pipe-bound", "no-tensor-core")),
    ("CPIStall", "Imc Miss", "", ("constant-divergence",)),
    # here NVIDIA's rules know a cause that no id of ours names
    ("CPIStall", "Sleeping", "", ("unexplained",)),
    ("CPIStall", "Membar", "", ("unexplained",)),
    # rules without an estimate: they come last
    ("SOLBottleneck", "Small Grid", "", ("grid-underfill", "launch-bound")),
    ("SOLBottleneck", "High Memory", "identify the L1", ("l1-bound", "redundant-traffic")),
    ("SOLBottleneck", "High Memory", "identify the L2", ("l2-bound", "redundant-traffic")),
    ("SOLBottleneck", "High Memory", "", ("redundant-traffic",)),  # "do more work per memory access (kernel fusion)"
    ("SOLBottleneck", "High Compute", "", ("pipe-bound", "no-tensor-core")),
    ("SOLBottleneck", "Latency Issue", "", ("unexplained",)),
)


@dataclass(frozen=True)
class Advice:
    """One rule of NVIDIA's that advises: the part of the time that it promises, None without a global estimate."""

    rule: str
    title: str
    global_pct: float | None
    local_pct: float
    ids: tuple[str, ...]

    @property
    def estimated_speedup(self) -> float:
        """Return the time now over the time without it: 1 / (1 - pct / 100); 1 without a global estimate."""
        left = 1 - (self.global_pct or 0.0) / 100
        return 1 / left if left > 0 else float("inf")

    @property
    def loud(self) -> bool:
        return (self.global_pct or 0.0) >= LOUD_PCT


@dataclass(frozen=True)
class Theirs:
    """What NVIDIA's rules say of the same case, held against the same table.

    No rule of theirs with an estimate says that a kernel is done: where that is expected, advising nothing above
    ``info`` is right. What comes nearest, the remark "High Throughput", is counted apart (``says_high``).
    """

    case: Case
    advice: tuple[Advice, ...]

    def right_within(self, first: int) -> bool:
        """Tell whether one of the first so many can be read as an id that the case accepts."""
        wanted = {name for name in (self.case.expect, *self.case.accept) if name}
        if wanted & {*DONE} and not any(one.loud for one in self.advice):
            return True
        return any(wanted & {*one.ids} for one in self.advice[:first])

    @property
    def cries_wolf(self) -> bool:
        loud = [one for one in self.advice if one.loud]
        if self.case.kind == "near-miss":
            return any(self.case.of in one.ids[:1] for one in loud)
        return self.case.kind == "healthy" and bool(loud)


def advice_of(report: Report, launches: Sequence[Launch]) -> tuple[Advice, ...]:
    """Return what the rules advise for the launches of a case together, the largest global estimate first."""
    total = sum(one.duration_ns or 0.0 for one in launches)
    globals_: dict[tuple[str, str], float] = defaultdict(float)
    locals_: dict[tuple[str, str], float] = defaultdict(float)
    ids: dict[tuple[str, str], tuple[str, ...]] = {}
    for part, row in _rows(report, launches, total):
        key = row.rule, row.title
        ids[key] = tuple(dict.fromkeys([*ids.get(key, ()), *translated(row.rule, row.title, row.message)]))
        if row.speedup_type == "global":
            globals_[key] += row.speedup_pct * part
        elif row.speedup_type == "local":
            locals_[key] += row.speedup_pct * part
    found = [Advice(*key, globals_.get(key), locals_.get(key, 0.0), ids[key]) for key in ids]
    return tuple(sorted(found, key=_rank))


def says_high(report: Report, launches: Sequence[Launch]) -> bool:
    """Tell whether the remark is made that some unit is used to more than 80 %: of SOLBottleneck, no advice."""
    rules = report.rules[report.rules.launch.isin([one.index for one in launches])]
    return bool(((rules.rule == "SOLBottleneck") & (rules.title == "High Throughput")).any())


def translated(rule: str, title: str, message: str) -> tuple[str, ...]:
    """Return the ids that a rule's advice may be read as; none where no id is about it."""
    for own, part, words, ids in TRANSLATION:
        if own == rule and part in title and words in message:
            return ids
    return ()


def _rows(report: Report, launches: Sequence[Launch], total: float) -> Iterator[tuple[float, Any]]:
    for launch in launches:
        rules = report.rules[(report.rules.launch == launch.index) & (report.rules.kind == "optimization")]
        for row in rules.itertuples():
            yield (launch.duration_ns or 0.0) / total, row


def _rank(one: Advice) -> tuple[bool, float, float]:
    return one.global_pct is None, -(one.global_pct or 0.0), -one.local_pct
