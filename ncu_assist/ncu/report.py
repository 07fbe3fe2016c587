"""Reading a report into a Report: completely, or not at all."""

from __future__ import annotations

import contextlib
import html
import math
import re
import shlex
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import msgspec

from ncu_assist import process
from ncu_assist.errors import DamagedData, EnvironmentProblem, ReaderBug, UsageProblem, cut
from ncu_assist.launch_selection import can_choose, chosen
from ncu_assist.ncu import compressed, contents, report_file, tables
from ncu_assist.ncu.child import MEMORY_BYTES, run_child
from ncu_assist.ncu.command import EXTENSION, find_ncu, numbers_of, version_of
from ncu_assist.ncu.contents import Contents, Document
from ncu_assist.ncu.csv_page import LACKS, RULES_LACKED, decode, has_export, is_csv, is_text, no_report, read_csv
from ncu_assist.ncu.source.contents import LaunchSource
from ncu_assist.ncu.source.reading import (
    SourceTables,
    read_ahead,
    read_source,
    tables_of,
)
from ncu_assist.ncu.tables import DURATION, SAMPLED, timeline_frame
from ncu_assist.quantity import number_of
from ncu_assist.record import Device, Launch, Toolchain

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.ncu.contents import RuleFacts


PROFILE = "profile with Nsight Compute: ncu --set full -o FILE PROGRAM"
UNPACK = "unpack it first"
FETCH = "fetch the file itself: git lfs pull"
DOWNLOAD = "download the file itself, on GitHub by 'Download raw file'"
CHECK = "give the report itself, a file .ncu-rep; ncu-assist list names the runs that are here"
EXPORTED = "give the report that it was exported from"
READER = "ncu_assist.ncu.reader"
REPORTS = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report")


FileKind = tuple[str, str]  # what a file is, behind 'this is', and one thing to try


TRIAGE = "ncu-assist triage FILE, which says where the time goes; for counters ncu --set full -o REPORT PROGRAM"
NSYS = ("a Nsight Systems report: a timeline, without the counters of kernels", TRIAGE)
SOURCE, SOURCES = "a source file, and no report", (".cu", ".py")
MAIN, C_NAME = re.compile(rb"\bmain\s*\("), re.compile(r"[A-Za-z_]\w*", re.ASCII)
BY_NAME = {  # endings of files whose first bytes tell nothing
    **dict.fromkeys((".nsys-rep", ".qdrep", ".qdstrm"), NSYS),
    ".ncu-proj": ("a project of Nsight Compute: it names reports and holds none", "give one of its reports"),
    ".nvvp": ("a profile of nvprof or the Visual Profiler", PROFILE),
    **dict.fromkeys(SOURCES, (SOURCE, "ncu-assist profile FILE")),
}
BY_START = {  # by the first bytes
    b"7z\xbc\xaf": ("a 7z archive", UNPACK),
    b"Rar!": ("a rar archive", UNPACK),
    b"BZh": ("compressed with bzip2", UNPACK),
    b"\x7fELF": ("a program, a library or a cubin (ELF)", CHECK),
    b"MZ": ("a program for Windows", CHECK),
    b"\xff\xd8\xff": ("a picture (JPEG)", CHECK),
    b"\x89PNG": ("a picture (PNG)", CHECK),
    b"GIF8": ("a picture (GIF)", CHECK),
    b"RIFF": ("a picture (WebP) or a recording", CHECK),
    b"%PDF": ("a PDF document", CHECK),
    b"PAR1": ("a Parquet file, as export and archives have them", "read an archived run by its name; " + EXPORTED),
    b"\x93NUMPY": ("a NumPy array", CHECK),
    b"\x89HDF": ("an HDF5 file", CHECK),
    b"version https://git-lfs": ("a pointer of Git LFS to a file that was not fetched", FETCH),
}
BY_TEXT: dict[str, FileKind] = {  # by a pattern in the first bytes
    r"(?i)\s*<(!doctype )?html": ("a web page", DOWNLOAD),
    r"\s*<\?xml": ("an XML file", CHECK),
    r'\s*\{\s*"schema": "ncu-assist\.': ("an answer in JSON, not a report", EXPORTED),
    r"(launch,(kernel|metric|rule|file)|name,compute_capability),": (
        "a table that `ncu-assist export` wrote, not a report",
        EXPORTED,
    ),
    r'\s*[{\[]\s*["{\[\]}]': ("a JSON file", "ncu-assist triage FILE, if it is a trace of torch.profiler"),
    r"(?://[^\n]*\n\s*)*\.version \d": ("PTX code", CHECK),
    r"(?s:.*?)^[^\n]{0,60}Section: (GPU Speed Of Light|Command line profiler metrics)": (
        "like what ncu prints, but its tables are not as ncu writes them",
        "give the text as ncu printed it, without what a logger or mpirun put before each line",
    ),
}
# Nsight Systems calls itself and its own types by these names, also in a file that was given another ending.
NSYS_WORDS = re.compile(rb"Nsight Systems|QuadD")
OF_FILE = re.compile(r"(ncu-assist (?:\w+|new \w+ --from)) FILE")  # in a hint
PACKED = re.compile(r"\.(zst|xz|gz)$")
TAR, TAR_AT = b"ustar", 257
# Tables that Nsight Systems and nvprof have in the databases that they export.
NSYS_TABLE, NVPROF_TABLE = "StringIds", "StringTable"


def file_kind(head: bytes, path: Path, name: str) -> FileKind | None:
    """Return what the file at ``path`` is, by its first bytes and its name; None where neither tells.

    A file called as a report is, and a text that may be a table, are for the readers to judge.
    """
    if head.startswith(b"SQLite format 3"):
        return _database(path)
    if head.startswith(b"PK\x03\x04"):
        return _zip(path)
    if head[TAR_AT:].startswith(TAR):
        return "a tar archive", UNPACK
    found = next((kind for start, kind in BY_START.items() if head.startswith(start)), None)
    plain = PACKED.sub("", name.lower())
    if found is None and not plain.endswith(SOURCES):
        text = head.decode("utf-8", "replace")
        found = next((kind for pattern, kind in BY_TEXT.items() if re.match(pattern, text, re.MULTILINE)), None)
    if found is None and b"\0" in head and NSYS_WORDS.search(head):
        return NSYS
    if found is None and plain.endswith(".cu") and not MAIN.search(head):
        kernel = Path(name).stem
        return SOURCE, f"ncu-assist new {kernel if C_NAME.fullmatch(kernel) else 'KERNEL'} --from FILE"
    return found or next((kind for ending, kind in BY_NAME.items() if plain.endswith(ending)), None)


def _database(path: Path) -> FileKind:
    import sqlite3

    tables: set[str] = set()
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as base,
    ):
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
    if NSYS_TABLE in tables:
        return "a Nsight Systems report, exported to SQLite: a timeline, without counters of kernels", TRIAGE
    if NVPROF_TABLE in tables:
        return "a profile of nvprof or the Visual Profiler (SQLite)", PROFILE
    return "an SQLite database, such as Nsight Systems exports", PROFILE


def _zip(path: Path) -> FileKind:
    import zipfile

    names: list[str] = []
    with contextlib.suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if "xl/workbook.xml" in names:
        return "an Excel workbook", "export the report again: ncu --import FILE.ncu-rep --csv --page raw"
    reports = [name for name in names if name.endswith(REPORTS)]
    if reports:
        some = f"{len(reports)} reports in it, {reports[0]} among them" if len(reports) > 1 else f"{reports[0]} in it"
        return f"a zip archive with {some}", UNPACK
    return "a zip archive", UNPACK


LACKS_OF_TEXT = (*LACKS, "NVTX ranges", "metrics under labels that do not say one for certain")
NAMES_SHOWN = 3
SIZES = tuple(f"{of}_{axis}" for of in ("grid", "block") for axis in "xyz")
MOST_SHOWN = 48  # characters of a name in a notebook
SHOWN_FIRST = ("launch", "kernel", *SIZES, DURATION)  # in a notebook
OPINION_BYTES = 200_000_000  # NVIDIA's reader takes about 5 s for 111 MB: nobody waits longer to be refused
MIN_TIMEOUT_S, BYTES_PER_S = 120.0, 20e6  # a slow core reads 80 MB/s of a report
CSV_HEAD = 1 << 16  # bytes that tell a printed page, and what else a file is
SAID = {error.exit_code: error for error in (DamagedData, UsageProblem)}  # errors that a child tells of in words


@dataclass(frozen=True)
class Limits:
    """What a child process that reads may take: seconds, and bytes of memory beside the file itself."""

    timeout_s: float | None = None  # None: by the size of the file
    memory_bytes: int = MEMORY_BYTES
    stopped: Callable[[], bool] | None = None  # asked now and then; yes ends the child
    told: Callable[[int, int, int], None] | None = None  # launches that are read, of how many, to which byte

    def __getstate__(self) -> dict[str, object]:
        """Return what another process can use: whom to ask and to tell is this one's."""
        return {**self.__dict__, "stopped": None, "told": None}

    def line(self, text: str) -> None:
        """Take a line of the child: how far it is. Whatever NVIDIA's reader may print is left alone."""
        numbers = [int(part) for part in text.split() if part.isdecimal()]
        if self.told and len(numbers) == len(text.split()) == 3:
            self.told(*numbers)

    def seconds(self, path: Path) -> float:
        """Return the time limit for a file."""
        return self.timeout_s or max(MIN_TIMEOUT_S, path.stat().st_size / BYTES_PER_S)


class KnownCode:
    """The code of launches of a report that was read, for whoever asks again, from whichever thread.

    ``len`` counts them. Another process starts without.
    """

    def __init__(self, read: Iterable[LaunchSource] = ()) -> None:
        self._launches = {one.launch: one for one in read}
        self._tables: dict[frozenset[int], SourceTables] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._launches)

    def __reduce__(self) -> tuple[type[KnownCode], tuple[()]]:
        return KnownCode, ()

    def tables(
        self, launches: Collection[int], read: Callable[[Collection[int]], Sequence[LaunchSource]]
    ) -> SourceTables:
        """Return the tables of some launches; ``read`` is called for those that are not known."""
        wanted = frozenset(launches)
        with self._lock:
            if wanted not in self._tables:
                lacking = wanted - self._launches.keys()
                if lacking or not wanted:
                    self._launches |= {one.launch: one for one in read(lacking)}
                self._tables[wanted] = tables_of([self._launches[launch] for launch in sorted(wanted)])
            return self._tables[wanted]


class Sampled(NamedTuple):
    """Instances of what was sampled over time, of some launches; they may be fewer than were asked for."""

    launches: frozenset[int]
    instances: pd.DataFrame


@dataclass(frozen=True, repr=False)
class Report:
    """A report of Nsight Compute, read and checked. The frames are made when they are asked for, and then kept.

    ``len`` counts its launches, and an index chooses some: by place, by a slice, by the name of a kernel, ``regex:…``
    or ``nvtx:…``, by a list of these or a mask. Values are in base units: ns, byte, hz, byte/s, %. Absent is NaN,
    never 0.
    """

    path: Path
    contents: Contents = field(repr=False)
    limits: Limits = field(repr=False)
    changed_ns: int = field(repr=False)  # when the file was last written to, as it was read
    known: KnownCode = field(default_factory=KnownCode, repr=False, compare=False)
    sampled: Sampled | None = field(default=None, repr=False)  # as was what was sampled during some launches
    lacks: tuple[str, ...] = ()  # what the form of the file cannot hold, in words: empty unless it is a printed page

    def __len__(self) -> int:
        return len(self.contents.launches)

    def __iter__(self) -> Iterator[pd.Series[Any]]:
        """Yield the row of each launch."""
        return (self[place] for place in range(len(self)))

    def __contains__(self, which: object) -> bool:
        return can_choose(which, self.records)

    @overload
    def __getitem__(self, which: int) -> pd.Series[Any]: ...

    @overload
    def __getitem__(self, which: slice | str | Iterable[Any]) -> pd.DataFrame: ...

    def __getitem__(self, which: int | slice | str | Iterable[Any]) -> pd.Series[Any] | pd.DataFrame:
        """Return rows of ``launches``: of a place one as a Series, else a frame.

        Raises as ``RunSummary`` does: NoSuchPlace, an IndexError; NoSuchName, a KeyError, which says what there is.
        """
        places = [one.index for one in chosen(which, self.records)]
        return self.launches.iloc[places if isinstance(which, (slice, Iterable)) else places[0]]

    def __repr__(self) -> str:
        device = f" on {self.device.name}" if self.device else ""
        launches = number_of(len(self), "launch")
        return f"<{self.path.name}: {launches}{device}, ncu {self.ncu_version or 'unknown'}>"

    def _repr_html_(self) -> str:
        """Return the launches with what ncu says of each first, for a notebook."""
        first = self.launches[[name for name in SHOWN_FIRST if name in self.launches]]
        names = [cut(name, MOST_SHOWN) for name in first["kernel"]]
        named = first.assign(kernel=names).rename(columns={DURATION: f"{DURATION}, ns"})
        shown = named.to_html(max_rows=20, index=False, border=0, justify="left")
        return f'<p>{html.escape(repr(self))}</p><div style="overflow-x: auto">{shown}</div>'

    @property
    def lossy(self) -> bool:
        """Tell whether values are rounded and parts absent, as in a printed page; ``lacks`` names them."""
        return bool(self.lacks)

    @cached_property
    def launches(self) -> pd.DataFrame:
        """Return one row for each launch.

        launch int32 · kernel (function name), signature (demangled, with template arguments and parameters), mangled ·
        grid_x … block_z, process, context, stream, device Int64 (NA for what a range or a graph has not) · ranges,
        domain_ranges, start_end_ranges (tuples of names of NVTX ranges, outermost first; those outside the default
        domain as 'domain:name') · then a float64 column for each metric, by name, and last those of metrics that are
        texts, object. ``attrs["units"]`` has the unit of each metric that is a number, empty where it has none.
        """
        return tables.launches_frame(self.contents)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """Return one row for each metric of each launch: tidy.

        launch int32, metric category, value float64 (NaN where the metric is a text or has no value), text (None where
        it is a number), unit category.
        """
        return tables.metrics_frame(self.contents)

    @cached_property
    def rules(self) -> pd.DataFrame:
        """Return NVIDIA's own findings, one row each, as ncu's rules wrote them.

        launch, rule and section (identifiers), title, message, kind (ok, optimization, warning, error), speedup_type
        (local, global or None), speedup_pct (NaN where nothing is estimated, as in reports of 2022), focus_metrics (a
        tuple of names).
        """
        return tables.rules_frame(self.contents)

    @cached_property
    def session(self) -> pd.DataFrame:
        """Return one row for each GPU: what it is, its highest clocks, driver, CUDA, ncu and how ncu was called.

        None or NaN where the report does not say: device, name, compute_capability, sm_count, l2_bytes, memory_bytes,
        max_sm_clock_hz, max_memory_clock_hz, driver, cuda, ncu, clock_control, replay_mode, sections, command, host,
        created (UTC).
        """
        return tables.session_frame(self.contents)

    @cached_property
    def instances(self) -> pd.DataFrame:
        """Return the values that a metric has one by one, of each address, opcode or moment of sampling.

        launch, metric, instance (its number), id (UInt64: an address, say; NA where it is a text or absent), id_text,
        value float64, text. Reads the file again; raises DamagedData where it has changed since.
        """
        return self._instances(contents.INSTANCES, None)

    def _instances(self, what: str, launches: Collection[int] | None) -> pd.DataFrame:
        with self._opened(what) as (plain, out):
            _want(out, launches)
            _child(what, self.path, plain, out, self.limits)
            return _instances_in(out)

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """Return what ncu sampled while each launch ran (PM sampling): launch, metric, time_ns, value.

        ``ncu_assist.ncu.tables.timeline_frame`` says what they are; no rows where nothing was sampled. Reads the file
        again, as ``instances``.
        """
        return self.timeline_of(None)

    def timeline_of(self, launches: Collection[int] | None) -> pd.DataFrame:
        """Return ``timeline`` of some launches: of many, all take 20 ms each. None is all."""
        if launches is not None and self.sampled and self.sampled.launches.issuperset(launches):
            frame = self.sampled.instances
            return timeline_frame(frame[frame["launch"].isin(list(launches))])
        return timeline_frame(self._instances(contents.SAMPLES, launches))

    @property
    def has_timeline(self) -> bool:
        """Tell whether ``timeline`` has rows, without reading the file again."""
        return any(SAMPLED.match(name) for names in self.contents.name_lists for name in names)

    @property
    def lines(self) -> pd.DataFrame:
        """Return what each source line cost in each launch.

        launch, file, line (NA for code without a line), source (text; NA where it was not imported), then counters of
        its instructions together; ``ncu_assist.ncu.source.tables`` lists them. Reads the file again, as ``instances``.
        """
        return self._source.lines

    @property
    def sass(self) -> pd.DataFrame:
        """Return the same for each instruction, with its address, text, opcode and source line."""
        return self._source.sass

    def source(self, launches: Collection[int] | None = None) -> SourceTables:
        """Return ``lines`` and ``sass`` of some launches: of many, each kernel takes 30 ms. None is all.

        What was read once is remembered.
        """
        return self.known.tables(range(len(self.contents.launches)) if launches is None else launches, self._read_code)

    def _read_code(self, launches: Collection[int]) -> Sequence[LaunchSource]:
        with self._opened("source code") as (plain, _):
            return read_source(
                plain,
                launches,
                name=self.path.name,
                timeout_s=self.limits.seconds(plain),
                memory_bytes=self.limits.memory_bytes,
                stopped=self.limits.stopped,
            ).found

    @cached_property
    def _source(self) -> SourceTables:
        return self.source()

    @cached_property
    def records(self) -> tuple[Launch, ...]:
        """Return the launches as the archive keeps them."""
        return tables.launch_records(self.contents)

    @cached_property
    def device(self) -> Device | None:
        """Return the GPU of the first launch; None for a report without launches."""
        return tables.device_record(self.contents)

    @property
    def ncu_version(self) -> str | None:
        """Return the version of the ncu that measured; None where the report does not say."""
        return self.contents.session.ncu_version

    @property
    def cuda_version(self) -> str | None:
        """Return the version of CUDA that the program ran with, such as '13.0'; None where the report does not say."""
        return self.contents.session.cuda_version

    @property
    def toolchain(self) -> Toolchain:
        """Return the versions that the report says."""
        return Toolchain(ncu=self.ncu_version, cuda=self.cuda_version)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Return what is odd about the report, in words: metrics that some launches lack, for example."""
        return (*self.contents.notes, *_absences(self.contents))

    @contextlib.contextmanager
    def _opened(self, what: str) -> Iterator[tuple[Path, Path]]:
        """Give the decompressed file, and a folder for what is read of it."""
        if self.lossy:
            raise UsageProblem(f"{self.path.name} is a printed page and has no {what}", "read the .ncu-rep instead")
        if not self.path.is_file() or self.path.stat().st_mtime_ns != self.changed_ns:
            raise DamagedData(f"{self.path.name} was changed or removed after it was read", "read it again")
        with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
            yield compressed.plain_file(self.path, Path(folder)), Path(folder)


def read_report(
    path: Path | str,
    *,
    expected_launches: int | None = None,
    timeout_s: float | None = None,
    memory_bytes: int = MEMORY_BYTES,
    stopped: Callable[[], bool] | None = None,
    told: Callable[[int, int, int], None] | None = None,
    ahead: bool = False,
    timeline: Collection[int] = (),
) -> Report:
    """Return the report in a file: .ncu-rep, .ncu-repz, .nsight-cuprof-report, or a page that ncu printed of one.

    Each may be compressed with zstd, xz or gzip. A printed page is CSV, or text as in a terminal or a log. It is lossy:
    ``Report.lacks`` says what it has not, and ``Report.notes`` which labels do not say one metric for certain.
    It is read in a child process, which may take ``timeout_s`` (None: by the size of the file) and ``memory_bytes``
    beside the file itself; ``stopped`` saying yes ends it, and ``told`` hears a few times a second how many launches
    are read, of how many, up to which byte of the unpacked file. ``expected_launches`` is what ncu's log counts. Raises
    UsageProblem when there is no such file or it is another page of a report, DamagedData when it is something else,
    cut or inconsistent, when NVIDIA's reader disagrees with it, or when reading crashes or needs more than its limits;
    what NVIDIA's reader finds in it is then said too. With ``ahead`` a second child reads the code at the same time, of
    a report of a few launches: ``source`` need not wait for it then. ``timeline`` are launches whose samples over time
    are read at once for ``timeline_of``. What is odd and no damage is in ``Report.notes``. Of a flipped bit inside a
    value nothing can be seen, nor of a file that ends between two launches.
    """
    path, limits = Path(path), Limits(timeout_s, memory_bytes, stopped, told)
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        plain = compressed.plain_file(path, Path(folder))
        changed_ns, lacks = path.stat().st_mtime_ns, _lacks(plain, path.name)
        code: Sequence[LaunchSource] = ()
        sampled = None
        if ahead and not lacks:
            found, code = _read_with_code(path, plain, Path(folder), limits)
        elif timeline and not lacks:
            _want(Path(folder), timeline)
            found = _read(contents.BOTH, path, plain, Path(folder), limits)
            sampled = Sampled(frozenset(timeline), _instances_in(Path(folder) / contents.SAMPLES))
        else:
            printed = contents.PRINTED if lacks is LACKS_OF_TEXT else contents.EXPORTED
            found = _read(printed if lacks else contents.SCALARS, path, plain, Path(folder), limits)
    if any(one.rules for one in found.launches):
        lacks = tuple(one for one in lacks if one != RULES_LACKED)
    _check_counts(path, found, expected_launches)
    _check_times(path, found)
    return Report(path, found, limits, changed_ns, KnownCode(code), sampled, lacks)


def _lacks(plain: Path, name: str) -> tuple[str, ...]:
    """Return what a printed page has not, nothing of a report; raises DamagedData for what is plainly something else.

    A page may stand behind all that its program printed, so the first bytes of a text do not tell that there is none.
    """
    with plain.open("rb") as file:
        head = file.read(CSV_HEAD)
        if head.startswith(report_file.MAGIC):
            return ()
        from ncu_assist.ncu.printed_page import is_printed  # which reports do without

        kind = file_kind(head, plain, name)
        is_source = kind is not None and kind[0] == SOURCE
        if not is_source and is_text(head):
            text = decode(head + file.read())
            page, export = is_printed(text), has_export(text)
            if page and export:
                words = f"{name} holds a page as text and one in CSV, one behind the other"
                raise DamagedData(words, "put each into a file of its own")
            if page or export:
                return LACKS_OF_TEXT if page else LACKS
    if kind is not None:
        what, hint = kind
        if is_source and is_printed(decode(head)):
            hint = f"copy what ncu printed, which a comment of it holds, to a file of its own, or {hint}"
        raise DamagedData(f"{name}: this is {what}", OF_FILE.sub(rf"\1 {shlex.quote(name)}", hint))
    if is_csv(head):
        return LACKS
    if is_text(head):
        raise no_report(name)
    return ()


def _read(what: str, path: Path, plain: Path, folder: Path, limits: Limits) -> Contents:
    import numpy as np

    try:
        _child(what, path, plain, folder, limits)
    except ReaderBug:
        raise
    except DamagedData as error:
        raise DamagedData(f"{error.message}{_nvidias_words(path, plain, folder, limits)}", error.hint) from error
    document = msgspec.json.decode((folder / contents.DOCUMENT).read_bytes(), type=Document)
    values = np.fromfile(folder / contents.VALUES, dtype=np.float64)
    return Contents(**vars(document), values=values)


def _want(folder: Path, launches: Collection[int] | None) -> None:
    """Tell a child that reads instances into ``folder`` of which launches; None is all."""
    if launches is not None:
        (folder / contents.WANTED).write_bytes(msgspec.json.encode(sorted(launches)))


def _instances_in(folder: Path) -> pd.DataFrame:
    texts = msgspec.json.decode((folder / contents.DOCUMENT).read_bytes(), type=tuple[str, ...])
    return tables.instances_frame(folder, texts)


def _read_with_code(path: Path, plain: Path, folder: Path, limits: Limits) -> tuple[Contents, Sequence[LaunchSource]]:
    """Return what a report holds, and the code of its launches where that could be read at the same time."""
    over = threading.Event()

    def stopped() -> bool:
        return over.is_set() or bool(limits.stopped and limits.stopped())

    with ThreadPoolExecutor(1) as beside:
        code = beside.submit(
            read_ahead,
            plain,
            name=path.name,
            timeout_s=limits.seconds(plain),
            memory_bytes=limits.memory_bytes,
            stopped=stopped,
        )
        try:
            found = _read(contents.SCALARS, path, plain, folder, limits)
        except BaseException:
            over.set()
            raise
        known = code.result()
    return found, known or ()


def _nvidias_words(path: Path, plain: Path, folder: Path, limits: Limits) -> str:
    """Return what NVIDIA's reader says of a file that was refused; nothing of one that is large or no report of ncu."""
    if plain.stat().st_size > OPINION_BYTES:
        return ""
    with plain.open("rb") as file:
        if file.read(len(report_file.MAGIC)) != report_file.MAGIC:
            return ""
    try:
        _child(contents.NVIDIAS, path, plain, folder, limits)
        count = msgspec.json.decode((folder / contents.DOCUMENT).read_bytes(), type=int)
    except DamagedData:
        return "; NVIDIA's reader fails on it too"
    found = number_of(count, "launch") if count else "no launch"
    return f"; NVIDIA's reader finds {found} in it, and does not say that it is damaged"


def _child(what: str, path: Path, plain: Path, folder: Path, limits: Limits) -> None:
    """Run the reader on ``plain``; the name of ``path`` is what it is called in messages."""
    timeout_s = limits.seconds(plain)
    argv = [READER, what, str(plain), path.name, str(folder), str(limits.memory_bytes)]
    run_child(
        argv,
        timeout_s,
        what=path.name,
        reader="the reader",
        limit_s=timeout_s,
        said=SAID,
        stopped=limits.stopped,
        on_line=limits.line,
    )


def _check_counts(path: Path, contents: Contents, expected_launches: int | None) -> None:
    found = len(contents.launches)
    if expected_launches is not None and found != expected_launches:
        raise DamagedData(
            f"{path.name} holds {found} launches, but ncu's log says it profiled {expected_launches}", "profile again"
        )


def _check_times(path: Path, contents: Contents) -> None:
    for one in tables.launch_records(contents):
        if one.duration_ns is not None and not 0 <= one.duration_ns < math.inf:
            raise DamagedData(
                f"{path.name} is damaged: launch {one.index} takes {one.duration_ns:g} ns, which no launch can",
                "profile again, or export the report again",
            )


def _absences(contents: Contents) -> list[str]:
    """Return which launches lack metrics that others have."""
    users = Counter(one.names for one in contents.launches if not one.interrupted)
    everything = set().union(*(contents.name_lists[number] for number in users))
    lacking = {number: sorted(everything - set(contents.name_lists[number])) for number in sorted(users)}
    return [
        f"{users[number]} of {len(contents.launches)} launches lack {number_of(len(names), 'metric')} "
        "that others have: " + ", ".join(names[:NAMES_SHOWN]) + (" …" if len(names) > NAMES_SHOWN else "")
        for number, names in lacking.items()
        if names
    ]


METRIC = "launch__grid_size"  # in every report, whatever was collected
TIMEOUT_S = 600.0


def second_opinion(report: Report) -> str:
    """Return a sentence where ncu here could not be asked, empty where it agrees or there is none.

    Raises DamagedData when it refuses the file or finds another number of launches. An ncu older than the one that
    measured is not asked: it refuses newer reports.
    """
    if report.lossy:
        return ""
    try:
        ncu = find_ncu()
        own = version_of(ncu)
    except EnvironmentProblem:
        return ""
    if numbers_of(own) < numbers_of(report.ncu_version or ""):
        return f"ncu {own} of this machine is older than the report and was not asked for a second opinion"
    count = _launches(ncu, report.path)
    if count != len(report.records):
        raise DamagedData(f"{report.path.name} is damaged: ncu finds {count} launches in it, not {len(report.records)}")
    return ""


def _launches(ncu: Path, path: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        plain = compressed.plain_file(path, Path(folder))
        link = Path(folder) / f"report{EXTENSION}"
        link.symlink_to(plain.resolve())
        argv = [str(ncu), "--import", str(link), "--csv", "--page", "raw", "--metrics", METRIC]
        done = process.run(argv, timeout_s=TIMEOUT_S)
    if done.exit_code != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit code {done.exit_code}"]
        raise DamagedData(f"{path.name} is damaged: ncu refuses it ({words[0]})")
    return len(read_csv(done.stdout.encode(), "ncu's answer").launches)


LINK = re.compile(
    r"@[a-z]+:(?:[^@:]*:)??([^@:]+)(?::https?://[^@]*)?@"
)  # to a section, metric or page: its text is kept
ADVICE = ("optimization", "warning")  # kinds of findings that are more than a remark


@dataclass(frozen=True)
class NvidiaFinding:
    """What a rule of NVIDIA's says, with the largest speed-up that it estimates of any launch; None without one."""

    rule: str  # empty where a printed page has words that no recorded rule says
    title: str
    message: str
    speedup_type: str | None  # local (of what the rule looks at) or global (of the launch)
    speedup_pct: float | None
    kernel: str  # of the launch with that estimate
    launches: int  # how many it is said of


def nvidia_findings(report: Report, launches: Sequence[int]) -> tuple[NvidiaFinding, ...]:
    """Return the advice on these launches, numbered as in the report: global estimates first, then local ones.

    A local estimate is of a part of the work and says nothing of the launch, so the two are not ranked together. What
    is said of several launches stands once, with the largest estimate.
    """
    found: dict[tuple[str | None, str | None], list[tuple[int, RuleFacts]]] = {}
    for launch in launches:
        for rule in report.contents.launches[launch].rules:
            if rule.kind in ADVICE:
                found.setdefault((rule.rule or rule.message, rule.title), []).append((launch, rule))
    return tuple(
        sorted(
            (_finding(report, said) for said in found.values()),
            key=lambda one: (one.speedup_type != "global", -(one.speedup_pct or 0.0), one.title),
        )
    )


def _finding(report: Report, said: list[tuple[int, RuleFacts]]) -> NvidiaFinding:
    launch, rule = max(said, key=lambda one: one[1].speedup_pct or 0.0)
    return NvidiaFinding(
        rule=rule.rule,
        title=rule.title or rule.rule,
        message=LINK.sub(r"\1", rule.message or ""),
        speedup_type=rule.speedup_type,
        speedup_pct=rule.speedup_pct,
        kernel=report.records[launch].kernel,
        launches=len({launch for launch, _ in said}),
    )
