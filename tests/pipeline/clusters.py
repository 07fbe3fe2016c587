"""A real cluster of processes on this machine: Dask's own scheduler, and workers of ours with fake GPUs."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fakes.fake_ncu import install
from patience import soon

ROOT = Path(__file__).parents[2]
H200, H100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3"


@dataclass
class Cluster:
    """``where`` is what commands are told; processes are in ``started``, the scheduler's by itself."""

    folder: Path
    where: str
    env: dict[str, str]
    scheduler: subprocess.Popen[bytes] | None = None
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def port(self) -> str:
        return self.where.rpartition(":")[2]

    def start_scheduler(self, *options: str) -> None:
        protocol = self.where.partition(":")[0]
        fixed = ["--protocol", protocol, "--host", "127.0.0.1", "--port", self.port, "--no-dashboard"]
        argv = ["-m", "dask", "scheduler", *fixed, *options]
        self.scheduler = self._start("scheduler", argv)
        assert soon(lambda: self._answers() or self.scheduler is None)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(self.port)), 0.2):
            return True
        return False

    def start_workers(self, count: int, chip: str = H200, first: int = 0) -> subprocess.Popen[bytes]:
        fake = str(ROOT / "tests" / "fakes" / "fake_worker.py")
        self.started.append(self._start("worker", [fake, self.where], FAKE_GPUS=f"{first} {count} {chip}"))
        return self.started[-1]

    def _start(self, name: str, argv: list[str], **more: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            env = {**self.env, **more}
            return subprocess.Popen(
                [sys.executable, *argv], env=env, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def end(self) -> None:
        for one in filter(None, [*self.started, self.scheduler]):
            if one.poll() is None:
                one.terminate()
        for one in filter(None, [*self.started, self.scheduler]):
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def _free_port() -> int:
    """Return a port below those that the kernel gives to connections, one of which could take it at any moment."""
    while True:
        port = random.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def cluster_in(folder: Path, protocol: str = "tcp", **env: str) -> Iterator[Cluster]:
    """Yield a cluster without workers whose scheduler runs; all of it ends with the block."""
    port = _free_port()
    folder.mkdir()
    path = f"{install(folder / 'bin').parent}:{os.environ['PATH']}"
    quick = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "30s"}
    env = {**os.environ, "PATH": path, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", **quick, **env}
    cluster = Cluster(folder, f"{protocol}://127.0.0.1:{port}", env)
    try:
        cluster.start_scheduler()
        yield cluster
    finally:
        cluster.end()
