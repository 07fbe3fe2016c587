"""The page of a diff of one code measured twice: no change above its noise, nothing flagged."""

from __future__ import annotations

from pathlib import Path

import pytest
from sections import models

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.pipeline.pages.diff import diff_facts
from ncu_assist.pipeline.reading import informed
from ncu_assist.render.html.diff import diff_sections
from ncu_assist.store import Store

DATA = Path(__file__).parents[2] / "data"
STORES = tuple(Store(DATA / name) for name in ("repeats_first", "repeats_second"))
VERSIONS = sorted({one.run.version for one in STORES[0].runs("lightning_decode")})


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_one_code_measured_twice_has_no_change(version: str) -> None:
    before, after = (
        next(one for one in store.runs("lightning_decode") if one.run.version == version) for store in STORES
    )
    pair = (before, after)
    facts = diff_facts(pair, STORES[1], informed(STORES[1], pair, DiffOptions()))
    changes = models(diff_sections(facts)).changes
    assert len(changes.rest.rows) > 20
    assert [row[0].words for row in changes.moved.rows] == []
    assert [flag for flag in changes.flags if flag[2]] == []
