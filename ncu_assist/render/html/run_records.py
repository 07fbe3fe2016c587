"""What a run's page shows beside the facts that every format shares: raw counters, parts of throughputs, logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ncu_assist.analysis.diff.timing import TimedSamples
from ncu_assist.analysis.records import ArchivedRun
from ncu_assist.analysis.run_view import RunView
from ncu_assist.record import Launch
from ncu_assist.verdict import Verdict

Value = float | str | None  # None where the launch lacks it
# By the key of a throughput of ncu the counters that it is the largest of, in percent of their peaks, busiest first.
Breakdowns = Mapping[str, Sequence[tuple[str, float]]]


@dataclass(frozen=True)
class RawMetric:
    """One metric of the report by ncu's name: a value for each launch that is shown, and over all launches."""

    name: str
    unit: str
    values: tuple[Value, ...]
    together: float | None


@dataclass(frozen=True)
class RawMetrics:
    """All metrics of the longest launches, in the report's order of names; ``left_out`` launches are not shown."""

    launches: tuple[Launch, ...] = ()
    rows: tuple[RawMetric, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class Log:
    """A text that a program wrote; ``cut`` is how many of its characters are left out, in the middle."""

    name: str
    text: str
    cut: int = 0


@dataclass(frozen=True)
class RunRecord:
    """All that a run's page is made of."""

    stored: ArchivedRun
    shown: RunView
    verdicts: tuple[tuple[str, Verdict], ...] = ()  # against the version before, by workload
    samples: TimedSamples | None = None
    metrics: RawMetrics = RawMetrics()
    breakdowns: Breakdowns = field(default_factory=dict)
    opcodes: tuple[tuple[str, float], ...] = ()  # of SASS without modifiers, and how often warps executed each
    opcode_launches: int = 0  # the launches that the opcodes are of
    logs: tuple[Log, ...] = ()
    read: tuple[ArchivedRun, ...] = field(default=())  # the further runs that it depends on
    diff: str = ""  # the link to the page that compares it with the version before, where there is one
    alone: tuple[RunRecord, ...] = field(default=(), repr=False)  # of a report of many launches, of one launch each
    linked: bool = True  # whether the page lies in its archive, below the ladder and the index
