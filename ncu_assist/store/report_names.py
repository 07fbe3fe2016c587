"""Which files are reports by their names, and which of these lie in a folder."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.compressed import is_compressed
from ncu_assist.ncu.report_file import blocks, mapped

FORMS, PACKED = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report", ".csv"), ("", ".zst", ".xz", ".gz")
REPORT_ENDINGS = tuple(form + packed for form in FORMS for packed in PACKED)
SURE_ENDINGS = tuple(ending for ending in REPORT_ENDINGS if not ending.startswith(".csv"))  # any table is a .csv
NAMES_SHOWN = 5
UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")
HEAD = 8  # bytes that tell a packed file


def listed(names: Sequence[str]) -> str:
    """Return the first names, and a sign that there are more."""
    return ", ".join(map(_on_one_line, names[:NAMES_SHOWN])) + (" …" if len(names) > NAMES_SHOWN else "")


def as_word(path: str) -> str:
    """Return a path as a word for a shell that no command takes for an option."""
    word = f"./{path}" if path.startswith("-") else path
    if not UNPRINTED.search(word):
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{_on_one_line(escaped)}'"  # as bash and zsh read it


def _on_one_line(name: str) -> str:
    """Return a name with what would break the line as Python and shells spell it: ``\\n``."""
    return UNPRINTED.sub(lambda found: f"\\x{ord(found[0]):02x}" if found[0] != "\n" else "\\n", name)


def nothing_measured(folder: Path, command: str = "show", reports: int = 1) -> UsageProblem:
    """Return the error for an archive without a run: with the command on the newest reports of the folder, if any.

    ``reports`` is how many the command takes; where fewer lie there, the newest can be shown.
    """
    said = "nothing has been measured yet"
    newest = _newest(folder)
    if not newest:
        return UsageProblem(said, "ncu-assist profile KERNEL, or ncu-assist profile PROGRAM, or ncu-assist demo")
    if len(newest) < reports:
        command, reports = "show", 1
    named = " ".join(as_word(name) for name in reversed(newest[:reports]))
    here = f"{len(newest)} reports are here" if len(newest) > 1 else "a report is here"
    return UsageProblem(f"{said}; {here}: {listed(newest)}", f"ncu-assist {command} {named}")


def _newest(folder: Path) -> list[str]:
    """Return the names of the reports in a folder, the newest first: those that can be read and are not cut short."""
    found = []
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name.endswith(SURE_ENDINGS) and path.is_file() and _is_whole(path):
                found.append((path.stat().st_mtime, path.name))
    return [name for _, name in sorted(found, reverse=True)]


def _is_whole(path: Path) -> bool:
    """Tell whether a file is a report that ends where it should; of a packed one, whether it starts like one."""
    try:
        with mapped(path) as data:
            if not is_compressed(data[:HEAD]):
                blocks(data)
    except (OSError, DamagedData):
        return False
    return True
