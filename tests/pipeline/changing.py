"""A git repository with a kernel whose runs are made up and committed, as developers would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gated import SMALL, Archive
from gitted import Repository
from kernel_folder import write_kernel

from ncu_assist.commits import commit_of
from ncu_assist.pipeline.archiving import workload_facts
from ncu_assist.sources import source_sha256
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import StoredRun

CODE = "import torch\n\n\ndef add_one(x, y):\n    torch.add(x, {}, out=y)\n"


class Developed:
    """A repository whose branch main has v0 and v1 of add_one, measured in one bench; what follows is on a branch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repository = Repository(root)
        self.kernel = write_kernel(root, {"v0_torch.py": CODE.format("1.0"), "v1_own.py": CODE.format("1")})
        self.archive = Archive(root)
        self.archive.sm_clock_mhz = 1980.0
        self.number = 0
        self.measure({"v0_torch": 1e5, "v1_own": 9e4})
        self.repository.commit(message="first")
        self.repository.git("switch", "--quiet", "--create", "work")

    def edit(self, version: str, code: str) -> None:
        (self.kernel / f"{version}.py").write_text(code)

    def measure(self, times_ns: dict[str, float], **changes: Any) -> list[StoredRun]:
        """Save a run of each version as its source is now, all of one bench."""
        self.number += 1
        facts = workload_facts(read_kernel(self.kernel), read_kernel(self.kernel).default_workload)
        made = {
            "run_id": f"20261022T07{self.number:02d}00Z-{self.number:06x}",
            "created": f"2026-10-22T07:{self.number:02d}:00Z",
            "bench_id": f"bench-{self.number}",
            "workloads": (facts,),
            "commit": commit_of(self.kernel),
            "source": "recorded",
            "machine": None,
        }
        return [
            self.archive.save(
                version,
                {SMALL: time},
                **{**made, "source_sha256": source_sha256(self.kernel / f"{version}.py"), **changes},
            )
            for version, time in times_ns.items()
        ]
