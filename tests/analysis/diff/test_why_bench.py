"""Whether times under ncu tell what a bench saw: by its interval, and by how far durations stray."""

from __future__ import annotations

import pytest
from factories import STALL
from ladder import counters
from made_counters import every, side

from ncu_assist.analysis.diff.noise import NoiseModel
from ncu_assist.analysis.diff.why import why
from ncu_assist.ncu.catalogue.noise import recording
from ncu_assist.rules.model.resources import RESOURCES
from ncu_assist.verdict import Verdict

LONG = STALL.format("long_scoreboard")
MADE = [resource for resource in RESOURCES.values() if not resource.is_coarse]


def benched(speedup: float | None, low: float | None = None, high: float | None = None) -> Verdict:
    return Verdict("faster", None, "interval", speedup, low, high, 100)


H200 = NoiseModel(recording("gh100"))


@pytest.mark.parametrize(
    ("durations_ns", "bench", "agrees"),
    [
        ((2e5, 1e5), None, None),
        ((2e5, 1e5), benched(None), None),
        ((2e5, 1e5), benched(2.0, 1.99, 2.01), True),
        ((2e5, 1e5), benched(1.97, 1.96, 1.98), True),  # what one duration of a long kernel strays
        ((2e5, 1e5), benched(1.85, 1.84, 1.86), False),
        ((2e5, 1e5), benched(1.85, 1.70, 2.00), True),  # the bench itself is not sure
        ((2e5, 1e5), benched(1.97), True),  # samples that are not paired have no interval
        ((2e5, 1e5), benched(2.15), False),
        ((8e3, 4e3), benched(1.85, 1.84, 1.86), True),  # short kernels stray farther
        ((8e3, 4e3), benched(1.6, 1.59, 1.61), False),
        ((1.045e4, 1e4), benched(1.004, 0.996, 1.011), None),  # 1 would be as likely
        ((1.045e5, 1e5), benched(1.004, 0.996, 1.011), None),
        ((1.06e5, 1e5), benched(1.004, 0.996, 1.011), False),
        ((1.037e5, 1e5), benched(1.049, 1.046, 1.052), True),
        ((1.01e5, 1e5), benched(1.2, 1.19, 1.21), False),
    ],
)
def test_a_bench_that_saw_another_ratio_is_told(
    durations_ns: tuple[float, float], bench: Verdict | None, agrees: bool | None
) -> None:
    made = every(1e6, 80.0)
    found = why(side(made, duration_ns=durations_ns[0]), side(made, duration_ns=durations_ns[1]), bench, H200)
    assert found is not None
    assert found.agrees is agrees
    assert (found.expected is None) == (bench is None or bench.speedup is None)


def test_short_kernels_of_the_ladder_do_not_prove_what_the_bench_could_not() -> None:
    """v8 to v9 on b16: 1.004 and unclear by the bench, 1.045 under ncu, where kernels of 18 µs stray by 14 %."""
    both = counters(8, "b16_d96"), counters(9, "b16_d96")
    found = why(*both, benched(1.004, 0.996, 1.011), H200)
    assert found is not None
    assert found.time_ratio == pytest.approx(1.045, abs=0.001)
    assert found.agrees is None


@pytest.mark.parametrize("again", [1, 3])
def test_a_chain_of_short_launches_is_short(again: int) -> None:
    made = every(1e6, 80.0)
    short, long = ([side(*[made] * again, duration_ns=ns) for ns in both] for both in ((1e4, 9e3), (1e5, 9e4)))
    noises = [found.noise for some in (short, long) if (found := why(*some, noise=H200))]
    assert noises == [pytest.approx(0.14 * 2**0.5, rel=0.1), pytest.approx(0.025 * 2**0.5, rel=0.1)]
