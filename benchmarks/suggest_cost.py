"""How long a draft takes from a reply on disk to its verdict by time, and to its fate, on this GPU.

usage: python benchmarks/suggest_cost.py REPLY [REPEATS] [--reference REFERENCE]      (from the project's root)

Each repeat is a process of its own on a fresh copy of the kernel and its runs, and counts from its start: the
interpreter, the evidence, build, check, bench; then profile and diff. Prints one JSON object, seconds each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KERNEL, REFERENCE = "lightning_decode", "v6"
STARTED = "NCU_ASSIST_BENCHMARK_STARTED"
LIMITS_S = {"to_verdict": 18.0, "whole": 38.0}  # on an H200 machine; compute-sanitizer takes 6 to 8 s of each
PROFILE = "profile: "  # what is said once the verdict is known


class Clock:
    """A reporter that notes when the profile begins."""

    def __init__(self) -> None:
        self.verdict_s: float | None = None

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        if text.startswith(PROFILE) and self.verdict_s is None:
            self.verdict_s = since_start()


def since_start() -> float:
    """Return the seconds since this process was started."""
    return time.time() - float(os.environ[STARTED])


def one(reply: str, reference: str) -> dict[str, Any]:
    """Prove the reply in the current folder; what is imported here takes part in the time."""
    from ncu_assist.project import find_project
    from ncu_assist.suggest.model import Endpoint
    from ncu_assist.suggest.proof.prover import ProofOptions
    from ncu_assist.suggest.session import ReplyOptions, SuggestRequest, suggest

    clock = Clock()
    answering = ReplyOptions(Endpoint(""), reply, False, lambda text: None)
    found = suggest(
        find_project(Path.cwd()), SuggestRequest(reference, KERNEL, proving=ProofOptions()), answering, clock
    )
    whole, draft = since_start(), found.drafts[0].draft
    stages = {stage.name: stage.seconds for stage in draft.proof.stages} if draft.proof else {}
    seconds = {"to_verdict": round(clock.verdict_s or whole, 2), "whole": round(whole, 2)}
    return {"fate": draft.fate, "reason": draft.reason, **seconds, "stages": stages}


def repeat(reply: Path, reference: str) -> dict[str, Any]:
    """Run ``one`` in a process of its own, on a copy."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("kernels", "reports"):
            shutil.copytree(
                Path(name) / KERNEL, root / name / KERNEL, ignore=shutil.ignore_patterns("*.html", "suggest")
            )
        words = [sys.executable, str(Path(__file__).resolve()), "--one", str(reply.resolve()), reference]
        package = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
        env = {**os.environ, "PYTHONPATH": path, STARTED: repr(time.time())}
        done = subprocess.run(words, cwd=root, env=env, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(words: list[str]) -> None:
    """Measure and print."""
    if words[0] == "--one":
        sys.stdout.write(json.dumps(one(words[1], words[2])))
        return
    reference = words[words.index("--reference") + 1] if "--reference" in words else REFERENCE
    times = int(words[1]) if len(words) > 1 and words[1].isdigit() else 3
    found = [repeat(Path(words[0]), reference) for _ in range(times)]
    sys.stdout.write(json.dumps({"reply": Path(words[0]).name, "limits_s": LIMITS_S, "proofs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
