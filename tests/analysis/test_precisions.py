"""Operations needed beside those that counters saw, where they set the least time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from factories import launch
from test_yardstick import product

from ncu_assist.analysis.roofline import PRECISIONS
from ncu_assist.analysis.run_view import RunView
from ncu_assist.frame import combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.words.floors import operations_words
from ncu_assist.store import Store

NEEDED = 2 * 8192**3
NAMES = {key: CATALOGUE[key].names[0] for key in ("tensor_ops_bf16", "tensor_ops_fp16")}


def shown(tmp_path: Path, **operations: float) -> RunView:
    table = {NAMES[key]: value for key, value in operations.items()}
    run = gather(product(tmp_path, "v0_library", 1.5e6), store=Store(tmp_path))
    return replace(run, combined=combine_launches("small", [launch(workload="small")], [table]))


def test_needed_and_counted_stand_side_by_side(tmp_path: Path) -> None:
    """A causal product that computes what it masks does twice what it needs."""
    twice = shown(tmp_path, tensor_ops_bf16=2.0 * NEEDED, tensor_ops_fp16=0.5 * NEEDED)
    words = "1.10 TFLOP needed; counted: Tensor BF16 2.20 TFLOP (2.00x), Tensor FP16 550 GFLOP (0.50x)"
    assert operations_words(twice) == words
    assert f"operations: {words}" in " ".join(show_text(twice, Style()).split())


def test_little_of_another_kind_is_not_named(tmp_path: Path) -> None:
    assert "FP16" not in operations_words(shown(tmp_path, tensor_ops_bf16=NEEDED, tensor_ops_fp16=0.001 * NEEDED))


def test_nothing_is_said_without_counters_or_where_bytes_set_the_floor(tmp_path: Path) -> None:
    one = shown(tmp_path, tensor_ops_bf16=NEEDED)
    assert operations_words(one)
    uncounted = combine_launches("small", [launch(workload="small")], [{}])
    assert operations_words(replace(one, combined=uncounted)) == ""
    assert one.row is not None
    assert operations_words(replace(one, rows=(replace(one.row, floor=None),))) == ""


def test_every_kind_is_a_key_of_the_catalogue_or_derived(tmp_path: Path) -> None:
    values = shown(tmp_path, tensor_ops_bf16=NEEDED).combined.values
    assert all(one.work in values for one in PRECISIONS)
