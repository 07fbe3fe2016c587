"""The public API: what `import ncu_assist` offers, and that it answers what the commands print."""

from __future__ import annotations

import importlib.util
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commandline import DATA, SMALL_REPORT, Run

import ncu_assist
from ncu_assist.errors import UsageProblem
from ncu_assist.moved import MOVED, PACKAGE
from ncu_assist.ncu.catalogue.stalls import TOLD_APART
from ncu_assist.pipeline.querying import ArchiveFrames
from ncu_assist.rules.model.of_run import rules_code
from ncu_assist.store.findings import FINDINGS

MANY_LAUNCHES = DATA / "repeats_full_h200_2025.3.1.ncu-rep.zst"
ROOT = Path(__file__).parents[2]
OFFERED = ("archive", "read_report", "show", "diff", "bench", "profile")


def test_what_is_offered_is_listed() -> None:
    code = "import ncu_assist; print(*dir(ncu_assist))"  # afresh: here other tests have imported much
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(OFFERED) <= set(listed)
    assert [name for name in listed if not name.startswith("__")] == sorted(set(ncu_assist.__all__) - {"__version__"})
    assert all(callable(getattr(ncu_assist, name)) for name in OFFERED)


def test_an_import_costs_no_pandas() -> None:
    code = "import ncu_assist, sys; sys.exit('pandas' in sys.modules or 'click' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_show(run: Run, recorded: Path) -> None:
    shown = ncu_assist.show("lightning_decode/v3")
    assert shown.to_dict() == run("show", "lightning_decode/v3", "--json").json
    assert shown.to_text().rstrip("\n") == run("show", "lightning_decode/v3").out.rstrip("\n")
    assert set(shown.table("metrics")) >= {"launch", "metric", "value"}
    with pytest.raises(UsageProblem, match="did you mean 'launches'"):
        shown.table("launchs")


def test_launches_of_a_report(run: Run, tmp_path: Path) -> None:
    """Each is what --launch shows; a slice and a name choose as a list and --filter would."""
    found = ncu_assist.show(MANY_LAUNCHES, project=tmp_path)
    assert [one.view.launches[0].launch.index for one in found] == list(range(len(found)))
    alone = found[2]
    assert alone.to_dict() == run("show", str(MANY_LAUNCHES), "--launch", "2", "--json").json
    assert (len(found[1:3]), len(found[-1]), len(found[1:3][0])) == (2, 1, 1)
    kernel = alone.view.launches[0].launch.kernel
    assert len(found[kernel]) == len(found["regex:^" + kernel]) == found.table()["kernel"].eq(kernel).sum()
    with pytest.raises(IndexError, match="no place among"):
        found[len(found)]
    with pytest.raises(UsageProblem, match="there are"):
        found["nvtx:nowhere"]


def test_what_a_notebook_has_of_a_run(recorded: Path) -> None:
    shown = ncu_assist.show("lightning_decode/v6", lines=True)
    assert repr(shown).startswith("<lightning_decode/v6_coalesced_store@")
    assert shown.diagnosis.startswith("uncoalesced-global-load, up to ")
    own, first = shown.findings["launch"].iloc[0], shown.findings.iloc[0]
    assert (first["rule"], first["line"]) == ("uncoalesced-global-load", 42)
    box = shown._repr_html_()
    assert "What to do" in box
    assert "v6_coalesced_store.cu:42" in box
    assert set(shown.metrics.index) == set(shown.table()["launch"])
    counted = shown.table("launches", "dram_bytes").set_index("launch").loc[own, "dram_bytes"]
    assert counted == shown.to_dict()["metrics"]["dram_bytes"]["value"]
    assert shown.lines["line"].notna().any()
    assert shown.metrics.loc[own, "dram_bytes"] == counted
    with pytest.raises(UsageProblem, match="no recorded chip has"):
        shown.table("launches", "dram_bytez")


@pytest.mark.parametrize("reference", ["add_relu/v0", "fast_h2d/v0"])
def test_findings_are_of_the_call_then_of_each_launch(reference: str) -> None:
    """Two library kernels a call: what the first writes the second reads again, which neither launch shows."""
    every = ncu_assist.show(reference, project=Path(__file__).parents[2])
    run = ncu_assist.show(reference, workload=every.view.combined.workload, project=Path(__file__).parents[2])
    first = run.findings.iloc[0]
    pd.testing.assert_series_equal(every.findings.iloc[0], first)
    assert run.diagnosis.startswith(f"{first['rule']}, up to {first['estimated_speedup']:.3g}x")
    assert (first["whole"], pd.isna(first["launch"])) == (True, True)
    alone = run.findings[~run.findings["whole"]]
    assert set(alone["launch"]) == {0, 1}
    for each in run:  # of a part of a call nothing is whole, and as much is promised of it
        assert each.findings["whole"].tolist() == [False] * len(each.findings)
        own = alone[alone["launch"] == each.launches[0].index]
        assert each.findings["estimated_speedup"].tolist() == own["estimated_speedup"].tolist()
    assert alone["saved_ns"].sum() <= first["saved_ns"]


def test_findings_are_of_each_workload_that_was_profiled() -> None:
    run = ncu_assist.show("softmax/v4", project=ROOT)
    assert run.findings["workload"].unique().tolist() == ["c4k", "c64k", "c256"]
    assert run.findings.groupby("workload")["launch"].unique().map(list).to_dict() == {
        "c4k": [0],
        "c64k": [1],
        "c256": [2],
    }
    assert repr(run).endswith(": 3 launches; near-ceiling on c4k>")
    assert run.diagnosis.startswith(run.findings["rule"].iloc[0])
    for name, own in run.findings.groupby("workload"):
        alone = ncu_assist.show("softmax/v4", workload=str(name), project=ROOT)
        assert alone.findings["message"].tolist() == own["message"].tolist()
        assert f" on {name}" not in repr(alone)
    assert run[1:].findings["workload"].unique().tolist() == ["c64k", "c256"]


def test_a_run_is_compared_with_itself_by_that_word() -> None:
    said = repr(ncu_assist.diff("softmax/v4", "softmax/v4", project=ROOT))
    assert said.startswith("<v4 is as fast as itself on c4k")
    shown = ncu_assist.show("softmax/v4", project=ROOT)
    assert "launch 1" in repr(ncu_assist.diff(shown[0], shown[1], project=ROOT))


def test_two_runs_of_one_version_are_told_apart_by_their_references() -> None:
    first, second = sorted(path.name for path in (ROOT / "reports/gemm_bias_gelu/v12_wgmma").iterdir())
    versions = (f"gemm_bias_gelu/v12_wgmma@{one}" for one in (first, second))
    said = repr(ncu_assist.diff(*versions, force=True, project=ROOT))
    assert said.startswith(f"<gemm_bias_gelu/v12_wgmma@{second} against gemm_bias_gelu/v12_wgmma@{first} on ")


def test_numbers_have_a_unit_by_name_or_in_attrs() -> None:
    report = ncu_assist.read_report(SMALL_REPORT)
    units = report.launches.attrs["units"]
    counted = set(report.metrics["metric"]) - set(report.launches.select_dtypes(exclude="number"))
    assert set(units) == counted
    assert units["gpu__time_duration.sum"] == "ns"
    runs = ncu_assist.trend("softmax", metrics=["duration", "dram_bytes"], project=ROOT).runs
    assert runs.attrs["units"] == {"duration": "ns", "dram_bytes": "byte"}


WRONG_LOOKUPS: list[tuple[Callable[[], Any], type[LookupError]]] = [
    (lambda: ncu_assist.show("softmax/v4", project=ROOT)[99], IndexError),
    (lambda: ncu_assist.show("softmax/v4", project=ROOT)["nobody"], KeyError),
    (lambda: ncu_assist.read_report(SMALL_REPORT)[-99], IndexError),
    (lambda: ncu_assist.diff("softmax/v3", "softmax/v4", project=ROOT)[999], IndexError),
    (lambda: ncu_assist.diff("softmax/v3", "softmax/v4", project=ROOT)["nobody"], KeyError),
    (lambda: ncu_assist.profile("softmax", "v4", project=ROOT)[7], IndexError),
    (lambda: ncu_assist.profile("softmax", "v4", project=ROOT)["nobody"], KeyError),
]


@pytest.mark.parametrize(("look", "kind"), WRONG_LOOKUPS)
def test_a_failed_lookup_is_an_error_of_ours_and_of_python(
    look: Callable[[], Any], kind: type[LookupError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # recorded runs answer
    with pytest.raises(kind) as caught:
        look()
    assert isinstance(caught.value, ncu_assist.NcuAssistError)
    assert str(caught.value) == caught.value.message  # a KeyError would quote it
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


def test_a_report_is_pickled(tmp_path: Path) -> None:
    shown = ncu_assist.show(MANY_LAUNCHES, project=tmp_path)
    for one in (shown, shown[2:4]):
        again = pickle.loads(pickle.dumps(one))
        assert (repr(again), again.to_dict()) == (repr(one), one.to_dict())
        assert again.metrics["lts__t_sectors.sum"].equals(one.metrics["lts__t_sectors.sum"])
    assert len(pickle.loads(pickle.dumps(shown)).lines)


def test_metrics_by_key_and_by_ncu_s_names(tmp_path: Path) -> None:
    found = ncu_assist.show(MANY_LAUNCHES, project=tmp_path)
    metrics, tidy = found.metrics, found.table("metrics").set_index(["launch", "metric"])["value"]
    assert len(metrics) == len(found)
    cycles = metrics["sm__cycles_elapsed.avg"]
    assert cycles.tolist() == [tidy[launch, "sm__cycles_elapsed.avg"] for launch in metrics.index]
    assert list(metrics[["dram_bytes", "sm__cycles_elapsed.avg"]]) == ["dram_bytes", "sm__cycles_elapsed.avg"]
    names = found.table().set_index("launch")["kernel"]
    assert metrics["kernel"].equals(names)
    assert metrics[["kernel", "sm__cycles_elapsed.avg"]]["kernel"].equals(names)
    assert metrics.groupby("kernel")["duration"].sum().sum() == metrics["duration"].sum()
    assert all(name.startswith("l1tex__") for name in metrics["l1tex__t_sector*"])
    assert metrics.attrs["units"]["dram_bytes"] == "byte"
    both = metrics[["kernel", "dram_bytes", "sm__cycles_elapsed.avg"]]
    assert both.attrs["units"] == {"dram_bytes": "byte", "sm__cycles_elapsed.avg": "cycle"}
    assert (metrics["duration"].attrs["units"], cycles.attrs["units"]) == (
        {"duration": "ns"},
        {"sm__cycles_elapsed.avg": "cycle"},
    )
    assert {"dram_bytes", "dram__bytes_read.sum"} <= set(metrics["dram_*"])
    assert found[3].metrics.index.tolist() == [3]
    for wrong, said in (
        ("dram_bytez", "did you mean 'dram_bytes'"),
        ("kernal", "did you mean 'kernel'"),
        ("sm__cycles_elapsed", "needs a rollup"),
        ("occupancy", "use achieved_occupancy"),
    ):
        with pytest.raises(UsageProblem, match=said):
            metrics[wrong]


def test_names_of_ncu_are_found_in_what_is_made_of_metrics(tmp_path: Path) -> None:
    metrics, name = ncu_assist.show(MANY_LAUNCHES, project=tmp_path).metrics, "sm__cycles_elapsed.avg"
    cycles = metrics[name]
    assert metrics[metrics["kernel"] == "fill"][name].tolist() == [cycles[0]]
    for made in (metrics.head(2), metrics.copy().iloc[:2], pickle.loads(pickle.dumps(metrics)).iloc[:2]):
        assert made[name].equals(cycles.iloc[:2])
    back = metrics.sort_index(ascending=False)[["kernel", name]]
    assert (list(back), back[name].iloc[0]) == (["kernel", name], cycles.iloc[-1])
    assert metrics.groupby("kernel")[name].mean()["fill"] == cycles[0]
    assert (name in metrics, "sm__no_such" in metrics) == (True, False)
    with pytest.raises(KeyError, match="sm__cycles_elapsed"):
        metrics.T[name]
    with pytest.raises(UsageProblem, match="did you mean 'dram_bytes'"):
        metrics.head(3)["dram_bytez"]


def test_rows_are_ordered_grouped_and_looked_up_by_names_of_ncu(tmp_path: Path) -> None:
    metrics, name = ncu_assist.show(MANY_LAUNCHES, project=tmp_path).metrics, "sm__cycles_elapsed.avg"
    cycles, other = metrics[name], "lts__t_sectors.sum"
    plain = pd.DataFrame({"kernel": metrics["kernel"], name: cycles, other: metrics[other]})
    for by, options in (
        (name, {}),
        ([name], {"ascending": False}),
        (["kernel", name], {"ascending": [True, False]}),
        ([other, "launch"], {}),
        (name, {"key": lambda column: -column}),
    ):
        made = metrics.sort_values(by, **options)
        assert made.index.equals(plain.sort_values(by, **options).index), by
        assert list(made) == list(metrics)
        assert made[name].equals(cycles.loc[made.index])
    assert metrics.sort_values(name, ignore_index=True)["kernel"].tolist() == plain.sort_values(name)["kernel"].tolist()
    assert metrics.nlargest(3, name).index.equals(plain.nlargest(3, name).index)
    assert metrics.nsmallest(3, [other, name])[name].equals(plain.nsmallest(3, [other, name])[name])
    assert metrics.groupby("kernel")[name].sum().equals(plain.groupby("kernel")[name].sum())
    assert metrics.loc[:, name].equals(cycles)
    assert metrics.loc[metrics["kernel"] == "fill", name].equals(cycles[metrics["kernel"] == "fill"])
    with pytest.raises(UsageProblem, match="needs a rollup"):
        metrics.sort_values("sm__cycles_elapsed")
    with pytest.raises(KeyError):
        (metrics.drop(columns="kernel") * 2).sort_values(name)


CHANGED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "diff": lambda one: one.drop(columns="kernel").diff(),
    "times": lambda one: one.drop(columns="kernel") * 2,
    "rank": lambda one: one.rank(),
    "apply": lambda one: one.drop(columns="kernel").apply(np.log1p),
    "where": lambda one: one.where(one["duration"] > one["duration"].median()),
    "transform": lambda one: one.groupby("kernel").transform("mean"),
    "set_axis": lambda one: one.set_axis(one.index[::-1]),
    "rename": lambda one: one[["kernel"]].rename(index={0: 1, 1: 0}),
    "index": lambda one: _in_place(one, lambda made: setattr(made, "index", one.index[::-1])),
    "imul": lambda one: _in_place(one.drop(columns="kernel"), lambda made: made.__imul__(2)),
    "combine_first": lambda one: one.head(2).combine_first(ncu_assist.show(SMALL_REPORT).metrics),
    "again": lambda one: one[["sm__cycles_elapsed.avg"]].diff(),
    "columns": lambda one: one[["duration"]].rename(columns=str.upper),
    "concat": lambda one: pd.concat([one.head(3), one.iloc[3:]]),
    "agg": lambda one: one.groupby("kernel").mean(numeric_only=True),
    "head": lambda one: one.drop(columns="kernel").diff().head(3),
}


def _in_place(frame: pd.DataFrame, change: Callable[[pd.DataFrame], object]) -> pd.DataFrame:
    change(frame)
    return frame


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_names_of_ncu_are_of_no_frame_that_was_changed(
    change: Callable[[pd.DataFrame], pd.DataFrame], tmp_path: Path
) -> None:
    made = change(ncu_assist.show(MANY_LAUNCHES, project=tmp_path).metrics.copy())
    with pytest.raises(KeyError, match=r"^'lts__t_sectors.sum' is no column of this frame"):
        made["lts__t_sectors.sum"]


def test_names_of_ncu_stay_with_a_selection(tmp_path: Path) -> None:
    metrics, name = ncu_assist.show(MANY_LAUNCHES, project=tmp_path).metrics, "lts__t_sectors.sum"
    column = metrics[name]
    groups = [group for _, group in metrics.groupby("kernel")]
    for some in (
        *(
            metrics.sort_values("duration"),
            *groups,
            metrics[["kernel", "duration"]],
            metrics.loc[metrics["duration"] > 1e4],
            metrics[1:4],
        ),
        *(metrics.query("duration > 1e4"), metrics.tail(2), metrics.nlargest(2, "duration"), metrics.loc[[3, 0]]),
        *(metrics.assign(double=2 * metrics["duration"]), metrics.drop(index=1), metrics.sample(2, random_state=0)),
        *(metrics.drop_duplicates("kernel"), metrics.filter(like="stall_"), metrics.dropna(subset=["duration"])),
        metrics.head(3).combine_first(metrics.iloc[3:]),  # computed, and yet what the report says
    ):
        assert len(some)
        assert some[name].equals(column.loc[some.index])


def test_one_value_by_a_name_of_ncu() -> None:
    """``loc`` and ``at``, with a number of a launch; what is no metric says where it is."""
    cycles = "sm__cycles_elapsed.avg"
    found = ncu_assist.show(SMALL_REPORT).metrics
    value = found[cycles].iloc[1]
    assert found.loc[1, cycles] == found.at[1, cycles] == found.loc[1, [cycles, "duration"]][cycles] == value
    assert found.loc[[0, 1], cycles].tolist() == found[cycles].tolist()[:2]
    assert found.at[1, "duration"] == found["duration"].iloc[1]
    with pytest.raises(KeyError, match="grid_x: of a launch, and no metric"):
        found["grid_x"]
    with pytest.raises(UsageProblem, match="there is no folder nowhere"):
        ncu_assist.archive(project="nowhere")


def test_pandas_asks_metrics_for_names(tmp_path: Path) -> None:
    metrics = ncu_assist.show(MANY_LAUNCHES, project=tmp_path).metrics
    length = (metrics["duration"] > 1e4).rename("length")
    for by in (metrics.index, length, ["kernel", length], pd.cut(metrics["duration"], 2).rename("part")):
        assert metrics.groupby(by, observed=True)["duration"].sum().sum() == metrics["duration"].sum()
    assert metrics.groupby(level=0)["duration"].sum().equals(metrics["duration"])
    assert metrics.get("nonsense", "none") == "none"


def test_the_catalogue_in_pandas(run: Run) -> None:
    found = ncu_assist.metrics("bank_conflict")
    assert found["key"].tolist() == [one["key"] for one in run("metrics", "bank_conflict", "--json").json["metrics"]]
    assert found.set_index("key").loc["bank_conflicts_load", "name"].endswith("mem_shared_op_ld.sum")
    assert len(ncu_assist.metrics()) > 200
    ways = ncu_assist.metrics("dram_bytes", "achieved_occupancy").set_index("key")["better"]
    assert (ways["dram_bytes"], ways["achieved_occupancy"]) == ("lower", "neither")
    assert ncu_assist.explain("dram_bytes").rstrip() == run("explain", "dram_bytes").out.rstrip()
    with pytest.raises(UsageProblem, match="begins with 'bank_conflicts': bank_conflicts_load, bank_conflicts_store"):
        ncu_assist.explain("bank_conflicts")


def test_a_report_is_its_answer_and_a_table_that_fits_a_notebook() -> None:
    """A library's kernel may have a name of a hundred characters: it is cut, and what is still wide scrolls."""
    report = ncu_assist.read_report(DATA / "library_full_h200_2025.3.1.ncu-rep.zst")
    answer, fits, box = report._repr_html_().partition('<div style="overflow-x: auto">')
    assert fits
    assert answer.startswith(ncu_assist.show(report.path)._repr_html_())
    cells = [cell.split("</td>")[0] for cell in box.split("<td>")[1:]]
    assert any(cell.endswith("…") for cell in cells)
    assert max(map(len, cells)) == 48


WRONG_PLACES = [
    (99, IndexError, "99 is no place among 3 launches, whose places are 0 to 2"),
    (-4, IndexError, "-4 is no place among 3 launches"),
    (1.5, TypeError, "a launch is chosen by its place, a slice, the name of its kernel"),
    (None, TypeError, "not by None"),
    (True, TypeError, "not by True"),
    (slice(3, 1), IndexError, "[3:1] holds none of 3 launches"),
    (slice(None, None, -1), IndexError, "a step of -1 is none"),
    ([], IndexError, "an empty list"),
    ([True, False], IndexError, "a mask of 2 truths does not fit 3 launches"),
    (pd.Series([False] * 3), IndexError, "the mask is true for none of 3 launches"),
    ("", UsageProblem, "a filter is empty"),
    ("transpose_nave", UsageProblem, "did you mean 'transpose_naive'?"),
    ("nvtx:backward", UsageProblem, "is in an NVTX range that matches 'backward'; there are"),
    ("regex:[", UsageProblem, "'[' is no regular expression"),
]


@pytest.mark.parametrize(("which", "kind", "said"), WRONG_PLACES)
def test_launches_by_place_name_and_range(which: object, kind: type[Exception], said: str) -> None:
    """Of a report and of what `show` says of it: the same launches, and the same words for what is none of them."""
    report, shown = ncu_assist.read_report(SMALL_REPORT), ncu_assist.show(SMALL_REPORT)
    assert report[-1]["kernel"] == report.launches["kernel"].iloc[-1]
    is_first = report.launches["launch"].eq(0)
    assert ("transpose_naive" in shown, "transpose_naive" in report, "naive" in shown) == (True, True, False)
    for words in (slice(1, 3), "transpose_naive", "regex:naive", "nvtx:v0_naive|w1", [0, 2], slice(0, 3, 2), is_first):
        numbers = [row.launch.index for row in shown[words].view.launches]
        assert list(report[words]["launch"]) == numbers != []
    assert [row["launch"] for row in report] == [0, 1, 2]
    for one in (report, shown):
        with pytest.raises(kind, match=re.escape(said)):
            one[which]  # type: ignore[index]


def test_a_name_within_a_selection_stays_in_it(tmp_path: Path) -> None:
    found = ncu_assist.show(MANY_LAUNCHES, project=tmp_path)
    some = found["stream_copy"]
    with pytest.raises(UsageProblem, match="none of 5 launches is of a kernel that matches 'fill'"):
        some["fill"]
    assert len(some) == len(some["regex:.*"]) == 5
    assert some["regex:."][0].metrics["kernel"].tolist() == ["stream_copy"]
    assert "5 of 27 launches, stream_copy" in repr(some)
    assert "launch 2 of 27, small_scale" in repr(found[2])
    assert "5 of 27 launches, stream_copy; this is of launch 13" in some._repr_html_()
    with pytest.raises(UsageProblem, match="did you mean 'random_gather'") as caught:
        found["gather"]
    assert caught.value.hint == "index by 'regex:gather'"


def test_what_is_of_a_workload_is_of_that_alone(recorded: Path) -> None:
    """A recorded run keeps the report of one workload: of another there are counters, and no lines."""
    every = ncu_assist.show("lightning_decode/v6")
    (own,) = every.lines["launch"].unique()
    for table in (every.lines, every.timeline, every.table("lines")):
        assert f"has 1 of the {len(every)} launches of the run" in " ".join(table.attrs["notes"])
    name = every.metrics.index.map(dict(enumerate(one.workload for one in every.launches)))[own]
    same, other = (ncu_assist.show("lightning_decode/v6", workload=one) for one in (name, "b16_d96"))
    assert name != "b16_d96"
    assert len(same.lines) == len(every.lines)
    assert len(other) == len(other.metrics) == 1 < len(every)
    assert other.metrics.index.tolist() != [own]
    for ask in (lambda: other.lines, lambda: other.timeline, lambda: other.table("sass")):
        with pytest.raises(UsageProblem, match="the archived report has no launch of workload b16_d96") as no:
            ask()
        assert no.value.hint == 'table("metrics") or table("launches")'
    with pytest.raises(UsageProblem, match="has none of these launches"):
        _ = every[-1 if own == 0 else 0].lines
    both = ncu_assist.diff(other, "lightning_decode/v7")
    assert both.workload == "b16_d96"
    assert both.changes["workload"].eq("b16_d96").all()
    with pytest.raises(UsageProblem, match="a diff is of one workload"):
        ncu_assist.diff(other, same)


def test_what_a_notebook_has_of_a_diff(recorded: Path) -> None:
    both = ncu_assist.diff("lightning_decode/v6", "lightning_decode/v7")
    with_lines = ncu_assist.diff("lightning_decode/v6", "lightning_decode/v7", lines=True)
    assert len(with_lines.to_dict()["lines"]) == len(with_lines.lines) == len(both.lines) > len(both.to_dict()["lines"])
    assert with_lines.lines["became"].tolist() == [one["became"] for one in with_lines.to_dict()["lines"]]
    assert repr(both).startswith("<v7 is 2.99x faster than v6")
    assert "L1 data pipe" in both._repr_html_()
    changes = both.changes.set_index("metric")
    assert changes.loc["duration", "verdict"] == "improved"
    assert changes.loc["duration", "ratio"] == pytest.approx(1 + changes.loc["duration", "delta"])
    assert changes.loc["duration", "factor"] == pytest.approx(1 / changes.loc["duration", "ratio"])
    is_unchanged = changes["verdict"].eq("unchanged").tolist()
    assert is_unchanged == sorted(is_unchanged)
    assert both.diagnosis in repr(both)
    with pytest.raises(UsageProblem, match="compared by every=True"):
        both["sm__cycles_elapsed.avg"]


def test_a_diff_without_counters_says_so() -> None:
    both = ncu_assist.diff("softmax/v3", "softmax/v6", workload="small", project=Path(__file__).parents[2])
    assert both.changes.attrs["note"] == "v3_three_pass and v6_row_in_registers have no counters on small"
    with pytest.raises(UsageProblem, match="nothing was compared but times: v3_three_pass and"):
        both["duration"]


def test_there_are_no_findings_of_what_was_not_profiled() -> None:
    run = ncu_assist.show("gemm_bias_gelu/v18", workload="wide", project=Path(__file__).parents[2])
    with pytest.raises(UsageProblem, match="no launches of workload 'wide'; known: few_rows, square8k"):
        _ = run.findings


def test_a_trend_is_by_version_or_commit() -> None:
    with pytest.raises(UsageProblem, match="not by 'versions'"):
        ncu_assist.trend("softmax", by="versions", project=Path(__file__).parents[2])  # type: ignore[arg-type]


def test_two_launches_of_one_report(tmp_path: Path) -> None:
    both = ncu_assist.diff(*[ncu_assist.show(SMALL_REPORT)[place] for place in (0, 1)])
    assert len(both) == len(both.changes) == len(list(both))
    assert both["duration"].equals(both[list(both.changes["metric"]).index("duration")])
    assert both["Duration"]["metric"] == "duration"
    with pytest.raises(UsageProblem, match="has no metric 'durations'; did you mean 'duration'"):
        both["durations"]
    with pytest.raises(IndexError, match=r"999 is no place among \d+ metrics"):
        both[999]
    found = ncu_assist.show(MANY_LAUNCHES, project=tmp_path)
    both = ncu_assist.diff(found[0], found[1], project=tmp_path)
    assert repr(both).startswith("<launch 1 (stream_copy) against launch 0 (fill), another kernel: ")
    assert "launch 1 (stream_copy) against launch 0 (fill)" in both._repr_html_()
    assert repr(ncu_assist.diff(found[1], found[7], project=tmp_path)).startswith(
        "<launch 7 (stream_copy) against launch 1 (stream_copy): "
    )
    durations = [one.view.launches[0].launch.duration_ns for one in (found[0], found[1])]
    assert both.changes.set_index("metric").loc["duration", ["baseline", "candidate"]].tolist() == durations


def test_launches_of_two_workloads_are_named() -> None:
    run = ncu_assist.show("gemm_bias_gelu/v18", project=Path(__file__).parents[2])
    said = ncu_assist.diff(run[0], run[1]).diagnosis
    assert {one.workload for one in run.launches[:2]} == {"square8k", "few_rows"}
    assert said.startswith("launch 1 (")
    assert re.search(r"cannot be compared on \w+ and \w+: the two worked on different data", said)


def test_diff(run: Run, recorded: Path) -> None:
    both = ncu_assist.diff("v2", ncu_assist.show("lightning_decode/v3"))
    assert both.verdict.verdict == "slower"
    answer = both.to_dict()
    assert answer["candidate"]["version"] == "v3_global_memory"
    by_names = ncu_assist.diff("v2", "v3")
    assert by_names.to_dict() == run("diff", "v2", "v3", "--json").json
    assert by_names.to_text().rstrip("\n") == run("diff", "v2", "v3").out.rstrip("\n")
    assert by_names.to_markdown().rstrip("\n") == run("diff", "v2", "v3", "--format", "markdown").out.rstrip("\n")


def test_stalls_of_lines_have_the_names_of_metrics() -> None:
    run = ncu_assist.show("gemm_bias_gelu/v18", project=Path(__file__).parents[2])
    lines, sampled = run.lines, run.table("lines")
    assert lines["stall_gmma"].equals(sampled["stall_warpgroup_arrive"].rename("stall_gmma"))
    own = {name for name in lines if name.startswith("stall_") and not name.endswith("_not_issued")}
    assert {"stall_gmma_not_issued", "stall_no_instruction_not_issued"} <= set(lines)
    told_apart = {f"stall_{name}" for name in TOLD_APART}
    assert own - told_apart - {"stall_selected"} == {
        name for name in run.metrics if name.startswith("stall_") and name not in told_apart
    }
    assert lines[list(own)].sum().sum() == lines["samples"].sum()


@pytest.mark.slow
def test_a_page_is_of_the_workload_asked_for() -> None:
    root = Path(__file__).parents[2]
    pages = {name: ncu_assist.show("softmax/v3", workload=name, project=root).to_html() for name in ("c4k", "c64k")}
    whole = ncu_assist.show("softmax/v3", project=root).to_html()
    assert whole == pages["c4k"]
    run = ncu_assist.show("softmax/v3", workload="c64k", project=root)
    assert f"{run.diagnosis.partition(':')[0].partition(',')[0]}" in pages["c64k"]
    answers = [re.search(r"(?s)<h1.*?</section>", page) for page in pages.values()]
    assert all(answers)
    assert "on c64k" in answers[1][0]  # type: ignore[index]
    assert "on c64k" not in answers[0][0]  # type: ignore[index]


def test_a_report_has_its_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as `show` of its path, which is not read a second time."""
    shown = ncu_assist.show(SMALL_REPORT)
    report = ncu_assist.read_report(SMALL_REPORT)
    monkeypatch.setattr("ncu_assist.ncu.report.run_child", lambda *_, **__: pytest.fail("read again"))
    assert report.diagnosis == shown.diagnosis != ""
    assert report.findings.equals(shown.findings)
    assert report.shown.to_dict() == shown.to_dict()


@pytest.mark.slow
def test_pages(tmp_path: Path) -> None:
    report = ncu_assist.read_report(SMALL_REPORT)
    both = ncu_assist.diff(report, SMALL_REPORT, project=tmp_path)
    assert both.verdict.verdict in ("unclear", "same")
    assert both.to_html().startswith("<!doctype html>")
    page = ncu_assist.show(report, project=tmp_path).to_html()
    assert page.startswith("<!doctype html>")
    assert report.to_html() == page
    assert list(tmp_path.iterdir()) == []


def test_profile(run: Run, recorded: Path) -> None:
    found = ncu_assist.profile("lightning_decode", ["v3", "v7"])
    assert found.to_dict() == run("profile", "lightning_decode", "v3", "v7", "--json").json
    assert [one.version for one in found.outcome.versions] == ["v3_global_memory", "v7_registers_128bit"]
    assert "recorded, nothing was measured here" in repr(found)
    assert "recorded: nothing was measured here" in found._repr_html_()


def test_the_archive_in_pandas() -> None:
    """Held against the records: every run, timing and finding once, joined by references that name the run."""
    found = ncu_assist.archive(project=Path(__file__).parents[2])
    assert len(found) == len(found.runs) == found.runs["reference"].nunique()
    assert found._repr_html_().count("<tr") == 1 + found.runs["kernel"].nunique()
    some = found.stored[:: len(found) // 5]
    by_name = {one.reference: one for one in found.stored}
    for stored in some:
        row = found.runs.set_index("reference").loc[stored.reference]
        assert (row["kernel"], row["gpu"], row["launches"]) == (
            stored.run.kernel,
            stored.run.gpu,
            len(stored.run.launches),
        )
        own = found.timings[found.timings["reference"] == stored.reference].set_index("workload")["median_ns"]
        assert own.to_dict() == {
            t.workload: t.median_ns for t in (stored.run.bench.timings if stored.run.bench else ())
        }
        said = found.findings.query("reference == @stored.reference and whole and rank == 0")
        judged = stored.findings()
        if judged is None:
            assert len(said) == len({one.workload for one in stored.run.launches})
            continue
        first = [one.findings[0].rule for one in judged.judged if one.whole]
        assert said["rule"].tolist() == first
    kept = found.findings.groupby("reference")["judged"].first()
    assert kept.eq("stored").equals(kept.index.to_series().map(lambda one: FINDINGS in by_name[one].run.files))
    assert found.timings.query("default").groupby("kernel")["workload"].nunique().eq(1).all()
    assert found.timings.query("kernel == 'softmax' and default")["workload"].unique().tolist() == ["c4k"]
    versions = found.timings[["version", "number", "gpu"]].drop_duplicates("version")
    assert versions["number"].eq(versions["version"].str.extract(r"v(\d+)")[0].astype(int)).all()
    assert set(found.timings["gpu"]) == set(found.runs["gpu"])
    lines = found.runs.set_index("reference")["has_lines"]
    assert lines.loc[[one.reference for one in found.stored if not one.run.launches]].eq(False).all()
    assert {str(found.timings[name].dtype) for name in ("flops", "samples")} == {"Int64"}
    timed = next(one for one in some if one.run.bench)
    taken = found.samples[found.samples["reference"] == timed.reference]
    assert taken["time_ns"].tolist() == timed.samples()["time_ns"].tolist()
    assert len(found.samples) == sum(len(one.samples()) for one in found.stored)
    own = found.samples.query("kind == 'kernel' and not late").groupby(["reference", "workload"])["time_ns"].median()
    assert own.sort_index().equals(
        found.timings.set_index(["reference", "workload"])["median_ns"].sort_index().rename("time_ns")
    )
    told = found.samples.groupby("reference")[["is_peer", "gpu"]].first()
    assert found.timings.groupby("reference")["is_peer"].first().equals(told["is_peer"])
    assert told["gpu"].to_dict() == {one.reference: one.run.gpu for one in found.stored if one.run.timings}
    of_softmax = told[told.index.str.startswith("softmax/")]
    rows = ncu_assist.history("softmax", project=Path(__file__).parents[2]).versions
    peers = set(rows[rows["is_peer"]]["version"])
    assert peers
    assert set(of_softmax[of_softmax["is_peer"]].index.str.extract(r"/(.*)@", expand=False)) == peers
    assert set(found.samples["kind"]) == {"kernel", "copy", "empty", "link"}
    assert found.samples.query("kind == 'kernel'").groupby("reference")["version"].nunique().eq(1).all()


def test_findings_by_the_rules_of_today_are_those_of_show() -> None:
    root = Path(__file__).parents[2]
    stored = [one for one in ncu_assist.archive(project=root).stored if one.run.kernel == "fast_h2d"]
    found = ArchiveFrames(stored, root / "reports").findings_now.query("whole and rank == 0")
    assert found["judged"].unique().tolist() == ["now"]
    assert found["rules"].unique().tolist() == [rules_code()]
    for row in found.query("workload == 't256k'").head(3).itertuples():
        said = ncu_assist.show(row.reference, project=root).diagnosis
        assert said.startswith(f"{row.rule}, up to {row.estimated_speedup:.3g}x:")


def test_the_history_in_pandas() -> None:
    found = ncu_assist.history("softmax", project=Path(__file__).parents[2])
    rows, said = found.versions.set_index(["version", "workload"]), found.to_dict()
    cells = [(row["version"], cell) for row in said["rows"] for cell in row["cells"] if cell["median_ns"]]
    assert len(cells) == len(rows) > 40
    for version, cell in cells:
        row = rows.loc[(version, cell["workload"])]
        for name in ("low", "high", "floor_ns"):
            assert row[name] == cell[name] or (pd.isna(row[name]) and cell[name] is None), name
        assert row["floor_bound"] == cell["floor_bound"]
    assert rows.loc[("v9_async_statistics", "c4k"), "finding"] == "at-dram-roofline"
    assert pd.isna(rows.loc[("v9_async_statistics", "small"), "finding"]), "it was not profiled there"


def test_a_history_says_of_which_gpu_it_is() -> None:
    root, name = Path(__file__).parents[2], "NVIDIA H100 80GB HBM3"
    newest, there = (ncu_assist.history("gemm_bias_gelu", gpu=gpu, project=root) for gpu in (None, "H100"))
    assert newest.versions["gpu"].unique().tolist() == ["NVIDIA H200"]
    assert there.versions["gpu"].unique().tolist() == [name]
    assert name in repr(there)
    box = newest._repr_html_()
    assert "gemm_bias_gelu on square8k, NVIDIA H200" in box
    assert box.index("Also on") < box.index(name)
    timed = ncu_assist.archive(project=root).timings.query("kernel == 'gemm_bias_gelu' and gpu == @name and default")
    own = there.versions.query("workload == 'square8k'").set_index("version")["median_ns"]
    assert own.to_dict() == timed.set_index("version")["median_ns"].to_dict()


def test_what_was_promised_and_what_came() -> None:
    found = ncu_assist.history("lightning_decode", project=Path(__file__).parents[2])
    steps = found.steps.set_index(["version", "fault", "rule"])
    row = steps.loc[("v6_coalesced_store", "gone", "uncoalesced-global-store")]
    assert (row["before"], row["workload"], row["judged"]) == ("v5_shared_padded", "b64_d96", "now")
    versions = found.versions.query("workload == 'b64_d96'").set_index("version")
    assert row["achieved"] == versions.loc["v6_coalesced_store", "speedup"]
    assert row["estimated_speedup"] == pytest.approx(row["achieved"], rel=0.2)
    gone = steps.xs("gone", level="fault")
    together = gone[gone.groupby("version")["low"].transform("size") > 1]
    largest = together.groupby("version")["estimated_speedup"].max()
    assert len(together)
    assert largest.equals(together.groupby("version")["low"].first().rename("estimated_speedup"))
    assert (together["high"].fillna(np.inf) > together["low"]).all()
    assert steps.xs("new", level="fault")["low"].isna().all()


def test_the_archive_is_read_with_pandas_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the documentation, as it stands there."""
    root = Path(__file__).parents[2]
    text = (root / "docs" / "reference" / "archive.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(root)
    found: dict[str, Any] = {}
    exec(example, found)
    run = ncu_assist.show("softmax/v9_async_statistics", project=root)
    assert found["median_ns"]["c4k"] == pytest.approx(run.stored.run.timing("c4k").median_ns)
    assert found["wide"]["dram__bytes_read.sum"].tolist() == run.metrics["dram__bytes_read.sum"].tolist()


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_moved_module_says_where_it_is(old: str, new: str) -> None:
    assert importlib.util.find_spec(f"{PACKAGE}{new}")
    with pytest.raises(ModuleNotFoundError, match=f"is now {PACKAGE}{new}"):
        importlib.import_module(f"{PACKAGE}{old}")


def test_an_archive_without_runs(tmp_path: Path) -> None:
    found = ncu_assist.archive(project=tmp_path)
    assert "0 runs" in found._repr_html_()
    tables = (found, found.runs, found.timings, found.samples, found.findings)
    assert [len(table) for table in tables] == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ncu_assist.bench(None), "not None"),
        (lambda: ncu_assist.profile(42), "not 42"),
        (lambda: ncu_assist.profile("lightning_decode", "v77", project=ROOT), "no version 'v77'"),
        (lambda: ncu_assist.show(None), "None is no reference"),
        (lambda: ncu_assist.trend("lightning_decode/v7", metrics="dram", project=ROOT), "no metric is called 'dram'"),
        (lambda: ncu_assist.history("lightning_decode", project=ROOT).plot("roofline"), "one kind of plot"),
    ],
)
def test_what_is_given_wrongly_is_said_in_its_own_words(call: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageProblem, match=re.escape(said)):
        call()


def test_one_metric_needs_no_list_and_is_a_column() -> None:
    """Beside what the page has of each run: commit, driver, clock, source."""
    found = ncu_assist.trend("lightning_decode/v7", metrics="dram_bytes", project=ROOT)
    runs = found.runs
    assert runs["dram_bytes"].notna().any()
    as_json = [one for series in found.to_dict()["series"] for one in series["runs"]]
    for column in ("version", "source_sha256", "source", "sm_clock_mhz"):
        assert runs[column].tolist() == [one[column] for one in as_json]
    assert runs["driver"].tolist() == [one["device"]["driver"] for one in as_json]
    assert {"commit", "dirty"} <= set(runs)
    assert "differences" in found.changes
    by_commit = ncu_assist.trend("lightning_decode", by="commit", project=ROOT).runs
    assert set(by_commit["series"]) == {"best of each commit"}
    assert {"commit", "dirty"} <= set(ncu_assist.archive(project=ROOT).runs)


def test_an_explanation_is_one_output_of_a_notebook_and_no_quoted_string(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *_: said.append("shown by itself"))
    found = ncu_assist.explain("dram_bytes")
    found._repr_pretty_(type("Printer", (), {"text": staticmethod(said.append)}), False)
    assert said == [found]
    assert found.startswith("dram_bytes")
