"""The source lines of each finding of a diagnosis, for every part of a page that names them."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.rules.model.places import Place


@dataclass(frozen=True)
class FindingLines:
    """A finding by its rule, and the lines with most of what it wastes, the first line first."""

    rule: str
    places: tuple[Place, ...]


def finding_lines(shown: Shown) -> tuple[FindingLines, ...]:
    """Return the lines of the findings that some lines are to blame for; none where the code was not read."""
    found = shown.told.diagnosis.findings if shown.told else ()
    return tuple(FindingLines(one.finding.rule, one.places) for one in found if one.places)
