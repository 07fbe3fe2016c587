"""What a good kernel engineer would look at, from stored runs alone: the parent, its counters, what was tried."""

from __future__ import annotations

from ncu_assist.suggest.evidence.cleaning import this_machine
from ncu_assist.suggest.evidence.counters import name_of
from ncu_assist.suggest.evidence.gathering import BEST, evidence
from ncu_assist.suggest.evidence.records import Evidence, EvidenceItem

__all__ = ["BEST", "Evidence", "EvidenceItem", "evidence", "name_of", "this_machine"]
