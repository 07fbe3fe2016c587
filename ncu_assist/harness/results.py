"""The files in which the child leaves its results, written as they come, so that a crash loses nothing finished."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ncu_assist.record import Check, Device, HostMemory, Toolchain

if TYPE_CHECKING:
    import pandas

CHECKS, FAILURES, FACTS = "checks.jsonl", "failures.jsonl", "facts.json"
T = TypeVar("T")


@dataclass(frozen=True)
class VersionFailure:
    """A version that did not do what was asked. ``everywhere``: it is left out of everything that follows."""

    version: str
    stage: str
    workload: str
    reason: str
    everywhere: bool

    def __str__(self) -> str:
        return f"{self.stage} {self.workload}: {self.reason}" if self.workload else f"{self.stage}: {self.reason}"


@dataclass(frozen=True)
class MeasurementFacts:
    """Where and how the child measured. ``device`` is None on a CPU; temperature in degrees Celsius.

    ``power_w`` is the most that the board drew of the ``power_limit_w`` that it may.
    """

    toolchain: Toolchain
    device: Device | None = None
    temperature_c: tuple[float, float] | None = None
    throttle_reasons: tuple[str, ...] | None = None
    host_memory: HostMemory | None = None
    power_w: float | None = None
    power_limit_w: float | None = None


def append_check(out: Path, version: str, check: Check) -> None:
    """Add a check to those in ``out``."""
    _append(out / CHECKS, (version, check))


def append_failure(out: Path, failure: VersionFailure) -> None:
    """Add a failure to those in ``out``."""
    _append(out / FAILURES, failure)


def read_checks(out: Path) -> dict[str, tuple[Check, ...]]:
    """Return the checks in ``out`` by version, in the order in which they were made."""
    checks: dict[str, tuple[Check, ...]] = {}
    for version, check in _rows(out / CHECKS, tuple[str, Check]):
        checks[version] = (*checks.get(version, ()), check)
    return checks


def read_failures(out: Path) -> tuple[VersionFailure, ...]:
    """Return the failures in ``out`` in the order in which they came."""
    return tuple(_rows(out / FAILURES, VersionFailure))


def write_facts(out: Path, facts: MeasurementFacts) -> None:
    """Write the facts; what an earlier child of this job saw before stays: of the GPU, of memory of the host."""
    old = read_facts(out)
    if old is not None:
        facts = replace(facts, temperature_c=_span(old, facts), throttle_reasons=_union(old, facts))
        facts = replace(facts, host_memory=facts.host_memory or old.host_memory)
        powers = [one for one in (old.power_w, facts.power_w) if one is not None]
        limit = facts.power_limit_w or old.power_limit_w
        facts = replace(facts, power_w=max(powers, default=None), power_limit_w=limit)
    (out / FACTS).write_bytes(msgspec.json.encode(facts))


def _span(old: MeasurementFacts, new: MeasurementFacts) -> tuple[float, float] | None:
    """Return the first and the last temperature; what only one of the two knows stays."""
    if old.temperature_c is None or new.temperature_c is None:
        return new.temperature_c or old.temperature_c
    return old.temperature_c[0], new.temperature_c[1]


def _union(old: MeasurementFacts, new: MeasurementFacts) -> tuple[str, ...] | None:
    if old.throttle_reasons is None or new.throttle_reasons is None:
        return new.throttle_reasons if old.throttle_reasons is None else old.throttle_reasons
    return tuple(sorted({*old.throttle_reasons, *new.throttle_reasons}))


def read_facts(out: Path) -> MeasurementFacts | None:
    """Return the facts in ``out``, None if no child came so far."""
    path = out / FACTS
    return msgspec.json.decode(path.read_bytes(), type=MeasurementFacts) if path.is_file() else None


def samples_path(out: Path, workload: str) -> Path:
    """Return the file for the samples of one workload."""
    return out / f"samples-{workload}.parquet"


def read_samples(out: Path) -> pandas.DataFrame | None:
    """Return all samples in ``out`` as one frame (columns of bench.SCHEMA), None if there are none."""
    import pandas

    frames = [pandas.read_parquet(io.BytesIO(path.read_bytes())) for path in sorted(out.glob("samples-*.parquet"))]
    return pandas.concat(frames, ignore_index=True) if frames else None


def _append(path: Path, row: object) -> None:
    with path.open("ab") as file:
        file.write(msgspec.json.encode(row) + b"\n")


def _rows(path: Path, kind: type[T]) -> list[T]:
    lines = path.read_bytes().splitlines() if path.is_file() else []
    return [msgspec.json.decode(line, type=kind) for line in lines]
