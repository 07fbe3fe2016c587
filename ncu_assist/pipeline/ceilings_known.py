"""What is known of the GPU of a run or a report, measured or assumed."""

from __future__ import annotations

from ncu_assist.ceilings import ceilings_of
from ncu_assist.ceilings.known import KnownGpu, known_rates
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.reading import named
from ncu_assist.project import Project
from ncu_assist.store import StoredRun

BUS_WIDTH = "device__attribute_global_memory_bus_width"  # bits
MEMORY_CLOCKS = ("device__attribute_max_mem_frequency_khz", "device__attribute_memory_clock_rate")  # kHz, both
EDGES, BITS = 2, 8  # DRAM moves data at both edges of its clock


def known_of(project: Project, reference: str) -> KnownGpu:
    """Return what is known of the GPU that a run or a report is of; raises as ``named`` does, and without a GPU."""
    (stored,) = named(project, (reference,), None)
    device = stored.run.device
    if device is None:
        raise UsageProblem(f"{stored.reference} does not say on which GPU it was measured", "name another run")
    ceilings = ceilings_of(device, project.reports)
    return KnownGpu(stored.reference, device, ceilings, known_rates(device, ceilings, dram_peak(stored)))


def dram_peak(stored: StoredRun) -> float | None:
    """Return DRAM's peak in bytes a second from the device attributes of a run; None where one is not there."""
    values = stored.metrics()
    found = {name: values.loc[values["metric"] == name, "value"].dropna() for name in (BUS_WIDTH, *MEMORY_CLOCKS)}
    width, *clocks = [float(column.iloc[0]) if len(column) else 0.0 for column in found.values()]
    clock = next((one for one in clocks if one), 0.0)
    return width / BITS * clock * 1e3 * EDGES or None
