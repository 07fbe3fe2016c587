"""A git repository for tests, of nobody and at one time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ncu_assist import process

NOBODY = {
    "GIT_AUTHOR_NAME": "nobody",
    "GIT_AUTHOR_EMAIL": "nobody@example.org",
    "GIT_COMMITTER_NAME": "nobody",
    "GIT_COMMITTER_EMAIL": "nobody@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class Repository:
    """A repository with a branch main."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> str:
        done = process.run(["git", "-C", str(self.root), *arguments], env={**os.environ, **NOBODY})
        assert done.exit_code == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | None] | None = None, message: str = "change") -> str:
        """Write files, remove those of None, commit everything, and return the id."""
        for name, text in (files or {}).items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if text is None else path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")
