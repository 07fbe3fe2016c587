"""Whether reports are read as NVIDIA's reader reads them: thousands of values of a folder of reports, ours against its.

    python benchmarks/corpus_values.py FOLDER [--values 5000] [--seed 1]

FOLDER holds reports, packed or not. Every launch, every name of a metric and every unit is compared, and values drawn
evenly over the files: numbers, texts and instances with their identifiers, where a file has them. Prints one JSON
object; the exit code is 1 when anything differs. NVIDIA's reader runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ncu_assist.errors import NcuAssistError
from ncu_assist.ncu import compressed
from ncu_assist.ncu.report import Report, read_report

KINDS = ("number", "text", "instance")


def main() -> int:
    """Compare all files, and print what was compared and what differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--values", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nvidias", type=int, help=argparse.SUPPRESS)  # values to draw of one file, in the child
    asked = parser.parse_args()
    if asked.nvidias:
        sys.stdout.write(json.dumps(_nvidias(asked.folder, asked.nvidias, random.Random(asked.seed))))
        return 0
    files = [path for path in sorted(asked.folder.iterdir()) if path.is_file() and ".csv" not in path.name]
    compared = Compared()
    for number, path in enumerate(files):
        compared.add(path, math.ceil(asked.values / len(files)), asked.seed + number)
    sys.stdout.write(json.dumps(compared.result(), indent=1) + "\n")
    return 1 if compared.differing else 0


def _nvidias(path: Path, count: int, draw: random.Random) -> list[dict[str, Any]]:
    """Return what NVIDIA's reader says of each launch, with ``count`` of the values."""
    import ncu_report

    actions = [action for part in ncu_report.load_report(str(path)) for action in part]
    launches = [_launch(action) for action in actions]
    every: dict[str, list[tuple[int, str, int]]] = {kind: [] for kind in KINDS}
    for number, action in enumerate(actions):
        for name in action.metric_names():
            metric = action.metric_by_name(name)
            is_text = metric.has_value() and metric.kind() == metric.ValueKind_STRING
            every["text" if is_text else "number"].append((number, name, -1))
            every["instance"] += [(number, name, place) for place in range(metric.num_instances())]
    for place, kind in enumerate(KINDS):
        share = min(len(every[kind]), math.ceil(count if place == 2 else count / 3))
        chosen = draw.sample(every[kind], min(share, len(every[kind])))
        for number, name, at in chosen:
            launches[number]["values"].append([kind, name, at, *_value(actions[number].metric_by_name(name), at)])
    return launches


def _launch(action: Any) -> dict[str, Any]:
    units = {name: action.metric_by_name(name).unit() for name in action.metric_names()}
    return {"names": [action.name(base) for base in range(3)], "units": units, "values": []}


def _value(metric: Any, place: int) -> list[str | None]:
    """Return a value as text, exact, and what identifies an instance; None where there is none."""
    if place < 0:
        return [_plain(metric.value()) if metric.has_value() else None, None]
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    return [_plain(metric.value(place)), None if ids is None else _plain(ids.value(place))]


def _plain(value: object) -> str:
    return value if isinstance(value, str) else repr(float(value))  # type: ignore[arg-type]


@dataclass
class Compared:
    """What was compared so far, and what differed."""

    counts: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)

    def result(self) -> dict[str, Any]:
        return {**self.counts, "differ": len(self.differing), "differing": self.differing[:50]}

    def add(self, path: Path, count: int, seed: int) -> None:
        """Compare one file."""
        self.counts["files"] += 1
        with tempfile.TemporaryDirectory() as folder:
            link = Path(folder) / "report.ncu-rep"
            link.symlink_to(compressed.plain_file(path, Path(folder)).absolute())
            argv = [sys.executable, __file__, str(link), "--nvidias", str(count), "--seed", str(seed)]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
        try:
            report = read_report(path)
        except NcuAssistError as error:
            self.differing.append(f"{path.name}: refused: {error.message}")
            return
        if done.returncode != 0:
            self.differing.append(f"{path.name}: NVIDIA's reader failed: {done.stderr[-200:]}")
            return
        self.differing += [f"{path.name}: {words}" for words in self._report(report, json.loads(done.stdout))]

    def _report(self, report: Report, known: list[dict[str, Any]]) -> Iterator[str]:
        contents = report.contents
        if len(contents.launches) != len(known):
            yield f"{len(contents.launches)} launches, NVIDIA's reader has {len(known)}"
            return
        instances = dict(list(report.instances.groupby(["launch", "metric"], observed=True)))
        for number, (facts, part) in enumerate(zip(known, contents.slices(), strict=True)):
            self.counts["launches"] += 1
            one, names = contents.launches[number], contents.names(number)
            if [one.kernel, one.signature, one.mangled] != facts["names"]:
                yield f"launch {number}: called {one.kernel}, {one.signature}, {one.mangled}, not {facts['names']}"
            yield from self._names(number, names, contents.units, facts["units"])
            own: dict[str, str | None] = dict(zip(names, map(repr, contents.values[part].tolist()), strict=True))
            own |= {names[place]: contents.texts[text] for place, text in one.texts.items()}
            for kind, name, at, value, key in facts["values"]:
                self.counts[f"values: {kind}s"] += 1
                ours = (own.get(name), None) if at < 0 else _instance(instances.get((number, name)), at, key)
                if ours != (repr(math.nan) if value is None else value, key):
                    yield f"launch {number}: {kind} {name} {at} is {ours}, not {(value, key)}"

    def _names(self, number: int, names: tuple[str, ...], own: dict[str, str], units: dict[str, str]) -> Iterator[str]:
        self.counts["names"] += len(units)
        if set(names) != set(units):
            yield f"launch {number}: names differ, such as {sorted(set(names) ^ set(units))[:3]}"
        wrong = [name for name in names if name in units and own[name] != units[name]]
        if wrong:
            yield f"launch {number}: {len(wrong)} units, such as {wrong[0]}: {own[wrong[0]]}, not {units[wrong[0]]}"


def _instance(frame: Any, place: int, key: str | None) -> tuple[str | None, str | None]:
    """Return the value of an instance as text, and what identifies it where NVIDIA's reader says so."""
    if frame is None or place >= len(frame):
        return None, None
    row = frame.iloc[place]
    value = row.text if row.text is not None else repr(float(row.value))
    if key is None:
        return value, None
    return value, row.id_text if row.id_text is not None else repr(float(row.id))


if __name__ == "__main__":
    sys.exit(main())
