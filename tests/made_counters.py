"""Counters that somebody made up, as one side of a diff has them."""

from __future__ import annotations

from typing import Any

from factories import launch

from ncu_assist.frame import Combined, combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.rules.model.resources import DRAM_ROWS, RESOURCES

# Rows of DRAM are left out: how busy they are follows from five counters of others.
MADE = [one for one in RESOURCES.values() if not one.is_coarse and one.name != DRAM_ROWS]


def side(*launches: dict[str, float], duration_ns: float | None = 100_000.0, by_name: Any = ()) -> Combined:
    """Counters by key of the catalogue, a mapping a launch."""
    tables = [{CATALOGUE[key].names[0]: value for key, value in one.items()} | dict(by_name) for one in launches]
    records = [launch(index, duration_ns=duration_ns) for index in range(len(tables))]
    return combine_launches("small", records, tables)


def every(number: float, share: float) -> dict[str, float]:
    """A launch with everything counted; ``share`` is how busy each unit was."""
    keys = {key for one in MADE for key in (one.busy, one.work, one.clock, one.units) if key in CATALOGUE}
    keys |= {"dram_bytes_read", "dram_bytes_write", "l1_data_pipe"}
    keys |= {"achieved_warps", "sm_cycles_active", "sm_cycles_elapsed", "sm_throughput"}
    return {key: share if CATALOGUE[key].unit == "%" else number for key in keys} | _host_link(number, share)


def _host_link(number: float, share: float) -> dict[str, float]:
    """The link to the host, a little less busy than all else: 63 GB/s are what PCIe 5.0 x16 carries."""
    link = {"pcie_link_rate": 32_000.0, "pcie_link_width": 16.0, "pcie_write_bandwidth": 0.0}
    crossed = dict.fromkeys(("host_sectors_read", "host_sectors_write"), number)
    return {**link, **crossed, "pcie_read_bandwidth": 0.99 * share / 100 * 63e9}
