"""Made-up runs for tests: records, metrics and samples of the shapes that real ones have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ncu_assist import record
from ncu_assist.store import Store, StoredRun, machine_hash, metrics_parquet, samples_parquet

DEVICE = record.Device("NVIDIA H200", "ab" * 32, "9.0", 132, 62_914_560, 150_000_000_000, "580.95")
WORKLOAD = record.WorkloadFacts("small", "float32", {"n": 1024}, 8192, 1024)
PROFILE = record.Profile("full", "none", "all", "kernel", None, "ncu --set full")
BENCH_ID = "bench-1"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

DRAM = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"

# names and units as `--set full` of ncu 2025.3.1 writes them on an H200
METRICS: dict[str, tuple[float | str, str]] = {
    "gpu__time_duration.sum": (100_000.0, "ns"),
    "dram__bytes_read.sum": (200_000_000.0, "byte"),
    "dram__bytes_write.sum": (200_000_000.0, "byte"),
    "dram__bytes.sum.per_second": (4.0e12, "byte/s"),
    "dram__cycles_active.avg.pct_of_peak_sustained_elapsed": (83.0, "%"),
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": (83.0, "%"),
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": (83.0, "%"),
    "lts__t_sectors_srcunit_tex.sum": (12_500_000.0, "sector"),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": (40.0, "%"),
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": (30.0, "%"),
    "l1tex__throughput.avg.pct_of_peak_sustained_active": (32.0, "%"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": (25.0, "%"),
    "sm__warps_active.avg.pct_of_peak_sustained_active": (70.0, "%"),
    "sm__maximum_warps_per_active_cycle_pct": (100.0, "%"),
    "launch__registers_per_thread": (32.0, "register/thread"),
    "smsp__inst_executed.sum": (1_000_000.0, "inst"),
    "derived__local_spilling_requests": (0.0, ""),
    "derived__memory_l1_wavefronts_shared_excessive": (0.0, ""),
    "derived__memory_l2_theoretical_sectors_global_excessive": (0.0, "byte"),
    "memory_l2_theoretical_sectors_global": (1_000_000.0, "sectors"),
    "memory_l2_theoretical_sectors_global_ideal": (1_000_000.0, "sectors"),
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": (100_000.0, ""),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": (400_000.0, "sector"),
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": (100_000.0, ""),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": (400_000.0, "sector"),
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": (32.0, "byte/sector"),
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio": (32.0, "byte/sector"),
    STALL.format("long_scoreboard"): (20.0, "inst"),
    STALL.format("barrier"): (2.0, "inst"),
    STALL.format("selected"): (1.0, "inst"),
    "device__attribute_display_name": ("NVIDIA H200", ""),
}


def metrics_frame(*launches: Mapping[str, float | str | None], defaults: bool = True) -> pd.DataFrame:
    """Tidy metrics, one mapping a launch: overrides of METRICS; None leaves the metric out.

    All memory is as busy as DRAM where that is given alone.
    """
    rows: list[tuple[int, str, float, str | None, str]] = []
    for index, changes in enumerate(launches or ({},)):
        values: dict[str, Any] = {name: value for name, (value, _) in METRICS.items()} if defaults else {}
        if DRAM in changes:
            changes = {MEMORY: changes[DRAM], **changes}
        for name, value in {**values, **changes}.items():
            unit = METRICS.get(name, (0.0, ""))[1]
            if isinstance(value, str):
                rows.append((index, name, float("nan"), value, unit))
            elif value is not None:
                rows.append((index, name, float(value), None, unit))
    frame = pd.DataFrame(rows, columns=["launch", "metric", "value", "text", "unit"])
    return frame.astype({"launch": "int32", "metric": "category", "unit": "category"})


def samples_frame(
    times_ns: Sequence[float] | np.ndarray[Any, Any],
    *,
    version: str = "v1_torch",
    workload: str = "small",
    bench_id: str = BENCH_ID,
    late: Sequence[int] = (),
    sm_clock_mhz: float = float("nan"),
) -> pd.DataFrame:
    """Samples of one version on one workload, one a round."""
    count = len(times_ns)
    return pd.DataFrame(
        {
            "bench_id": [bench_id] * count,
            "workload": [workload] * count,
            "version": [version] * count,
            "round": np.arange(count, dtype="int32"),
            "position": np.zeros(count, dtype="int32"),
            "time_ns": np.asarray(times_ns, dtype="float64"),
            "sm_clock_mhz": np.full(count, sm_clock_mhz),
            "late": [index in late for index in range(count)],
        }
    )


def times(median_ns: float, seed: int, rounds: int = 100, noise: float = 0.008) -> np.ndarray[Any, Any]:
    """Sample times around a median, relative noise 0.8 % unless said."""
    return median_ns * np.exp(np.random.default_rng(seed).normal(0.0, noise, rounds))


def timing(samples: pd.DataFrame, workload: str = "small", bench_id: str = BENCH_ID) -> record.Timing:
    """What a bench would record of these samples."""
    kept = samples.loc[~samples["late"] & (samples["workload"] == workload), "time_ns"]
    q1, median, q3 = (float(kept.quantile(q)) for q in (0.25, 0.5, 0.75))
    dropped = int(samples["late"].sum())
    return record.Timing(workload, bench_id, len(kept), dropped, median, q1, q3, float(kept.min()), None, 2_000.0, 50.0)


def make_run(**changes: Any) -> record.Run:
    """A live run of add_one/v1_torch with one launch, no bench and no files."""
    run = record.Run(
        run_id="20261121T074500Z-1a2b3c",
        kernel="add_one",
        version="v1_torch",
        source="live",
        created="2026-11-21T07:45:00Z",
        tool="0.1.0",
        machine=machine_hash(),
        source_sha256="cd" * 32,
        verified=True,
        device=DEVICE,
        toolchain=record.Toolchain(python="3.12", torch="2.11", ncu="2025.3.1"),
        workloads=(WORKLOAD,),
        checks=(record.Check("small", True, "", (0, 1, 2), 1e-7, 1e-6),),
        profile=PROFILE,
        launches=(launch(),),
    )
    return replace(run, **changes)


def launch(index: int = 0, kernel: str = "add_one_kernel", workload: str = "small", **changes: Any) -> record.Launch:
    """One launch of add_one."""
    ranges = ("ncu-assist", f"v1_torch|{workload}")
    made = record.Launch(index, kernel, f"{kernel}(float*, int)", workload, ranges, (8, 1, 1), (128, 1, 1), 100_000.0)
    return replace(made, **changes)


def under_an_old_driver(stored: StoredRun) -> None:
    """Rewrite the record of a run with its GPU as drivers before 470 name it, and ncu-assist before 2026-11-28."""
    written = json.loads((stored.folder / "run.json").read_bytes())
    written["device"]["name"] = written["device"]["name"].removeprefix("NVIDIA ")
    written["digest"] = record.content_digest(json.dumps(written).encode())
    (stored.folder / "run.json").write_text(json.dumps(written), encoding="utf-8")


def save_run(
    store: Store,
    run: record.Run,
    metrics: pd.DataFrame | None = None,
    samples: pd.DataFrame | None = None,
    **files: bytes,
) -> StoredRun:
    """Save a run with these tables; timings are made from the samples of its version."""
    contents = dict(files)
    if metrics is not None:
        contents["metrics.parquet"] = metrics_parquet(metrics)
    if samples is not None:
        contents["samples.parquet"] = samples_parquet(samples)
        own = samples[samples["version"] == run.version]
        bench_id = str(own["bench_id"].iloc[0]) if len(own) else BENCH_ID
        made = tuple(timing(own[own["workload"] == name], str(name), bench_id) for name in own["workload"].unique())
        run = replace(run, bench=record.Bench(bench_id, "read", 100, (40.0, 41.0), (), made))
    return store.save(run, contents)
