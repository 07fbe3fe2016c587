"""A version that draws by itself: good draws pass at any size, and what is not chance, or not of its seed, is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from ncu_assist.backends.python import import_file  # noqa: E402
from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.harness.problem import Draws, Problem, why_unlikely  # noqa: E402
from ncu_assist.spec import Workload  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(Path(__file__).parents[2] / "kernels" / "layernorm_dropout_residual")
ROWS, COLS, KEEP = 256, 512, 0.9
SEEDS = (1, 2, 3)
Made = Callable[[Any], Any]  # from uniform numbers to what is kept
Call = Callable[..., None]


def _uniform(seed: int, rows: int = ROWS, cols: int = COLS) -> Any:
    return torch.rand(rows, cols, generator=torch.Generator().manual_seed(seed))


def _draws(kept: Any, probability: float = KEEP) -> Draws:
    return Draws(kept, torch.ones_like(kept), probability)


@pytest.mark.parametrize("probability", [0.0, 1 / 65536, 0.1, 0.5, 0.9, 65535 / 65536, 1.0])
@pytest.mark.parametrize("shape", [(0, 7), (1, 1), (1, 4096), (7, 3), (64, 24), (2048, 1), (64, 4096)])
def test_draws_of_chance_pass(shape: tuple[int, int], probability: float) -> None:
    for seed in range(20):
        draws, earlier = (_draws(_uniform(s, *shape) < probability, probability) for s in (seed, 1000 + seed))
        assert why_unlikely(draws, earlier) == "", seed


def test_few_elements_may_be_told() -> None:
    kept = _uniform(1) < KEEP
    told = _uniform(2) < 0.3
    assert why_unlikely(Draws(kept ^ ~told & kept, told, KEEP)) == "", "what is not told does not count"
    assert "kept" in why_unlikely(Draws(kept & told, torch.ones_like(told), KEEP))


FAULTS: dict[str, tuple[str, Made]] = {
    "a little too many": ("kept", lambda u: u < KEEP + 0.01),
    "none dropped": ("kept", lambda u: u < 2),
    "one row for all": ("kept|neighbours|row|column", lambda u: (u < KEEP)[:1].expand_as(u)),
    "a row for three": ("column", lambda u: (u < KEEP)[torch.arange(ROWS) // 3]),
    "rows again after a hundred": ("column", lambda u: (u < KEEP)[torch.arange(ROWS) % 100]),
    "one draw for two": ("neighbours", lambda u: (u < KEEP)[:, torch.arange(COLS) // 2]),
    "columns again after 32": ("row", lambda u: (u < KEEP)[:, torch.arange(COLS) % 32]),
    "whole rows": ("kept|neighbours|row", lambda u: (u < KEEP)[:, :1].expand_as(u)),
    "every tenth": ("kept|neighbours", lambda u: (torch.arange(COLS) % 10 != 3).expand_as(u)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_chance_is_found(fault: str) -> None:
    words, made = FAULTS[fault]
    for seed in range(5):
        reason = why_unlikely(_draws(made(_uniform(seed))))
        assert reason, seed
        assert any(word in reason for word in words.split("|")), reason


def test_two_seeds_draw_nothing_in_common() -> None:
    draws = _draws(_uniform(1) < KEEP)
    assert "two seeds" in why_unlikely(draws, draws)
    half = torch.where(torch.arange(COLS) % 2 == 0, draws.kept, _uniform(2) < KEEP)
    assert "two seeds" in why_unlikely(draws, _draws(half))


def _problem(keep: int) -> Problem:
    workload = Workload("made", "float32", {"rows": 64, "cols": 512, "keep": keep, "width": 4}, False)
    return Problem(KERNEL, workload, import_file(KERNEL.reference), "cpu")


def _version(fault: str = "") -> Call:
    """Layer norm and dropout in torch, from the reference of its neighbour, with draws of its own."""
    calls: list[int] = []

    def call(inputs: tuple[Any, ...], outputs: tuple[Any, ...], _: Any) -> None:
        x, residual, gamma, beta, keep, seed = inputs
        calls.append(seed)
        seed = {"one seed": 5, "no seed": len(calls)}.get(fault, seed % (1 << 31))
        probability = keep / 65536
        y = torch.nn.functional.layer_norm(x, x.shape[1:], gamma, beta, 1e-5)
        uniform = _uniform(seed, *x.shape)
        kept = uniform < probability * (0.97 if fault == "too few" else 1.0)
        scale = 1.0 if fault == "not scaled" else 1 / probability
        dropped = residual + 1e-3 if fault == "dropped are touched" else residual
        outputs[0].copy_(torch.where(kept, residual + y * scale, dropped))
        if fault == "one element":
            outputs[0][3, 5] += 0.25

    return call


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("", ""),
        ("one seed", "two seeds are not independent"),
        ("no seed", "two calls with the same seed draw differently"),
        ("too few", "draws: "),
        ("not scaled", "elements are wrong"),
        ("dropped are touched", "elements are wrong"),
        ("one element", "1 of 32768 elements are wrong"),
    ],
)
def test_a_version_that_draws_by_itself(fault: str, words: str) -> None:
    outcome = check(_version(fault), _problem(58982), SEEDS, 2, draws_own=True)
    assert words in outcome.reason
    assert outcome.passed == (fault == "")


def test_its_draws_are_not_those_of_the_reference() -> None:
    assert "elements are wrong" in check(_version(), _problem(58982), SEEDS, 2).reason
    assert check(_version(), _problem(65536), SEEDS, 2).reason == "", "nothing is dropped"
