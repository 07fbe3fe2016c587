"""A report file in the place of a run: the same numbers as its archived run, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from ncu.rewriting import interrupt, with_launch

from ncu_assist import process
from ncu_assist.analysis.launches import narrowed
from ncu_assist.errors import DamagedData
from ncu_assist.launch_selection import selection_of
from ncu_assist.ncu import report as reports
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.report import read_report
from ncu_assist.pipeline import opened_reports
from ncu_assist.pipeline.importing import RunNames, import_report
from ncu_assist.pipeline.opened_reports import BareReport, bare_reports
from ncu_assist.pipeline.pages.run import run_page, run_record
from ncu_assist.pipeline.reading import side_lines
from ncu_assist.pipeline.showing import gather, look_closer
from ncu_assist.project import Project

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
LIBRARY = DATA / "library_full_h200_2025.3.1.ncu-rep.zst"
REPORTS = [
    DATA / name
    for name in (
        "transpose_full_h200_2025.3.1.ncu-rep.zst",
        "transpose_full_h200_2025.3.1.raw.csv.zst",
        "graph_basic_h200_2025.3.1.ncu-rep.zst",
        "range_h200_2025.3.1.ncu-rep.zst",
    )
]


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name)
def test_its_numbers_are_those_of_the_archived_run(path: Path, tmp_path: Path) -> None:
    (bare,) = bare_reports([path.name], [path], None)
    archived = import_report(Project(tmp_path), path, RunNames("imported", "it"))
    tables = [{number: dict(table) for number, table in run.by_launch().items()} for run in (bare, archived)]
    assert tables[0] == tables[1]
    assert bare.keeps_report == archived.keeps_report
    assert bare.run.notes == archived.run.notes[: len(bare.run.notes)]


def test_it_knows_which_sections_of_ncu_it_holds() -> None:
    (basic,) = bare_reports(["basic"], [DATA / "transpose_basic_h200_2025.3.1.ncu-rep.zst"], None)
    assert basic.run.sections == ("LaunchStats", "Occupancy", "SpeedOfLight", "WorkloadDistribution")


def test_two_are_read_in_their_order(tmp_path: Path) -> None:
    found = bare_reports(["a", "b"], REPORTS[::2], "mine")
    assert [(one.reference, one.run.kernel, len(one.run.launches)) for one in found] == [
        ("a", "mine", 3),
        ("b", "mine", len(read_report(REPORTS[2]).records)),
    ]


def test_one_that_cannot_be_read_ends_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.ncu-rep"
    bad.write_bytes(b"NVR\0 and then nothing")
    run = process.run

    def slow(argv: list[str], **options: object) -> process.Completed:
        return run(["sleep", "infinity"] if REPORTS[0].name in argv else argv, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(process, "run", slow)
    with pytest.raises(DamagedData, match="bad"):
        bare_reports(["bad", "good"], [bad, REPORTS[0]], None)


def test_a_damaged_one_is_to_be_got_again_by_whoever_was_sent_it(tmp_path: Path) -> None:
    bad = tmp_path / "bad.ncu-rep"
    bad.write_bytes(b"NVR\0 and then nothing")
    with pytest.raises(DamagedData) as told:
        bare_reports(["bad"], [bad], None)
    assert told.value.hint == "get the file again, or profile again"


def interrupted(folder: Path, *ended: int) -> BareReport:
    """Return a report of three launches during some of which the program ended."""
    data = read_plain(DATA / "transpose_basic_h200_2025.3.1.ncu-rep.zst")
    for number in ended:
        data = with_launch(data, number, interrupt(data))
    path = folder / "ended.ncu-rep"
    path.write_bytes(data)
    return bare_reports(["ended"], [path], None)[0]


@pytest.mark.parametrize("ended", [(2,), (0, 1, 2)])
def test_a_page_has_no_part_for_a_launch_that_was_interrupted(tmp_path: Path, ended: tuple[int, ...]) -> None:
    stored = interrupted(tmp_path, *ended)
    parts = {one.shown.combined.launches[0].index for one in run_record(stored).alone}
    assert parts == {0, 1, 2} - set(ended)
    assert run_page(stored, linked=False).count("interrupted") >= len(ended)


def test_a_page_of_one_interrupted_launch_has_neither_sizes_nor_a_rule(tmp_path: Path) -> None:
    stored = interrupted(tmp_path, 2)
    page = run_page(narrowed(stored, selection_of("2")), linked=False)
    assert "0x0x0" not in page
    assert "sizes not recorded" in page
    assert ">unexplained<" not in page
    assert page.count(">interrupted<") >= 2  # what to do, and the diagnosis


@pytest.mark.parametrize(
    ("ended", "said"),
    [((0, 1, 2), "the program ended while its kernel was profiled"), ((2,), "nothing was sampled by line")],
)
def test_nobody_is_told_to_sample_launches_that_were_interrupted(
    tmp_path: Path, ended: tuple[int, ...], said: str
) -> None:
    """A public report of `--set full`, cut by the end of its program: *profile samples them, as --set full does*."""
    stored = interrupted(tmp_path, *ended)
    assert side_lines(stored, {0, 1, 2}, read={0, 1, 2}).note.startswith(said)


def test_what_is_needed_later_is_imported_while_the_child_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(opened_reports, "import_module", imported.append)
    assert len(bare_reports([REPORTS[2].name], [REPORTS[2]], None, meanwhile=("pandas",))) == 1
    assert imported == ["pandas"]


def readings(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return the list of which launches' code was read, each time it was."""
    found: list[list[int]] = []
    real = reports.read_source
    monkeypatch.setattr(
        reports, "read_source", lambda path, wanted, **more: found.append(sorted(wanted)) or real(path, wanted, **more)
    )
    return found


def test_code_is_read_once_for_lines_and_for_how_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, looked, built = bare_reports(["it"] * 3, [LIBRARY] * 3, None)
    read = readings(monkeypatch)
    gather(built)
    assert read  # of kernels that may be built without optimisation
    read.clear()
    gather(shown, lines=True)
    look_closer(looked, None)
    gather(looked)
    assert len(read) == 2
