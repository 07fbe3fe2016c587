"""What to try stands in a field of its own: a short clause, with how far it carries beside it, not in the message."""

from __future__ import annotations

import pytest
from made_facts import BENCHMARKS

pytestmark = pytest.mark.slow

NOTHING_TO_TRY = {"unexplained"}


def test_every_finding_says_what_to_try_apart_from_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import gallery_scores

    every = [one.finding for judged in gallery_scores.judged("tuned") for one in judged.diagnosis.findings]
    said = {one.rule: one for one in every if one.rule not in NOTHING_TO_TRY}
    assert len(said) >= 20
    assert [rule for rule, one in said.items() if not one.advice or one.advice in one.message] == []
    assert [one.advice for one in said.values() if one.advice.endswith(".") or len(one.advice) > 130] == []
    assert [one.full_advice for one in said.values() if len(one.full_advice) > 220] == []
    assert [one.rule for one in said.values() if one.figures and one.figures in one.advice] == []
    assert [one.advice for one in said.values() if not one.advice[0].islower()] == []
