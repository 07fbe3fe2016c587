"""``ncu-assist show``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commandline import DATA, SMALL_REPORT, Run, change, files, plain_report
from factories import make_run, metrics_frame, save_run

import ncu_assist
from ncu_assist.pipeline.showing import gather
from ncu_assist.store import Store, machine_hash


def test_a_stored_run(run: Run, recorded: Path) -> None:
    answer = run("show", "v7")
    assert answer.code == 0
    assert answer.out.startswith("lightning_decode/v7_registers_128bit@")
    assert "recorded on NVIDIA H200" in answer.out
    assert "Sector efficiency, global stores" in answer.out
    assert "bound by DRAM" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_a_run_that_was_measured_into_this_archive_is_never_called_recorded(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither here later, nor where a container or a copy of the folder has another machine's id."""
    monkeypatch.chdir(tmp_path)
    for number, machine in ((0, machine_hash()), (1, "another")):
        named = {"version": f"v{number}_made", "run_id": f"20261121T07450{number}Z-aaaaaa"}
        save_run(Store(tmp_path / "reports"), make_run(**named, machine=machine), metrics_frame({}))
    shown = [run(*words.split()).out for words in ("show v0", "show v1", "list", "diff v0 v1 --kernel add_one")]
    assert all("measured on NVIDIA H200" in text and "recorded" not in text for text in shown)
    assert run("show", "v1", "--json").json["source"] == "live"


@pytest.mark.parametrize("reference", ["v7", "lightning_decode/v7", "v7_registers_128bit", "v7@2", "v7@last"])
def test_ways_to_name_a_run(run: Run, recorded: Path, reference: str) -> None:
    answer = run("show", reference, "--json").json
    assert answer["schema"] == "ncu-assist.show/1"
    assert (answer["version"], answer["source"]) == ("v7_registers_128bit", "recorded")
    assert answer["metrics"]["dram_throughput"]["value"] > 70
    assert len(answer["workloads"]) == 10


@pytest.mark.parametrize("reference", ["@last", "@best", "@baseline"])
def test_symbols(run: Run, recorded: Path, reference: str) -> None:
    answer = run("show", reference, "--kernel", "lightning_decode", "--json")
    assert answer.code == 0
    assert answer.json["kernel"] == "lightning_decode"
    if reference == "@baseline":
        assert answer.json["version"] == "v0_torch_eager"


def test_the_counters_of_another_workload(run: Run, recorded: Path) -> None:
    assert run("show", "v7", "--workload", "b256_d128", "--json").json["workload"] == "b256_d128"
    answer = run("show", "v7", "--workload", "b256_d127")
    assert answer.code == 2
    assert "did you mean 'b256_d128'?" in answer.err
    assert "one workload is shown at a time" in run("show", "v7", "--workload", "all").err


@pytest.mark.slow
def test_the_launches_of_every_workload_are_judged(run: Run, recorded: Path) -> None:
    shown = run("show", "v0", "--workload", "b1_d96", "--json").json
    own = [one for one in shown["launches"] if one["workload"] == "b1_d96"]
    assert len(own) == 10
    assert all(one["findings"] for one in shown["launches"])
    assert shown["launches_not_judged"] == 0
    assert "latency\n" not in run("show", "v0", "--workload", "b1_d96").out.partition("\nlaunch ")[2]


@pytest.mark.slow
def test_evidence_is_of_the_launches_that_the_message_is_of(run: Run, recorded: Path) -> None:
    shown = run("show", "v0", "--workload", "b1_d96", "--json").json
    underfill = next(one for one in shown["diagnosis"]["findings"] if one["rule"] == "grid-underfill")
    blocks = next(one["value"] for one in underfill["evidence"] if one["metric"] == "grid_size")
    assert underfill["message"].startswith(f"{blocks:.0f} blocks")
    grids = {one["index"]: one["grid"] for one in shown["launches"]}
    assert {grids[index][0] for index in underfill["launches"]} == {blocks}
    said = " ".join(run("show", "v0", "--workload", "b1_d96").out.split())
    assert "(in unrolled_elementwise_kernel, 3 of 10 launches" in said


@pytest.mark.slow
def test_kernels_that_no_workload_holds_together_are_ranked_by_time(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = " ".join(run("show", "mine.ncu-rep").out.split())
    assert "2 launches of transpose_naive take 82 % of the time; uncoalesced-global-store: let neighbouring" in text
    assert "Launch 0, transpose_naive, the most to win of 3 (--launch N: another) Speed of light unit" in text
    assert "Diagnosis: uncoalesced-global-store, estimated" in text
    answer = run("show", "mine.ncu-rep", "--json").json
    found, own = answer["diagnosis"], next(one for one in answer["launches"] if one["index"] == 0)
    assert (answer["focus"], found["kernel"], found["launches"]) == (0, "transpose_naive", [0])
    assert found["time_share"] == own["time_share"]
    assert found["findings"] == own["findings"]


def test_throughputs_alone_are_an_answer_that_says_what_to_collect(run: Run) -> None:
    report = DATA / "transpose_basic_h200_2025.3.1.ncu-rep.zst"
    text = " ".join(run("show", str(report)).out.split())
    assert "Diagnosis: l2-bound, estimated 1.47x, assumed try:" in text
    assert "L2 input is 79 % busy" in text
    assert "warning metric-missing: counters are missing of the sections" in text
    assert "Warp State Statistics" in text
    assert "collect `--section WarpStateStats " in text
    found = run("show", str(report), "--json").json["diagnosis"]
    assert found["lacks_counters"] is False
    assert "metric-missing" in [one["id"] for one in found["warnings"]]


def test_a_bare_report(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    answer = run("show", "mine.ncu-rep")
    assert answer.code == 0
    assert "NVIDIA H200" in answer.out
    assert "unverified" in answer.out
    assert files(tmp_path) == {"mine.ncu-rep"}
    assert run("show", str(SMALL_REPORT), "--json").json["source"] == "imported"


def test_a_bare_report_of_any_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_report(tmp_path, "my report (1).ncu-rep")
    monkeypatch.chdir(tmp_path)
    assert run("show", "my report (1).ncu-rep").code == 0


@pytest.mark.slow
def test_a_bare_report_is_called_by_its_path(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ö").mkdir()
    plain_report(tmp_path / "ö", "kernel ü.ncu-rep")
    monkeypatch.chdir(tmp_path)
    name = "ö/kernel ü.ncu-rep"
    answer = run("show", name)
    assert answer.out.splitlines()[0] == name
    assert "not archived, measured on NVIDIA H200, unverified" in answer.out
    assert answer.out.splitlines()[-1] == f"more: ncu-assist show --lines --ncu-rules '{name}'"
    shown = run("show", name, "--json").json
    assert (shown["reference"], shown["version"], shown["run_id"]) == (name, "kernel ü", None)
    assert shown == run("show", name, "--json").json, "nothing is invented anew"


@pytest.mark.slow
def test_a_bare_report_shows_what_the_imported_run_shows(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    bare, imported = (run(command, "mine.ncu-rep", "--json").json for command in ("show", "import"))
    assert {name for name in bare if bare[name] != imported[name]} == {"schema", "reference", "run_id", "created"}


@pytest.mark.slow
@pytest.mark.parametrize("archived", [True, False])
def test_hot_lines_and_findings(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archived: bool) -> None:
    plain_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    reference = run("import", "mine.ncu-rep", "--json").json["reference"] if archived else "mine.ncu-rep"
    answer = run("show", reference, "--lines", "--ncu-rules")
    assert answer.code == 0
    assert "stall (launch 0)\n" in answer.out
    assert " 34.1 %  transpose.cu:14, long scoreboard, 918 k excess sectors\n    out[x * N + y] =" in answer.out
    said = " ".join(answer.out.split())
    assert re.search(r"Shared Load Bank Conflicts \(\w+\): 78 % global, transpose_shared \(1 of 3 launches\)", said)
    assert "@url" not in answer.out
    assert "--lines" not in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    brief = run("show", reference, "--lines", "--brief").out
    assert " 34.1 %  transpose.cu:14, long scoreboard, 918 k excess sectors\n    out[x * N + y] =" in brief
    assert "more: --full (units, warp states, counters), --ncu-rules\n" in brief
    shown = run("show", reference, "--lines", "--ncu-rules", "--json").json
    assert [line["line"] for line in shown["hot_lines"]] == [15, 14, 20]
    assert sum(line["share"] for line in shown["hot_lines"]) == pytest.approx(0.824, abs=1e-3)
    by_type = [(one["speedup_type"], round(one["speedup_pct"] or 0)) for one in shown["nvidia_findings"]]
    assert by_type[:3] == [("global", 78), ("global", 71), ("global", 67)]
    assert by_type == sorted(by_type, key=lambda one: (one[0] != "global", -one[1]))
    plain = run("show", reference, "--json").json
    assert (plain["hot_lines"], plain["nvidia_findings"]) == (None, None)


@pytest.mark.slow
def test_the_lines_of_a_diagnosis(run: Run, recorded: Path) -> None:
    answer = run("show", "v5", "--lines")
    assert "  v5_shared_padded.cu:41  100 %  new_s[tid * D + col] = value;\n" in answer.out
    assert "ncu-assist explain uncoalesced-global-store" in answer.out
    also = answer.out.partition("also uncoalesced-global-load")[2].partition("\n  v5_shared_padded.cu:")[2]
    assert also[:2].isdigit(), "a further finding has its line as well"
    assert "v5_shared_padded.cu:41" not in run("show", "v5").out
    shown = run("show", "v5", "--lines", "--json").json
    (line,) = shown["diagnosis"]["findings"][0]["lines"]
    assert (Path(line["file"]).name, line["line"], line["share"]) == ("v5_shared_padded.cu", 41, 1.0)
    assert line["text"].strip() == "new_s[tid * D + col] = value;"
    own = [one["findings"][0]["lines"] for one in shown["launches"] if one["workload"] == "b64_d96"]
    assert own
    assert own == [[line]] * len(own)
    plain = run("show", "v5", "--json").json
    assert all(one["lines"] == [] for one in plain["diagnosis"]["findings"])


@pytest.mark.slow
def test_lines_of_a_recorded_run_are_of_the_workload_whose_report_it_keeps(run: Run, recorded: Path) -> None:
    answer = run("show", "v7", "--lines", "--ncu-rules")
    assert "26.1 %  v7_registers_128bit.cu:38, barrier" in answer.out
    assert re.search(r"Low Compression Rate \(\w+\): 30 % global", answer.out)
    other = run("show", "v7", "--lines", "--workload", "b256_d128")
    assert "note: the archived report has no launch of workload b256_d128" in " ".join(other.out.split())
    assert "Hottest" not in other.out
    assert run("show", "v7").out.splitlines()[-1] == "more: the same command with --lines and --ncu-rules"


@pytest.mark.slow
def test_lines_where_there_are_none(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "note: nothing was sampled by line" in run("show", str(SMALL_REPORT), "--lines").out
    torch = run("show", str(DATA / "torch_full_h200_2025.3.1.ncu-rep.zst"), "--lines", "--ncu-rules").out
    assert "note: the code has no line numbers: it is from a library, " in torch
    assert "-lineinfo" not in torch
    assert "Long Scoreboard Stalls" in torch
    export = DATA / "transpose_full_h200_2025.3.1.raw.csv.zst"
    assert "a printed page has no source lines" in run("show", str(export), "--lines").out
    assert "--lines" not in run("show", str(export)).out
    run("import", str(export), "--version", "table")
    assert "a printed page has no source lines" in run("show", "imported/table", "--lines").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["v77"], "there is no kernel or version 'v77'"),
        (["lightning_decod/v7"], "did you mean 'lightning_decode'?"),
        (["@lst"], "did you mean '@last'?"),
        (["v7@1999"], "has no run '1999'"),
        (["nothere.ncu-rep"], "there is no report nothere.ncu-rep"),
        (["../v7"], "there is no kernel '..'"),
        ([""], "'' is not a reference"),
        (["v7", "--kernel", "other"], "there is no kernel 'other'"),
    ],
)
def test_what_is_not_there(run: Run, recorded: Path, words: list[str], message: str) -> None:
    answer = run("show", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_nothing_measured_yet(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("show")
    assert answer.code == 2
    assert "nothing has been measured yet" in answer.err
    assert "try: ncu-assist profile KERNEL, or ncu-assist profile PROGRAM, or ncu-assist demo\n" in answer.err


@pytest.mark.parametrize("name", ["metrics.parquet", "run.json"])
def test_a_damaged_run(run: Run, recorded: Path, name: str) -> None:
    path = next(recorded.glob(f"reports/lightning_decode/v7_*/*/{name}"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    answer = run("show", "v7")
    assert (answer.code, answer.out) == (7, "")
    assert "lightning_decode/v7_registers_128bit" in answer.err
    assert "try: ncu-assist verify" in answer.err


@pytest.mark.parametrize("name", ["samples.parquet", "source/v6_row_in_registers.cu"])
@pytest.mark.parametrize("cut", [0, 1])
def test_a_damaged_parent_costs_the_comparison_with_it(run: Run, family: Path, name: str, cut: int) -> None:
    (family / "kernels" / "softmax" / "v6_row_in_registers.cu").unlink()  # else its comment is read there
    whole = run("show", "v7")
    assert "v7 against v6 on c4k: " in whole.out
    place = change(family, "v6", name, cut)
    answer = run("show", "v7")
    assert answer.code == 0
    assert f"left out: {place}: {name} " in answer.err
    assert "v7 against v5 on c4k: " in answer.out
    assert "31.3 µs" in answer.out


def test_a_damaged_library_costs_the_comparison_with_it(run: Run, family: Path) -> None:
    place, store = change(family, "v2"), Store(family / "reports")
    answer = run("show", "v7")
    assert (answer.code, answer.err.count(f"left out: {place}: samples.parquet was changed")) == (0, 1)
    assert "v7 against v6 on c4k: " in answer.out
    assert repr(ncu_assist.show("softmax/v7")).endswith(f"; damaged: {place.removeprefix('reports/')}>")
    library = gather(store.runs("softmax", "v7_lanes_a_row")[0], store=store).library
    assert library is not None
    assert library.version == "v1_torch_softmax"


@pytest.mark.parametrize("reference", ["v7", "v7@2026"])
def test_samples_of_the_run_itself_that_were_changed_are_damage(run: Run, family: Path, reference: str) -> None:
    change(family, "v7")
    answer = run("show", reference)
    assert (answer.code, answer.out) == (7, "")
    assert "softmax/v7_lanes_a_row@" in answer.err


def test_a_truncated_report(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = plain_report(tmp_path)
    path.write_bytes(path.read_bytes()[:1_000_000])
    monkeypatch.chdir(tmp_path)
    answer = run("show", path.name)
    assert (answer.code, answer.out) == (7, "")
    assert "damaged" in answer.err


@pytest.mark.slow
def test_a_kernels_name_is_its_best_run(run: Run, recorded: Path) -> None:
    best = run("show", "lightning_decode/@best", "--json").json
    shown = run("show", "lightning_decode", "--json").json
    assert shown["reference"] == best["reference"]
    assert run("show", "lightning_decode").out.startswith(best["reference"])


def test_a_name_that_is_nearly_a_kernels_gets_the_kernel(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None
) -> None:
    monkeypatch.chdir(repository)
    near = run("show", "lightning_decod")
    assert near.code == 2
    assert near.err.endswith("did you mean 'lightning_decode'?\n  try: ncu-assist show lightning_decode\n")
    far = run("show", "qqqqqqqq")
    assert "kernels: add_relu, elementwise_add, " in far.err
    assert far.err.endswith("\n  try: ncu-assist list\n")
    assert len(far.err) < 500, "a message is no screen of names"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gate v16", "gate flash_attention/v16"),
        ("export v17", "export flash_attention/v17"),
        ("show v17@last --lines", "show flash_attention/v17@last --lines"),
        ("baseline set v17", "baseline set flash_attention/v17"),
        ("diff v12 v13", "diff flash_attention/v12 v13"),  # other kernels have a v12, too, and no v13
    ],
)
def test_a_version_of_several_kernels_is_tried_again_with_the_same_command(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None, typed: str, meant: str
) -> None:
    monkeypatch.chdir(repository)
    answer = run(*typed.split())
    assert answer.code == 2
    assert "may mean several: flash_attention/" in answer.err
    assert answer.err.endswith(f"\n  try: ncu-assist {meant}\n")


def test_a_workload_of_other_launches_than_those_chosen(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None
) -> None:
    monkeypatch.chdir(repository)
    answer = run("show", "softmax/v3", "--launch", "0", "--workload", "c64k")
    assert "has launch 0 of c4k; of workload 'c64k' it has launch 1\n" in answer.err
    tried = answer.err.rpartition("try: ncu-assist ")[2].split()
    assert tried[2:] == ["--launch", "1", "--workload", "c64k"]
    assert run(*tried).code == 0


def test_two_launches_of_one_run_are_not_profiled_again(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None
) -> None:
    monkeypatch.chdir(repository)
    answer = run("diff", "softmax/v3", "--launch", "0", "--launch", "1")
    assert "the two worked on different data" in " ".join(answer.out.split())
    assert "try:" not in answer.out


def test_a_gate_in_the_folder_of_a_kernel_is_of_that_kernel(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None
) -> None:
    monkeypatch.chdir(repository / "kernels" / "rope")
    alone = run("gate", "--json")
    assert alone.json == run("gate", "rope", "--json").json
    monkeypatch.chdir(repository)
    assert "nothing to judge was named" in run("gate").err


class TestLinesForEditors:
    @pytest.mark.slow
    def test_each_line_is_what_the_documented_matcher_reads_and_its_file_is_there(
        self, run: Run, recorded: Path
    ) -> None:
        assert run("init", "--vscode", "--json").json["files"] == [".vscode/tasks.json"]
        tasks = json.loads((recorded / ".vscode" / "tasks.json").read_text())
        guide = (Path(__file__).parents[2] / "docs" / "guide" / "agents.md").read_text()
        assert tasks == json.loads(guide.partition("```json\n")[2].partition("```")[0])
        matcher = tasks["tasks"][0]["problemMatcher"]["pattern"]
        lines = run("show", "v3", "--format", "lines").out.splitlines()
        found = [re.fullmatch(matcher["regexp"], line) for line in lines]
        assert all(found)
        assert len(found) > 3
        places = [(one[matcher["file"]], int(one[matcher["line"]]), one[matcher["severity"]]) for one in found if one]
        assert places[0] == ("kernels/lightning_decode/v3_global_memory.cu", 32, "warning")
        assert all((recorded / file).read_text().count("\n") >= line for file, line, _ in places)
        assert "uncoalesced-global-store" in lines[0]
        assert "(100 % of it, estimated 3.44x)" in lines[0]

    def test_a_report_without_lines_says_so(self, run: Run, recorded: Path) -> None:
        answer = run("show", str(SMALL_REPORT), "--format", "lines")
        assert (answer.code, answer.out) == (0, "")
        assert "no finding has a source line" in answer.err

    def test_it_is_no_json(self, run: Run, recorded: Path) -> None:
        assert run("show", "v3", "--format", "lines", "--json").code == 2


def test_the_launch_table_keeps_its_lines_and_whole_names_in_80_columns(run: Run) -> None:
    text = run("show", str(DATA / "repeats_full_h200_2025.3.1.ncu-rep.zst")).out
    start = text.index("kernel")
    block = text[text.rindex("\n", 0, start) + 1 : text.index("to floor: the time over")]
    lines = block.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in block
    words = block.replace("\n", " ").split()
    assert {"2.70x", "transpose", "_unpadded", "shared-bank-", "conflict"} <= set(words)
    rows = [line for line in lines if line.endswith("x")]
    assert len(rows) == 7
    assert re.search(r"\n +0 fill .* low-occupancy +2\.69x\n", text)
    assert "instruction" in words  # as below the table and on the page
    assert all(line.endswith(("1.00x", "2.70x", "9.06x", "3.24x", "2.69x", "2.78x")) for line in rows)
