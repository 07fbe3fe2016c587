"""What a machine can do as JSON: schemas ncu-assist.ceilings/1 and ncu-assist.doctor/1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ncu_assist.ceilings import Ceilings
from ncu_assist.ceilings.records import KnownGpu
from ncu_assist.environment import BugReport, Examination
from ncu_assist.render.json.values import answer, device


def ceilings_json(found: Sequence[tuple[Ceilings, Path | None]]) -> dict[str, Any]:
    """Return ceilings as they are stored, each with the file it lies in (null if it came with the tool)."""
    return answer("ceilings", {"gpus": [_gpu(one, path) for one, path in found]})


def _gpu(ceilings: Ceilings, path: Path | None) -> dict[str, Any]:
    content = {name: value for name, value in asdict(ceilings).items() if name not in ("schema", "digest", "origin")}
    place = {"source": ceilings.origin, "path": str(path) if path else None}
    return {**place, **content, "device": device(ceilings.device)}


def known_json(found: KnownGpu) -> dict[str, Any]:
    """Return what is known of one GPU, a number a row with its source; null where nobody knows it."""
    ceilings = [_gpu(found.ceilings, None)] if found.ceilings else []
    rates = [asdict(rate) for rate in found.rates]
    return answer(
        "ceilings", {"reference": found.reference, "device": device(found.device), "known": rates, "gpus": ceilings}
    )


def doctor_json(examination: Examination) -> dict[str, Any]:
    """Return the conditions in the order they were looked at, and whether measuring is possible."""
    conditions = [asdict(condition) for condition in examination.conditions]
    return answer("doctor", {"can_measure": examination.can_measure, "conditions": conditions})


def bug_report_json(found: BugReport) -> dict[str, Any]:
    """Return what the report of a bug says."""
    conditions = [asdict(condition) for condition in found.examination.conditions]
    content = {name: value for name, value in asdict(found).items() if name != "examination"}
    return answer("bug-report", {**content, "conditions": conditions})
