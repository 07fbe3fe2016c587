"""Rule `tensor-underfed`: where it fires, where not, and what it needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from made_ceilings import ceilings
from made_facts import gallery, told

from ncu_assist.ceilings import Rate, Spread, ceilings_of
from ncu_assist.frame import combine_tables
from ncu_assist.ncu.code import read_code
from ncu_assist.pipeline.opened_reports import archived_report
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.terminal.diagnosis import brief_diagnosis, diagnosis_lines
from ncu_assist.rules import tensor_underfed
from ncu_assist.rules.model.of_run import RuleResults, located, results_of
from ncu_assist.rules.model.savings import START_NS
from ncu_assist.rules.model.warp_roles import MultiplyingWarps
from ncu_assist.store import Store

ARCHIVE = Store(Path(__file__).parents[2] / "reports")


def test_fires() -> None:
    (ranked,) = told(tensor_underfed, gallery("tensor_straight_from_global")).findings
    assert ranked.finding.rule == "tensor-underfed"
    assert ranked.severity == "high"


@pytest.mark.parametrize("case", ["healthy_tensor_rate", "matrix_pairs_of_halves"])
def test_does_not_fire(case: str) -> None:
    assert tensor_underfed.find(gallery(case)) is None


def test_operands_are_the_older_instructions_where_there_is_a_newer_one() -> None:
    older = gallery("tensor_straight_from_global")
    newer = replace(older, device=replace(older.device, compute_capability="8.0")) if older.device else older
    found = [tensor_underfed.find(facts) for facts in (older, newer)]
    assert [one.with_operands for one in found if one] == [True, False]


def test_without_its_metrics_it_cannot_answer() -> None:
    (silent,) = told(tensor_underfed, gallery("tensor_straight_from_global", without=("tensor_ops_fp16",))).unanswered
    assert silent.missing == ("tensor_ops_fp16",)


def test_the_message_has_the_share_that_the_evidence_has() -> None:
    facts = gallery("tensor_straight_from_global", sm_cycles_active=1e5, sm_cycles_elapsed=2e5)
    found = tensor_underfed.find(facts)
    assert found is not None
    assert f"{facts.value('pipe_tensor_cycles'):.0f} % busy while SMs are active" in found.message


def test_a_library_that_was_measured_says_what_a_product_reaches() -> None:
    facts = gallery("tensor_straight_from_global")
    rate = Rate("tensor", "matmul_bf16", "op", "events", Spread(1e-3, 1e-3, 1e-3, 2), 1e15, 0.91 * 4096)
    with_rate = tensor_underfed.find(replace(facts, ceilings=replace(ceilings(), rates=(rate,))))
    without = tensor_underfed.find(facts)
    assert with_rate
    assert without
    left = [facts.duration_ns - one.saved_ns - START_NS for one in (with_rate, without)]
    assert left[0] / left[1] == pytest.approx(0.7 / 0.91)


def test_sectors_that_loads_waste_are_named_beside() -> None:
    """A narrow fragment uses half of what it touches; where DRAM is full anyway that alone wins nothing."""
    found = tensor_underfed.find(gallery("tensor_straight_from_global"))
    assert found
    assert found.message.endswith("; a global load touches 8.0 sectors where its bytes need 4.0")
    assert found.evidence[-1] == "sector_efficiency_load"
    for without, changed in ((("l1_hit_rate_load",), {}), ((), {"bytes_per_sector_load": 32.0})):
        other = tensor_underfed.find(gallery("tensor_straight_from_global", without=without, **changed))
        assert other
        assert "sectors" not in other.message
        assert "sector_efficiency_load" not in other.evidence


def test_names_the_older_instruction() -> None:
    found = tensor_underfed.find(gallery("tensor_straight_from_global"))
    assert found is not None
    assert "wgmma" in found.message


def test_a_few_products_beside_other_work_are_not_its_business() -> None:
    assert tensor_underfed.find(gallery("tensor_straight_from_global", fp32_fma_per_cycle=15_000.0)) is None


def test_other_types_go_by_the_cycles_of_the_pipe() -> None:
    facts = gallery("tensor_straight_from_global", tensor_ops_fp16=0.0, tensor_ops_fp8=1e10)
    found = tensor_underfed.find(facts)
    assert found is not None
    busy = facts.value("pipe_tensor_cycles") / 100 * facts.value("sm_active_share") / 100
    assert found.saved_ns == pytest.approx(facts.duration_ns * (1 - busy / 0.9) - START_NS)


@pytest.mark.parametrize("types", [{"tensor_ops_fp16": 1e9}, {"tensor_ops_fp16": 0.0, "tensor_ops_fp8": 1e10}])
def test_feeding_gives_no_work_to_multiprocessors_without_a_block(types: dict[str, float]) -> None:
    """A public report: 12 blocks of CUTLASS on 108 multiprocessors. The others lack blocks (`grid-underfill`)."""
    left = {}
    for blocks in (12.0, 108.0, 1000.0):
        facts = gallery(
            "tensor_straight_from_global", grid_size=blocks, sm_count=108.0, pipe_tensor_cycles=5.0, **types
        )
        found = tensor_underfed.find(facts)
        assert found is not None
        left[blocks] = facts.duration_ns - found.saved_ns - START_NS
    assert left[12.0] == pytest.approx(9 * left[108.0])
    assert left[1000.0] == left[108.0]


def test_the_evidence_is_of_the_type_and_the_instruction_that_were_used() -> None:
    found = tensor_underfed.find(gallery("tensor_straight_from_global", tensor_ops_fp16=0.0, tensor_ops_bf16=1e10))
    assert found is not None
    assert found.evidence == ("pipe_tensor_cycles", "tensor_ops_bf16", "pipe_tensor_hmma", "sector_efficiency_load")
    assert "with hmma instructions (mma.sync, wmma), where the chip has wgmma" in found.message
    newer = tensor_underfed.find(gallery("tensor_straight_from_global", pipe_tensor_gmma=1.0))
    assert newer is not None
    assert newer.evidence[-1] == "pipe_tensor_gmma"
    assert newer.message.endswith("with gmma instructions (wgmma)")
    other = tensor_underfed.find(gallery("tensor_straight_from_global", pipe_tensor_hmma=0.0))
    assert other is not None
    assert "instructions" not in other.message, "imma or dmma"


@pytest.mark.parametrize(("busy", "word"), [(30.0, "buffers"), (50.0, "wgmma"), (80.0, "wgmma")])
def test_an_older_instruction_that_is_fed_asks_for_the_newer_one(busy: float, word: str) -> None:
    facts = gallery("tensor_straight_from_global", pipe_tensor_cycles=busy, sm_cycles_active=1e5, sm_cycles_elapsed=1e5)
    found = tensor_underfed.find(facts)
    assert found is not None
    assert word in found.advice


def test_what_feeds_the_older_instruction_wins_two_thirds_of_the_rate_of_the_newer_one() -> None:
    left = []
    for busy in (30.0, 50.0):  # fed, and replaced
        facts = gallery(
            "tensor_straight_from_global", pipe_tensor_cycles=busy, sm_cycles_active=1e5, sm_cycles_elapsed=1e5
        )
        found = tensor_underfed.find(facts)
        assert found is not None
        left.append(facts.duration_ns - found.saved_ns - START_NS)
    assert left[0] == pytest.approx(1.5 * left[1])


def test_what_bank_conflicts_cost_is_not_its_own() -> None:
    """flash_attention: v7 has two buffers for v6's one and is 1.06 times as fast, v8 no conflicts, 4.7 times v7."""
    for version in ("v6_mma_sync", "v7_two_stages"):
        stored = next(one for one in ARCHIVE.runs("flash_attention", version) if one.run.source == "recorded")
        said = results_of(stored.run, combine_tables(stored.run, stored.by_launch(), "d128"))
        assert said is not None
        first, second, *_ = said.diagnosis.findings
        assert (first.finding.rule, second.finding.rule) == ("shared-bank-conflict", "tensor-underfed")
        assert second.finding.saved_ns < 0.3 * said.facts.duration_ns


@pytest.mark.parametrize("missing", ["shared_wavefronts", "shared_wavefronts_excessive", "l1_data_pipe"])
def test_where_conflicts_were_not_counted_none_are_left_out(missing: str) -> None:
    conflicts = {"shared_wavefronts": 1e8, "shared_wavefronts_excessive": 8e7}
    made = {key: value for key, value in conflicts.items() if key != missing}
    known = tensor_underfed.find(gallery("tensor_straight_from_global", **conflicts))
    unknown = tensor_underfed.find(gallery("tensor_straight_from_global", without=(missing,), **made))
    assert known is not None
    assert unknown is not None
    assert known.saved_ns < unknown.saved_ns


@pytest.mark.parametrize(("asked", "again"), [(4.0, True), (1.0, False)])
def test_tiles_that_come_again_relieve_dram_too_assumed(asked: float, again: bool) -> None:
    """By what SMs ask L2 for, of what comes from DRAM; nobody said which bytes are needed."""
    counters = {"pipe_tensor_cycles": 10.0, "dram_throughput": 90.0, "dram_bytes_read": 1e9}
    counters["l2_sectors_read"] = asked * 1e9 / 32
    facts = gallery("tensor_straight_from_global", **counters)
    found = [tensor_underfed.find(replace(facts, algorithmic_bytes=known)) for known in (None, 1_000_000_000)]
    assert [("DRAM" in one.relieves, one.assumed) for one in found if one] == [(again, again), (False, False)]


def test_tiles_that_come_again_while_dram_has_room_are_not_what_it_waits_for() -> None:
    counters = {"pipe_tensor_cycles": 10.0, "dram_throughput": 30.0, "dram_bytes_read": 1e9, "l2_sectors_read": 1.25e8}
    found = tensor_underfed.find(gallery("tensor_straight_from_global", **counters))
    assert found is not None
    assert "DRAM" not in found.relieves


def _located(kernel: str, short: str, folder: Path) -> RuleResults:
    """Return what is said of the launch whose code is kept, with its lines."""
    stored = next(one for one in ARCHIVE.runs(kernel) if one.run.version.split("_")[0] == short)
    report = archived_report(stored, folder)
    assert report is not None
    workload = stored.run.launches[0].workload
    combined = combine_tables(stored.run, stored.by_launch(), workload)
    said = results_of(stored.run, combined, ceilings_of(stored.run.device))
    found = located(said, read_code(report, [0]))
    assert found is not None
    return found


# What the next steps of the ladders took away: v12 of the attention has two groups, v13 keeps products in flight; v15
# of the product lets the epilogue of a tile run beside the products of the next, and v13, which removes the barrier
# of v12, won nothing. v19 has more than two buffers.
@pytest.mark.parametrize(
    ("version", "advice", "file", "text"),
    [
        ("flash_attention/v11", "do less between products, or while another", "online.cuh", "power_of_two("),
        ("flash_attention/v12", "issue the next product before", "v12_producer.cu", "await_products<0>();"),
        ("flash_attention/v13", "do less beside products", "online.cuh", "power_of_two("),
        ("flash_attention/v19", "do less between products", "online.cuh", "power_of_two("),
        ("gemm_bias_gelu/v12", "do less between products", "fragments.cuh", ""),
        ("gemm_bias_gelu/v13", "do less between products", "layer.cuh", "layer.bias[col]"),
        ("gemm_bias_gelu/v14", "do less between products", "fragments.cuh", ""),
    ],
)
def test_the_cause_is_told_by_the_code(version: str, advice: str, file: str, text: str, tmp_path: Path) -> None:
    kernel, short = version.split("/")
    first = _located(kernel, short, tmp_path).diagnosis.findings[0]
    assert first.finding.rule == "tensor-underfed"
    assert first.finding.advice.startswith(advice)
    assert "; time of warps that multiply: " in first.finding.message
    assert (first.places[0].file or "").endswith(file)
    assert text in (first.places[0].text or "")


def test_stages_are_not_advised_where_tiles_are_in_time(tmp_path: Path) -> None:
    results = _located("flash_attention", "v19", tmp_path)
    found, said = results.diagnosis, "tiles are there in time: more stages would not help"
    assert found.findings[0].finding.message.endswith(said)
    assert any(line.endswith(said) for line in diagnosis_lines(results))
    for letters in range(60, 400, 20):  # in a brief answer half of a clause would advise the opposite
        text = "\n".join(brief_diagnosis(results, letters))
        assert (said in text) == ("more stages" in text)
    assert {"low-occupancy", "barrier-stall"}.isdisjoint(one.finding.rule for one in found.findings)


@pytest.mark.parametrize(
    ("version", "workload"),
    [("flash_attention/v19", None), ("gemm_bias_gelu/v13", None), ("gemm_bias_gelu/v18", "few_rows")],
)
def test_the_cause_and_stall_names_are_the_same_with_lines_and_without(version: str, workload: str | None) -> None:
    """Of few_rows the runs keep counters and no code: nothing of another workload's is told of it."""
    kernel, short = version.split("/")
    stored = next(one for one in ARCHIVE.runs(kernel) if one.run.version.split("_")[0] == short)
    views = [gather(stored, workload, ARCHIVE, lines=lines) for lines in (False, True)]
    bare, with_lines = (one.results.diagnosis.findings[0].finding for one in views if one.results)
    assert (bare.rule, bare.message, bare.advice) == ("tensor-underfed", with_lines.message, with_lines.advice)
    assert (bare.advice == tensor_underfed.BY_CODE) == (workload == "few_rows")
    assert list(views[0].stalls) == list(views[1].stalls)
    assert list(views[0].stalls.values()) == pytest.approx(list(views[1].stalls.values()))


def test_without_code_no_cause_is_guessed() -> None:
    found = tensor_underfed.find(gallery("tensor_straight_from_global", pipe_tensor_gmma=1.0, pipe_tensor_hmma=0.0))
    assert found is not None
    assert found.advice == tensor_underfed.BY_CODE


def test_older_instructions_are_advised_as_before() -> None:
    found = tensor_underfed.find(gallery("tensor_straight_from_global"))
    assert found is not None
    assert found.advice == tensor_underfed.FEED
    assert tensor_underfed.by_code(found, pd.DataFrame(), gallery("tensor_straight_from_global"))[0] == found


def test_who_calls_a_library_is_not_told_how_to_write_it(tmp_path: Path) -> None:
    """cuDNN waits for its products; its user can choose a backend. What was seen is said all the same."""
    first = _located("flash_attention", "v2", tmp_path).diagnosis.findings[0].finding
    assert not any(first.advice.startswith(one) for one in tensor_underfed.ADVICE.values())
    assert "28 % waits for the last product" in first.message


@pytest.mark.parametrize(
    ("parts", "lacking", "causes"),
    [
        ({"other": 0.4, "barriers": 0.2}, 0.3, ["other"]),
        ({"other": 0.14, "barriers": 0.1, "tiles": 0.05, "product": 0.01}, 0.22, ["other", "barriers"]),
        ({"other": 0.14, "barriers": 0.05, "tiles": 0.06, "product": 0.01}, 0.25, ["other", "barriers", "product"]),
        ({"tiles": 0.3, "other": 0.2}, 0.4, ["tiles", "other"]),
        ({"other": 0.4, "product": 0.3}, 0.3, ["product"]),  # the work between them, done meanwhile
        ({"other": 0.1}, 0.2, ["beside"]),
    ],
)
def test_as_many_causes_are_named_as_give_what_is_promised(
    parts: dict[str, float], lacking: float, causes: list[str]
) -> None:
    """Warps that load wait for room: the tiles that others wait for would not come sooner."""
    none = dict.fromkeys(("tiles", "product", "barriers", "other", "beside", "queued"), 0.0)
    assert tensor_underfed._causes(MultiplyingWarps(**{**none, **parts}, room=0.9), lacking) == causes


def test_tiles_that_come_late_ask_for_stages_and_say_what_is_free() -> None:
    """Of v13 of the product, as if its warps had waited for tiles and not for room in the queue of products."""
    stored = next(one for one in ARCHIVE.runs("gemm_bias_gelu") if one.run.version == "v13_producer")
    combined = combine_tables(stored.run, stored.by_launch(), "square8k")
    results = results_of(stored.run, combined, ceilings_of(stored.run.device))
    assert results is not None
    found = tensor_underfed.find(results.facts)
    assert found is not None
    texts = (
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2",
        "@!P0 BRA 0x0",
        "HGMMA.64x256x16.F32.BF16 R24, gdesc[UR16], R24",
        "WARPGROUP.DEPBAR.LE gsb0, 0x0",
        "EXIT",
    )
    columns = {"stall_mbarrier": [0.0, 60.0, 0.0, 0.0, 0.0], "stall_wgmma": [0.0, 0.0, 0.0, 5.0, 0.0]}
    sass = pd.DataFrame(
        {"launch": 0, "kernel": "k", "sass": texts, "address": range(0, 80, 16), "samples": [0.0, 60.0, 10.0, 5.0, 0.0]}
        | columns
    )
    told_by_code, _ = tensor_underfed.by_code(found, sass, results.facts)
    assert told_by_code.advice.startswith(tensor_underfed.ADVICE["tiles"])
    assert tensor_underfed.by_code(told_by_code, sass, results.facts)[0] == told_by_code  # a cause is said once
    assert "; a TMA load brings 24.6 kB on average, and a block could have " in told_by_code.message


@pytest.mark.parametrize(
    ("width", "kept"),
    [(16.0, 0.25), (48.0, 0.5), (400.0, 0.5), (None, 0.5)],
)
def test_tiles_that_come_again_win_by_how_narrow_they_are(width: float | None, kept: float) -> None:
    """A public report: one warp a block and tiles 16 wide. The gain was 2x for any tile, by more buffers."""
    halves = 1e10
    asked = halves / (width / 2) / 32 if width else None
    counters = {"pipe_tensor_cycles": 6.0, "dram_throughput": 95.0, "tensor_ops_fp16": halves, "tensor_ops_bf16": 0.0}
    if asked:
        counters |= {"l2_sectors_read": asked, "dram_bytes_read": asked * 32 / 4}
    without = () if asked else ("l2_sectors_read",)
    facts = gallery("tensor_straight_from_global", without=without, **counters)
    found = tensor_underfed.find(replace(facts, algorithmic_bytes=None))
    assert found is not None
    assert found.saved_ns == pytest.approx((1.0 - kept) * facts.duration_ns)
    is_narrow = width is not None and width < tensor_underfed.WIDE
    assert found.advice == (tensor_underfed.SHARE if is_narrow else tensor_underfed.SHARE_MORE)
    assert (f"square tiles {width:.0f} wide" in found.message if width else True) == (is_narrow or width is None)


@pytest.mark.parametrize(("warps", "advice"), [(1, tensor_underfed.SHARE), (4, tensor_underfed.FEED)])
def test_a_block_of_one_warp_shares_no_tile(warps: int, advice: str) -> None:
    """A second buffer for its own tile spares no byte: only other warps that use the same tile do."""
    found = tensor_underfed.find(gallery("tensor_straight_from_global", block_size=32.0 * warps))
    assert found is not None
    assert found.advice == advice
    assert ("a block is one warp" in found.message) == (warps == 1)
