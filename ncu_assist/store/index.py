"""Which runs an archive holds and what each is, without opening every record: a cache, which may be deleted.

``.ncu-assist/index/`` beside ``reports/`` has a Parquet file for each pack and one for the loose runs of a kernel. An
entry counts only while the files that it is of have the same names, sizes and times of change; anything else, a
damaged cache among it, is read anew. Files are replaced as a whole, so that two writers leave one of two right ones.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from ncu_assist.atomic import atomic_write
from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.record import Run, Source
from ncu_assist.steps import steps
from ncu_assist.store.findings import FINDINGS
from ncu_assist.store.folders import DERIVED_FILES, RUN_JSON, Damage
from ncu_assist.store.packs import Key, Pack, opened_packs
from ncu_assist.store.reading import METRICS, SAMPLES, SOURCE_FOLDER, StoredRun, open_packed, open_run

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2  # goes up with what an entry says
INDEXED_FROM = 100  # loose runs of a kernel: fewer are opened as fast as looked up
SHOWN = (METRICS, SAMPLES, FINDINGS)  # the files that a ladder and the index go by, beside the version's own source


class _Named(msgspec.Struct, frozen=True, array_like=True):
    name: str


class _TimedOn(msgspec.Struct, frozen=True, array_like=True):
    workload: str
    bench_id: str


class _LaunchedOn(msgspec.Struct, frozen=True, array_like=True):
    workload: str | None


class _About(msgspec.Struct, frozen=True, array_like=True):
    workloads: tuple[_Named, ...]
    timings: tuple[_TimedOn, ...]
    launches: tuple[_LaunchedOn, ...]  # one a workload
    wrong: tuple[str, ...]
    files: tuple[str, ...]  # findings.json where there is one


_about = functools.lru_cache(maxsize=4096)(msgspec.json.Decoder(_About).decode)


class RunFacts(Protocol):
    """What runs are chosen by; a record has it, and an entry of the index."""

    @property
    def version(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def created(self) -> str: ...
    @property
    def source(self) -> Source: ...
    @property
    def machine(self) -> str | None: ...
    @property
    def source_sha256(self) -> str | None: ...
    @property
    def gpu(self) -> str | None: ...
    @property
    def is_profiled(self) -> bool: ...


class Listed(Protocol):
    """A stored run, or its entry in the index."""

    @property
    def run(self) -> RunFacts: ...


class RunHead(NamedTuple):
    """What the index knows of a run: enough to choose among many which of them to open.

    ``run`` is the entry itself: what chooses takes runs that are open as well. ``problem`` is what is wrong with a file
    that a ladder goes by, empty for nothing, None where nobody has looked.
    """

    kernel: str
    version: str
    run_id: str
    created: str
    written_ns: int  # when its record was written
    source: Source
    machine: str | None
    source_sha256: str | None
    gpu: str | None
    digest: str
    is_profiled: bool
    repeats: int  # 0 without a profile
    about: str
    problem: str | None
    place: StoredRun | Pack | None = None  # None: its own folder

    @property
    def run(self) -> RunHead:
        return self

    @property
    def key(self) -> Key:
        return self.version, self.run_id

    @property
    def path(self) -> str:
        """Where it is, below ``reports/``."""
        return f"{self.kernel}/{self.version}/{self.run_id}"

    @property
    def reference(self) -> str:
        """``kernel/version@run``, which names this run on the command line."""
        return f"{self.kernel}/{self.version}@{self.run_id}"

    @property
    def workloads(self) -> tuple[_Named, ...]:
        """Its workloads, by ``name``."""
        return _about(self.about).workloads

    @property
    def launches(self) -> tuple[_LaunchedOn, ...]:
        """One for each ``workload`` that it has launches of."""
        return _about(self.about).launches

    @property
    def files(self) -> tuple[str, ...]:
        """Of its files ``findings.json``, where it has one."""
        return _about(self.about).files

    def timing(self, workload: str | None) -> _TimedOn | None:
        """Return by which ``bench_id`` it was timed on a workload; None where it was not."""
        return next((one for one in _about(self.about).timings if one.workload == workload), None)

    def is_wrong(self, workload: str | None) -> bool:
        """Tell whether its results were wrong on a workload; not where nobody checked them."""
        return workload in _about(self.about).wrong


def head_of(stored: StoredRun, written_ns: int, problem: str | None = None, place: StoredRun | None = None) -> RunHead:
    """Return the entry of a run that is open."""
    run = stored.run
    about = _About(
        tuple(_Named(one.name) for one in run.workloads),
        tuple(_TimedOn(one.workload, one.bench_id) for one in run.timings),
        tuple(_LaunchedOn(one) for one in dict.fromkeys(launch.workload for launch in run.launches)),
        tuple(dict.fromkeys(check.workload for check in run.checks if not check.passed)),
        (FINDINGS,) if FINDINGS in run.files else (),
    )
    return RunHead(
        run.kernel,
        run.version,
        run.run_id,
        run.created,
        written_ns,
        run.source,
        run.machine,
        run.source_sha256,
        run.gpu,
        run.digest,
        run.profile is not None,
        run.profile.repeats if run.profile else 0,
        msgspec.json.encode(about).decode(),
        problem,
        place,
    )


def own_source(run: Run) -> str | None:
    """Return the name of the file in the archive that is the version itself; None for a foreign program."""
    start = f"{SOURCE_FOLDER}{run.version}."
    return next((name for name in run.files if name.startswith(start)), None)


def shown_problem(stored: StoredRun) -> str:
    """Return what is wrong with the first file that is; empty where all that a ladder reads can be read."""
    try:
        for name in (*SHOWN, own_source(stored.run)):
            if name in stored.run.files:
                stored.read(str(name))
    except DamagedData as error:
        return error.message.removeprefix(f"{stored.reference}: ")
    return ""


Entries = tuple[list[RunHead], list[Damage]]


def entries(reports: Path, kernel: str, folders: Sequence[Path], version: str | None = None) -> Entries:
    """Return the runs of a kernel, or of one version, and what is damaged; ``folders`` are those of its loose runs.

    A run that is both loose and packed is one: the loose one, unless its folder has but a page. A folder that is gone,
    or has no record, may have been packed after the packs were listed: then they are listed again.
    """
    packs, damages = opened_packs(reports, kernel)
    while True:
        found, is_any_lost = _entries(reports, kernel, folders, version, packs, damages)
        before = {pack.path for pack in packs}
        if not is_any_lost:
            return found
        packs, damages = opened_packs(reports, kernel)
        if {pack.path for pack in packs} == before:
            return found


def _entries(
    reports: Path,
    kernel: str,
    folders: Sequence[Path],
    version: str | None,
    packs: Sequence[Pack],
    damages: Sequence[Damage],
) -> tuple[Entries, bool]:
    packed: dict[Key, RunHead] = {}
    lost: list[Damage] = []
    for pack in packs:
        versions, wrong = _of_pack(pack)
        chosen = versions.values() if version is None else (versions.get(version, ()),)
        packed.update((one.key, one) for heads in chosen for one in heads)
        lost += (one for one in wrong if one.concerns(f"{kernel}/{version}/" if version else f"{kernel}/"))
    loose = [one for one in folders if not (one.parts[-2:] in packed and not has_record(one))]
    if len(folders) <= INDEXED_FROM and not packs:
        heads, wrong = _opened(loose)
    else:
        heads, wrong = _of_loose(reports, kernel, loose, version)
    for one in heads:
        packed[one.key] = one
    known = {one.path for one in packed.values()} if lost else set[str]()
    is_any_lost = len(heads) + len(wrong) < len(loose) or any(not has_record(reports / one.path) for one in wrong)
    return ([*packed.values()], [*damages, *wrong, *(one for one in lost if one.path not in known)]), is_any_lost


def _opened(folders: Iterable[Path]) -> Entries:
    heads, damages = [], []
    for folder in steps("reading runs", list(folders)):
        try:
            stored = open_run(folder)
            heads.append(head_of(stored, written_ns(folder), place=stored))
        except DamagedData as error:
            if os.path.lexists(folder):  # else packed or pruned meanwhile
                damages.append(Damage("/".join(folder.parts[-3:]), error.message, isinstance(error, NewerData)))
    return heads, damages


def has_record(folder: Path) -> bool:
    """Tell whether the record of a run lies in a folder; not where one may not look."""
    return os.path.exists(folder / RUN_JSON)  # noqa: PTH110  pathlib's raises where one may not


def written_ns(folder: Path) -> int:
    """Return when the record in a folder was written; 0 where it is gone."""
    try:
        return (folder / RUN_JSON).stat().st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=1024)
def _of_pack(pack: Pack) -> tuple[dict[str, list[RunHead]], list[Damage]]:
    """Return the runs of a pack by version, and what is damaged."""
    heads, damages = _in_pack(pack)
    return by_version(heads), damages


def by_version(heads: Iterable[RunHead]) -> dict[str, list[RunHead]]:
    """Return runs by their versions, in the order in which they are met."""
    found: dict[str, list[RunHead]] = {}
    for one in heads:
        found.setdefault(one.version, []).append(one)
    return found


def _in_pack(pack: Pack) -> Entries:
    part = f"{pack.path.stem}-{pack.stamp[0]}-{pack.stamp[1]}"
    columns = _read_part(pack.reports, pack.kernel, part)
    if columns is not None and len(columns[0]) == len(pack.runs):
        *own, _, problems = columns
        found = list(map(RunHead._make, zip(*own, repeat(pack), strict=False)))
        if not any(problems):
            return found, []
        both = list(zip(found, problems, strict=True))
        return [one for one, why in both if not why], [Damage(one.path, why) for one, why in both if why]
    heads, damages = [], []
    for key, where in pack.runs.items():
        try:
            stored = open_packed(pack, key)
            heads.append(head_of(stored, where.written_ns, shown_problem(stored))._replace(place=pack))
        except DamagedData as error:
            damages.append(Damage(f"{pack.kernel}/{'/'.join(key)}", error.message, isinstance(error, NewerData)))
    if not any(one.is_newer for one in damages):  # which a newer version reads
        kept: list[tuple[Any, ...]] = [(*head[:-1], "", "") for head in heads]
        nothing = ("", 0, "live", None, None, None, "", False, 0, "", None, "")
        kept += [(*one.path.split("/"), *nothing, one.problem) for one in damages]
        there = {f"{one.path.stem}-" for one in opened_packs(pack.reports, pack.kernel)[0]}
        _write_part(pack.reports, pack.kernel, part, kept, lambda name: not any(map(name.startswith, there)))
    return heads, damages


def _of_loose(reports: Path, kernel: str, folders: Sequence[Path], version: str | None) -> Entries:
    known = {row[KEY]: row for row in zip(*(_read_part(reports, kernel, LOOSE) or ()), strict=True)}
    heads, new, damages, rows = [], 0, [], []
    for folder in folders:
        sign, row = signature(folder), known.pop(folder.parts[-2:], None)
        if sign and row and row[-2] == sign:
            heads.append(RunHead._make((*row[:-2], None)))
            rows.append(row)
            continue
        new += 1
        found, wrong = _opened([folder])
        damages += wrong
        for one in found:
            assert isinstance(one.place, StoredRun)
            head = one._replace(problem=shown_problem(one.place))
            heads.append(head)
            if sign and signature(folder) == sign:  # else changed while it was read
                rows.append((*head[:-1], sign, ""))
    others = [row for row in known.values() if version not in (None, row[1])]
    if new > len(damages) or (version is None and known):
        _write_part(reports, kernel, LOOSE, [*rows, *others], lambda name: False)
    return heads, damages


LOOSE = "loose"


def signature(folder: Path) -> str:
    """Return a hash of the names, sizes and times of change of a run's files; empty where that cannot be told."""
    found = []
    try:
        waiting = [str(folder)]
        while waiting:
            with os.scandir(waiting.pop()) as listed:
                for one in listed:
                    if one.is_dir(follow_symlinks=False):
                        waiting.append(one.path)
                    elif one.name not in DERIVED_FILES:
                        fact = one.stat(follow_symlinks=False)
                        found.append(f"{one.path}\0{fact.st_size}\0{fact.st_mtime_ns}\0{fact.st_mode}")
    except OSError:
        return ""
    start = len(str(folder))
    return hashlib.sha256("\n".join(sorted(line[start:] for line in found)).encode("utf-8", "replace")).hexdigest()


def cache_folder(reports: Path) -> Path:
    """Return where what is derived of an archive is kept: in the folder of caches of its project."""
    return reports.parent / ".ncu-assist" / "index"


COLUMNS = (*RunHead._fields[:-1], "sign", "damage")
KEY = slice(1, 3)  # of an entry: version and run id


@functools.cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    coded, text = pa.dictionary(pa.int32(), pa.string()), pa.string()
    often = ("kernel", "version", "source", "machine", "source_sha256", "gpu", "problem", "damage")
    kinds = {**dict.fromkeys(often, coded), "written_ns": pa.int64(), "is_profiled": pa.bool_(), "repeats": pa.int32()}
    return pa.schema([(name, kinds.get(name, text)) for name in COLUMNS]).with_metadata({"format": str(FORMAT)})


def _read_part(reports: Path, kernel: str, part: str) -> list[list[Any]] | None:
    """Return the columns of a part of the cache; None where there is none that can be read."""
    table = read_cached(cache_folder(reports) / "runs" / kernel / f"{part}.parquet", _schema())
    return None if table is None else [_values(table.column(name)) for name in COLUMNS]


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column as a list in which texts that repeat are one object.

    ``to_numpy`` and ``fill_null`` of pyarrow import pandas, which takes longer than all the rest.
    """
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        values: list[Any] = column.to_pylist()
        return values
    found: list[Any] = []
    for chunk in column.chunks:
        texts: dict[int | None, str | None] = {None: None, **dict(enumerate(chunk.dictionary.to_pylist()))}
        found += map(texts.__getitem__, chunk.indices.to_pylist())
    return found


def _write_part(
    reports: Path, kernel: str, part: str, rows: Sequence[tuple[Any, ...]], is_old: Callable[[str], bool]
) -> None:
    import pyarrow as pa

    schema = _schema()
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    arrays = [pa.array(values, type=one.type) for values, one in zip(columns, schema, strict=True)]
    folder = cache_folder(reports) / "runs" / kernel
    write_cached(folder / f"{part}.parquet", pa.table(arrays, schema=schema))
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.stem not in (part, LOOSE) and is_old(path.stem):
                path.unlink()


def read_cached(path: Path, schema: pa.Schema) -> pa.Table | None:
    """Return a table of the cache; None where there is none, or what is there is no such table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            found = file.schema_arrow
            facts = found.metadata or {}
            if found.names != schema.names or facts.get(b"format") != schema.metadata[b"format"]:
                return None
            table = file.read(use_threads=False)
            return table if table.schema.equals(schema) else table.cast(schema)
    except (OSError, pa.ArrowException, ValueError):
        return None


def write_cached(path: Path, table: pa.Table) -> bool:
    """Put a table into the cache, as a whole or not at all; False where that may not be written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    except (OSError, pa.ArrowException):
        return False
    return True
