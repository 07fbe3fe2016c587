"""The folders of one exam, and who may see them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ncu_assist.harness.request import REQUEST_FILE


@dataclass(frozen=True)
class Folders:
    """One exam below ``root``.

    ``secret`` must not exist in the sandbox, ``readable`` is read-only there (the program starts in it), ``writable``
    is where answers go.
    """

    root: Path

    @property
    def secret(self) -> Path:
        return self.root / "secret"

    @property
    def readable(self) -> Path:
        return self.root / "inside"

    @property
    def writable(self) -> Path:
        return self.root / "out"

    @property
    def questions(self) -> Path:
        return self.readable / "questions"

    @property
    def secret_paper(self) -> Path:
        """What the trusted child waits for."""
        return self.secret / REQUEST_FILE

    def paper(self, stage: str) -> Path:
        """What the sandboxed child of a stage waits for."""
        return self.readable / f"{stage}.json"

    def out(self, stage: str) -> Path:
        """Return where the answers of a stage go."""
        return self.writable / stage

    def taken(self, stage: str) -> Path:
        """Return where what was taken over of them lies."""
        return self.secret / stage

    def make(self) -> None:
        """Create them: the secret one for this user alone, the others so that a sandbox's user can look into them."""
        closed, open_to_look = 0o700, 0o755
        for folder in (self.secret, self.readable, self.questions, self.writable):
            folder.mkdir(parents=True)
            folder.chmod(closed if folder == self.secret else open_to_look)
