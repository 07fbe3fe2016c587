"""Write what every reading command answers over the recorded archive, one file a command, to compare two checkouts.

    python benchmarks/command_outputs.py FOLDER [KERNEL …]      (from the project's root; all kernels unless named)
    diff -r BEFORE AFTER

Each file holds the words, the exit code, stdout and stderr. The commands run in this process, over a copy of the
recorded runs without pages, and without a GPU; the copy's path and the moment are taken out, so that what differs
between two folders is what the code changed. All kernels take minutes; one kernel, and what needs none, half of one.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

from ncu_assist.cli import COMMANDS
from ncu_assist.cli import main as command_line
from ncu_assist.rules import RULES

ROOT = Path(__file__).parent.parent
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "NO_COLOR": "1", "COLUMNS": "80", "PATH": ""}
CHIPS = ("gh100", "ga102", "tu102", "gb202")
REASONS = ("barrier", "gmma", "long_scoreboard", "mio_throttle", "selected")
EXPORTED = ("duration", "dram_bytes", "registers")  # the sample: keys that every recorded launch has
Words = tuple[str, ...]


def main(folder: Path, kernels: Sequence[str]) -> None:
    """Write the answers into ``folder``, which must not hold any yet."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        sys.exit(f"{folder} is not empty: answers of two checkouts would be mixed")
    with tempfile.TemporaryDirectory() as temporary, mock.patch.dict(os.environ, ENVIRONMENT):
        root = Path(temporary)
        _copy(root)
        with contextlib.chdir(root):
            for words in _asked(kernels):
                text = _without_place(answer(words), root)
                (folder / f"{_file_name(words)}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")


def _copy(to: Path) -> None:
    """Copy kernels, runs without pages, and the reports of the tests: a command may write beside any of them."""
    shutil.copytree(ROOT / "kernels", to / "kernels")
    shutil.copytree(ROOT / "reports", to / "reports", ignore=shutil.ignore_patterns("*.html"))
    shutil.copytree(ROOT / "tests" / "data", to / "data")


def _asked(kernels: Sequence[str]) -> Iterator[Words]:
    """Yield the words of every command, as seen from the copy."""
    for folder in sorted(Path("kernels").iterdir()):
        if any(Path("reports", folder.name).glob("*/*/run.json")) and (not kernels or folder.name in kernels):
            yield from _of_kernel(folder.name)
    yield from _of_reports()
    yield from _of_nothing()


def _of_kernel(kernel: str) -> Iterator[Words]:
    for words in (("list",), ("history",), ("gate",), ("ledger",), ("baseline", "show")):
        yield (*words, kernel)
        yield (*words, kernel, "--json")
    yield "history", kernel, "--format", "markdown"
    yield "gate", kernel, "--format", "markdown", "--against", "v0"
    yield "suggest", kernel, "--dry-run"
    yield "report", kernel, "--output", "-"
    for path in sorted(Path("reports", kernel).glob("*/*/run.json")):
        run = f"{kernel}/{path.parent.parent.name}@{path.parent.name}"
        yield "show", run
        yield "show", run, "--json"
        yield "export", run, "--metrics", ",".join(EXPORTED)
    yield from _of_neighbours(kernel)


def _of_neighbours(kernel: str) -> Iterator[Words]:
    names = {path.stem.split("_")[0] for path in Path("kernels", kernel).glob("v*_*.*")}
    versions = [f"{kernel}/{name}" for name in sorted(names, key=lambda name: int(name[1:]))]
    for before, after in itertools.pairwise(versions):
        for form in ((), ("--explain",), ("--json",), ("--format", "markdown")):
            yield "diff", before, after, *form
    first, last = versions[0], versions[-1]
    yield "diff", first, last, "--all", "--json"
    yield "diff", first, last, "--format", "html"
    yield "show", last, "--lines", "--ncu-rules"
    yield "report", last, "--output", "-"
    for table in ("metrics", "rules", "session", "instances", "lines"):
        yield "export", last, "--table", table


def _of_reports() -> Iterator[Words]:
    for path in sorted(Path("data").glob("*.ncu-rep.zst")):
        yield "show", str(path), "--lines", "--ncu-rules"
        yield "show", str(path), "--json"
        yield "diff", str(path), str(path)
        yield "export", str(path), "--table", "session"


def _of_nothing() -> Iterator[Words]:
    for words in (("list",), ("baseline", "show"), ("verify",), ("metrics",), ("ceilings", "--show"), ("ledger",)):
        yield words
        yield *words, "--json"
    for chip in CHIPS:
        yield "metrics", "--chip", chip
    keys = [row["key"] for row in json.loads(_said(("metrics", "--json"))[1])["metrics"]]
    for name in sorted({*RULES, *keys, *(f"stall_{name}" for name in REASONS)}):
        yield "explain", name
    for name in ("SOLBottleneck", EXPORTED[0]):
        yield "explain", name, "--json"
    for command in COMMANDS:
        yield command, "--help"


def answer(words: Words) -> str:
    """Return what ``ncu-assist`` answers to these words, as the text of a file."""
    code, out, err = _said(words)
    return f"$ ncu-assist {' '.join(words)}\nexit code {code}\n--- stdout\n{out}\n--- stderr\n{err}\n"


def _said(words: Words) -> tuple[object, str, str]:
    """Return exit code, stdout and stderr of a command."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    code: object = None
    with (
        mock.patch.object(sys, "argv", ["ncu-assist", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            command_line()
        except SystemExit as ended:
            code = ended.code
        except Exception as error:  # a bug in one command is an answer too, and the others are still asked
            code = f"{type(error).__name__}: {error}"
    return code, _written(out), _written(err)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "backslashreplace")


def _without_place(text: str, root: Path) -> str:
    """Return a text without where the copy lies and without the day and time of now."""
    text = text.replace(str(root.resolve()), "PROJECT").replace(str(root), "PROJECT")
    today = datetime.now(UTC)
    text = re.sub(rf"{today:%Y%m%d}T\d{{6}}Z", "NOW", text)
    return re.sub(rf"{today:%Y-%m-%d}(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?)?", "TODAY", text)


def _file_name(words: Words) -> str:
    return re.sub(r"[^\w.@=-]+", "_", " ".join(words)).strip("_")[:180]


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
