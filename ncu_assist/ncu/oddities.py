"""What is odd about a report and yet no damage, in words: a bare file has no hash to be held against."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from operator import ne
from typing import Any

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file
from ncu_assist.ncu.contents import LaunchFacts, SessionFacts
from ncu_assist.ncu.report_file import Block, Bytes, Entry

KNOWN_RELEASE = (2025, 4)  # of ncu: the newest whose reports were read here, all of them whole
KNOWN_VERSION = 7  # of the file header, in reports of 2022.3 and 2025.3
SHOWN, LONGEST_SHOWN = 3, 80
LONGEST_PAIR = 300  # of two names of metrics, which have up to 120 signs


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

    @property
    def sections(self) -> str:
        """The identifiers of the sections that the launches hold, with commas between."""
        named = (_identifier(section)[2:].decode("utf-8", "replace") for section in self._sections)
        return ",".join(sorted(filter(str.isidentifier, named)))

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


def _listed(words: Sequence[str], longest: int = LONGEST_SHOWN) -> str:
    others = f" and {len(words) - SHOWN} others" if len(words) > SHOWN else ""
    return ", ".join(word[:longest] for word in words[:SHOWN]) + others


def _cubins(entry: Entry, result: Any) -> Iterator[int]:
    if entry.kind != report_file.RESULTS:
        yield from result.sources
        return
    fields = report_file.fields(result.source, 0, len(result.source))
    yield from (field.value for field in fields if field.number == report_file.SOURCE_ID)


def _identifier(section: bytes) -> bytes:
    """Return what names a section: its first field, a short text."""
    return section[: 2 + section[1]] if len(section) > 1 else section


def file_sentences(data: Bytes) -> Iterator[str]:
    """Yield whether the file is newer than those known here."""
    version = report_file.version(data)
    if version > KNOWN_VERSION:
        yield f"the file is of form {version}, newer than the {KNOWN_VERSION} known here: parts may not be read"


def interrupted_sentences(launches: Sequence[LaunchFacts]) -> Iterator[str]:
    """Yield which launches the end of the program interrupted."""
    found = [f"{number} ({one.kernel})" for number, one in enumerate(launches) if one.interrupted]
    if found:
        rest = f"the other {len(launches) - len(found)} are whole" if len(found) < len(launches) else "none is whole"
        yield (
            f"{len(found)} of {len(launches)} launches ended with the program, without sizes and with hardly a value: "
            f"{_listed(found)}; {rest}"
        )


def session_sentences(session: SessionFacts) -> Iterator[str]:
    """Yield what every ncu says of a session and this report does not: a part of it is lost.

    No command is nothing odd: ncu before 2022.2 and Nsight Compute's window write none. ncu 2019 says no version of
    itself; it says none of the driver either.
    """
    said = {
        "the version of ncu": session.ncu_version or not (session.driver or session.command),
        "the version of CUDA": session.cuda_version,
        "when it was made": session.created,
    }
    unsaid = [what for what, value in said.items() if not value]
    if unsaid:
        yield f"the report does not say {' and '.join(unsaid)}: it is cut, or lacks a part"


def name_sentences(new: Collection[str], names: Collection[str]) -> Iterator[str]:
    """Yield which of the names that are new here differ by one sign from a known one that is not among ``names``.

    A name that is no such is of another chip or release, or of the user, and nothing odd.
    """
    if not new:
        return
    from ncu_assist.ncu.catalogue.chips import (
        on_chip,  # takes 0.1 s, and is seldom needed
        recorded_units,
    )
    from ncu_assist.ncu.catalogue.spelling import split

    listed = on_chip(None)
    by_length: dict[int, list[str]] = {}
    for known in {*recorded_units(), *listed.rollups}:
        by_length.setdefault(len(known), []).append(known)
    found = []
    for name in sorted(new):
        base, _ = split(name)
        near = (
            ()
            if listed.has(name.rpartition(":")[2])
            else [near for one in (name, base) for near in _one_sign_off(one, by_length.get(len(one), ()))]
        )
        found += [f"{name} (of {one}?)" for one in near[:1] if one + name[len(one) :] not in names]
    if found:
        yield f"the name of a metric is none of ncu's and may be damaged: {_listed(found, LONGEST_PAIR)}"


def _one_sign_off(name: str, others: Collection[str]) -> list[str]:
    """Return which of the others, all as long, differ in one sign only, if it is more than ncu 2019's _ for a point."""
    dashed = name.replace(".", "_")
    near = (other for other in others if sum(map(ne, other, name)) == 1)
    return sorted(other for other in near if other.replace(".", "_") != dashed)


def unknown_sentences(release: tuple[int, ...], metrics: Collection[str], results: int) -> Iterator[str]:
    """Yield what a newer ncu wrote in a way not known here; raises DamagedData where it is no newer ncu."""
    if not metrics and not results:
        return
    if release <= KNOWN_RELEASE:
        what = "a value has a type" if metrics else "an entry is of a kind"
        raise DamagedData(f"{what} that is not known here: damaged, or of a newer Nsight Compute")
    ncu = f"ncu {'.'.join(map(str, release))} is newer than this program"
    if metrics:
        yield f"{ncu}: the values of {_listed(sorted(metrics))} have a type that is not known here, and are not shown"
    if results:
        yield f"{ncu}: {results} of its results are of a kind that is not known here, and are not shown"


def double_sentences(doubles: Collection[str], differing: Collection[str]) -> Iterator[str]:
    """Yield which metrics stand twice in a launch; ``differing`` of them have two values, of which the last counts."""
    yield from (f"the metric {name} stands twice in a launch" for name in sorted(set(doubles) - set(differing)))
    if differing:
        names = _listed(sorted(differing))
        yield f"twice in a launch, with different values: {names}; the last counts, as with NVIDIA's reader"
