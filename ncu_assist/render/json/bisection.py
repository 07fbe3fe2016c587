"""A bisection as JSON, schema ncu-assist.bisect/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.bisection import Bisection
from ncu_assist.render.json.values import answer


def bisection_json(found: Bisection) -> dict[str, Any]:
    """Return both ends, the commits that were measured between, and ``first``: several where some were skipped."""
    return answer("bisect", {**asdict(found), "slowdown": found.slowdown})
