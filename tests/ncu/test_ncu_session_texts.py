"""The session of a report names its machine and user; it is read without the launches."""

from __future__ import annotations

from pathlib import Path

from ncu.test_ncu_blanking import revealing

from ncu_assist.ncu.report_file import SessionTexts, session_texts


def test_host_and_command_line(full: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(revealing(full))
    found = session_texts(path)
    assert "vm" in found.hosts
    assert any(len(command) > 100 for command in found.commands)


def test_reports_of_2022_hold_program_and_environment(old_report: Path) -> None:
    found = session_texts(old_report)
    assert found.hosts == ("7ad77d9-lcedt",)
    assert any(command.startswith("/usr/local/") for command in found.commands)
    assert any("--export /" in command for command in found.commands)


def test_another_kind_of_file_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    for data in (b"", b'"ID","Process ID"\n', b"NVR\0\xff\xff\xff\xff"):
        path.write_bytes(data)
        assert session_texts(path) == SessionTexts()
