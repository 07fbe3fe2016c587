"""The notebook in docs runs, and says what it said when its outputs were stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_tutorial_says_what_it_said(tmp_path: Path) -> None:
    again = tmp_path / "again.ipynb"
    subprocess.run([sys.executable, ROOT / "benchmarks" / "tutorial.py", again], check=True)
    stored, now = (json.loads(path.read_text())["cells"] for path in (ROOT / "docs" / "tutorial.ipynb", again))
    assert now == stored, "python benchmarks/tutorial.py"
    assert sum("text/html" in output["data"] for cell in now for output in cell.get("outputs", ())) > 6
