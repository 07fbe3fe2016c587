"""``ncu-assist profile``: recorded runs where nothing can be measured, a live measurement, any other program."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from commandline import Run, files, measure_here, without_ncu
from fakes.fake_ncu import install
from gitted import Repository
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, VERSIONS, WORKLOADS, WRONG
from requirements import require

from ncu_assist.store import Store

PROGRAM = ("--kernel", "train", "--version", "v1", "--", "./train", "--epochs", "3")


class TestRecorded:
    """Without a GPU: what was recorded answers, and says so."""

    def test_a_banner_a_table_and_nothing_stored(self, run: Run, recorded: Path) -> None:
        before = files(recorded)
        answer = run("profile", "lightning_decode")
        assert answer.code == 0
        assert answer.err.startswith("RECORDED: runs on NVIDIA H200, 20")
        assert "Nothing was measured here" in answer.err
        assert "RECORDED" not in answer.out
        assert "v7_registers_128bit" in answer.out
        assert "of copy" in answer.out
        assert max(map(len, answer.out.splitlines())) <= 80
        assert files(recorded) == before

    def test_json(self, run: Run, recorded: Path) -> None:
        answer = run("profile", "lightning_decode", "v3", "v7", "--json").json
        assert (answer["schema"], answer["source"]) == ("ncu-assist.profile/1", "recorded")
        assert [v["version"] for v in answer["versions"]] == ["v3_global_memory", "v7_registers_128bit"]
        assert all(v["status"] == "measured" and v["source"] == "recorded" for v in answer["versions"])
        timing = answer["versions"][1]["workloads"][0]["timing"]
        assert timing["median_ns"] == pytest.approx(74_000, rel=0.1)

    def test_all_workloads(self, run: Run, recorded: Path) -> None:
        answer = run("profile", "lightning_decode", "v7", "--workload", "all")
        assert answer.code == 0
        assert all(f"\nb{batch}_d{dim}\n" in answer.out for batch in (1, 4, 16, 64, 256) for dim in (96, 128))

    def test_a_version_with_another_source_is_not_measured(self, run: Run, recorded: Path) -> None:
        path = recorded / "kernels" / "lightning_decode" / "v7_registers_128bit.cu"
        path.write_text(path.read_text() + "\nint more;\n")
        for versions in ((), ("v6", "v7")):
            answer = run("profile", "lightning_decode", *versions)
            assert answer.code == 6
            line = next(line for line in answer.out.splitlines() if line.startswith("v7_"))
            assert "not measured" in line
            assert "NOT MEASURED: v7_registers_128bit on b64_d96" in answer.err
            assert "ncu-assist doctor" in answer.err
        assert run("profile", "lightning_decode", "v6").code == 0
        shown = run("profile", "lightning_decode", "--json")
        status = {v["version"]: v["status"] for v in shown.json["versions"]}
        assert (shown.code, shown.json["exit_code"], status["v7_registers_128bit"]) == (6, 6, "not measured")
        assert status["v6_coalesced_store"] == "measured"

    def test_nothing_that_was_asked_for_can_be_shown(self, run: Run, recorded: Path) -> None:
        path = recorded / "kernels" / "lightning_decode" / "v7_registers_128bit.cu"
        path.write_text(path.read_text() + "\nint more;\n")
        answer = run("profile", "lightning_decode", "v7")
        assert (answer.code, answer.out) == (6, "")
        assert "no recorded run of lightning_decode v7 matches its current source" in answer.err
        assert "try: ncu-assist doctor" in answer.err

    def test_a_kernel_without_runs(self, run: Run, no_gpu: None, tmp_path: Path, monkeypatch: object) -> None:
        write_kernel(tmp_path)
        monkeypatch.chdir(tmp_path)  # type: ignore[attr-defined]
        answer = run("profile", "add_one", "--json")
        assert (answer.code, answer.out) == (6, "")
        assert "no recorded run of add_one" in answer.err

    def test_a_damaged_run_is_named(self, run: Run, recorded: Path) -> None:
        record = next(recorded.glob("reports/lightning_decode/v7_*/*/run.json"))
        record.write_text("{")
        answer = run("profile", "lightning_decode")
        assert answer.code == 7
        assert "v6_coalesced_store" in answer.out
        assert "lightning_decode/v7_registers_128bit/" in answer.out
        assert "is damaged" in answer.out
        alone = run("profile", "lightning_decode", "v7")
        assert (alone.code, alone.out) == (7, "")
        assert "try: ncu-assist verify" in alone.err

    def test_a_flipped_byte_spoils_only_its_own_version(self, run: Run, recorded: Path) -> None:
        metrics = next(recorded.glob("reports/lightning_decode/v7_*/*/metrics.parquet"))
        data = bytearray(metrics.read_bytes())
        data[len(data) // 2] ^= 1
        metrics.write_bytes(data)
        answer = run("profile", "lightning_decode")
        assert answer.code == 7
        assert "v6_coalesced_store" in answer.out
        assert "metrics.parquet was changed after it was written" in " ".join(answer.out.split())

    @pytest.mark.parametrize(
        ("words", "hint"),
        [
            (["lightning_decod"], "did you mean 'lightning_decode'?"),
            (["lightning_decode", "v77"], "known: v0, v1, v2"),
            (["lightning_decode", "--workload", "b64_d9"], "did you mean 'b64_d96'?"),
            (["lightning_decode", "--quick", "--set", "full"], "keep one of them"),
            (["lightning_decode", "--kernel", "x"], "drop --kernel"),
            (["lightning_decode", "--filter", "x"], "drop --filter"),
            (["lightning_decode", "--nvcc-flags", "-g"], "drop --nvcc-flags"),
            (["--rounds", "3", "--", "ls"], "drop --rounds"),
            (["--again", "--", "ls"], "drop --again"),
            (["--flush", "none", "--", "ls"], "drop --flush"),
            (["lightning_decode", "--max-launches", "3"], "--max-launches is for a program, and this is a kernel"),
            (["lightning_decode", "--skip-launches", "0"], "drop --skip-launches"),
            (["--changed", "lightning_decode"], "drop KERNEL"),
            (["--changed", "--filter", "foo"], "--filter is for a program, and this is --changed"),
            (["--changed", "--nvcc-flags", "-g"], "drop --nvcc-flags"),
            (["--changed", "--again"], "drop --again"),
            (["--changed", "--cluster", "tcp://there"], "drop --cluster"),
            (["--changed", "--since", "HEAD"], "drop --since"),
            (["--since", "HEAD", "--again"], "--again is for a kernel, and this is --since"),
            (["--since", "HEAD", "--filter", "foo"], "drop --filter"),
            (["--since", "HEAD", "--gpus", "all"], "--gpus is for a kernel or --changed, and this is --since"),
            (["lightning_decode", "--cluster", "tcp://there", "--dry-run"], "drop --dry-run"),
            (["--nvcc-flags", "-g", "--", "ls"], "drop --nvcc-flags"),
            (["--", "lightning_decod"], "there is no program 'lightning_decod' on PATH"),
            ([], "ncu-assist list"),
        ],
    )
    def test_wrong_names_and_options(self, run: Run, recorded: Path, words: list[str], hint: str) -> None:
        answer = run("profile", *words)
        assert (answer.code, answer.out) == (2, "")
        assert hint in answer.err


class TestLive:
    """On the CPU, with the counters that the fake ncu replays."""

    @pytest.mark.slow
    def test_profile_then_read(self, run: Run, live_project: Path) -> None:
        answer = run("profile", "add_one", "--workload", "all", "--json")
        assert answer.code == 0
        assert (answer.json["schema"], answer.json["source"]) == ("ncu-assist.profile/1", "live")
        assert {v["status"] for v in answer.json["versions"]} == {"measured"}
        assert run("verify", "--json").json["runs"] == 2
        shown = run("show", "v0", "--json").json
        assert (shown["source"], shown["profile"]["command"]) == (
            "live",
            "ncu-assist profile add_one --workload all --set full",
        )
        assert run("diff", "v0", "v1").code == 0
        assert "not measured" not in run("list").out

    @pytest.mark.slow
    def test_only_what_changed(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        require("torch")
        folder = write_kernel(tmp_path, VERSIONS, WORKLOADS)
        measure_here(monkeypatch, tmp_path)
        first = run("profile", "--changed", "--json").json
        assert (first["since"], [one["kernel"] for one in first["kernels"]]) == (None, ["add_one"])
        nothing = run("profile", "--changed")
        assert (nothing.code, nothing.out) == (0, "nothing has changed since it was measured here\n")
        assert "add_one v0, v1: measured on 20" in nothing.err
        (folder / "v1_shared.py").write_text(RIGHT + "\n# edited\n")
        edited = run("profile", "add_one", "--json")
        assert [one["kept"] for one in edited.json["versions"]] == [False, False]
        assert "add_one v1: its source has changed" in edited.err
        assert "add_one v0: timed again with it" in edited.err
        assert "pages: reports/add_one/index.html" in edited.err
        same = run("profile", "add_one", "--json")
        assert [one["kept"] for one in same.json["versions"]] == [True, True]
        assert "pages:" not in same.err
        assert run("show", "v0", "--json").json["metrics"]["duration"]["value"] > 0  # of the run with counters
        again = run("profile", "add_one", "--again", "--json").json
        assert [one["kept"] for one in again["versions"]] == [False, False]

    @pytest.mark.slow
    def test_a_wrong_version_is_named_and_the_other_is_finished(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        require("torch")
        write_kernel(tmp_path, {**VERSIONS, "v1_shared.py": WRONG}, WORKLOADS)
        measure_here(monkeypatch, tmp_path)
        answer = run("profile", "add_one")
        assert answer.code == 5
        assert "v1_shared: failed: check w0: output 'y': 1024 of 1024 elements are wrong" in " ".join(
            answer.out.split()
        )
        assert run("show", "v0", "--json").json["metrics"]["duration"]["value"] > 0

    def test_a_section_set_that_does_not_exist(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_kernel(tmp_path, {"v0_naive.py": RIGHT}, WORKLOADS)
        measure_here(monkeypatch, tmp_path)
        answer = run("profile", "add_one", "--set", "ful")
        assert (answer.code, answer.out) == (2, "")
        assert "did you mean 'full'?" in answer.err
        assert not (tmp_path / "reports").exists()

    def test_dry_run_prints_the_command_and_runs_nothing(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_kernel(tmp_path, {"v0_naive.py": RIGHT}, WORKLOADS)
        measure_here(monkeypatch, tmp_path)
        before = files(tmp_path)
        answer = run("profile", "add_one", "--dry-run", "--quick")
        assert answer.code == 0
        assert answer.out.startswith(f"cd {tmp_path}\nenv ")
        assert "--set basic" in answer.out
        assert "--nvtx-include ncu-assist/" in answer.out
        assert "TMPDIR=" in answer.out
        assert files(tmp_path) == before


class TestProgram:
    """A program that is no kernel folder's, under the fake ncu."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
        monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:/usr/bin:/bin")
        monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
        monkeypatch.chdir(tmp_path)
        program(tmp_path / "train")
        return tmp_path

    @pytest.mark.slow
    def test_it_is_archived_like_a_kernel_of_ours(self, run: Run, folder: Path) -> None:
        answer = run("profile", "--filter", "regex:trans.*", *PROGRAM)
        assert answer.code == 0
        assert answer.out.startswith("train/v1@")
        assert run("show", "train/v1", "--json").json["profile"]["command"] == "./train --epochs 3"
        assert run("verify").code == 0
        assert {"reports/index.html", "reports/train/index.html"} < files(folder)
        assert "pages: reports/train/index.html" in answer.err
        argv = json.loads((folder / "argv").read_text())["argv"]
        assert argv[argv.index("--") + 1 :] == ["./train", "--epochs", "3"]
        assert argv[argv.index("--kernel-name") + 1] == "regex:trans.*"
        assert argv[argv.index("--launch-count") + 1] == "20"
        assert "--nvtx-include" not in argv

    @pytest.mark.slow
    def test_a_page_that_fails_loses_no_measurement(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ncu_assist.render.html.ladder.ladder_html", lambda *_: 1 / 0)
        answer = run("profile", "--json", *PROGRAM)
        assert (answer.code, answer.json["kernel"]) == (0, "train")
        assert "the runs are stored, but not all of their pages are: ZeroDivisionError" in answer.err
        assert "try: ncu-assist report train" in answer.err
        assert run("verify").code == 0

    @pytest.mark.slow
    def test_json_and_the_limit_on_launches(self, run: Run) -> None:
        answer = run("profile", "--max-launches", "3", "--json", *PROGRAM)
        assert answer.json["schema"] == "ncu-assist.show/1"
        assert (answer.json["kernel"], answer.json["source"]) == ("train", "live")
        assert "stopped after 3 launches; --max-launches N profiles more" in answer.err

    def test_an_option_of_ours_behind_a_program_that_fails_is_named(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_NCU_MODE", "kernel-failed")
        answer = run("profile", "./train", "--repeats", "3", "--epochs", "3")
        assert answer.code == 5
        alone = run("profile", "./train", "--epochs", "3").err
        assert "the program got it" not in alone
        own = alone.partition("  try: ")[2].splitlines()[0]
        hint = f"try: put --repeats 3 before ./train, if it is for profile: the program got it; otherwise {own}"
        assert hint in answer.err

    def test_dry_run(self, run: Run, folder: Path) -> None:
        answer = run("profile", "--dry-run", *PROGRAM)
        assert answer.code == 0
        assert answer.out.rstrip().endswith("-- ./train --epochs 3")
        assert not (folder / "reports").exists()
        assert not (folder / "argv").exists()

    @pytest.mark.parametrize(
        ("mode", "code", "words"),
        [
            ("permission", 6, "CAP_SYS_ADMIN"),
            ("no-kernels", 5, "compare the filter"),
            ("application", 5, "segmentation fault"),
            ("no-program", 5, "does not exist"),
            ("truncated", 7, "damaged"),
            ("crash", 5, "profiling failed"),
        ],
    )
    def test_failures(
        self, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str, code: int, words: str
    ) -> None:
        monkeypatch.setenv("FAKE_NCU_MODE", mode)
        answer = run("profile", *PROGRAM)
        assert (answer.code, answer.out) == (code, "")
        assert words in answer.err
        assert "try: " in answer.err
        assert not (folder / "reports").exists()

    @pytest.mark.parametrize("words", [["--kernel", "../a", "--version", "v1"], ["--kernel", "a", "--version", "v 1"]])
    def test_wrong_names_are_told_before_anything_runs(self, run: Run, folder: Path, words: list[str]) -> None:
        answer = run("profile", *words, "--", "./train")
        assert answer.code == 2
        assert "cannot be the name of a" in answer.err
        assert not (folder / "argv").exists()

    def test_a_wrong_section_set_is_told_before_anything_runs(self, run: Run, folder: Path) -> None:
        answer = run("profile", "--set", "ful", *PROGRAM)
        assert answer.code == 2
        assert "did you mean 'full'?" in answer.err
        assert not (folder / "argv").exists()

    def test_without_ncu(self, run: Run, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        (folder / "bin" / "ncu").unlink()
        without_ncu(monkeypatch, folder / "nowhere")
        answer = run("profile", *PROGRAM)
        assert (answer.code, answer.out) == (6, "")
        assert "ncu (Nsight Compute) is not installed" in answer.err
        assert "try: install Nsight Compute" in answer.err
        assert "ncu --config-file off" in run("profile", "--dry-run", *PROGRAM).out


MAIN = "__global__ void add(float* x) { x[0] = 1; }\nint main() { return 0; }\n"


@pytest.mark.parametrize(
    ("word", "text", "said", "tried"),
    [
        ("vector_add.cu", MAIN, "vector_add.cu is a file; a kernel is a folder kernels/NAME", "profile vector_add.cu"),
        ("alone.cu", "__global__ void f() {}\n", "alone.cu is a file without main()", "new alone --from alone.cu"),
        ("train.py", "print(1)\n", "train.py is a file", "profile train.py"),
        ("a.out", "", "a.out is a file, but neither a kernel nor an executable program", "chmod +x a.out"),
        ("old.ncu-rep", "", "old.ncu-rep is a report", "ncu-assist show old.ncu-rep"),
        ("kernels/add_one/v0_torch.py", None, "belongs to the kernel add_one", "ncu-assist profile add_one v0"),
        ("kernels/add_one", None, "belongs to the kernel add_one", "ncu-assist profile add_one"),
        ("v0_torch.py", None, "v0_torch.py is in kernels/add_one", "ncu-assist profile add_one"),
        ("vector_ad.cu", None, "there is no file or kernel 'vector_ad.cu'", "ncu-assist list"),
        ("add_on", None, "there is no kernel 'add_on'; did you mean 'add_one'?", "add_one"),
    ],
)
def test_a_file_in_the_place_of_a_kernel(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, text: str | None, said: str, tried: str
) -> None:
    """What can be done with a file today, as a command; what is not there is told apart from what is."""
    write_kernel(tmp_path)
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / word).write_text(text)
    before = files(tmp_path)
    profiled = word in ("vector_add.cu", "alone.cu", "train.py")
    for command in ("check", "bench", *(() if profiled else ("profile",))):
        answer = run(command, word)
        assert (answer.code, answer.out) == (2, "")
        assert said in answer.err
        assert answer.err.partition("try: ")[2].strip().endswith(tried)
    assert files(tmp_path) == before


def test_a_missing_file_gets_the_nearest_that_is_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vector_add.cu").write_text(MAIN)
    assert "did you mean 'vector_add.cu'?" in run("profile", "vector_ad.cu").err
    assert run("profile", "zzz").err.startswith("error: there is no kernel 'zzz'; there are none\n")


# What is typed, what is built before and run under ncu, and the name of its run.
CALLS = [
    (["./vector_add", "--n", "5"], "", "./vector_add --n 5", "vector_add"),
    (["vector_add"], "", "./vector_add", "vector_add"),
    (["--", "vector_add"], "", "./vector_add", "vector_add"),
    (["--max-launches", "3", "./vector_add", "--max-launches", "9"], "", "./vector_add --max-launches 9", "vector_add"),
    (["vector_add.cu", "7"], "vector_add.cu", ".ncu-assist/programs/vector_add 7", "vector_add"),
    (["train.py", "--steps", "3"], "", "python3 train.py --steps 3", "train"),
    (["--", "python3", "-u", "train.py"], "", "python3 -u train.py", "train"),
    (["--", "python3", "-m", "train.loop", "x"], "", "python3 -m train.loop x", "loop"),
    (["--", "sh", "-c", "./vector_add"], "", "sh -c ./vector_add", "sh"),
    (["train:step"], "", "python3 -c ", "step"),
    (["--kernel", "add", "./vector_add"], "", "./vector_add", "add"),
]


NVCC = """case "$*" in *--version*) echo V13.0.0; exit;; *broken*) echo "error: expected a ;"; exit 2;; esac
while [ "$1" != -o ]; do shift; done
echo '#!/bin/sh' > "$2"; chmod +x "$2"
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    """A folder with a program, its source and a script, under the fake ncu; nvcc is a script that notes its words."""
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr("ncu_assist.pipeline.programs._python", lambda: "python3")
    nvcc = tmp_path / "bin" / "nvcc"
    program(nvcc, NVCC)
    monkeypatch.chdir(tmp_path)
    program(tmp_path / "vector_add")
    (tmp_path / "vector_add.cu").write_text(MAIN)
    (tmp_path / "train.py").write_text("def step(): pass\n")
    return tmp_path


def program(path: Path, text: str = "exit 0") -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("words", "built", "ran", "name"), CALLS, ids=lambda one: " ".join(one) if isinstance(one, list) else ""
)
def test_a_program_is_profiled_as_it_is_named(
    run: Run, programs: Path, words: list[str], built: str, ran: str, name: str
) -> None:
    before = files(programs)
    answer = run("profile", "--dry-run", *words)
    assert answer.code == 0, answer.err
    *compiled, _, _, called = answer.out.rstrip().splitlines()
    assert called.partition(" -- ")[2].startswith(ran)
    assert files(programs) == before
    assert [line.split()[-1] for line in compiled] == ([built] if built else [])
    assert all(" -lineinfo " in line for line in compiled)
    assert ("goes to" in answer.err) == (words[-1] == "9")
    assert f"{name}/v1: " in answer.err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("nvtx:", "a filter is empty"),
        ("nvtx:/", "a filter is empty"),
        ("regex:", "a filter is empty"),
        ("", "a filter is empty"),
        ("regex:[", "'[' is no regular expression"),
    ],
)
def test_a_filter_that_names_nothing_is_refused_before_ncu_is_asked(
    run: Run, programs: Path, asked: str, said: str
) -> None:
    answer = run("profile", "--dry-run", "--filter", asked, "vector_add.cu")
    assert answer.code == 2
    assert said in answer.err
    assert "--launch" not in answer.err  # it is no option of profile


@pytest.mark.slow
def test_each_profile_of_a_program_is_the_next_version_and_a_diff_alone_compares_the_last_two(
    run: Run, programs: Path
) -> None:
    for number in (1, 2):
        answer = run("profile", "--skip-launches", "2", "--filter", "nvtx:step", "vector_add.cu")
        assert answer.code == 0, answer.err
        said, _, full = answer.err.splitlines()[0].partition(": ")
        assert said == f"vector_add/v{number}"
        assert full.endswith("-- .ncu-assist/programs/vector_add")
        built, _, profiled = full.partition(" && ")
        assert built.endswith("-o .ncu-assist/programs/vector_add vector_add.cu")
        again = run(*shlex.split(profiled)[1:-2], "--dry-run", *shlex.split(profiled)[-2:])
        assert "--launch-skip 2 --launch-count 20" in again.out
        assert "--nvtx-include step/" in again.out
        assert "at most 20 launches under ncu --set full, 45 s to 67 s" in answer.err
    answer = run("diff", "--json")
    assert [answer.json[side]["version"] for side in ("baseline", "candidate")] == ["v1", "v2"]


@pytest.mark.slow
def test_a_program_that_is_repeated_has_a_distribution(run: Run, programs: Path) -> None:
    for version in ("v1", "v2"):
        answer = run("profile", "--repeats", "10", "--version", version, "--json", "./vector_add")
        assert answer.code == 0, answer.err
        assert len(answer.json["launches"]) == 30
    assert (programs / "argv").read_text().count("--launch-count") == 20
    (stored,) = Store(programs / "reports").runs("vector_add", "v2")
    assert {one.repeat for one in stored.run.launches} == set(range(10))
    assert "the program ran 10 times; its report is from the first" in stored.run.notes
    assert Store(programs / "reports").verify() == []
    lines = run("show", "vector_add/v2", "--lines")
    assert (lines.code, "transpose" in lines.out) == (0, True)
    assert "not all of their pages" not in answer.err
    spread = "over 10 runs of the program: 41.8 µs, from 41.8 µs to 41.8 µs (0.0 %)"
    assert spread in run("show", "vector_add/v2").out
    (page,) = (programs / "reports" / "vector_add" / "v2").rglob("report.html")
    assert "over 10 runs of the program" in page.read_text()
    assert "82 % of the time" in run("show", "vector_add/v2").out, "shares are of one run of the program"
    assert "not paired, 10 and 10 samples" in run("diff", "--json").json["summary"]


@pytest.mark.slow
def test_what_makes_a_likely_verdict_certain_is_said(run: Run, programs: Path) -> None:
    for version in ("v1", "v2"):
        run("profile", "--version", version, "./vector_add")
    assert "profile each again with --repeats N" in run("diff", "--json").json["next"]


# What is wrong, what is said of it, and what is to be tried; nothing is run under ncu.
WRONG_PROGRAMS = [
    (["alone.cu"], 2, "alone.cu has no main(), so it is not a program", "ncu-assist new alone --from alone.cu"),
    (["my-k.cu"], 2, "my-k.cu has no main(), so it is not a program", "ncu-assist new my_k --from my-k.cu"),
    (["broken.cu"], 5, "broken.cu does not compile: error: expected a ;", "--nvcc-flags"),
    (["plain"], 2, "plain is a file, but neither a kernel nor an executable program", "chmod +x plain"),
    (["./nowhere"], 2, "there is no file or kernel './nowhere'", "ncu-assist list"),
    (["nowhere.py"], 2, "there is no file or kernel 'nowhere.py'", "ncu-assist list"),
    (["trian.py", "--steps", "3"], 2, "'trian.py'; did you mean 'train.py'?", "ncu-assist profile train.py --steps 3"),
    (["add_one", "--steps", "3"], 2, "No such option '--steps'", "ncu-assist profile --help"),
    (["--", "nowhere"], 2, "there is no program 'nowhere' on PATH", "name the path of nowhere"),
    (["."], 2, ". is a folder, but not a kernel's", "ncu-assist list"),
    (["old.ncu-rep"], 2, "old.ncu-rep is a report", "ncu-assist show old.ncu-rep"),
    (["nowhere:step"], 2, "finds no module 'nowhere'", "python3 -c 'import nowhere'"),
    (["train:step", "5"], 2, "is called without arguments", "a function without any"),
    (["--kernel", "../x", "./vector_add"], 2, "cannot be the name of a kernel", "use letters"),
    (["--version", "v 1", "./vector_add"], 2, "cannot be the name of a version", "use letters"),
    (["--workload", "x", "./vector_add"], 2, "--workload is for a kernel", "drop --workload"),
    (["--repeats", "0", "./vector_add"], 2, "0 is not in the range", ""),
    (["--rounds", "2", "./vector_add"], 2, "--rounds is for a kernel", "drop --rounds"),
    (["--nvcc-flags", "-g", "train.py"], 2, "--nvcc-flags is for a .cu file", "drop --nvcc-flags"),
    (["--since", "main", "train.py"], 2, "--since chooses what to profile", "drop KERNEL"),
    (["--quick", "--set", "full", "./vector_add"], 2, "exclude each other", "keep one of them"),
    (["--set", "ful", "./vector_add"], 2, "did you mean 'full'?", "ncu-assist profile --set full ./vector_add"),
    (["--max-launches", "0", "./vector_add"], 2, "0 is not in the range", ""),
    (["vector_ad.cu"], 2, "did you mean 'vector_add.cu'?", "ncu-assist profile vector_add.cu"),
    (["--", "add_one"], 2, "'add_one' is a kernel of this project", "--kernel add_one_program -- ./add_one"),
]


@pytest.mark.parametrize(("words", "code", "said", "tried"), WRONG_PROGRAMS, ids=str)
def test_what_is_no_program_is_told_before_anything_is_profiled(
    run: Run, programs: Path, words: list[str], code: int, said: str, tried: str
) -> None:
    write_kernel(programs)
    program(programs / "add_one")
    (programs / "plain").write_text("#!/bin/sh\n")
    (programs / "old.ncu-rep").write_text("")
    (programs / "alone.cu").write_text("// int main() {}\n__global__ void f() {}\n")
    (programs / "my-k.cu").write_text("__global__ void f() {}\n")
    (programs / "broken.cu").write_text(MAIN)
    answer = run("profile", *words)
    assert (answer.code, answer.out) == (code, ""), answer.err
    assert said in " ".join(answer.err.split())
    assert tried in answer.err.partition("try: ")[2] or not tried
    assert not (programs / "argv").exists()


@pytest.mark.slow
def test_what_changed_is_measured_and_judged_beside_what_it_was(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edited version also as the branch main has it; a new one in a bench with the baseline."""
    require("torch")
    folder = write_kernel(tmp_path, VERSIONS, WORKLOADS)
    measure_here(monkeypatch, tmp_path)
    (tmp_path / ".gitignore").write_text("bin/\n.ncu-assist/\n")
    repository = Repository(tmp_path)
    main = repository.commit()
    (folder / "v1_shared.py").write_text(RIGHT.replace("1.0", "1"))
    (folder / "v2_new.py").write_text(RIGHT)
    found = run("profile", "--since", "main", "--workload", "w0", "--json")
    assert found.code in (0, 5), found.err  # the report that is replayed has launches of two versions only
    (kernel,) = found.json["kernels"]
    assert [one["version"] for one in kernel["versions"]] == ["v0_naive", "v1_shared", "v2_new"]
    runs = Store(tmp_path / "reports").runs("add_one", "v1_shared")
    assert {(one.run.commit and one.run.commit.id, one.run.commit and one.run.commit.dirty) for one in runs} == {
        (main, False),
        (main, True),
    }
    judged = run("gate", "--since", "main", "--fail-on", "time:900%", "--require-live", "--json")
    edited, new = judged.json["gates"]
    assert edited["baseline"] == next(one.reference for one in runs if one.run.commit and not one.run.commit.dirty)
    assert new["baseline"].startswith("add_one/v0_naive@")
    assert run("profile", "--since", "main", "add_one").code == 2


def test_another_source_behind_a_program_is_its_argument(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None
) -> None:
    """Two files look like two versions; what runs is the first, with the name of the second."""
    monkeypatch.chdir(tmp_path)
    for name in ("one.cu", "two.cu"):
        (tmp_path / name).write_text("int main() {}")
    told = run("profile", "--dry-run", "one.cu", "two.cu").err
    assert "two.cu goes to one.cu as an argument" in told
    assert "as the next version: ncu-assist profile --kernel one two.cu" in told
