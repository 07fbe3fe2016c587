import pytest
from commandline import Run, run

from ncu_assist.environment import Gpu
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.pipeline import cluster

__all__ = ["run"]


def test_a_worker_needs_a_gpu_and_a_scheduler_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "query_gpus", lambda: ("1", (Gpu(0, "NVIDIA H200", "GPU-0", 1, 1, 1, 1),)))
    refused = run("worker", "tcp://192.0.2.1:8786")
    assert refused.code == UsageProblem.exit_code
    assert "--allow-open-scheduler" in refused.err
    assert run("worker", "tcp://127.0.0.1:8786", "--gpus", "3").code == UsageProblem.exit_code

    def without() -> None:
        raise EnvironmentProblem("there is no working NVIDIA driver")

    monkeypatch.setattr(cluster, "query_gpus", without)
    assert run("worker", "tcp://127.0.0.1:8786").code == EnvironmentProblem.exit_code
