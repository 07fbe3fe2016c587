"""Which resource binds: units of the GPU by ncu's throughputs, and the link to the host, which those do not know."""

from __future__ import annotations

import pytest
from ladder import ROOT

from ncu_assist.rules.model.resources import bottleneck, bottleneck_of_launch
from ncu_assist.store import Store

IDLE = {"memory_throughput": 5.0, "dram_throughput": 2.0, "sm_throughput": 3.0}
PCIE_5 = {
    "device__attribute_gpu_pci_ext_gpu_link_rate": 32_000.0,
    "device__attribute_gpu_pci_ext_gpu_link_width": 16.0,
    "pcie__write_bytes.sum.per_second": 7e9,
    "lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum": 1e6,
    "lts__t_sectors_srcunit_tex_aperture_sysmem_op_write.sum": 0.0,
}
READ = "pcie__read_bytes.sum.per_second"
SM_BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"


@pytest.mark.parametrize(
    ("values", "name", "percent"),
    [
        (IDLE | {"host_link_busy": 87.0}, "host link", 87.0),
        (IDLE | {"host_link_busy": 50.0}, "latency", 50.0),
        (IDLE | {"host_link_busy": 0.0}, "latency", 5.0),
        (IDLE | {"host_link_busy": None}, "latency", 5.0),
        (IDLE | {"host_link_busy": 80.0, "memory_throughput": 85.0}, "memory", 85.0),
        (IDLE | {"host_link_busy": 80.0, "sm_throughput": 90.0}, "SM", 90.0),
        ({"host_link_busy": 80.0}, "host link", 80.0),
    ],
)
def test_the_link_binds_where_it_is_the_busiest(values: dict[str, float | None], name: str, percent: float) -> None:
    found = bottleneck(values)
    assert found is not None
    assert (found.name, found.group, found.percent) == (name, name, percent)


def test_a_link_alone_that_is_not_full_says_nothing_of_the_rest() -> None:
    assert bottleneck({"host_link_busy": 20.0}) is None


def test_latency_is_said_where_all_was_looked_at() -> None:
    assert bottleneck({"memory_throughput": 30.0}) is None
    assert bottleneck({"sm_throughput": 30.0}) is None
    assert bottleneck({"dram_throughput": 0.4, "sm_throughput": 23.0}) is None, "a cache may be full"
    assert bottleneck({"memory_throughput": 30.0, "sm_throughput": 20.0}) is not None


def test_a_share_that_cannot_be_told_binds_nothing() -> None:
    """55 GB/s over a link that reports PCIe 3.0: the formula gives no number, and the rest is judged as ever."""
    slow = PCIE_5 | {"device__attribute_gpu_pci_ext_gpu_link_rate": 8_000.0}
    found = bottleneck_of_launch(slow | {READ: 55e9, DRAM: 30.0, SM_BUSY: 10.0})
    assert found is not None
    assert (found.name, found.percent) == ("latency", 30.0)
    fast = bottleneck_of_launch(PCIE_5 | {READ: 55e9, DRAM: 30.0})
    assert fast is not None
    assert fast.name == "host link"


@pytest.mark.parametrize(
    ("version", "name"),
    [("v1_byte_copy", "latency"), ("v6_line_aligned", "host link"), ("v11_tokens_at_once", "host link")],
)
def test_recorded_reads_of_pinned_memory(version: str, name: str) -> None:
    stored = next(one for one in Store(ROOT / "reports").runs("fast_h2d") if one.run.version == version)
    found = bottleneck_of_launch(stored.by_launch()[0])
    assert found is not None
    assert found.name == name
