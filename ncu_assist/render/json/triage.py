"""A triage as JSON, schema ncu-assist.triage/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.triage import KernelGroup, Triage
from ncu_assist.render.json.values import answer
from ncu_assist.render.words.triage import next_commands, profile_command


def triage_json(found: Triage, kept: str | None) -> dict[str, Any]:
    """Return a triage with every kernel; ``kept`` is the file of the trace, null where there is none."""
    return answer(
        "triage",
        {
            "program": found.program,
            "command": found.command or None,
            "recorder": found.recorder,
            "gpu": found.gpu or None,
            "gpus": found.gpus,
            "trace": kept,
            "launches": found.launches,
            "total_ns": found.total_ns,
            "kernels": [_group(found, place, one) for place, one in enumerate(found.groups)],
            "time": asdict(found.time) if found.time else None,
            "copies": [{**asdict(one), "bytes_per_second": one.bytes_per_second} for one in found.copies],
            "profiled": [asdict(one) for one in found.profiled],
            "next": list(next_commands(found)),
            "notes": list(found.notes),
        },
    )


def _group(found: Triage, place: int, one: KernelGroup) -> dict[str, Any]:
    return {
        "kernel": one.kernel,
        "signature": one.signature,
        "grid": one.grid if any(one.grid) else None,
        "block": one.block if any(one.block) else None,
        "launches": one.launches,
        "total_ns": one.total_ns,
        "mean_ns": one.mean_ns,
        "median_ns": one.median_ns,
        "longest_ns": one.longest_ns,
        "share": one.share,
        "cumulative": one.cumulative,
        "library": asdict(one.library) if one.library else None,
        "skip": one.representative.skip,
        "archived_as": found.archived_as(place),
        "profile": profile_command(found, place),
    }
