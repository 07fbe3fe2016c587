"""What a report holds, as records and data frames; the samples over time among it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.contents import INSTANCE_COLUMNS, NO_ID, Contents, LaunchFacts
from ncu_assist.record import Device, Launch

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

DURATION, DURATION_2019 = "gpu__time_duration.sum", "gpu__time_duration"  # the latter of 2019, in ns, without a unit
NANOSECONDS = {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}
ATTRIBUTE = "device__attribute_"
DEVICE_ID = "launch__device_id"
RULE_COLUMNS = ["rule", "section", "title", "message", "kind", "speedup_type", "speedup_pct", "focus_metrics"]
KHZ = 1000.0
NUMPY = {"i": "int32", "Q": "uint64", "d": "float64"}  # of the type codes of arrays


class Launches:
    """The values of each launch by metric name."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._slices = list(contents.slices())
        self._places = [{name: i for i, name in enumerate(names)} for names in contents.name_lists]

    def number(self, launch: int, metric: str) -> float:
        """Return a value; NaN where there is none."""
        place = self._places[self._contents.launches[launch].names].get(metric)
        return math.nan if place is None else float(self._contents.values[self._slices[launch].start + place])

    def whole(self, launch: int, metric: str) -> int | None:
        """Return a whole number; None where there is none."""
        value = self.number(launch, metric)
        return None if math.isnan(value) else int(value)

    def text(self, launch: int, metric: str) -> str | None:
        """Return a text; None where there is none."""
        facts = self._contents.launches[launch]
        place = self._places[facts.names].get(metric)
        number = None if place is None else facts.texts.get(place)
        return None if number is None else self._contents.texts[number]


def launch_records(contents: Contents) -> tuple[Launch, ...]:
    """Return the record of each launch; its workload is not in a report."""
    values = Launches(contents)
    name = DURATION if DURATION in contents.units else DURATION_2019
    scale = NANOSECONDS.get(contents.units.get(name, ""), 1.0 if name == DURATION_2019 else math.nan)
    durations = [values.number(i, name) * scale for i in range(len(contents.launches))]
    return tuple(
        Launch(
            index=index,
            kernel=one.kernel,
            signature=one.signature,
            workload=None,
            ranges=one.ranges,
            grid=one.grid,
            block=one.block,
            duration_ns=None if math.isnan(duration) else duration,
            unsized=one.unsized,
        )
        for index, (one, duration) in enumerate(zip(contents.launches, durations, strict=True))
    )


def device_record(contents: Contents, launch: int = 0) -> Device | None:
    """Return the GPU of a launch as its device attributes describe it; None for a report without launches."""
    if not contents.launches:
        return None
    values = Launches(contents)

    def whole(name: str) -> int | None:
        return values.whole(launch, ATTRIBUTE + name)

    return Device(
        name=values.text(launch, ATTRIBUTE + "display_name") or "unknown",
        uuid_sha256="",  # a report does not hold it
        compute_capability=f"{whole('compute_capability_major')}.{whole('compute_capability_minor')}",
        sm_count=whole("multiprocessor_count"),
        l2_bytes=whole("l2_cache_size"),
        memory_bytes=whole("total_memory"),
        driver=contents.session.driver,
    )


def launches_frame(contents: Contents) -> pd.DataFrame:
    """Return one row for each launch; see ``Report.launches``."""
    import pandas as pd

    count = len(contents.launches)
    columns = {name: pd.Series([fact(one) for one in contents.launches], dtype=kind) for name, kind, fact in _FACTS}
    facts = pd.DataFrame({"launch": pd.Series(range(count), dtype="int32")} | columns)
    values = Launches(contents)
    facts["device"] = pd.array([values.whole(i, DEVICE_ID) for i in range(count)], dtype="Int64")
    numbers, texts = _wide(contents)
    names = sorted(contents.units)
    kept = [i for i, name in enumerate(names) if name not in texts]
    wide = pd.DataFrame(numbers[:, kept], columns=[names[i] for i in kept])
    made = pd.concat([facts, wide, pd.DataFrame(dict(sorted(texts.items())), dtype=object)], axis=1)
    made.attrs["units"] = {names[i]: contents.units[names[i]] for i in kept}
    return made


def _axis(field: str, number: int) -> Callable[[LaunchFacts], int | None]:
    """Return how to get at one number of a size; a range or a graph has no size."""
    return lambda one: int(getattr(one, field)[number]) or None


_FACTS: tuple[tuple[str, str, Callable[[LaunchFacts], object]], ...] = (  # name and type of a column, and its value
    *((name, "object", attrgetter(name)) for name in ("kernel", "signature", "mangled")),
    *((f"{field}_{axis}", "Int64", _axis(field, i)) for field in ("grid", "block") for i, axis in enumerate("xyz")),
    *((name, "Int64", attrgetter(name)) for name in ("process", "context", "stream")),
    *((name, "object", attrgetter(name)) for name in ("ranges", "domain_ranges", "start_end_ranges")),
)


def _wide(contents: Contents) -> tuple[np.ndarray[Any, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return launch x metric numbers, and the columns of metrics that are texts, numbers among them kept."""
    import numpy as np

    names = sorted(contents.units)
    place = {name: i for i, name in enumerate(names)}
    columns = [np.array([place[name] for name in each], dtype=np.int64) for each in contents.name_lists]
    numbers = np.full((len(contents.launches), len(names)), np.nan)
    texts: dict[str, np.ndarray[Any, Any]] = {}
    for row, (one, part) in enumerate(zip(contents.launches, contents.slices(), strict=True)):
        numbers[row, columns[one.names]] = contents.values[part]
        for position, text in one.texts.items():
            name = contents.name_lists[one.names][position]
            texts.setdefault(name, np.full(len(numbers), None, dtype=object))[row] = contents.texts[text]
    for name, column in texts.items():
        own = numbers[:, place[name]]
        column[~np.isnan(own)] = own[~np.isnan(own)]
    return numbers, texts


def metrics_frame(contents: Contents) -> pd.DataFrame:
    """Return one row for each metric of each launch; see ``Report.metrics``."""
    import numpy as np
    import pandas as pd

    names = sorted(contents.units)
    units = sorted(set(contents.units.values()))
    place, unit_place = {name: i for i, name in enumerate(names)}, {unit: i for i, unit in enumerate(units)}
    unit_of = np.array([unit_place[contents.units[name]] for name in names], dtype=np.int32)
    lists = [np.array([place[name] for name in each], dtype=np.int32) for each in contents.name_lists]
    codes = [lists[one.names] for one in contents.launches]
    metric = np.concatenate(codes) if codes else np.empty(0, dtype=np.int32)
    text = np.full(len(contents.values), None, dtype=object)
    for one, part in zip(contents.launches, contents.slices(), strict=True):
        for position, number in one.texts.items():
            text[part.start + position] = contents.texts[number]
    return pd.DataFrame(
        {
            "launch": np.repeat(np.arange(len(codes), dtype=np.int32), [len(each) for each in codes]),
            "metric": pd.Categorical.from_codes(metric, categories=pd.Index(names)),
            "value": contents.values,
            "text": pd.Series(text, dtype=object),
            "unit": pd.Categorical.from_codes(unit_of[metric], categories=pd.Index(units)),
        }
    )


def rules_frame(contents: Contents) -> pd.DataFrame:
    """Return one row for each finding of NVIDIA's rules; see ``Report.rules``."""
    import pandas as pd

    found = [(i, rule) for i, one in enumerate(contents.launches) for rule in one.rules]
    columns = {name: pd.Series([getattr(rule, name) for _, rule in found], dtype=object) for name in RULE_COLUMNS}
    frame = pd.DataFrame({"launch": pd.Series([i for i, _ in found], dtype="int32")} | columns)
    return frame.astype({"speedup_pct": "float64"})


def session_frame(contents: Contents) -> pd.DataFrame:
    """Return one row for each GPU of a report; see ``Report.session``."""
    import pandas as pd

    values = Launches(contents)
    first = {values.whole(i, DEVICE_ID): i for i in reversed(range(len(contents.launches)))}
    return pd.DataFrame([_session_row(contents, values, i) for i in sorted(first.values())])


def _session_row(contents: Contents, values: Launches, launch: int) -> dict[str, Any]:
    import pandas as pd

    device, session = device_record(contents, launch), contents.session
    assert device is not None
    return {
        "device": values.whole(launch, DEVICE_ID),
        "name": device.name,
        "compute_capability": device.compute_capability,
        "sm_count": device.sm_count,
        "l2_bytes": device.l2_bytes,
        "memory_bytes": device.memory_bytes,
        "max_sm_clock_hz": values.number(launch, ATTRIBUTE + "max_gpu_frequency_khz") * KHZ,
        "max_memory_clock_hz": values.number(launch, ATTRIBUTE + "max_mem_frequency_khz") * KHZ,
        "driver": session.driver,
        "cuda": session.cuda_version,
        "ncu": session.ncu_version,
        "clock_control": session.clock_control,
        "replay_mode": session.replay_mode,
        "sections": session.sections,
        "command": session.command,
        "host": session.host,
        "created": None if session.created is None else pd.Timestamp(session.created, unit="s", tz="UTC"),
    }


def instances_frame(folder: Path, texts: tuple[str, ...]) -> pd.DataFrame:
    """Return what a child wrote into ``folder``; see ``Report.instances``."""
    import numpy as np
    import pandas as pd

    columns = {name: np.fromfile(folder / name, dtype=NUMPY[code]) for name, code in INSTANCE_COLUMNS.items()}
    words = np.array([*texts, None], dtype=object)  # the last is what NO_TEXT, -1, points at
    used = sorted(set(columns["metric"].tolist()), key=lambda number: texts[number])
    place = np.zeros(len(words), dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    names: pd.Index[str] = pd.Index([texts[number] for number in used], dtype=str)
    ids = pd.Series(columns["id"], dtype="UInt64").mask(columns["id"] == NO_ID)
    return pd.DataFrame(
        {
            "launch": columns["launch"],
            "metric": pd.Categorical.from_codes(place[columns["metric"]], categories=names),
            "instance": columns["instance"],
            "id": ids,
            "id_text": pd.Series(words[columns["id_text"]], dtype=object),
            "value": columns["value"],
            "text": pd.Series(words[columns["text"]], dtype=object),
        }
    )


# The samples that ncu took while a kernel ran (PM sampling): how busy parts of the GPU were from moment to moment.
# SAMPLED is what stands before the name of the metric itself; its second form is Hopper's, with the group of units and
# the set of counters: ``FBSP.TriageCompute.dramc__throughput…``.
SAMPLED = re.compile(r"(?:pmsampling:|\w+\.Triage\w*\.)(?=\w+__)")
STARTS = "profiler__pmsampler_ctxsw_"  # by pass, the moment in which the kernel's context came onto the GPU
TIMELINE_COLUMNS = ("launch", "metric", "time_ns", "value")


@dataclass(frozen=True)
class SampledMetric:
    """The samples of one metric of one launch, in the order of their times."""

    launch: int
    metric: str
    times_ns: tuple[float, ...]
    values: tuple[float, ...]


def timeline_frame(instances: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each sample, made of ``Report.instances``, ordered by launch, metric and time.

    launch int32 · metric category, without what its name has before it · time_ns float64, since the context of the
    kernel came onto the GPU in the pass that took the sample, since the first sample where the report does not say when
    · value float64, of the time since the sample before. Samples before the start are left out. Without any there are
    no rows: ncu samples since 2024.1, with the section PmSampling, on chips that can.
    """
    import numpy as np
    import pandas as pd

    metric = instances["metric"].astype("category").cat
    names = [str(name) for name in metric.categories]
    rank = np.argsort(np.argsort(np.array(names, dtype=object)))
    codes, launches = metric.codes.to_numpy(), instances["launch"].to_numpy()
    at = instances["id"].fillna(0).to_numpy(dtype=np.int64)
    sampled = np.array([SAMPLED.match(name) is not None for name in names], dtype=bool)
    starting = np.array([name.startswith(STARTS) for name in names], dtype=bool)
    rows = np.flatnonzero(sampled[codes] & (at != 0))  # the first may be a sum, of no moment
    if not len(rows):
        return pd.DataFrame({name: pd.Series(dtype=object) for name in TIMELINE_COLUMNS})
    rows = rows[np.lexsort((at[rows], rank[codes[rows]], launches[rows]))]
    others = np.flatnonzero(np.diff(launches[rows]) | np.diff(codes[rows])) + 1
    moments = np.flatnonzero(starting[codes])
    kept, times = [], []
    for own in np.split(rows, others):
        first, last = at[own[0]], at[own[-1]]
        within = (at[one] for one in moments if launches[one] == launches[own[0]] and first <= at[one] <= last)
        start = next(within, first)
        kept.append(own[at[own] >= start])
        times.append((at[kept[-1]] - start).astype(float))
    place = np.concatenate(kept)
    bare = np.array([SAMPLED.sub("", name, count=1) for name in names], dtype=object)
    return pd.DataFrame(
        {
            "launch": launches[place],
            "metric": pd.Series(bare[codes[place]].tolist()).astype("category"),
            "time_ns": np.concatenate(times),
            "value": instances["value"].to_numpy()[place],
        }
    )


def sampled_metrics(frame: pd.DataFrame) -> tuple[SampledMetric, ...]:
    """Return the samples of a timeline by launch and metric, without those that have no value."""
    known = frame.dropna(subset=["value"])
    rows: dict[tuple[int, str], tuple[list[float], list[float]]] = {}
    for launch, metric, time_ns, value in zip(*(known[name].tolist() for name in TIMELINE_COLUMNS), strict=True):
        times, values = rows.setdefault((launch, metric), ([], []))
        times.append(time_ns)
        values.append(value)
    return tuple(SampledMetric(*key, tuple(times), tuple(values)) for key, (times, values) in sorted(rows.items()))
