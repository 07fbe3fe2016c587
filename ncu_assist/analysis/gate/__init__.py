"""Two runs against limits: what got worse by more than was allowed, what cannot be told, and the exit code of both."""

from __future__ import annotations

from ncu_assist.analysis.gate.limits import Limit, parse_limit
from ncu_assist.analysis.gate.records import Gate, GateCheck, GateSet, GateWord, NotMeasured, Unmeasured

__all__ = ["Gate", "GateCheck", "GateSet", "GateWord", "Limit", "NotMeasured", "Unmeasured", "parse_limit"]
