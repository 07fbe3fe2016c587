"""Run as a child process: read the code of launches and its counters through NVIDIA's reader into a folder.

The reader alone knows SASS and source lines: it disassembles the cubins, 0.12 ms an instruction, and starts over for
each launch. So a function is asked for once and shared by the launches that ran it. It also keeps about 10 MB for
each launch that was looked at until the process ends: who has many launches starts several processes. Where only the
lines are wanted nothing is disassembled: of which line an instruction is the reader knows in 2 µs. Before the first
instruction of a chip it takes 0.3 to 0.5 s, so who knows that a report will come starts the process before it.
"""

from __future__ import annotations

import sys
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import IO, Any

import msgspec

from ncu_assist.ncu.child import MEMORY_BYTES, handed, limit_memory
from ncu_assist.ncu.source.contents import (
    DOCUMENT,
    INSTRUCTION_BYTES,
    KINDS,
    NO_FILE,
    NO_LINE,
    REQUEST,
    SAMPLED,
    VALUES,
    DeviceFunction,
    LaunchCode,
    SourceDocument,
    SourceFile,
    SourceRequest,
    is_source_metric,
)

ENTRIES = "launch__function_pcs"  # where the kernel starts: of a launch one address, of a replayed range several
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
    with (Path(folder) / VALUES).open("wb") as out:
        reading = _Reading(out)
        for place, cubins in zip(request.places, request.cubins, strict=True):
            part, number = places[place]
            reading.launch(part.action_by_idx(number), cubins)
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
        _sass(action, _entries(action)[0])


class _Reading:
    """The functions, files and lists of metrics that launches share; the counters go straight into a file."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._files: dict[SourceFile, int] = {}
        self._functions: list[DeviceFunction] = []
        self._known: dict[tuple[int, ...], int] = {}  # cubins and start address (and size) -> number of the function
        self._metric_lists: dict[tuple[str, ...], int] = {}
        self._launches: list[LaunchCode] = []

    def document(self) -> SourceDocument:
        """Return what was read, without the counters."""
        return SourceDocument(
            tuple(self._files), tuple(self._functions), tuple(self._metric_lists), tuple(self._launches)
        )

    def launch(self, action: Any, cubins: int) -> None:
        """Add the code of one launch and write its counters: for each metric a double for each instruction."""
        kernel = action.name()
        if kernel is None:
            raise SystemExit("a launch is empty")  # it cannot be parsed
        counters = dict(counters_of(action))
        counted = {address for values in counters.values() for address in values}
        functions, place = self._code(action, cubins, counted)
        for values in counters.values():
            column = array("d", bytes(8 * len(place)))
            for address, value in values.items():
                column[place[address]] = value
            column.tofile(self._out)
        metrics = self._metric_lists.setdefault(tuple(counters), len(self._metric_lists))
        self._launches.append(LaunchCode(kernel, tuple(functions), metrics))

    def _code(self, action: Any, cubins: int, counted: Iterable[int]) -> tuple[list[int], dict[int, int]]:
        """Return the kernel and what else holds a counted address (functions that it called), and rows by address."""
        functions: list[int] = []
        place: dict[int, int] = {}
        entries = _entries(action)

        def add(start: int) -> None:
            functions.append(self._remembered((cubins, start), partial(self._read, action, start)))
            size = len(self._functions[functions[-1]].sass)
            place.update(zip(range(start, start + size * INSTRUCTION_BYTES, INSTRUCTION_BYTES), count(len(place))))

        for start in entries:
            add(start)
        bare: list[int] = []  # addresses of which the report holds no code
        for address in sorted(counted):
            if address not in place:
                if _sass(action, address):
                    add(_start(action, address))
                else:
                    bare.append(address)
        for base, own in groupby(bare, lambda address: max((e for e in entries if e <= address), default=bare[0])):
            addresses = tuple(own)
            functions.append(self._remembered((cubins, *addresses), partial(self._bare, action, addresses, base)))
            place.update(zip(addresses, count(len(place))))
        return functions, place

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


def _entries(action: Any) -> list[int]:
    """Return where the kernels of a launch start, in order."""
    metric = action.metric_by_name(ENTRIES)
    if metric is None:
        return []
    return sorted({metric.as_uint64(i) for i in range(metric.num_instances())} - {0})


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


def counters_of(action: Any) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield each metric that was collected by address in this launch, and its values; an absent address has zero.

    Ends the process where the values do not add up to the total that the report gives.
    """
    for name in sorted(action.metric_names()):
        if not is_source_metric(name):
            continue
        metric = action.metric_by_name(name)
        total = metric.as_double() if metric.has_value() and name not in KINDS else None
        if total == 0:
            yield name, {}
        elif metric.num_instances() and metric.has_correlation_ids():
            values = _values(metric)
            if total is not None and not name.startswith(SAMPLED) and sum(values.values()) != total:
                raise SystemExit(f"the values of {name} add up to {sum(values.values()):.0f}, not to {total:.0f}")
            yield name, values


def _values(metric: Any) -> dict[int, float]:
    ids, found = metric.correlation_ids(), dict[int, float]()
    for i in range(metric.num_instances()):
        address = ids.as_uint64(i)
        found[address] = found.get(address, 0.0) + metric.as_double(i)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
