"""What the ncu of this machine says of a report: it refuses damaged ones that NVIDIA's reader takes without a word."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ncu_assist import process
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.ncu import compressed
from ncu_assist.ncu.command import EXTENSION, find_ncu, numbers_of, version_of
from ncu_assist.ncu.csv_page.export import read_csv
from ncu_assist.ncu.report import Report

METRIC = "launch__grid_size"  # in every report, whatever was collected
TIMEOUT_S = 600.0


def second_opinion(report: Report) -> str:
    """Return a sentence where ncu here could not be asked, empty where it agrees or there is none.

    Raises DamagedData when it refuses the file or finds another number of launches. An ncu older than the one that
    measured is not asked: it refuses newer reports.
    """
    if report.lossy:
        return ""
    try:
        ncu = find_ncu()
        own = version_of(ncu)
    except EnvironmentProblem:
        return ""
    if numbers_of(own) < numbers_of(report.ncu_version or ""):
        return f"ncu {own} of this machine is older than the report and was not asked for a second opinion"
    count = _launches(ncu, report.path)
    if count != len(report.records):
        raise DamagedData(f"{report.path.name} is damaged: ncu finds {count} launches in it, not {len(report.records)}")
    return ""


def _launches(ncu: Path, path: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        plain = compressed.plain_file(path, Path(folder))
        link = Path(folder) / f"report{EXTENSION}"
        link.symlink_to(plain.resolve())
        argv = [str(ncu), "--import", str(link), "--csv", "--page", "raw", "--metrics", METRIC]
        done = process.run(argv, timeout_s=TIMEOUT_S)
    if done.exit_code != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit code {done.exit_code}"]
        raise DamagedData(f"{path.name} is damaged: ncu refuses it ({words[0]})")
    return len(read_csv(done.stdout.encode(), "ncu's answer").launches)
