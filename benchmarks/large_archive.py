"""Make an archive of many runs out of recorded ones with noise, and measure what commands take on it.

    python benchmarks/large_archive.py make FOLDER RUNS [--loose]
    python benchmarks/large_archive.py measure FOLDER

Each run is a recorded one with another id and date: times and 200 counters of its first launch strayed by 1 %, ten
samples a workload. ``--loose`` writes folders, as `profile` does; else packs are written at once. ``measure`` runs each
command in a process of its own, once without a cache and five times with it, and tells wall time, CPU time and memory
of the first, and of the five the least times and the most memory.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ncu_assist.process import run as run_process
from ncu_assist.record import FileFact, encode
from ncu_assist.store import Store, StoredRun, metrics_parquet, new_run_id, samples_parquet
from ncu_assist.store.findings import FINDINGS, findings_json
from ncu_assist.store.packs import MOST_RUNS, RunFiles, write_pack

ROOT = Path(__file__).parents[1]
METRICS, SAMPLES, NOISE = 200, 10, 0.01
WARM = 5  # other work on the machine only lengthens a run
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
ALL_METRICS = "select metric, count(*) as n, avg(value) as mean, stddev(value) as sd from metrics group by metric"
COMMANDS = (
    ("list",),
    ("history", "softmax"),
    ("query", ALL_METRICS),
    ("query", "select kernel, version, count(*), median(median_ns) from timings group by all"),
    ("show", "softmax/v2"),
)


def recorded() -> dict[str, list[StoredRun]]:
    """Return the recorded runs of this repository that have counters and times, by kernel with a folder."""
    found: dict[str, list[StoredRun]] = {}
    for stored in Store(ROOT / "reports").runs():
        run = stored.run
        if run.launches and run.bench and (ROOT / "kernels" / run.kernel).is_dir() and "metrics.parquet" in run.files:
            found.setdefault(run.kernel, []).append(stored)
    return found


class Template:
    """A recorded run that others are made of."""

    def __init__(self, stored: StoredRun) -> None:
        run = stored.run
        table = stored.metrics()
        first = table[table["launch"] == run.launches[0].index]
        self.metrics = pq.ParquetFile(io.BytesIO(metrics_parquet(first[first["value"].notna()].head(METRICS))))
        self.groups = [self.metrics.read_row_group(one) for one in range(self.metrics.num_row_groups)]
        samples = stored.samples()
        own = samples[(samples["version"] == run.version) & ~samples["late"]]
        some = own.groupby("workload", sort=False).head(SAMPLES).reset_index(drop=True)
        self.samples = pq.read_table(io.BytesIO(samples_parquet(some)))
        self.times, names = some["time_ns"].to_numpy(), some["workload"].to_numpy()
        self.places = {name: np.flatnonzero(names == name) for name in dict.fromkeys(names)}
        self.files = {name: stored.read(name) for name in run.files if name.startswith("source/")}
        if findings := stored.findings():
            launch = run.launches[0]
            judged = tuple(
                one for one in findings.judged if one.workload == launch.workload and one.launch in (None, launch.index)
            )
            self.files[FINDINGS] = findings_json(replace(findings, judged=judged))
        self.run = replace(run, launches=run.launches[:1], profile=None, dropped={}, files={})
        self.profile = run.profile

    def made(self, number: int, rng: np.random.Generator) -> tuple[Any, dict[str, bytes]]:
        """Return the record and the files of a run that differs from it by noise."""
        moment = FIRST + timedelta(minutes=number)
        assert self.run.bench is not None
        bench = f"{self.run.bench.bench_id}-{number // 10}"
        times = self.times * rng.normal(1, NOISE, len(self.times))
        known = {name: times[places] for name, places in self.places.items()}
        timings = tuple(
            replace(
                one,
                bench_id=bench,
                samples=len(known[one.workload]),
                dropped=0,
                median_ns=float(np.median(known[one.workload])),
            )
            for one in self.run.bench.timings
            if one.workload in known
        )
        run = replace(
            self.run,
            run_id=new_run_id(moment, f"{self.run.version}{number}"),
            created=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            bench=replace(self.run.bench, bench_id=bench, timings=timings),
            profile=replace(self.profile, launches_logged=1) if self.profile else None,
        )
        samples = _with(self.samples, "bench_id", pa.array([bench] * len(times)))
        samples = _with(samples, "time_ns", pa.array(times))
        strayed = [
            _with(one, "value", pa.array(one.column("value").to_numpy() * rng.normal(1, NOISE, len(one))))
            for one in self.groups
        ]
        return run, {**self.files, "metrics.parquet": _bytes(strayed), "samples.parquet": _bytes([samples])}


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)


def _bytes(tables: list[pa.Table]) -> bytes:
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, tables[0].schema, compression="zstd") as writer:
        for one in tables:
            writer.write_table(one)
    return sink.getvalue()


def make(folder: Path, runs: int, loose: bool) -> None:
    """Write an archive of this many runs."""
    rng, families = np.random.default_rng(1), recorded()
    each = runs // len(families)
    (folder / "reports").mkdir(parents=True)
    start, number = time.perf_counter(), 0
    for place, (kernel, stored) in enumerate(families.items()):
        shutil.copytree(ROOT / "kernels" / kernel, folder / "kernels" / kernel)
        templates = [Template(one) for one in stored]
        count = runs - each * (len(families) - 1) if place == 0 else each
        if loose:
            for index in range(count):
                Store(folder / "reports").save(*templates[index % len(templates)].made(number := number + 1, rng))
            continue
        for low in range(0, count, MOST_RUNS):
            some = [templates[i % len(templates)] for i in range(low, min(low + MOST_RUNS, count))]
            write_pack(folder / "reports", kernel, list(_packed(some, number, rng)))
            number += len(some)
            print(f"{number} runs in {time.perf_counter() - start:.0f} s", file=sys.stderr)  # noqa: T201


def _packed(templates: list[Template], number: int, rng: np.random.Generator) -> Iterator[RunFiles]:
    import hashlib

    for place, template in enumerate(templates):
        run, files = template.made(number + place, rng)
        facts = {name: FileFact(len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
        record = encode(replace(run, files=facts))
        yield RunFiles(run.version, run.run_id, number + place, record, sorted(files), files.__getitem__)


def measure(folder: Path) -> None:
    """Print what each command takes, the first time and with a warm cache."""
    shutil.rmtree(folder / ".ncu-assist", ignore_errors=True)
    rows = []
    index = (sys.executable, "-c", INDEX)
    for words in (*((sys.executable, "-m", "ncu_assist", *one) for one in COMMANDS), index):
        cold, *several = (_timed(words, folder) for _ in range(1 + WARM))
        of = {"exit": max, "wall_s": min, "cpu_s": min, "mb": max}
        warm = {name: one(found[name] for found in several) for name, one in of.items()}
        name = "index page" if words is index else " ".join(words[3:])[:60]
        rows.append({"command": name, **{f"cold_{k}": v for k, v in cold.items()}, **warm})
    print(pd.DataFrame(rows).to_string(index=False))  # noqa: T201


INDEX = """
import gc, os
from pathlib import Path
from ncu_assist.cli import MANY_OBJECTS, THREADS
from ncu_assist.pipeline.pages.writing import Pages
from ncu_assist.project import find_project
class Silent:
    def note(self, text): pass
    def status(self, text): pass
gc.set_threshold(MANY_OBJECTS)  # as every command does
os.environ.setdefault(THREADS, "1")  # as `report` does
Pages(find_project(Path.cwd()), Silent()).index()
"""
TIMED = """
import json, os, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[2:], cwd=sys.argv[1], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"exit": done.returncode, "wall_s": round(time.perf_counter() - start, 2),
    "cpu_s": round(used.ru_utime + used.ru_stime, 2), "mb": used.ru_maxrss // 1024}))
"""


def _timed(words: tuple[str, ...], folder: Path) -> dict[str, Any]:
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(folder / ".pyc"),
    }
    done = run_process([sys.executable, "-c", TIMED, str(folder), *words], env=env, timeout_s=3600.0)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Read the words of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "measure"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("runs", type=int, nargs="?", default=1000)
    parser.add_argument("--loose", action="store_true")
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.runs, given.loose)
    else:
        measure(given.folder)


if __name__ == "__main__":
    main()
