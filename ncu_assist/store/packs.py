"""Runs packed: the files of many runs, byte for byte, in one Parquet file ``reports/<kernel>/packed/<id>.parquet``.

A row is a file of a run. Records stand first, in row groups of their own; the other files of a run stand together.
The runs and their rows are listed in the footer, so that one run is found without reading the others.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ncu_assist import schema
from ncu_assist.atomic import atomic_write
from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.store.folders import LINK, PACKED, RUN_JSON, Damage, unreadable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SCHEMA = "ncu-assist.pack/1"
SCHEMA_KEY, RUNS_KEY = b"ncu-assist.schema", b"ncu-assist.runs"
ENDING = ".parquet"
MOST_RUNS = 2_000  # of a pack: its footer is read in some milliseconds
GROUP_BYTES = 1 << 20  # of files before compression: what is read to get at one of them
LARGEST_FILE = 64 << 20  # a run with a larger file is no small file, and stays a folder
ZSTD_LEVEL = 9
LARGEST_KEPT = 4 << 20  # of a group that is remembered
REMEMBERED_PACKS, REMEMBERED_GROUPS = 64, 8

Key = tuple[str, str]  # version, run id


class PackedRun(msgspec.Struct, frozen=True, array_like=True):
    """Where a run lies in a pack: the row of its record, and the ``rows`` of its other files from ``first`` on.

    ``written_ns`` is when its record was written.
    """

    version: str
    run_id: str
    written_ns: int
    record: int
    first: int
    rows: int

    @property
    def key(self) -> Key:
        return self.version, self.run_id


READERS: schema.Readers[list[PackedRun]] = {1: msgspec.json.Decoder(list[PackedRun]).decode}


@dataclass(frozen=True)
class Pack:
    """A pack that was opened; each method raises DamagedData where it cannot be read."""

    path: Path
    stamp: tuple[int, int]  # time of change in ns, size in bytes: another file has another
    runs: Mapping[Key, PackedRun] = field(repr=False, compare=False)
    ends: Sequence[int] = field(repr=False, compare=False)  # the first row behind each row group

    @property
    def kernel(self) -> str:
        return self.path.parts[-3]

    @property
    def reports(self) -> Path:
        return self.path.parents[2]

    def folder(self, key: Key) -> Path:
        """Return where the run would lie, and where its page does."""
        return self.path.parents[1].joinpath(*key)

    def record(self, key: Key) -> bytes:
        """Return the ``run.json`` of a run."""
        return self._bytes(self.runs[key].record)

    def sizes(self, key: Key) -> dict[str, int]:
        """Return the files of a run beside its record, with their sizes in bytes. Reads none of them."""
        return {name: size for name, size, _ in self._listed(key)}

    def read(self, key: Key, name: str) -> bytes | None:
        """Return a file of a run, None where the pack holds none of this name."""
        row = next((row for own, _, row in self._listed(key) if own == name), None)
        return None if row is None else self._bytes(row)

    def _listed(self, key: Key) -> Iterator[tuple[str, int, int]]:
        run = self.runs[key]
        row, end = run.first, run.first + run.rows
        while row < end:
            group = bisect_right(self.ends, row)
            names, sizes = _names(self.path, self.stamp, group)
            start = self.ends[group] - len(names)
            for place in range(row - start, min(end, self.ends[group]) - start):
                yield names[place], sizes[place], start + place
            row = self.ends[group]

    def _bytes(self, row: int) -> bytes:
        group = bisect_right(self.ends, row)
        read = _data if sum(_names(self.path, self.stamp, group)[1]) <= LARGEST_KEPT else _data.__wrapped__
        data = read(self.path, self.stamp, group)
        found: bytes = data[row - (self.ends[group] - len(data))].as_py()
        return found


def pack_paths(reports: Path, kernel: str) -> tuple[list[Path], list[Damage]]:
    """Return the packs of a kernel, sorted by name, and what stands in their place and cannot be looked into.

    The folder is listed until two listings are alike. One alone may miss a pack that went while it was made, and also
    the one that took its place; that one stood before the other went, so a second listing has it.
    """
    folder = reports / kernel / PACKED
    before: list[str] | None = None
    try:
        while (now := sorted(os.listdir(folder))) != before:  # noqa: PTH208
            before = now
        found = [folder / name for name in now if name.endswith(ENDING) and not name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        try:
            folder.lstat()
        except OSError:
            return [], []  # the folder above, which is named by who looks there
        return [], [Damage(f"{kernel}/{PACKED}", unreadable(error))]
    return found, []


def opened_packs(reports: Path, kernel: str) -> tuple[list[Pack], list[Damage]]:
    """Return the packs of a kernel that can be read, and what is wrong with the others."""
    while True:
        paths, damages = pack_paths(reports, kernel)
        packs = []
        try:
            for path in paths:
                try:
                    packs.append(open_pack(path))
                except DamagedData as error:
                    damages.append(Damage("/".join(path.parts[-3:]), error.message, isinstance(error, NewerData)))
                except FileNotFoundError:
                    if not path.is_symlink():
                        raise
                    damages.append(Damage("/".join(path.parts[-3:]), LINK))
            return packs, damages
        except FileNotFoundError:  # another has taken its place: list again
            continue


def open_pack(path: Path) -> Pack:
    """Return a pack. Raises DamagedData where it cannot be read, FileNotFoundError where it is gone."""
    try:
        return _opened(path, stamp_of(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedData(unreadable(error), "ncu-assist verify") from error


def stamp_of(path: Path) -> tuple[int, int]:
    """Return when a file was changed, in ns, and its size; raises OSError."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def packed_run(reports: Path, kernel: str, key: Key) -> Pack | None:
    """Return the pack that holds a run now, None where none does."""
    return next((pack for pack in opened_packs(reports, kernel)[0] if key in pack.runs), None)


@functools.lru_cache(maxsize=REMEMBERED_PACKS)
def _opened(path: Path, stamp: tuple[int, int]) -> Pack:
    with _readable(path) as file:
        facts = file.schema_arrow.metadata or {}
        read = schema.reader_of(facts.get(SCHEMA_KEY, b"").decode("utf-8", "replace"), SCHEMA, READERS, path.name)
        try:
            runs = read(facts[RUNS_KEY])
        except (KeyError, msgspec.DecodeError) as error:
            raise DamagedData(f"lists no runs ({error})", "ncu-assist verify") from error
        counts = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    ends = list(accumulate(counts))
    last = ends[-1] if ends else 0
    if any(not 0 <= one.record < last or one.first < 0 or one.first + one.rows > last for one in runs):
        raise DamagedData("lists rows that it does not hold", "ncu-assist verify")
    return Pack(path, stamp, {(one.version, one.run_id): one for one in runs}, ends)


@functools.lru_cache(maxsize=REMEMBERED_GROUPS)
def _names(path: Path, stamp: tuple[int, int], group: int) -> tuple[list[str], list[int]]:
    with _readable(path, _footer(path, stamp)) as file:
        table = file.read_row_group(group, columns=["name", "size"], use_threads=False)
    return table.column("name").to_pylist(), table.column("size").to_pylist()


@functools.lru_cache(maxsize=REMEMBERED_GROUPS)
def _data(path: Path, stamp: tuple[int, int], group: int) -> pa.ChunkedArray:
    with _readable(path, _footer(path, stamp)) as file:
        return file.read_row_group(group, columns=["data"], use_threads=False).column("data")


@functools.lru_cache(maxsize=REMEMBERED_PACKS)
def _footer(path: Path, _stamp: tuple[int, int]) -> pq.FileMetaData:
    """Return where the row groups of a pack are: read once, as it also lists all runs."""
    with _readable(path) as file:
        return file.metadata


@contextlib.contextmanager
def _readable(path: Path, footer: pq.FileMetaData | None = None) -> Iterator[pq.ParquetFile]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, metadata=footer, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedData(f"{path.name} cannot be read: {error}", "ncu-assist verify") from error


@dataclass(frozen=True)
class RunFiles:
    """A run to be packed: its record and its other files by name, read when it is their turn."""

    version: str
    run_id: str
    written_ns: int
    record: bytes
    names: Sequence[str]
    read: Callable[[str], bytes]


def write_pack(reports: Path, kernel: str, runs: Sequence[RunFiles]) -> Path:
    """Write runs as a pack, flushed to disk and read back before it gets its name, and return its path.

    The name is a hash of the records, which list the hashes of all files: the same runs make the same pack, whoever
    writes it. Raises OSError where the disk refuses, DamagedData where it reads back otherwise; nothing is left then.
    """
    from ncu_assist.store.writing import sync_folder

    ordered = sorted(runs, key=lambda one: (one.version, one.run_id))
    digest = hashlib.sha256()
    for one in ordered:
        digest.update(hashlib.sha256(one.record).digest())
    folder = reports / kernel / PACKED
    path = folder / f"{digest.hexdigest()[:32]}{ENDING}"
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, sync=True) as target:
        _fill(target, ordered)
        target.flush()
        _check(open_pack(Path(target.name)), ordered)
    sync_folder(folder)
    return path


def _check(pack: Pack, runs: Sequence[RunFiles]) -> None:
    for one in runs:
        key = one.version, one.run_id
        same = key in pack.runs and pack.record(key) == one.record and pack.sizes(key).keys() == set(one.names)
        if not same or any(pack.read(key, name) != one.read(name) for name in one.names):
            raise DamagedData(f"{'/'.join(key)} reads back differently from what was written: the disk may be failing")


def _fill(target: Any, runs: Sequence[RunFiles]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    coded = pa.dictionary(pa.int32(), pa.string())
    columns = pa.schema(
        [("version", coded), ("run_id", pa.string()), ("name", coded), ("size", pa.int64()), ("data", pa.binary())]
    )
    listed, row = [], len(runs)
    for place, one in enumerate(runs):
        listed.append(PackedRun(one.version, one.run_id, one.written_ns, place, row, len(one.names)))
        row += len(one.names)
    facts = {SCHEMA_KEY: SCHEMA.encode(), RUNS_KEY: msgspec.json.encode(listed)}
    options: dict[str, Any] = {
        "compression": "zstd",
        "compression_level": ZSTD_LEVEL,
        "use_dictionary": ["version", "run_id", "name"],
        "write_statistics": ["version", "run_id", "name"],
        "write_page_checksum": True,
    }
    with pq.ParquetWriter(target, columns.with_metadata(facts), **options) as writer:
        records = ((one.version, one.run_id, RUN_JSON, len(one.record), one.record) for one in runs)
        for rows in (_grouped(records), _grouped(_others(runs))):
            for group in rows:
                arrays = [
                    pa.array(values, type=one.type)
                    for values, one in zip(zip(*group, strict=True), columns, strict=True)
                ]
                writer.write_table(pa.table(arrays, schema=columns), row_group_size=len(group))


Row = tuple[str, str, str, int, bytes]


def _others(runs: Iterable[RunFiles]) -> Iterator[Row]:
    for one in runs:
        for name in one.names:
            data = one.read(name)
            yield one.version, one.run_id, name, len(data), data


def _grouped(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    for row in rows:
        if group and size + row[3] > GROUP_BYTES:
            yield group
            group, size = [], 0
        group.append(row)
        size += row[3]
    if group:
        yield group
