"""What the rules say of a folder of reports of others: how many are read, how many launches are judged, and how well.

    python benchmarks/corpus_figures.py FOLDER [--labels FILE] [--launches] [--file WORD]

FOLDER holds reports, plain or each compressed with xz. Unpacked ones are kept in a temporary folder until the end.
Labels say what a good first diagnosis of a launch must name (any one of ``accept``), per file and launch index:
labels.toml beside FOLDER or in it, unless ``--labels`` names another; without it nothing is held against labels.
NVIDIA's own rules stand beside them: the advice in the report, ranked and read as nvidia_rules.py says.
``--launches`` prints a line for each launch, ``--file`` keeps the files whose names hold a word.
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncu_assist import read_report
from ncu_assist.ceilings import ceilings_of
from ncu_assist.errors import NcuAssistError
from ncu_assist.frame import by_launch, combine_launches
from ncu_assist.record import Device, Launch
from ncu_assist.rules import RULES, Diagnosis, Facts, diagnose

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "gallery"))

from nvidia_rules import Theirs, advice_of
from table import Case

MANY = 250  # metrics of a launch: about what --set detailed collects
SUFFIXES = (".ncu-rep", ".nsight-cuprof-report", ".csv", ".ncu-repz")
SHOWN = (  # of a launch whose label is missed
    "duration", "dram_throughput", "dram_bytes", "l2_busy", "memory_throughput", "l1_data_pipe", "l1_busy",
    "sm_throughput", "issue_slots_busy", "pipe_fma", "pipe_alu", "pipe_xu", "pipe_lsu", "pipe_adu", "pipe_fp64_cycles",
    "pipe_tensor_cycles", "sm_active_share", "waves_per_sm", "grid_size", "block_size", "theoretical_warps",
    "achieved_occupancy", "threads_per_instruction", "sectors_per_request_load", "sectors_per_request_store",
    "sector_efficiency", "l1_hit_rate_load", "l2_hit_rate", "bank_conflict_ways", "local_load_requests",
)  # fmt: skip


@dataclass(frozen=True)
class Read:
    """One file that could be read; ``rules`` are NVIDIA's own."""

    name: str
    launches: Sequence[Launch]
    tables: Mapping[int, Mapping[str, float]]
    device: Device | None
    rules: Any


@dataclass(frozen=True)
class JudgedLaunch:
    """One launch and what the rules say of it."""

    file: Read
    launch: Launch
    facts: Facts
    diagnosis: Diagnosis
    accept: tuple[str, ...] = ()

    @property
    def metrics(self) -> int:
        return len(self.file.tables.get(self.launch.index, {}))

    @property
    def ids(self) -> list[str]:
        return [one.finding.rule for one in self.diagnosis.findings]

    @property
    def theirs(self) -> Theirs:
        """Return what NVIDIA's own rules in the report say."""
        return Theirs(Case("", "", "fault", accept=self.accept), advice_of(self.file, [self.launch]))  # type: ignore[arg-type]

    def right_within(self, first: int) -> bool:
        return any(one in self.accept for one in self.ids[:first])


def files_of(folder: Path, scratch: Path, word: str = "") -> Iterator[Path]:
    """Yield the reports of a folder, those compressed with xz unpacked into ``scratch``."""
    for path in sorted(folder.rglob("*")):
        if word not in path.name or not path.is_file():
            continue
        if path.suffix == ".xz" and Path(path.stem).suffix in SUFFIXES:
            plain = scratch / path.stem
            with lzma.open(path) as packed, plain.open("wb") as out:
                shutil.copyfileobj(packed, out)
            yield plain
        elif path.suffix in SUFFIXES:
            yield path


def read(path: Path) -> Read:
    """Return a report with the numbers of its launches; raises as ``read_report`` does."""
    report = read_report(path)
    return Read(path.name, report.records, by_launch(report.metrics), report.device, report.rules)


def judged(file: Read, labels: Mapping[str, Any]) -> Iterator[JudgedLaunch]:
    """Yield each launch of a file with its diagnosis, on its own."""
    ceilings, own = ceilings_of(file.device) if file.device else None, labels.get(file.name, {})
    for place, launch in enumerate(file.launches):
        combined = combine_launches(None, [launch], [file.tables.get(launch.index, {})])
        facts = Facts(combined, file.device, ceilings)
        accept = tuple(own.get(str(place), {}).get("accept", ()))
        yield JudgedLaunch(file, launch, facts, diagnose(facts, RULES), accept)


def say_figures(found: Sequence[JudgedLaunch]) -> None:
    """Print how many launches are judged and answered, and which ids stand first."""
    many = [one for one in found if one.metrics >= MANY]
    for what, some in ((f"with at least {MANY} metrics", many), ("all", found)):
        count = len(some)
        answers = Counter(one.diagnosis.answer for one in some)
        judged_ones = count - answers["none"]
        say(f"launches, {what}: {count}, judged {judged_ones}, a cause named first {share(answers['cause'], count)},")
        say(f"    that or a throughput answer {share(answers['cause'] + answers['throughput'], count)}")
    say("first: " + ", ".join(f"{name} {n}" for name, n in Counter(o.ids[0] for o in found if o.ids).most_common()))


def say_labels(found: Sequence[JudgedLaunch]) -> None:
    """Print how many labels are met, ours and NVIDIA's, and each that is not with its counters."""
    labelled = [one for one in found if one.accept]
    first, three = (sum(one.right_within(most) for one in labelled) for most in (1, 3))
    their_first, their_three = (sum(one.theirs.right_within(most) for one in labelled) for most in (1, 3))
    files = len({one.file.name for one in labelled})
    say(f"labels: {len(labelled)} in {files} files; right first {first}, among three {three}")
    say(f"NVIDIA's own rules: right first {their_first}, among three {their_three}")
    for one in labelled:
        if not one.right_within(1):
            say_miss(one)


def say_miss(one: JudgedLaunch) -> None:
    mark = "among three" if one.right_within(3) else "missed"
    say(f"\n{mark}: {one.file.name} launch {one.launch.index} {one.launch.kernel}, {one.metrics} metrics")
    say(f"    wanted {', '.join(one.accept)}")
    for ranked in one.diagnosis.findings[:4]:
        finding = ranked.finding
        say(f"    {finding.rule} {ranked.estimated_speedup:.2f}x {ranked.severity}: {finding.message}")
    known = ((key, one.facts.get(key)) for key in SHOWN)
    say("    " + ", ".join(f"{key} {value:.4g}" for key, value in known if value is not None))
    say("    stalls " + ", ".join(f"{name} {part:.0f}" for name, part in list(one.facts.combined.stalls.items())[:6]))


def share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "0"


def say_launch(one: JudgedLaunch) -> None:
    first = one.diagnosis.first
    told = f"{first.finding.rule} {first.estimated_speedup:.2f}x {first.finding.message}" if first else "nothing"
    mark = "" if not one.accept else "ok " if one.right_within(1) else "3rd " if one.right_within(3) else "MISS "
    say(f"{mark}{one.file.name[:44]}#{one.launch.index} {one.metrics} {one.launch.kernel[:30]}: {told[:150]}")


def labels_of(folder: Path, named: Path | None) -> dict[str, Any]:
    """Return the labels, from the file named or from labels.toml in the folder or beside it; empty without one."""
    places = [named] if named else [folder / "labels.toml", folder.parent / "labels.toml"]
    return next((tomllib.loads(path.read_text()) for path in places if path.is_file()), {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--launches", action="store_true")
    parser.add_argument("--file", default="")
    asked = parser.parse_args()
    labels, found, refused, count = labels_of(asked.folder, asked.labels), [], [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in files_of(asked.folder, Path(scratch), asked.file):
            count += 1
            try:
                found += judged(read(path), labels)
            except NcuAssistError as problem:
                refused.append(str(problem))
    say(f"files: {count}, read {count - len(refused)}")
    for one in refused:
        say(f"    refused: {one}")
    if asked.launches:
        for judged_launch in found:
            say_launch(judged_launch)
    say_figures(found)
    if labels:
        say_labels(found)
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
