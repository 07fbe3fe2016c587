"""``--launch`` and ``--filter`` on show, diff, export and report: the same words, the same errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import Run, plain_report

from ncu_assist.render.words.verdicts import OF_PARTS

NAME = "mine.ncu-rep"


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    plain_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    return NAME


COMMANDS = (
    ("show", NAME),
    ("diff", NAME, NAME),
    ("export", NAME),
    ("report", NAME, "-o", "page.html"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one[0])
def test_every_command_says_the_same_of_what_is_not_there(run: Run, report: str, command: tuple[str, ...]) -> None:
    for asked, said in (
        (("--launch", "7"), "there is no launch 7: launches are numbered 0 to 2; the nearest is 2"),
        (("--launch", "first"), "--launch takes a number or a range such as 0-4, and not 'first'"),
        (("--filter", "transpose_naiv"), "did you mean 'transpose_naive'?"),
        (("--filter", "regex:("), "'(' is no regular expression: missing ), unterminated subpattern at letter 1"),
        (("--filter", "nvtx:epoch"), "is in an NVTX range that matches 'epoch'; there are ncu-assist/v0_naive|w0 (1)"),
    ):
        answer = run(*command, *asked)
        assert answer.code == 2
        assert said in " ".join(answer.err.split())
    assert not Path("page.html").exists()


def test_show_is_of_the_launches_that_are_asked_for(run: Run, report: str) -> None:
    shown = run("show", report, "--filter", "transpose_naive", "--json").json
    assert [one["index"] for one in shown["launches"]] == [0, 2]
    assert (shown["launches_profiled"], shown["focus"]) == (3, 0)
    text = run("show", report, "--launch", "1").out
    assert "\n1 of the 3 launches of this report\n" in text
    assert "Diagnosis: shared-bank-conflict" in text
    assert "transpose_naive" not in text
    ranged = run("show", report, "--filter", "nvtx:ncu-assist/v0_naive|w1/", "--json").json
    assert [one["index"] for one in ranged["launches"]] == [2]


def test_a_diff_is_of_the_launches_that_are_asked_for(run: Run, report: str) -> None:
    whole, one = (run("diff", report, report, *some, "--json").json for some in ((), ("--launch", "1")))
    assert (whole["baseline"]["launches"], one["baseline"]["launches"]) == (3, 1)
    kernels = {launch["kernel"] for launch in one["launches"]}
    assert kernels <= {"transpose_shared"}


def test_two_launches_of_one_report_are_compared(run: Run, report: str) -> None:
    """--launch twice is one side each; of a report that is named once both are of it."""
    alone, named = (
        run("diff", *names, "--launch", "0", "--launch", "2", "--json").json for names in ([report], [report] * 2)
    )
    assert alone == named
    assert (alone["baseline"]["launches"], alone["candidate"]["launches"]) == (1, 1)
    text = run("diff", report, "--launch", "0", "--launch", "2").out
    assert text.startswith("launch 2 (")
    assert "against launch 0 (" in text.partition("\n\n")[0].replace("\n", " ")
    refused = run("diff", report, "--launch", "0", "--launch", "1", "--launch", "2")
    assert refused.code == 2
    assert "a diff has two sides" in refused.err


def test_an_export_has_the_rows_of_the_launches_that_are_asked_for(run: Run, report: str) -> None:
    answer = run("export", report, "--launch", "1-2", "--metrics", "duration", "--json")
    assert [row["launch"] for row in json.loads(answer.out)["rows"]] == [1, 2]
    for table in ("metrics", "rules", "instances"):
        rows = json.loads(run("export", report, "--table", table, "--filter", "transpose_shared", "--json").out)["rows"]
        assert {row["launch"] for row in rows} == {1}
    refused = run("export", report, "--table", "session", "--launch", "1")
    assert refused.code == 2
    assert "the table session has no launches to choose from" in refused.err


@pytest.mark.slow
def test_a_page_is_of_the_launches_that_are_asked_for(run: Run, report: str) -> None:
    assert run("report", report, "--launch", "1", "-o", "one.html").code == 0
    text = Path("one.html").read_text()
    assert "transpose_shared(const float" in text
    assert "transpose_naive(const float" not in text


@pytest.mark.slow
def test_a_launch_of_a_recorded_call_has_no_floor_of_the_call(run: Run, recorded: Path) -> None:
    whole = run("show", "v0", "--workload", "b1_d96", "--json").json
    (one,) = [launch for launch in whole["launches"] if launch["workload"] == "b1_d96"][:1]
    alone = run("show", "v0", "--launch", str(one["index"]), "--json").json
    assert alone["launches"] == [one]
    assert (alone["workload"], alone["workloads"], alone["before"]) == ("b1_d96", [], None)
    assert one["floor"] is None or not one["floor"]["of_workload"]


@pytest.mark.slow
def test_launches_of_two_workloads_have_no_verdict_also_where_one_is_a_part_of_a_call(run: Run, recorded: Path) -> None:
    launches = {one: run("show", one, "--json").json["launches"] for one in ("v0", "v3")}
    chain = [one for one in launches["v0"] if one["workload"] == "b64_d96"][:1]
    other = run("show", "v3", "--workload", "b1_d96", "--json").json["launches"][:1]
    numbers = [str(one[0]["index"]) for one in (chain, other)]
    made = run("diff", "v0", "v3", "--launch", numbers[0], "--launch", numbers[1], "--json")
    assert made.json["reason"] == "other-workload"
    same = str(next(one["index"] for one in launches["v3"] if one["workload"] == "b64_d96"))
    made = run("diff", "v0", "v3", "--launch", numbers[0], "--launch", same, "--json")
    assert made.json["reason"] != "other-workload"


@pytest.mark.slow
def test_pages_of_several_runs_are_of_all_launches(run: Run, recorded: Path) -> None:
    assert "name a run or a report" in run("report", "lightning_decode", "--launch", "0").err
    assert "the page next to a run has all its launches" in run("report", "v7", "--launch", "0").err
    assert "--launch or --filter selects" in " ".join(run("show", "--help").out.split())


# Of softmax, a call of v0 is five launches, of v3 one; both were profiled on c4k, c64k and c256, and timed on all.
@pytest.mark.parametrize(
    ("asked", "message", "tried"),
    [
        (
            "v3 v4 --launch 0 --workload c64k",
            "v3_three_pass has launch 0 of c4k; of workload 'c64k' it has launch 1",
            "diff --kernel softmax v3 v4 --launch 1 --workload c64k",
        ),
        (
            "v0 v3 --launch 0 --workload c64k",
            "v0_torch_eager has launch 0 of c4k; of workload 'c64k' it has launch 5, 6, 7, 8, 9",
            "diff --kernel softmax v0 v3 --launch 5-9 --launch 1 --workload c64k",
        ),
        (
            "v0 v3 --launch 14",
            "v3: there is no launch 14: launches are numbered 0 to 2; the nearest is 2",
            "diff --kernel softmax v0 v3 --launch 14 --launch 2",
        ),
        (
            "v0 v3 --launch 99",
            "v0: there is no launch 99: launches are numbered 0 to 14; the nearest is 14",
            "diff --kernel softmax v0 v3 --launch 14 --launch 2",
        ),
        ("v0 v3 --launch 0 --workload small", "counters were taken on c4k, c64k, c256", ""),
        ("v0 v3 --launch 0 --workload nope", "'nope'; known: c256, c4k, c64k, odd, small", ""),
        ("v0 v3 --launch 0 --workload all", "a diff is of one workload", ""),
        ("v0 v3 --filter reduce_kernel", "v3: none of 3 launches is of a kernel that matches 'reduce_kernel'", ""),
    ],
)
def test_what_a_diff_cannot_choose(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, asked: str, message: str, tried: str
) -> None:
    """What is in the archive is never said to be not measured, and what is to be tried is of both sides."""
    monkeypatch.chdir(repository)
    answer = run("diff", "--kernel", "softmax", *asked.split())
    assert answer.code == 2
    assert message in answer.err
    if tried:
        assert answer.err.endswith(f"try: ncu-assist {tried}\n")
        assert run(*tried.split()).code == 0
    else:
        assert "not measured on workload 'small'" not in answer.err


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        (("5-9", "1"), ("v0", "v3")),
        (("0-9", "0-2"), ("v0", "v3")),  # of them those on the workload: whole calls
        (("5-8", "1"), ("v0 #5-8", "v3")),
        (("0-7", "1"), ("v0 #5-7", "v3")),
        (("6", "0-1"), ("v0 #6", "v3")),
    ],
)
def test_launches_of_a_workload_are_those_of_both_that_are_chosen(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, numbers: tuple[str, str], named: tuple[str, str]
) -> None:
    """Whole calls have the verdict of their bench; a part of one is called so, and has none of the version's times."""
    monkeypatch.chdir(repository)
    chosen = ("--launch", numbers[0], "--launch", numbers[1])
    typed = ("diff", "--kernel", "softmax", "v0", "v3", *chosen, "--workload", "c64k")
    found, whole = run(*typed, "--json").json, run("diff", "softmax/v0", "softmax/v3", "--workload", "c64k", "--json")
    text = run(*typed).out
    launches = {one["launch"] for each in found["launches"] for one in each["baseline"]}
    launches |= {one["launch"] for one in found["unpaired"]["baseline"]}
    assert launches <= {5, 6, 7, 8, 9}
    if named == ("v0", "v3"):
        assert [found[key] for key in ("summary", "speedup", "interval")] == [
            whole.json[key] for key in ("summary", "speedup", "interval")
        ]
        return
    assert (found["baseline"]["timing"], found["verdict"], found["next"]) == (None, "unclear", OF_PARTS)
    assert f"{named[1]} against {named[0]} on c64k: unclear" in text
    assert f"note: {named[0]}: launch" in text
