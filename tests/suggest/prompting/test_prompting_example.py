"""The prompts of the recorded archive: the one in docs, all within the budget, with all that matters in them."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from suggest.recorded import evidence_of

from ncu_assist.project import Project
from ncu_assist.suggest.evidence.records import Evidence
from ncu_assist.suggest.prompting import DEFAULTS, FORMS, build_prompt

LIMIT = 8_000  # tokens


def test_the_example_in_docs_is_the_prompt(repository: Path, v6: Evidence) -> None:
    written = (repository / "docs" / "prompt_v6.md").read_bytes()
    assert build_prompt(v6).text.encode() == written, "python benchmarks/example_prompt.py"


def test_the_editable_templates_are_the_defaults(repository: Path) -> None:
    ours, theirs = ({path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} for folder in
                    (DEFAULTS, repository / "prompts"))  # fmt: skip
    assert ours == theirs
    assert "prompt.md.j2" in ours


@pytest.mark.slow
@pytest.mark.parametrize("version", [f"v{number}" for number in range(11)])
def test_every_recorded_version_fits_whole(recorded_project: Project, version: str) -> None:
    made = build_prompt(evidence_of(recorded_project, version), max_tokens=LIMIT)
    assert made.tokens == -(-len(made.text) // 4) <= LIMIT
    assert made.dropped == ()
    assert made.sha256 == hashlib.sha256(made.text.encode()).hexdigest()
    assert "\n\n\n" not in _outside(made.text)
    assert not re.search(r"None|Undefined|nan\b|inf\b|[ \t]+$", _outside(made.text), flags=re.MULTILINE)


def _outside(text: str) -> str:
    return re.sub(r"(`{3,}).*?\1", "(fence)", text, flags=re.DOTALL).replace("None: too few counters", "")


def test_the_fix_of_v6_can_be_told_from_its_prompt(v6: Evidence) -> None:
    text = build_prompt(v6).text
    assert (
        "42 |             const float value = decay * s[tid * D + col] + k_row * v_s[col];\n   ^ 58 % of samples"
        in text
    )
    assert "33.0 M excess sectors, 8x what its bytes need" in text
    assert "**uncoalesced-global-load** (high; about 2.85x faster with the change to try, 77.7 µs)" in text
    assert "| E3 | Sectors per request, global loads | sectors_per_request_load | 31 | sectors | 31 | = |" in text
    assert "v6_coalesced_store.cu:42 (100 %)" in text
    assert "v7" not in text.replace("v6", "")


@pytest.mark.slow
def test_the_same_runs_give_the_same_bytes(recorded_project: Project) -> None:
    from ncu_assist.render.redact import NOBODY
    from ncu_assist.suggest.evidence.gathering import evidence

    again = evidence(recorded_project, "lightning_decode/v3", identity=NOBODY)
    assert build_prompt(again).text == build_prompt(evidence_of(recorded_project, "v3")).text


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_reply_is_asked_for(v6: Evidence, form: str) -> None:
    text = build_prompt(v6, form=form).text.partition("## Your reply")[2]
    for key in ("bottleneck", "evidence", "change", "slug", "predictions", "expected_speedup"):
        assert f"- `{key}`" in text
    assert ("<<<<<<< SEARCH" in text) == (form == "fences")
    assert ("- `source`" in text) == (form != "fences")
    assert ("`propose`" in text) == (form == "tool")
    cited = re.search(r'`(\{"id": .*?\})`', text)
    assert cited
    assert json.loads(cited[1]) == {"id": "E1", "value": 221}


def test_the_forms_are_the_rungs_of_the_model() -> None:
    from ncu_assist.suggest.model.endpoint import REPLY_FORMS

    assert (*REPLY_FORMS, "tool") == FORMS
