"""``ncu-assist doctor``."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import Run, without_ncu

from ncu_assist.environment import Condition, Examination
from ncu_assist.errors import ModelProblem
from ncu_assist.suggest.model.endpoint import endpoint_condition

NEEDED = ("driver", "GPU", "ncu", "counters", "nvcc", "torch", "ninja")


def test_each_lack_has_one_fix(run: Run, no_gpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_ncu(monkeypatch, tmp_path)
    answer = run("doctor")
    assert answer.code == 6
    assert "✗ ncu" in answer.out
    assert "✗ this machine cannot measure; show, diff and recorded runs still work" in answer.out
    assert answer.out.count("try: ") == answer.out.count("✗ ") - 1 + answer.out.count("\n- ")
    assert max(map(len, answer.out.splitlines())) <= 80


def test_json(run: Run, no_gpu: None) -> None:
    answer = run("doctor", "--json").json
    assert answer["schema"] == "ncu-assist.doctor/1"
    assert answer["can_measure"] is False
    names = [c["name"] for c in answer["conditions"]]
    assert set(NEEDED) <= set(names)
    assert all(c["fix"] for c in answer["conditions"] if c["state"] == "missing")


def test_strict_asks_for_everything(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Condition("driver", "ok", "580.95")
    lacking = Condition("triton", "missing", "not installed", "pip install triton", needed=False)
    for conditions, codes in (((whole,), (0, 0)), ((whole, lacking), (0, 6))):
        monkeypatch.setattr("ncu_assist.pipeline.doctor.examine", lambda more, them=conditions: Examination(them))
        assert (run("doctor").code, run("doctor", "--strict").code) == codes


@pytest.fixture
def server() -> Iterator[str]:
    """Something that listens, as an endpoint does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def test_the_model(monkeypatch: pytest.MonkeyPatch, server: str, tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    with pytest.raises(ModelProblem, match="no model is named"):
        endpoint_condition(env)
    found = endpoint_condition({**env, "NCU_ASSIST_MODEL": "m", "NCU_ASSIST_BASE_URL": server})
    assert found.detail == f"m at {server}, which answers"
    with pytest.raises(ModelProblem, match=r"no key for https://api\.openai\.com/v1") as raised:
        endpoint_condition({**env, "NCU_ASSIST_MODEL": "m"})
    assert raised.value.hint == "export OPENAI_API_KEY=…"
    with pytest.raises(ModelProblem, match="does not answer"):
        endpoint_condition({**env, "NCU_ASSIST_MODEL": "m", "NCU_ASSIST_BASE_URL": "http://127.0.0.1:9/v1"})
