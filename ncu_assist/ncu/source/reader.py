"""Run as a child process: read the code of launches through NVIDIA's reader into a folder.

The reader alone knows SASS and source lines: it disassembles the cubins, 0.12 ms an instruction, and starts over for
each launch. So a function is asked for once and shared by the launches that ran it. It also keeps about 10 MB for
each launch that was looked at until the process ends: who has many kernels starts several processes. Before the first
instruction of a chip it takes 0.3 to 0.5 s, so who knows that a report will come starts the process before it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from ncu_assist.ncu.child import MEMORY_BYTES, handed, limit_memory
from ncu_assist.ncu.source.contents import (
    DOCUMENT,
    ENTRIES,
    INSTRUCTION_BYTES,
    NO_FILE,
    NO_LINE,
    REQUEST,
    CodeRequest,
    DeviceFunction,
    LaunchCode,
    SourceDocument,
    SourceFile,
    SourceRequest,
)

LAST_LINE = 2**31 - 1
NOT_CODE = "N/A"  # what the reader says of an address between two instructions


def main(arguments: list[str]) -> int:
    """Read what the request in FOLDER asks of PATH within MEMORY bytes of address space, and write it into FOLDER.

    One that gets ready does so with a report of the same chip.
    """
    path, folder, memory = handed(arguments, _disassemble_one)
    limit_memory(int(memory))
    import ncu_report

    request = msgspec.json.decode((Path(folder) / REQUEST).read_bytes(), type=SourceRequest)
    parts = list(ncu_report.load_report(path))
    places = [(part, number) for part in parts for number in range(part.num_actions())]
    if len(places) != request.launches_in_file:
        raise SystemExit(f"it returned {len(places)} of {request.launches_in_file} launches")
    reading = _Reading()
    for asked in request.launches:
        part, number = places[asked.place]
        reading.launch(part.action_by_idx(number), asked)
        sys.stdout.write("\n")  # of which the parent counts how far this is
        sys.stdout.flush()
    (Path(folder) / DOCUMENT).write_bytes(msgspec.json.encode(reading.document()))
    return 0


def _disassemble_one(report: str) -> None:
    """Ask for the first instruction of a report, which may be compressed."""
    limit_memory(MEMORY_BYTES)
    import ncu_report

    from ncu_assist.ncu.compressed import plain_file

    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        (action, *_) = (
            action for part in ncu_report.load_report(str(plain_file(Path(report), Path(folder)))) for action in part
        )
        _sass(action, action.metric_by_name(ENTRIES).as_uint64(0))


class _Reading:
    """The functions and files that launches share."""

    def __init__(self) -> None:
        self._files: dict[SourceFile, int] = {}
        self._functions: list[DeviceFunction] = []
        self._known: dict[tuple[int, ...], int] = {}  # cubins and start address (and more) -> number of the function
        self._launches: list[LaunchCode] = []

    def document(self) -> SourceDocument:
        """Return what was read."""
        return SourceDocument(tuple(self._files), tuple(self._functions), tuple(self._launches))

    def launch(self, action: Any, asked: CodeRequest) -> None:
        """Add the code of one launch: its kernels, then what else holds a counted address: functions they called."""
        kernel = action.name()
        if kernel is None:
            raise SystemExit("a launch is empty")  # it cannot be parsed
        functions: list[int] = []
        covered: set[int] = set()

        def add(start: int) -> None:
            functions.append(self._remembered((asked.cubins, start), partial(self._read, action, start)))
            covered.update(self._functions[functions[-1]].each_address())

        for start in asked.entries:
            add(start)
        bare: list[int] = []  # addresses of which the report holds no code
        for address in asked.counted:
            if address not in covered:
                if _sass(action, address):
                    add(_start(action, address))
                else:
                    bare.append(address)
        first = bare[0] if bare else 0
        for base, own in groupby(bare, lambda address: max((e for e in asked.entries if e <= address), default=first)):
            addresses = tuple(own)
            functions.append(self._remembered((asked.cubins, *addresses), partial(self._bare, action, addresses, base)))
        self._launches.append(LaunchCode(kernel, tuple(functions)))

    def _remembered(self, key: tuple[int, ...], read: Callable[[], DeviceFunction]) -> int:
        if key not in self._known:
            self._known[key] = len(self._functions)
            self._functions.append(read())
        return self._known[key]

    def _read(self, action: Any, start: int) -> DeviceFunction:
        """Return the code from an address on until there is none; at least one row, for the counters of ``start``."""
        sass, address = [], start
        while (text := _sass(action, address)) or address == start:
            sass.append(text)
            address += INSTRUCTION_BYTES
        files, lines = self._lines(action, range(start, address, INSTRUCTION_BYTES))
        return DeviceFunction(start, start, tuple(sass), files, lines)

    def _bare(self, action: Any, addresses: tuple[int, ...], base: int) -> DeviceFunction:
        """Return addresses as a function without code."""
        files, lines = self._lines(action, addresses)
        return DeviceFunction(addresses[0], base, ("",) * len(addresses), files, lines, addresses=addresses)

    def _lines(self, action: Any, addresses: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return of which file, by its number, and of which line the instruction at each address is."""
        contents = dict(action.source_files())
        infos = [action.source_info(address) for address in addresses]
        names = [info.file_name() if info else "" for info in infos]
        files = tuple(self._file(name, contents.get(name) or None) if name else NO_FILE for name in names)
        lines = tuple(_line(info) if name else NO_LINE for name, info in zip(names, infos, strict=True))
        return files, lines

    def _file(self, name: str, content: str | None) -> int:
        return self._files.setdefault(SourceFile(name, content), len(self._files))


def _start(action: Any, address: int) -> int:
    """Return where the code around an address starts; the address itself where the report holds none."""
    while address >= INSTRUCTION_BYTES and _sass(action, address) and _sass(action, address - INSTRUCTION_BYTES):
        address -= INSTRUCTION_BYTES
    return address


def _line(info: Any) -> int:
    number: int = info.line()
    if not 0 <= number <= LAST_LINE:
        raise SystemExit(f"an instruction is said to come from line {number} of its file")
    return number


def _sass(action: Any, address: int) -> str:
    text = action.sass_by_pc(address).strip()
    return "" if text == NOT_CODE else text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
