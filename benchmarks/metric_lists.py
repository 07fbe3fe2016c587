"""Write the metric names that ncu knows on each chip into the package. Needs ncu, but no GPU, to make its input:

    for chip in tu102 ga100 ga102 ad102 gh100 gb100 gb202; do
      ncu --query-metrics --chips $chip > query_$chip.txt
      ncu --query-metrics-collection launch --chips $chip > querylaunch_$chip.txt
      ncu --query-metrics-collection source --chips $chip > querysource_$chip.txt
    done

    python benchmarks/metric_lists.py FOLDER FULL_REPORT VERSION

FULL_REPORT is a report of --set full: it holds names that no query lists, because ncu or its sections compute them.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import ncu_report
import zstandard

from ncu_assist.ncu.catalogue.chips import CHIPS

TARGET = Path(__file__).parent.parent / "ncu_assist" / "ncu" / "data"
COLLECTIONS = {"profiling": "query", "launch": "querylaunch", "source": "querysource"}
ROW = re.compile(r"^(\S+)\s+(Counter|Ratio|Throughput)\s")
TYPE_WIDTH, UNIT_WIDTH = 16, 16  # of ncu's columns, the blank between them included
# What a report holds beside metrics of the kernel: facts of the device and the machine, samplers, scratch values. The
# link of the GPU stays: the share of it that a kernel fills is a metric.
OTHER = re.compile(
    r"^(device__(?!attribute_gpu_pci_ext_gpu_link_)|numa__|nvlink__|c2clink__|profiler__|breakdown:|group:|pmsampling:|derived_temp)|Triage"
)

Row = tuple[str, str, str, str]  # name, kind, unit, collection


def rows_of(text: str, collection: str) -> list[Row]:
    """Return the rows of one answer of --query-metrics, without ncu's descriptions."""
    found = []
    for line in text.splitlines():
        if match := ROW.match(line):
            unit = line[match.start(2) + TYPE_WIDTH :][:UNIT_WIDTH].strip()
            found.append((match.group(1), match.group(2), unit, collection))
    return found


def unlisted(report: Path, listed: set[str]) -> list[Row]:
    """Return the names in a report whose base no query lists."""
    action = ncu_report.load_report(str(report))[0][0]
    names = [name for name in action.metric_names() if not OTHER.search(name)]
    bases = {name: re.split(r"\.(?:sum|avg|min|max|pct|ratio|max_rate)\b", name)[0] for name in names}
    missing = sorted(name for name in names if bases[name] not in listed)
    return [(name, "", action.metric_by_name(name).unit(), "report") for name in missing]


def main() -> None:
    folder, report, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    chips: dict[Row, list[str]] = defaultdict(list)
    for chip in CHIPS:
        for collection, stem in COLLECTIONS.items():
            for row in rows_of((folder / f"{stem}_{chip}.txt").read_text(), collection):
                chips[row].append(chip)
    for row in unlisted(report, {row[0] for row in chips}):
        chips[row] = ["gh100"]
    lines = ["\t".join(["name", "kind", "unit", "collection", "chips"])]
    lines += ["\t".join([*row, ",".join(on)]) for row, on in sorted(chips.items())]
    target = TARGET / f"metric_names_{version}.tsv.zst"
    target.write_bytes(zstandard.ZstdCompressor(level=19).compress("\n".join(lines).encode()))
    sys.stdout.write(f"{len(chips)} names, {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
