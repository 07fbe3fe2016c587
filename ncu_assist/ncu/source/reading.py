"""Source attribution: what each instruction and each source line of a launch did, from a report.

What was counted is read from the file here, the code through NVIDIA's reader, once for all launches of a kernel. That
keeps about 10 MB for each launch that it looked at, so of many kernels several child processes read one after the
other, each a part of the report: memory stays bounded and time grows with the kernels.
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
    CodeRequest,
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

    from ncu_assist.ncu.source.instruction_counters import Array, InstructionCounters, InstructionReader


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

    def added(self, document: SourceDocument, cubins: Sequence[Sequence[int]]) -> list[DeviceFunction]:
        """Return the functions that a child read, which know their chains; ``cubins`` are those of each launch."""
        functions = list(document.functions)
        done: set[int] = set()
        for code, own in zip(document.launches, cubins, strict=True):
            new = [number for number in dict.fromkeys(code.functions) if number not in done]
            for number, one in zip(new, self.of([functions[i] for i in new], document.files, own), strict=True):
                functions[number] = one
            done.update(new)
        return functions

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
    from ncu_assist.ncu.source.instruction_counters import InstructionReader  # whose parser takes 10 ms to import

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
        counters = InstructionReader(data)
        results = counters.results
        wanted = list(range(len(results))) if launches is None else sorted(set(launches))
        for number in wanted:
            if not 0 <= number < len(results):
                raise UsageProblem(f"{title} has no launch {number}: it has {len(results)}, numbered from 0")
        try:
            groups = _groups(data, counters, wanted)
        except DamagedData as error:
            raise DamagedData(f"the code in {title} cannot be read: {error.message}", error.hint) from error
        known, tell, done = Chains(data), teller("code of kernels", len(groups)), count()
        for batch in _batches(results, groups):  # in the order of the file, which a part of it keeps
            found += _read(path, data, results, sorted(batch, key=lambda one: one.asked), known, child)
        tell(len(groups))
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


@dataclass(frozen=True)
class _Group:
    """Launches of the same kernels, with what each counted: NVIDIA's reader is asked of one.

    ``code`` is the same number for groups of the same ``cubins``.
    """

    cubins: tuple[int, ...]
    code: int
    entries: tuple[int, ...]
    launches: dict[int, InstructionCounters] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        """Return the launch that NVIDIA's reader is asked of."""
        return min(self.launches)

    def request(self, place: int) -> CodeRequest:
        """Return what to ask of NVIDIA's reader, which finds the launch at this place of its file."""
        counted = set().union(*(one.addresses.tolist() for one in self.launches.values()))
        return CodeRequest(place, self.code, self.entries, tuple(sorted(counted)))


def _groups(data: Bytes, counters: InstructionReader, wanted: Sequence[int]) -> list[_Group]:
    """Return these launches by their code, those of the same cubins next to each other.

    A module can be loaded where another one was, and two processes use the same addresses, so an address alone or a
    kernel's name does not tell. A result that does not name its cubins shares nothing.
    """
    groups: dict[tuple[int, tuple[int, ...]], _Group] = {}
    codes: dict[tuple[int, ...], int] = {}
    for number in wanted:
        cubins, own = tuple(report_file.sources_of(data, counters.results[number])), counters.of(number)
        is_shared = cubins and counters.results[number].kind == report_file.RESULTS
        code = codes.setdefault(cubins if is_shared else (-1, number), len(codes))
        groups.setdefault((code, own.entries), _Group(cubins, code, own.entries)).launches[number] = own
    return sorted(groups.values(), key=lambda group: group.code)


def _batches(results: Sequence[Entry], groups: Sequence[_Group]) -> Iterator[list[_Group]]:
    """Yield what one child process reads, by the size of the launches it is asked of; at least one."""
    batch: list[_Group] = []
    size = 0
    for group in groups:
        entry = results[group.asked]
        if batch and size + entry.end - entry.start > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(group)
        size += entry.end - entry.start
    if batch:
        yield batch


def _read(
    whole: Path,
    data: Bytes,
    results: Sequence[Entry],
    batch: Sequence[_Group],
    known: Chains,
    child: Callable[[Path, Path], None],
) -> Iterator[LaunchSource]:
    """Yield the launches of groups whose code a child process reads; ``child`` runs it on a report, for a folder."""
    asked = [group.asked for group in batch]
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as name:
        folder, path = Path(name), whole
        places, count = asked, len(results)
        if len(asked) < count and all(entry.kind == report_file.RESULTS for entry in results):
            path, places, count = folder / "part.ncu-rep", list(range(len(asked))), len(asked)
            path.write_bytes(report_file.select(data, set(asked), {number for one in batch for number in one.cubins}))
        elif not str(path).isascii():  # NVIDIA's reader takes no name that is not UTF-8, nor another locale's
            path = folder / "whole.ncu-rep"
            path.symlink_to(whole.absolute())
        request = SourceRequest(count, tuple(map(_Group.request, batch, places)))
        (folder / REQUEST).write_bytes(msgspec.json.encode(request))
        child(path, folder)
        document = msgspec.json.decode((folder / DOCUMENT).read_bytes(), type=SourceDocument)
    functions = known.added(document, [group.cubins for group in batch])
    for group, code in zip(batch, document.launches, strict=True):
        ran = [functions[number] for number in code.functions]
        while group.launches:  # which take as much memory as what is made of them
            number, counted = group.launches.popitem()
            yield _launch(number, code.kernel, ran, document.files, counted)


def _launch(
    launch: int,
    kernel: str,
    functions: Sequence[DeviceFunction],
    files: tuple[SourceFile, ...],
    counters: InstructionCounters,
) -> LaunchSource:
    """Return what a launch ran of the functions of its group: the kernels, then what it counted something in."""
    import numpy as np

    kernels = len(counters.entries)
    called = (part for one in functions[kernels:] if (part := _counted_part(one, counters.addresses)))
    own = (*functions[:kernels], *called)
    addresses = np.array([address for one in own for address in one.each_address()], np.uint64)
    order = np.argsort(addresses, kind="stable")
    found = np.searchsorted(addresses, counters.addresses, "right", sorter=order) - 1
    values = np.zeros((len(counters.metrics), len(addresses)))
    values[:, order[found]] = counters.values
    return LaunchSource(launch, kernel, own, files, counters.metrics, values)


def _counted_part(function: DeviceFunction, counted: Array) -> DeviceFunction | None:
    """Return a function in which something was counted, None for another; without code, of its addresses those."""
    import numpy as np

    every = np.array(function.each_address(), np.uint64)
    which = np.isin(every, counted)
    if not which.any():
        return None
    if which.all() or not function.addresses:
        return function
    places = np.flatnonzero(which).tolist()
    addresses = tuple(function.addresses[place] for place in places)
    return replace(
        function,
        start=addresses[0],
        sass=tuple(function.sass[place] for place in places),
        files=tuple(function.files[place] for place in places),
        lines=tuple(function.lines[place] for place in places),
        chains=tuple(function.chains[place] for place in places) if function.chains else (),
        addresses=addresses,
    )
