"""The tables: small, the same bytes for the same rows, types as promised."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from factories import metrics_frame, samples_frame

from ncu_assist.errors import DamagedData
from ncu_assist.store.parquet import decode, metrics_parquet, metrics_schema, samples_parquet, samples_schema


def test_metrics_come_back_with_their_types() -> None:
    data = metrics_parquet(metrics_frame({"dram__bytes_read.sum": None}, {"note": "text"}))
    frame = decode(data, metrics_schema(), "metrics.parquet")
    assert str(frame["launch"].dtype) == "int32"
    assert frame["metric"].dtype == "category"
    assert frame["unit"].dtype == "category"
    texts = frame.dropna(subset=["text"])
    assert set(texts["text"]) == {"NVIDIA H200", "text"}
    assert texts["value"].isna().all()
    assert not ((frame["launch"] == 0) & (frame["metric"] == "dram__bytes_read.sum")).any()


def test_the_same_rows_give_the_same_bytes_in_any_order() -> None:
    frame = metrics_frame({}, {})
    shuffled = frame.sample(frac=1, random_state=1)
    plain = shuffled.astype({"metric": object, "unit": object})
    assert metrics_parquet(frame) == metrics_parquet(shuffled) == metrics_parquet(plain)


def test_samples_come_back_in_order() -> None:
    frame = samples_frame([3.0, 1.0, 2.0], late=[1])
    back = decode(samples_parquet(frame), samples_schema(), "samples.parquet")
    assert list(back["time_ns"]) == [3.0, 1.0, 2.0]
    assert list(back["late"]) == [False, True, False]
    assert back["sm_clock_mhz"].isna().all()
    assert list(back.columns) == list(frame.columns)


def test_a_full_launch_stays_near_24_kilobytes() -> None:
    values = np.random.default_rng(1).lognormal(10, 3, 2243)
    parts = ("sm", "smsp", "lts", "dram", "l1tex", "gpu", "fbpa")
    names = [f"{parts[i % 7]}__some_counter_{i // 16}_{'ld' if i % 2 else 'st'}.sum.{i % 16}" for i in range(2243)]
    launch = {name: float(v) for name, v in zip(names, values, strict=True)}
    assert len(metrics_parquet(metrics_frame(launch, defaults=False))) < 40_000
    many = metrics_frame(*[launch] * 8, defaults=False)
    assert len(metrics_parquet(many)) < 8 * 24_000


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", b"x" * 1000])
def test_bytes_that_are_no_parquet_are_named(data: bytes) -> None:
    with pytest.raises(DamagedData, match=r"metrics\.parquet"):
        decode(data, metrics_schema(), "metrics.parquet")


def test_other_columns_are_damage() -> None:
    import io

    sink = io.BytesIO()
    pd.DataFrame({"a": [1]}).to_parquet(sink)
    with pytest.raises(DamagedData, match="columns"):
        decode(sink.getvalue(), metrics_schema(), "metrics.parquet")
