"""What a stranger meets who imports reports into an empty folder: no kernel folder, no baseline, nothing timed."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
from datetime import datetime, tzinfo
from pathlib import Path

import pytest
from commandline import DATA, SMALL_REPORT, Run
from factories import launch, make_run, save_run

from ncu_assist.analysis.ladder import KernelListing, VersionOutcome
from ncu_assist.pipeline.importing import RunNames, import_report
from ncu_assist.project import Project
from ncu_assist.render.terminal.archive import list_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.store import Store

OTHER_REPORT = DATA / "graph_basic_h200_2025.3.1.ncu-rep.zst"
LONG = "a_file_name_as_long_as_people_have_them"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of four imports: v0 of kernels four and one, then two versions of kernel two."""
    root = tmp_path_factory.mktemp("imports")
    names = (RunNames("four", "v0"), RunNames("one", "v0"), RunNames("two", "naive"), RunNames("two", LONG))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ncu_assist.pipeline.importing.datetime", _Clock)
        for path, name in zip((SMALL_REPORT, SMALL_REPORT, OTHER_REPORT, SMALL_REPORT), names, strict=True):
            import_report(Project(root), path, name)
    return root


class _Clock:
    """A clock that is a minute later each time it is asked: runs of one second would have no order."""

    asked = itertools.count()

    @classmethod
    def now(cls, zone: tzinfo) -> datetime:
        return datetime(2026, 1, 1, 12, next(cls.asked), tzinfo=zone)


@pytest.fixture
def archive(imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the archive, the current folder."""
    shutil.copytree(imported / "reports", tmp_path / "reports")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two_kernels(archive: Path) -> Path:
    """The archive with one import of each of two kernels."""
    for name in ("four", "two/naive"):
        shutil.rmtree(archive / "reports" / name)
    return archive


@pytest.mark.slow
@pytest.mark.parametrize("words", [["show"], ["show", "@last"], ["history"], ["export", "--metrics", "duration"]])
def test_without_a_kernel_the_last_import_is_meant(run: Run, two_kernels: Path, words: list[str]) -> None:
    answer = run(*words)
    assert answer.code == 0, answer.err
    assert "error" not in answer.err
    assert run("show", "--json").json["kernel"] == "two"


def test_list_keeps_the_names_whole_in_80_columns(run: Run, archive: Path) -> None:
    lines = run("list").out.splitlines()
    assert max(map(len, lines)) <= 80
    words = [word for line in lines for word in line.split()]
    assert {"v0", "naive", LONG} <= set(words)
    assert " ".join(words).count("NVIDIA H200, unverified") == 4, "where each comes from is told to its end"


def test_list_keeps_names_of_any_length_whole(imported: Path) -> None:
    stored = Store(imported / "reports").runs("one")[0]
    for length in range(1, 79):
        name = "n" * length
        text = list_text([KernelListing("k", "", (), None, (VersionOutcome(name, stored),))], Style(80))
        assert max(map(len, text.splitlines())) <= 80
        assert name in text.split()
        assert " ".join(text.split()).endswith("imported 2026-01-01, measured on NVIDIA H200, unverified")


def test_a_diff_alone_compares_the_last_two_runs(run: Run, archive: Path) -> None:
    answer = run("diff", "--json")
    assert answer.code == 0, answer.err
    sides = answer.json["baseline"], answer.json["candidate"]
    assert [(side["kernel"], side["version"]) for side in sides] == [("two", "naive"), ("two", LONG)]
    assert "two has neither a baseline nor a v0: these are its last two runs" in answer.err


def test_a_diff_alone_with_one_import_names_both_that_there_are(run: Run, two_kernels: Path) -> None:
    answer = run("diff")
    assert (answer.code, answer.out) == (2, "")
    references = {stored.reference for stored in Store(two_kernels / "reports").runs()}
    assert len(references) == 2
    assert all(reference in answer.err for reference in references)
    assert run(*_tried(answer.err)).code == 0


def test_a_baseline_that_is_set_goes_before_the_last_but_one(run: Run, archive: Path) -> None:
    run("baseline", "set", f"two/{LONG}")
    answer = run("diff", "--json")
    assert answer.json["baseline"]["version"] == LONG
    assert answer.err == ""


def test_candidates_are_told_apart_by_their_kernels(run: Run, archive: Path) -> None:
    near, far = run("show", "v1"), run("show", "zzzzzz")
    assert "known: four/v0, one/v0, two/" in near.err  # a number is near no other
    assert "known: four/v0, one/v0, two/" in far.err
    ambiguous = run("show", "v0")
    assert "four/v0, one/v0; name the kernel too" in ambiguous.err
    for answer in (near, ambiguous):
        assert answer.code == 2
        assert run(*_tried(answer.err)).code == 0


def test_the_names_of_a_kernel_stand_there_once(run: Run, archive: Path) -> None:
    answer = run("show", "one/zzzzzz")
    assert answer.code == 2
    assert "known: v0\n" in answer.err


def test_the_name_of_a_kernel_is_its_last_run_where_nothing_was_timed(run: Run, archive: Path) -> None:
    assert run("show", "one", "--json").json["version"] == "v0"
    assert run("show", "two", "--json").json["version"] == LONG
    assert run("diff", "one", "two").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--lines"],
        ["show", "two/naive", "--workload", "all"],
        ["show", "@best"],
        ["show", "two/@best"],
        ["show", "two/zz"],
        ["show", "two@2"],
        ["show", "nothing.ncu-rep"],
        ["diff", "one", "two"],
        ["diff", "two/naive", "one/v0", "--workload", "w"],
        ["diff", "two/naive@1", "one"],
        ["diff", "one", "one"],
        ["history"],
        ["history", "two", "--workload", "w"],
        ["export", "two/naiv"],
        ["baseline", "show"],
        ["baseline", "show", "two"],
        ["report", "tow"],
        ["gate", "two"],
        ["suggest", "--dry-run"],
        ["trend", "two"],
        ["bench", "one"],
        ["check", "one"],
        ["profile", "one"],
        ["explain", "duratoin"],
    ],
)
def test_a_command_to_try_can_be_run_here(run: Run, archive: Path, words: list[str]) -> None:
    answer = run(*words)
    assert answer.code in (0, 2, 4), answer.err
    for tried in re.findall(r"(?:try|more): (.*)", answer.out + answer.err):
        assert not tried.startswith(("known", "there are none", "did you mean")), "candidates are no command"
        if not tried.startswith("ncu-assist"):
            assert "ncu-assist" not in tried, tried
            continue
        asked = shlex.split(tried)[1:]
        assert asked[0] not in ("bench", "check", "profile"), "there is no kernel folder to measure"
        assert run(*asked).code == 0, tried


def test_a_kernel_that_has_only_runs_is_not_said_to_be_unknown(run: Run, archive: Path) -> None:
    for command in ("profile", "bench", "check"):
        answer = run(command, "two")
        assert answer.code == 2
        assert "two has runs, but no folder kernels/two that says how to build and measure it" in answer.err
    assert "  try: ncu-assist history two\n" in run("trend", "two").err


def test_a_folder_is_told_as_what_it_is(run: Run, archive: Path) -> None:
    """Tab completes folders."""
    (archive / "empty").mkdir()
    (archive / "kernels" / "two").mkdir(parents=True)
    assert "error: empty/ is a folder without reports\n" in run("show", "empty/").err
    for folder in ("kernels/two", "kernels/two/", "reports/two"):
        answer = run("report", folder)
        assert answer.code == 2
        assert f"error: '{folder}' is the folder of a kernel; did you mean 'two'?" in answer.err
        assert "  try: ncu-assist report two\n" in answer.err
    for folder, held in (("reports", "the archive"), ("kernels/", "the folder of all kernels")):
        assert f"'{folder}' is {held}; name a kernel, a version or a run in it" in run("show", folder).err


def test_a_path_below_the_archive_leads_to_what_lies_there(run: Run, archive: Path) -> None:
    version = archive / "reports" / "two" / LONG
    (own,) = version.iterdir()
    meant = f"two/{version.name}"
    for typed, said, tried in (
        (meant, f"'reports/{meant}' is the folder of a version; did you mean '{meant}'?", meant),
        (f"{meant}/{own.name}", f"is the folder of a run; did you mean '{meant}@{own.name}'?", f"{meant}@{own.name}"),
        (f"{meant}/{own.name[:9]}", "is not a reference; did you mean", f"{meant}@{own.name}"),
        (f"{meant}/nosuchrun", f"{meant} has no run 'nosuchrun'; known: {own.name}", f"{meant}@{own.name}"),
        (f"{meant[:-1]}", f"there is no 'reports/{meant[:-1]}'; did you mean '{meant}'?", meant),
        (f"twoo/{version.name}", f"there is no 'reports/twoo/{version.name}'; did you mean '{meant}'?", meant),
        ("two/v77", "two has no version 'v77'; known: ", ""),
    ):
        answer = run("show", f"reports/{typed}")
        assert (answer.code, answer.out) == (2, "")
        assert said in answer.err
        assert not tried or f"  try: ncu-assist show {tried}\n" in answer.err


@pytest.mark.slow
def test_no_hint_of_a_diff_benches_what_nothing_here_can_bench(run: Run, archive: Path) -> None:
    for more in ([], ["--json"], ["--format", "markdown"]):
        answer = run("diff", "one/v0", f"two/{LONG}", *more)
        assert answer.code == 0
        assert "ncu-assist bench" not in answer.out
        assert "20 launches of the kernel" in " ".join(answer.out.split()), "its owner can settle it"


def _tried(text: str) -> list[str]:
    return shlex.split(text.partition("try: ncu-assist ")[2].splitlines()[0])


@pytest.mark.parametrize(("sides", "code"), [((None, None), 0), (("a" * 64, None), 0), (("a" * 64, "b" * 64), 2)])
def test_two_programs_of_different_names_are_compared_and_versions_of_two_kernels_are_not(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sides: tuple[str | None, str | None], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, source_sha256, hour in zip(("histogram", "histogram2"), sides, ("07", "08"), strict=True):
        facts = {"workloads": (), "checks": (), "created": f"2026-11-21T{hour}:45:00Z", "source_sha256": source_sha256}
        launched = (launch(0, "count", None, ranges=()),)  # type: ignore[arg-type]
        save_run(Store(Path("reports")), make_run(kernel=name, version="v1", launches=launched, **facts))
    assert run("diff", "histogram/v1", "histogram2/v1").code == code
    alone = run("diff")
    assert alone.code == 2
    assert "histogram2 has one run" in alone.err
    if code == 0:
        assert run(*shlex.split(alone.err.splitlines()[-1].partition("ncu-assist ")[2])).code == 0
    else:
        assert "histogram/v1" not in alone.err
