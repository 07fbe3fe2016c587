"""One kernel of this repository with its recorded runs, in a place of its own: what the tests tell is of one story."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent
STORY = "lightning_decode"


def copy_family(root: Path, kernel: str = STORY, pages: bool = False) -> None:
    """Copy kernels/<kernel> and reports/<kernel> to below ``root``: bare names of versions mean this kernel there.

    With ``pages`` those that are shipped lie beside the runs.
    """
    for name in ("kernels", "reports"):
        shutil.copytree(ROOT / name / kernel, root / name / kernel, ignore=shutil.ignore_patterns("*.html"))
    if pages:
        shutil.copytree(ROOT / "docs" / "pages" / kernel, root / "reports" / kernel, dirs_exist_ok=True)
        shutil.copy(ROOT / "docs" / "pages" / "index.html", root / "reports" / "index.html")
