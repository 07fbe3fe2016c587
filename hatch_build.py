"""Run by hatch when a wheel or an sdist is built: the commit goes into it, for ``ncu-assist --version``."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "ncu_assist/commit.txt"


class CommitHook(BuildHookInterface[Any]):
    """Adds a file with the commit; nothing in an editable install, and none where there is no git."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the file to hatch. A wheel that is built of an sdist takes the one in that."""
        root = Path(self.root)
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
