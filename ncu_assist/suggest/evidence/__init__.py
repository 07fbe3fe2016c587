"""What a good kernel engineer would look at, from stored runs alone: the parent, its counters, what was tried."""

from __future__ import annotations

from ncu_assist.suggest.evidence.cleaning import this_machine
from ncu_assist.suggest.evidence.gathering import BEST, evidence
from ncu_assist.suggest.evidence.items import name_of
from ncu_assist.suggest.evidence.records import Evidence, Item

__all__ = ["BEST", "Evidence", "Item", "evidence", "name_of", "this_machine"]
