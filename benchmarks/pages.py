"""How long pages take to render: the page of a run, a ladder, and the index over many runs.

usage: python benchmarks/pages.py [RUNS] [--keep FOLDER] [--output FILE]      (from the project's root)

The archive is synthetic, made of this repository's recorded runs: each of its kernels holds all recorded versions, as
if profiled again under another name; nothing is cached in between. An older run keeps no code beside its report. A
`whole` time is that of a process from its start, as `ncu-assist report` has it; `render` is within a process that has
done it once before. Prints one JSON object: seconds, the best of a few repeats, also of CPU time over both cores, which
a busy machine changes little; bytes; load.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ncu_assist.pipeline.pages.index import archive_state, kernel_ladder
from ncu_assist.pipeline.pages.run import run_page
from ncu_assist.project import Project, find_project
from ncu_assist.record import encode
from ncu_assist.render.html.index import index_html
from ncu_assist.render.html.ladder import ladder_html
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.reading import CODE

RUNS = 1_000
REPEATS = 5
LIMITS_S = {"run": 1.0, "index": 3.0}  # that a reader waits, on two cores
ONE_LAUNCH, TEN_LAUNCHES, INLINED = "v6_coalesced_store", "v0_torch_eager", "v1_triton_padded"
WHOLE = """
import sys
from pathlib import Path
from ncu_assist.project import find_project
from ncu_assist.store import Store
project = find_project(Path.cwd())
what, name = sys.argv[1:]
if what == "index":
    from ncu_assist.pipeline.pages.index import archive_state
    from ncu_assist.render.html.index import index_html
    text = index_html(archive_state(project))
elif what == "ladder":
    from ncu_assist.pipeline.pages.index import kernel_ladder
    from ncu_assist.render.html.ladder import ladder_html
    text = ladder_html(kernel_ladder(project, name))
else:
    from dataclasses import replace
    from ncu_assist.pipeline.pages.run import run_page
    from ncu_assist.store.reading import CODE
    store = Store(project.reports)
    stored = store.runs("lightning_decode", name)[0]
    if what == "older":
        files = {name: fact for name, fact in stored.run.files.items() if name != CODE}
        stored = replace(stored, run=replace(stored.run, files=files))
    text = run_page(stored, store)
sys.stdout.buffer.write(text.encode("utf-8", "replace"))
"""


def make_archive(recorded: list[StoredRun], folder: Path, runs: int) -> int:
    """Fill ``folder`` with at least this many runs, copies of the recorded ones, and return how many."""
    (folder / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    kernels = -(-runs // len(recorded))
    for number in range(kernels):
        for stored in recorded:
            _copy(stored, folder / "reports", f"{stored.run.kernel}_{number:04d}")
    return kernels * len(recorded)


def _copy(stored: StoredRun, reports: Path, kernel: str) -> None:
    target = reports / kernel / stored.run.version / stored.run.run_id
    for name in stored.run.files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(stored.folder / name, target / name)
    (target / "run.json").write_bytes(encode(replace(stored.run, kernel=kernel, digest="")))


def _without_code(stored: StoredRun) -> StoredRun:
    """Return a run as it would be if it kept no code: all is read from its report."""
    files = {name: fact for name, fact in stored.run.files.items() if name != CODE}
    return replace(stored, run=replace(stored.run, files=files))


def measure(made: Callable[[], str], root: Path, words: tuple[str, str]) -> dict[str, Any]:
    """Return the seconds of one page: rendered again in this process, and by a process of its own."""
    text = made()
    render, whole, cpu = [], [], []
    for _ in range(REPEATS):
        started = time.perf_counter()
        made()
        render.append(time.perf_counter() - started)
        started, spent = time.perf_counter(), _children_s()
        subprocess.run([sys.executable, "-c", WHOLE, *words], cwd=root, stdout=subprocess.DEVNULL, check=True)
        whole.append(time.perf_counter() - started)
        cpu.append(_children_s() - spent)
    seconds = {"render_s": min(render), "whole_s": min(whole), "whole_cpu_s": min(cpu)}
    return {**{name: round(value, 3) for name, value in seconds.items()}, "bytes": len(text.encode())}


def _children_s() -> float:
    """Return the CPU time of all processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pages_of(project: Project, many: Project) -> dict[str, dict[str, Any]]:
    """Return the times of all kinds of pages."""
    store = Store(project.reports)

    def run(version: str) -> Callable[[], str]:
        return lambda: run_page(store.runs("lightning_decode", version)[0], store)

    def older(version: str) -> Callable[[], str]:
        return lambda: run_page(_without_code(store.runs("lightning_decode", version)[0]), store)

    return {
        "run of one launch": measure(run(ONE_LAUNCH), project.root, ("run", ONE_LAUNCH)),
        "run of ten launches": measure(run(TEN_LAUNCHES), project.root, ("run", TEN_LAUNCHES)),
        "run of inlined code": measure(run(INLINED), project.root, ("run", INLINED)),
        "older run of ten launches": measure(older(TEN_LAUNCHES), project.root, ("older", TEN_LAUNCHES)),
        "ladder of 11 versions": measure(
            lambda: ladder_html(kernel_ladder(project, "lightning_decode")),
            project.root,
            ("ladder", "lightning_decode"),
        ),
        "index": measure(lambda: index_html(archive_state(many)), many.root, ("index", "")),
    }


def main(words: list[str]) -> None:
    """Measure and print."""
    project = find_project(Path.cwd())
    recorded = Store(project.reports).runs()
    wanted = int(words[0]) if words and words[0].isdigit() else RUNS
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(words[words.index("--keep") + 1]) if "--keep" in words else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        runs = make_archive(recorded, folder, wanted)
        found = pages_of(project, find_project(folder))
    load = {"before": round(before, 2), "after": round(os.getloadavg()[0], 2)}
    facts = {"cores": os.cpu_count(), "python": platform.python_version(), "load": load, "repeats": REPEATS}
    text = json.dumps({**facts, "limits_s": LIMITS_S, "index_runs": runs, "pages": found}, indent=1) + "\n"
    if "--output" in words:
        Path(words[words.index("--output") + 1]).write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
