"""What an archive holds as JSON: kernels, baselines, damage, written pages (list, baseline, verify, report)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ncu_assist.analysis.archive import BaselineInForce, Merged, Packed, PrunePlan, QueryResult, Written
from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, UNREADABLE, KernelListing, VersionOutcome
from ncu_assist.analysis.records import Damage
from ncu_assist.render.json.values import answer, library_json, run_facts
from ncu_assist.render.words.values import shown_path


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
        "run": run_facts(stored.run, stored.reference, stored.run.source) if stored else None,
    }


def list_json(kernels: Sequence[KernelListing], damages: Sequence[Damage] = ()) -> dict[str, Any]:
    """Return kernels, their versions, and the run that shows each (null where there is none); what was left out."""
    damaged = [asdict(damage) for damage in damages]
    return answer("list", {"kernels": [_kernel(kernel) for kernel in kernels], "damaged": damaged})


def _kernel(kernel: KernelListing) -> dict[str, Any]:
    return {
        "kernel": kernel.kernel,
        "summary": kernel.summary or None,
        "workloads": kernel.workloads,
        "default_workload": kernel.default_workload,
        "only_for": dict(kernel.only),
        "against_library": library_json(kernel.against_library) if kernel.against_library else None,
        "misnamed": [{"file": one.path.name, "rename_to": one.name} for one in kernel.misnamed],
        "versions": [_version(version, kernel.default_workload) for version in kernel.versions],
    }


def _version(version: VersionOutcome, workload: str | None) -> dict[str, Any]:
    named = {"version": version.version}
    if version.run is None:
        status = UNREADABLE if version.unreadable else SKIPPED if version.skipped else NOT_MEASURED
        return {**named, "status": status, "skipped": version.skipped or None, "run": None, "median_ns": None}
    run = version.run.run
    timing = run.timing(workload) if workload else None
    return {
        **named,
        "status": "measured",
        "skipped": None,
        "run": run_facts(run, version.run.reference, run.source),
        "median_ns": timing.median_ns if timing else None,
    }


def verify_json(damages: Sequence[Damage], runs: int, drafts: int = 0) -> dict[str, Any]:
    """Return what is damaged; ``runs`` and ``drafts`` are how many are not, and can be read."""
    return answer("verify", {"runs": runs, "drafts": drafts, "damaged": [asdict(damage) for damage in damages]})


def query_json(found: QueryResult) -> dict[str, Any]:
    """Return the rows of a query; what JSON has no kind of, such as a date, is a text."""
    rows = [[_plain(value) for value in row] for row in found.rows]
    return answer("query", {"columns": list(found.columns), "rows": rows, "more": found.more})


def _plain(value: Any) -> str | float | bool | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | bool | int) else str(value)


def packed_json(done: Packed) -> dict[str, Any]:
    """Return what went into packs, and what stayed as it was."""
    return answer("archive-pack", {**asdict(done), "left": [asdict(one) for one in done.left]})


def pruned_json(found: tuple[PrunePlan, bool]) -> dict[str, Any]:
    """Return which runs nothing needs, whether they were removed, and why the others are kept."""
    plan, removed = found
    going = [{"reference": one.reference, "created": one.created, "bytes": size} for one, size in plan.going]
    return answer("archive-prune", {"removed": removed, "runs": going, "kept": dict(plan.kept)})


def merged_json(done: Merged) -> dict[str, Any]:
    """Return what was taken of another archive, and what was not."""
    return answer("archive-merge", {**asdict(done), "damaged": [asdict(one) for one in done.damaged]})


def new_json(files: Sequence[str], left: Sequence[str], command: str) -> dict[str, Any]:
    """Return what ``new`` or ``init`` wrote, and what is left to do."""
    return answer(command, {"files": list(files), "left": list(left)})


def report_json(written: Written, folder: Path) -> dict[str, Any]:
    """Return the pages in the order in which they were written; paths are relative to ``folder`` where below it.

    ``of`` is a reference, two references with a blank between, or a kernel; null for the index.
    """
    pages = [{"kind": one.kind, "of": one.of or None, "path": shown_path(one.path, folder)} for one in written.pages]
    asked = shown_path(written.asked.path, folder)
    return answer("report", {"asked": asked, "pages": pages, "problems": list(written.problems)})
