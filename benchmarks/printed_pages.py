"""Print how much is said of a launch where there is only what ncu printed of it.

    python benchmarks/printed_pages.py FOLDER [--tables]      (from the project's root)

FOLDER holds reports, plain or compressed. Each is printed as ncu does it, with rounded values under labels, with
``--tables`` those of `--print-details all` too, and read again. Prints one JSON object: launches, how many have the
first finding that the report gives, and those that have not, by both.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from compatibility import SUFFIXES, UNEXPLAINED

from ncu_assist import read_report
from ncu_assist.ceilings import ceilings_of
from ncu_assist.errors import NcuAssistError
from ncu_assist.frame import by_launch, combine_launches
from ncu_assist.ncu.report import Report
from ncu_assist.rules import RULES, Facts, diagnose

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from ncu.printed_made import printed


def main() -> int:
    """Print and compare."""
    folder, with_tables = Path(sys.argv[1]), "--tables" in sys.argv
    seen: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        if not path.name.removesuffix(".xz").removesuffix(".zst").endswith(SUFFIXES[:-1]):
            continue
        try:
            pairs = _of_both(path, with_tables)
        except NcuAssistError:
            seen["files not read, or not as text"] += 1
            continue
        seen.update(launches=len(pairs), same=sum(one == other for one, other in pairs))
        others.update(f"{one} -> {other}" for one, other in pairs if one != other)
    sys.stdout.write(json.dumps({**seen, "others": dict(others.most_common())}, indent=1) + "\n")
    return 0


def _of_both(path: Path, with_tables: bool) -> list[tuple[str, str]]:
    """Return the first finding of each launch, from a report and from its text; launches that are in both."""
    report = read_report(path)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "log.txt"
        text.write_text(printed(report, with_tables=with_tables), encoding="utf-8")
        again = read_report(text)
    whole = [found for found, launch in zip(_firsts(report), report.records, strict=True) if not launch.interrupted]
    return list(zip(whole, _firsts(again), strict=True))


def _firsts(report: Report) -> list[str]:
    tables = by_launch(report.metrics)
    ceilings = ceilings_of(report.device) if report.device else None
    combined = [combine_launches(None, [one], [tables.get(one.index, {})]) for one in report.records]
    found = [diagnose(Facts(one, report.device, ceilings), RULES).first for one in combined]
    return [one.finding.rule if one else UNEXPLAINED for one in found]


if __name__ == "__main__":
    sys.exit(main())
