"""What `profile --adaptive` costs in answers: the gallery judged again without the sections that it would leave out.

usage: python benchmarks/adaptive_loss.py [--without SECTION …]      (from the project's root; no GPU)

Every recorded case of the gallery was profiled with ``--set full``. Its launches are judged as they are, and with the
metrics alone that the sections chosen for it have. Which section has a metric is what the report itself says of its
sections; of what it does not say, such as the tables of memory, the table below, which leaves a metric to one section
where several could have it. Prints how many cases of each group got which sections, and each whose first finding
changes; the exit code is 3 where one does. ``--without`` leaves out further sections, to see what they are for.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

import gallery_scores as gallery
from table import Case

from ncu_assist import read_report
from ncu_assist.frame import by_launch, combine_launches
from ncu_assist.frame.columns import Values
from ncu_assist.ncu import compressed, report_file
from ncu_assist.ncu.command import ALL_SECTIONS, MEMORY_SECTIONS
from ncu_assist.pipeline.profiling import is_bound_by_memory
from ncu_assist.record import Launch
from ncu_assist.rules import RULES, Facts, diagnose

PARTS = (("main", "blind"), ("blind2",), ("blind3",), ("chip",))
SECTIONS_OF_RESULT = 17  # field of a launch
NAME = re.compile(r"(?<![\w:.])[A-Za-z]\w*__[\w.:]+")
DATA = gallery.GALLERY.parent / "data"
SMALL = DATA / "transpose_basic_h200_2025.3.1.ncu-rep.zst"  # of the sections that every choice has, but two
ALWAYS = re.compile(r"device__|launch__|profiler__|gpu__time")  # attributes and the like: with any section
OTHERS = (  # what no section of the report names
    (r"sm__ops_path", "SpeedOfLight_HierarchicalTensorRooflineChart"),
    (r"smsp__average_warp|smsp__thread_inst", "WarpStateStats"),
    (r"smsp__(warps_|issue_)", "SchedulerStats"),
    (r"(derived__)?memory_|smsp__pcsamp|(thread_)?inst_executed|smsp__(sass_)?branch", "SourceCounters"),
    (r".*sass_thread_inst", "SpeedOfLight_HierarchicalDoubleRooflineChart"),
    (
        r"smsp__(inst_executed_op|sass_|imc)|sm__(sass_|icc)|l1tex|lts|idc|gcc|dram|lrc|pcie",
        "MemoryWorkloadAnalysis_Tables",
    ),
    (r"sass__", "InstructionStats"),
    (r"sm__", "ComputeWorkloadAnalysis"),
)


@cache
def named_by_sections() -> dict[str, frozenset[str]]:
    """Return the sections of a recorded report of the full set, each with the texts in it that may be metrics."""
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = next(iter(sorted(gallery.REPORTS.glob("*.ncu-rep.zst"))))
        data = compressed.plain_file(source, Path(folder)).read_bytes()
    for entry in report_file.results(data):
        for field in report_file.fields(data, entry.start, entry.end):
            if field.number == SECTIONS_OF_RESULT:
                texts = [text for _, _, text in report_file.texts(data, field.body, field.end)]
                found.setdefault(texts[0], set()).update(name for text in texts for name in NAME.findall(text))
    return {name: frozenset(texts) for name, texts in found.items()}


@cache
def small() -> frozenset[str]:
    return frozenset(read_report(SMALL).metrics["metric"].unique())


@cache
def sections_of(name: str) -> frozenset[str]:
    """Return the sections that have a metric; all for one that comes with any."""
    if ALWAYS.match(name) or name in small():
        return frozenset(ALL_SECTIONS)
    own = frozenset(section for section, names in named_by_sections().items() if name in names)
    return own or frozenset(section for form, section in OTHERS if re.match(form, name))


class Kept(Mapping[str, float]):
    """The metrics of a launch that some sections have."""

    def __init__(self, values: Values, sections: Set[str]) -> None:
        self._values, self._sections = values, sections

    def __getitem__(self, name: str) -> float:
        if self._sections.isdisjoint(sections_of(name)):
            raise KeyError(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._values if not self._sections.isdisjoint(sections_of(name)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def chosen(tables: list[Values]) -> tuple[str, ...]:
    """Return the sections that are collected of launches."""
    return MEMORY_SECTIONS if is_bound_by_memory(tables) else ALL_SECTIONS


def cases() -> Iterator[tuple[Case, gallery.Report, list[Launch], list[Values]]]:
    """Yield the recorded cases of all parts, each with its launches and their metrics."""
    for parts in PARTS:
        folder = gallery.folder_of(parts[0])
        tables = {id(report): by_launch(report.metrics) for report in gallery.reports(folder)}
        for case in (one for part in parts for one in gallery.cases(part) if one.profile):
            for report in gallery.reports(folder):
                own = [one for one in report.records if case.name in (one.ranges or (one.kernel,))]
                if own:
                    yield case, report, own, [tables[id(report)][one.index] for one in own]
                    break


def first(case: Case, report: gallery.Report, launches: list[Launch], tables: list[Values]) -> str:
    """Return the rule that is found first, and the pipe or limiter that it names."""
    ceilings = gallery.ceilings_of(report.device) if report.device else None
    combined = combine_launches(None, launches, tables)
    found = diagnose(Facts(combined, report.device, ceilings, case.bytes, case.flops), RULES).findings
    return " ".join((found[0].finding.rule, *found[0].finding.detail.values())) if found else "nothing"


def main() -> int:
    """Judge, compare, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", nargs="*", default=[])
    asked = parser.parse_args()
    groups: Counter[str] = Counter()
    changed = []
    for case, report, launches, tables in cases():
        sections = chosen(tables)
        groups["memory" if sections == MEMORY_SECTIONS else "all"] += 1
        kept = frozenset(sections) - set(asked.without)
        before = first(case, report, launches, tables)
        now = first(case, report, launches, [Kept(one, kept) for one in tables])
        if before != now:
            changed.append(f"{case.name} ({case.expect or case.kind}): {before} -> {now}")
    total = groups.total()
    lines = [f"{groups['memory']} of {total} cases get the sections of memory, the others all that rules ask for"]
    lines += [*changed, f"first findings that change: {len(changed)} of {total}"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 3 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
