"""What the child process read, as rows, records and data frames."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.record import Device, Launch

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

DURATION = "gpu__time_duration.sum"
NANOSECONDS = {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}
ATTRIBUTE = "device__attribute_"
RULE_COLUMNS = ["rule", "section", "title", "message", "kind", "speedup_type", "speedup_pct", "focus_metrics"]


@dataclass(frozen=True)
class Raw:
    """What the child wrote: ``values`` holds those of all launches, in the order of their name lists."""

    launches: list[dict[str, Any]]
    name_lists: list[list[str]]
    texts: list[str]
    units: dict[str, str]
    values: np.ndarray[Any, Any]

    def names(self, launch: int) -> list[str]:
        return self.name_lists[self.launches[launch]["names"]]


def numbers_by_name(raw: Raw) -> list[dict[str, float]]:
    """Return the numbers of each launch by metric name."""
    tables, at = [], 0
    for number in range(len(raw.launches)):
        names = raw.names(number)
        tables.append(dict(zip(names, raw.values[at : at + len(names)].tolist(), strict=True)))
        at += len(names)
    return tables


def launch_record(index: int, raw: Raw, table: dict[str, float]) -> Launch:
    """Return the record of one launch; its workload is not in a report."""
    facts = raw.launches[index]
    duration = table.get(DURATION, math.nan) * NANOSECONDS.get(raw.units.get(DURATION, ""), math.nan)
    return Launch(
        index=index,
        kernel=facts["kernel"],
        signature=facts["signature"],
        workload=None,
        ranges=tuple(facts["ranges"]),
        grid=_dimensions(table, "launch__grid_dim_"),
        block=_dimensions(table, "launch__block_dim_"),
        duration_ns=None if math.isnan(duration) else duration,
    )


def _dimensions(table: dict[str, float], prefix: str) -> tuple[int, int, int]:
    x, y, z = (int(table.get(prefix + axis, 0)) for axis in "xyz")
    return x, y, z


def device_record(raw: Raw, table: dict[str, float], driver: str | None) -> Device:
    """Return the GPU as the device attributes of a launch describe it."""

    def whole(name: str) -> int | None:
        value = table.get(ATTRIBUTE + name)
        return None if value is None or math.isnan(value) else int(value)

    return Device(
        name=_text(raw, 0, ATTRIBUTE + "display_name") or "unknown",
        uuid_sha256="",  # a report does not hold it
        compute_capability=f"{whole('compute_capability_major')}.{whole('compute_capability_minor')}",
        sm_count=whole("multiprocessor_count"),
        l2_bytes=whole("l2_cache_size"),
        memory_bytes=whole("total_memory"),
        driver=driver,
    )


def _text(raw: Raw, launch: int, metric: str) -> str | None:
    names = raw.names(launch)
    number = raw.launches[launch]["texts"].get(str(names.index(metric))) if metric in names else None
    return None if number is None else raw.texts[number]


def metrics_frame(raw: Raw) -> pd.DataFrame:
    """Return one row for each metric of each launch; see ``Report.metrics``."""
    import numpy as np
    import pandas as pd

    names = sorted(raw.units)
    units = sorted(set(raw.units.values()))
    place = {name: i for i, name in enumerate(names)}
    unit_of = np.array([units.index(raw.units[name]) for name in names], dtype=np.int32)
    lists = [np.array([place[name] for name in each], dtype=np.int32) for each in raw.name_lists]
    codes = [lists[launch["names"]] for launch in raw.launches]
    metric = np.concatenate(codes) if codes else np.empty(0, dtype=np.int32)
    return pd.DataFrame(
        {
            "launch": np.repeat(np.arange(len(codes), dtype=np.int32), [len(each) for each in codes]),
            "metric": pd.Categorical.from_codes(metric, categories=pd.Index(names)),
            "value": raw.values,
            "text": pd.Series(_text_column(raw, codes), dtype=object),
            "unit": pd.Categorical.from_codes(unit_of[metric], categories=pd.Index(units)),
        }
    )


def _text_column(raw: Raw, codes: list[Any]) -> Any:
    import numpy as np

    column = np.full(len(raw.values), None, dtype=object)
    at = 0
    for launch, each in zip(raw.launches, codes, strict=True):
        for position, number in launch["texts"].items():
            column[at + int(position)] = raw.texts[number]
        at += len(each)
    return column


def rules_frame(raw: Raw) -> pd.DataFrame:
    """Return one row for each rule result; see ``Report.rules``."""
    import pandas as pd

    rows = [{"launch": i, **rule} for i, launch in enumerate(raw.launches) for rule in launch["rules"]]
    frame = pd.DataFrame(rows, columns=["launch", *RULE_COLUMNS])
    return frame.astype({"launch": "int32", "speedup_pct": "float64"})
