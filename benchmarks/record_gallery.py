"""Build the fault gallery, time every case, and record its reports under ncu, small and blanked.

usage: python benchmarks/record_gallery.py OUT [--half blind|blind2|chip | --source FILE]

OUT gets ``times.json`` first, then one report a source file, each as soon as it is done; a run that is cut keeps what
it has, and a second one with the same OUT goes on with the rest. It needs nvcc, ncu and the GPU that the table's sizes
were chosen for, and takes about five minutes. ``--half blind`` builds and records the blind part instead, which has
files of its own: ``times_blind.json`` and reports whose names begin with ``gallery_blind``; ``--half chip`` the part
of kernels bound on the chip, ``--half blind2`` its blind part. ``--source link.cu`` records the cases of one file, new
ones say, and puts their times among those that ``times.json`` of OUT has already.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import blanking

from ncu_assist import process
from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.environment import query_gpus
from ncu_assist.errors import NcuAssistError
from ncu_assist.ncu import compressed, report_file
from ncu_assist.ncu.command import ProfileOptions, child_environment, find_ncu, profile_argv
from ncu_assist.ncu.failures import read_log

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from gallery.table import FOLDER, Case, Part, cases  # noqa: E402

FLAGS = ("-O3", "-lineinfo", "-arch=sm_90a", "-std=c++17")
OPTIONS = ProfileOptions(nvtx_include="gallery/")
CULPRIT = re.compile(r"^(\w+) \(line", re.MULTILINE)  # how the program names the case that failed
ROW = re.compile(r'^(?=\{"name": "(\w+)")(\{.*\}),?$', re.MULTILINE)  # of the times that the program prints
MOST_BYTES = 16 << 20  # of one file
SECONDS_A_LAUNCH, START_SECONDS = 8.0, 120.0  # measured 1.7 s a launch; a limit, not an estimate
LAUNCHES_A_REPORT = 26  # a report is lost as a whole when time runs out


def main(out: Path, part: Part = "main", source: str | None = None) -> int:
    out.mkdir(parents=True, exist_ok=True)
    table = tuple(case for case in cases(part) if source in (None, case.source))
    model = query_gpus().gpus[0].name.split()[1].lower()  # NVIDIA H200 -> h200
    program = build(Path(tempfile.mkdtemp(prefix="gallery-")), table)
    failed = time_cases(program, out / ("times.json" if part == "main" else f"times_{part}.json"), table)
    good = [not failed]
    with ThreadPoolExecutor(max_workers=2) as packers:  # blanking and packing one report while ncu writes the next
        packed = []
        for name, some in parts([case for case in table if case.name not in failed]):
            target = out / f"gallery_{name}_full_{model}.ncu-rep.zst"
            if not target.exists():
                report, whole = profile(program, some, target.name)
                good.append(whole)
                packed += [packers.submit(keep, report, target)] if report else []
        good += [one.result() for one in packed]
    return 0 if all(good) else 1


def build(folder: Path, table: Sequence[Case]) -> Path:
    """Translate the sources of cases side by side; return the program. RuntimeError has the compiler's words."""
    nvcc = find_nvcc()
    sources = [FOLDER / "main.cu", *sorted({FOLDER / case.source for case in table})]
    objects = [folder / f"{source.stem}.o" for source in sources]
    argvs = [[str(nvcc.path), *FLAGS, "-c", str(s), "-o", str(o)] for s, o in zip(sources, objects, strict=True)]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        list(workers.map(_must, argvs))
    program = folder / "gallery"
    _must([str(nvcc.path), FLAGS[2], *map(str, objects), *nvcc.library_flags, "-o", str(program)])
    say("built")
    return program


def time_cases(program: Path, target: Path, table: Sequence[Case]) -> frozenset[str]:
    """Write what ``gallery --time`` prints among what is there, and return the cases that failed; tell wrong results.

    A case that ends the program is left out and the others are timed again.
    """
    failed: set[str] = set()
    while True:
        names = [case.name for case in table if case.name not in failed]
        done = process.run([str(program), "--time", *names], timeout_s=180)
        culprit = CULPRIT.search(done.stderr)
        if done.exit_code in (0, 3) or culprit is None or culprit.group(1) not in names:
            break
        say(f"FAILED: {done.stderr.strip()[-300:]}")
        failed.add(culprit.group(1))
    target.write_text(merged(target.read_text() if target.exists() else "", done.stdout))
    say(f"timed, exit code {done.exit_code}, {done.seconds:.0f} s {done.stderr.strip()[-300:]}")
    wrong = [row for row in _rows(done.stdout) if not row["sound"] or row["agrees"] is False]
    for row in wrong:
        say(f"WRONG RESULT: {row}")
    return frozenset(failed)


def merged(before: str, printed: str) -> str:
    """Return the rows of two lists, each printed a row a line; of a case that both have the second's."""
    old, new = (dict(ROW.findall(text)) for text in (before, printed))
    rows = {**{name: row for name, row in old.items() if name not in new}, **new}
    return "[\n" + ",\n".join(rows.values()) + "\n]\n" if old.keys() - new else printed


def _rows(printed: str) -> list[dict[str, Any]]:
    try:
        return list(json.loads(printed))
    except ValueError:
        say(f"the times cannot be read: {printed[-200:]}")
        return []


def parts(table: Sequence[Case]) -> Iterator[tuple[str, tuple[Case, ...]]]:
    """Yield the cases to profile by source file, cut where a report would hold too many launches."""
    for source in sorted({case.source for case in table}):
        own = [case for case in table if case.source == source and case.profile]
        count = -(-sum(len(case.kernels) for case in own) // LAUNCHES_A_REPORT)
        size = -(-len(own) // count)
        for number in range(count):
            yield f"{Path(source).stem}{number + 1}", tuple(own[number * size : (number + 1) * size])


def profile(program: Path, part: Sequence[Case], name: str) -> tuple[Path | None, bool]:
    """Run some cases under ncu; return their report, None where there is none, and whether it is whole."""
    folder = Path(tempfile.mkdtemp(prefix="gallery-ncu-"))
    report, log = folder / "report.ncu-rep", folder / "ncu.log"
    launches = sum(len(case.kernels) for case in part)
    argv = profile_argv(find_ncu(), OPTIONS, report, log, [str(program), *(case.name for case in part)])
    env = child_environment(os.environ, folder, None)
    done = process.run(argv, env=env, timeout_s=START_SECONDS + SECONDS_A_LAUNCH * launches)
    text = log.read_text(errors="replace") if log.exists() else ""
    profiled = len(read_log(text).profiled)
    say(f"{name}: exit code {done.exit_code}, {profiled} of {launches} launches, {done.seconds:.0f} s")
    whole = done.exit_code == 0 and profiled == launches
    if not whole:
        say(f"{text[-800:]}{done.stderr[-800:]}")
    return report if report.exists() else None, whole


def keep(report: Path, target: Path) -> bool:
    """Write a report, blanked and compressed; the bare one, named so, where blanking fails, and say so."""
    data = report.read_bytes()
    try:
        packed = small(data)
    except (NcuAssistError, RuntimeError) as error:
        say(f"{target.name} could not be blanked: {error}")
        target.with_name(f"NOT_BLANKED_{target.name}").write_bytes(compressed.compress(data))
        return False
    part = target.with_suffix(".part")
    part.write_bytes(packed)
    part.rename(target)
    shutil.rmtree(report.parent)
    say(f"{target.name}: {len(packed) >> 10} KiB of {len(data) >> 10}")
    return len(packed) < MOST_BYTES


def small(report: bytes) -> bytes:
    """Return a report without a word about its machine, compressed. Raises RuntimeError where something is left."""
    host = socket.gethostname()
    secrets = [host] if len(host) >= blanking.MIN_SECRET else []
    blank = blanking.blank(report, secrets)
    if blanking.leftovers(blank, secrets):
        raise RuntimeError("the blanked report still names the machine")
    if report_file.metric_counts(blank) != report_file.metric_counts(report):
        raise RuntimeError("blanking changed the report")
    return compressed.compress(blank, compressed.SMALL)


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def _must(argv: list[str]) -> None:
    done = process.run(argv, timeout_s=300)
    if done.exit_code != 0:
        raise RuntimeError(f"{' '.join(argv)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--half", choices=("blind", "blind2", "chip"))
    only.add_argument("--source", choices=sorted({case.source for case in cases()}))
    asked = parser.parse_args()
    sys.exit(main(asked.out.resolve(), asked.half or "main", asked.source))
