"""What warps did: the reasons they stalled for, the pipes they kept busy, the instructions they executed."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.stalls import ISSUED, STALL_REASONS
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.bars import Bar, Bars, BarTone
from ncu_assist.render.html.run_diagnosis import Fact, told_first
from ncu_assist.render.html.run_records import Opcode
from ncu_assist.render.html.term import Term, term_of

LEAST_STALL = 0.1  # percent: what would print as 0.0 %
WARP_FACTS = ("warp_cycles_per_instruction", "eligible_warps", "active_warps", "no_eligible", "issue_slots_busy")
PIPES = (
    "pipe_lsu", "pipe_fma", "pipe_alu", "pipe_fp16", "pipe_fp64", "pipe_xu", "pipe_tensor_cycles", "pipe_tensor_hmma",
    "pipe_tensor_gmma", "pipe_tensor_imma", "pipe_tensor_dmma", "pipe_adu", "pipe_cbu", "pipe_uniform", "pipe_tex",
    "pipe_tma",
)  # fmt: skip
MIX_FACTS = (
    "instructions", "ipc", "fp32_flops", "fp64_flops", "fp16_flops", "tensor_flops", "branch_share", "idle_lane_share",
)  # fmt: skip
IN_FULL = ("grid_size", "block_size")
UNSAID_ZEROS = ("cluster_size", "fp32_flops", "fp64_flops", "fp16_flops", "tensor_flops")
TOP_OPCODES = 14


@dataclass(frozen=True)
class StallPart:
    """Stall reasons with their shares of warp states, and the schedulers.

    ``advice`` is what to try at the one that is marked, the largest that the diagnosis is about, else at the largest.
    """

    bars: Bars
    advice: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class MixPart:
    """How busy each pipe was, and which instructions were executed how often; ``note`` says of which launches."""

    pipes: Bars
    opcodes: Bars
    note: str
    facts: tuple[Fact, ...]


def stall_part(shown: Shown) -> StallPart:
    """Return where warps spent their time, the largest share first."""
    known = [(reason, share) for reason, share in shown.combined.stalls.items() if share >= LEAST_STALL]
    first = told_first(shown.told)[:1] if shown.told else ()
    about = first[0].finding.stalls if first and first[0].severity != "info" else ()
    marked = next((reason for reason, _ in known if reason in about), "")
    bars = tuple(_stall(reason, share, reason == marked) for reason, share in known)
    rest = 100 - sum(shown.combined.stalls.values())
    scale = f"of all states that warps were in; in the others, {rest:.1f} %, they issued an instruction" if bars else ""
    scale += "; marked: what the diagnosis is about" if any(bar.tone == "limit" for bar in bars) else ""
    top = marked or next((reason for reason, _ in known if reason != ISSUED), "")
    return StallPart(Bars("Warp states, in percent", bars, scale), _advice(top), warp_facts(shown, WARP_FACTS))


def _stall(reason: str, share: float, is_marked: bool) -> Bar:
    label = STALL_REASONS[reason].label.removeprefix("Stall ") if reason in STALL_REASONS else reason.replace("_", " ")
    tone: BarTone = "good" if reason == ISSUED else "limit" if is_marked else ""
    return Bar(term_of(reason, one_line(label)), share / 100, f"{share:.1f} %", tone=tone)


def _advice(reason: str) -> str:
    known = STALL_REASONS.get(reason)
    if known is None:
        return ""
    return f"{known.label.removeprefix('Stall ')}: the warp waits for {known.waits_for}. {known.try_this}"


def mix_part(shown: Shown, opcodes: tuple[Opcode, ...], launches: int) -> MixPart:
    """Return the pipes that did something, the busiest first, and the opcodes executed most."""
    counted = shown.counted
    known = [(key, value) for key in PIPES if (value := counted.combined.values[key])]
    ranked = sorted(known, key=lambda one: -one[1])
    bound = counted.bottleneck.name if counted.bottleneck else ""
    pipes = tuple(_pipe(key, value, ROWS[key].label.partition(",")[0] == bound) for key, value in ranked)
    scale = "in percent of the pipe's peak while SMs are active; pipes that stood still are left out" if pipes else ""
    return MixPart(
        Bars("How busy each pipe was", pipes, scale),
        _opcodes(opcodes),
        f"counted in the {launches} longest launches" if 0 < launches < len(shown.combined.launches) else "",
        warp_facts(counted, MIX_FACTS),
    )


def _pipe(key: str, value: float, binds: bool) -> Bar:
    return Bar(term_of(key), value / 100, f"{value:.1f} %", tone="limit" if binds else "")


def _opcodes(opcodes: tuple[Opcode, ...]) -> Bars:
    whole = sum(one.executed for one in opcodes)
    if not whole:
        return Bars("Executed instructions", ())
    most = opcodes[0].executed / whole
    bars = [_opcode(one.name, one.executed, whole, most) for one in opcodes[:TOP_OPCODES]]
    rest = opcodes[TOP_OPCODES:]
    if rest:
        bars.append(_opcode(f"{len(rest)} others", sum(one.executed for one in rest), whole, most))
    return Bars(
        "Executed instructions by opcode", tuple(bars), "of all warp instructions; the longest bar is full width"
    )


def _opcode(name: str, executed: float, whole: float, most: float) -> Bar:
    share = executed / whole
    return Bar(Term(one_line(name, 40)), min(1.0, share / most), f"{100 * share:.1f} % · {quantity(executed, '')}")


def warp_facts(shown: Shown, keys: tuple[str, ...]) -> tuple[Fact, ...]:
    """Return counters in reading size, those that are told of the launches together."""
    values = shown.combined.values
    known = [(key, value) for key in keys if (value := values[key]) is not None and (value or key not in UNSAID_ZEROS)]
    return tuple(Fact(term_of(key), _text(key, value)) for key, value in known)


def _text(key: str, value: float) -> str:
    """Return a value in reading size; counts of the launch in full, a ratio as a percentage."""
    if key == "branch_share":
        return quantity(100 * value, "%")
    return f"{value:,.0f}" if key in IN_FULL else quantity(value, ROWS[key].unit)
