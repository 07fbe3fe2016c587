"""What commands print with --json over recorded runs of every family, and over reports, is as the schemas say.

``Run.json`` holds each answer against its schema, here as in every other test of a command.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import DATA, Run
from recorded_family import ROOT, copy_family

pytestmark = pytest.mark.slow
FAMILIES = sorted(path.name for path in (ROOT / "reports").iterdir() if (ROOT / "kernels" / path.name).is_dir())
REPORTS = sorted(path.name for path in DATA.glob("*.ncu-rep.zst"))


@pytest.mark.parametrize("kernel", FAMILIES)
def test_recorded_runs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None, kernel: str) -> None:
    copy_family(tmp_path, kernel)
    monkeypatch.chdir(tmp_path)
    names = {path.stem.split("_")[0] for path in (tmp_path / "kernels" / kernel).glob("v[0-9]*_*.*")}
    *_, before, last = sorted(names, key=lambda name: int(name[1:]))
    assert run("show", f"{kernel}/{last}", "--lines", "--ncu-rules", "--json").json["launches"]
    assert run("diff", f"{kernel}/{before}", f"{kernel}/{last}", "--all", "--json").json["changes"]
    assert len(run("history", kernel, "--json").json["rows"]) == len(names)
    assert run("gate", f"{kernel}/{last}", "--json").json["checks"]
    assert run("list", kernel, "--json").json["kernels"]


@pytest.mark.parametrize("name", REPORTS)
def test_reports(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    report = str(DATA / name)
    assert run("show", report, "--lines", "--ncu-rules", "--json").json["launches"]
    assert run("diff", report, report, "--json").json["verdict"]
    assert run("export", report, "--table", "session", "--json").json["rows"]
