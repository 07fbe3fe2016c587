"""Source attribution: what each instruction and each source line of a launch did, from a report.

NVIDIA's reader keeps about 10 MB for each launch that it looked at, so a large report is read by several child
processes one after the other, each with a part of it: memory stays bounded and time grows with the launches.
"""

from __future__ import annotations

import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu import report_file
from ncu_assist.ncu.child import MEMORY_BYTES, run_child
from ncu_assist.ncu.cubin_lines import Chain, Inlining, chain_at, read_inlining
from ncu_assist.ncu.report_file import SOURCE_CODE, SOURCE_CUBIN, Bytes, Entry
from ncu_assist.ncu.source.contents import (
    DOCUMENT,
    NO_FILE,
    REQUEST,
    VALUES,
    DeviceFunction,
    LaunchSource,
    SourceDocument,
    SourceFile,
    SourceRequest,
)
from ncu_assist.ncu.source.tables import Place, barriers_in, chains, lines_frame, sass_frame
from ncu_assist.steps import teller

if TYPE_CHECKING:
    import pandas as pd


FUNCTION, FUNCTION_NAME, FUNCTION_ADDRESS = 1, 1, 2  # fields of SOURCE_CODE and of what it holds for each function
SECTION = ".text."  # of a function's code, before its mangled name


class _Place(NamedTuple):
    """Where a function of a cubin was loaded."""

    address: int
    section: str
    cubin: int


class Chains:
    """The cubins of a report, each read when it is asked for."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._known: dict[int, Inlining | None] = {}
        self._places: dict[int, list[_Place]] = {}
        self._entries: dict[int, list[Entry]] = {}
        for block in report_file.blocks(data):
            for entry in block.entries:
                number = report_file.source_id(data, entry) if entry.kind == report_file.SOURCES else None
                if number is not None:
                    self._entries.setdefault(number, []).append(entry)

    def added(self, found: Sequence[LaunchSource], cubins: Sequence[Sequence[int]]) -> list[LaunchSource]:
        """Return launches whose functions know their chains; launches of one function share it still.

        ``cubins`` are the numbers of those that each launch refers to.
        """
        made: dict[int, DeviceFunction] = {}
        for one, own in zip(found, cubins, strict=True):
            new = [function for function in one.functions if id(function) not in made]
            made |= zip(map(id, new), self.of(new, one.files, own), strict=True)
        return [replace(one, functions=tuple(made[id(function)] for function in one.functions)) for one in found]

    def of(
        self, functions: Sequence[DeviceFunction], files: Sequence[SourceFile], cubins: Sequence[int]
    ) -> list[DeviceFunction]:
        """Return functions that a launch ran with the chain of each instruction, where it is known."""
        try:
            places = sorted(self._loaded(set(cubins)))
        except DamagedData:  # of a cubin in a report that is whole: what the rest of it says still holds
            return list(functions)
        names = {normpath(file.name): file.name for file in files}
        spelled: dict[Chain | None, Chain | None] = {}
        return [self._with_chains(function, files, places, names, spelled) for function in functions]

    def _with_chains(
        self,
        function: DeviceFunction,
        files: Sequence[SourceFile],
        places: Sequence[_Place],
        names: Mapping[str, str],
        spelled: dict[Chain | None, Chain | None],
    ) -> DeviceFunction:
        try:
            found = [self._chain(places, at) for at in function.each_address()]
        except DamagedData:
            return function
        if not any(found):
            return function
        for chain in set(found) - spelled.keys():
            spelled[chain] = _spelled(chain, names)
        numbers = zip(found, function.files, function.lines, strict=True)
        chains = tuple(_agreed(spelled[chain], files, file, line) for chain, file, line in numbers)
        return replace(function, chains=chains)

    def _loaded(self, cubins: set[int]) -> list[_Place]:
        for cubin in cubins - self._places.keys():
            self._places[cubin] = [place for entry in self._entries.get(cubin, ()) for place in self._in(entry, cubin)]
        return [place for cubin in cubins for place in self._places[cubin]]

    def _in(self, entry: Entry, cubin: int) -> Iterator[_Place]:
        data = self._data
        for code in (f for f in report_file.fields(data, entry.start, entry.end) if f.number == SOURCE_CODE):
            for one in (f for f in report_file.fields(data, code.body, code.end) if f.number == FUNCTION):
                facts = {f.number: f for f in report_file.fields(data, one.body, one.end)}
                if FUNCTION_NAME in facts and FUNCTION_ADDRESS in facts:
                    name = data[facts[FUNCTION_NAME].body : facts[FUNCTION_NAME].end].decode("utf-8", "replace")
                    yield _Place(facts[FUNCTION_ADDRESS].value, SECTION + name, cubin)

    def _chain(self, places: Sequence[_Place], address: int) -> Chain | None:
        number = bisect_right(places, address, key=lambda place: place.address) - 1
        if number < 0:
            return None
        place = places[number]
        inlining = self._inlining(place.cubin)
        return chain_at(inlining, place.section, address - place.address) if inlining else None

    def _inlining(self, cubin: int) -> Inlining | None:
        if cubin not in self._known:
            self._known[cubin] = None  # also where it is damaged
            fields = (f for e in self._entries[cubin] for f in report_file.fields(self._data, e.start, e.end))
            body = next((self._data[f.body : f.end] for f in fields if f.number == SOURCE_CUBIN), b"")
            self._known[cubin] = read_inlining(body) if body else None
        return self._known[cubin]


def _spelled(chain: Chain | None, names: Mapping[str, str]) -> Chain | None:
    """Return a chain with its files named as ncu names them."""
    return tuple((names.get(normpath(file), file), line) for file, line in chain) if chain else None


def _agreed(chain: Chain | None, files: Sequence[SourceFile], file: int, line: int) -> Chain | None:
    """Return the chain; None where ncu names a line that is not part of it.

    Where code of a call begins ncu names the call, elsewhere what was called: a table has both for that address.
    """
    return chain if chain and file != NO_FILE and (files[file].name, line) in chain else None


READER = "ncu_assist.ncu.source.reader"
MOST_AHEAD = 20  # launches of a report whose code is read before it is known which of them take longest
BATCH_BYTES = 16 << 20  # of launches in one child process, which then takes about 0.4 GB


@dataclass(frozen=True)
class SourceTables:
    """The code of launches with its counters, and the imported files whole, by the names that lines have.

    The tables are made when they are asked for: ``lines`` has a row for each source line, see ``tables.lines_frame``,
    ``sass`` one for each instruction, see ``tables.sass_frame``.
    """

    found: Sequence[LaunchSource] = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)

    @cached_property
    def lines(self) -> pd.DataFrame:
        return lines_frame(self.sass, self.found)

    @cached_property
    def sass(self) -> pd.DataFrame:
        return sass_frame(self.found)

    @cached_property
    def barriers(self) -> Mapping[Place, Place]:
        """Return ``tables.barriers``."""
        return barriers_in(self.found)

    @cached_property
    def chains(self) -> pd.Series[Any]:
        """Return ``tables.chains`` of the rows of ``sass``."""
        return chains(self.found)


def read_source(
    path: Path,
    launches: Collection[int] | None = None,
    *,
    name: str | None = None,
    timeout_s: float = 120.0,
    memory_bytes: int = MEMORY_BYTES,
    stopped: Callable[[], bool] | None = None,
) -> SourceTables:
    """Return the instructions and lines of these launches of an uncompressed report, of all when None.

    Launches are numbered from 0 in the order of the report; ``name`` is what messages call it. ``timeout_s`` is for
    all of the reading, ``memory_bytes`` for each child process; ``stopped`` is asked now and then, yes ends it.
    Raises UsageProblem for a launch that the report does not have; DamagedData when the file is cut, when NVIDIA's
    reader crashes, returns less than the file holds or exceeds its limits, and when the counters of instructions do not
    add up to those of their launch.
    """
    deadline, title = time.monotonic() + timeout_s, name or path.name
    found: list[LaunchSource] = []

    def child(path: Path, folder: Path) -> None:
        run_child(
            [READER, str(path), str(folder), str(memory_bytes)],
            max(deadline - time.monotonic(), 0.0),
            what=f"the code in {title}",
            reader="NVIDIA's reader",
            limit_s=timeout_s,
            stopped=stopped,
            on_line=lambda _line: tell(next(done)),
        )

    with report_file.mapped(path) as data:
        results = list(report_file.results(data))
        known = Chains(data)
        wanted = list(range(len(results))) if launches is None else sorted(set(launches))
        for number in wanted:
            if not 0 <= number < len(results):
                raise UsageProblem(f"{title} has no launch {number}: it has {len(results)}, numbered from 0")
        cubins = {number: tuple(report_file.sources_of(data, results[number])) for number in wanted}
        first = {own: place for place, own in reversed([*enumerate(cubins.values())])}
        alike = sorted(wanted, key=lambda number: first[cubins[number]])  # a child disassembles what they share once
        tell, done = teller("code of launches", len(wanted)), count()
        for batch in map(sorted, _batches(results, alike)):
            found += _read(path, data, results, batch, [cubins[number] for number in batch], known, child)
        tell(len(wanted))
    return tables_of(sorted(found, key=lambda one: one.launch))


def read_ahead(
    path: Path, *, name: str, timeout_s: float, memory_bytes: int, stopped: Callable[[], bool]
) -> Sequence[LaunchSource] | None:
    """Return the code of all launches of a report, None where there are many, or where it cannot be read.

    Whoever asks for it later is told why, by ``read_source``.
    """
    with report_file.mapped(path) as data:
        if sum(1 for _ in islice(report_file.results(data), MOST_AHEAD + 1)) > MOST_AHEAD:
            return None
    try:
        return read_source(path, name=name, timeout_s=timeout_s, memory_bytes=memory_bytes, stopped=stopped).found
    except (DamagedData, UsageProblem):
        return None


def tables_of(found: Sequence[LaunchSource]) -> SourceTables:
    """Return the tables of launches whose code was read."""
    return SourceTables(found, _texts(found))


def _texts(found: Sequence[LaunchSource]) -> dict[str, str]:
    """Return the imported files whole, by name; of one name that of the first launch."""
    files = [file for one in reversed(found) for file in one.sources()]
    return {file.name: file.content or "" for file in files}


def _batches(results: Sequence[Entry], wanted: Sequence[int]) -> Iterator[list[int]]:
    """Yield the launches that one child process reads, by their size; at least one."""
    batch: list[int] = []
    size = 0
    for number in wanted:
        entry = results[number]
        if batch and size + entry.end - entry.start > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(number)
        size += entry.end - entry.start
    if batch:
        yield batch


def _read(
    whole: Path,
    data: Bytes,
    results: Sequence[Entry],
    batch: Sequence[int],
    cubins: Sequence[tuple[int, ...]],
    known: Chains,
    child: Callable[[Path, Path], None],
) -> list[LaunchSource]:
    """Return what a child process reads of a batch of launches; ``child`` runs it on a report, for a folder."""
    entries = [results[number] for number in batch]
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as name:
        folder, path = Path(name), whole
        places, count = tuple(batch), len(results)
        if len(batch) < count and all(entry.kind == report_file.RESULTS for entry in results):
            path, places, count = folder / "part.ncu-rep", tuple(range(len(batch))), len(batch)
            path.write_bytes(report_file.select(data, set(batch), {number for own in cubins for number in own}))
        elif not str(path).isascii():  # NVIDIA's reader takes no name that is not UTF-8, nor another locale's
            path = folder / "whole.ncu-rep"
            path.symlink_to(whole.absolute())
        request = SourceRequest(count, places, _numbers(entries, cubins))
        (folder / REQUEST).write_bytes(msgspec.json.encode(request))
        child(path, folder)
        found = list(_launches(folder, batch))
    return known.added(found, cubins)


def _numbers(entries: Sequence[Entry], cubins: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return a number for each launch, the same for the same code: the same addresses mean the same instructions.

    A module can be loaded where another one was, and two processes use the same addresses, so an address alone or a
    kernel's name does not tell. A result that does not name its cubins shares nothing.
    """
    numbers: dict[tuple[int, ...], int] = {}
    found = []
    for place, (entry, own) in enumerate(zip(entries, cubins, strict=True)):
        ids = own if entry.kind == report_file.RESULTS else ()
        found.append(numbers.setdefault(ids or (-1, place), len(numbers)))
    return tuple(found)


def _launches(folder: Path, batch: Sequence[int]) -> Iterator[LaunchSource]:
    """Yield what a child wrote into a folder; ``batch`` has the numbers of its launches in the report."""
    import numpy as np

    document = msgspec.json.decode((folder / DOCUMENT).read_bytes(), type=SourceDocument)
    values = np.fromfile(folder / VALUES, dtype=np.float64)
    at = 0
    for number, code in zip(batch, document.launches, strict=True):
        functions = tuple(document.functions[i] for i in code.functions)
        metrics = document.metric_lists[code.metrics]
        rows = sum(len(function.sass) for function in functions)
        end = at + rows * len(metrics)
        table = values[at:end].reshape(len(metrics), rows)
        yield LaunchSource(number, code.kernel, functions, document.files, metrics, table)
        at = end
