"""What a prompt may do without, in the order in which it is dropped, the least important first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ncu_assist.suggest.evidence.records import Evidence, FindingFacts
from ncu_assist.suggest.model.records import CHARACTERS_PER_TOKEN

LAST_FAILED = 3  # drafts
RECENT = 2  # versions of the story


@dataclass(frozen=True)
class Drop:
    """One step: what the prompt then lacks, in words, and the evidence without it; ``more_than`` are lesser steps."""

    what: str
    without: Callable[[Evidence], Evidence]
    more_than: tuple[str, ...] = ()

    def after(self, dropped: tuple[str, ...]) -> tuple[str, ...]:
        """Return what a prompt lacks in all after this step."""
        return (*(one for one in dropped if one not in self.more_than), self.what)


def tokens_of(text: str) -> int:
    """Return how many tokens a text has, roughly: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _plain_story(one: Evidence) -> Evidence:
    told = (replace(each, moved="" if each.version != one.version else each.moved) for each in one.story)
    return replace(one, story=tuple(told))


def _recent_story(one: Evidence) -> Evidence:
    earlier = [each for each in one.story if not each.later]
    return replace(one, story=tuple(earlier[-1 - RECENT :]))


def _unexplained(finding: FindingFacts | None) -> FindingFacts | None:
    return None if finding is None else replace(finding, explanation="")


def _items(count: int) -> Callable[[Evidence], Evidence]:
    def without(one: Evidence) -> Evidence:
        kept = {each.id for each in one.items[:count]}
        cited = (replace(each, evidence=tuple(i for i in each.evidence if i in kept)) for each in one.further)
        first = one.diagnosis
        shown = None if first is None else replace(first, evidence=tuple(i for i in first.evidence if i in kept))
        return replace(one, items=one.items[:count], further=tuple(cited), diagnosis=shown)

    return without


def _one_workload(one: Evidence) -> Evidence:
    """Return the evidence without the times of other workloads; that they exist and their sizes are the task's."""
    kept = (w if w.name == one.workload else replace(w, median_ns=None, copy_ns=None) for w in one.task.workloads)
    return replace(one, task=replace(one.task, workloads=tuple(kept)))


MOVED, FAILED, RECENTLY = "what moved in earlier versions", "failed drafts", f"all but the last {1 + RECENT} versions"
LAST, LESS = f"failed drafts but the last {LAST_FAILED}", "counters of less importance ({} and on)"
FROM_21, FROM_13, FROM_8 = (LESS.format(one) for one in ("E21", "E13", "E8"))
DROPS: tuple[Drop, ...] = (
    Drop(MOVED, _plain_story),
    Drop("the measured ceilings beside DRAM's", lambda e: replace(e, hardware=replace(e.hardware, ceilings=()))),
    Drop("times of the other workloads", _one_workload),
    Drop(FROM_21, _items(20)),
    Drop(LAST, lambda e: replace(e, failed=e.failed[-LAST_FAILED:])),
    Drop(RECENTLY, _recent_story),
    Drop("what the hardware does", lambda e: replace(e, diagnosis=_unexplained(e.diagnosis))),
    Drop(FROM_13, _items(12), (FROM_21,)),
    Drop("further findings", lambda e: replace(e, further=())),
    Drop("the story", lambda e: replace(e, story=()), (MOVED, RECENTLY)),
    Drop(FAILED, lambda e: replace(e, failed=()), (LAST,)),
    Drop("what the rules cannot tell", lambda e: replace(e, unknown=())),
    Drop(FROM_8, _items(7), (FROM_13,)),
    Drop("notes at source lines", lambda e: replace(e, source=replace(e.source, margins=(), about_margins="left out"))),
)
