"""All versions of a kernel as JSON: schema ncu-assist.profile/1, and the same for check and bench."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.ladder import KernelOutcome, LadderCell, LadderRow, ladder
from ncu_assist.render.json.values import answer, cycles_json, run_facts, workload


def outcome_json(outcome: KernelOutcome, command: str) -> dict[str, Any]:
    """Return the versions of a kernel; ``command`` names the schema."""
    shown = ladder(outcome)
    return answer(
        command,
        {
            "kernel": shown.kernel,
            "source": shown.source,
            "workloads": shown.workloads,
            "versions": [_version(row) for row in shown.rows],
            "verdicts": [_verdict(diff) for diff in outcome.diffs],
            "exit_code": outcome.exit_code,
        },
    )


def _verdict(diff: Diff) -> dict[str, Any]:
    verdict = asdict(diff.verdict)
    return {
        "workload": diff.workload,
        "baseline": diff.baseline.version,
        "candidate": diff.candidate.version,
        **verdict,
        **cycles_json(diff.verdict),
    }


def _version(row: LadderRow) -> dict[str, Any]:
    facts: dict[str, Any] = {"version": row.version, "status": row.status, "failure": row.failure or None}
    facts |= {"not_served": row.unserved, "not_measured": row.unmeasured, "skipped": row.skipped or None}
    if row.stored is None or row.source is None:
        return {**facts, "workloads": []}
    named = run_facts(row.stored.run, row.stored.reference, row.source)
    facts["notes"] = row.stored.run.notes
    return {**named, **facts, "workloads": [_cell(cell) for cell in row.cells if cell.row]}


def _cell(cell: LadderCell) -> dict[str, Any]:
    shared = workload(cell.row) if cell.row else {}
    return {**shared, "speedup_over_v0": cell.speedup, "dram_percent": cell.dram_percent}
