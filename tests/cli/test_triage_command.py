"""``ncu-assist triage``: a program recorded by a torch, an nsys or an ncu that stand in, and traces as files."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from commandline import Run, without_ncu
from fakes.fake_ncu import install
from traced import ADD, GEMM, STEP, Ran, chrome_trace, fake_nsys, fake_torch, write_nsys

from ncu_assist import trace
from ncu_assist.harness import injected
from ncu_assist.pipeline import triaging
from ncu_assist.store import Store

TRANSPOSE = Ran("transpose_naive(float *, const float *, int)", 100, 900, (512, 512, 1), (32, 32, 1))
OURS = (TRANSPOSE, Ran("other()", 2000, 100), Ran(TRANSPOSE.name, 3000, 800, TRANSPOSE.grid, TRANSPOSE.block))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    """An empty folder with a train.py, an ncu that replays a report, and no nsys."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trace.find_nsys, "__defaults__", (os.environ, ()))
    folders = [folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "nsys").exists()]
    python = tmp_path / "bin" / "python"
    install(tmp_path / "bin")
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PATH", ":".join([str(tmp_path / "bin"), *folders]))
    (tmp_path / "train.py").write_text("import torch\nopen('ran', 'a').write('x')\n")
    return tmp_path


def _torch(patch: pytest.MonkeyPatch, folder: Path, kernels: tuple[Ran, ...] = STEP) -> None:
    shutil.rmtree(folder / "site", ignore_errors=True)
    for name, value in fake_torch(folder / "site", chrome_trace(kernels)).items():
        patch.setenv(name, value)


def test_a_script_is_recorded_by_its_own_torch(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here)
    answer = run("triage", "--json", "train.py")
    assert answer.code == 0, answer.err
    found = answer.json
    assert (found["program"], found["recorder"], found["command"]) == ("train", "torch.profiler", "python train.py")
    first = found["kernels"][0]
    assert (first["kernel"], first["launches"], first["skip"]) == (GEMM, 3, 1)
    assert (here / "ran").read_text() == "x", "it ran once"
    assert Path(run("triage", "--json", "train.py").json["trace"]) != Path(found["trace"])
    again = run("triage", found["trace"], "--json")
    assert again.json["program"] == "train"
    assert again.json["kernels"][0]["total_ns"] == found["kernels"][0]["total_ns"]
    assert f"ncu-assist triage {found['trace']}" in answer.err


def test_text_says_where_the_time_goes_and_what_to_do(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here)
    out = run("triage", "--", "python", "train.py").out
    assert out.startswith("train: 6 launches of 3 kernels and shapes, 246 µs in 1.36 ms\n")
    assert "16x8    384         3  212 µs  70.7 µs   86 %   86 %" in out
    assert "the GPU: kernels 18 % (246 µs), copies alone 1 % (13 µs), idle 81 % (1.10 ms)" in out
    assert "H2D pageable       1  65.5 kB  10 µs  6.55 GB/s" in out
    assert "next: ncu-assist triage --profile-top 3 -- python train.py" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("next: ")) <= 80


def test_the_first_kernels_are_profiled_and_judged(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here, OURS)
    argv = here / "argv"
    monkeypatch.setenv("FAKE_NCU_ARGV", str(argv))
    answer = run("triage", "--profile-top", "1", "--output", "page.html", "--json", "train.py")
    assert answer.code == 0, answer.err
    words = json.loads(argv.read_text().splitlines()[-1])["argv"]
    own = words[: words.index("--")]
    assert own[own.index("--kernel-name") + 1] == "transpose_naive"
    assert own[own.index("--launch-skip") + 1] == "1"
    assert own[own.index("--launch-count") + 1] == "1"
    assert words[words.index("--") + 1 :] == ["python", "train.py"]
    (one,) = answer.json["profiled"]
    assert one["reference"].startswith("train_transpose_naive/v1@")
    assert (one["rule"], one["problem"]) != ("", "")
    factor = one["estimated_speedup"]
    assert one["saved_ns"] == pytest.approx(1_700_000 * (1 - 1 / factor))
    assert one["saved_share"] == pytest.approx(one["saved_ns"] / answer.json["time"]["span_ns"])
    assert (here / one["page"]).is_file()
    assert (here / "page.html").read_text().count(f'href="{one["page"]}"') == 2, "of the kernel, and of its run"
    assert "launches to profile: 1; for each, the program runs once more" in answer.err


def test_profiled_kernels_stand_in_the_text(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here, OURS)
    out = run("triage", "--profile-top", "1", "train.py").out
    (stored,) = Store(here / "reports").runs()
    assert "train_transpose_naive/v1" in out
    assert f"next: ncu-assist show {stored.run.kernel}/{stored.run.version} --lines" in out
    assert "of all: what it could save in all its launches, of the time from first work to last" in " ".join(
        out.split()
    )
    command = next(line for line in out.splitlines() if line.startswith("next: "))
    assert run(*shlex.split(command.removeprefix("next: "))[1:]).code == 0


def test_another_launch_than_the_trace_had_is_said(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here, (Ran(TRANSPOSE.name, 0, 900, (7, 1, 1), (32, 32, 1)),))
    (one,) = run("triage", "--profile-top", "1", "--json", "train.py").json["profiled"]
    assert "the program's launches differ from run to run" in one["problem"]


def test_one_that_fails_leaves_the_others_and_the_table(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here, OURS)
    monkeypatch.setenv("FAKE_NCU_MODE", "kernel-failed")
    answer = run("triage", "--profile-top", "2", "train.py")
    assert answer.code == 5
    assert answer.out.count("try: ") == 2
    monkeypatch.setenv("FAKE_NCU_MODE", "permission")
    denied = run("triage", "--profile-top", "2", "--json", "train.py")
    assert denied.code == 6
    assert len(denied.json["profiled"]) == 1, "what meets every launch alike is met once"
    assert len(denied.json["kernels"]) == 2


def test_other_programs_are_recorded_by_nsys(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_nsys(here / "bin", write_nsys(here / "given.sqlite"))
    (here / "a.sh").write_text("#!/bin/sh\necho $1 > ran\n")
    (here / "a.sh").chmod(0o755)
    answer = run("triage", "--json", "./a.sh", "--steps")
    assert answer.code == 0, answer.err
    assert (answer.json["recorder"], answer.json["program"]) == ("Nsight Systems", "a")
    assert (here / "ran").read_text() == "--steps\n"
    again = run("triage", answer.json["trace"], "--json").json
    assert (again["time"], again["total_ns"]) == (answer.json["time"], answer.json["total_ns"])
    kept = Path(answer.json["trace"])
    before = kept.read_bytes()
    shortened = run("triage", "--seconds", "2", "--json", "./a.sh", "again")
    assert shortened.code == 0, shortened.err
    assert Path(shortened.json["trace"]) != kept
    assert kept.read_bytes() == before, "what was recorded before is never replaced unasked"
    (here / "bin" / "nsys").write_text("#!/bin/sh\nexit 3\n")
    assert run("triage", "--json", "./a.sh").code == 5
    assert len(list(kept.parent.parent.iterdir())) == 2, "one that recorded nothing leaves nothing, and takes nothing"


def test_without_nsys_ncu_takes_the_times(run: Run, here: Path) -> None:
    (here / "a.sh").write_text("#!/bin/sh\n")
    (here / "a.sh").chmod(0o755)
    answer = run("triage", "--json", "./a.sh")
    assert answer.code == 0, answer.err
    assert (answer.json["recorder"], answer.json["time"], answer.json["copies"]) == ("ncu", None, [])
    assert "gaps and copies are not seen" in answer.err
    assert "transpose_naive" in {one["kernel"] for one in answer.json["kernels"]}
    assert "gaps and copies: not known" in run("triage", "./a.sh").out


def test_a_report_of_nsys_is_exported_first(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a.nsys-rep").write_text("report")
    without = run("triage", "a.nsys-rep")
    assert without.code == 6
    assert "try: on the machine that recorded it: nsys export --type sqlite a.nsys-rep" in without.err
    fake_nsys(here / "bin", write_nsys(here / "given.sqlite"))
    assert run("triage", "a.nsys-rep", "--json").json["program"] == "a"
    (here / "b.nsys-rep").write_text("torn")
    torn = run("triage", "b.nsys-rep")
    assert (torn.code, "Failed to open the report" in torn.err) == (5, True)


def test_a_trace_and_its_program(run: Run, here: Path) -> None:
    (here / "t.json").write_text(json.dumps(chrome_trace(OURS)))
    answer = run("triage", "t.json", "--profile-top", "1", "--json", "--", "python", "train.py")
    assert answer.code == 0, answer.err
    assert answer.json["profiled"][0]["reference"].startswith("train_transpose_naive/v1@")


def test_a_page_has_every_kernel(run: Run, here: Path) -> None:
    many = tuple(Ran(f"kernel_{place}()", 10 * place, 5) for place in range(40))
    (here / "t.json").write_text(json.dumps(chrome_trace(many)))
    answer = run("triage", "t.json", "-o", "page.html")
    assert "and 28 more" in answer.out
    page = (here / "page.html").read_text()
    assert [place for place in range(40) if f"kernel_{place}<" not in page] == []
    assert run("triage", "t.json", "-o", "page.html").code == 0, "our own page is written again"


WRONG_TRIAGES: list[tuple[tuple[str, ...], int, str, str]] = [
    ((), 2, "no program or trace", "ncu-assist triage -- python train.py"),
    (("nothere.json",), 2, "there is no file 'nothere.json'", "ncu-assist triage PROGRAM"),
    (("nothere.py",), 2, "there is no file or kernel 'nothere.py'", "ncu-assist triage train.py"),
    (("x.nsys-rep",), 2, "there is no file 'x.nsys-rep'; that folder has no .nsys-rep file", "name a trace"),
    (("nosuchprogram",), 2, "there is no program 'nosuchprogram'", "name the path of nosuchprogram"),
    (("t.json", "--profile-top", "2"), 2, "does not say how to start it", "-- python train.py"),
    (("t.json", "--seconds", "3"), 2, "--seconds is for a program", "drop --seconds"),
    (("t.json", "--with", "auto"), 2, "--with is for a program, and this is a trace", "drop --with"),
    (("t.json", "--nvcc-flags", "-g"), 2, "--nvcc-flags is for a program or a trace and its program", "drop --nvcc"),
    (("t.json", "--set", "basic"), 2, "--set is for --profile-top", "drop --set"),
    (("--set", "full", "train.py"), 2, "--set is for --profile-top", "drop --set"),
    (("t.json", "--with", "nsys"), 2, "--with is for a program", "drop --with"),
    (("t.json", "--output", "-"), 2, "stdout has the table", "--output FILE.html"),
    (("t.json", "--output", "nothere/page.html"), 2, "a folder that does not exist", "--output"),
    (("cpu.json",), 5, "has no kernel launch", "ProfilerActivity.CUDA"),
    (("torn.json",), 7, "no whole trace", "record it again"),
    (("--with", "nsys", "train.py"), 6, "nsys (Nsight Systems) is not installed", "PATH"),
    (("--with", "ncu", "--seconds", "3", "train.py"), 2, "--seconds is for torch.profiler", "drop --seconds"),
    (("--profile-top", "2", "--set", "fulll", "train.py"), 2, "no section set 'fulll'", "--set full train.py"),
    (("train.py",), 6, "nothing was recorded from train: ", ""),
    (("dies.py",), 5, "dies ended with exit code 3", "run it alone"),
    (("dies.py", "--steps", "3"), 5, "dies ended with exit code 3", "run it alone"),
    (("dies.py", "--profile-top", "2", "--json"), 5, "exit code 3", "put --profile-top 2 --json before dies.py"),
    (("dies.py", "--seconds=2", "x"), 5, "exit code 3", "put --seconds=2 before dies.py, if it is for triage"),
]


@pytest.mark.parametrize(("words", "code", "message", "hint"), WRONG_TRIAGES, ids=str)
def test_wrong_inputs(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, message: str, hint: str
) -> None:
    _torch(monkeypatch, here, ())
    (here / "t.json").write_text(json.dumps(chrome_trace()))
    (here / "cpu.json").write_text(json.dumps(chrome_trace((), ())))
    (here / "torn.json").write_text(json.dumps(chrome_trace())[:500])
    (here / "dies.py").write_text("import sys\nsys.exit(3)\n")
    answer = run("triage", *words)
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert hint in answer.err.partition("try: ")[2]


def test_nothing_was_recorded_for_want_of_a_gpu_or_of_kernels(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _torch(monkeypatch, here, ())
    answer = run("triage", "train.py")
    assert answer.code == 6
    assert "--with" not in answer.err, "no other recorder would find more"
    monkeypatch.setattr(triaging, "gpu_here", lambda: None)
    answer = run("triage", "train.py")
    assert answer.code == 5
    assert "no process of it imported torch and launched a kernel" in answer.err
    assert "try: ncu-assist triage --with nsys" in answer.err


def test_a_program_that_fails_late_is_shown_until_then(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here)
    (here / "late.py").write_text("import torch, sys\nsys.exit('out of data')\n")
    answer = run("triage", "--json", "late.py")
    assert answer.code == 0
    assert answer.json["notes"] == ["late ended with exit code 1: only what it did until then"]


def test_it_is_ended_after_some_seconds(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here)
    (here / "endless.py").write_text("import torch, time\nwhile True: time.sleep(0.01)\n")
    assert run("triage", "--seconds", "0.3", "--json", "endless.py").json["launches"] == len(STEP)


def test_processes_of_it_are_recorded_each(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that starts others, and forks: those that imported torch themselves, and not the forked once more."""
    _torch(monkeypatch, here)
    (here / "many.py").write_text(
        "import os, subprocess, sys, torch\n"
        "for _ in range(2): subprocess.run([sys.executable, '-c', 'import torch'], check=True)\n"
        "if os.fork() == 0: sys.exit()\nos.wait()\n"
    )
    assert run("triage", "--json", "many.py").json["notes"] == ["2 more of its processes launched kernels"]


def test_a_sitecustomize_of_the_user_runs_as_well(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _torch(monkeypatch, here)
    (here / "site" / "sitecustomize.py").write_text("open('theirs', 'w').close()\n")
    assert run("triage", "train.py").code == 0
    assert (here / "theirs").is_file()


def test_it_needs_nothing_of_ours_in_the_other_python() -> None:
    source = (Path(injected.__file__).parent / "sitecustomize.py").read_text()
    assert "ncu_assist" not in source.replace("NCU_ASSIST", "")


def test_nothing_here_can_record(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_ncu(monkeypatch, here / "empty")
    (here / "a.sh").write_text("#!/bin/sh\n")
    (here / "a.sh").chmod(0o755)
    answer = run("triage", "./a.sh")
    assert answer.code == 6
    assert "nothing here can record ./a.sh: it is not a Python with torch, and nsys" in answer.err


def test_names_from_outside_are_made_harmless(run: Run, here: Path) -> None:
    evil = Ran("\x1b[31mred\u202e<script>alert(1)</script>", 0, 5)
    (here / "t.json").write_text(json.dumps(chrome_trace((evil, Ran(ADD, 10, 5)))))
    out = run("triage", "t.json", "-o", "page.html").out
    assert "\x1b[31m" not in out
    assert "<script>alert" not in (here / "page.html").read_text()
