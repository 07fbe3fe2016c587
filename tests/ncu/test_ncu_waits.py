"""Waits that ncu books under another reason: found in code, and taken out of that reason in recorded reports."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ncu_assist.ncu.catalogue.stalls import BOOKED_AS
from ncu_assist.ncu.code import read_code
from ncu_assist.ncu.source.tables import awaited, told_apart
from ncu_assist.pipeline.opened_reports import archived_report
from ncu_assist.pipeline.showing import gather
from ncu_assist.store import Store

ARCHIVE = Store(Path(__file__).parents[2] / "reports")


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R3+URZ], R2", "@!P0  BRA 0x40"], {1: "mbarrier"}),
        (["SYNCS.PHASECHK.TRANS64.TRYWAIT P3, [UR4], R2", "IADD3 R1, R1, 1, RZ", "SEL R0, RZ, 1, P3"], {2: "mbarrier"}),
        (["@P1 SYNCS.PHASECHK.TRANS64 P0, [UR4], R2", "SEL R0, RZ, 1, !P0"], {1: "mbarrier"}),
        (
            ["WARPGROUP.DEPBAR.LE gsb0, 0x0", "WARPGROUP.ARRIVE", "UCGABAR_WAIT", None],
            {0: "wgmma", 2: "cluster_barrier"},
        ),
        (["SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ", "@!P0 BRA 0x40", "BAR.SYNC.DEFER_BLOCKING 0x0"], {}),
        (["SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2", *["NOP"] * 30, "@P0 BRA 0x40"], {}),  # too far to be its own
    ],
)
def test_what_an_instruction_waits_for(texts: list[str | None], found: dict[int, str]) -> None:
    assert awaited(texts) == found


def _sass(version: str, folder: Path) -> pd.DataFrame:
    kernel, short = version.split("/")
    stored = next(one for one in ARCHIVE.runs(kernel) if one.run.version.split("_")[0] == short)
    report = archived_report(stored, folder)
    code = read_code(report, [0]) if report else None
    assert code is not None
    return code.sass


# Waits for products in v13 of the product, whose loading warps wait for room; a cluster's barrier in v16. Two
# recordings differ by two hundredths.
@pytest.mark.parametrize(
    ("version", "most", "least"),
    [
        ("gemm_bias_gelu/v13", {"wgmma": 0.45, "mbarrier": 0.08}, {"barrier": 0.001}),
        ("gemm_bias_gelu/v16", {"wgmma": 0.31, "cluster_barrier": 0.25, "mbarrier": 0.05}, {"barrier": 0.001}),
        ("gemm_bias_gelu/v12", {"barrier": 0.30, "wgmma": 0.18, "mbarrier": 0.045}, {"cluster_barrier": 0.0}),
        ("gemm_bias_gelu/v9", {"barrier": 0.05}, {"wgmma": 0.0, "mbarrier": 0.0}),
    ],
)
def test_reasons_of_recorded_products(
    version: str, most: dict[str, float], least: dict[str, float], tmp_path: Path
) -> None:
    sass = _sass(version, tmp_path)
    total = float(sass["samples"].sum())
    shares = {name.removeprefix("stall_"): float(sass[name].sum()) / total for name in sass if name[:6] == "stall_"}
    assert {name: shares[name] for name in most} == pytest.approx(most, abs=0.03)
    assert {name: shares.get(name, 0.0) for name in least} == pytest.approx(least, abs=0.002)


def test_nothing_is_counted_twice_or_lost(tmp_path: Path) -> None:
    sass = _sass("gemm_bias_gelu/v16", tmp_path)
    stalls = [name for name in sass if name.startswith("stall_") and not name.endswith("_not_issued")]
    assert float(sass[stalls].sum().sum()) == pytest.approx(float(sass["samples"].sum()))
    for reason, booked in BOOKED_AS.items():
        both = sass[[f"stall_{reason}", f"stall_{booked}"]]
        assert (both.min(axis=1) == 0.0).all()
    assert stalls == sorted(stalls)


def test_barriers_that_hold_are_those_that_block(tmp_path: Path) -> None:
    """v19 of the attention takes turns by bar.sync (line 8) and bar.arrive (line 11), then it waits for wgmma (58)."""
    stored = next(one for one in ARCHIVE.runs("flash_attention") if one.run.version == "v19_heads_in_l2")
    report = archived_report(stored, tmp_path)
    assert report is not None
    tables = report.source([0])
    named = {
        (file.rsplit("/")[-1], line): (at[0].rsplit("/")[-1], at[1]) for (file, line), at in tables.barriers.items()
    }
    assert named["warp_group.cuh", 140] == ("ahead.cuh", 8)
    assert ("ahead.cuh", 11) not in named.values()
    assert ("ahead.cuh", 58) not in named
    lines = tables.lines[tables.lines["file"].astype(str).str.endswith("ahead.cuh") & (tables.lines["line"] == 58)]
    assert float(lines["stall_wgmma"].sum()) > 0.9 * float(lines["samples"].sum()) > 0.0


def test_a_share_is_divided_as_the_samples_are() -> None:
    waits = {"wgmma": 30.0, "barrier": 10.0, "wait": 5.0}
    assert told_apart({"barrier": 40.0, "wait": 20.0}, waits) == {"wgmma": 30.0, "wait": 20.0, "barrier": 10.0}
    assert told_apart({"barrier": 40.0}, {"wgmma": 1.0}) == {"wgmma": 40.0}
    assert told_apart({"barrier": 40.0, "long_scoreboard": 1.0}, {}) == {"barrier": 40.0, "long_scoreboard": 1.0}


@pytest.mark.parametrize("version", ["v11_wgmma", "v14_turns"])
def test_a_run_is_told_the_same_whether_its_report_is_read_or_not(version: str) -> None:
    """Without its report by the code that the folder keeps; what JSON has stays in ncu's spelling."""
    stored = next(one for one in ARCHIVE.runs("flash_attention") if one.run.version == version)
    bare, read = gather(stored, None, ARCHIVE), gather(stored, None, ARCHIVE, lines=True)
    assert bare.stalls == pytest.approx(read.stalls)
    assert {"wgmma", "mbarrier"} <= bare.stalls.keys()
    assert "wgmma" not in bare.combined.stalls
    assert sum(bare.stalls.values()) == pytest.approx(sum(bare.combined.stalls.values()))
