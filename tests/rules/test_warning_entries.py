"""Every warning that a diagnosis can carry is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ncu_assist.rules.model.warnings as module
from ncu_assist.pipeline.explaining import explain_any
from ncu_assist.render.json.metrics import explain_json
from ncu_assist.render.terminal.metrics import explain_text
from ncu_assist.rules.model.warnings import WARNINGS


def test_all_of_them_are_documented() -> None:
    source = Path(module.__file__).read_text()
    assert set(re.findall(r'^        "([a-z0-9-]+)": _?[a-z_]+\(', source, re.MULTILINE)) == set(WARNINGS)


@pytest.mark.parametrize("name", WARNINGS)
def test_explain_knows_it(name: str) -> None:
    found = explain_any(name)
    text = explain_text(found)
    assert text.startswith(f"{name}: a warning about the measurement\n\n")
    assert "What to try: " in text
    assert max(map(len, text.splitlines())) <= 80
    (subject,) = explain_json(found)["subjects"]
    assert (subject["type"], subject["name"]) == ("warning", name)
