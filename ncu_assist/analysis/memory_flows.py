"""What flows between the parts of the memory: instructions, requests, bytes, and the share of each link's peak."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.records import Combined
from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.catalogue.formulas import SECTOR_BYTES
from ncu_assist.ncu.catalogue.memory_tables import MEMORY_TABLES, TOTAL, Names, OperationTable
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.rules.model.resources import DRAM_ROWS, HOST_LINK, RESOURCES

NS_PER_S = 1e9
OF_PEAK = "pct_of_peak_sustained_elapsed"  # of a metric: ncu's own share of its peak


@dataclass(frozen=True)
class Figure:
    """A number of the chart under its key of the catalogue; ``sectors`` are shown as the bytes that they hold."""

    key: str
    short: str = ""  # what stands behind the number in the drawing
    only_with: str = ""  # the key of a counter without which it says nothing here
    of: str = ""  # the resource that its share of peak is of, where it does not go without saying

    @property
    def is_sectors(self) -> bool:
        return bool(ROWS[self.key].unit == "sector")

    def value(self, shown: RunView) -> float | None:
        found = shown.combined.values[self.key]
        return found * SECTOR_BYTES if found is not None and self.is_sectors else found

    def percent(self, shown: RunView) -> float | None:
        """Return ncu's percentage of this very metric, 0 to 100; None where the report has none."""
        names = CATALOGUE[self.key].names
        shares = (shown.combined.named(f"{name}.{OF_PEAK}") for name in names)
        return next((share for share in shares if share is not None), None)


@dataclass(frozen=True)
class Flow:
    """An arrow: what is counted on it, the first figure that is not nothing being the main one.

    Its share of peak is ncu's own of that figure, or of the busiest of ``ports``, the resources at its ends that carry
    nothing else; only of the link to the host, whose peak ncu does not know, it is the share of what was measured
    there, ``of_host``. ``limits`` are names of resources that it stands for.
    """

    id: str
    source: str
    target: str
    what: str
    figures: tuple[Figure, ...]
    of_host: str = ""
    limits: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()

    def busiest(self, shown: RunView) -> tuple[float, str] | None:
        """Return the share of peak and of what it is: of the busiest port; empty where it is of the main figure."""
        own = self.percent(shown)
        known = [(own, self.shown_figures(shown)[0].of)] if own is not None else []
        busy = ((port_share(shown, name), name) for name in self.ports)
        return max(((share, name) for share, name in (*known, *busy) if share is not None), default=None)

    def percent(self, shown: RunView) -> float | None:
        """Return the share of peak of the main figure, 0 to 100; None where it was not counted, or no peak is known."""
        known = self.shown_figures(shown)
        if not self.of_host:
            return known[0].percent(shown) if known else None
        if shown.combined.is_of_kernels:
            return None
        peak, time = _host_peak(shown, self.of_host), shown.combined.duration_ns
        moved = self.figures[0].value(shown)
        return 100.0 * moved / time * NS_PER_S / peak if moved is not None and time and peak else None

    def shown_figures(self, shown: RunView) -> list[Figure]:
        """Return the figures that are shown, the main one first; those of nothing only where there is no other."""
        counted = [one for one in self.told(shown) if one.value(shown) is not None]
        return [one for one in counted if one.value(shown)] or counted[:1]

    def amount(self, shown: RunView) -> float | None:
        """Return the first figure that was counted."""
        return next((value for one in self.told(shown) if (value := one.value(shown)) is not None), None)

    def has_traffic(self, shown: RunView) -> bool:
        return any(one.value(shown) for one in self.told(shown))

    def told(self, shown: RunView) -> list[Figure]:
        """Return the figures that say something of this kernel."""
        return [one for one in self.figures if not one.only_with or shown.combined.values[one.only_with]]


def _host_peak(shown: RunView, name: str) -> float | None:
    """Return what kernels reached of the memory of the host, measured; None where nobody did."""
    points = shown.ceilings.link if shown.ceilings and name else ()
    return max((one.bytes_per_second for one in points if one.name == name), default=None)


def port_share(shown: RunView, name: str) -> float | None:
    """Return how busy a resource was, 0 to 100; None where that was not counted."""
    return shown.combined.values[RESOURCES[name].busy]


def _inst(key: str) -> Figure:
    return Figure(key, "inst")


def _req(key: str) -> Figure:
    return Figure(key, "req")


def _pair(label: str, first: str, last: str, load: tuple[Figure, ...], store: tuple[Figure, ...]) -> tuple[Flow, ...]:
    """Return loads and stores on one link."""
    return (
        Flow(f"{first}-{last}-load", last, first, f"{label} loads", load),
        Flow(f"{first}-{last}-store", first, last, f"{label} stores", store),
    )


# fmt: off
FLOWS: tuple[Flow, ...] = (
    *_pair("Global", "kernel", "global", (_inst("global_load_instructions"),),
           (_inst("global_store_instructions"), Figure("global_reductions", "red"), Figure("global_atomics", "atom"),
            Figure("global_compare_and_swap", "cas"))),
    *_pair("Global", "global", "l1", (_req("global_load_requests"), Figure("global_load_sectors")),
           (_req("global_store_requests"), Figure("global_store_sectors"), Figure("global_reduction_requests", "red"),
            Figure("global_atomic_requests", "atom"))),
    *_pair("Local", "kernel", "local", (_inst("local_load_instructions"),), (_inst("local_store_instructions"),)),
    *_pair("Local", "local", "l1", (_req("local_load_requests"), Figure("local_load_sectors")),
           (_req("local_store_requests"), Figure("local_store_sectors"))),
    Flow("kernel-async", "kernel", "async", "Asynchronous copies (cp.async)", (_inst("async_copies"),)),
    *_pair("Shared", "kernel", "shared", (_inst("shared_load_instructions"), Figure("matrix_loads", "ldmatrix"),
                                    Figure("matrix_products", "wgmma")),
           (_inst("shared_store_instructions"), Figure("shared_atomics", "atom"))),
    # What wgmma reads has no counter of its own: it is among all wavefronts.
    Flow("shared-banks-load", "banks", "shared", "Shared load wavefronts",
         (Figure("shared_wavefronts_all", "wave", "matrix_products"), Figure("shared_wavefronts_load", "wave")),
         limits=("shared memory",)),
    Flow("shared-banks-store", "shared", "banks", "Shared store wavefronts",
         (Figure("shared_wavefronts_store", "wave"),), limits=("shared memory",)),
    Flow("kernel-tma-load", "tma", "kernel", "TMA loads", (_inst("tma_loads"),)),
    Flow("kernel-tma-store", "kernel", "tma", "TMA stores", (_inst("tma_stores"),)),
    Flow("tma-banks-load", "tma", "banks", "TMA loads", (Figure("tma_load_bytes", of="L1 fill"),)),
    Flow("tma-banks-store", "banks", "tma", "TMA stores", (Figure("tma_store_bytes"),)),
    Flow("kernel-cluster", "kernel", "cluster", "Distributed shared memory", (_inst("cluster_instructions"),)),
    Flow("cluster-banks-load", "cluster", "banks", "From other blocks of the cluster", (Figure("cluster_bytes_read"),)),
    Flow("cluster-banks-store", "banks", "cluster", "To other blocks of the cluster", (Figure("cluster_bytes_write"),)),
    Flow("l1-l2-load", "l2", "l1", "From L2 to L1", (Figure("l1_bytes_from_l2"), Figure("l2_sectors_read")),
         limits=("L1 fill", "L2 output"), ports=("L1 fill", "L2 output")),
    Flow("l1-l2-store", "l1", "l2", "From L1 to L2", (Figure("l1_bytes_to_l2"), Figure("l2_sectors_write"),
         Figure("l2_sectors_reduction", "red"), Figure("l2_sectors_atomic", "atom")),
         limits=("L1 output", "L2 input"), ports=("L1 output", "L2 input")),
    Flow("l2-dram-load", "dram", "l2", "From DRAM to L2", (Figure("dram_bytes_read"),), limits=("DRAM", DRAM_ROWS)),
    Flow("l2-dram-store", "l2", "dram", "From L2 to DRAM", (Figure("dram_bytes_write"),), limits=("DRAM",)),
    Flow("l2-host-load", "host", "l2", "From host memory to L2", (Figure("host_sectors_read"),),
         of_host="zero_copy_read", limits=(HOST_LINK,)),
    Flow("l2-host-store", "l2", "host", "From L2 to host memory", (Figure("host_sectors_write"),),
         of_host="zero_copy_write", limits=(HOST_LINK,)),
)
# fmt: on

BOX_LIMITS: dict[str, tuple[str, ...]] = {
    "l1": ("L1", "L1 data pipe", "L1 input", "L1 writeback", "L1 output", "L1 fill"),
    "banks": ("shared memory",),
    "l2": ("L2", "L2 input", "L2 tags", "L2 data", "L2 lookups", "L2 output"),
    "dram": ("DRAM", DRAM_ROWS),
    "host": (HOST_LINK,),
}
OPTIONAL = ("async", "tma", "cluster")  # spaces that are drawn only where they were used


Counted = tuple[float | None, ...]


CountedTable = tuple[OperationTable, tuple[tuple[str, Counted], ...], tuple[str, ...]]


def memory_tables(combined: Combined) -> tuple[CountedTable, ...]:
    """Return the tables of which the report holds any value, each with its rows and what is quiet.

    A row is an operation with a value for each column, None where it was not counted. Quiet are the operations that
    were counted and moved nothing; a table without traffic has no rows.
    """
    made = (_made(one, combined) for one in MEMORY_TABLES)
    return tuple(one for one in made if any(one[1:]))


_HIT, _MISS = (f"lts__t_sectors_srcunit_tex_op_read_lookup_{found}.sum" for found in ("hit", "miss"))
FOUND_FOR_L1 = f"{_HIT} / ({_HIT} + {_MISS})"


def found_for_l1(combined: Combined) -> float | None:
    """Return the percentage of L1's loads that L2 had, as the table of L2 has it; None where it was not counted."""
    return _found(combined.named(_HIT), combined.named(_MISS))


def _made(one: OperationTable, combined: Combined) -> CountedTable:
    rows, quiet = list[tuple[str, Counted]](), list[str]()
    for name, columns in one.operations:
        counted = tuple(_value(combined, names) for names in columns)
        if any(counted):
            rows.append((name, _shown(one.id, combined, counted)))
        elif any(value is not None for value in counted) and not name.startswith(TOTAL):
            quiet.append(name)
    if len(rows) == 2 and rows[-1][0].startswith(TOTAL) and rows[0][1] == rows[-1][1]:
        rows.pop()  # it only repeats the one operation
    return one, tuple(rows), tuple(quiet)


def _shown(table: str, combined: Combined, counted: Counted) -> Counted:
    """Return the values of all columns of a row, from what was counted of it."""
    match table, counted:
        case "memory-l1", (instructions, requests, waves, peak, sectors, hit, miss):
            moved = _times(sectors, SECTOR_BYTES)
            each, found = _ratio(sectors, requests), _found(hit, miss)
            return instructions, requests, waves, peak, sectors, each, found, moved, miss
        case "memory-l2", (requests, sectors, peak, rate, hit, miss, device, host, peer):
            moved = _times(sectors, SECTOR_BYTES)
            each, found = _ratio(sectors, requests), rate if rate is not None else _found(hit, miss)
            return requests, sectors, peak, each, found, moved, _rate(combined, moved), device, host, peer
        case "memory-evictions", (hit, miss):
            return (hit or 0.0) + (miss or 0.0), hit, miss, _found(hit, miss)
        case "memory-dram", (sectors, peak, moved):
            moved = moved if moved is not None else _times(sectors, SECTOR_BYTES)
            return sectors if sectors is not None else _ratio(moved, SECTOR_BYTES), peak, moved, _rate(combined, moved)
    return counted


def _value(combined: Combined, names: Names) -> float | None:
    known = (combined.values[name] if name in ROWS else combined.named(name) for name in names)
    return next((value for value in known if value is not None), None)


def _found(hit: float | None, miss: float | None) -> float | None:
    return _ratio(hit, hit + miss, 100.0) if hit is not None and miss is not None else None


def _ratio(part: float | None, whole: float | None, factor: float = 1.0) -> float | None:
    return factor * part / whole if part is not None and whole else None


def _times(value: float | None, factor: float) -> float | None:
    return value * factor if value is not None else None


def _rate(combined: Combined, moved: float | None) -> float | None:
    """Return bytes a second over the time of the launches; None of different kernels, whose mean says nothing."""
    return None if combined.is_of_kernels else _ratio(moved, combined.duration_ns, NS_PER_S)
