"""What a file is that is no report of Nsight Compute: people take many things for one."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

PROFILE = "profile with Nsight Compute: ncu --set full -o FILE PROGRAM"
UNPACK = "unpack it first"
FETCH = "fetch the file itself: git lfs pull"
DOWNLOAD = "download the file itself, on GitHub by 'Download raw file'"
CHECK = "check the file's name"
REPORTS = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report")


@dataclass(frozen=True)
class FileKind:
    """What a file is, behind 'this is', and one thing to try."""

    what: str
    hint: str = CHECK


TRIAGE = "ncu-assist triage FILE, which says where the time goes; for counters ncu --set full -o REPORT PROGRAM"
NSYS = FileKind("a Nsight Systems report: a timeline, without the counters of kernels", TRIAGE)
BY_NAME = {  # endings of files whose first bytes tell nothing
    **dict.fromkeys((".nsys-rep", ".qdrep", ".qdstrm"), NSYS),
    ".ncu-proj": FileKind("a project of Nsight Compute: it names reports and holds none", "give one of its reports"),
    ".nvvp": FileKind("a profile of nvprof or the Visual Profiler", PROFILE),
}
BY_START = {  # by the first bytes
    b"7z\xbc\xaf": FileKind("a 7z archive", UNPACK),
    b"Rar!": FileKind("a rar archive", UNPACK),
    b"BZh": FileKind("compressed with bzip2", UNPACK),
    b"\x7fELF": FileKind("a program, a library or a cubin (ELF)"),
    b"MZ": FileKind("a program for Windows"),
    b"\xff\xd8\xff": FileKind("a picture (JPEG)"),
    b"\x89PNG": FileKind("a picture (PNG)"),
    b"GIF8": FileKind("a picture (GIF)"),
    b"RIFF": FileKind("a picture (WebP) or a recording"),
    b"%PDF": FileKind("a PDF document"),
    b"PAR1": FileKind("a Parquet file", "read an archived run by its name"),
    b"\x93NUMPY": FileKind("a NumPy array"),
    b"\x89HDF": FileKind("an HDF5 file"),
    b"version https://git-lfs": FileKind("a pointer of Git LFS to a file that was not fetched", FETCH),
}
BY_TEXT: dict[str, FileKind] = {  # by a pattern in the first bytes
    r"(?i)\s*<(!doctype )?html": FileKind("a web page", DOWNLOAD),
    r"\s*<\?xml": FileKind("an XML file"),
    r'\s*[{\[]\s*["{\[\]}]': FileKind("a JSON file", "ncu-assist triage FILE, if it is a trace of torch.profiler"),
    r"(//.*\s+)*\.version \d": FileKind("PTX code"),
    r"(?s).*^\s*Section: (GPU Speed Of Light|Command line profiler metrics)": FileKind(
        "what ncu prints for people, with rounded values",
        "export the report: ncu --import FILE.ncu-rep --csv --page raw",
    ),
}
# Nsight Systems calls itself and its own types by these names, also in a file that was given another ending.
NSYS_WORDS = re.compile(rb"Nsight Systems|QuadD")
PACKED = re.compile(r"\.(zst|xz|gz)$")
TAR, TAR_AT = b"ustar", 257
# Tables that Nsight Systems and nvprof have in the databases that they export.
NSYS_TABLE, NVPROF_TABLE = "StringIds", "StringTable"


def file_kind(head: bytes, path: Path, name: str) -> FileKind | None:
    """Return what the file at ``path`` is, by its first bytes and its name; None where neither tells.

    A file called as a report is, and a text that may be a table, are for the readers to judge.
    """
    if head.startswith(b"SQLite format 3"):
        return _database(path)
    if head.startswith(b"PK\x03\x04"):
        return _zip(path)
    if head[TAR_AT:].startswith(TAR):
        return FileKind("a tar archive", UNPACK)
    found = next((kind for start, kind in BY_START.items() if head.startswith(start)), None)
    if found is None:
        text = head.decode("utf-8", "replace")
        found = next((kind for pattern, kind in BY_TEXT.items() if re.match(pattern, text, re.MULTILINE)), None)
    if found is None and b"\0" in head and NSYS_WORDS.search(head):
        return NSYS
    plain = PACKED.sub("", name.lower())
    return found or next((kind for ending, kind in BY_NAME.items() if plain.endswith(ending)), None)


def _database(path: Path) -> FileKind:
    import sqlite3

    tables: set[str] = set()
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as base,
    ):
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
    if NSYS_TABLE in tables:
        return FileKind("a Nsight Systems report, exported to SQLite: a timeline, without counters of kernels", TRIAGE)
    if NVPROF_TABLE in tables:
        return FileKind("a profile of nvprof or the Visual Profiler (SQLite)", PROFILE)
    return FileKind("an SQLite database, such as Nsight Systems exports", PROFILE)


def _zip(path: Path) -> FileKind:
    import zipfile

    names: list[str] = []
    with contextlib.suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if "xl/workbook.xml" in names:
        return FileKind("an Excel workbook", "export the report again: ncu --import FILE.ncu-rep --csv --page raw")
    reports = [name for name in names if name.endswith(REPORTS)]
    if reports:
        some = f"{len(reports)} reports in it, {reports[0]} among them" if len(reports) > 1 else f"{reports[0]} in it"
        return FileKind(f"a zip archive with {some}", UNPACK)
    return FileKind("a zip archive", UNPACK)
