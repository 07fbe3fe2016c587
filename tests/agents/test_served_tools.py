"""The tools of `suggest`'s model are those of the server, for one kernel, with errors in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agents.talking import ENVIRONMENT
from recorded_family import copy_family
from requirements import require

from ncu_assist.agents.model_tools import OFFERED, ServedTools, served_tools
from ncu_assist.agents.server import BUDGETS, READING
from ncu_assist.errors import ModelProblem
from ncu_assist.project import Project
from ncu_assist.suggest.model import ToolLimits

pytestmark = pytest.mark.slow
EDIT = {"search": "constexpr int THREADS", "replace": "constexpr into THREADS"}


def test_answers_and_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("nvcc", "bwrap")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    copy_family(tmp_path)
    with served_tools(Project(tmp_path), "lightning_decode", ToolLimits(5, 1_000)) as tools:
        assert isinstance(tools, ServedTools)
        assert [one["name"] for one in tools.offered] == [name for name in BUDGETS if name in OFFERED]
        assert set(OFFERED) < READING
        assert tools.offered[0]["parameters"]["type"] == "object"
        assert "at most 5 calls" in tools.about
        assert "lightning_decode/v2" in tools.about
        lines = json.loads(tools.call("lines", '{"reference": "v3", "rule": "uncoalesced-global-store"}'))
        assert lines["findings"][0]["lines"][0]["line"] == 32
        told = tools.call("build", json.dumps({"reference": "lightning_decode/v6", "edits": [EDIT]}))
        built = json.loads(told)
        assert (built["passed"], "error: " in built["said"]) == (False, True)
        wrong = {
            "accept": '{"id": "2026"}',
            "show": '{"reference": "softmax/v3"}',
            "lines": '{"reference": "../../etc/passwd"}',
            "sass": '{"reference": "lightning_decode/../../x"}',
            "history": '{"kernel": "softmax"}',
            "diff": '{"reference": "v3"}',
            "metrics": "{not json",
            "launches": '["v3"]',
            "explain": '{"word": "wavefront"}',
        }
        said = {name: tools.call(name, arguments) for name, arguments in wrong.items()}
    assert all(text.startswith("error: ") for text in said.values()), said
    assert "there is no tool 'accept'" in said["accept"]
    for name in ("show", "lines", "history", "diff"):
        assert "is to be a version of lightning_decode" in said[name]
    assert "the arguments are no JSON" in said["metrics"]
    assert "has no argument 'word'" in said["explain"]


def test_what_is_raised_meanwhile_is_raised_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(ModelProblem, match="gone"), served_tools(Project(tmp_path), "k", ToolLimits()):
        raise ModelProblem("the endpoint is gone")
