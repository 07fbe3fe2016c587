"""A run as JSON, schema ncu-assist.show/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.ncu.catalogue.derived import DERIVED, Derived
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.hot_spots import HotSpots
from ncu_assist.render.facts import LaunchRow, Shown, gather
from ncu_assist.render.json.diagnosis import diagnosis_json
from ncu_assist.render.json.values import answer, run_facts, workload
from ncu_assist.store import StoredRun


def show_json(
    stored: StoredRun,
    chosen: str | None = None,
    spots: HotSpots | None = None,
    command: str = "show",
    code: Code | None = None,
) -> dict[str, Any]:
    """Return a run; ``chosen`` is the workload whose ``metrics`` and ``stalls`` stand in it. Raises as gather does.

    ``code`` gives findings their lines.
    ``hot_lines`` and ``nvidia_findings`` are null where ``spots`` were not asked for; ``command`` prints the answer.
    """
    shown = gather(stored, chosen)
    profile = shown.run.profile
    return answer(
        command,
        {
            **run_facts(shown.run, shown.reference, shown.source),
            "toolchain": asdict(shown.run.toolchain),
            "profile": asdict(profile) if profile else None,
            "notes": shown.run.notes,
            "workloads": [workload(row) for row in shown.rows],
            "launches": [_launch(row, code) for row in shown.launches],
            "workload": shown.combined.workload,
            "bound_by": shown.bottleneck.name if shown.bottleneck else None,
            "diagnosis": diagnosis_json(shown.told, code),
            "metrics": _metrics(shown),
            "stalls": shown.combined.stalls,
            "hot_lines": None if spots is None else [asdict(line) for line in spots.lines],
            "nvidia_findings": None if spots is None else [asdict(finding) for finding in spots.findings],
            "hot_lines_note": spots.note or None if spots else None,
        },
    )


def _launch(row: LaunchRow, code: Code | None) -> dict[str, Any]:
    launch = row.launch
    return {
        "kernel": launch.kernel,
        "signature": launch.signature,
        "workload": launch.workload,
        "grid": launch.grid,
        "block": launch.block,
        "duration_ns": launch.duration_ns,
        "bound_by": row.bottleneck.name if row.bottleneck else None,
        **diagnosis_json(row.told, code),
    }


def _metrics(shown: Shown) -> dict[str, Any]:
    catalogue: dict[str, Metric | Derived] = {**CATALOGUE, **DERIVED}
    return {
        key: {
            "label": catalogue[key].label,
            "unit": catalogue[key].unit,
            "value": value,
            "note": shown.combined.not_applicable.get(key),
            "coverage": asdict(part) if (part := shown.combined.coverage(key)) else None,
        }
        for key, value in shown.combined.values.items()
    }
