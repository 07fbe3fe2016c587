"""Own versions against libraries: the numbers are those of the bench records, on every workload of the archive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import make_run, samples_frame, times, timing

from ncu_assist.analysis.yardstick import OwnAgainstLibrary, least_against_libraries, own_against_library
from ncu_assist.pipeline.history import history
from ncu_assist.pipeline.listing import listing
from ncu_assist.pipeline.pages.index import archive_state
from ncu_assist.project import Project, find_project
from ncu_assist.record import Bench, Check
from ncu_assist.render.html.index import index_sections
from ncu_assist.render.html.ladder_chart import ladder_chart, small_charts
from ncu_assist.render.json.archive import list_json
from ncu_assist.render.json.history import history_json
from ncu_assist.render.table import RunLinks
from ncu_assist.render.words.floors import library_sentence, library_table, library_words
from ncu_assist.render.words.terms import against
from ncu_assist.render.words.verdicts import interval_words
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.verdict import Verdict, compare

ROOT = Path(__file__).parents[2]
KERNEL = "flash_attention"


def timed(median_ns: float, bench: str = "one", passed: bool = True) -> StoredRun:
    samples = samples_frame(times(median_ns, 1), bench_id=bench)
    made = timing(samples, bench_id=bench)
    run = make_run(
        bench=Bench(bench, "read", 100, None, None, (replace(made, median_ns=median_ns),)),
        checks=(Check("small", passed, "" if passed else "wrong", (0,), 0.0, 0.0),),
    )
    return StoredRun(run, Path("nowhere"))


def judge(library: StoredRun, own: StoredRun, workload: str) -> Verdict:
    """A verdict whose ratio is not that of the medians, as that of pairs is not."""
    before, after = (one.run.timing(workload) for one in (library, own))
    assert before
    assert after
    return verdict("faster", 1.02 * before.median_ns / after.median_ns)


def test_the_fastest_of_both_that_are_right() -> None:
    versions = [
        ("v0_eager", True, timed(9e4)),
        ("v1_cublas", True, timed(3e4)),
        ("v2_wrong", True, timed(1e4, passed=False)),
        ("v3_own", False, timed(2e4)),
        ("v4_slow", False, timed(5e4)),
        ("v5_wrong", False, timed(5e3, passed=False)),
        ("v6_absent", False, None),
    ]
    found = own_against_library(versions, "small", judge)
    assert found == OwnAgainstLibrary("small", "v3_own", 2e4, "v1_cublas", 3e4, verdict("faster", 1.53))
    assert found.ratio == 1.53
    assert library_sentence(found) == "own / library: v3_own 20 µs, v1_cublas 30 µs: ▲ 1.53x faster"
    assert own_against_library(versions, "other", judge) is None
    assert own_against_library(versions[:3], "small", judge) is None
    assert library_sentence(None) == ""


def test_times_of_two_benches_have_no_ratio() -> None:
    found = own_against_library([("v0", True, timed(2e4, "a")), ("v1", False, timed(1e4, "b"))], "small", judge)
    assert found == OwnAgainstLibrary("small", "v1", 1e4, "v0", 2e4, None)
    assert found.ratio is None
    assert library_sentence(found).endswith("not timed in one bench")
    assert library_table([found]).rows[0][1].text == "-"


def test_a_verdict_that_is_of_no_pairs_is_no_ratio() -> None:
    """As where the samples of a bench were not kept, and durations under ncu are all that is left."""
    versions = [("v0", True, timed(2e4)), ("v1", False, timed(1e4))]
    found = own_against_library(versions, "small", lambda *_: replace(verdict("unclear", 3.0), pairs=0))
    assert found is not None
    assert (found.verdict, found.ratio) == (None, None)


def test_one_version_alone_is_judged_where_it_does_worst() -> None:
    """It has a time in the library's bench on every workload; the fastest on one of them may be slow on the next."""

    def of(small: float, other: float, bench: str = "one") -> dict[str, StoredRun]:
        return {"small": timed(small, bench), "other": replace_workload(timed(other, bench), "other")}

    def speedup(library: StoredRun, own: StoredRun, workload: str) -> float | None:
        before, after = (one.run.timing(workload) for one in (library, own))
        return before.median_ns / after.median_ns if before and after and before.bench_id == after.bench_id else None

    library = of(2e4, 2e4)
    some = [("v3", of(1e4, 3e4)), ("v4", of(1.6e4, 1.25e4)), ("v5", of(1e3, 1e3, "two")), ("v6", {"small": timed(1e3)})]
    assert least_against_libraries(some, library, speedup) == ("v4", "small", 1.25)
    assert least_against_libraries(some[:1], library, speedup) == ("v3", "other", pytest.approx(2 / 3))
    assert least_against_libraries(some[2:], library, speedup) is None


def replace_workload(stored: StoredRun, name: str) -> StoredRun:
    bench = stored.run.bench
    assert bench
    timings = tuple(replace(one, workload=name) for one in bench.timings)
    return replace(stored, run=replace(stored.run, bench=replace(bench, timings=timings)))


def verdict(word: Any, speedup: float) -> Verdict:
    return Verdict(word, None, "interval-beyond", speedup, speedup - 0.01, speedup + 0.01, 100)


def test_it_is_said_on_how_many_workloads_own_versions_win() -> None:
    def every(verdicts: dict[str, Verdict]) -> list[OwnAgainstLibrary]:
        return [OwnAgainstLibrary(name, "v3", 1e4, "v1", 2e4, verdicts.get(name)) for name in ("a", "b", "c")]

    won = {"a": verdict("faster", 1.5), "b": verdict("faster", 1.25), "c": verdict("faster", 2.0)}
    said = "Own versions are faster than the fastest library on"
    assert library_words(every(won), ("v3_wide", "b", 1.25)) == (
        f"{said} 3 of 3 workloads, by 1.25x (b) to 2.00x (c); a library wins on none. One version alone, v3_wide, is "
        "faster on all of them: 1.25x faster on b at worst."
    )
    mixed = won | {"b": verdict("slower", 0.5), "c": verdict("same", 1.0)}
    assert library_words(every(mixed), ("v3_wide", "b", 0.5)) == (
        f"{said} 1 of 3 workloads, by 1.50x (a); a library wins on b (2.00x); the same, or undecided: c. No version "
        "alone is faster on all of them; v3_wide comes nearest: 2.00x slower on b at worst."
    )
    assert library_words(every({}), None) == (
        f"{said} none of 3 workloads; a library wins on none; the same, or undecided: a, b, c."
    )
    assert library_words(every(won)[:1], None) == ""


def recorded(kernel: str) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Yield whether each version of a kernel is a library's, and the record of its newest run."""
    for version in load_kernel(find_project(ROOT), kernel).versions:
        newest = sorted((ROOT / "reports" / kernel / version.name).glob("*/run.json"))[-1:]
        yield from ((version.is_peer, json.loads(path.read_text())) for path in newest)


def stored_run(project: Project, kernel: str, version: str) -> StoredRun:
    store = Store(project.reports)
    return store.opened(store.heads(kernel, version)[0])


@pytest.mark.parametrize("kernel", kernel_names(find_project(ROOT)))
def test_numbers_are_those_of_the_bench_records(kernel: str) -> None:
    project = find_project(ROOT)
    (listed,) = list_json(listing(project, kernel))["kernels"]
    runs = list(recorded(kernel))
    name = listed["default_workload"]
    medians: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
    for is_peer, run in runs:
        passed = all(check["passed"] for check in run["checks"] if check["workload"] == name)
        own = [one["median_ns"] for one in (run["bench"] or {"timings": []})["timings"] if one["workload"] == name]
        medians[is_peer] += [(own[0], run["version"])] if own and passed else []
    (library_ns, library), (own_ns, version) = min(medians[True]), min(medians[False])
    found = listed["against_library"]
    assert (found["own"], found["own_ns"], found["library"], found["library_ns"]) == (
        version,
        own_ns,
        library,
        library_ns,
    )
    sides = [stored_run(project, kernel, version), stored_run(project, kernel, library)]
    paired = compare(*(side.sampled().of(side.run.version, name) for side in reversed(sides)))
    assert (found["ratio"], found["verdict"], found["low"]) == (paired.speedup, paired.verdict, paired.low)
    assert found["ratio"] == pytest.approx(library_ns / own_ns, rel=0.01)


@pytest.mark.slow
def test_the_verdict_is_that_of_samples_of_one_bench() -> None:
    """On every workload: faster, slower, the same or unclear, and its interval, in the words of a step."""
    told = history(find_project(ROOT), "gemm_bias_gelu")
    stored = {(row.version, cell.workload): cell.stored for row in told.rows for cell in row.cells}
    table = {row[0].text: row[1] for row in library_table(told.against_library).rows}
    words = set()
    for one in told.against_library:
        library, own = (stored[version, one.workload] for version in (one.library, one.own))
        assert library
        assert own
        found = compare(*(side.sampled().of(side.run.version, one.workload) for side in (library, own)))
        assert one.verdict == found
        cell = table[one.workload]
        assert cell.badge is not None
        assert cell.badge.text == against(found)
        assert cell.note == f"99 %: {interval_words(found)}"
        words.add(found.verdict)
    assert words == {"faster", "slower", "unclear"}


def test_an_interval_is_of_the_ratio_that_is_said() -> None:
    slower = Verdict("slower", None, "interval-beyond", 0.5, 0.4, 0.5, 100)
    assert interval_words(slower) == "2.00 to 2.50"
    unclear = replace(slower, verdict="unclear", speedup=0.95, low=0.9, high=1.01)
    assert interval_words(unclear) == "0.990 to 1.111"
    assert interval_words(replace(unclear, speedup=1.05)) == "0.900 to 1.010"
    assert interval_words(replace(unclear, low=None)) == ""


@pytest.mark.slow
def test_libraries_are_lines_and_no_link_of_the_chain() -> None:
    told = history(find_project(ROOT), KERNEL)
    chart = ladder_chart(told, None)
    peers = {row.version for row in told.rows if row.is_peer}
    assert len(peers) == 3
    assert not peers & {row.name for row in chart.rows}
    lines = {mark.text.partition(" ")[0]: mark for mark in chart.marks if mark.look.startswith("peer")}
    assert set(lines) == peers
    for row in told.rows:
        if row.is_peer:
            ns = told.cell(row).time_ns
            assert ns is not None
            assert lines[row.version].x == chart.axis.at(ns)
    assert [mark.look for mark in chart.marks] == ["ceiling", "peer", "peer peer2", "peer peer3"]
    drawn = {row.version for row in told.rows} - peers
    steps = [row for row in told.rows if row.version in drawn and told.cell(row).before in drawn]
    assert chart.path.count("M") == len(steps)
    assert [small.library is not None for small in small_charts(told)] == [True] * 7
    found = history_json(told)["against_library"]
    assert [one["workload"] for one in found] == list(told.workloads)
    assert [bool(one["ratio"]) for one in found] == [True] * 7


@pytest.mark.slow
def test_names_and_dots_lead_to_the_pages() -> None:
    told = history(find_project(ROOT), KERNEL)
    stored = [told.cell(row).stored for row in told.rows]
    pages = frozenset(f"{one.run.version}/{one.run.run_id}/report.html" for one in stored if one)
    chart = ladder_chart(told, None, RunLinks(pages))
    assert {
        *(row.href for row in chart.rows),
        *(mark.href for mark in chart.marks if mark.look.startswith("peer")),
    } == pages
    assert all(row.href == "" for row in ladder_chart(told, None).rows)
    assert {band for band, _ in chart.bands} == {row.band for row in chart.rows}


@pytest.mark.slow
def test_the_index_has_a_curve_and_the_ratio_of_each_kernel() -> None:
    state = archive_state(find_project(ROOT))
    rows = {one.kernel: one for one in state.kernels}
    one = rows[KERNEL]
    assert [name.partition("_")[0] for name, _ in one.own_times] == [f"v{number}" for number in range(3, 20)]
    (kernels, _) = index_sections(state)
    table = kernels.model
    titles = [column.title for column in table.columns]
    (row,) = [row for row in table.rows if row[0].text == KERNEL]
    beside = one.against_library
    assert beside is not None
    cell = row[titles.index("own / library")]
    assert (cell.key, cell.note) == (repr(beside.ratio), "v18\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}v2")
    spark = row[titles.index("own versions")].spark
    assert spark is not None
    assert len(spark.points) == 17
    assert spark.line is not None
    assert spark.said.startswith("v3 1.20 ms to v19 763 µs")
    assert "dashes: v2_torch_cudnn 855 µs" in spark.said
