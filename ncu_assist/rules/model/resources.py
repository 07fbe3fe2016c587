"""What can bind a kernel: each resource of the GPU, how busy it was, its work, its clock; and which is the busiest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan

from ncu_assist.ncu.catalogue.rows import ROWS, is_impossible

Values = Mapping[str, float | None]  # by key of the catalogue

LATENCY = "latency"
SHARED = "shared memory"
L1_DATA = "L1 data pipe"
DRAM_ROWS = "DRAM rows"  # random reads open a row for each 64 bytes: they are at their limit at half of DRAM's peak
HOST_LINK = "host link"  # outside the GPU: ncu's throughputs of memory know it not
SHARED_SHARE = 0.5  # of the wavefronts in the data pipe of L1: above it shared memory is what the pipe is busy with


@dataclass(frozen=True)
class Resource:
    """Something whose limit can be a kernel's limit.

    ``busy`` and ``clock`` are keys of the catalogue: its share of what it could do from start to end, in percent, and
    its cycles a second; what has no clock is measured by the second. ``work`` is the key of what it does; where no
    counter holds that, its work is the cycles that it was busy, on ``units`` (a key) of its kind. ``label`` says of
    what the work is. A coarse resource is the busiest of several: what binds is then not known so well that its work
    could be told.
    """

    name: str
    group: str
    busy: str
    clock: str = ""
    label: str = ""
    work: str = ""
    unit: str = ""
    units: str = ""
    while_active: bool = False  # ``busy`` is in percent of the time that an SM had a warp

    @property
    def is_coarse(self) -> bool:
        return not self.label

    def share(self, values: Values) -> float | None:
        """Return how busy it was, in percent of all time; None where that was not counted."""
        busy = values.get(self.busy)
        if busy is None or not self.while_active:
            return busy
        active = values.get("sm_active_share")
        return None if active is None else busy * active / 100.0


def _l2(name: str, busy: str, label: str, work: str = "", unit: str = "cycle") -> Resource:
    return Resource(name, "L2", busy, "l2_clock", label, work, unit)


def _l1(name: str, busy: str, label: str, unit: str = "cycle", work: str = "") -> Resource:
    """Return a part of L1. A wavefront is what a stage of its pipe handles in a cycle, so busy cycles count them."""
    return Resource(name, SHARED if work else "L1", busy, "sm_clock", label, work, unit, "sm_count")


def _pipe(name: str, busy: str) -> Resource:
    label = f"{name.removesuffix('s')} cycles"
    return Resource(name, "SM", busy, "sm_clock", label, unit="cycle", units="sm_count", while_active=True)


# Fine before coarse: of equals the first is named.
PARTS: tuple[Resource, ...] = (
    Resource("DRAM", "DRAM", "dram_throughput", "dram_clock", "DRAM bytes", "dram_bytes", "byte"),
    Resource(DRAM_ROWS, "DRAM", "dram_rows_busy", "dram_clock", "DRAM row cycles", unit="cycle"),
    _l2("L2 input", "l2_input_busy", "L2 input cycles"),
    _l2("L2 tags", "l2_tags_busy", "L2 tag lookups"),
    _l2("L2 data", "l2_data_busy", "L2 data cycles"),
    _l2("L2 lookups", "l2_lookups_busy", "L2 sectors", "l2_sectors", "sector"),
    _l2("L2 output", "l2_output_busy", "L2 output cycles"),
    _l1(L1_DATA, "l1_data_busy", "L1 wavefronts", ""),
    _l1("L1 input", "l1_requests_busy", "L1 requests", ""),
    _l1("L1 writeback", "l1_writeback_busy", "L1 writeback cycles"),
    _l1("L1 output", "l1_output_busy", "L1 output cycles"),
    _l1("L1 fill", "l1_fill_busy", "L1 fill sectors", "sector"),
)
SHARED_MEMORY = _l1(SHARED, "l1_data_busy", "shared-memory wavefronts", "", "shared_wavefronts_all")
MEMORY = Resource("memory", "memory", "memory_throughput")
LINK = Resource(HOST_LINK, HOST_LINK, "host_link_busy", "", "host bytes", "host_bytes", "byte")
# What says more than its parts only where those were not counted, or bind one launch after the other.
WHOLES: tuple[Resource, ...] = (Resource("L2", "L2", "l2_busy"), Resource("L1", "L1", "l1_busy"), MEMORY)
SM = Resource("SM", "SM", "sm_throughput")
SM_PARTS: tuple[Resource, ...] = (
    Resource(
        "instruction issue", "SM", "issue_slots_busy", "sm_clock", "issued instructions", "instructions_issued", "inst"
    ),
    _pipe("FMA pipe", "pipe_fma_cycles"),
    _pipe("FMA pipe", "pipe_fma"),
    Resource(
        "FMA heavy pipe", "SM", "pipe_fma_heavy", "sm_clock", "FMA heavy pipe cycles", unit="cycle", units="sm_count"
    ),
    _pipe("ALU pipe", "pipe_alu_cycles"),
    _pipe("ALU pipe", "pipe_alu"),
    _pipe("FP64 pipe", "pipe_fp64_cycles"),
    _pipe("FP64 pipe", "pipe_fp64"),
    _pipe("XU pipe", "pipe_xu"),
    _pipe("tensor cores", "pipe_tensor_cycles"),
    _pipe("LSU pipe", "pipe_lsu"),
    _pipe("ADU pipe", "pipe_adu"),
    _pipe("CBU pipe", "pipe_cbu"),
    _pipe("uniform pipe", "pipe_uniform"),
    _pipe("TEX pipe", "pipe_tex"),
)
# Without a busy resource, time is instructions times what each takes over the warps that share the wait.
WAITING = Resource(LATENCY, LATENCY, "", "sm_clock", "instructions", "instructions", "inst")

RESOURCES: dict[str, Resource] = {
    one.name: one for one in reversed((*PARTS, LINK, SHARED_MEMORY, *WHOLES, SM, *SM_PARTS, WAITING))
}


def verb(name: str) -> str:
    """Return the verb for a unit: tensor cores *are* busy, DRAM *is*."""
    return "are" if name.endswith("s") else "is"


def refined(resource: Resource, values: Values) -> Resource:
    """Return shared memory for the data pipe of L1 where most of its wavefronts are shared memory's."""
    shared, whole = values.get(SHARED_MEMORY.work), _wavefronts(values)
    if resource.name != L1_DATA or shared is None or whole is None:
        return resource
    return SHARED_MEMORY if shared > SHARED_SHARE * whole else resource


def _wavefronts(values: Values) -> float | None:
    """Return all wavefronts of the data pipes of L1; ncu's percentage is of one a cycle on each chip."""
    busy, cycles, count = (values.get(key) for key in ("l1_data_pipe", "sm_cycles_elapsed", "sm_count"))
    return None if busy is None or cycles is None or count is None else busy / 100.0 * cycles * count


BUSY_PERCENT = 60.0  # NVIDIA's SpeedOfLight rule: below it on all units, latency is the likely limit
# A throughput of ncu's is the largest of its parts, of which we know most. A part this near to it is what it is of,
# also over several launches, where the mean of the largest is above the mean of any part.
NEARLY = 0.9


@dataclass(frozen=True)
class Bottleneck:
    """The busiest resource and its share of peak, in percent; ``latency`` when none is busy."""

    name: str
    percent: float

    @property
    def group(self) -> str:
        """Return what it belongs to: DRAM, L2, L1, shared memory, SM, memory, host link, latency."""
        return RESOURCES[self.name].group if self.name in RESOURCES else self.name


def bottleneck(values: Mapping[str, float | None]) -> Bottleneck | None:
    """Return what the catalogue's throughputs say, as fine as they do; None where too few were collected to say it."""
    memory = _memory(values)
    found = [one for one in (memory, _busiest((SM,), values), _busiest((LINK,), values)) if one]
    if not found:
        return None
    resource, percent = max(found, key=lambda one: one[1])
    if percent < BUSY_PERCENT:
        return Bottleneck(LATENCY, percent) if _is_all_known(values) else None  # else one may be busy: nobody looked
    return Bottleneck(_finer(resource, percent, values).name, percent)


def bottleneck_of_launch(values: Mapping[str, float]) -> Bottleneck | None:
    """Return what ``bottleneck`` does, from the values of one launch by ncu's name."""
    return bottleneck(_OfLaunch(values))


def _is_all_known(values: Values) -> bool:
    """Tell whether it was counted how busy SM and memory were: the whole of it, or DRAM and both caches."""
    counted = {one.group for one in PARTS if one.share(values) is not None}
    return SM.share(values) is not None and (MEMORY.share(values) is not None or counted >= {"DRAM", "L2", "L1"})


class _OfLaunch(Mapping[str, float | None]):
    """The values of a launch by key, looked up when they are asked for: a program has thousands of launches."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> float | None:
        found = ROWS[key].value(self._values)
        return None if found is None or isnan(found) or is_impossible(ROWS[key], found) else found

    def __iter__(self) -> Iterator[str]:
        return iter(ROWS)

    def __len__(self) -> int:
        return len(ROWS)


def _memory(values: Values) -> tuple[Resource, float] | None:
    """Return the busiest part of the memory; a whole only where it is busier than all its parts that are known."""
    best = _busiest(PARTS, values)
    all_of_it = MEMORY.share(values)
    if best and all_of_it is not None and best[1] >= NEARLY * all_of_it:
        return best
    for whole in WHOLES:
        percent = whole.share(values)
        if percent is not None and (best is None or best[1] < NEARLY * percent):
            best = whole, percent
    return best


def _finer(resource: Resource, percent: float, values: Values) -> Resource:
    """Return the part of the SM that is as busy as the SM is said to be, and what the data pipe of L1 is busy with."""
    part = _busiest(SM_PARTS, values) if resource is SM else None
    return part[0] if part and part[1] >= NEARLY * percent else refined(resource, values)


def _busiest(resources: tuple[Resource, ...], values: Values) -> tuple[Resource, float] | None:
    shares = [(one, share) for one in resources if (share := one.share(values)) is not None]
    return max(shares, key=lambda found: found[1]) if shares else None
