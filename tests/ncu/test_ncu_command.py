"""The ncu program: finding it, asking it, and the command line and environment of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.ncu import command


def executable(path: Path, body: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_path_comes_before_cuda_home_and_the_usual_places(tmp_path: Path) -> None:
    places = {"cuda_link": tmp_path / "cuda", "nsight_root": tmp_path / "nsight"}
    executable(tmp_path / "nsight" / "2024.3.9" / "ncu")
    newest = executable(tmp_path / "nsight" / "2025.10.1" / "ncu")
    executable(tmp_path / "nsight" / "2025.9.1" / "ncu")
    assert command.find_ncu({}, **places) == newest
    linked = executable(tmp_path / "cuda" / "bin" / "ncu")
    assert command.find_ncu({}, **places) == linked
    home = executable(tmp_path / "home" / "bin" / "ncu")
    env = {"CUDA_HOME": str(tmp_path / "home")}
    assert command.find_ncu(env, **places) == home
    on_path = executable(tmp_path / "bin" / "ncu")
    assert command.find_ncu({**env, "PATH": str(tmp_path / "bin")}, **places) == on_path


def test_no_ncu_is_an_environment_problem_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "cuda" / "bin").mkdir(parents=True)
    (tmp_path / "cuda" / "bin" / "ncu").write_text("not executable")
    with pytest.raises(EnvironmentProblem) as caught:
        command.find_ncu({"PATH": ""}, tmp_path / "cuda", tmp_path / "nsight")
    assert caught.value.hint


def test_version_and_sets_are_read_from_its_answers(fake_ncu: Path) -> None:
    assert command.version_of(fake_ncu) == "2025.3.1.0"
    assert command.list_sets(fake_ncu) == ("basic", "detailed", "full", "roofline")


def test_a_set_that_does_not_exist_is_a_usage_problem(fake_ncu: Path) -> None:
    command.check_set(fake_ncu, "full")
    with pytest.raises(UsageProblem) as caught:
        command.check_set(fake_ncu, "fulll")
    assert "did you mean 'full'?" in caught.value.message


@pytest.mark.parametrize("body", ["exit 3", "echo hello"])
def test_an_ncu_that_does_not_answer_is_an_environment_problem(tmp_path: Path, body: str) -> None:
    with pytest.raises(EnvironmentProblem):
        command.version_of(executable(tmp_path / "ncu", body))


def test_the_baseline_command_line() -> None:
    argv = command.profile_argv(
        Path("ncu"), command.ProfileOptions(), Path("r/report.ncu-rep"), Path("r/ncu.log"), ["python", "-m", "x"]
    )
    assert " ".join(argv) == (
        "ncu --config-file off --set full --import-source yes --target-processes all --check-exit-code yes --nvtx "
        "--nvtx-include ncu-assist/ --clock-control none --cache-control all --replay-mode kernel "
        "--log-file r/ncu.log -f -o r/report.ncu-rep -- python -m x"
    )


def test_filters_and_limits_are_passed_and_the_extension_is_never_left_to_ncu() -> None:
    options = command.ProfileOptions("basic", nvtx_include=None, kernel_filter="regex:foo", max_launches=20)
    argv = command.profile_argv(Path("ncu"), options, Path("report.v1"), Path("log"), ["a"])
    assert "--nvtx-include" not in argv
    assert argv[argv.index("--kernel-name") + 1] == "regex:foo"
    assert argv[argv.index("--launch-count") + 1] == "20"
    assert argv[argv.index("--set") + 1] == "basic"
    assert argv[argv.index("-o") + 1] == "report.v1.ncu-rep"


def test_the_environment_keeps_out_other_tools_and_stub_drivers() -> None:
    base = {
        "HOME": "/h",
        "TMPDIR": "/shared",
        "CUDA_INJECTION64_PATH": "/x.so",
        "LD_LIBRARY_PATH": "/a:/cuda/lib64/stubs:/b/stubs/:/c",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    env = command.child_environment(base, Path("/private"), "GPU-1")
    assert env == {
        "HOME": "/h",
        "TMPDIR": "/private",
        "LD_LIBRARY_PATH": "/a:/c",
        "CUDA_VISIBLE_DEVICES": "GPU-1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    assert command.child_environment(base, Path("/private"), None)["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert base["TMPDIR"] == "/shared"
