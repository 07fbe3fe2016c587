"""The ledger counts what came true of what could be told, and only what was kept wins a round."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest
from drafts_made import CLAIM, PROOF, make_draft, several

from ncu_assist.analysis.ledger import ledger_of
from ncu_assist.store.drafts import DraftArchive


def test_of_no_drafts_nothing_is_said() -> None:
    made = ledger_of(())
    assert (made.drafts, made.models, made.rounds, made.total.rate, made.total.expected) == (
        (),
        (),
        (),
        None,
        None,
    )


def test_by_model_by_diagnosis_and_why(tmp_path: Path) -> None:
    several(DraftArchive(tmp_path))
    made = ledger_of(stored.draft for stored in DraftArchive(tmp_path).drafts())
    assert [(one.name, one.drafts, one.kept, one.rejected, one.unproven) for one in made.models] == [
        ("some-model", 2, 1, 1, 0),
        ("from a file", 1, 0, 0, 1),
        ("other-model", 1, 0, 1, 0),
    ]
    first = made.models[0]
    assert (first.true, first.told, first.untold, first.rate) == (2, 4, 1, 0.5)
    assert (first.compared, first.flawed, first.cost.prompt_tokens, first.cost.seconds) == (2, 1, 8_000, 24.0)
    assert first.expected == pytest.approx(1.8)
    assert first.measured == pytest.approx(sqrt(1.42 * 0.8))
    assert [one.name for one in made.diagnoses] == ["at-dram-roofline"]
    assert (made.total.drafts, made.total.cost.estimated) == (4, True)
    assert [(one.fate, one.text, one.count) for one in made.reasons] == [
        ("rejected", "its reply could not be used", 1),
        ("rejected", "slower than its parent", 1),
        ("unproven", "not proved", 1),
    ]


def test_only_what_was_kept_wins_a_round() -> None:
    cheat = make_draft(id="a", fate="rejected", reason="wrong", proof=replace(PROOF, speedup=50.0))
    good, better = make_draft(id="b"), make_draft(id="c", proof=replace(PROOF, speedup=1.5))
    untimed = make_draft(id="d", round=2, proof=None)
    made = ledger_of([cheat, good, better, untimed])
    assert [(one.round, one.drafts, one.kept, one.best and one.best.id) for one in made.rounds] == [
        (1, 3, 2, "c"),
        (2, 1, 1, None),
    ]


def test_a_speed_up_that_is_none_is_no_mean() -> None:
    odd = [make_draft(claim=replace(CLAIM, expected_speedup=value)) for value in (0.0, -1.0, None)]
    assert ledger_of(odd).total.compared == 0
