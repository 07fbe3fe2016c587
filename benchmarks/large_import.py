"""What a report of many launches costs: import it, show it, compare it with itself.

    python benchmarks/large_import.py LARGE.ncu-rep

``benchmarks/large_report.py`` makes one. Prints one JSON object: seconds, the largest resident memory of any process in
MB, and the size of the archived run as a share of the report's.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ncu_assist import read_report

REPEATS = 5


def main(path: str) -> None:
    """Measure and print."""
    report = Path(path).resolve()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text("[tool.ncu-assist]\n")
        found = {"launches": len(read_report(report).records), "bytes": report.stat().st_size}
        found["import_s"] = _seconds(folder, "import", str(report), "--version", "large")
        found["memory_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
        archived = sum(file.stat().st_size for file in Path(folder, "reports").rglob("*") if file.is_file())
        found["archived_share"] = archived / found["bytes"]
        for command in (["show", "large"], ["diff", "large", "large"]):
            found[f"{command[0]}_s"] = min(_seconds(folder, *command) for _ in range(REPEATS))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


def _seconds(folder: str, *arguments: str) -> float:
    started = time.perf_counter()
    argv = [sys.executable, "-c", "from ncu_assist.cli import main; main()", *arguments]
    subprocess.run(argv, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main(sys.argv[1])
