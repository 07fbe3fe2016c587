"""What rules look at, for tests: counters of a tuned gallery case, as recorded or changed, and some without a GPU."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from factories import launch
from unknown import lacking

from ncu_assist.frame import combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.rules import Diagnosis, Facts, Rule, diagnose

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))


def gallery(name: str, without: tuple[str, ...] = (), **changed: Any) -> Facts:
    """Return the counters of a case of the tuned half; ``changed`` metrics by key, ``without`` those named.

    What is changed is changed in every launch. The reports are read once.
    """
    import gallery_scores as scores

    case = next(one for one in scores.cases() if one.name == name)
    assert case.half == "tuned", "the held-out half is not looked at one by one"
    found = _combined(name)
    assert found is not None
    combined, device = found
    names = {CATALOGUE[key].names[0]: value for key, value in changed.items()}
    tables = [{**table, **names} for table in combined.tables]
    for key in without:
        tables = [lacking(key, table) for table in tables]
    return Facts(combine_launches(None, combined.launches, tables), device, None, case.bytes, case.flops)


def made(duration_ns: float = 100_000.0, **values: float) -> Facts:
    """Return the counters of one launch that somebody made up, by key of the catalogue, on a chip that is not known."""
    table = {CATALOGUE[key].names[0]: value for key, value in values.items()}
    return Facts(combine_launches("small", [launch(0, duration_ns=duration_ns)], [table]))


def told(rule: Rule, facts: Facts) -> Diagnosis:
    """Return what one rule alone says."""
    return diagnose(facts, {rule.ID: rule})


@cache
def _combined(name: str) -> Any:
    import gallery_scores as scores

    case = next(one for one in scores.cases() if one.name == name)
    found = scores.combined_of(case)
    return (found[0], found[1].device) if found else None
