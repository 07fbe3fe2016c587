"""The facts of one run: what was measured, on what, with what, and the hashes of every file that holds a result."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from ncu_assist import schema
from ncu_assist.errors import DamagedData

SCHEMA = "ncu-assist.run/1"
# What a launch is called that is no kernel, in a report and in the record of a run.
RANGE, COMMAND_LIST, GRAPH = "range", "command list", "graph"
NOT_KERNELS = (RANGE, COMMAND_LIST, GRAPH)

Source = Literal["live", "recorded", "imported"]
InL2 = Literal["all", "written"]  # what of the bytes of a workload stays in L2
# The note of a run whose values are not as ncu counted them.
ROUNDED = "read from a printed page: values are rounded, and it has no instances and no source"


# Product lines whose names have no NVIDIA in front, by any driver; and what a report without a name says.
UNBRANDED = re.compile(r"Tesla |Quadro |unknown|\s*$")


def gpu_name(name: str) -> str:
    """Return the one name of a GPU model, as drivers since 470 report it: older ones leave NVIDIA out of most.

    *GeForce RTX 3090* is *NVIDIA GeForce RTX 3090*, and *Tesla T4* stays.
    """
    bare = name.removeprefix("NVIDIA ")
    return bare if UNBRANDED.match(bare) else f"NVIDIA {bare}"


@dataclass(frozen=True)
class Device:
    """The GPU, its name as ``gpu_name`` has it. ``uuid_sha256`` identifies a GPU without naming it; sizes in bytes."""

    name: str
    uuid_sha256: str
    compute_capability: str
    sm_count: int | None
    l2_bytes: int | None
    memory_bytes: int | None
    driver: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", gpu_name(self.name))


@dataclass(frozen=True)
class Toolchain:
    """Versions of the programs and libraries that took part; None where one did not."""

    python: str | None = None
    torch: str | None = None
    triton: str | None = None
    nvcc: str | None = None
    ncu: str | None = None
    cuda: str | None = None  # that the program ran with, as the report says
    nvcc_options: str | None = None  # with the architecture; None in runs that are older than the field
    packages: dict[str, str] = field(default_factory=dict)  # that a version names in its first comment, as imported


@dataclass(frozen=True)
class HostMemory:
    """Inputs that stayed in memory of the host, and the way from there to the GPU.

    ``nodes`` are the NUMA nodes of their pages, ``cpu_node`` that of the processor which allocated them, ``gpu_node``
    the one that the GPU is attached to; empty or None where the system does not tell.
    """

    inputs: tuple[str, ...]
    pinned: bool  # page-locked; a CPU has no need to
    nodes: tuple[int, ...] = ()
    cpu_node: int | None = None
    gpu_node: int | None = None
    pcie_generation: int | None = None  # as it was when the measurement ended
    pcie_lanes: int | None = None


@dataclass(frozen=True)
class WorkloadFacts:
    """A workload as it was when the run was made. Bytes and ``flops`` are of one call.

    ``host_bytes`` is what has to come from the host, None where every input lay on the device. ``written_bytes`` are
    those of the outputs, None in runs that are older than the field. ``work``: operations by what does them (`Math` of
    spec.py), those of ``flops`` among them; empty in older runs.
    """

    name: str
    dtype: str
    integers: dict[str, int]
    algorithmic_bytes: int | None
    flops: int | None
    host_bytes: int | None = None
    written_bytes: int | None = None
    work: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Launch:
    """One kernel launch that ncu profiled; ``index`` is its place in the metrics of this run."""

    index: int
    kernel: str  # function name without template arguments and parameters
    signature: str  # demangled, with both
    workload: str | None
    ranges: tuple[str, ...]  # NVTX push/pop ranges around it, outermost first
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    duration_ns: float | None
    repeat: int = 0  # which profiled call of the same work it belongs to
    unsized: bool = False  # a kernel whose sizes were not printed: grid and block are zeros

    @property
    def call(self) -> tuple[str | None, int]:
        """The call that it belongs to: its workload, and which of that."""
        return self.workload, self.repeat

    @property
    def interrupted(self) -> bool:
        """Whether the program ended while this kernel was profiled: ncu then writes no sizes and hardly a value."""
        return not any(self.grid) and self.kernel not in NOT_KERNELS and not self.unsized


@dataclass(frozen=True)
class Check:
    """The outcome of comparing a version with the reference on one workload, over all seeds."""

    workload: str
    passed: bool
    reason: str  # empty when passed
    seeds: tuple[int, ...]
    norm_error: float | None  # worst ||out - ref|| / ||ref|| over outputs and seeds
    max_error: float | None  # worst |out - ref| over elements, outputs and seeds


@dataclass(frozen=True)
class Timing:
    """One version on one workload in one bench: its samples in short. All samples are in samples.parquet."""

    workload: str
    bench_id: str
    samples: int
    dropped: int  # samples that were late: the stream was not held until all was enqueued
    median_ns: float
    q1_ns: float
    q3_ns: float
    min_ns: float
    sm_clock_mhz: float | None
    empty_ns: float | None  # an empty call timed beside, median
    copy_ns: float | None  # a device copy of the same number of bytes timed beside, median
    link_ns: float | None = None  # the copy engine moving as many bytes as have to come from the host, median
    gpu: str | None = None  # hash of the UUID of the GPU that timed it, where that is not the run's


@dataclass(frozen=True)
class Bench:
    """How the timings of a run were taken."""

    bench_id: str
    flush: str  # read, memset or none
    rounds: int
    temperature_c: tuple[float, float] | None  # before and after
    throttle_reasons: tuple[str, ...] | None
    timings: tuple[Timing, ...]
    power_w: float | None = None  # the most that the board drew meanwhile
    power_limit_w: float | None = None  # that it may draw


@dataclass(frozen=True)
class Profile:
    """How the counters of a run were taken."""

    section_set: str
    clock_control: str
    cache_control: str
    replay_mode: str
    launches_logged: int | None  # what ncu's log says it profiled; None where there is no log
    command: str
    repeats: int = 1  # profiled calls of each workload
    gpu: str | None = None  # hash of the UUID of the GPU that counted, where that is not the run's


@dataclass(frozen=True)
class Commit:
    """The commit that was checked out; ``dirty``: the kernel's folder held changes that were in no commit."""

    id: str
    dirty: bool

    @property
    def short(self) -> str:
        """As many digits as tell it from others, and a plus where the folder differed."""
        return self.id[:12] + ("+" if self.dirty else "")


@dataclass(frozen=True)
class FileFact:
    """Size and hash of a file at the moment it was written."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Run:
    """One version, one invocation, the workloads asked for."""

    run_id: str
    kernel: str
    version: str
    source: Source
    created: str  # ISO 8601, UTC
    tool: str  # version of ncu-assist
    machine: str | None  # hash of the machine's id; None once recorded
    source_sha256: str | None  # of the version's own files; None for a foreign program
    verified: bool  # False for a report whose bytes at capture are not known
    device: Device | None
    toolchain: Toolchain
    workloads: tuple[WorkloadFacts, ...]
    checks: tuple[Check, ...] = ()
    bench: Bench | None = None
    profile: Profile | None = None
    launches: tuple[Launch, ...] = ()
    sections: tuple[str, ...] = ()  # of ncu, by identifier, where they were chosen or a report of others has them
    notes: tuple[str, ...] = ()
    host_memory: HostMemory | None = None
    commit: Commit | None = None  # None outside a git repository, and in runs that are older than the field
    took_s: dict[str, float] = field(default_factory=dict)  # `bench WORKLOAD` of all versions together; `ncu`
    files: dict[str, FileFact] = field(default_factory=dict)
    dropped: dict[str, FileFact] = field(default_factory=dict)  # kept no longer, on purpose: as they were written
    rounded: bool = False  # whether the values are those of a printed page, which has two decimals, seldom six
    untimed: dict[str, str] = field(default_factory=dict)  # workloads that were timed and have no time: the note why
    silent: tuple[str, ...] = ()  # workloads on which it launched no kernel, as ncu saw
    schema: str = SCHEMA
    digest: str = ""  # over this record without the digest itself

    @property
    def is_foreign(self) -> bool:
        """Whether it is a program or a report of others, and no version in a kernel folder."""
        return self.source == "imported" or self.source_sha256 is None

    @property
    def is_profiled(self) -> bool:
        """Whether ncu took counters, or was asked to."""
        return self.profile is not None

    @property
    def gpu(self) -> str | None:
        """The model of the GPU that it was measured on, None if unknown."""
        return self.device.name if self.device else None

    @property
    def launched_nothing(self) -> bool:
        """Whether it was profiled and ncu saw that it launches no kernel: there is nothing to count."""
        return self.profile is not None and self.profile.launches_logged == 0

    def workload(self, name: str) -> WorkloadFacts | None:
        return next((w for w in self.workloads if w.name == name), None)

    @property
    def timings(self) -> tuple[Timing, ...]:
        return self.bench.timings if self.bench else ()

    def timing(self, workload: str) -> Timing | None:
        return next((t for t in self.timings if t.workload == workload), None)

    def gpu_of(self, workload: str | None) -> str | None:
        """Return the hash of the UUID of the GPU that timed it on a workload; None where that is not known."""
        timing = self.timing(workload) if workload else None
        return (timing.gpu if timing else None) or (self.device.uuid_sha256 if self.device else None) or None

    def is_wrong(self, workload: str | None) -> bool:
        """Whether its results were wrong on a workload; not where nobody checked them."""
        return any(check.workload == workload and not check.passed for check in self.checks)


def of_two_kernels(one: Run, other: Run) -> bool:
    """Tell whether two runs are of different kernels; a program or a report of others may be of any."""
    return one.kernel != other.kernel and not (one.is_foreign or other.is_foreign)


OLD_ROUNDED = "read from a CSV export: values are rounded"
OLD_UNTIMED, OLD_SILENT = re.compile(r"no time on (.+?): "), re.compile(r"launched no kernel(?: on (.+?))?: ")


def _read(data: bytes) -> Run:
    """Read a record; what one that is older than its field says in a note alone is taken from there."""
    run = msgspec.json.decode(data, type=Run)
    untimed = {name: note for note in run.notes if (on := OLD_UNTIMED.match(note)) for name in on[1].split(", ")}
    said = next(filter(None, map(OLD_SILENT.match, run.notes)), None)
    silent = tuple(said[1].split(", ") if said[1] else (one.name for one in run.workloads)) if said else ()
    rounded = run.rounded or any(note == ROUNDED or note.startswith(OLD_ROUNDED) for note in run.notes)
    return replace(run, rounded=rounded, untimed=run.untimed or untimed, silent=run.silent or silent)


READERS: schema.Readers[Run] = {1: _read}
REMEMBERED = 512  # records of some 20 kB: a command meets the record of a run two or three times


def encode(run: Run) -> bytes:
    """Return a run as JSON, its digest filled in."""
    sealed = replace(run, digest=content_digest(msgspec.json.encode(run)))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=1) + b"\n"


@functools.lru_cache(maxsize=REMEMBERED)
def decode(data: bytes) -> Run:
    """Return the run that ``encode`` wrote; raises DamagedData for anything that is not exactly that.

    NewerData, which is one, for the record of a newer version.
    """
    run = schema.read(data, SCHEMA, READERS, "run.json")
    if not _is_untouched(data, run.digest) and run.digest != content_digest(data):
        raise DamagedData("run.json was changed after it was written")
    return run


def _is_untouched(data: bytes, digest: str) -> bool:
    """Tell whether these are the bytes that were hashed, in half the time; False says nothing: spaces may differ."""
    sealed, plain = (f',"digest":"{text}"}}'.encode() for text in (digest, ""))
    compact = msgspec.json.format(data, indent=-1)
    return compact.endswith(sealed) and hashlib.sha256(compact.removesuffix(sealed) + plain).hexdigest() == digest


def content_digest(data: bytes) -> str:
    """Return the hash of what a record says: of what is written, for an older one has fewer fields than Run."""
    written = msgspec.json.decode(data)
    return hashlib.sha256(msgspec.json.encode({**written, "digest": ""})).hexdigest()
