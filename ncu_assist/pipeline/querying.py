"""Answer SQL over an archive with DuckDB: runs, timings, samples, metrics and findings are tables.

The tables are Parquet files in the cache, made on demand: for each kernel one per pack and one for the loose runs.
DuckDB may read only these files and write none, because a query may come from an agent.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import html
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist import __version__
from ncu_assist.analysis.archive import QueryResult
from ncu_assist.atomic import atomic_write
from ncu_assist.errors import NUMBER, DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.project import Project, find_project
from ncu_assist.quantity import number_of
from ncu_assist.record import Run
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.store.index import RunHead, cache_folder
from ncu_assist.store.packs import Pack
from ncu_assist.store.reading import CODE, METRICS, REPORTS
from ncu_assist.versions import version_order

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ncu_assist.store.findings import Findings

MEMORY = "600MB"  # limit for DuckDB; larger data goes to a temporary folder
CHUNK_RUNS = 100  # held in memory at once while a table is made
FORMAT = 5  # increased when the content of the tables changes
NAMES = (("reference", "text"), ("kernel", "text"), ("version", "text"))
COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "runs": (
        *NAMES,
        *((name, "text") for name in ("run_id", "created", "source", "tool", "gpu", "compute_capability", "driver")),
        *((name, "text") for name in ("ncu", "nvcc", "cuda", "torch")),
        ("correct", "flag"),
        ("launches", "integer"),
        *(("has_report", "flag"), ("has_lines", "flag")),
        *(("commit", "text"), ("dirty", "flag")),
    ),
    "timings": (
        *NAMES,
        *(("number", "integer"), ("is_peer", "flag"), ("gpu", "text"), ("workload", "text"), ("default", "flag")),
        *(("dtype", "text"), ("algorithmic_bytes", "integer"), ("flops", "integer")),
        *((name, "number") for name in ("median_ns", "q1_ns", "q3_ns", "min_ns")),
        *(("samples", "integer"), ("dropped", "integer")),
        *((name, "number") for name in ("sm_clock_mhz", "empty_ns", "copy_ns", "link_ns")),
        ("bench_id", "text"),
    ),
    "samples": (
        *NAMES,
        *(("is_peer", "flag"), ("gpu", "text"), ("kind", "text"), ("bench_id", "text"), ("workload", "text")),
        *(("round", "integer"), ("position", "integer"), ("time_ns", "number"), ("sm_clock_mhz", "number")),
        ("late", "flag"),
    ),
    "metrics": (
        *NAMES,
        *(("workload", "text"), ("launch", "integer"), ("function", "text"), ("metric", "text")),
        *(("value", "number"), ("text", "text"), ("unit", "text")),
    ),
    "findings": (
        *NAMES,
        *(("workload", "text"), ("launch", "integer"), ("function", "text"), ("whole", "flag")),
        *(
            ("duration_ns", "number"),
            ("judged", "text"),
            ("tool", "text"),
            ("rules", "text"),
            ("rank", "integer"),
            ("rule", "text"),
            ("severity", "text"),
        ),
        *(("saved_ns", "number"), ("estimated_speedup", "number"), ("assumed", "flag")),
    ),
}
NO_TABLE = re.compile(r"Table with name (\S+) does not exist")
TRY_JOINED = "name the table before the column, as in timings.kernel, or join using (reference, kernel, version)"
NO_COLUMN = re.compile(r"column \"|have a column named")
TRY = "ncu-assist query 'select * from runs limit 3'"


def query(store: Store, sql: str, limit: int | None = None) -> QueryResult:
    """Return the result of a SELECT over the runs of the archive that are as they were stored, ``limit`` rows at most.

    Raises UsageProblem for anything but a single SELECT and for an unknown table, column or file, EnvironmentProblem
    if DuckDB is not installed.
    """
    duckdb, store = _duckdb(), store.without_changed()
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        named = [name for name in COLUMNS if name in sql.lower()]
        tables = {name: parts(store, name, Path(folder)) if name in named else [] for name in COLUMNS}
        try:
            found = _answered(duckdb, tables, sql, limit, Path(folder))
            return replace(found, left_out=store.left_out)
        except duckdb.Error as error:
            damaged = [path for some in tables.values() for path in some if _removed_if_damaged(path)]
            if damaged:
                return query(store, sql, limit)
            raise UsageProblem(f"the query cannot be answered: {_said(error)}", _hint(str(error), named)) from error


def _said(error: Exception) -> str:
    """Return DuckDB's message, with the existing tables if one is unknown."""
    name = NO_TABLE.search(str(error))
    known = f"the tables are {', '.join(COLUMNS)}"
    return f"there is no table '{name[1]}'; {known}" if name else str(error)


def _hint(error: str, named: Iterable[str]) -> str:
    if "Ambiguous reference" in error:
        return TRY_JOINED
    return f"ncu-assist query 'describe {next(iter(named), 'runs')}'" if NO_COLUMN.search(error) else TRY


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        hint = "pip install 'ncu-assist[query]'"
        raise EnvironmentProblem("query needs DuckDB, which is not installed", hint) from error
    return duckdb


def _answered(duckdb: Any, tables: dict[str, list[Path]], sql: str, limit: int | None, spill: Path) -> QueryResult:
    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    with contextlib.closing(duckdb.connect(":memory:", config=config)) as connection:
        statements = connection.extract_statements(sql)
        if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
            raise UsageProblem("a query must be one SELECT, which changes nothing", TRY)
        for name, paths in tables.items():
            columns = ", ".join(f'"{column}" {_SQL[kind]}' for column, kind in COLUMNS[name])
            if paths:
                connection.execute(f"create view {name} as select * from read_parquet({_listed(paths)})")
            else:
                connection.execute(f"create table {name} ({columns})")
        allowed = [path for paths in tables.values() for path in paths]
        for setting in (
            f"memory_limit = '{MEMORY}'",
            f"temp_directory = {_quoted(str(spill))}",
            f"allowed_paths = {_listed(allowed)}",
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"set {setting}")
        answer = connection.execute(statements[0])
        rows = answer.fetchall() if limit is None else answer.fetchmany(limit + 1)
        named = tuple(str(one[0]) for one in answer.description)
    return QueryResult(named, tuple(rows[:limit]), limit is not None and len(rows) > limit)


_SQL = {"text": "varchar", "number": "double", "integer": "bigint", "flag": "boolean"}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _listed(paths: Sequence[Path]) -> str:
    return f"[{', '.join(_quoted(str(path)) for path in paths)}]"


def parts(store: Store, table: str, beside: Path) -> list[Path]:
    """Return the Parquet files of a table of the archive, and make those that the cache lacks.

    If the cache cannot be written, the files are in ``beside``. Runs whose files were changed are left out.
    """
    of_kernel = functools.cache(lambda kernel: (default_workload(store.reports, kernel), peers_of(store, kernel)))
    groups: dict[tuple[str, Pack | None], list[RunHead]] = {}
    for head in store.heads():
        pack = head.place if isinstance(head.place, Pack) else None
        groups.setdefault((head.kernel, pack), []).append(head)
    found: list[Path] = []
    folders: dict[Path, set[str]] = {}
    for (kernel, _), heads in groups.items():
        digests = "\n".join(sorted(head.digest for head in heads))
        if table in OF_A_KERNEL:
            default, peers = of_kernel(kernel)
            digests += f"\n{default} {sorted(peers)}"
        name = hashlib.sha256(f"{FORMAT} {__version__}\n{digests}".encode()).hexdigest()[:32]
        folder = cache_folder(store.reports) / table / kernel
        path = folder / f"{name}.parquet"
        if not path.is_file():
            path = _made(store, table, heads, path, beside)
        found.append(path)
        folders.setdefault(folder, set()).add(path.name)
    for folder, names in folders.items():  # files made of runs that are packed differently now
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                if path.suffix == ".parquet" and path.name not in names:
                    path.unlink()
    return found


def _made(store: Store, table: str, heads: Sequence[RunHead], path: Path, beside: Path) -> Path:
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as opened:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = opened.enter_context(atomic_write(path))
        except OSError:
            path = beside / f"{table}-{heads[0].kernel}-{path.name}"
            file = opened.enter_context(atomic_write(path))
        with pq.ParquetWriter(file, _schema(table), compression="zstd", write_page_checksum=True) as writer:
            for chunk in _chunks(store, table, heads):
                writer.write_table(chunk)
    return path


def _chunks(store: Store, table: str, heads: Sequence[RunHead]) -> Iterator[pa.Table]:
    import pyarrow as pa

    ordered = sorted(heads, key=lambda head: head.key)  # in the order of a pack, which is then read once
    for low in range(0, len(ordered), CHUNK_RUNS):
        runs = _readable(store, ordered[low : low + CHUNK_RUNS])
        if table == "metrics":
            yield _metrics(list(runs))
        elif table == "samples":
            yield from _samples(store, runs)
        else:
            yield pa.Table.from_pylist(list(_rows(table, runs, store)), schema=_schema(table))


def _samples(store: Store, runs: Iterable[StoredRun]) -> Iterator[pa.Table]:
    import pyarrow as pa

    peers: dict[str, frozenset[str]] = {}
    for stored in runs:
        if stored.run.timings:
            if stored.run.kernel not in peers:
                peers[stored.run.kernel] = peers_of(store, stored.run.kernel)
            with contextlib.suppress(DamagedData):
                frame = _samples_of(stored, peers[stored.run.kernel])
                yield pa.Table.from_pandas(frame, schema=_schema("samples"), preserve_index=False)


def _readable(store: Store, heads: Iterable[RunHead]) -> Iterator[StoredRun]:
    for head in heads:
        if not head.problem:
            with contextlib.suppress(DamagedData):
                yield store.opened(head)


def _rows(table: str, runs: Iterable[StoredRun], store: Store) -> Iterator[dict[str, Any]]:
    known: dict[str, tuple[str | None, frozenset[str]]] = {}
    for stored in runs:
        kernel = stored.run.kernel
        with contextlib.suppress(DamagedData):
            if table == "runs":
                yield run_row(stored)
                continue
            if table == "timings":
                if kernel not in known:
                    known[kernel] = default_workload(store.reports, kernel), peers_of(store, kernel)
                rows = timing_rows(stored, *known[kernel])
            else:
                rows = finding_rows(stored, store.reports)
            yield from [{**naming(stored), **row} for row in rows]


def _metrics(runs: Sequence[StoredRun]) -> pa.Table:
    """Return the metrics of runs, sorted by metric: a query for one reads few pages."""
    import numpy as np
    import pyarrow as pa

    coded: dict[str, dict[str | None, int]] = {name: {} for name, kind in COLUMNS["metrics"] if kind == "text"}
    columns: dict[str, list[Any]] = {name: [] for name, _ in COLUMNS["metrics"]}

    def codes(column: str, texts: Sequence[str | None]) -> Any:
        known = coded[column]
        return np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.int32)

    for stored in runs:
        if METRICS not in stored.run.files:
            continue
        try:
            kept = stored.kept_metrics()
        except DamagedData:
            continue
        count = len(kept.launch)
        launches = {one.index: one for one in stored.run.launches}
        numbers, places = np.unique(kept.launch, return_inverse=True)
        named = [launches.get(int(number)) for number in numbers]
        for column, text in naming(stored).items():
            columns[column].append(np.repeat(codes(column, [text]), count))
        columns["workload"].append(codes("workload", [one.workload if one else None for one in named])[places])
        columns["function"].append(codes("function", [one.kernel if one else None for one in named])[places])
        columns["launch"].append(kept.launch)
        columns["metric"].append(codes("metric", kept.names)[kept.metric])
        columns["value"].append(kept.value)
        texts = np.repeat(codes("text", [None]), count)
        for row, text in kept.texts.items():
            texts[row] = codes("text", [text])[0]
        columns["text"].append(texts)
        columns["unit"].append(codes("unit", kept.units)[kept.unit])
    schema = _schema("metrics")
    if not columns["value"]:
        return schema.empty_table()
    whole = {name: np.concatenate(some) for name, some in columns.items()}
    order = np.argsort(whole["metric"], kind="stable")
    arrays = []
    for name, values in whole.items():
        ordered = values[order]
        if name in coded:
            absent = coded[name].get(None, -1)
            texts = pa.array([text or "" for text in coded[name]], type=pa.string())
            array = pa.DictionaryArray.from_arrays(pa.array(ordered, mask=ordered == absent), texts)
        else:
            array = pa.array(ordered, from_pandas=True)
        arrays.append(array.cast(schema.field(name).type))
    return pa.table(arrays, schema=schema)


@functools.cache
def _schema(table: str) -> pa.Schema:
    import pyarrow as pa

    kinds = {"number": pa.float64(), "integer": pa.int64(), "flag": pa.bool_()}
    kinds["text"] = pa.dictionary(pa.int32(), pa.string()) if table == "metrics" else pa.string()
    return pa.schema([(name, kinds[kind]) for name, kind in COLUMNS[table]])


def _removed_if_damaged(path: Path) -> bool:
    """Remove a file of the cache that cannot be read completely; return whether it was damaged or gone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except (OSError, pa.ArrowException):
        path.unlink(missing_ok=True)
        return True
    return False


OF_A_KERNEL = ("timings", "samples")  # they depend on the kernel's folder, or on its sources, as they are today
NAMING = ("reference", "kernel", "version")
TOOLS = ("ncu", "nvcc", "cuda", "torch")
FACTS = ("dtype", "algorithmic_bytes", "flops")
BESIDE = ("empty_ns", "copy_ns", "link_ns")
TIMES = ("median_ns", "q1_ns", "q3_ns", "min_ns", "samples", "dropped", "sm_clock_mhz", *BESIDE)
INTEGERS = ("number", "launches", "launch", "rank", "samples", "dropped", "algorithmic_bytes", "flops")
KINDS = {**dict.fromkeys(INTEGERS, "Int64"), **dict.fromkeys(("correct", "default"), "boolean"), "is_peer": "bool"}
KEPT = {True: "stored", False: "now"}
FINDING = ("rule", "severity", "saved_ns", "estimated_speedup", "assumed")


@dataclass(frozen=True, repr=False)
class ArchiveFrames:
    """The runs of an archive as tables, the newest first; ``damaged`` lists unreadable runs, which are left out.

    Times are in ns, sizes in bytes, clocks in MHz. A missing value is NaN, NA or None, never 0. ``reference`` names a
    run in every command.
    """

    stored: Sequence[StoredRun]
    reports: Path
    damaged: Sequence[Damage] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)  # the default workload of each kernel with a folder

    def __len__(self) -> int:
        return len(self.stored)

    def __repr__(self) -> str:
        kernels = len({one.run.kernel for one in self.stored})
        return (
            f"<archive of {number_of(len(self), 'run')} of {number_of(kernels, 'kernel')}, {len(self.damaged)} damaged>"
        )

    def _repr_html_(self) -> str:
        """Return a summary of each kernel, for a notebook."""
        by_kernel = self.runs.groupby("kernel")
        table = by_kernel.agg(versions=("version", "nunique"), runs=("reference", "size"), newest=("created", "max"))
        table["newest"] = table["newest"].dt.date
        table["on"] = by_kernel["gpu"].agg(lambda names: ", ".join(sorted({name or "?" for name in names})))
        return f"<p>{html.escape(repr(self))}</p>{table.reset_index().to_html(index=False, border=0, justify='left')}"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run: the version, when it was measured, on which GPU and with which tools.

        ``created`` is UTC; ``source`` is live, recorded or imported. ``correct``: whether the run passed all checks, NA
        without checks; ``launches``: how many ncu profiled. ``has_report``: the report itself is kept; ``has_lines``:
        the report, or the kept part of it, has source lines, for one workload in a recorded run. ``commit`` was checked
        out; ``dirty``: the kernel's folder had uncommitted changes. Both are NA without git.
        """
        import pandas as pd

        frame = _frame(map(run_row, self.stored), "runs")
        created = pd.to_datetime(frame["created"], utc=True, format="ISO8601")
        return frame.assign(created=created)

    @cached_property
    def timings(self) -> pd.DataFrame:
        """One row per run and timed workload; rows with the same ``bench_id`` were timed in turns.

        ``number`` is the version's number, to sort by; ``default``: whether the workload is the kernel's default, NA if
        the project has no folder of the kernel. ``is_peer``: the run is of a library's version, not of a step. A kernel
        may have runs on several ``gpu``s. Late samples are ``dropped`` from the median; without others there is no row.
        """

        def rows(stored: StoredRun) -> Iterator[dict[str, Any]]:
            kernel = stored.run.kernel
            return timing_rows(stored, self.defaults.get(kernel), self._peers.get(kernel, frozenset()))

        return _frame(_each(self.stored, rows), "timings")

    @cached_property
    def _peers(self) -> dict[str, frozenset[str]]:
        store, kernels = Store(self.reports), {one.run.kernel for one in self.stored if one.run.timings}
        return {name: peers_of(store, name) for name in kernels}

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per sample: run, ``workload``, ``round``, ``position`` in it, ``time_ns``, ``late`` or not.

        ``kind`` is what was timed: the ``kernel`` of the run, or for comparison a ``copy`` of as many bytes, an
        ``empty`` kernel or the ``link`` to the host; their ``version`` is like ``(copy)``. The medians of ``timings``
        are over ``query("kind == 'kernel' and not late")``. Samples of one ``bench_id``, workload and round were taken
        in turns and form pairs. ``is_peer``: the run is of a library's version, not of a step; ``gpu``: the model it
        was measured on. Reads the samples of all runs. Raises DamagedData for a file that was changed.
        """
        import pandas as pd

        columns = [name for name, _ in COLUMNS["samples"]]
        frames = [_samples_of(one, self._peers[one.run.kernel]) for one in self.stored if one.run.timings]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    @cached_property
    def findings(self) -> pd.DataFrame:
        """One row per finding, as version ``tool`` stored it when the run was archived; ``rank`` 0 could save most.

        ``rules`` identifies the rules within one ``tool``: it changes with their code, and is NA if it was not kept.

        ``judged`` is *stored* for these. A run from before findings were kept is judged *now*, and its estimates may
        differ from those of older rules; ``findings_now`` judges all runs by today's rules, as `show` does.
        A ``whole`` finding is about all launches of a workload, any other about one ``launch`` of the kernel
        ``function``. ``estimated_speedup`` is at most 50: 2 % of a time always remain. ``unexplained`` and other
        findings of ``severity`` info save nothing. Raises DamagedData for a file that was changed.
        """
        return self._findings(is_anew=False)

    @cached_property
    def findings_now(self) -> pd.DataFrame:
        """The findings of today's rules, one per row, from the stored counters; 100 runs take some seconds."""
        return self._findings(is_anew=True)

    def _findings(self, is_anew: bool) -> pd.DataFrame:
        rows = _each(self.stored, lambda stored: finding_rows(stored, self.reports, is_anew))
        return _frame(rows, "findings")

    def query(self, sql: str) -> pd.DataFrame:
        """Return the result of a SELECT over runs, timings, samples, metrics and findings, see `query`.

        Raises UsageProblem for anything but a SELECT and for unknown names, EnvironmentProblem without DuckDB.
        """
        import pandas as pd

        found = query(Store(self.reports), sql)
        return pd.DataFrame.from_records(found.rows, columns=list(found.columns))


def _samples_of(stored: StoredRun, peers: Collection[str]) -> pd.DataFrame:
    frame, run = stored.samples(), stored.run
    beside = frame["version"].astype(str).str.extract(r"^\((\w+)\)$", expand=False)
    facts = {"is_peer": run.version in peers, "gpu": run.gpu, "kind": beside.fillna("kernel")}
    named = frame.assign(reference=stored.reference, kernel=run.kernel, **facts)
    return named[[name for name, _ in COLUMNS["samples"]]]


def peers_of(store: Store, kernel: str) -> frozenset[str]:
    """Return the archived versions that call a library or a framework, according to their sources."""
    from ncu_assist.pipeline.history import lineage_of  # slow to import, and other tables do not need it

    lineage = lineage_of(store, kernel, sorted(store.versions(kernel), key=version_order))
    return frozenset(name for name in lineage.names if lineage.said(name).is_peer)


def archive_frames(project: Project) -> ArchiveFrames:
    """Return the runs of an archive as tables, each read on first use."""
    store, defaults = Store(project.reports), {}
    stored, damaged = store.everything()
    for name in kernel_names(project):
        default = default_workload(store.reports, name)
        if default is not None:
            defaults[name] = default
    return ArchiveFrames(stored, store.reports, damaged, defaults)


def default_workload(reports: Path, kernel: str) -> str | None:
    """Return the default workload of a kernel, None if the archive's project has no folder of the kernel."""
    project = find_project(reports)
    if kernel not in kernel_names(project):
        return None
    with contextlib.suppress(UsageProblem):  # the folder is not a kernel yet
        return load_kernel(project, kernel).default_workload.name
    return None


def run_row(stored: StoredRun) -> dict[str, Any]:
    """Return a run's row of the table ``runs``."""
    run, device = stored.run, stored.run.device
    has_report = any(name in run.files for name in REPORTS)
    return {
        **naming(stored),
        **{name: getattr(run, name) for name in ("run_id", "created", "source", "tool", "gpu")},
        **{name: getattr(device, name, None) for name in ("compute_capability", "driver")},
        **{name: getattr(run.toolchain, name) for name in TOOLS},
        "correct": all(check.passed for check in run.checks) if run.checks else None,
        "launches": len(run.launches),
        "has_report": has_report,
        "has_lines": has_report or CODE in run.files,
        **commit_columns(run),
    }


def commit_columns(run: Run) -> dict[str, str | bool | None]:
    """Return the commit of a run, and whether the kernel's folder had uncommitted changes."""
    return {"commit": run.commit.id, "dirty": run.commit.dirty} if run.commit else {"commit": None, "dirty": None}


def timing_rows(stored: StoredRun, default: str | None, peers: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield a run's times, one row per workload, without the columns that name the run."""
    number = NUMBER.match(stored.run.version)
    for timing in stored.run.timings:
        facts = stored.run.workload(timing.workload)
        yield {
            "number": int(number[0][1:]) if number else None,
            "is_peer": stored.run.version in peers,
            "gpu": stored.run.gpu,
            "default": None if default is None else timing.workload == default,
            **{name: getattr(timing, name) for name in ("workload", *TIMES, "bench_id")},
            **{name: getattr(facts, name, None) for name in FACTS},
        }


def finding_rows(stored: StoredRun, reports: Path, is_anew: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a run's stored findings; judge it now if it has none or ``is_anew``."""
    kept = None if is_anew else stored.findings()
    judgement = KEPT[kept is not None]
    found = kept or _judged_now(stored, reports)
    by = {"tool": found.tool, "rules": found.code or None}
    for judged in found.judged:
        about = {name: getattr(judged, name) for name in ("workload", "launch", "whole", "duration_ns")}
        for rank, finding in enumerate(judged.findings):
            said = {name: getattr(finding, name) for name in FINDING}
            yield {**about, "function": judged.kernel, "judged": judgement, **by, "rank": rank, **said}


def _judged_now(stored: StoredRun, reports: Path) -> Findings:
    from ncu_assist.pipeline.derived import findings_now  # imports all rules, which kept findings do not need

    return findings_now(stored, reports)


def _each(
    stored: Iterable[StoredRun], rows: Callable[[StoredRun], Iterator[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    return ({**naming(one), **row} for one in stored for row in rows(one))


def naming(stored: StoredRun) -> dict[str, str]:
    """Return the columns that name a run in every table."""
    return dict(zip(NAMING, (stored.reference, stored.run.kernel, stored.run.version), strict=True))


def _frame(rows: Iterable[dict[str, Any]], table: str) -> pd.DataFrame:
    """Return rows as a frame with the columns of the SQL table."""
    import pandas as pd

    frame = pd.DataFrame.from_records(list(rows), columns=[name for name, _ in COLUMNS[table]])
    return frame.astype({name: kind for name, kind in KINDS.items() if name in frame})
