"""What a machine can do as JSON: schemas ncu-assist.ceilings/1 and ncu-assist.doctor/1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from ncu_assist.ceilings import Ceilings
from ncu_assist.ceilings.records import Conditions, KnownGpu, KnownRate, Origin, Point, Rate, Stage
from ncu_assist.environment import BugReport, Condition, Examination, LastError
from ncu_assist.render.json.values import AnswerKeys, DeviceKeys, answer, clean, device, filled


class GpuKeys(TypedDict):
    """What one GPU reached when it was measured."""

    source: Origin
    path: str | None
    device: DeviceKeys | None
    created: str
    tool: str
    conditions: Conditions
    dram: list[Point]
    l2: list[Point]
    link: list[Point]
    rates: list[Rate]
    stages: list[Stage]
    notes: list[str]


class CeilingsAnswer(AnswerKeys):
    """Rates that were measured of GPUs, and what is known of the one asked for."""

    reference: NotRequired[str]
    device: NotRequired[DeviceKeys | None]
    known: NotRequired[list[KnownRate]]
    gpus: list[GpuKeys]


class DoctorAnswer(AnswerKeys):
    """Whether this machine can measure, and what is missing."""

    can_measure: bool
    conditions: list[Condition]


class BugReportAnswer(AnswerKeys):
    """What a maintainer asks for first."""

    version: str
    python: str
    platform: str
    packages: dict[str, str]
    last_error: LastError | None
    conditions: list[Condition]


def ceilings_json(found: Sequence[tuple[Ceilings, Path | None]]) -> dict[str, Any]:
    """Return ceilings as they are stored, each with the file it lies in (null if it came with the tool)."""
    gpus: dict[str, Any] = clean({"schema": "ncu-assist.ceilings/1", "gpus": [_gpu(one, path) for one, path in found]})
    return gpus


def _gpu(ceilings: Ceilings, path: Path | None) -> dict[str, Any]:
    place = str(path) if path else None
    return filled(GpuKeys, ceilings, source=ceilings.origin, path=place, device=device(ceilings.device))


def known_json(found: KnownGpu) -> dict[str, Any]:
    """Return what is known of one GPU, a number a row with its source; null where nobody knows it."""
    gpus = [_gpu(found.ceilings, None)] if found.ceilings else []
    return answer("ceilings", CeilingsAnswer, found, device=device(found.device), known=found.rates, gpus=gpus)


def doctor_json(examination: Examination) -> dict[str, Any]:
    """Return the conditions in the order they were looked at, and whether measuring is possible."""
    return answer("doctor", DoctorAnswer, examination)


def bug_report_json(found: BugReport) -> dict[str, Any]:
    """Return what the report of a bug says."""
    return answer("bug-report", BugReportAnswer, found, found.examination)
