"""What there is, and what of it is damaged, as JSON: schemas ncu-assist.list/1 and ncu-assist.verify/1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, UNREADABLE, KernelListing, VersionOutcome
from ncu_assist.analysis.records import Damage
from ncu_assist.render.json.values import answer, run_facts


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
