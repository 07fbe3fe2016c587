"""The baseline of a kernel as JSON, schema ncu-assist.baseline/1; of every kernel, ncu-assist.baselines/1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ncu_assist.analysis.archive import BaselineInForce
from ncu_assist.analysis.records import ArchivedRun
from ncu_assist.render.json.values import answer, run_facts


def baseline_json(shown: BaselineInForce) -> dict[str, Any]:
    """Return which run ``@baseline`` names; ``set`` is false where it is v0, and ``run`` null where v0 has no run."""
    return answer("baseline", _in_force(shown))


def baselines_json(every: Sequence[BaselineInForce]) -> dict[str, Any]:
    """Return which run ``@baseline`` names of each kernel, as ``baseline_json`` does of one.

    ``exit_code`` of a kernel is not 0 where the run that was set is gone or cannot be read; ``missing`` says why.
    """
    return answer("baselines", {"kernels": [{**_in_force(one), "exit_code": one.exit_code} for one in every]})


def _in_force(shown: BaselineInForce) -> dict[str, Any]:
    stored = shown.run
    run = stored.run if stored else None
    return {
        "kernel": shown.kernel,
        "set": shown.is_set,
        "since": shown.since,
        "cleared": shown.cleared,
        "missing": shown.missing or None,
        "version": run.version if run else None,
        "run_id": run.run_id if run else None,
        "run": _facts(stored) if stored else None,
    }


def _facts(stored: ArchivedRun) -> dict[str, Any]:
    return run_facts(stored.run, stored.reference, stored.run.source)
