"""Building a draft and its parent where untrusted programs run: a compiler reads what a source tells it to."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.building import OUTCOMES, PROBLEM, BuildProblem, BuildRequest, command, decode
from ncu_assist.errors import EnvironmentProblem, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.sandbox import read_result
from ncu_assist.harness.client import child_environment
from ncu_assist.harness.exam.plan import Plan

TIMEOUT_S = 300.0  # a torch extension takes half a minute (docs/sources.md, Cost)
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}  # which locks are by
SMALL = 1 << 24  # bytes of a file of outcomes, compilers' words and all


def build(plan: Plan, executor: Executor, out: Path) -> dict[str, BuildOutcome]:
    """Build the versions of an exam in the executor, into ``out``, and return their outcomes.

    It takes no GPU, and so may run beside what holds it. Raises EnvironmentProblem without a compiler, StageFailed
    where building itself came to nothing.
    """
    request = BuildRequest(str(plan.kernel.folder), plan.versions, str(out), str(out))
    done = executor.run(
        command(request), env={**child_environment(), **NO_GPU}, cwd=plan.folders.readable, timeout_s=TIMEOUT_S
    )
    if done.timed_out:
        raise StageFailed(f"building took longer than {TIMEOUT_S:.0f} s")
    if (out / PROBLEM).is_file():
        problem = msgspec.json.decode(read_result(out, PROBLEM, SMALL), type=BuildProblem)
        raise EnvironmentProblem(problem.message, problem.hint)
    if done.exit_code != 0:
        raise StageFailed(f"building ended with exit code {done.exit_code}: {done.stderr.strip()[-500:]}")
    return _outcomes(plan, read_result(out, OUTCOMES, SMALL), out)


def _outcomes(plan: Plan, data: bytes, out: Path) -> dict[str, BuildOutcome]:
    """Return what a sandboxed build said; what it says it built is copied, so it must lie where it was to be built.

    Raises StageFailed for other versions or other places: a compiler that a source has got hold of.
    """
    try:
        outcomes = decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StageFailed(f"building left no outcomes that can be read: {error}") from error
    places = (out.resolve(), plan.folders.readable)
    built = [one.artifact.resolve() for one in outcomes.values() if one.artifact is not None]
    strays = [path.name for path in built if not any(path.is_relative_to(place) for place in places)]
    if set(outcomes) != set(plan.versions) or strays:
        raise StageFailed("building left something else than the versions that it was given")
    return outcomes


def words_for_author(outcome: BuildOutcome, limit: int = 4_000) -> str:
    """Return what the author of a draft that does not build is told: the compiler's words, the first of them."""
    log = outcome.log.strip()
    cut = f"\n… ({len(log) - limit} characters more)" if len(log) > limit else ""
    return (
        "Your change does not compile. The compiler says:\n"
        f"{log[:limit]}{cut}\n"
        "Give the same one change again, corrected, in the form asked for: edits are of the source that you saw."
    )


def log_of(outcome: BuildOutcome, work: Path) -> str:
    """Return a compiler's words without the folder that the draft was built in."""
    return outcome.log.replace(f"{work}/", "")
