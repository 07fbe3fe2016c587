"""Who programs run as, and that job folders are lent to that user and come back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.sandbox import plan as module
from ncu_assist.executors.sandbox.folders import check_readable, lent
from ncu_assist.executors.sandbox.plan import (
    CAP_PERFMON,
    SANDBOX_UID,
    counters_are_restricted,
    sandbox_user,
)


def test_root_becomes_somebody_else_and_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_real_root", lambda: False)
    assert sandbox_user() == (None, ())
    monkeypatch.setattr(module, "is_real_root", lambda: True)
    monkeypatch.setattr(module, "counters_are_restricted", lambda: False)
    assert sandbox_user() == (SANDBOX_UID, ())
    monkeypatch.setattr(module, "counters_are_restricted", lambda: True)
    assert sandbox_user() == (SANDBOX_UID, (CAP_PERFMON,))


def test_the_driver_says_who_may_read_counters(tmp_path: Path) -> None:
    parameters = tmp_path / "params"
    assert not counters_are_restricted(parameters)
    parameters.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 0\n")
    assert not counters_are_restricted(parameters)
    parameters.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
    assert counters_are_restricted(parameters)


def test_a_folder_is_lent_and_comes_back(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("")
    job = tmp_path / "job"
    (job / "sub").mkdir(parents=True)
    (job / "sub" / "file").write_text("")
    (job / "link").symlink_to(outside)
    uid = SANDBOX_UID if os.geteuid() == 0 else os.geteuid()
    everything = (job, job / "sub", job / "sub" / "file", job / "link")
    with lent((job,), uid):
        assert {path.lstat().st_uid for path in everything} == {uid}
        assert outside.stat().st_uid == os.geteuid()
    assert {path.lstat().st_uid for path in everything} == {os.geteuid()}
    with lent((tmp_path / "missing",), None):
        pass


def test_what_only_root_may_read_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    check_readable((closed,), None)
    with pytest.raises(EnvironmentProblem, match="closed to other users"):
        check_readable((closed,), SANDBOX_UID)
