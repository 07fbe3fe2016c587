"""What differs between two runs besides the version, and whether they can be compared at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ncu_assist.diff.records import Difference
from ncu_assist.record import Run, WorkloadFacts

UNKNOWN = ("", "unknown", "unknown GPU")


@dataclass(frozen=True)
class Question:
    """One thing to compare. ``answer`` returns None where a run does not know; such a run differs in nothing.

    ``reason`` is the verdict's reason code when a difference forbids the comparison, empty when it does not.
    """

    what: str
    answer: Callable[[Run, WorkloadFacts | None], object]
    reason: str = ""


def _gpu(run: Run, workload: WorkloadFacts | None) -> object:
    return run.device.uuid_sha256[:12] if run.device else None


def _profiled(name: str) -> Callable[[Run, WorkloadFacts | None], object]:
    return lambda run, _: getattr(run.profile, name) if run.profile else None


def _replay(run: Run, workload: WorkloadFacts | None) -> object:
    """Return what a value is of: one launch, however often it was replayed, or a range of launches."""
    mode = run.profile.replay_mode if run.profile else None
    return mode and ("range" if "range" in mode else "launch")


def _workload(name: str) -> Callable[[Run, WorkloadFacts | None], object]:
    return lambda _, workload: getattr(workload, name) if workload else None


QUESTIONS = (
    Question("GPU model", lambda run, _: run.device.name if run.device else None, "other-device"),
    Question("workload", _workload("name"), "other-workload"),
    Question("dtype", _workload("dtype"), "other-workload"),
    Question("sizes", _workload("integers"), "other-workload"),
    Question("bytes of the workload", _workload("algorithmic_bytes"), "other-workload"),
    Question("clock control", _profiled("clock_control"), "other-settings"),
    Question("cache control", _profiled("cache_control"), "other-settings"),
    Question("replay mode", _replay, "other-settings"),
    Question("section set", _profiled("section_set")),
    Question("GPU", _gpu),
    Question("driver", lambda run, _: run.device.driver if run.device else None),
    Question("values", lambda run, _: "rounded (CSV export)" if run.rounded else "as counted"),
    Question("CUDA", lambda run, _: run.toolchain.cuda),
    Question("ncu", lambda run, _: run.toolchain.ncu),
    Question("nvcc", lambda run, _: run.toolchain.nvcc),
    Question("torch", lambda run, _: run.toolchain.torch),
)


def differences(
    baseline: tuple[Run, WorkloadFacts | None], candidate: tuple[Run, WorkloadFacts | None]
) -> tuple[tuple[Difference, ...], str]:
    """Return what differs, and the reason code that forbids the comparison (empty when nothing does)."""
    found, reasons = [], []
    for question in QUESTIONS:
        sides = question.answer(*baseline), question.answer(*candidate)
        if any(side is None or side in UNKNOWN for side in sides) or sides[0] == sides[1]:
            continue
        found.append(Difference(question.what, _text(sides[0]), _text(sides[1]), bool(question.reason)))
        reasons.append(question.reason)
    return tuple(found), next((reason for reason in reasons if reason), "")


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in sorted(value.items()))
    return str(value)
