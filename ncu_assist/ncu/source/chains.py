"""The calls that instructions were inlined through, from the cubins that a report holds beside its launches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import normpath
from typing import NamedTuple

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file, wire
from ncu_assist.ncu.cubin_lines import Chain, Inlining, read_inlining
from ncu_assist.ncu.report_file import SOURCE_CODE, SOURCE_CUBIN, Entry
from ncu_assist.ncu.source.contents import NO_FILE, DeviceFunction, LaunchSource, SourceFile
from ncu_assist.ncu.wire import Bytes

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
        for code in (f for f in wire.fields(data, entry.start, entry.end) if f.number == SOURCE_CODE):
            for one in (f for f in wire.fields(data, code.body, code.end) if f.number == FUNCTION):
                facts = {f.number: f for f in wire.fields(data, one.body, one.end)}
                if FUNCTION_NAME in facts and FUNCTION_ADDRESS in facts:
                    name = data[facts[FUNCTION_NAME].body : facts[FUNCTION_NAME].end].decode("utf-8", "replace")
                    yield _Place(facts[FUNCTION_ADDRESS].value, SECTION + name, cubin)

    def _chain(self, places: Sequence[_Place], address: int) -> Chain | None:
        number = bisect_right(places, address, key=lambda place: place.address) - 1
        if number < 0:
            return None
        inlining = self._inlining(places[number].cubin)
        return inlining.chain(places[number].section, address - places[number].address) if inlining else None

    def _inlining(self, cubin: int) -> Inlining | None:
        if cubin not in self._known:
            self._known[cubin] = None  # also where it is damaged
            fields = (f for e in self._entries[cubin] for f in wire.fields(self._data, e.start, e.end))
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
