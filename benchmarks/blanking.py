"""A report to be shipped: without what names a machine or a person, and without machine code that was not launched.

Filler has the length of what it replaces, so that every size and offset in the file still holds and NVIDIA's reader
returns the same values. Kernel names, NVTX ranges, file names without their folder and imported source text stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu import report_file
from ncu_assist.ncu.cubin_lines import Elf

FILLER = "x"
LOOPBACK = ("127.0.0.1", "::1")
MIN_SECRET = 5  # bytes; a shorter word turns up by chance in megabytes of machine code
PROCESS_KINDS: dict[int, str] = {2: "address", 3: "process"}
# In a cubin's line table a path ends with a zero byte and follows one; in its PTX it stands in quotes.
CUBIN_PATH = re.compile(rb'(?<=[\x00-\x1f])/[\x21-\x7e]{3,4096}(?=\x00)|(?<=")/[^"\x00-\x1f]{3,4096}(?=")')
PRINTED_PATH = re.compile(r"/[^\0\n\"']{3,4096}")
PERHAPS_PATH = re.compile(rb"/[^\0\n/]+/")  # spares walking the large messages that hold no path


Identifying = tuple[str, str, int]  # what a text names, the text, and its offset in the report


def identifying_strings(data: bytes) -> tuple[Identifying, ...]:
    """Return what names a machine: host, system build, addresses, process, command line, environment, paths.

    Raises DamagedData for a report that cannot be walked. The report of ``blank`` has none of them.
    """
    found = [*_in_headers(data), *_in_entries(data)]
    return tuple(one for one in found if one[1].strip(FILLER) and one[1] not in LOOPBACK)


def blank(data: bytes, secrets: Collection[str] = ()) -> bytes:
    """Return the report with every identifying string, and every secret, replaced by filler of the same length.

    The folders of source files go wherever they occur, their file names stay. Secrets are words of the caller's, such
    as a user or host name. Raises UsageProblem for a secret below 5 bytes, which cannot be told from machine code, and
    for one that is part of a metric's name.
    """
    names = identifying_strings(data)
    out = bytearray(data)
    for kind, text, at in names:
        if kind != "path":
            out[at : at + len(text.encode())] = FILLER.encode() * len(text.encode())
    blanked = bytes(out)
    for number, folder in enumerate(sorted(_folders(names), key=lambda f: (-len(f), f))):
        blanked = blanked.replace(folder, _folder_filler(folder, number))
    for secret in sorted(secrets, key=len, reverse=True):
        blanked = _without(blanked, secret.encode())
    if list(_string_tables(blanked)) != list(_string_tables(data)):
        raise UsageProblem(f"one of these is part of a metric's name and cannot be removed: {', '.join(secrets)}")
    return blanked


def leftovers(data: bytes, secrets: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the identifying strings and the secrets that a report still holds; none after ``blank``."""
    names = [text for _, text, _ in identifying_strings(data)]
    return tuple(dict.fromkeys([*names, *(s for s in secrets if s.encode() in data)]))


def _in_headers(data: bytes) -> Iterator[Identifying]:
    for block in report_file.blocks(data):
        for field in report_file.fields(data, block.header_start, block.header_end):
            if field.wire != report_file.BYTES:
                continue
            if field.number == report_file.SESSION:
                yield from _in_session(data, field)
            elif field.number == report_file.PROCESS:
                for path, at, text in report_file.texts(data, field.body, field.end):
                    if path[-1] in PROCESS_KINDS:
                        yield PROCESS_KINDS[path[-1]], text, at


def _in_session(data: bytes, field: report_file.Field) -> Iterator[Identifying]:
    for path, at, text in report_file.texts(data, field.body, field.end):
        if path in report_file.SESSION_KINDS:
            yield report_file.SESSION_KINDS[path], text, at
        elif path[0] == report_file.LAUNCH_SETTINGS:
            yield "launch settings", text, at
        elif PRINTED_PATH.match(text):
            yield "path", text, at


def _in_entries(data: bytes) -> Iterator[Identifying]:
    for block in report_file.blocks(data):
        for entry in block.entries:
            for field in report_file.fields(data, entry.start, entry.end):
                if field.wire != report_file.BYTES:
                    continue
                if entry.kind == report_file.SOURCES and field.number == report_file.SOURCE_CUBIN:
                    yield from _in_cubin(data, field)
                elif field.number != report_file.RESULT_METRIC and PERHAPS_PATH.search(data, field.body, field.end):
                    for _, at, text in report_file.texts(data, field.start, field.end, b"/"):
                        if PRINTED_PATH.fullmatch(text):
                            yield "path", text, at


def _in_cubin(data: bytes, field: report_file.Field) -> Iterator[Identifying]:
    for match in CUBIN_PATH.finditer(data, field.body, field.end):
        yield "path", match.group().decode("utf-8", errors="replace"), match.start()


def _folders(names: Iterable[Identifying]) -> set[bytes]:
    """Return the folders of all paths; a path whose last part has no extension may be a folder itself."""
    found = set()
    for kind, text, _ in names:
        if kind not in ("path", "process") or not text.startswith("/"):
            continue
        folder, _, last = text.rstrip("/").rpartition("/")
        found.add((folder if "." in last and folder else text).encode())
    return {folder for folder in found if len(folder) > 3}


def _folder_filler(folder: bytes, number: int) -> bytes:
    """Return a name of the same length, different for every folder, so that two files of one name stay apart."""
    return f"p{number}".ljust(len(folder), FILLER).encode()[: len(folder)]


def _string_tables(data: bytes) -> Iterator[bytes]:
    for block in report_file.blocks(data):
        for field in report_file.fields(data, block.header_start, block.header_end):
            if field.number == report_file.STRINGS:
                yield data[field.body : field.end]


def _without(data: bytes, secret: bytes) -> bytes:
    if len(secret) < MIN_SECRET:
        raise UsageProblem(f"'{secret.decode()}' is too short to be removed from a report: {MIN_SECRET} bytes at least")
    return data.replace(secret, FILLER.encode() * len(secret))


MANGLED = 5  # field of a launch: its kernel's name in the cubin
CODE, PARAMETERS = ".text.", ".nv.constant0."  # sections of a kernel; a function that kernels call has no parameters


def trimmed(data: bytes) -> bytes:
    """Return the report with zeros for the code of kernels without a launch; raises DamagedData for one that is none.

    Whatever names no kernel, as a range or a graph, keeps all code of its cubins.
    """
    launched = _launched(data)
    out = bytearray(data)
    for block in report_file.blocks(data):
        for entry in block.entries:
            number = report_file.cubin_id(data, entry) if entry.kind == report_file.SOURCES else None
            if number in launched:
                for start, end in _unused(data, entry, launched[number]):
                    out[start:end] = bytes(end - start)
    return bytes(out)


def _launched(data: bytes) -> dict[int | None, set[str]]:
    """Return the kernels that were launched of each cubin, but of those alone that only launches refer to."""
    kernels: dict[int | None, set[str]] = defaultdict(set)
    others: set[int] = set()
    for entry in report_file.results(data):
        names = [data[f.body : f.end].decode("utf-8", "replace") for f in _fields(data, entry, MANGLED)]
        for number in report_file.sources_of(data, entry):
            if entry.kind == report_file.RESULTS and names:
                kernels[number].update(names)
            else:
                others.add(number)
    return {number: names for number, names in kernels.items() if number not in others}


def _unused(data: bytes, entry: report_file.Entry, launched: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield where in the report the code of the other kernels of a cubin lies."""
    for field in _fields(data, entry, report_file.SOURCE_CUBIN):
        elf = Elf.of(data[field.body : field.end])
        names = {section.name for section in elf.sections}
        for section in elf.sections:
            kernel = section.name.removeprefix(CODE)
            if section.name.startswith(CODE) and PARAMETERS + kernel in names and kernel not in launched:
                yield field.body + section.start, field.body + section.start + section.size


def _fields(data: bytes, entry: report_file.Entry, number: int) -> Iterator[report_file.Field]:
    return (
        f
        for f in report_file.fields(data, entry.start, entry.end)
        if f.number == number and f.wire == report_file.BYTES
    )
