"""One measurement of ceilings, stage by stage: each stage's share is stored as soon as it is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ncu_assist import __version__
from ncu_assist.ceilings import Ceilings, Conditions, Stage, save
from ncu_assist.errors import NcuAssistError
from ncu_assist.harness.ceilings.plan import CeilingsRequest, Probe, ProbeResult, results
from ncu_assist.harness.results import MeasurementFacts, read_facts
from ncu_assist.ncu.command import ProfileOptions, profile_argv
from ncu_assist.ncu.report import Report
from ncu_assist.pipeline import ceilings_plan as plan
from ncu_assist.pipeline import ceilings_points as points
from ncu_assist.pipeline.ceilings_stages import Built, Workshop, in_words, probes_sha256

PATH_FLAGS = ("--log-file", "-o")  # their values name folders


class Session:
    """The stages in their order, and what they have brought so far; ``ceilings`` is None until something was."""

    def __init__(self, shop: Workshop, quick: bool, memory_bytes: int) -> None:
        self.ceilings: Ceilings | None = None
        self.first_error: NcuAssistError | None = None
        self._shop, self._quick = shop, quick
        self._memory_bytes = memory_bytes
        self._stages: tuple[Stage, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._timed: dict[str, ProbeResult] = {}
        self._created = datetime.now(UTC).isoformat(timespec="seconds")

    def run(self) -> None:
        built = self._shop.build()
        if built.problem:
            self._note(built.problem)
        self._stage("events", lambda: self._time(built))
        if self.ceilings is None:
            return
        self._stage("ncu dram", lambda: self._count_streams(built))
        self._stage("ncu pipes", lambda: self._count_pipes(built))

    def _stage(self, name: str, work: Callable[[], None]) -> None:
        started, problem = time.monotonic(), "interrupted"
        try:
            work()
            problem = ""
        except NcuAssistError as error:
            problem, self.first_error = error.message, self.first_error or error
            self._shop.reporter.note(f"{name}: {error.message}" + (f"; try: {error.hint}" if error.hint else ""))
        finally:
            self._stages = (*self._stages, Stage(name, time.monotonic() - started, problem))
            self._store()

    def _store(self) -> None:
        if self.ceilings is None:
            return
        self.ceilings = replace(self.ceilings, stages=self._stages, notes=self._notes)
        save(self._shop.project.reports, self.ceilings)

    def _time(self, built: Built) -> None:
        probes = plan.event_probes(self._memory_bytes, self._quick)
        request = self._shop.request("events", "events", probes, built)
        try:
            self._shop.time(request)
        finally:
            self._take_times(request)

    def _take_times(self, request: CeilingsRequest) -> None:
        """Also of a child that crashed: its results are on disk as they came."""
        facts = read_facts(Path(request.out))
        if facts is None or facts.device is None:
            return
        found = self._results(request)
        self._timed = {r.probe.id: r for r in found}
        self.ceilings = Ceilings(
            device=facts.device,
            created=self._created,
            tool=__version__,
            conditions=_conditions(facts, self._timed.get(Probe("empty", "empty", 0).id)),
            dram=points.timed_points(found, "dram"),
            l2=points.timed_points(found, "l2"),
            link=points.timed_points(found, "link"),
            rates=points.timed_rates(found, facts.device.sm_count),
        )

    def _count_streams(self, built: Built) -> None:
        probes = plan.counted_streams(self._memory_bytes, self._quick, self._timed)
        metrics = plan.known_metrics(plan.DRAM_METRICS, self._before.device.compute_capability)
        report, counted, found = self._count("ncu-dram", probes, metrics, built)
        clocks = points.Counted(report.launches)
        conditions = replace(
            self._before.conditions,
            toolchain=replace(self._before.conditions.toolchain, ncu=report.ncu_version),
            ncu_flags=_flags(metrics),
            clock_control=ProfileOptions().clock_control,
            cache_control=ProfileOptions().cache_control,
            sm_clock_mhz=_mhz(clocks.median(plan.SM_CLOCK)),
            memory_clock_mhz=_mhz(clocks.median(plan.MEMORY_CLOCK)),
        )
        curve = points.counted_points(found, counted, "dram")
        self.ceilings = replace(self._before, conditions=conditions, dram=(*curve, *self._before.dram))

    def _count_pipes(self, built: Built) -> None:
        probes = plan.counted_pipes(self._quick)
        metrics = plan.pipe_metrics(self._before.device.compute_capability)
        _, counted, found = self._count("ncu-pipes", probes, metrics, built)
        rates = points.counted_rates(found, counted, self._before.device.sm_count)
        hits = points.counted_points(found, counted, "l2")
        self.ceilings = replace(self._before, rates=(*rates, *self._before.rates), l2=(*hits, *self._before.l2))

    def _count(
        self, name: str, probes: tuple[Probe, ...], metrics: tuple[str, ...], built: Built
    ) -> tuple[Report, dict[str, points.Counted], list[ProbeResult]]:
        request = self._shop.request(name, "ncu", probes, built)
        report = self._shop.count(request, metrics)
        return report, points.by_probe(report.launches), self._results(request)

    def _results(self, request: CeilingsRequest) -> list[ProbeResult]:
        found = list(results(Path(request.out)))
        for result in found:
            if result.problem:
                self._note(f"{in_words(result.probe.id)}: {result.problem}")
        return found

    def _note(self, words: str) -> None:
        if words not in self._notes:
            self._shop.reporter.note(words)
            self._notes = (*self._notes, words)

    @property
    def _before(self) -> Ceilings:
        assert self.ceilings is not None
        return self.ceilings


def _conditions(facts: MeasurementFacts, empty: ProbeResult | None) -> Conditions:
    seconds = points.spread(empty.time_ns) if empty else None
    return Conditions(
        facts.toolchain,
        flush="read",
        empty_seconds=seconds.median if seconds else None,
        temperature_c=facts.temperature_c,
        throttle_reasons=facts.throttle_reasons,
        probes_sha256=probes_sha256(),
    )


def _flags(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags that ncu ran with, without those that name files."""
    argv = profile_argv(Path("ncu"), ProfileOptions(metrics=metrics), Path("x"), Path("x"), ())[1:-1]
    skipped = {i + step for i, word in enumerate(argv) if word in PATH_FLAGS for step in (0, 1)}
    return tuple(word for i, word in enumerate(argv) if i not in skipped)


def _mhz(hertz: float | None) -> float | None:
    return hertz / 1e6 if hertz else None
