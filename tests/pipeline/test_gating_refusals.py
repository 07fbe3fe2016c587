"""What a gate does not judge: runs that cannot be compared unless forced, and runs that are damaged."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from factories import BENCH_ID, DEVICE, PROFILE, make_run, metrics_frame, samples_frame, times, timing
from gated import BOTH, LARGE, LATER, NO_CONFLICTS, SMALL, Archive, judged, outcomes

from ncu_assist.analysis.diff import diff_runs
from ncu_assist.errors import DamagedData
from ncu_assist.pipeline.history import history
from ncu_assist.record import Bench
from ncu_assist.render.words.gate import reason_words
from ncu_assist.store import metrics_parquet, samples_parquet


def test_runs_of_different_gpus_are_unclear_unless_forced(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {}, device=replace(DEVICE, name="NVIDIA H100"))
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5}, {})
    result = judged(archive, "add_one", "time:2%", NO_CONFLICTS)
    assert (result.outcome, result.exit_code) == ("unclear", 4)
    assert {check.verdict for check in result.checks} == {"not-comparable"}
    assert {reason_words(check) for check in result.checks} == {"the two were measured on different GPUs"}
    assert "GPU model" in {one.what for one in result.differences}
    forced = judged(archive, "add_one", "time:2%", NO_CONFLICTS, force=True)
    assert (forced.outcome, forced.forced) == ("pass", ("other-device",))


def test_clocks_of_ncu_forbid_to_compare_counters_and_not_times(archive: Archive) -> None:
    archive.save("v0_torch", BOTH, {}, profile=replace(PROFILE, clock_control="base"))
    archive.save("v1_own", {SMALL: 9e4, LARGE: 9e5}, {})
    assert outcomes(judged(archive, "add_one", "time:2%", NO_CONFLICTS)) == {
        (SMALL, "time"): "pass",
        (SMALL, "shared_wavefronts_excessive"): "unclear",
        (LARGE, "time"): "pass",
        (LARGE, "shared_wavefronts_excessive"): "unclear",
    }
    assert judged(archive, "add_one", "time:2%", force=True).forced == ()
    assert judged(archive, "add_one", NO_CONFLICTS, force=True).forced == ("other-settings",)


def test_an_older_run_does_not_stand_in_for_a_damaged_one(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    archive.save("v1_own", BOTH)
    newest = archive.save("v1_own", BOTH, **LATER)
    (newest.folder / "samples.parquet").write_bytes(b"")
    for candidate in ("add_one", "v1", "add_one/v1", "v1@last"):
        with pytest.raises(DamagedData, match="20261122T074500Z-2b3c4d is damaged, and newer than"):
            judged(archive, candidate)
    assert judged(archive, "v1@20261121", "time:5%").exit_code == 0
    shutil.rmtree(newest.folder)
    assert judged(archive, "add_one", "time:5%").exit_code == 0


@pytest.mark.parametrize("name", ["samples.parquet", "run.json"])
def test_damage_in_a_version_that_is_not_compared_is_named(archive: Archive, name: str) -> None:
    archive.save("v0_torch", BOTH)
    other = archive.save("v1_own", BOTH)
    archive.save("v2_own", BOTH)
    (other.folder / name).write_bytes(b"")
    for candidate in ("add_one", "v2", "v2@20261121"):
        gate = judged(archive, candidate, "time:5%")
        assert gate.exit_code == 0
        (note,) = [one for one in gate.notes if "damaged" in one]
        assert note.startswith(f"add_one/v1_own/{other.run.run_id} is damaged: {name} ")
        assert note.endswith("; it was not compared")
    for asked in ({"candidate": "v1"}, {"against": "v1"}):
        with pytest.raises(DamagedData, match=r"v1_own/.* is damaged"):
            judged(archive, **asked)


def test_damage_beside_a_window_is_named(archive: Archive) -> None:
    for day in range(1, 6):
        moment = {"run_id": f"2026112{day}T074500Z-2b3c4d", "created": f"2026-11-2{day}T07:45:00Z"}
        stored = archive.save("v1_own", BOTH, bench_id=f"bench-{day}", **moment)
        if day == 1:
            (stored.folder / "samples.parquet").write_bytes(b"")
    gate = judged(archive, "v1", "time:5%", against="@last:10")
    assert gate.exit_code == 0
    assert [one.partition(": ")[0] for one in gate.notes if "damaged" in one] == [
        "add_one/v1_own/20261121T074500Z-2b3c4d is damaged"
    ]


def test_samples_that_were_changed_are_damage(archive: Archive) -> None:
    archive.save("v0_torch", BOTH)
    path = archive.save("v1_own", BOTH).folder / "samples.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(DamagedData, match="hash differs"):
        judged(archive)


@pytest.mark.parametrize("kept", [0, 60])
def test_fewer_samples_than_the_record_says_are_damage(archive: Archive, kept: int) -> None:
    before = archive.save("v0_torch", {SMALL: 1e5}, {})
    whole = samples_frame(times(1e5, 1), version="v1_own")
    bench = Bench(BENCH_ID, "read", 100, (40.0, 41.0), (), (timing(whole),))
    contents = {"samples.parquet": samples_parquet(whole[:kept]), "metrics.parquet": metrics_parquet(metrics_frame({}))}
    after = archive.store.save(make_run(version="v1_own", bench=bench), contents)
    for compare in (lambda: diff_runs(before, after), lambda: judged(archive, "v1"), lambda: history(archive.project)):
        with pytest.raises(DamagedData, match="samples of workload small"):
            compare()
    assert ["samples of workload small" in damage.problem for damage in archive.store.verify()] == [True]
