"""What can bind a kernel: each resource of the GPU, how busy it was, its work, its clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Values = Mapping[str, float | None]  # by key of the catalogue

LATENCY = "latency"
SHARED = "shared memory"
L1_DATA = "L1 data pipe"
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
    _l2("L2 input", "l2_input_busy", "L2 input cycles"),
    _l2("L2 tags", "l2_tags_busy", "L2 tag lookups"),
    _l2("L2 data", "l2_data_busy", "L2 data cycles"),
    _l2("L2 lookups", "l2_lookups_busy", "L2 sectors", "l2_sectors", "sector"),
    _l2("L2 output", "l2_output_busy", "L2 output cycles"),
    _l1(L1_DATA, "l1_data_pipe", "L1 wavefronts", ""),
    _l1("L1 input", "l1_requests_busy", "L1 requests", ""),
    _l1("L1 writeback", "l1_writeback_busy", "L1 writeback cycles"),
    _l1("L1 output", "l1_output_busy", "L1 output cycles"),
    _l1("L1 fill", "l1_fill_busy", "L1 fill sectors", "sector"),
)
SHARED_MEMORY = _l1(SHARED, "l1_data_pipe", "shared-memory wavefronts", "", "shared_wavefronts_all")
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


def refined(resource: Resource, values: Values) -> Resource:
    """Return shared memory for the data pipe of L1 where most of its wavefronts are shared memory's."""
    shared, whole = values.get(SHARED_MEMORY.work), _wavefronts(values)
    if resource.name != L1_DATA or shared is None or whole is None:
        return resource
    return SHARED_MEMORY if shared > SHARED_SHARE * whole else resource


def _wavefronts(values: Values) -> float | None:
    """Return all wavefronts of the data pipes of L1, which take one a cycle each."""
    busy, cycles, count = (values.get(key) for key in ("l1_data_pipe", "sm_cycles_elapsed", "sm_count"))
    return None if busy is None or cycles is None or count is None else busy / 100.0 * cycles * count
