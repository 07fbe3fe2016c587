"""Ways to damage a report, each by a seed: bytes that change, go or come, parts that move, a file that is cut."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from ncu_assist.ncu import report_file
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.report_file import Block, Entry

DATA = Path(__file__).parent.parent / "data"
LONGEST = 4096  # bytes of a run that is overwritten, deleted, inserted or moved
SIZE = 4  # bytes of the size before a message
NVTX, RULES, SESSION, STRINGS = 21, 19, report_file.SESSION, report_file.STRINGS
METRIC_START = 14  # bytes of a metric that hold its name and its value, and not what it has one by one


@dataclass(frozen=True)
class Original:
    """A report as it was recorded, and where its parts lie."""

    data: bytes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return report_file.blocks(self.data)

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Where each block begins, and where the last one ends."""
        return (*(block.header_start - SIZE for block in self.blocks), len(self.data))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for block in self.blocks for entry in block.entries)

    @cached_property
    def launches(self) -> tuple[Entry, ...]:
        return tuple(report_file.results(self.data))

    def spans(self, message: tuple[int, int], number: int) -> list[tuple[int, int]]:
        """Where the fields with this number lie in a message, tag and all."""
        return [(f.start, f.end) for f in report_file.fields(self.data, *message) if f.number == number]

    @cached_property
    def headers(self) -> tuple[tuple[int, int], ...]:
        return tuple((block.header_start, block.header_end) for block in self.blocks)

    @cached_property
    def strings(self) -> tuple[tuple[int, int], ...]:
        """Where the fields lie that hold the names of metrics."""
        fields = [field for header in self.headers for field in report_file.fields(self.data, *header)]
        tables = [(field.body, field.end) for field in fields if field.number == STRINGS]
        return tuple(span for table in tables for span in self.spans(table, 1))

    @cached_property
    def sessions(self) -> tuple[tuple[int, int], ...]:
        return tuple(span for header in self.headers for span in self.spans(header, SESSION))

    def metrics(self, launch: Entry) -> list[tuple[int, int]]:
        return self._of_launch(launch, report_file.RESULT_METRIC)

    def parts(self, number: int) -> list[tuple[int, int]]:
        """Where the fields with this number lie in the launches."""
        return [span for launch in self.launches for span in self._of_launch(launch, number)]

    def _of_launch(self, launch: Entry, number: int) -> list[tuple[int, int]]:
        key = (launch.start, number)
        if key not in self._spans:
            self._spans[key] = self.spans((launch.start, launch.end), number)
        return self._spans[key]

    @cached_property
    def _spans(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        return {}


def recorded(name: str) -> bytes:
    """Return a recorded report, decompressed."""
    return read_plain(DATA / f"{name}_h200_2025.3.1.ncu-rep.zst")


Corruption = Callable[[Original, Random], bytes]


def corrupted(original: Original, kind: str, seed: int) -> bytes:
    """Return the report damaged in this way; the same bytes for the same seed, never those of the original."""
    random = Random(f"{kind} {seed}")
    while True:
        damaged = KINDS[kind](original, random)
        if damaged != original.data:
            return damaged


def _flipped(data: bytes, at: int, random: Random) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _within(span: tuple[int, int], random: Random, most: int | None = None) -> int:
    start, end = span
    return random.randrange(start, end if most is None else min(end, start + most))


def _run(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data))
    return start, min(len(data), start + random.randint(1, LONGEST))


def bit(report: Original, random: Random) -> bytes:
    return _flipped(report.data, random.randrange(len(report.data)), random)


def byte(report: Original, random: Random) -> bytes:
    at = random.randrange(len(report.data))
    return report.data[:at] + random.randbytes(1) + report.data[at + 1 :]  # the same byte is drawn again


def noise(report: Original, random: Random) -> bytes:
    start, end = _run(report.data, random)
    return report.data[:start] + random.randbytes(end - start) + report.data[end:]


def zeros(report: Original, random: Random) -> bytes:
    start, end = _run(report.data, random)
    return report.data[:start] + bytes(end - start) + report.data[end:]


def deleted(report: Original, random: Random) -> bytes:
    start, end = _run(report.data, random)
    return report.data[:start] + report.data[end:]


def inserted(report: Original, random: Random) -> bytes:
    start, end = _run(report.data, random)
    return report.data[:start] + random.randbytes(end - start) + report.data[start:]


def swapped(report: Original, random: Random) -> bytes:
    """Two runs of one length change places."""
    data, size = report.data, random.randint(1, LONGEST)
    one, other = sorted((random.randrange(len(data) - 2 * size), random.randrange(len(data) - 2 * size)))
    other = max(other, one + size)
    return b"".join(
        (data[:one], data[other : other + size], data[one + size : other], data[one : one + size], data[other + size :])
    )


def doubled(report: Original, random: Random) -> bytes:
    start, end = _run(report.data, random)
    return report.data[:end] + report.data[start:end] + report.data[end:]


def block_lost(report: Original, random: Random) -> bytes:
    start, end = _block(report, random)
    return report.data[:start] + report.data[end:]


def _block(report: Original, random: Random) -> tuple[int, int]:
    number = random.randrange(len(report.blocks))
    return report.bounds[number], report.bounds[number + 1]


def block_doubled(report: Original, random: Random) -> bytes:
    start, end = _block(report, random)
    return report.data[:end] + report.data[start:end] + report.data[end:]


def blocks_swapped(report: Original, random: Random) -> bytes:
    one, other = sorted(random.sample(range(len(report.blocks)), 2))
    bounds = report.bounds
    order = [*range(one), other, *range(one + 1, other), one, *range(other + 1, len(report.blocks))]
    return report.data[: bounds[0]] + b"".join(report.data[bounds[i] : bounds[i + 1]] for i in order)


def size_changed(report: Original, random: Random) -> bytes:
    """The size before a header or an entry, or a count in a header, becomes another."""
    data = report.data
    sizes = [block.header_start - SIZE for block in report.blocks] + [entry.start - SIZE for entry in report.entries]
    counts = [
        f.body for header in report.headers for f in report_file.fields(data, *header) if f.wire == report_file.VARINT
    ]
    if random.random() < 0.5:
        return _flipped(data, random.choice(counts), random)
    at = random.choice(sizes)
    size = int.from_bytes(data[at : at + SIZE], "little")
    other = random.choice((0, size + 1, max(0, size - 1), size * 2, 2**32 - 1, random.randrange(2**32)))
    return data[:at] + other.to_bytes(SIZE, "little") + data[at + SIZE :]


def name_changed(report: Original, random: Random) -> bytes:
    """A bit flips in the name of a metric, or in the length before it."""
    return _flipped(report.data, _within(random.choice(report.strings), random), random)


def launch_changed(report: Original, random: Random) -> bytes:
    """A bit flips in what says which kernel a launch ran and with how many threads."""
    launch = random.choice(report.launches)
    start = report.metrics(launch)[0][0]
    return _flipped(report.data, random.randrange(launch.start, start), random)


def metric_changed(report: Original, random: Random) -> bytes:
    """A bit flips in the name or the value of a metric: not in what it has one by one."""
    span = random.choice(report.metrics(random.choice(report.launches)))
    return _flipped(report.data, _within(span, random, METRIC_START), random)


def metrics_swapped(report: Original, random: Random) -> bytes:
    """Two metrics of a launch and of one size change places, which is no harm; or one stands in both places."""
    spans = report.metrics(random.choice(report.launches))
    one = random.choice(spans)
    other = random.choice([span for span in spans if span[1] - span[0] == one[1] - one[0]])
    changed = bytearray(report.data)
    changed[one[0] : one[1]] = report.data[other[0] : other[1]]
    if random.random() < 0.5:
        changed[other[0] : other[1]] = report.data[one[0] : one[1]]
    return bytes(changed)


def range_changed(report: Original, random: Random) -> bytes:
    return _flipped(report.data, _within(random.choice(report.parts(NVTX)), random), random)


def rule_changed(report: Original, random: Random) -> bytes:
    return _flipped(report.data, _within(random.choice(report.parts(RULES)), random), random)


def session_changed(report: Original, random: Random) -> bytes:
    return _flipped(report.data, _within(random.choice(report.sessions), random), random)


def cut(report: Original, random: Random) -> bytes:
    return report.data[: random.randrange(len(report.data))]


def cut_at_entry(report: Original, random: Random) -> bytes:
    """The file ends before or behind an entry, or behind a header: inside a block, at a place that looks right."""
    ends = {end for entry in report.entries for end in (entry.start - SIZE, entry.end)}
    ends |= {block.header_end for block in report.blocks if block.entries}
    return report.data[: random.choice(sorted(ends - set(report.bounds)))]


def cut_between_blocks(report: Original, random: Random) -> bytes:
    return report.data[: random.choice(report.bounds[:-1])]


BLIND: dict[str, Corruption] = {  # to what the bytes mean: they damage any file
    "bit": bit,
    "byte": byte,
    "noise": noise,
    "zeros": zeros,
    "deleted": deleted,
    "inserted": inserted,
    "swapped": swapped,
    "doubled": doubled,
}
CUTS: dict[str, Corruption] = {
    "cut": cut,
    "cut at entry": cut_at_entry,
    "cut between blocks": cut_between_blocks,
}
KINDS: dict[str, Corruption] = {
    **BLIND,
    "block lost": block_lost,
    "block doubled": block_doubled,
    "blocks swapped": blocks_swapped,
    "size": size_changed,
    "name": name_changed,
    "launch": launch_changed,
    "metric": metric_changed,
    "metrics swapped": metrics_swapped,
    "range": range_changed,
    "rule": rule_changed,
    "session": session_changed,
    **CUTS,
}

if __name__ == "__main__":
    Path(sys.argv[4]).write_bytes(corrupted(Original(recorded(sys.argv[1])), sys.argv[2], int(sys.argv[3])))
