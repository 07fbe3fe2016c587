"""The notebook in docs runs, and says what it said when its outputs were stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from requirements import needs

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@needs("matplotlib")
def test_the_tutorial_says_what_it_said(tmp_path: Path) -> None:
    again = tmp_path / "again.ipynb"
    subprocess.run([sys.executable, ROOT / "benchmarks" / "tutorial.py", again], check=True)
    stored, now = (json.loads(path.read_text())["cells"] for path in (ROOT / "docs" / "tutorial.ipynb", again))
    drawn = [_without_pictures(cells) for cells in (stored, now)]
    assert drawn[0] == drawn[1] == 4
    assert now == stored, "python benchmarks/tutorial.py"
    assert sum("text/html" in output["data"] for cell in now for output in cell.get("outputs", ())) > 6


def _without_pictures(cells: list[dict[str, Any]]) -> int:
    """Take out the bytes of pictures, which follow matplotlib's version, and return how many there were."""
    shown = [output["data"] for cell in cells for output in cell.get("outputs", ()) if "data" in output]
    return sum(data.pop("image/png", None) is not None for data in shown)
