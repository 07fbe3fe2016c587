"""What each instruction of a launch counted, by its address, from the report file itself.

NVIDIA's reader has these values too, one call for each, and prepares each launch anew: it is asked for the code alone,
once for all launches of a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file
from ncu_assist.ncu.messages import KIND, Messages, number_of
from ncu_assist.ncu.report_file import MAX_VARINT_BYTES, Bytes, Entry
from ncu_assist.ncu.source.contents import ENTRIES, KINDS, SAMPLED, is_source_metric

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class InstructionCounters:
    """The counters of one launch: ``values`` has a row for each metric, sorted by name, a column for each address.

    ``entries`` are the addresses at which its kernels start. A metric is 0 at an address that it has no value for.
    """

    entries: tuple[int, ...]
    metrics: tuple[str, ...]
    addresses: Array  # uint64, ascending: each that any of the metrics has a value for
    values: Array  # float64


class InstructionReader:
    """Reads the counters of launches of a report whose messages were checked, as they are when its metrics are read."""

    def __init__(self, data: Bytes) -> None:
        self._data, self._messages = data, Messages()
        blocks = report_file.blocks(data)
        self.results: Sequence[Entry] = [entry for block in blocks for entry in block.results]
        names = [name for block in blocks for name in self._messages.header(data, block).strings.strings]
        self._names = {i: name for i, name in enumerate(names) if name == ENTRIES or is_source_metric(name)}

    def of(self, launch: int) -> InstructionCounters:
        """Return the counters of a launch; raises DamagedData where they do not add up to what the launch says."""
        import numpy as np

        result = self._messages.checked(self._data, self.results[launch])
        own = {self._names[one.name]: one for one in result.metrics if one.name in self._names}  # the last of a name
        names = sorted(own)
        decoded = zip(names, _decoded([own[name].instances for name in names]), strict=True)
        report_file.forget(self._data, self.results[launch])
        entries: set[int] = set()
        columns: dict[str, tuple[Array, Array]] = {}
        for name, (addresses, values) in decoded:
            total = _total(own[name]) if name not in KINDS else None
            if name == ENTRIES:
                entries = {int(value) for value in values} - {0}
            elif total == 0:
                columns[name] = addresses[:0], values[:0]
            elif len(addresses):
                columns[name] = addresses, values
                _check_sum(name, values, total)
        every = np.unique(np.concatenate([np.empty(0, np.uint64), *(at for at, _ in columns.values())]))
        table = np.zeros((len(columns), len(every)))
        for row, (addresses, values) in zip(table, columns.values(), strict=True):
            row += np.bincount(np.searchsorted(every, addresses), values, len(every))
        return InstructionCounters(tuple(sorted(entries)), tuple(columns), every, table)


def _total(metric: Any) -> float | None:
    return None if metric.value.WhichOneof(KIND) is None else number_of(metric.value)


def _check_sum(name: str, values: Array, total: float | None) -> None:
    found = sum(values.tolist())
    if total is not None and not name.startswith(SAMPLED) and found != total:
        raise DamagedData(f"the values of {name} add up to {found:.0f}, not to {total:.0f}")


# An instance is `0A size ID 12 size VALUE`; one without an address lacks its first part. ID and VALUE are a tag and a
# number each, or nothing. No size is above one byte.
ID, VALUE, PADDING = 0x0A, 0x12, 512  # bytes that may be looked at behind the last, where sizes are wrong
UINT32, UINT64, DOUBLE, FLOAT = 0x20, 0x28, 0x19, 0x15


def _decoded(metrics: Sequence[Sequence[bytes]]) -> Iterator[tuple[Array, Array]]:
    """Yield addresses and values of the instances of each metric; no address where not each of them has one."""
    import numpy as np

    instances = [one for metric in metrics for one in metric]
    data = np.frombuffer(b"".join(instances) + bytes(PADDING), np.uint8)
    sizes = np.fromiter(map(len, instances), np.int64, len(instances))
    starts = np.cumsum(sizes) - sizes
    has_id = data[starts] == ID
    behind_id = starts + np.where(has_id, 2 + data[starts + 1].astype(np.int64), 0)
    if not ((data[behind_id] == VALUE) & (behind_id + 2 + data[behind_id + 1] == starts + sizes)).all():
        raise _damaged()
    values = _numbers(data, behind_id + 2, data[behind_id + 1]).astype(np.float64)
    addresses = np.zeros(len(instances), np.uint64)
    addresses[has_id] = _numbers(data, starts[has_id] + 2, data[starts[has_id] + 1])
    ends = np.cumsum([len(metric) for metric in metrics], dtype=np.int64)
    for end, metric in zip(ends, metrics, strict=True):
        own = slice(end - len(metric), end)
        yield addresses[own] if has_id[own].all() else addresses[:0], values[own]


def _numbers(data: Array, starts: Array, sizes: Array) -> Array:
    """Return the number at each start, of as many bytes with its tag; 0 for one of none."""
    import numpy as np

    tags = np.where(sizes > 0, data[starts], UINT64)
    if np.isin(tags, (UINT32, UINT64)).all():
        return _varints(data, starts + 1, sizes.astype(np.int64) - 1)
    found = np.zeros(len(starts))
    for tag in np.unique(tags):
        which = tags == tag
        if tag in (UINT32, UINT64):
            found[which] = _varints(data, starts[which] + 1, sizes[which].astype(np.int64) - 1)
            continue
        kind = np.dtype("<f8" if tag == DOUBLE else "<f4")
        if tag not in (DOUBLE, FLOAT) or (sizes[which] != 1 + kind.itemsize).any():
            raise _damaged()
        found[which] = data[starts[which][:, None] + np.arange(1, 1 + kind.itemsize)].view(kind)[:, 0]
    return found


def _varints(data: Array, starts: Array, sizes: Array) -> Array:
    """Return the varint at each start, of so many bytes; 0 for one of none."""
    import numpy as np

    found = np.zeros(len(starts), np.uint64)
    longest = sizes.max(initial=0)
    for place in range(min(longest, MAX_VARINT_BYTES)):
        byte = data[starts + place]
        inside = place < sizes
        if ((byte >= 0x80) != (place < sizes - 1))[inside].any():
            raise _damaged()
        found |= np.where(inside, (byte & 0x7F).astype(np.uint64) << np.uint64(7 * place), np.uint64(0))
    if longest > MAX_VARINT_BYTES:
        raise _damaged()
    return found


def _damaged() -> DamagedData:
    return DamagedData("the report is damaged: the value of an instruction cannot be parsed", "profile again")
