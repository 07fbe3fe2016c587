"""Which metrics a diff looks at, and what both sides have of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isclose
from statistics import mean, stdev

from ncu_assist.analysis.diff.noise import MetricReading, NoiseModel
from ncu_assist.analysis.diff.records import Change, ChangeWord
from ncu_assist.frame import Combined, Coverage
from ncu_assist.frame.columns import names_in
from ncu_assist.frame.combined import PER_LAUNCH
from ncu_assist.ncu.catalogue.chips import recorded_units
from ncu_assist.ncu.catalogue.metric import Better
from ncu_assist.ncu.catalogue.metrics import CATALOGUE, STALL
from ncu_assist.ncu.catalogue.noise import repeats_as
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES, STALL_SHARES
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS
from ncu_assist.ncu.source.tables import told_apart
from ncu_assist.rules.model.resources import PARTS, SM_PARTS, WHOLES

Waits = Mapping[str, float]  # samples of a side by stall reason, those apart that ncu books under one
COMPARED = (
    "duration",
    "dram_bandwidth",
    "dram_throughput",
    "memory_throughput",
    "sm_throughput",
    "sector_efficiency_load",
    "sector_efficiency_store",
    "shared_wavefronts_excessive",
    "global_sectors_excessive",
    "sectors_per_request_store",
    "l2_sectors_sm",
    "dram_bytes",
    "theoretical_occupancy",
    "achieved_occupancy",
    "registers",
    "instructions",
    "local_spilling_requests",
)
# The parts of which ncu's throughputs are the largest, in percent of the same time.
LARGEST_OF = {
    "memory_throughput": tuple(one.busy for one in (*PARTS, *WHOLES) if one.busy != "memory_throughput"),
    "sm_throughput": tuple(one.busy for one in SM_PARTS if not one.while_active),
}
# The same number in percent of a peak: the rate, its percentage, the peak. One says what the other says.
IN_PERCENT = {"dram_bandwidth": ("dram_throughput", "dram_peak_bandwidth")}
OF_PEAK = 0.001  # by how much a rate may differ from its percentage: small kernels, whose peak is of few cycles
OF_THE_LINK = ("host_bytes", "host_link_busy")  # only where something crossed it
# A count of L2 and the parts that add up to it. Where SMs read one sector at nearly the same time, the coalescer before
# L2 looks it up once or several times, and ncu counts the whole and its parts in different passes (docs/sources.md).
L2_WHOLE = "l2_sectors_sm"
L2_PARTS = ("l2_sectors_read", "l2_sectors_write", "l2_sectors_reduction", "l2_sectors_atomic")
COUNTED_APART = (L2_WHOLE, "l2_sectors_read")
# Global accesses of warps and those of TMA beside them: of a trifle of all bytes an efficiency says nothing.
BESIDE_TMA = {
    "sector_efficiency_load": ("global_load_bytes", "tma_load_bytes"),
    "sector_efficiency_store": ("global_store_bytes", "tma_store_bytes"),
}
TOP_STALLS = 5
NAMED = frozenset(name for metric in CATALOGUE.values() for name in metric.names)
# What a count is a part of: it matters by its share of the whole, not by how much it grew.
WHOLE = {
    "shared_wavefronts_excessive": "shared_wavefronts",
    "global_sectors_excessive": "global_sectors_theoretical",
    "bank_conflicts_load": "shared_wavefronts",
    "bank_conflicts_store": "shared_wavefronts",
    "bank_conflicts_atomic": "shared_wavefronts",
    "dram_bytes_read": "dram_bytes",
    "dram_bytes_write": "dram_bytes",
}
# All work of a unit, and what share of what it could do that is, in percent. Work that a launch had this much room for
# costs no time that anyone would see, however often it is what it was: 14 kB more DRAM traffic in 16 us are 0.1 % of
# what DRAM moves then.
BUSY_WITH = {
    **dict.fromkeys(("dram_bytes", "dram_bytes_read", "dram_bytes_write"), ("dram_bytes", "dram_throughput")),
    **dict.fromkeys(("l2_sectors_sm", "l2_sectors_read", "l2_sectors_write"), ("l2_sectors_sm", "l2_busy")),
    "host_bytes": ("host_bytes", "host_link_busy"),
}
LEAST_LINK = {"host_bytes": 4.0}  # byte/ns: PCIe 3 with four lanes, where nobody counted how busy the link was
ONE_BY_ONE = ("l2_sectors_atomic", "l2_sectors_reduction")  # one slice may be full of these, and L2 as a whole idle
IMMATERIAL = 0.01  # of the whole; up to 2 % of bank conflicts are arbitration between warps (docs/sources.md)
TRIFLE, TRIFLE_POINTS = 0.01, 1.0  # a counter that is exact may move by less and explain nothing that anyone would see

# Of a value: both sides then show the same three digits. Executed instructions move by so little where other warps take
# a turn more in a loop that waits, or a few threads another way: that is a change, and neither better nor worse.
UNSEEN = 0.001


@dataclass(frozen=True)
class ComparedMetric:
    """One metric on both sides, None where a side lacks it; ``exact`` as ``repeats_as`` says."""

    key: str
    label: str
    unit: str
    better: Better | None
    exact: bool
    baseline: float | None
    candidate: float | None
    note: str = ""
    coverage: tuple[Coverage | None, Coverage | None] = (None, None)
    samples: tuple[list[float], list[float]] = ((), ())  # type: ignore[assignment]
    duration_ns: float | None = None
    whole: tuple[float | None, float | None] = (None, None)  # what the values are a part of
    noise_of: str = ""  # the metric whose noise is this one's, where that is another
    counted: bool = False  # as the catalogue's ``repeats_as`` says; neither exact nor counted is one with times in it
    in_percent: ComparedMetric | None = None  # the same number in percent of a peak, by which it is judged
    apart: float = 0.0  # as in ``MetricReading``
    possible: float | None = None  # the most of it that the launch with more could have had in its time, if known

    @property
    def is_of_all(self) -> bool:
        """Whether either side has a value of all its launches, or lacks the metric: else it is one of each launch."""
        return self.note != PER_LAUNCH or self.baseline is not None or self.candidate is not None

    @property
    def is_material(self) -> bool:
        """Whether a value moved by more than a trifle, and a part of a whole is more than a trifle of it, if known."""
        sides = zip((self.baseline, self.candidate), self.whole, strict=True)
        counts = any(part is None or not whole or part > IMMATERIAL * whole for part, whole in sides)
        return counts and not self._is_trifle() and not self.is_beside_possible

    @property
    def is_beside_possible(self) -> bool:
        """Whether it moved by a trifle of what a launch could have had of it: that makes nothing better or worse."""
        if self.possible is None or self.baseline is None or self.candidate is None:
            return False
        return abs(self.candidate - self.baseline) < TRIFLE * self.possible

    def _is_trifle(self) -> bool:
        if self.baseline is None or self.candidate is None:
            return False
        moved = abs(self.candidate - self.baseline)
        larger = max(abs(self.baseline), abs(self.candidate))
        return moved < (TRIFLE_POINTS if self.unit == "%" else TRIFLE * larger)

    def reading(self) -> MetricReading | None:
        """Return what the noise is told of; None where a side is missing."""
        if self.baseline is None or self.candidate is None:
            return None
        sides = (self.baseline, self.candidate)
        whole = max((value for value in self.whole if value is not None), default=0.0)
        return MetricReading(
            self.noise_of or self.key,
            self.unit,
            self.exact,
            *sides,
            self.samples,
            self.duration_ns,
            whole,
            self.counted,
            self.apart,
        )


def rows(baseline: Combined, candidate: Combined, every: bool = False) -> list[ComparedMetric]:
    """Return the metrics that are always looked at, those of a host link in use, the top stall reasons of either side.

    ``every`` adds all others that a side has: the rest of the catalogue, then ncu's own by name, if they were read.
    """
    crossed = any(side.values[key] for side in (baseline, candidate) for key in OF_THE_LINK)
    shown = (*COMPARED, *OF_THE_LINK) if crossed else COMPARED
    telling = [key for key in shown if not any(_is_of_few(key, side) for side in (baseline, candidate))]
    found = [catalogue_row(key, baseline, candidate) for key in telling] + _stall_rows(baseline, candidate)
    found = [row for row in found if row.is_of_all]
    if not every:
        return found
    known = {row.key for row in found}
    others = (catalogue_row(key, baseline, candidate) for key in OVER_LAUNCHES if key not in known)
    shares = (stall_row(key.removeprefix("stall_"), baseline, candidate) for key in STALL_SHARES if key not in known)
    seen = [row for row in (*others, *shares) if row.baseline is not None or row.candidate is not None]
    return [*found, *seen, *_raw_rows(baseline, candidate)]


def catalogue_row(key: str, baseline: Combined, candidate: Combined) -> ComparedMetric:
    """Return the row of a key of OVER_LAUNCHES."""
    metric = OVER_LAUNCHES[key]
    sides = baseline, candidate
    # Weighted by times, or derived from what strays (instructions from a rate and a time): neither is ever exact.
    strays = any(side.is_weighted(key) or side.is_approximate(key) for side in sides)
    repeats = "strays" if strays else repeats_as(key)
    return ComparedMetric(
        key,
        metric.label,
        metric.unit,
        metric.better,
        repeats == "exact",
        baseline.values[key],
        candidate.values[key],
        baseline.not_applicable.get(key) or candidate.not_applicable.get(key) or "",
        (baseline.coverage(key), candidate.coverage(key)),
        _samples(key, baseline, candidate),
        _shorter_ns(baseline, candidate),
        (baseline.values[WHOLE[key]], candidate.values[WHOLE[key]]) if key in WHOLE else (None, None),
        _part_of(key, baseline, candidate),
        repeats == "counted",
        _in_percent(key, baseline, candidate),
        max(_apart(key, side) for side in (baseline, candidate)),
        _possible(key, max(baseline, candidate, key=lambda side: side.values[key] or 0.0)),
    )


def _possible(key: str, side: Combined) -> float | None:
    """Return how much of a work the SMs that had warps could have had done in the time of a side; None if not known.

    One block alone gets a small part of what DRAM can move, and may wait for nothing else.
    """
    if key not in BUSY_WITH:
        return None
    done, busy = (side.values[one] for one in BUSY_WITH[key])
    if key.startswith("l2_") and any((side.values[one] or 0.0) > IMMATERIAL * (done or 0.0) for one in ONE_BY_ONE):
        return None
    active = side.values["sm_active_share"]
    if busy and done:
        return 100.0 * done / busy * min(100.0 if active is None else active, 100.0) / 100.0
    time_ns = side.values["duration"]
    return LEAST_LINK[key] * time_ns if key in LEAST_LINK and time_ns else None


def _apart(key: str, side: Combined) -> float:
    """Return how far a count of L2 is from the sum of its parts, which would be it in one pass."""
    whole, parts = side.values[L2_WHOLE], [side.values[part] for part in L2_PARTS]
    known = [part for part in parts if part is not None]
    return abs(whole - sum(known)) if key in COUNTED_APART and whole and len(known) == len(parts) else 0.0


def _is_of_few(key: str, side: Combined) -> bool:
    """Tell whether an efficiency is one of a trifle of the bytes, as nearly all came by TMA."""
    if key not in BESIDE_TMA:
        return False
    own, by_tma = (side.values[one] or 0.0 for one in BESIDE_TMA[key])
    return own < IMMATERIAL * by_tma


def _in_percent(key: str, baseline: Combined, candidate: Combined) -> ComparedMetric | None:
    """Return the row of the percentage that a rate is on both sides, of the same peak; None where there is none."""
    if key not in IN_PERCENT:
        return None
    percentage, peak = IN_PERCENT[key]
    sides = [[side.values[one] for one in (key, percentage, peak)] for side in (baseline, candidate)]
    for rate, percent, of in sides:
        if not rate or not percent or not of or not isclose(100 * rate / of, percent, rel_tol=OF_PEAK):
            return None
    peaks = [of for *_, of in sides]
    same = isclose(peaks[0] or 0.0, peaks[1] or 0.0, rel_tol=OF_PEAK)
    return catalogue_row(percentage, baseline, candidate) if same else None


def _part_of(key: str, baseline: Combined, candidate: Combined) -> str:
    """Return the part that a throughput of ncu's is equal to on both sides, as it is the largest of several; or empty.

    It is then the same number, and strays as that does.
    """
    for part in LARGEST_OF.get(key, ()):
        pairs = [(side.values[key], side.values[part]) for side in (baseline, candidate)]
        if all(whole and own and isclose(whole, own) for whole, own in pairs):
            return part
    return ""


def raw_row(name: str, unit: str, baseline: Combined, candidate: Combined) -> ComparedMetric:
    """Return the row of a metric by ncu's name: which way is better, nobody said."""
    values = baseline.named(name), candidate.named(name)
    samples, shorter = _samples(name, baseline, candidate), _shorter_ns(baseline, candidate)
    return ComparedMetric(name, name, unit, None, False, *values, samples=samples, duration_ns=shorter)


def _stall_rows(baseline: Combined, candidate: Combined) -> list[ComparedMetric]:
    sides = baseline.stalls, candidate.stalls
    top = {reason for stalls in sides for reason in list(stalls)[:TOP_STALLS]}
    largest = sorted(top, key=lambda reason: (-max(side.get(reason, 0) for side in sides), reason))
    return [stall_row(reason, baseline, candidate) for reason in largest]


def stall_row(
    reason: str, baseline: Combined, candidate: Combined, waits: tuple[Waits, Waits] = ({}, {})
) -> ComparedMetric:
    """Return the row of a reason; of one that the catalogue does not know, nobody can tell which way is better.

    Nor of a share that moved against the time that it stands for: it fell, or rose, for what other states became.
    With the ``waits`` of both sides those that ncu books under one reason are apart; their noise is that of the whole.
    """
    key = f"stall_{reason}"
    known = STALL_SHARES.get(key)  # none of them repeats exactly
    label = known.label if known else f"Stall: {reason.replace('_', ' ')}"
    whole = BOOKED_AS.get(reason, reason)
    is_divided = all(waits) and any(side.get(own) for side in waits for own in BOOKED_AS if BOOKED_AS[own] == whole)
    before, after = (
        told_apart(side.stalls, own if is_divided else {}).get(
            reason, 0.0 if is_divided and whole in side.stalls else None
        )
        for side, own in zip((baseline, candidate), waits, strict=True)
    )
    values = before, after
    better = known.better if known and _moved_with_its_time(values, baseline, candidate) else None
    samples = ([], []) if is_divided else _samples(key, baseline, candidate)
    note = PER_LAUNCH if _has_stalls_of_each(baseline) or _has_stalls_of_each(candidate) else ""
    return ComparedMetric(
        key,
        label,
        "%",
        better,
        False,
        *values,
        note,
        samples=samples,
        duration_ns=_shorter_ns(baseline, candidate),
        noise_of=f"stall_{whole}" if whole != reason else "",
    )


def _moved_with_its_time(shares: tuple[float | None, float | None], baseline: Combined, candidate: Combined) -> bool:
    """Whether a share of warp states and that share of the time went the same way, as far as both are known."""
    before, after = shares
    ns_before, ns_after = baseline.values["duration"], candidate.values["duration"]
    if before is None or after is None or not ns_before or not ns_after:
        return True
    return (after - before) * (after * ns_after - before * ns_before) >= 0


def _has_stalls_of_each(side: Combined) -> bool:
    """Tell whether warp states were counted of different kernels, which have no share over all."""
    return side.is_of_kernels and any(map(STALL.fullmatch, names_in(side.tables)))


def _raw_rows(baseline: Combined, candidate: Combined) -> Iterator[ComparedMetric]:
    units = recorded_units()
    names = {name for side in (baseline, candidate) for name in names_in(side.tables)}
    for name in sorted(names - NAMED):
        yield raw_row(name, units.get(name, ""), baseline, candidate)


def _samples(key: str, baseline: Combined, candidate: Combined) -> tuple[list[float], list[float]]:
    sides = [side.samples(key) if side.repeats > 1 else [] for side in (baseline, candidate)]
    return sides[0], sides[1]


def _shorter_ns(baseline: Combined, candidate: Combined) -> float | None:
    known = [ns for ns in (baseline.typical_ns, candidate.typical_ns) if ns is not None]
    return min(known, default=None)


def changes(baseline: Combined, candidate: Combined, noise: NoiseModel, every: bool = False) -> tuple[Change, ...]:
    """Return the metrics that are always looked at, then the top stall reasons; with ``every`` all that a side has."""
    return tuple(change(row, noise) for row in rows(baseline, candidate, every))


def side_by_side(baseline: Combined, candidate: Combined, every: bool = False) -> tuple[Change, ...]:
    """Return the metrics of two runs that cannot be compared: both values, and nothing of what lies between them."""
    told = changes(baseline, candidate, NoiseModel(None), every)
    return tuple(
        replace(change, delta=None, verdict="not-comparable", noise=None, beyond=None, z=None) for change in told
    )


def change(row: ComparedMetric, noise: NoiseModel) -> Change:
    """Return what became of one metric; a rate is judged as the percentage that is the same number."""
    z, count = _score(row)
    judged = row.in_percent or row
    strays, beyond = _noise(judged, row.unit, noise)
    return Change(
        metric=row.key,
        label=row.label,
        unit=row.unit,
        baseline=row.baseline,
        candidate=row.candidate,
        delta=_delta(row),
        verdict=_verdict(judged, noise),
        note=row.note,
        baseline_coverage=row.coverage[0],
        candidate_coverage=row.coverage[1],
        noise=strays,
        beyond=beyond,
        z=z,
        repeats=count,
        is_material=judged.is_material,
    )


def _delta(row: ComparedMetric) -> float | None:
    if row.baseline is None or row.candidate is None:
        return None
    if row.unit == "%":
        return row.candidate - row.baseline
    if row.candidate == row.baseline:
        return 0.0
    return row.candidate / row.baseline - 1 if row.baseline != 0 else None


def _noise(row: ComparedMetric, unit: str, noise: NoiseModel) -> tuple[float | None, float | None]:
    """Return how far one side may stray, and what a delta must be larger than to be a change, as a delta of ``unit``.

    None where that has none.
    """
    reading = row.reading()
    if reading is None:
        return None, None
    if row.exact and not noise.rounded:
        return 0.0, 0.0
    amount, most = noise.amount(reading), noise.beyond(reading)
    if unit == "%":
        return amount, most
    before = abs(reading.baseline)
    return amount / reading.larger if reading.larger else None, most / before if before else None


def _score(row: ComparedMetric) -> tuple[float | None, int]:
    """Return the candidate's distance from the mean of the baseline's repeats in their standard deviations, and n.

    That is what Nsight Compute shows beside several baselines; None where the baseline has one value, or always the
    same. Of a candidate with repeats it is their mean that is as far: the values that are shown are medians.
    """
    samples, others = row.samples
    if row.candidate is None or len(samples) < 2 or (deviation := stdev(samples)) == 0:
        return None, len(samples)
    return (mean(others or [row.candidate]) - mean(samples)) / deviation, len(samples)


def _verdict(row: ComparedMetric, noise: NoiseModel) -> ChangeWord:
    reading = row.reading()
    if reading is None:
        return "missing"
    distance = noise.distance(reading)
    if distance != "beyond":
        return "unchanged" if distance == "within" else "undecided"
    unseen = abs(reading.candidate - reading.baseline) < UNSEEN * abs(reading.baseline)
    if row.better is None or unseen or row.is_beside_possible:
        return "changed"
    return "improved" if (reading.candidate > reading.baseline) == (row.better == "higher") else "regressed"
