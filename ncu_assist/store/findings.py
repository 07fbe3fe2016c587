"""The findings of a run as they were when it was archived: ``findings.json``, which is read and never recomputed."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from ncu_assist import schema

FINDINGS = "findings.json"
SCHEMA = "ncu-assist.findings/1"


@dataclass(frozen=True)
class StoredFinding:
    """What one rule said, and what it promised: the time that a fix could save, and what it would come to.

    ``estimated_speedup`` is None where nothing would be left of the time. ``detail`` names the pipe or the limiter.
    """

    rule: str
    severity: str  # high, medium, low, info
    saved_ns: float | None
    estimated_speedup: float | None
    detail: dict[str, str] = field(default_factory=dict)
    assumed: bool = False  # rests on a ceiling that was not measured on this GPU
    to_floor: bool = False  # its rule promised more than the floor of the workload allows


@dataclass(frozen=True)
class Judged:
    """Launches that were judged together, what could win most first.

    ``whole``: they are all launches of a workload. ``launch`` and ``kernel`` are None where they are several.
    ``unanswered`` are the rules that lacked counters.
    """

    workload: str | None
    whole: bool
    launch: int | None
    kernel: str | None
    duration_ns: float | None
    findings: tuple[StoredFinding, ...]
    unanswered: tuple[str, ...] = ()


@dataclass(frozen=True)
class Findings:
    """What a version of the tool said of a run; ``rules`` are all that it knew, so that silence is an answer.

    ``code`` changes with the modules of the rules: within one version of the tool it tells them apart. It is empty in
    what was kept before there was such a field.
    """

    tool: str
    rules: tuple[str, ...]
    judged: tuple[Judged, ...]
    code: str = ""
    schema: str = SCHEMA

    def of_workload(self, workload: str | None) -> Judged | None:
        """Return what was said of all launches of a workload together; None where there was nothing to judge."""
        return next((one for one in self.judged if one.whole and one.workload == workload), None)


def findings_json(findings: Findings) -> bytes:
    """Return findings as the archive keeps them."""
    return msgspec.json.format(msgspec.json.encode(findings), indent=1) + b"\n"


READERS: schema.Readers[Findings] = {1: msgspec.json.Decoder(Findings).decode}


def decode_findings(data: bytes, name: str) -> Findings:
    """Return what ``findings_json`` wrote; raises DamagedData, which names the file, for anything else.

    NewerData, which is one, for what a newer version wrote.
    """
    return schema.read(data, SCHEMA, READERS, name, "ncu-assist verify")
