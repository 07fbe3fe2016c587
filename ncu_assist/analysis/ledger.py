"""The ledger: over all drafts, how often predictions came true, what was kept and why not, what it won and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log

from ncu_assist.store import Damage
from ncu_assist.store.drafts import Draft, ModelCost

FROM_FILE = "from a file"  # what stands for the model of a reply that was saved elsewhere
NO_DIAGNOSIS = "none"
NOT_PROVED = "not proved yet"  # the reason of a draft that nobody has measured


@dataclass(frozen=True)
class Tally:
    """What drafts of one kind came to. ``expected`` and ``measured`` are geometric means of speed-ups over the parent.

    They are over the ``compared`` drafts that have both: what was promised beside what came of the same drafts.
    """

    name: str
    drafts: int
    kept: int
    rejected: int
    unproven: int
    true: int  # predictions that came true, of those that could be ``told``
    told: int
    untold: int
    flawed: int  # drafts whose reply cites or predicts wrongly
    cost: ModelCost
    compared: int
    expected: float | None
    measured: float | None

    @property
    def rate(self) -> float | None:
        """The share of predictions that came true, None where none could be told."""
        return self.true / self.told if self.told else None


@dataclass(frozen=True)
class RoundBest:
    """One round on a kernel, over all sessions: the best of the drafts that were kept, None where none was."""

    kernel: str
    round: int
    drafts: int
    kept: int
    best: Draft | None


@dataclass(frozen=True)
class FateReason:
    """Why drafts were not kept, and how many for this one."""

    fate: str
    text: str
    count: int


@dataclass(frozen=True)
class Ledger:
    """All drafts, oldest first, of one kernel or, where ``kernel`` is None, of all; ``damaged`` ones count nowhere."""

    kernel: str | None
    drafts: tuple[Draft, ...]
    total: Tally
    models: tuple[Tally, ...]
    diagnoses: tuple[Tally, ...]
    rounds: tuple[RoundBest, ...]
    reasons: tuple[FateReason, ...]
    damaged: tuple[Damage, ...] = ()


def ledger_of(drafts: Iterable[Draft], kernel: str | None = None, damaged: Sequence[Damage] = ()) -> Ledger:
    """Return the ledger of drafts, given in the order of time."""
    found = tuple(drafts)
    return Ledger(
        kernel=kernel,
        drafts=found,
        total=_tally("all", found),
        models=_tallies(found, lambda draft: draft.model or FROM_FILE),
        diagnoses=_tallies(found, lambda draft: draft.diagnosis or NO_DIAGNOSIS),
        rounds=_rounds(found),
        reasons=_reasons(found),
        damaged=tuple(damaged),
    )


def _tallies(drafts: Sequence[Draft], key: Callable[[Draft], str]) -> tuple[Tally, ...]:
    """Return a tally a name, the name with most drafts first."""
    named: dict[str, list[Draft]] = {}
    for draft in drafts:
        named.setdefault(key(draft), []).append(draft)
    made = (_tally(name, own) for name, own in named.items())
    return tuple(sorted(made, key=lambda tally: (-tally.drafts, tally.name)))


def _tally(name: str, drafts: Sequence[Draft]) -> Tally:
    fates = Counter(draft.fate for draft in drafts)
    pairs = [pair for pair in map(_speedups, drafts) if pair]
    scores = Counter(one.came_true for draft in drafts if draft.proof for one in draft.proof.scores)
    return Tally(
        name=name,
        drafts=len(drafts),
        kept=fates["kept"],
        rejected=fates["rejected"],
        unproven=fates["unproven"] + fates["drafted"],
        true=scores[True],
        told=scores[True] + scores[False],
        untold=scores[None],
        flawed=sum(bool(draft.flaws) for draft in drafts),
        cost=ModelCost.of_all(draft.cost for draft in drafts),
        compared=len(pairs),
        expected=_geomean([expected for expected, _ in pairs]),
        measured=_geomean([measured for _, measured in pairs]),
    )


def _speedups(draft: Draft) -> tuple[float, float] | None:
    """Return the speed-up expected and the one measured; None where one of them is missing or no ratio of times."""
    expected = draft.claim.expected_speedup if draft.claim else None
    measured = draft.proof.speedup if draft.proof else None
    return (expected, measured) if expected and measured and expected > 0 and measured > 0 else None


def _rounds(drafts: Sequence[Draft]) -> tuple[RoundBest, ...]:
    found = sorted({(draft.kernel, draft.round) for draft in drafts})
    return tuple(_round(kernel, number, drafts) for kernel, number in found)


def _round(kernel: str, number: int, drafts: Sequence[Draft]) -> RoundBest:
    """Return a round's best: only what was kept counts, for a draft may be fast because it is wrong."""
    own = [draft for draft in drafts if (draft.kernel, draft.round) == (kernel, number)]
    kept = [draft for draft in own if draft.fate == "kept"]
    timed = [draft for draft in kept if draft.proof and draft.proof.speedup]
    return RoundBest(kernel, number, len(own), len(kept), max(timed, key=_measured, default=None))


def _measured(draft: Draft) -> float:
    return (draft.proof.speedup or 0.0) if draft.proof else 0.0


def _reasons(drafts: Sequence[Draft]) -> tuple[FateReason, ...]:
    """Return why drafts were not kept, the most frequent first: what stands before the first colon tells them apart."""
    counted = Counter(
        (draft.fate, draft.reason.partition(":")[0] or NOT_PROVED) for draft in drafts if draft.fate != "kept"
    )
    ordered = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    return tuple(FateReason(fate, text, count) for (fate, text), count in ordered)


def _geomean(values: Sequence[float]) -> float | None:
    """Return the geometric mean; statistics.geometric_mean would change the last digit of answers."""
    return exp(sum(map(log, values)) / len(values)) if values else None
