"""No finding promises more than the floor of its workload allows, and *assumed* stands where such a number stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from commandline import Run

REPOSITORY = Path(__file__).parents[2]
AT_THE_LINK = "fast_h2d/v11"  # 1.13x from its floor, by the link of another GPU; its rule alone would say 7.4x
SHORT = "elementwise_add/v9"  # at its floor on n20_f16, where a launch is most of the time


@pytest.fixture
def run_here(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(REPOSITORY)
    return run


def findings(answer: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer["diagnosis"]["findings"]
    return found


def times_floor(answer: dict[str, Any]) -> float:
    row = next(one for one in answer["workloads"] if one["name"] == answer["workload"])
    return float(row["timing"]["median_ns"] / row["floor_ns"])


@pytest.mark.parametrize(("reference", "workload"), [(AT_THE_LINK, "t256k"), (SHORT, "n20_f16")])
def test_no_estimate_is_beyond_the_floor(run_here: Run, reference: str, workload: str) -> None:
    answer = run_here("show", reference, "--workload", workload, "--json").json
    assert answer["workload"] == workload
    most = max(1.0, times_floor(answer))
    assert all((one["estimated_speedup"] or most + 1) <= most + 1e-9 for one in findings(answer))
    bound = [one for one in findings(answer) if one["to_floor"]]
    assert bound
    assert bound[0]["estimated_speedup"] == pytest.approx(most)
    assert all(one["assumed"] for one in bound)  # as the rate is that the floor is by
    assert findings(answer)[0] == bound[0]  # it still says what the time goes to


def test_a_version_at_its_floor_is_promised_nothing(run_here: Run) -> None:
    told = run_here("show", SHORT, "--workload", "n20_f16").out
    assert re.search(r"^Diagnosis: launch-bound, info, assumed$", told, re.MULTILINE)


@pytest.mark.slow
def test_assumed_stands_where_the_number_stands(run_here: Run, tmp_path: Path) -> None:
    told = " ".join(run_here("show", AT_THE_LINK).out.split())
    assert "1.13x away, assumed;" in told
    assert "Diagnosis: host-link-bound, estimated 1.13x, assumed" in told
    page = tmp_path / "page.html"
    assert run_here("report", AT_THE_LINK, "--output", str(page)).code == 0
    html = page.read_text()
    numbers = re.findall(r"estimated \d[\d.]*x(?:, assumed)?", html)
    assert "estimated 1.13x, assumed" in numbers
    assert "estimated 1.13x" not in numbers
    assert "1.13x away, assumed" in html


@pytest.mark.slow
def test_the_ladder_and_history_say_it_too(run_here: Run, tmp_path: Path) -> None:
    rows = run_here("history", "fast_h2d", "--workload", "t256k", "--json").json["rows"]
    assert {row["cells"][0]["floor_assumed"] for row in rows if row["cells"][0]["floor_ns"]} == {True}
    page = tmp_path / "ladder.html"
    assert run_here("report", "fast_h2d", "--output", str(page)).code == 0
    text = re.sub(r"<[^>]+>", " ", page.read_text())
    assert re.search(r"v11_tokens_at_once\s+host-link-bound\s+medium\s+1\.13x\s+assumed", text)
    assert not re.search(r"\b7\.40x", text)
