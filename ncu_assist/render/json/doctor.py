"""What ``doctor`` found, as JSON: schema ncu-assist.doctor/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.environment import Examination
from ncu_assist.render.json.values import answer


def doctor_json(examination: Examination) -> dict[str, Any]:
    """Return the conditions in the order they were looked at, and whether measuring is possible."""
    conditions = [asdict(condition) for condition in examination.conditions]
    return answer("doctor", {"can_measure": examination.can_measure, "conditions": conditions})
