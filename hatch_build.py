"""Run by hatch when a wheel or an sdist is built: the commit and, into a wheel, demo and man page go into it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "ncu_assist/commit.txt"
MANUAL = "share/man/man1/ncu-assist.1"  # below the environment that a wheel is installed into
DEMO = ("kernels/softmax", "reports/softmax")  # for ``ncu-assist demo``, below ncu_assist/demo/
NO_PART = (".html", ".pyc")  # pages are made again at will


class PackageHook(BuildHookInterface[Any]):
    """Adds the demo, and a file with the commit where there is git; nothing to an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the file to hatch. A wheel that is built of an sdist takes the one in that."""
        root = Path(self.root)
        if self.target_name == "wheel" and version != "editable":
            for path in (one for folder in DEMO for one in (root / folder).rglob("*") if one.is_file()):
                if path.suffix not in NO_PART:
                    build_data["force_include"][str(path)] = f"ncu_assist/demo/{path.relative_to(root).as_posix()}"
            page = Path(tempfile.mkdtemp(prefix="ncu-assist-")) / "ncu-assist.1"
            page.write_text(_man_page(root), encoding="utf-8")
            build_data.setdefault("shared_data", {})[str(page)] = MANUAL
        if version == "editable" or (root / PLACE).exists() or not (root / ".git").exists():
            return
        asked = ["git", "rev-parse", "--short=12", "HEAD"]
        try:
            commit = subprocess.run(asked, cwd=root, capture_output=True, check=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return
        file = Path(tempfile.mkdtemp(prefix="ncu-assist-")) / "commit.txt"
        file.write_text(commit, encoding="ascii")
        build_data["force_include"][str(file)] = PLACE


def _man_page(root: Path) -> str:
    """Return the man page of the package that is built, and of no other."""
    sys.path.insert(0, str(root))
    try:
        from ncu_assist.cli.manual import man_page

        return man_page()
    finally:
        sys.path.remove(str(root))
