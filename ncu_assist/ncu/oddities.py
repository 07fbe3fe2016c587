"""What is odd about a report and yet no damage, in words: a bare file has no hash to be held against."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file, wire
from ncu_assist.ncu.contents import LaunchFacts, SessionFacts
from ncu_assist.ncu.report_file import Block, Entry
from ncu_assist.ncu.wire import Bytes

KNOWN_VERSION = 7  # of the file header, in reports of 2022.3 and 2025.3
FIRST_ESTIMATES = "2023"  # of ncu; 2022.3 has findings only
SHOWN, LONGEST_SHOWN = 3, 80
NO_GRID = (0, 0, 0)  # of a result that is no kernel
# What a kernel's launch says twice, in fields of its own and as metrics: field and, of a size, which of the three.
SAID_TWICE: dict[str, tuple[str, int | None]] = {
    f"launch__{what}_dim_{axis}": (what, i) for what in ("grid", "block") for i, axis in enumerate("xyz")
}
SAID_TWICE |= {"launch__context_id": ("context", None), "launch__stream_id": ("stream", None)}


class Oddities:
    """Looks at the launches of a report as they are read, and says at the end what is odd."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._held: set[int] = set()  # cubins, by number
        self._needed: list[set[int]] = []  # by each launch
        self._when: list[tuple[int | None, int, int, int]] = []  # process, thread, call and second of each launch
        self._entries: list[Entry] = []
        self._sections: list[bytes] = []  # how the first launch describes what was asked for
        self._described_otherwise: set[int] = set()

    def add_block(self, block: Block) -> None:
        """Note which cubins a block brings."""
        sources = (entry for entry in block.entries if entry.kind == report_file.SOURCES)
        self._held.update(number for entry in sources if (number := report_file.cubin_id(self._data, entry)))

    def add_launch(self, entry: Entry, result: Any, process: int | None) -> None:
        """Note what a launch needs and when it ran."""
        self._compare_sections(list(result.sections))
        self._needed.append(set(_cubins(entry, result)))
        self._when.append((process, result.thread, result.call, result.created))
        self._entries.append(entry)

    def _compare_sections(self, sections: list[bytes]) -> None:
        """Note a launch whose sections are not those of the first: they take two thirds of it, and are always equal."""
        self._sections = self._sections or sections
        if sections != self._sections:
            first = {_identifier(section): section for section in self._sections}
            if any(first.get(_identifier(section), section) != section for section in sections):
                self._described_otherwise.add(len(self._needed))

    def sentences(self) -> Iterator[str]:
        """Yield what is odd about the launches."""
        if self._described_otherwise:
            shown = _listed([str(number) for number in sorted(self._described_otherwise)])
            yield f"sections of launch {shown} are not those of launch 0: damaged in a part that is not read"
        without = sum(not needed <= self._held for needed in self._needed)
        if without:
            yield f"the code of {without} of {len(self._needed)} launches is not in it: no source lines, no SASS"
        if not self._in_order():
            yield "the launches do not stand in the order in which they ran"
        copies = _listed([f"{other} is {one}" for one, other in self._copies()])
        if copies:
            yield f"launches that stand twice, to the byte: {copies}"

    def _in_order(self) -> bool:
        for (process, thread, call, second), (process_2, thread_2, call_2, second_2) in pairwise(self._when):
            if second_2 < second or ((process, thread) == (process_2, thread_2) and call_2 < call):
                return False
        return True

    def _copies(self) -> Iterator[tuple[int, int]]:
        first: dict[tuple[object, ...], int] = {}
        for number, (when, entry) in enumerate(zip(self._when, self._entries, strict=True)):
            other = first.setdefault((*when, entry.end - entry.start), number)
            if other != number and self._equal(self._entries[other], entry):
                yield other, number

    def _equal(self, one: Entry, other: Entry) -> bool:
        equal = self._data[one.start : one.end] == self._data[other.start : other.end]
        for entry in (one, other):
            report_file.forget(self._data, entry)
        return bool(equal)


def _listed(words: Sequence[str]) -> str:
    others = f" and {len(words) - SHOWN} others" if len(words) > SHOWN else ""
    return ", ".join(word[:LONGEST_SHOWN] for word in words[:SHOWN]) + others


def _cubins(entry: Entry, result: Any) -> Iterator[int]:
    if entry.kind != report_file.RESULTS:
        yield from result.sources
        return
    fields = wire.fields(result.source, 0, len(result.source))
    yield from (field.value for field in fields if field.number == report_file.SOURCE_ID)


def _identifier(section: bytes) -> bytes:
    """Return what names a section: its first field, a short text."""
    return section[: 2 + section[1]] if len(section) > 1 else section


def file_sentences(data: Bytes) -> Iterator[str]:
    """Yield whether the file is newer than those known here."""
    version = report_file.version(data)
    if version > KNOWN_VERSION:
        yield f"the file is of form {version}, newer than the {KNOWN_VERSION} known here: parts may not be read"


def session_sentences(session: SessionFacts, has_findings: bool) -> Iterator[str]:
    """Yield what reports say and this one does not: blocks of the session are lost, or its ncu was older."""
    said = {
        "the version of ncu": session.ncu_version,
        "the version of CUDA": session.versions.get("CUDA Version"),
        "when it was made": session.created,
        "the command": session.command,
    }
    unsaid = [what for what, value in said.items() if not value]
    if unsaid:
        yield f"the report does not say {' and '.join(unsaid)}: it is cut, or lacks a part"
    if has_findings and (session.ncu_version or FIRST_ESTIMATES) < FIRST_ESTIMATES:
        yield f"NVIDIA's findings stand without an estimated speed-up: ncu {session.ncu_version} made none"


def name_sentences(names: Collection[str]) -> Iterator[str]:
    """Yield which of these metrics, new here, no recorded chip has: of a newer ncu, of the user, or damaged."""
    if not names:
        return
    from ncu_assist.ncu.catalogue.available_names import on_chip  # takes 0.1 s, and is seldom needed
    from ncu_assist.ncu.catalogue.recorded_names import VERSION

    listed = on_chip(None)
    odd = sorted(name for name in names if not listed.has(name.rpartition(":")[2]))
    if odd:
        yield f"not the name of a metric that ncu {VERSION} knows: {_listed(odd)}"


def double_sentences(doubles: Collection[str], differing: Collection[str]) -> Iterator[str]:
    """Yield which metrics stand twice in a launch; ``differing`` of them have two values, of which the last counts."""
    yield from (f"the metric {name} stands twice in a launch" for name in sorted(set(doubles) - set(differing)))
    if differing:
        names = _listed(sorted(differing))
        yield f"twice in a launch, with different values: {names}; the last counts, as with NVIDIA's reader"


def check_said_twice(
    launches: Sequence[LaunchFacts], name_lists: Sequence[Sequence[str]], values: array[float]
) -> None:
    """Raise DamagedData where the fields of a kernel's launch and its metrics differ; ``values`` as in Contents."""
    start = 0
    for number, one in enumerate(launches):
        names = name_lists[one.names]
        for name, (field, axis) in SAID_TWICE.items():
            place = bisect_left(names, name)
            if one.grid == NO_GRID or place == len(names) or names[place] != name:
                continue
            said, metric = getattr(one, field), values[start + place]
            if (said if axis is None else said[axis]) != metric:
                raise DamagedData(
                    f"the report is damaged: {field} of launch {number} is {said}, its {name} is {metric:g}"
                )
        start += len(names)
