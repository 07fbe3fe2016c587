"""What is wrong with a kernel, from its counters: one module a rule, each with its own documentation."""

from __future__ import annotations

from ncu_assist.rules.base import Finding, Rule, Severity, severity
from ncu_assist.rules.diagnosis import Diagnosis, Ranked, Unanswered, diagnose
from ncu_assist.rules.facts import Facts

RULES: dict[str, Rule] = {}

__all__ = ["RULES", "Diagnosis", "Facts", "Finding", "Ranked", "Rule", "Severity", "Unanswered", "diagnose", "severity"]
