"""Points and roofs: numbers of recorded runs, what is assumed, and kernels without floating point."""

from __future__ import annotations

from dataclasses import replace

import pytest
from render.html.charts_page import ARCHIVE, GALLERY, launch, shown

from ncu_assist.analysis.roofline import dram_roof, points, roofline_numbers, share_at_clock, share_of
from ncu_assist.frame import combine_launches
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.charts import box_of
from ncu_assist.render.html.roofline import roofline

COMPUTE = GALLERY / "gallery_compute1_full_h200.ncu-rep.zst"
MEMORY = GALLERY / "gallery_memory1_full_h200.ncu-rep.zst"
ONCHIP = GALLERY / "gallery_onchip1_full_h200.ncu-rep.zst"


@pytest.mark.parametrize("version", ["v2", "v3", "v6", "v10"])
def test_a_point_is_the_catalogues_intensity_under_the_rate_of_dram(version: str) -> None:
    one = shown(version)
    values, (point, *_) = one.combined.values, [p for p in points(one) if p.precision.label == "FP32"]
    assert point.operations == values["fp32_flops"]
    assert point.of_dram == pytest.approx(values["intensity_fp32"], rel=1e-9)
    assert point.per_second / point.of_dram == pytest.approx(values["dram_rate"], rel=1e-9)


def test_every_precision_that_was_used_has_its_point_and_its_roof() -> None:
    tensor = roofline_numbers(launch(COMPUTE, "healthy_tensor_rate"))
    assert tensor is not None
    assert {one.precision.label for one in tensor.points} >= {"FP32", "Tensor FP16"}
    assert tensor.binding is not None
    assert (tensor.binding.label, tensor.binding.measured) == ("Tensor FP16", True)
    double = roofline_numbers(launch(COMPUTE, "pipe_fp64_for_floats"))
    assert double is not None
    assert double.main.precision.label == "FP64"
    assert double.binding is not None
    assert double.binding.label == "FP64"


def test_the_roof_that_binds_is_the_lower_one() -> None:
    scene = roofline_numbers(shown("v7"))
    assert scene is not None
    assert scene.binding == scene.dram
    assert scene.is_near
    made = roofline(shown("v7")).chart
    assert made is not None
    assert [one.text for one in made.words if "◆" in one.text] == ["◆ DRAM 4.33 TB/s, binds"]
    assert sum("roof-limit" in one.cls for one in made.shapes) == 1


def test_a_roof_binds_only_where_it_is_the_bottleneck() -> None:
    for version in ("v0", "v6", "v7"):
        one = shown(version).counted
        made = roofline(one)
        assert made.chart is not None
        assert one.bottleneck is not None
        texts = [word.text for word in made.chart.words if "◆" in word.text]
        assert [text.endswith(", binds") for text in texts] == [one.bottleneck.name == "DRAM"]
        assert (f"What binds is {one.bottleneck.name}" in made.says[0]) == (one.bottleneck.name != "DRAM")


def test_a_row_that_is_not_drawn_is_held_against_no_roof() -> None:
    table = roofline(shown("v7")).table
    assert table is not None
    drawn, hidden = table.rows
    assert drawn[-1].text.endswith(" %")
    assert [cell.text for cell in hidden[-2:]] == ["-", "-"]
    assert hidden[0].note.startswith("not drawn: at most 64 HFMA2 a thread")


def test_instructions_that_only_load_constants_are_no_work_in_halves() -> None:
    scene = roofline_numbers(shown("v7"))
    assert scene is not None
    assert [one.precision.label for one in scene.points] == ["FP32"]
    assert [one.precision.label for one in scene.trifles] == ["FP16"]
    halves = roofline_numbers(launch(COMPUTE, "matrix_pairs_of_halves"))
    assert halves is not None
    assert "FP16" in {one.precision.label for one in halves.points}


def test_a_kernel_without_floating_point_says_so() -> None:
    made = roofline(launch(MEMORY, "load_column_transpose"))
    assert made.says[0].startswith("No floating-point work")
    assert made.chart is None
    assert not made.missing


def test_without_ceilings_roofs_are_assumed_and_say_so() -> None:
    one = replace(shown("v7"), ceilings=None)
    made, dram = roofline(one), dram_roof(one)
    assert dram is not None
    assert not dram.measured
    assert "assumed" in made.says[0]
    assert any("ncu-assist ceilings" in note for note in made.notes)
    peak = one.combined.values["dram_peak_bandwidth"]
    assert peak is not None
    assert dram.per_second == pytest.approx(0.89 * peak)
    assert dram.why == "streams over HBM reach 89 to 95 % on V100, A100, H100: the least of that"
    assert made.chart is not None
    assert all("assumed" in word.text for word in made.chart.words if word.text.startswith(("◆", "FP32 6")))


def test_fewer_bytes_than_were_measured_get_the_roof_of_the_fewest() -> None:
    one = shown("v6", "b1_d96")
    dram = dram_roof(one)
    assert dram is not None
    assert not dram.measured
    assert 3e12 < dram.per_second < 4.8e12
    assert "nothing was measured" in dram.why


def test_missing_counters_are_named_with_the_command() -> None:
    one = shown("v6")
    bare = replace(one, combined=replace(one.combined, tables=tuple({} for _ in one.combined.tables)))
    made = roofline(bare)
    assert made.missing
    assert made.collect == "ncu-assist profile lightning_decode v6_coalesced_store --set full"
    timed = combine_launches(None, one.combined.launches[:1], [{"gpu__time_duration.sum": 3e4}])
    assert "duration" not in roofline(replace(one, combined=timed)).missing  # which is on the page


def test_the_baseline_is_a_ghost_with_an_arrow() -> None:
    made = roofline(shown("v7"), shown("v3"), sides=("v3", "v7"))
    assert made.chart is not None
    classes = [one.cls for one in made.chart.shapes]
    assert classes.count("point-ghost") == 1
    assert classes.count("step-head") == 1
    assert made.table is not None
    assert made.table.rows[0][2].text == "299 GFLOP/s → 2.78 TFLOP/s"  # that before first, as in every table
    assert made.table.note.startswith("v3 → v7")
    own = roofline(shown("v7"), shown("v7")).chart
    assert own is not None
    together = [one.text for one in own.words if "candidate" in one.text]
    assert together == ["FP32: baseline 2.78 TFLOP/s → candidate 2.78 TFLOP/s"]  # of dots that are near one label
    assert "step-head" not in [one.cls for one in own.shapes]


@pytest.mark.parametrize("version", ["v0", "v2", "v3", "v4", "v6", "v7", "v10"])  # v1 mostly pads, without operations
def test_labels_do_not_cover_each_other(version: str) -> None:
    made = roofline(shown(version).counted, shown("v3")).chart
    assert made is not None
    boxes = [box_of(one) for one in made.words]
    assert not [(i, k) for i, a in enumerate(boxes) for k, b in enumerate(boxes) if i < k and a.covers(b)]


def test_launches_of_different_kernels_have_no_roofline_together() -> None:
    chain = shown("v0")
    for made in (roofline(chain), roofline(shown("v7"), chain)):
        assert made.chart is None
        assert made.missing.startswith("There is no roofline for launches of different kernels")


def test_a_roof_is_held_at_the_clock_of_the_run_too() -> None:
    """A tensor kernel that ran slower than the loop that its roof was measured with."""
    stored = next(one for one in ARCHIVE.runs("gemm_bias_gelu") if one.run.version == "v12_wgmma")
    one = gather(stored, "square8k", ARCHIVE)
    scene, made = roofline_numbers(one), roofline(one)
    assert scene is not None
    assert scene.clock
    assert scene.binding == scene.main.roof
    assert scene.binding.clock
    share, own = share_of(scene.main, scene.dram), share_at_clock(scene)
    assert share
    assert own == pytest.approx(share * scene.binding.clock / scene.clock)
    roof, ran = (f"{clock / 1e9:.2f} GHz" for clock in (scene.binding.clock, scene.clock))
    assert f"{100 * share:.0f} % of what the roof of Tensor BF16, measured at {roof}, allows at" in made.says[0]
    assert f"; {100 * own:.0f} % at the {ran} it ran at under ncu." in made.says[0]
    lower = f"Tensor BF16 {scene.clock / scene.binding.clock:.2f} times as high, measured at {roof}"
    assert any(lower in note for note in made.notes), made.notes
    near = replace(scene, clock=scene.binding.clock * 0.97)
    assert share_at_clock(near) is None


def test_the_legend_explains_the_marks_that_are_drawn() -> None:
    for one in (shown("v6"), shown("v10"), launch(COMPUTE, "healthy_tensor_rate")):
        drawn = roofline(one).chart
        assert drawn is not None
        names = {name for shape in drawn.shapes for name in shape.cls.split()}
        assert ("○" in drawn.legend) == ("point-l2" in names)
        assert ("◆" in drawn.legend) == any("◆" in words.text for words in drawn.words)
        assert ("dashed" in drawn.legend) == ("roof-assumed" in names)
