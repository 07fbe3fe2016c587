"""``ncu-assist diff``."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from commandline import Run, damaged_newest, plain_report
from factories import launch, make_run, metrics_frame, save_run
from recorded_family import copy_family

from ncu_assist.store import Store

DATA = Path(__file__).parent.parent / "data"
KEYS = {
    "schema",
    "baseline",
    "candidate",
    "verdict",
    "likely",
    "reason",
    "speedup",
    "source",
    "bottleneck",
    "launches",
    "flags",
    "lines",
}
LAUNCH_KEYS = {"kernel", "pairing", "baseline_ns", "candidate_ns", "verdict", "likely", "reason", "changes"}
CHANGE_KEYS = {"metric", "label", "unit", "baseline", "candidate", "delta", "verdict", "role"}
MUST_SHOW = ("Memory Throughput", "Sector efficiency, global loads", "Bank conflicts", "Registers", "DRAM bytes")


@pytest.mark.parametrize(
    ("baseline", "candidate", "words", "cycles"),
    [("v2", "v3", "slower than v2", "more"), ("v3", "v7", "faster than v3", "fewer")],
)
def test_the_verdict_comes_first(
    run: Run, recorded: Path, baseline: str, candidate: str, words: str, cycles: str
) -> None:
    answer = run("diff", baseline, candidate)
    assert answer.code == 0
    first = answer.out.splitlines()[0]
    assert first.startswith(f"{candidate} is ")
    assert words in first
    assert "(99 %: " in first
    assert first.endswith(f"x {cycles} cycles)")
    assert all(metric in answer.out for metric in MUST_SHOW)
    assert max(map(len, answer.out.splitlines())) <= 80


def test_the_json_that_others_read(run: Run, recorded: Path) -> None:
    answer = run("diff", "v5", "v6", "--json").json
    assert answer["schema"] == "ncu-assist.diff/1"
    assert set(answer) >= KEYS
    assert (answer["verdict"], answer["source"], answer["likely"]) == ("faster", "recorded", None)
    assert answer["speedup"] == pytest.approx(2.8, rel=0.1)
    assert set(answer["bottleneck"]) == {"baseline", "candidate"}
    launch = answer["launches"][0]
    assert set(launch) >= LAUNCH_KEYS
    assert all(set(change) >= CHANGE_KEYS for change in launch["changes"])
    assert all(isinstance(launch[key], float | int) for key in ("baseline_ns", "candidate_ns"))
    assert "(" not in launch["kernel"]
    conflicts = next(c for c in launch["changes"] if c["metric"] == "shared_wavefronts_excessive")
    assert conflicts["verdict"] in ("unchanged", "improved", "regressed", "changed")


def test_another_workload(run: Run, recorded: Path) -> None:
    assert run("diff", "v2", "v7", "--workload", "b16_d128", "--json").json["workload"] == "b16_d128"
    answer = run("diff", "v2", "v7", "--workload", "b16")
    assert answer.code == 2
    assert " was measured on workload 'b16'; did you mean" in answer.err


@pytest.mark.slow
def test_without_names_the_last_against_the_baseline(run: Run, recorded: Path) -> None:
    answer = run("diff", "--json").json
    assert answer["baseline"]["version"] == "v0_torch_eager"
    assert answer["candidate"]["version"] != "v0_torch_eager"


def test_bare_reports_give_no_hard_verdict(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_report(tmp_path, "a.ncu-rep")
    plain_report(tmp_path, "b.ncu-rep")
    monkeypatch.chdir(tmp_path)
    answer = run("diff", "a.ncu-rep", "b.ncu-rep", "--json")
    assert answer.code == 0
    assert (answer.json["verdict"], answer.json["source"]) == ("unclear", "imported")


@pytest.mark.parametrize("pair", [("v2", "v99"), ("v99", "v2"), ("v2", "nothere.ncu-rep")])
def test_a_side_that_is_not_there(run: Run, recorded: Path, pair: tuple[str, str]) -> None:
    answer = run("diff", *pair)
    assert (answer.code, answer.out) == (2, "")


def test_a_changed_source_has_no_verdict(run: Run, recorded: Path) -> None:
    path = recorded / "kernels" / "lightning_decode" / "v3_global_memory.cu"
    path.write_text(path.read_text() + "\nint more;\n")
    answer = run("diff", "v2", "v3")
    assert (answer.code, answer.out) == (2, "")
    assert "has changed since it was measured" in answer.err


@pytest.mark.slow
def test_identical_binaries_are_neither_better_nor_worse(run: Run) -> None:
    """One program twice; the second time it launched two kernels less."""
    paths = [str(DATA / f"repeats_{name}h200_2025.3.1.ncu-rep.zst") for name in ("full_", "again_full_")]
    answer = run("diff", *paths, "--json").json
    assert [len(side) for side in answer["unpaired"].values()] == [0, 0]  # they repeat what is in a pair
    assert sum(len(one["baseline"]) for one in answer["launches"]) == 27
    assert {one["verdict"] for one in answer["launches"]} == {"unclear"}
    assert {one["likely"] for one in answer["launches"]} == {None}
    assert [answer[side]["compared_launches"] for side in ("baseline", "candidate")] == [25, 25]
    assert {change["verdict"] for change in answer["changes"]} == {"unchanged"}
    assert answer["flags"] == []
    assert "metric (25 of 27 launches → 25)" in run("diff", *paths).out


def test_the_command_for_a_change_that_the_whole_hides_compares_it_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that the shell would read, and one that only one side has."""
    monkeypatch.chdir(tmp_path)
    for version, kernel, ns in (("v1_old", "gemm_$naive", 1e5), ("v2_new", "gemm_native", 2e5)):
        launches = tuple(
            launch(place, name, None, ranges=(), duration_ns=time)
            for place, (name, time) in enumerate(((kernel, ns), ("reference", 9e6)))
        )
        made = make_run(kernel="mine", version=version, source="imported", workloads=(), launches=launches)
        save_run(Store(tmp_path / "reports"), made, metrics_frame({}, {}))
    out = " ".join(run("diff", "mine/v1", "mine/v2").out.splitlines())
    said, _, command = out[out.index("gemm_") : out.index(" why:")].partition(": ncu-assist ")
    assert said == "gemm_$naive → gemm_native alone is likely 2.00x slower (100 µs → 200 µs)"
    answer = run(*shlex.split(command), "--json").json
    assert (answer["likely"], answer["speedup"]) == ("slower", pytest.approx(0.5))
    assert [one["kernel"] for one in answer["launches"]] == ["gemm_native"]


def test_reports_of_other_programs_are_not_compared(run: Run) -> None:
    paths = [str(DATA / f"{name}_full_h200_2025.3.1.ncu-rep.zst") for name in ("library", "triton")]
    answer = run("diff", *paths, "--json").json
    assert (answer["verdict"], answer["reason"], answer["likely"]) == ("not-comparable", "no-common-launch", None)
    assert answer["launches"] == answer["changes"] == answer["flags"] == []
    assert [len(side) for side in answer["unpaired"].values()] == [4, 2]


def test_an_export_against_its_report(run: Run) -> None:
    paths = [str(DATA / f"transpose_full_h200_2025.3.1.{suffix}.zst") for suffix in ("raw.csv", "ncu-rep")]
    answer = run("diff", *paths, "--json").json
    assert {change["verdict"] for change in answer["changes"]} == {"unchanged"}
    assert "rounded" in answer["baseline"]["notes"][0]
    assert "values" in {difference["what"] for difference in answer["differences"]}


def test_bare_reports_have_no_workload(run: Run) -> None:
    path = str(DATA / "triton_full_h200_2025.3.1.ncu-rep.zst")
    answers = run("diff", path, path, "--workload", "foo"), run("show", path, "--workload", "foo")
    for answer in answers:
        assert (answer.code, answer.out) == (2, "")
        assert "no workloads, so there is no 'foo'" in answer.err


@pytest.mark.slow
def test_reports_of_one_name_are_told_apart_by_their_paths(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("r1", "r2"):
        (tmp_path / folder).mkdir()
        plain_report(tmp_path / folder, "kernel.ncu-rep")
    monkeypatch.chdir(tmp_path)
    names = ("r1/kernel.ncu-rep", "r2/kernel.ncu-rep")
    answer = run("diff", *names)
    assert answer.out.startswith("r2/kernel.ncu-rep against r1/kernel.ncu-rep")
    assert "unverified" in answer.out
    assert "imported/" not in answer.out
    sides = run("diff", *names, "--json").json
    assert [sides[side]["reference"] for side in ("baseline", "candidate")] == list(names)
    assert {sides[side]["run_id"] for side in ("baseline", "candidate")} == {None}


def test_one_report_alone(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    answer = run("diff", "mine.ncu-rep")
    assert (answer.code, answer.out) == (2, "")
    assert "diff needs two reports or runs" in answer.err
    assert "try: ncu-assist diff mine.ncu-rep OTHER.ncu-rep" in answer.err


def test_why_is_said_in_at_most_five_lines_before_the_table(run: Run, recorded: Path) -> None:
    lines = run("diff", "v4", "v5").out.splitlines()
    table = next(i for i, line in enumerate(lines) if line.startswith("metric "))
    compared = next(i for i, line in enumerate(lines) if line.startswith("lightning_decode · recorded"))
    noted = next(i for i, line in enumerate(lines) if line.startswith("time under ncu is of one launch"))
    assert compared < noted < table
    told = [line for line in lines[compared + 1 : noted] if line]
    assert len(told) <= 5
    assert any(line.startswith("less excess: v4.cu:45") and "36.6 M excess wavefronts" in line for line in told)
    assert any(line.startswith("hottest: v5.cu:39") for line in told)


@pytest.mark.parametrize(
    ("pair", "gone", "left"),
    [
        (("v4", "v5"), ("v4_shared_memory.cu", 45, "wavefronts_excessive"), 39),
        (("v5", "v6"), ("v5_shared_padded.cu", 41, "sectors_excessive"), 42),
        (("v6", "v7"), ("v6_coalesced_store.cu", 42, "sectors_excessive"), 38),
    ],
)
def test_the_lines_of_the_ladder(
    run: Run, recorded: Path, pair: tuple[str, str], gone: tuple[str, int, str], left: int
) -> None:
    answer = run("diff", *pair, "--json").json
    first = answer["lines"][0]["baseline"]
    assert (first["file"].rpartition("/")[2], first["line"]) == gone[:2]
    assert first[gone[2]] > 1e7
    assert answer["lines_left"][0]["line"] == left
    product = answer["why"]["products"][0]
    gains = [factor["gain"] for factor in product["factors"]]
    whole = 1.0
    for gain in gains:
        whole *= gain
    assert whole == pytest.approx(answer["why"]["time_ratio"], rel=1e-6)


@pytest.mark.slow
def test_every_metric_is_shown_when_asked(run: Run, recorded: Path) -> None:
    few, every = (run("diff", "v6", "v7", *more, "--json").json["changes"] for more in ((), ("--all",)))
    assert len(few) < 30
    assert len(every) > 1500
    shown, names = ({change["metric"] for change in changes} for changes in (few, every))
    assert shown <= names
    assert "smsp__cycles_active.sum" in names - shown  # by ncu's name: the catalogue has only its mean
    lines = run("diff", "v6", "v7", "--all").out.splitlines()
    assert sum(" → " in line for line in lines) > 1500
    table = lines[: lines.index("ncu's other metrics, v6 → v7")]
    assert max(map(len, table)) <= 80
    assert any(line.startswith("smsp__cycles_active.sum ") for line in lines)
    flags = run("diff", "v7", "v3", "--json").json["flags"]
    assert run("diff", "v7", "v3", "--all", "--json").json["flags"] == flags


@pytest.mark.slow
def test_the_reason_is_spelled_out_when_asked(run: Run, recorded: Path) -> None:
    assert "interval-beyond" not in run("diff", "v6", "v7").out
    told = run("diff", "v6", "v7", "--explain").out
    assert "why: the 99 % interval of the paired ratios lies beyond 0.5 % [interval-beyond]" in told


def test_markdown_and_json_exclude_each_other(run: Run, recorded: Path) -> None:
    answer = run("diff", "v6", "v7", "--json", "--format", "markdown")
    assert (answer.code, answer.out) == (2, "")
    assert "--json and --format markdown exclude each other" in answer.err
    assert run("diff", "v6", "v7", "--format", "markdown").out.startswith("🟢 **v7 is ")


@pytest.mark.slow
def test_a_forced_comparison_says_so(run: Run, recorded: Path, tmp_path: Path) -> None:
    report = str(DATA / "library_full_h200_2025.3.1.ncu-rep.zst")
    plain = run("diff", "v7", report, "--json").json
    assert (plain["verdict"], plain["forced"]) == ("not-comparable", None)
    answer = run("diff", "v7", report, "--force", "--json").json
    assert answer["verdict"] == "unclear"
    assert answer["forced"] == plain["reason"]
    assert "(forced)" in run("diff", "v7", report, "--force").out.replace("\n", " ")


@pytest.mark.slow
def test_a_page_to_a_file_and_again(run: Run, recorded: Path) -> None:
    path = recorded / "page.html"
    for words in (("--output", "page.html"), ("--format", "html", "-o", "page.html")):
        answer = run("diff", "v5", "v6", *words)
        assert (answer.code, answer.out) == (0, "page.html\n")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "v6 is 2.76x faster than v5 on b64_d96" in text


@pytest.mark.slow
@pytest.mark.parametrize("to", [(), ("-o", "-")])
def test_a_page_to_stdout(run: Run, recorded: Path, to: tuple[str, ...]) -> None:
    answer = run("diff", "v5", "v6", "--format", "html", *to)
    assert answer.code == 0
    assert not (recorded / "-").exists()
    assert answer.out.startswith("<!doctype html>")
    assert answer.out.rstrip().endswith("</html>")


@pytest.mark.slow
def test_a_page_replaces_nothing_but_pages(run: Run, recorded: Path) -> None:
    (recorded / "mine.html").write_text("<!doctype html>my notes")
    answer = run("diff", "v5", "v6", "--output", "mine.html")
    assert answer.code == 2
    assert "not a page of ncu-assist" in answer.err
    assert (recorded / "mine.html").read_text() == "<!doctype html>my notes"
    assert "--force" in answer.err
    assert run("diff", "v5", "v6", "--output", "mine.html", "--force").code == 0
    assert "my notes" not in (recorded / "mine.html").read_text()


def test_what_output_is_for(run: Run, recorded: Path) -> None:
    for words, why in (
        (("--output", "x.txt"), "--output is for a page or Markdown"),
        (("--json", "--output", "x.html"), "--output is for a page"),
        (("--json", "--format", "html"), "exclude each other"),
        (("--output", "nowhere/x.html"), "does not exist"),
    ):
        answer = run("diff", "v5", "v6", *words)
        assert answer.code == 2
        assert why in answer.err


def test_markdown_goes_into_a_file_that_is_called_so(run: Run, recorded: Path) -> None:
    answer = run("diff", "v5", "v6", "-o", "pr.md")
    assert (answer.code, answer.out) == (0, "pr.md\n")
    assert (recorded / "pr.md").read_text() == run("diff", "v5", "v6", "--format", "markdown").out
    again = run("diff", "v5", "v6", "-o", "pr.md")
    assert (again.code, "already exists" in again.err) == (2, True)
    assert run("diff", "v5", "v6", "-o", "pr.md", "--force").code == 0
    assert run("trend", "lightning_decode", "-o", "trend.md").code == 0
    assert (recorded / "trend.md").read_text().startswith("###")


@pytest.mark.slow
def test_the_kernel_that_bare_versions_were_taken_of_is_named(run: Run, recorded: Path) -> None:
    assert "profiled last" not in run("diff", "v4", "v5").err
    copy_family(recorded, "add_relu")
    noted = run("diff", "v4", "v5").err
    assert "of the kernel profiled last" in noted
    assert noted.count("note: ") == 1
    assert "profiled last" in run("show", "v5").err
    assert "profiled last" not in run("show", "add_relu/v5").err + run("show", "v5", "--kernel", "add_relu").err
    for words in (("lightning_decode/v4", "v5"), ("v4", "lightning_decode/v5")):
        answer = run("diff", *words, "--json")
        assert [answer.json[side]["kernel"] for side in ("baseline", "candidate")] == ["lightning_decode"] * 2
        assert "profiled last" not in answer.err
    kernel = run("diff", "v4", "v5", "--json").json["candidate"]["kernel"]
    for words in ((), ("--format", "markdown")):
        named = next(line for line in run("diff", "v4", "v5", *words).out.splitlines() if "NVIDIA H200" in line)
        assert named.replace("\\", "").startswith(f"{kernel} · ")


@pytest.mark.parametrize("words", [(), ("--json",), ("--format", "html", "-o", "diff.html")])
def test_a_damaged_run_that_best_passes_over_is_named(run: Run, family: Path, words: tuple[str, ...]) -> None:
    assert "left out" not in run("diff", "v5", "softmax/@best", "--json").err
    place = damaged_newest(family, "v7_lanes_a_row")
    answer = run("diff", "v5", "softmax/@best", *words)
    assert (answer.code, answer.err.count(f"left out: {place}: ")) == (0, 1)
    assert "left out" not in run("diff", "v5", "softmax/v6", *words, *(("--force",) if "html" in words else ())).err


def test_a_metric_beside_those_always_looked_at(run: Run, recorded: Path) -> None:
    own, ncu = "bytes_in_flight", "sm__cycles_elapsed.max"
    answer = run("diff", "v6", "v7", "--metric", own, "--metric", ncu, "--json")
    changes = [one["metric"] for one in answer.json["launches"][0]["changes"]]
    assert changes[-2:] == [own, ncu]
    assert len(changes) == 2 + len(run("diff", "v6", "v7", "--json").json["launches"][0]["changes"])
    assert run("diff", "v6", "v7", "--metric", "duration").out.count("\nDuration ") == 1


def test_a_metric_that_neither_side_has(run: Run, recorded: Path) -> None:
    answer = run("diff", "v6", "v7", "--metric", "bytes_in_fligt")
    assert answer.code == 2
    assert "neither side has a metric called 'bytes_in_fligt'; did you mean 'bytes_in_flight'?" in answer.err
