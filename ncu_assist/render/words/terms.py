"""Names of metrics with what they mean, how they combine and repeat; verdicts and sources of runs as badges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ncu_assist.ncu.catalogue.chips import CHIPS, Chip
from ncu_assist.ncu.catalogue.metric import Combining, How, Metric, Way
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.noise import SHORT_NS, noise_class, recording
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED, Derived
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS, STALL_REASONS, TOLD_APART, in_ncu, spoken
from ncu_assist.render.table import Badge, Cell, Term, Tone
from ncu_assist.render.words.verdicts import cycle_words, factor, faster_or_slower

if TYPE_CHECKING:
    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.analysis.yardstick import Yardstick
    from ncu_assist.ncu.catalogue.stalls import StallReason
    from ncu_assist.record import Source
    from ncu_assist.verdict import Verdict

COMBINE_WORDS: dict[How, str] = {
    "sum": "added up",
    "mean": "mean, weighted by {}",
    "formula": "the formula of all launches together",
    "max": "the largest",
    "none": "not combined: shown where all launches have the same",
}
LONG_NS = 10 * SHORT_NS  # any duration on the long side
NOISE_CHIP = "gh100"  # the chip that repeats were recorded on


def term_of(key: str, label: str = "") -> Term:
    """Return what the catalogue says of a key or a stall reason; a word that it does not know explains nothing."""
    if key in CATALOGUE:
        row = CATALOGUE[key]
        return Term(label or row.label, "" if row.given else row.names[0], row.meaning)
    if key in ALL_DERIVED:
        derived: Derived = ALL_DERIVED[key]
        return Term(label or derived.label, f"{key} = {derived.words}", derived.meaning)
    if key in STALL_REASONS:
        reason = STALL_REASONS[key]
        return Term(label or spoken(key), f"stall {key}", f"the warp waits for {reason.waits_for}")
    if key in TOLD_APART:
        told = "told apart by the instruction that waits"
        return Term(label or in_ncu(key), f"{in_ncu(key)}; {told}", f"the warp waits for {TOLD_APART[key].waits_for}")
    return Term(label or key)


def stall_waits(reason: str, shown: RunView) -> str:
    """Return what a warp waits for by the figure that is shown: where code was read, without waits that stand apart."""
    known = TOLD_APART.get(reason) or STALL_REASONS.get(reason)
    if known is None:
        return ""
    read = any(one.index in shown.close.waits for one in shown.combined.launches)
    apart = [spoken(one) for one, booked in BOOKED_AS.items() if booked == reason and one in shown.stalls]
    bare = known.waits_for.partition("; in ncu also")[0] if read else known.waits_for
    return bare + (f"; waits for {' and '.join(apart)}, which ncu counts here too, stand apart" if apart else "")


def stall_name(reason: str, shown: RunView) -> str:
    """Return a stall reason of a run as it is said; of what may be one of two, as no code was read that tells, both."""
    has_wgmma = reason == "barrier" and shown.combined.values["pipe_tensor_gmma"]
    read = any(one.index in shown.close.waits for one in shown.combined.launches)
    return f"{reason} or wgmma" if has_wgmma and not read else in_ncu(reason)


ROLLUP = re.compile(r"(_realtime)?(\.(avg|sum|max|min))?(\.pct(_of_peak_sustained_\w+)?|\.per_\w+)?$")
TYPES = re.compile(r"_type(?:_[a-z]+mma){2,}")
# The units as ncu's own breakdown tables call them.
UNIT_NAMES = {
    "l1tex": "L1",
    "lts": "L2",
    "ltc": "L2",
    "smsp": "SM",
    "fbpa": "DRAM",
    "dramc": "DRAM",
}  # others in capitals
# What ncu's counters of a breakdown or a timeline count, in words; of several types of matrix instruction one name.
# fmt: off
PARTS = {
    "dram__cycles_active": "DRAM: busy cycles",
    "dramc__throughput": "DRAM: throughput",
    "dramc__read_throughput": "DRAM: reads",
    "dramc__write_throughput": "DRAM: writes",
    "fbpa__dram_sectors": "DRAM: sectors",
    "gpu__compute_memory_access_throughput_internal_activity": "Accesses, inside the memory system",
    "gpu__compute_memory_request_throughput_internal_activity": "Requests, inside the memory system",
    "idc__request_cycles_active": "Constant cache: requests",
    "l1tex__data_bank_reads": "L1: data banks, reads",
    "l1tex__data_bank_writes": "L1: data banks, writes",
    "l1tex__data_pipe_lsu_wavefronts": "L1: data pipe, loads and stores",
    "l1tex__data_pipe_tex_wavefronts": "L1: data pipe, textures",
    "l1tex__f_wavefronts": "L1: texture filters",
    "l1tex__lsu_writeback_active": "L1: results of loads to registers",
    "l1tex__lsuin_requests": "L1: input of loads and stores",
    "l1tex__m_l1tex2xbar_req_cycles_active": "L1: requests to L2",
    "l1tex__m_xbar2l1tex_read_sectors": "L1: sectors from L2",
    "l1tex__m_xbar2l1tex_read_sectors_mem_dshared": "L1: sectors from other SMs' shared memory",
    "l1tex__t_sector_hit_rate": "L1: hit rate",
    "l1tex__t_sectors": "L1: sectors looked up",
    "l1tex__tex_writeback_active": "L1: results of textures to registers",
    "l1tex__texin_sm2tex_req_cycles_active": "L1: input of textures",
    "l1tex__throughput": "L1: throughput",
    "l1tex__tmain_requests": "L1: input of TMA",
    "lts__average_t_sector_hit_rate": "L2: hit rate",
    "lts__average_t_sector_hit_rate_srcunit_tex": "L2: hit rate of what L1 asks for",
    "lts__d_atomic_input_cycles_active": "L2: atomics",
    "lts__d_decomp_input_sectors": "L2: decompression",
    "lts__d_sectors": "L2: data sectors",
    "lts__d_sectors_fill_device": "L2: sectors from DRAM",
    "lts__d_sectors_fill_sysmem": "L2: sectors from host memory",
    "lts__lts2xbar_cycles_active": "L2: output to SMs",
    "lts__t_sectors": "L2: sectors looked up",
    "lts__t_tag_requests": "L2: tags looked up",
    "lts__throughput": "L2: throughput",
    "lts__xbar2lts_cycles_active": "L2: input from SMs",
    "sm__cycles_active": "SM: active cycles",
    "sm__inst_executed": "SM: instructions executed",
    "sm__inst_executed_pipe_adu": "ADU pipe (constants, jumps)",
    "sm__inst_executed_pipe_alu": "ALU pipe",
    "sm__inst_executed_pipe_cbu_pred_on_any": "CBU pipe (branches, barriers)",
    "sm__inst_executed_pipe_fma": "FMA pipe",
    "sm__inst_executed_pipe_fp16": "FP16 pipe",
    "sm__inst_executed_pipe_ipa": "IPA pipe (interpolation)",
    "sm__inst_executed_pipe_lsu": "LSU pipe (loads, stores)",
    "sm__inst_executed_pipe_tex": "TEX pipe",
    "sm__inst_executed_pipe_uniform": "Uniform pipe (once a warp)",
    "sm__inst_executed_pipe_xu": "XU pipe (special functions)",
    "sm__instruction_throughput_internal_activity": "SM: instructions, inside",
    "sm__issue_active": "SM: issue slots",
    "sm__memory_throughput_internal_activity": "SM: memory, inside",
    "sm__mio2rf_writeback_active": "MIO: results to registers",
    "sm__mio_inst_issued": "MIO: instructions issued",
    "sm__mio_pq_read_cycles_active": "MIO: queue, reads",
    "sm__mio_pq_write_cycles_active": "MIO: queue, writes",
    "sm__pipe_alu_cycles_active": "ALU pipe",
    "sm__pipe_fma_cycles_active": "FMA pipe",
    "sm__pipe_fmaheavy_cycles_active": "FMA heavy pipe",
    "sm__pipe_fp64_cycles_active": "FP64 pipe",
    "sm__pipe_shared_cycles_active": "Tensor and FP64 pipes together",
    "sm__pipe_tensor_all_types_cycles_active": "Tensor pipe, all types but FP64",
    "sm__pipe_tensor_cycles_active": "Tensor pipe",
    "sm__pipe_tensor_op_dmma_cycles_active": "Tensor pipe, FP64",
    "sm__pipe_tensor_op_hmma_cycles_active": "Tensor pipe, floating point but FP64",
    "sm__pipe_tensor_op_imma_cycles_active": "Tensor pipe, integers",
    "sm__pipe_tma_cycles_active": "TMA pipe",
}
# fmt: on


def part_label(name: str) -> str:
    """Return what a counter of a breakdown counts, e.g. ``L1: data pipe, loads and stores``; one that has no words as
    ncu's breakdown calls it: ``FE: Some Counter`` of fe__some_counter.
    """
    bare = TYPES.sub("_all_types", ROLLUP.sub("", name))
    unit, _, rest = bare.partition("__")
    return PARTS.get(bare) or f"{UNIT_NAMES.get(unit, unit.upper())}: {rest.replace('_', ' ').title()}"


TONES: dict[str, Tone] = {
    "faster": "good",
    "improved": "good",
    "slower": "bad",
    "regressed": "bad",
    "unclear": "unsure",
    "not-comparable": "unsure",
    "same": "same",
}


SIGNS = {"faster": "▲", "slower": "▼", "same": "=", "unclear": "?", "not-comparable": "≠"}
BY_CLOCK = {"faster": "△", "slower": "▽"}


def against(verdict: Verdict | None) -> str:
    """Return a verdict in a few letters, e.g. ``▲ 1.78x faster``, ``▼ 1.16x slower``, ``? unclear (1.03x slower)``."""
    if verdict is None:
        return "-"
    sign, word = BY_CLOCK[verdict.verdict] if verdict.by_clock else SIGNS[verdict.verdict], verdict.words
    if verdict.speedup is None or verdict.verdict == "not-comparable":
        return f"{sign} {word}"
    if verdict.likely:
        return f"{sign} likely {factor(max(verdict.speedup, 1 / verdict.speedup))} {verdict.likely}"
    if verdict.verdict in ("faster", "slower"):
        return f"{sign} {factor(max(verdict.speedup, 1 / verdict.speedup))} {word}"
    said = faster_or_slower(verdict.speedup)
    return f"{sign} {word} ({said})" if said else f"{sign} {word}"


def verdict_badge(verdict: Verdict | None) -> Badge | None:
    """Return the badge of a verdict by time, e.g. ``▲ 1.78x faster``; None for no verdict."""
    return Badge(against(verdict), verdict_tone(verdict), cycle_words(verdict)) if verdict else None


def verdict_cell(verdict: Verdict | None, note: str = "") -> Cell:
    """Return the cell of a verdict by time, which sorts by the speed-up."""
    badge = verdict_badge(verdict)
    if badge is None or verdict is None:
        return Cell()
    return Cell(badge.text, repr(verdict.speedup) if verdict.speedup else "", badge=badge, note=note)


def verdict_tone(verdict: Verdict) -> Tone:
    """Return the tone of a verdict by time: what another clock explains is neither good nor bad."""
    return "same" if verdict.by_clock else TONES[verdict.verdict]


def source_badge(source: Source) -> Badge:
    """Return the badge that says where a run comes from: live, recorded or imported."""
    hints = {
        "live": "measured into this archive",
        "recorded": "measured elsewhere and shipped with the archive",
        "imported": "from a foreign report, unverified",
    }
    return Badge(source, "unsure" if source == "imported" else "plain", hints[source])


def share_term(of: Yardstick) -> Term:
    """Return what heads a column of shares."""
    return Term(of.title, of.formula, f"{of.meaning}: 100 % as fast")


def combine_words(how: Combining) -> str:
    """Return how launches make one value, for people."""
    words = COMBINE_WORDS[how.how].format(next(iter(how.weights), ""))
    return words if how.over_kernels else f"{words}; not over different kernels"


def better_words(better: str | None) -> str:
    """Return which way is better, for people."""
    return better or "neither: it depends"


def noise_words(key: str) -> str:
    """Return how well a metric repeats, e.g. ``within 1 % (short kernels: wanders)``."""
    long, short = (noise_class(key, NOISE_CHIP, ns) for ns in (LONG_NS, 0.0))
    if long == short == "unknown":
        return "unknown: no recorded kernel exercised it"
    known = recording(NOISE_CHIP)
    source = f"; {known.launches} launches on {known.gpu}" if known else ""
    kernels = long if long == short else f"{long}, below {SHORT_NS / 1e3:g} µs {short}"
    return f"{kernels}{source}"


def way_words(way: Way) -> str:
    """Return how a metric is known from others where a launch has none of its names: ``about`` what is only near."""
    return f"{'about ' if way.approximate else ''}{way.words}"


def spelled_on(chip: str, instead_of: Chip | None) -> str:
    """Return whose names are shown, e.g. ``as spelled on tu102; tu104, …, was not recorded: the nearest chip``."""
    if instead_of is None:
        return f"as spelled on {chip}"
    capability = f"{instead_of.name}, of compute capability {instead_of.compute_capability}"
    return f"as spelled on {chip}, the nearest chip: the names of {capability}, were not recorded"


def unit_words(metric: Metric | Derived) -> str:
    """Return the unit, and ncu's own where that is another."""
    shown = metric.ncu_unit if isinstance(metric, Metric) else None
    return f"{metric.unit or '-'}{f' (ncu prints {shown})' if shown else ''}"


def chip_words(metric: Metric | StallReason) -> str:
    """Return on which recorded chips a metric exists."""
    if isinstance(metric, Metric) and metric.given:
        return "measured by ncu-assist, in no report"
    if not metric.lacking:
        return f"all recorded ({', '.join(CHIPS)})"
    return f"not on {', '.join(metric.lacking)}"
