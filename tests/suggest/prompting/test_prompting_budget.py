"""The budget: never exceeded, the least important goes first, and what went is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from suggest.recorded import evidence_of

from ncu_assist.errors import UsageProblem
from ncu_assist.project import Project
from ncu_assist.suggest.evidence.records import Evidence
from ncu_assist.suggest.prompting import DROPS, build_prompt

pytestmark = pytest.mark.slow


def core_tokens(evidence: Evidence) -> int:
    """Return the tokens of the shortest prompt, as the refusal of a shorter one says them."""
    with pytest.raises(UsageProblem) as caught:
        build_prompt(evidence, max_tokens=10)
    needed = int(caught.value.hint.rpartition(" ")[2])
    assert f"needs {needed} tokens, more than the 10 allowed" in caught.value.message
    return needed


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(1, 6000), version=st.sampled_from(["v1", "v6", "v10"]))
def test_no_prompt_is_longer_than_its_budget(recorded_project: Project, budget: int, version: str) -> None:
    found = evidence_of(recorded_project, version)
    try:
        made = build_prompt(found, max_tokens=budget)
    except UsageProblem as problem:
        needed = int(problem.hint.rpartition(" ")[2])
        assert needed > budget
        assert build_prompt(found, max_tokens=needed).tokens == needed
        return
    assert made.tokens <= budget
    assert all(what in made.text for what in made.dropped)
    assert ("Left out to save space" in made.text) == bool(made.dropped)
    assert "\n".join(made.evidence.source.lines) == "\n".join(found.source.lines)
    assert all(f"| {item.id} |" in made.text for item in made.evidence.items)


def test_a_long_source_takes_no_room_from_the_rest_and_is_never_refused(v6: Evidence) -> None:
    long = replace(v6, source=replace(v6.source, lines=(*v6.source.lines, *["// " + "x" * 97] * 400)))
    made = build_prompt(long)
    assert 14_000 < made.tokens < 18_000
    assert "the story" not in made.dropped
    with pytest.raises(UsageProblem, match="more than the 8000 allowed"):
        build_prompt(long, max_tokens=8_000)


def test_the_order_is_that_of_importance(v6: Evidence) -> None:
    whole = build_prompt(v6)
    order = [drop.what for drop in DROPS]
    seen: list[tuple[str, ...]] = []
    for budget in range(whole.tokens, core_tokens(v6), -100):
        seen.append(build_prompt(v6, max_tokens=budget).dropped)
    for dropped in seen:
        assert [one for one in order if one in dropped] == list(dropped)
    assert seen[0] == ()
    assert seen[1] == ("what moved in earlier versions",)
    assert "the story" in seen[-1]
    assert "what moved in earlier versions" not in seen[-1]  # it went with the story


def test_the_diagnosis_and_its_lines_are_never_dropped(v6: Evidence) -> None:
    needed = core_tokens(v6)
    core = build_prompt(v6, max_tokens=needed)
    assert "**uncoalesced-global-load**" in core.text
    assert "v6_coalesced_store.cu:42 (100 %)" in core.text
    assert 'extern "C" cudaError_t lightning_decode' in core.text
    assert [item.id for item in core.evidence.items] == [f"E{number}" for number in range(1, 8)]


def test_a_dropped_item_is_cited_nowhere(v6: Evidence) -> None:
    made = build_prompt(v6, max_tokens=core_tokens(v6))
    kept = {item.id for item in made.evidence.items}
    assert len(kept) < len(v6.items)
    assert made.evidence.diagnosis is not None
    assert set(made.evidence.diagnosis.evidence) <= kept
    assert all(set(one.evidence) <= kept for one in made.evidence.further)


def test_an_unknown_form_is_refused(v6: Evidence) -> None:
    with pytest.raises(UsageProblem, match="no reply form 'xml'"):
        build_prompt(v6, form="xml")
