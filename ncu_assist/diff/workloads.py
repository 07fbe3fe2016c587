"""On which workload two runs are compared."""

from __future__ import annotations

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.record import Run

ALL = "all"  # which other commands take


def compared_workloads(baseline: Run, candidate: Run, wanted: str | None) -> tuple[str | None, str | None]:
    """Return the workload of each side; None for a side that knows of none, as a foreign report does.

    That is the one wanted, else the first that both were timed on, else the first that both have. Raises UsageProblem
    for one that a side lacks.
    """
    sides = [[w.name for w in run.workloads] for run in (baseline, candidate)]
    if wanted == ALL and ALL not in (*sides[0], *sides[1]):
        raise UsageProblem("a diff is of one workload", f"ncu-assist gate {candidate.kernel}/{candidate.version}")
    if wanted is not None and not any(sides):
        message = f"{baseline.version} and {candidate.version} know of no workloads, and so not of '{wanted}'"
        raise UsageProblem(message, "leave out --workload")
    if not all(sides):
        chosen = [
            _chosen(names, wanted, run) if names else None
            for names, run in zip(sides, (baseline, candidate), strict=True)
        ]
        return chosen[0], chosen[1]
    common = common_workloads(baseline, candidate)
    if wanted is not None or common:
        timed = [name for name in common if baseline.timing(name) and candidate.timing(name)]
        name = _chosen(timed or common, None, baseline) if wanted is None else wanted
        return _chosen(sides[0], name, baseline), _chosen(sides[1], name, candidate)
    return sides[0][0], sides[1][0]  # nothing in common: the answer will be not-comparable


def common_workloads(baseline: Run, candidate: Run) -> list[str]:
    """Return the workloads that both runs have, in the order of the baseline."""
    names = [workload.name for workload in candidate.workloads]
    return [workload.name for workload in baseline.workloads if workload.name in names]


def _chosen(names: list[str], wanted: str | None, run: Run) -> str:
    if wanted is not None and wanted not in names:
        message = f"{run.version} was not measured on workload '{wanted}'; {did_you_mean(wanted, names)}"
        raise UsageProblem(message, f"leave out --workload, or --workload {names[0]}")
    return wanted or names[0]
