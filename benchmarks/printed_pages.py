"""Print how much is said of a launch where there is only what ncu printed of it.

    python benchmarks/printed_pages.py FOLDER [--tables]      (from the project's root)

FOLDER holds reports, plain or compressed. Each is printed as ncu does it, with rounded values under labels, with
``--tables`` those of `--print-details all` too, and read again. Prints one JSON object: launches, how many have the
first finding that the report gives, and those that have not, by both; also how many findings of a text promise a gain,
and how many of these a tenth of the time and more than twice what the rule promises of the report.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from compatibility import SUFFIXES, UNEXPLAINED

from ncu_assist import read_report
from ncu_assist.ceilings import ceilings_of
from ncu_assist.errors import NcuAssistError
from ncu_assist.frame import by_launch, combine_launches
from ncu_assist.ncu.report import Report
from ncu_assist.rules import RULES, Facts, diagnose
from ncu_assist.rules.model.diagnosis import Diagnosis

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from ncu.printed_made import printed

NOTABLE = 0.1  # of the time


def main() -> int:
    """Print and compare."""
    folder, with_tables = Path(sys.argv[1]), "--tables" in sys.argv
    seen: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        if not path.name.removesuffix(".xz").removesuffix(".zst").endswith(SUFFIXES[:-1]):
            continue
        try:
            pairs = list(_of_both(path, with_tables))
        except NcuAssistError:
            seen["files not read, or not as text"] += 1
            continue
        for whole, text in pairs:
            first, other = (one.first.finding.rule if one.first else UNEXPLAINED for one in (whole, text))
            seen.update(launches=1, same=first == other)
            others.update([f"{first} -> {other}"] if first != other else [])
            gains = _gains(text)
            promised = _gains(whole)
            seen.update(gains=len(gains))
            seen.update(overstated=sum(NOTABLE < gain > 2 * promised.get(rule, 0.0) for rule, gain in gains.items()))
    sys.stdout.write(json.dumps({**seen, "others": dict(others.most_common())}, indent=1) + "\n")
    return 0


def _gains(diagnosis: Diagnosis) -> dict[str, float]:
    """Return what each finding of a rule would save, in parts of the time."""
    found = (one for one in diagnosis.findings if one.severity != "info")
    return {one.finding.rule: 1 - 1 / one.estimated_speedup for one in found}


def _of_both(path: Path, with_tables: bool) -> Iterator[tuple[Diagnosis, Diagnosis]]:
    """Yield what is said of each launch by its report and by its text; of launches that are in both."""
    report = read_report(path)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "log.txt"
        text.write_text(printed(report, with_tables=with_tables), encoding="utf-8")
        again = read_report(text)
    whole = [found for found, launch in zip(_judged(report), report.records, strict=True) if not launch.interrupted]
    yield from zip(whole, _judged(again), strict=True)


def _judged(report: Report) -> list[Diagnosis]:
    tables = by_launch(report.metrics)
    ceilings = ceilings_of(report.device) if report.device else None
    combined = [combine_launches(None, [one], [tables.get(one.index, {})]) for one in report.records]
    return [diagnose(Facts(one, report.device, ceilings), RULES) for one in combined]


if __name__ == "__main__":
    sys.exit(main())
