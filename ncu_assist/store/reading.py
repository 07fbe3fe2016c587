"""One stored run: its record and its files, each checked against the size and hash of its capture before it is used."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.frame.columns import Samples, Values
from ncu_assist.record import FileFact, Run, decode
from ncu_assist.store.findings import FINDINGS, Findings, decode_findings
from ncu_assist.store.folders import RUN_JSON, is_file_name, unreadable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ncu_assist.ncu.kept_report import KeptMetrics, ReportFacts
    from ncu_assist.ncu.source.kept import KeptCode
    from ncu_assist.store.packs import Pack

T = TypeVar("T")
Kept = TypeVar("Kept", "KeptCode", "ReportFacts")
LOGS = ("ncu.log", "build.log")
METRICS, SAMPLES, SOURCE_FOLDER = "metrics.parquet", "samples.parquet", "source/"
REPORTS = ("report.ncu-rep.zst", "report.ncu-rep", "report.ncu-repz")
CODE = "code.json.zst"  # of the launches that its page shows: as NVIDIA's reader had it when the run was archived
FACTS, INSTANCES = "report.json.zst", "instances.parquet"  # what stands in the place of a report that was dropped
EXPORT = "export.csv.zst"  # what is kept of a run that was imported from a printed page, CSV or text
MISSING = "is missing"
REPORT_LIMIT = 2_000_000_000  # bytes after decompression; a launch takes 0.6 to 4.6 MB (docs/sources.md, Cost)


@dataclass(frozen=True)
class StoredRun:
    """A run in the archive. Each method that reads a file raises DamagedData, naming it, when it was changed.

    ``complete`` is the run with all its launches and workloads where ``run`` has only some of them. ``pack`` is where
    its files are if they do not lie in ``folder``, which then holds its page at most.
    """

    run: Run
    folder: Path
    complete: Run | None = field(default=None, repr=False, kw_only=True)
    pack: Pack | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def whole(self) -> Run:
        """The run with every launch that was profiled."""
        return self.complete or self.run

    @property
    def reference(self) -> str:
        """``kernel/version@run``, which names this run on the command line."""
        return f"{self.run.kernel}/{self.run.version}@{self.run.run_id}"

    def read(self, name: str) -> bytes:
        """Return one file of the run, unchanged since its capture."""
        if name not in self.run.files:
            raise DamagedData(f"{self.reference} has no file {name}")
        data = self._packed(name) if self.pack else self._loose(name)
        if hashlib.sha256(data).hexdigest() != self.run.files[name].sha256:
            raise self._damaged(name, "was changed after it was written (its hash differs)")
        return data

    def record_bytes(self) -> bytes:
        """Return the record as it was written."""
        key = self.run.version, self.run.run_id
        return self.pack.record(key) if self.pack else record_of(self.folder, RUN_JSON)

    def _loose(self, name: str) -> bytes:
        problem = file_problem(self.folder, name, self.run.files[name])
        try:
            if not problem:
                return (self.folder / name).read_bytes()
        except OSError as error:
            problem = unreadable(error)
        if not os.path.exists(self.folder / RUN_JSON) and (now := self._pack_now()):  # noqa: PTH110  packed since
            return replace(self, pack=now)._packed(name)
        raise self._damaged(name, problem)

    def _packed(self, name: str) -> bytes:
        pack, key = self.pack, (self.run.version, self.run.run_id)
        assert pack is not None
        try:
            data = pack.read(key, name)
        except FileNotFoundError:  # another pack has taken its place
            now = self._pack_now()
            if now is None or now == pack:
                raise self._damaged(name, MISSING) from None
            return replace(self, pack=now)._packed(name)
        except DamagedData as error:
            raise self._damaged(name, f"cannot be read: {error.message}") from error
        if data is None:
            raise self._damaged(name, MISSING)
        return data

    def _pack_now(self) -> Pack | None:
        from ncu_assist.store.packs import packed_run

        return packed_run(self.folder.parents[2], self.run.kernel, (self.run.version, self.run.run_id))

    def metrics(self) -> pd.DataFrame:
        """Return the tidy metrics: launch, metric, value, text, unit; no rows for a run without counters."""
        from ncu_assist.store import parquet

        return self._frame(METRICS, parquet.metrics_schema())

    def by_launch(self) -> dict[int, Values]:
        """Return the numbers of each launch by ncu's name, of the metrics that the catalogue knows."""
        from ncu_assist.store import parquet

        if METRICS not in self.run.files:
            return {}
        return self._decoded(METRICS, parquet.used_columns).by_launch()

    def samples(self) -> pd.DataFrame:
        """Return the samples of the bench, ``time_ns`` each; no rows for a run without timings."""
        from ncu_assist.store import parquet

        return self._frame(SAMPLES, parquet.samples_schema())

    def _frame(self, name: str, schema: pa.Schema) -> pd.DataFrame:
        from ncu_assist.store import parquet

        if name not in self.run.files:
            return parquet.empty(schema)
        return parquet.decode(self.read(name), schema, f"{self.reference}: {name}")

    def _decoded(self, name: str, decode: Callable[[bytes, str], T]) -> T:
        return decode(self.read(name), f"{self.reference}: {name}")

    def sampled(self) -> Samples:
        """Return what ``samples`` does, for what needs no data frame."""
        from ncu_assist.store import parquet

        if SAMPLES not in self.run.files:
            return parquet.no_samples()
        return self._decoded(SAMPLES, parquet.sampled)

    def measured(self) -> tuple[list[int], bool]:
        """Return which launches have metrics, sorted, and whether one has a metric twice."""
        from ncu_assist.store import parquet

        return self._decoded(METRICS, parquet.measured)

    def findings(self) -> Findings | None:
        """Return what the rules said of the run when it was archived.

        None for an older one, which keeps none, and for what a newer version wrote: it is judged anew, as any may be.
        """
        if FINDINGS not in self.run.files:
            return None
        try:
            return self._decoded(FINDINGS, decode_findings)
        except NewerData:
            return None

    def code(self) -> KeptCode | None:
        """Return the code that is kept of the run's report; None where there is none, or of a schema not known here."""
        from ncu_assist.ncu.source.kept import unpacked

        return self._of_report(CODE, unpacked)

    def report_facts(self) -> ReportFacts | None:
        """Return what is kept of a report that was dropped; None where it was not, or of a schema not known here."""
        from ncu_assist.ncu.kept_report import unpacked

        return self._of_report(FACTS, unpacked)

    def kept_metrics(self) -> KeptMetrics:
        """Return what ``metrics`` does of a run with counters, for what needs no data frame."""
        from ncu_assist.store import parquet

        return self._decoded(METRICS, parquet.kept_metrics)

    def instances(self) -> pd.DataFrame:
        """Return the values one by one of a report that was dropped, as ``Report.instances``."""
        from ncu_assist.store import parquet

        return self._decoded(INSTANCES, parquet.decode_instances)

    def instance_launches(self) -> list[int]:
        """Return which launches have values one by one, sorted, by their places among those of ``report_facts``."""
        from ncu_assist.store import parquet

        return self._decoded(INSTANCES, parquet.instance_launches)

    def _of_report(self, name: str, unpacked: Callable[[bytes, str], Kept | None]) -> Kept | None:
        """Return what was kept of the run's report; raises DamagedData where it is of another one."""
        if name not in self.run.files:
            return None
        found, known = self._decoded(name, unpacked), {**self.run.dropped, **self.run.files}
        if found and found.report_sha256 != next((known[one].sha256 for one in REPORTS if one in known), None):
            raise self._damaged(name, "belongs to another report than the run")
        return found

    def report_bytes(self) -> bytes | None:
        """Return the ``.ncu-rep`` of the run, decompressed; None where only the tables were kept."""
        name = next((n for n in REPORTS if n in self.run.files), None)
        if name is None:
            return None
        data = self.read(name)
        return self._decompressed(name, data) if name.endswith(".zst") else data

    @property
    def keeps_report(self) -> bool:
        """Tell whether the run has source lines and NVIDIA's findings: in a report, or in what was kept of one."""
        return any(name in self.run.files for name in (*REPORTS, FACTS))

    def report_file(self, folder: Path) -> Path | None:
        """Write what the run was read from, a report or a printed page, to ``folder``, as compressed as it is archived.

        None where only the tables were kept.
        """
        name = next((name for name in (*REPORTS, EXPORT) if name in self.run.files), None)
        if name is None:
            return None
        (folder / name).write_bytes(self.read(name))
        return folder / name

    def source_texts(self) -> dict[str, str]:
        """Return the sources that were measured by file name, the version's own first; empty for a foreign program."""
        names = [n for n in self.run.files if n.startswith(SOURCE_FOLDER)]
        own = f"{SOURCE_FOLDER}{self.run.version}."
        names.sort(key=lambda name: (not name.startswith(own), name))
        return {n.removeprefix(SOURCE_FOLDER): self.read(n).decode("utf-8", "replace") for n in names}

    def _decompressed(self, name: str, data: bytes) -> bytes:
        import zstandard

        try:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as stream:
                report: bytes = stream.read(REPORT_LIMIT + 1)
        except zstandard.ZstdError as error:
            raise self._damaged(name, f"cannot be decompressed ({error})") from error
        if len(report) > REPORT_LIMIT:
            raise self._damaged(name, f"is larger than {REPORT_LIMIT} bytes when decompressed")
        return report

    def _damaged(self, name: str, problem: str) -> DamagedData:
        return DamagedData(f"{name} {problem}", "ncu-assist verify", of=self.reference)


def open_run(folder: Path) -> StoredRun:
    """Return the run in ``folder``; raises DamagedData for a record that is missing, changed or of another place.

    Sizes of its files are compared, hashes only when a file is read.
    """
    run = decode(record_of(folder, RUN_JSON))
    if (run.kernel, run.version, run.run_id) != folder.parts[-3:]:
        raise DamagedData(f"{RUN_JSON} belongs to {run.kernel}/{run.version}/{run.run_id}")
    for name, fact in run.files.items():
        problem = file_problem(folder, name, fact)
        if problem:
            raise DamagedData(f"{name} {problem}")
    return StoredRun(run, folder)


def open_packed(pack: Pack, key: tuple[str, str]) -> StoredRun:
    """Return a run of a pack; raises as ``open_run`` does."""
    try:
        run = decode(pack.record(key))
        sizes = pack.sizes(key)
    except FileNotFoundError as error:
        raise DamagedData(f"{pack.path.name} {MISSING}", "ncu-assist verify") from error
    if (run.kernel, run.version, run.run_id) != (pack.kernel, *key):
        raise DamagedData(f"{RUN_JSON} belongs to {run.kernel}/{run.version}/{run.run_id}")
    for name, fact in run.files.items():
        if sizes.get(name) != fact.size:
            is_there = name in sizes
            raise DamagedData(f"{name} {f'has {sizes[name]} bytes instead of {fact.size}' if is_there else MISSING}")
    return StoredRun(run, pack.folder(key), pack=pack)


def record_of(folder: Path, name: str) -> bytes:
    """Return the record in the folder of a run or draft; raises DamagedData where it is missing or cannot be read."""
    path = folder / name
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise DamagedData(f"{name} is missing", "ncu-assist verify")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DamagedData(f"{name} is missing", "ncu-assist verify") from error
    except OSError as error:
        raise DamagedData(f"{name} {unreadable(error)}", "ncu-assist verify") from error


def file_problem(folder: Path, name: str, fact: FileFact) -> str:
    """Return what is wrong with a file by its name, kind and size alone; empty when nothing is."""
    if not is_file_name(name):
        return "cannot be the name of a run's file"
    path = str(folder)
    for part in name.split("/"):  # strings, not paths: an archive of 1,000 runs has 8,000 files
        path = f"{path}/{part}"
        if os.path.islink(path):  # noqa: PTH114
            return "is a link"
    try:
        found = os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return unreadable(error)
    if not stat.S_ISREG(found.st_mode):
        return MISSING
    return "" if found.st_size == fact.size else f"has {found.st_size} bytes instead of {fact.size}"
