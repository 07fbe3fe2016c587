"""Which variables reach a program in the sandbox."""

from __future__ import annotations

from pathlib import Path

from ncu_assist.executors.sandbox.plan import scrubbed

JOB = Path("/project/job")


def test_what_is_kept_and_what_is_not() -> None:
    kept = {"PATH": "/bin", "LC_ALL": "C", "CUDA_VISIBLE_DEVICES": "0", "PYTHONPATH": "/p", "TRITON_DEBUG": "1"}
    dropped = {
        "OPENAI_API_KEY": "s",
        "AWS_SESSION_TOKEN": "s",
        "HF_HOME": "/x",
        "LD_PRELOAD": "/x.so",
        "SSH_AUTH_SOCK": "/s",
        "CUDA_LICENSE_KEY": "s",
        "TORCH_HUB_TOKEN": "s",
        "NVIDIA_PASSWORD": "s",
        "PYTHON_AUTH": "s",
        "PWD": "/",
    }
    found = scrubbed({**kept, **dropped}, ())
    assert {name: found[name] for name in kept} == kept
    assert set(found) == {*kept, "HOME", "TMPDIR", "USER", "LOGNAME"}


def test_home_and_temporary_folder_exist_inside() -> None:
    assert scrubbed({"HOME": "/elsewhere", "TMPDIR": "/data/tmp"}, (JOB,))["HOME"] == "/tmp/home"
    assert scrubbed({"TMPDIR": "/data/tmp"}, (JOB,))["TMPDIR"] == "/tmp"
    assert scrubbed({"TMPDIR": str(JOB / "tmp")}, (JOB,))["TMPDIR"] == str(JOB / "tmp")


def test_caches_that_cannot_be_written_are_forgotten() -> None:
    env = {"TRITON_CACHE_DIR": "/elsewhere/.triton", "TORCH_EXTENSIONS_DIR": str(JOB / "ext")}
    found = scrubbed(env, (JOB,))
    assert "TRITON_CACHE_DIR" not in found
    assert found["TORCH_EXTENSIONS_DIR"] == str(JOB / "ext")


def test_what_is_asked_for_is_kept() -> None:
    assert scrubbed({"FAKE_NCU_MODE": "crash"}, (), ("FAKE_NCU_MODE",))["FAKE_NCU_MODE"] == "crash"
