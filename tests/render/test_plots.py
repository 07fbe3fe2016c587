"""Plots of the API, into matplotlib's axes: what is drawn is what the answers say."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import DEVICE
from requirements import require
from trended import history as made_history
from trended import steps

import ncu_assist
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.render import plots
from ncu_assist.render.terminal.run import show_text

ROOT = Path(__file__).parents[2]
REPORT = str(ROOT / "tests/data/repeats_full_h200_2025.3.1.ncu-rep.zst")


@pytest.fixture(autouse=True)
def drawn(monkeypatch: pytest.MonkeyPatch) -> Any:
    require("matplotlib")
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    yield
    pyplot.close("all")


def words(ax: Any) -> str:
    legend = ax.get_legend()
    texts = [*ax.texts, *ax.get_yticklabels(), *(legend.get_texts() if legend else ()), ax.xaxis.label, ax.title]
    return " | ".join(text.get_text() for text in texts)


def test_a_roofline_has_the_points_and_the_roofs_of_the_page() -> None:
    run = ncu_assist.show("gemm_bias_gelu/v12", project=ROOT)
    ax = run.plot()
    assert "Tensor BF16" in words(ax)
    assert "DRAM: " in words(ax)
    points = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    page = run.to_html()
    assert len(points) == 2
    top = max(y for _, y in points)
    assert f"{top / 1e12:.3g} TFLOP/s" in page
    roofs = [line for line in ax.lines if line.get_marker() != "o"]
    assert all(y <= max(max(line.get_ydata()) for line in roofs) for _, y in points)


def test_stalls_are_those_of_the_terminal_and_go_into_given_axes() -> None:
    from matplotlib import pyplot

    run = ncu_assist.show("lightning_decode/v6", project=ROOT)
    _, given = pyplot.subplots()
    ax = run.plot("stalls", ax=given)
    assert ax is given
    shares = [share for share in run.view.combined.stalls.values() if share >= 0.1]
    assert sorted(bar.get_width() for bar in ax.patches) == pytest.approx(sorted(shares))
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert {"long scoreboard", "mio throttle"} <= set(names)
    assert all(name in run.to_html() for name in names)
    assert all(name in show_text(run.view) for name in names[-3:])  # the largest; the terminal has a few


def test_a_timeline_ends_with_its_launch_and_is_in_percent() -> None:
    run = ncu_assist.show("lightning_decode/v6", project=ROOT)
    ax = run.plot("timeline")
    assert "DRAM: throughput" in words(ax)
    assert 1e3 * max(line.get_xdata()[-1] for line in ax.lines) <= run.view.launches_shown[0].launch.duration_ns
    assert max(max(line.get_ydata()) for line in ax.lines) <= 100


def test_a_title_says_which_launch_of_several_is_drawn() -> None:
    run = ncu_assist.show(REPORT, project=ROOT)
    assert run.plot("stalls").get_title().endswith("launch 4 of 27, transpose_unpadded: the one to look at first")
    assert run[1].plot("stalls").get_title().endswith("launch 1 of 27, stream_copy")
    assert (
        ncu_assist.show("softmax/v3", project=ROOT)
        .plot("stalls")
        .get_title()
        .startswith("softmax/v3_three_pass on c4k")
    )
    with pytest.raises(UsageProblem, match=r"launch 4 of 27, transpose_unpadded, has no .* these have: .*chain_of_fma"):
        run.plot("roofline")


@pytest.mark.parametrize(
    ("reference", "kind", "said"),
    [
        ("lightning_decode/v6", "rooflin", "did you mean 'roofline'"),
        ("fast_h2d/v8", "roofline", "has no floating-point operations and DRAM bytes to draw"),
        (
            str(ROOT / "tests/data/transpose_basic_h200_2025.3.1.ncu-rep.zst"),
            "timeline",
            "has no samples over time to draw",
        ),
    ],
)
def test_what_cannot_be_drawn(reference: str, kind: str, said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        ncu_assist.show(reference, project=ROOT).plot(kind)


def test_versions_with_their_floor() -> None:
    found = ncu_assist.history("lightning_decode", project=ROOT)
    ax = found.plot()
    own = found.versions[found.versions["workload"] == found.history.shown]
    assert [bar.get_width() * 1e3 for bar in ax.patches] == pytest.approx(own["median_ns"].tolist())
    assert "floor of b64_d96" in words(ax)
    assert ax.get_title() == "lightning_decode, NVIDIA H200"
    assert own.set_index("version").loc["v7_registers_128bit", "verdict"] == "faster"
    box = found._repr_html_().replace("\N{NO-BREAK SPACE}", " ")
    assert box.count("<tr") == len(found.history.rows)
    assert "v7_registers_128bit" in box
    assert "73.9 µs, ▲ 2.99x faster against v6, bound by DRAM 81 %" in box
    floor = next(line for line in ax.lines if line.get_label() == "floor of b64_d96")
    assert all(floor.get_zorder() > bar.get_zorder() for bar in ax.patches)
    assert all(floor.get_color() != bar.get_facecolor() for bar in ax.patches)
    assert found.to_dict()["kernel"] == "lightning_decode"


def test_outcomes_have_a_bar_a_version_and_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = ncu_assist.profile("softmax", ["v1", "v7"], workload="all", project=ROOT)
    ax = found.plot()
    assert sorted(bar.get_width() * 1e3 for bar in ax.patches) == pytest.approx(sorted(found.timings["median_ns"]))
    assert ax.get_xscale() == "log"


def test_a_legend_covers_no_bar_and_long_times_have_their_digits() -> None:
    bars = [(f"v{row}", name, ns) for row in range(4) for name, ns in (("n4096", 2.659e6), ("n8192", 2.128e7))]
    ax = plots._versions("matmul", bars, {}, None)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    assert {text.get_text() for text in ax.texts} == {"2659", "21,280"}
    assert all(text.get_window_extent().x1 <= ax.get_window_extent().x1 for text in ax.texts)


def test_a_legend_covers_no_label_and_a_log_axis_has_room_for_its_digits() -> None:
    ax = ncu_assist.show("lightning_decode/v7", project=ROOT).plot("timeline")
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not legend.overlaps(ax.xaxis.label.get_window_extent())
    assert legend.x0 >= ax.get_window_extent().x1
    ax = plots._versions("gemm", [("v0", "a", 1.4e6), ("v1", "a", 3.8086e7)], {}, None)
    ax.figure.canvas.draw()
    assert ax.get_xscale() == "log"
    assert all(text.get_window_extent().x1 <= ax.get_window_extent().x1 for text in ax.texts)


def test_a_trend_with_its_levels(tmp_path: Path) -> None:
    made_history(tmp_path, {"v1_a": steps(30, 15, 0.05)})
    found = ncu_assist.trend("add_one", project=tmp_path)
    (change,) = found.changes.to_dict("records")
    assert (change["kind"], change["runs"]) == ("step", 15)
    assert change["low"] < 0.05 < change["high"]
    runs, level, _in_the_legend = found.plot().lines
    assert len(runs.get_xdata()) == len(found.runs) == 30
    assert level.get_ydata()[-1] == pytest.approx(
        100 * (found.runs["level_ns"].iloc[-1] / found.runs["level_ns"][0] - 1)
    )
    assert [x for x, _ in level.get_xydata()] == [0, 14, 14.5, 14.5, 15, 29]  # upright between two runs
    assert repr(found) == "<add_one on small: 30 runs, 1 change>"
    box = found._repr_html_()
    assert "add_one on small, 30 runs, the newest measured" in box
    text = " ".join(re.sub("<[^>]+>", " ", box).split())
    assert re.search(r"v1_a 30 runs, first \S+ µs, best \S+ µs, last 1\S+ µs, 1 step Changes ▼ v1_a: ", text), text
    assert found.to_html().startswith("<!doctype html>")


def test_more_series_than_colours_are_told_apart(tmp_path: Path) -> None:
    made_history(tmp_path, {f"v{number}_a": [1.0] * 3 for number in range(12)})
    ax = ncu_assist.trend("add_one", project=tmp_path).plot()
    named = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert len(named) == 12
    assert len({(line.get_color(), line.get_marker()) for line in named}) == 12
    assert len({(line.get_color(), line.get_linestyle()) for line in named}) == 12


def test_single_runs_stand_beside_one_another(tmp_path: Path) -> None:
    made_history(tmp_path, {"v1_a": [1.0], "v2_b": [0.5]})
    found = ncu_assist.trend("add_one", project=tmp_path)
    ax = found.plot()
    dots = [tuple(line.get_xydata()[0]) for line in ax.lines]
    assert dots == [(place, pytest.approx(ns / 1e3)) for place, ns in enumerate(found.runs["median_ns"])]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["v1", "v2"]
    assert ax.get_xlim()[1] - ax.get_xlim()[0] >= 2
    assert "too few runs" in words(ax)


def test_versions_on_several_gpus_say_on_which(tmp_path: Path) -> None:
    other = {"device": replace(DEVICE, name="NVIDIA H100")}
    made_history(tmp_path, {"v1_a": [1.0] * 4}, facts=dict.fromkeys((2, 3), other))
    said = words(ncu_assist.trend("add_one", project=tmp_path).plot())
    assert "v1 on NVIDIA H200" in said
    assert "v1 on NVIDIA H100" in said


def luminance(color: Any) -> float:
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]  # WCAG 2, 1.4.3
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: Any, other: Any) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def every_text(ax: Any) -> list[Any]:
    legend = ax.get_legend()
    named = [*legend.get_texts(), legend.get_title()] if legend else []
    return [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label, ax.title, *named]


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
@pytest.mark.parametrize("kind", ["roofline", "stalls", "timeline", "history"])
def test_a_picture_can_be_read_in_a_light_and_in_a_dark_notebook(kind: str, background: str) -> None:
    if kind == "history":
        ax = ncu_assist.history("lightning_decode", project=ROOT).plot()
    else:
        ax = ncu_assist.show("gemm_bias_gelu/v12" if kind == "roofline" else "lightning_decode/v6", project=ROOT).plot(
            kind
        )
    ax.figure.canvas.draw()
    assert ax.figure.get_facecolor()[3] == ax.get_facecolor()[3] == 0, "what is behind is seen"
    texts = [text for text in every_text(ax) if text.get_text()]
    assert len(texts) > 10
    assert min(contrast(text.get_color(), background) for text in texts) > 3.9
    shapes = [*(line.get_color() for line in ax.lines), *(bar.get_facecolor() for bar in ax.patches)]
    assert min(contrast(color, background) for color in shapes) > 2.2
    legend = ax.get_legend()
    assert legend is None or not legend.get_frame_on()


def test_a_notebook_puts_no_background_behind_a_picture() -> None:
    """JupyterLab does where the digits of both axes are all dark, or all light, on a figure without one."""
    ax = ncu_assist.show("lightning_decode/v6", project=ROOT).plot("stalls")
    from matplotlib.colors import to_rgb

    ax.figure.canvas.draw()
    sides = [
        {
            sum(w * c for w, c in zip((0.299, 0.587, 0.114), to_rgb(text.get_color()), strict=True)) > 0.5
            for text in some
        }
        for some in (ax.get_xticklabels(), ax.get_yticklabels())
    ]
    assert sides == [{True}, {False}]


def test_a_style_that_was_chosen_is_kept() -> None:
    from matplotlib import pyplot

    with pyplot.style.context("dark_background"):
        ax = ncu_assist.history("lightning_decode", project=ROOT).plot()
        ax.figure.canvas.draw()
        texts = [text for text in every_text(ax) if text.get_text()]
    assert ax.figure.get_facecolor()[:3] == (0, 0, 0)
    assert min(contrast(text.get_color(), "black") for text in texts) > 15
    (floor,) = ax.lines
    assert contrast(floor.get_color(), "black") > 15
    _, given = pyplot.subplots()
    ncu_assist.show("lightning_decode/v6", project=ROOT).plot("stalls", ax=given)
    assert given.figure.get_facecolor()[:3] == (1, 1, 1)
    assert {text.get_color() for text in given.texts} == {"black"}


def test_without_matplotlib_nothing_is_drawn_and_the_rest_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run = ncu_assist.show("lightning_decode/v6", project=ROOT)
    with pytest.raises(EnvironmentProblem, match="matplotlib, which is not installed") as told:
        run.plot("stalls")
    assert "[notebook]" in told.value.hint
    assert run.diagnosis
