"""Source lines of two runs, read from their reports: the right ones on the recorded ladder, and a note where none."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ladder import WORKLOAD, launches, line_of, step
from recorded_family import ROOT

import ncu_assist
from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.diff.lines import LineChange, LineChanges, explaining_change
from ncu_assist.errors import DamagedData
from ncu_assist.ncu import line_sums
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.ncu.report import Report
from ncu_assist.pipeline import reading
from ncu_assist.pipeline.opened_reports import BareReport, Stopped, bare_reports, together
from ncu_assist.pipeline.reading import compare, read_line_changes, side_lines
from ncu_assist.pipeline.showing import look_closer
from ncu_assist.project import Project
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.store import Store, StoredRun

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"


def changed(before: int, after: int, workload: str = WORKLOAD) -> LineChanges:
    both = launches(before, workload), launches(after, workload)
    return read_line_changes((step(before), step(after)), both)


def places(change: LineChange) -> tuple[int | None, int | None]:
    lines = [side.line if side else None for side in (change.baseline, change.candidate)]
    return lines[0], lines[1]


def millions(line: LineCost | None, what: str) -> float:
    assert line is not None
    return round(getattr(line, f"{what}_excessive") / 1e6, 1)


def test_padding_took_the_bank_conflicts_of_one_store() -> None:
    found = changed(4, 5)
    first = found.changes[0]
    assert places(first) == (line_of(4, "tile[tid * D + col] = value"), line_of(5, "tile[tid * (D + 1) + col] = value"))
    assert (millions(first.baseline, "wavefronts"), millions(first.candidate, "wavefronts")) == (36.6, 0.0)
    assert first.kind == "kept"
    loads, store = line_of(5, "const float value = decay * s["), line_of(5, "new_s[tid * D + col] = value;")
    assert [one.line for one in found.left[:2]] == [loads, store]
    assert [millions(one, "sectors") for one in found.left[:2]] == [33.0, 33.0]


def test_the_strided_store_is_gone_and_the_strided_load_is_left() -> None:
    found = changed(5, 6)
    first, second = found.changes[:2]
    assert (first.kind, places(first)) == ("vanished", (line_of(5, "new_s[tid * D + col] = value;"), None))
    assert millions(first.baseline, "sectors") == 33.0
    load = "const float value = decay * s["
    assert (second.kind, places(second)) == ("kept", (line_of(5, load), line_of(6, load)))
    assert second.delta_ns < -200_000
    assert (found.left[0].line, millions(found.left[0], "sectors")) == (line_of(6, load), 33.0)
    assert found.left[0].stall == "long_scoreboard"


def test_the_strided_load_is_gone_and_little_waste_is_left() -> None:
    found = changed(6, 7)
    first = found.changes[0]
    assert (first.kind, places(first)) == ("vanished", (line_of(6, "const float value = decay * s["), None))
    assert millions(first.baseline, "sectors") == 33.0
    assert not any(one.is_wasteful for one in found.left)
    assert all(one.file.endswith(".cu") for one in found.left)


def test_the_other_way_round_it_appeared() -> None:
    first = changed(7, 6).changes[0]
    assert (first.kind, places(first)) == ("appeared", (None, line_of(6, "const float value = decay * s[")))
    assert first.direction == 1


def test_conflicts_that_came_are_named_though_no_time_was_lost() -> None:
    first = changed(3, 4).changes[0]
    assert (first.kind, places(first)) == ("appeared", (None, line_of(4, "tile[tid * D + col] = value")))


def test_a_kernel_in_another_language_shares_no_lines() -> None:
    found = changed(2, 7)
    assert found.changes[0].baseline is not None
    assert found.changes[0].baseline.file.endswith("/standard.py")  # where Triton's sum is written
    assert millions(found.changes[0].baseline, "wavefronts") == 8.1
    assert {one.kind for one in found.changes} == {"vanished", "appeared"}


def test_the_time_of_the_lines_is_that_of_the_launches() -> None:
    lines = side_lines(step(6), launches(6))
    assert sum(line.ns for line in lines.lines) == pytest.approx(lines.duration_ns, rel=0.01)
    assert sum(line.share for line in lines.lines) == pytest.approx(1, abs=0.01)
    assert lines.own is not None
    assert lines.own.endswith("v6_coalesced_store.cu")
    assert "__global__" in lines.texts[lines.own]


def test_two_runs_of_one_code_have_no_changed_lines() -> None:
    """All launches of two programs of the same kernels, which differ in how often they launch some."""
    before, after = bare(*(f"repeats{again}_full_h200_2025.3.1.ncu-rep.zst" for again in ("", "_again")))
    assert compared(before, after).changes == ()


def compared(before: StoredRun, after: StoredRun) -> LineChanges:
    """Return the changed lines as a diff has them."""
    diff = diff_runs(before, after)
    indices = diff.baseline.indices, diff.candidate.indices
    return read_line_changes((before, after), indices, [one.pair for one in diff.launches])


def with_times(run: BareReport, *times_ns: float) -> BareReport:
    """Return the run as if its launches had taken so long."""
    launches = tuple(replace(one, duration_ns=ns) for one, ns in zip(run.run.launches, times_ns, strict=True))
    report = copy.copy(run.report)
    vars(report)["records"] = tuple(
        replace(one, duration_ns=ns) for one, ns in zip(run.report.records, times_ns, strict=True)
    )
    return replace(run, run=replace(run.run, launches=launches), report=report)


def test_a_launch_that_is_among_the_longest_of_one_side_is_read_on_both() -> None:
    """Two runs of one binary, whose shorter launches differ by 2 %: each is the second longest once."""
    before, after = bare(*["transpose_full_h200_2025.3.1.ncu-rep.zst"] * 2)
    found = compared(with_times(before, 100e3, 10.2e3, 10.0e3), with_times(after, 100e3, 10.0e3, 10.2e3))
    assert found.changes == ()
    assert found.notes == ("", "")


def test_no_more_launches_are_read_than_anyone_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_LAUNCHES", 1)
    before, after = bare(*["transpose_full_h200_2025.3.1.ncu-rep.zst"] * 2)
    found = compared(with_times(before, 30e3, 29e3, 1e3), with_times(after, 29e3, 30e3, 1e3))
    assert found.changes == ()
    assert found.notes == ("only those of the 1 longest of 3 launches",) * 2


def test_shares_on_run_and_diff_pages_have_one_meaning() -> None:
    """A share is of the time: launches of few long-lived warps count as much as others that take as long."""
    (run, _) = bare(*["transpose_full_h200_2025.3.1.ncu-rep.zst"] * 2)
    lines = {one.place: one for one in side_lines(run, [0, 1, 2], read=[0, 1, 2]).lines}
    spots = look_closer(run, None, rules=False).spots
    assert spots is not None
    assert spots.lines
    time_ns = sum(one.duration_ns or 0.0 for one in run.report.records)
    for spot in spots.lines:
        line = lines[spot.file, spot.line]
        assert spot.share == pytest.approx(line.share)
        assert spot.share == pytest.approx(line.ns / time_ns)


def bare(*names: str) -> tuple[BareReport, BareReport]:
    paths = [DATA / name for name in names]
    before, after = bare_reports([path.name for path in paths], paths, None)
    return before, after


def test_bare_reports_have_lines() -> None:
    before, after = bare(*["transpose_full_h200_2025.3.1.ncu-rep.zst"] * 2)
    found = read_line_changes((before, after), ([0], [1]))
    first = found.changes[0]
    assert (first.kind, first.baseline and first.baseline.line) == ("stopped", 14)
    assert first.text == "  out[x * N + y] = in[y * N + x];"
    assert millions(first.baseline, "sectors") == 0.9


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("transpose_full_h200_2025.3.1.raw.csv.zst", "a printed page holds no source lines"),
        ("transpose_basic_h200_2025.3.1.ncu-rep.zst", "nothing was sampled by line"),
        ("torch_full_h200_2025.3.1.ncu-rep.zst", "the code has no line numbers"),
    ],
)
def test_a_report_without_lines_says_why(name: str, reason: str) -> None:
    before, after = bare("transpose_full_h200_2025.3.1.ncu-rep.zst", name)
    found = read_line_changes((before, after), ([0], [0]))
    assert (found.changes, found.left, found.notes[0]) == ((), (), "")
    assert reason in found.notes[1]
    back = read_line_changes((after, before), ([0], [0]))
    assert (back.changes, bool(back.left), reason in back.notes[0]) == ((), True, True)


def test_a_launch_too_short_for_a_sample_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """ncu says how often it sampled; a public report of 3.9 µs has no sample all the same."""
    stored, _ = bare(*["transpose_basic_h200_2025.3.1.ncu-rep.zst"] * 2)
    number = line_sums.Launches.number
    monkeypatch.setattr(
        line_sums.Launches,
        "number",
        lambda self, launch, name: 32.0 if name == line_sums.INTERVAL else number(self, launch, name),
    )
    assert side_lines(stored, {0}, read={0}).note == line_sums.TOO_SHORT


def test_a_recorded_run_keeps_the_lines_of_one_workload() -> None:
    assert changed(6, 7, "b1_d96").notes == ("kept for b64_d96, not for b1_d96: --workload b64_d96",) * 2


def test_the_workload_to_look_at_is_one_that_both_runs_have() -> None:
    runs = tuple(Store(ROOT / "reports").runs("rope", version)[0] for version in ("v3_liger", "v4_flashinfer"))
    numbers = [[one.index for one in stored.run.launches if one.workload == "decode_bf16"] for stored in runs]
    found = read_line_changes((runs[0], runs[1]), (numbers[0], numbers[1]))
    assert found.notes[0] == "kept for s8k_f32, not for decode_bf16"  # s8k_f32 is for v3 alone


def test_a_run_that_knows_no_workloads_has_no_command_for_them() -> None:
    stored = step(6)
    unnamed = tuple(replace(one, workload=None) for one in stored.run.launches if one.workload == WORKLOAD)
    run = StoredRun(replace(stored.run, launches=unnamed), stored.folder)
    assert side_lines(run, [-1]).note == "the report holds no launch of those compared"


def test_most_of_the_time_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eleven launches the short ones are not read; code without line numbers is told of."""
    asked: list[Sequence[int]] = []
    real = Report.source
    monkeypatch.setattr(StoredRun, "code", lambda self: None)
    monkeypatch.setattr(Report, "source", lambda self, some: asked.append(some) or real(self, some))
    lines = side_lines(step(1), launches(1))
    assert len(asked[0]) < len(launches(1))
    assert "code without line numbers" in lines.note


def test_what_was_not_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncu_assist.ncu.line_sums.MOST_LAUNCHES", 1)
    (report, _) = bare(*["transpose_full_h200_2025.3.1.ncu-rep.zst"] * 2)
    assert side_lines(report, [0, 1, 2]).note == "only those of the 1 longest of 3 launches"


def copied(number: int, folder: Path) -> StoredRun:
    stored = step(number)
    target = folder / Path(*stored.folder.parts[-3:])
    shutil.copytree(stored.folder, target)
    return StoredRun(stored.run, target)


def test_a_report_that_was_changed_is_told_and_not_read(tmp_path: Path) -> None:
    broken = copied(6, tmp_path)
    path = broken.folder / "report.ncu-rep.zst"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedData):
        side_lines(broken, launches(6))
    found = read_line_changes((step(7), broken), (launches(7), launches(6)))
    assert found.changes == ()
    assert found.notes[1].startswith("the source lines cannot be read: ")
    assert "was changed after it was written" in found.notes[1]


def test_a_run_without_a_report_has_no_lines(tmp_path: Path) -> None:
    stored = step(6)
    files = {name: fact for name, fact in stored.run.files.items() if not name.startswith("report")}
    without = StoredRun(replace(stored.run, files=files), stored.folder)
    assert side_lines(without, launches(6)).note == reading.NO_REPORT


def test_the_report_of_a_large_program_is_not_read_for_a_diff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_IN_REPORT", 3)
    monkeypatch.setattr(reading, "archived_report", lambda *_, **__: pytest.fail("it was read"))
    assert side_lines(step(6), launches(6)).note.endswith(f"ncu-assist show --lines {step(6).reference}")


@pytest.mark.parametrize("first", [True, False])
def test_what_fails_on_one_side_ends_the_other(first: bool) -> None:
    """It is raised at once, not after the two minutes that a reader may take."""
    told: list[bool] = []

    def waits(stopped: Stopped) -> None:
        while not stopped():
            pass
        told.append(True)

    def fails(stopped: Stopped) -> None:
        raise DamagedData("cut")

    with pytest.raises(DamagedData, match="cut"):
        together([fails, waits] if first else [waits, fails])
    assert told == [True]


def test_of_flash_attention_v12_the_barrier_is_gone_and_its_waits_moved() -> None:
    project, two = Project(ROOT), ("flash_attention/v11", "flash_attention/v12")
    diff = compare(project, two, None, DiffOptions(lines=True))
    assert diff.lines
    told = explaining_change(diff.lines)
    assert told
    assert told.baseline
    assert (told.kind, told.baseline.line, told.baseline.stall) == ("vanished", 84, "barrier")
    waits = [one for one in diff.lines.changes if (one.text or "").strip() == "await_products<0>();"]
    assert [one.kind for one in waits] == ["moved", "moved"]
    assert len(diff.lines.changes) > 20
    frame = ncu_assist.diff(*two, project=ROOT).lines
    assert len(frame) == len(diff.lines.changes)
    assert frame["baseline_ns"].sum() == pytest.approx(
        sum(one.baseline.ns for one in diff.lines.changes if one.baseline)
    )
    assert [one["kind"] for one in diff_json(diff)["lines"]] == list(frame["kind"])
    lines = diff_text(diff, Style(), with_lines=True).split("time of a line")[0].split("\n\n")[-1]
    assert "vanished: v11.cu:82  `__syncthreads();" in lines  # whose warps are sampled at :84
