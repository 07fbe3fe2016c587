"""A project with an archive and a home with keys, and a sandbox beside them of either make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from patience import CEILING_S
from requirements import require

from ncu_assist import process
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox import FolderAccess, Sandbox, SandboxLimits

MIB = 1 << 20
SECRET = "sk-this-must-not-be-seen"
LIMITS = SandboxLimits(seconds=CEILING_S, processes=200, file_bytes=8 * MIB, tmp_bytes=8 * MIB, shm_bytes=8 * MIB)


@dataclass(frozen=True)
class Scene:
    """Where things lie: all below one folder that the sandbox may read, so that only hiding hides them."""

    root: Path
    runner: str

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def job(self) -> Path:
        return self.project / "reports" / "k" / "suggest" / "d1"

    @property
    def record(self) -> Path:
        return self.project / "reports" / "k" / "v1" / "run.json"

    def sandbox(self, limits: SandboxLimits = LIMITS) -> Sandbox:
        places = FolderAccess((self.job,), (self.root, Path(__file__).parent), (self.project, self.home))
        return Sandbox(places, limits, self.runner, Local(self.root / "locks"))


@pytest.fixture(params=["bwrap", "unshare"])
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    require(request.param)
    made = Scene(tmp_path, request.param)
    tmp_path.chmod(0o755)
    secrets = (made.home / ".ssh" / "id_ed25519", made.home / ".config" / "ncu-assist" / "key")
    for path in (*secrets, made.record):
        path.parent.mkdir(parents=True)
        path.write_text(SECRET)
    made.job.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("CUDA_AUTH_TOKEN", SECRET)
    monkeypatch.setattr(process, "GRACE_S", 1.0)
    return made


def left(job: Path) -> list[str]:
    """Return the command lines of processes, started in a sandbox or for one, that name a job folder."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if str(job).encode() in line:
            lines.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return lines
