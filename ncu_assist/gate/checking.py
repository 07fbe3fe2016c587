"""All limits on one workload."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ncu_assist.diff import Difference
from ncu_assist.diff.noise import noise_model
from ncu_assist.gate.counters import Counters
from ncu_assist.gate.judging import Place, finite, judge_metric, judge_time, not_compared
from ncu_assist.gate.limits import Limit
from ncu_assist.gate.metric_names import nearest
from ncu_assist.gate.records import CHECK_FAILED, NOT_COUNTED, Detail, GateCheck, GateWord
from ncu_assist.gate.sides import Sides, Workloads
from ncu_assist.gate.times import Times
from ncu_assist.store import StoredRun


class WorkloadGate:
    """Two runs on one workload, which each side may call by another name or not at all."""

    def __init__(self, sides: Sides, workloads: Workloads, limits: Sequence[Limit]) -> None:
        self._force, self._limits, self._learned = sides.force, limits, sides.learned
        self._wrong = sides.failed_check(0, workloads[0]), sides.failed_check(1, workloads[1])
        self._counters = Counters(sides, workloads)
        self._runs = self._counters.stored[0].run, self._counters.stored[1].run
        self._place = Place(*self._runs, workloads[1])
        self._times = Times(sides, workloads, self._counters)

    def checks(self) -> Iterator[GateCheck]:
        """Yield the outcome of each limit: a version with wrong results keeps none, and nothing is held against one."""
        for limit in self._limits:
            if any(self._wrong):
                yield self._by_check(limit)
            else:
                yield self._by_time(limit) if self._is_timed(limit) else self._by_counter(limit)

    @property
    def forced(self) -> list[str]:
        """Return the reason codes of what forbids a comparison that was made all the same."""
        if not self._force:
            return []
        found = [
            self._times.forbidden if self._is_timed(limit) else self._counters.differing[1] for limit in self._limits
        ]
        return [reason for reason in found if reason]

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What differs between the runs besides the version."""
        return self._counters.differing[0]

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        """The runs that were looked at."""
        timed = [self._is_timed(limit) for limit in self._limits]
        times = self._times.runs if any(timed) else ()
        counters = self._counters.stored if not all(timed) else ()
        return (*times, *counters)

    def _by_check(self, limit: Limit) -> GateCheck:
        side = 1 if self._wrong[1] else 0
        outcome: GateWord = "regression" if side else "unclear"
        detail = Detail(self._wrong[side], self._place.names[side])
        return GateCheck(self._place.workload, limit, outcome, "wrong", reason=CHECK_FAILED, detail=detail)

    def _by_time(self, limit: Limit) -> GateCheck:
        timed = self._times.in_cycles if limit.is_on_cycles else self._times.timed
        assert timed is not None
        return judge_time(limit, timed, self._place)

    def _is_timed(self, limit: Limit) -> bool:
        """Tell whether samples decide: of time always, of cycles where both sides have some with their clocks."""
        return limit.is_on_time or (limit.is_on_cycles and self._times.in_cycles is not None)

    def _by_counter(self, limit: Limit) -> GateCheck:
        row, forbidden = self._counters.row(limit.metric), self._counters.differing[1]
        if forbidden and not self._force:
            check = GateCheck(self._place.workload, limit, "unclear", "", finite(row.baseline), finite(row.candidate))
            return not_compared(check, forbidden, self._place)
        check = judge_metric(limit, row, noise_model(*self._runs, learned=self._learned), self._place)
        return self._with_nearest(check) if check.reason == NOT_COUNTED and not limit.metric.is_known else check

    def _with_nearest(self, check: GateCheck) -> GateCheck:
        """Return a check of a name of ncu that the runs lack with what they have that it may stand for."""
        near = nearest(check.limit.metric.key, self._counters.names)
        if not near:
            return check
        detail = replace(check.detail, nearest=near)
        return replace(check, detail=detail, next=f"ncu-assist explain {shlex.quote(near)}")
