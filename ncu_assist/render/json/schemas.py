"""The JSON Schema (draft 2020-12) of each answer and of each file that people read, made from their types."""

from __future__ import annotations

import re
import sys
from typing import Any, NotRequired, TypedDict, is_typeddict

import msgspec

from ncu_assist.analysis.records import DraftRecord, Findings
from ncu_assist.ceilings.records import Ceilings
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.record import Run, Source
from ncu_assist.render.export.columns import Kind as ColumnKind
from ncu_assist.render.json import archive, diff, drafts, history, machine, metrics, run, values, versions, workloads
from ncu_assist.render.json.keys import MEANINGS, UNITS
from ncu_assist.render.json.values import AnswerKeys, DeviceKeys
from ncu_assist.spec import Math


class ColumnKeys(TypedDict):
    """A column of an exported table."""

    name: str
    type: ColumnKind
    unit: str | None


class ExportedRunKeys(TypedDict):
    """What names the run; of a bare report the first four are null."""

    reference: str | None
    kernel: str | None
    version: str | None
    run_id: str | None
    source: Source
    created: str | None
    verified: bool
    device: DeviceKeys | None


class ExportAnswer(AnswerKeys):
    """One table of a run or a report."""

    table: str
    redacted: bool
    run: ExportedRunKeys
    notes: list[str]
    columns: list[ColumnKeys]
    rows: list[dict[str, Any]]


class OutputKeys(TypedDict):
    """One tensor that a kernel writes."""

    dtype: str
    shape: list[str | int]


class ToleranceKeys(TypedDict):
    """How far an output of one dtype may be from the reference."""

    norm: float
    rtol: float
    atol: float


class HostKeys(TypedDict):
    """What lies in pinned memory of the host."""

    inputs: list[str]
    bytes: str


class KernelToml(TypedDict):
    """What a kernel computes, on which data, and how exactly: ``kernel.toml``."""

    summary: str
    inputs: list[str]
    arguments: list[str]
    numbers: NotRequired[list[str]]
    bytes: str
    flops: str
    outputs: dict[str, OutputKeys]
    tolerance: dict[str, ToleranceKeys]
    workloads: dict[str, dict[str, int | str | bool | list[str]]]
    host: NotRequired[HostKeys]
    math: NotRequired[Math]
    work: NotRequired[dict[Math, str]]


MODULES = (archive, diff, drafts, history, machine, metrics, run, values, versions, workloads, sys.modules[__name__])
DRAFT = "https://json-schema.org/draft/2020-12/schema"
ANSWERS: dict[str, type] = {  # by the name in "schema": ncu-assist.<name>/1
    **dict.fromkeys(("show", "import"), run.ShowAnswer),
    **dict.fromkeys(("profile", "check", "bench"), versions.OutcomeAnswer),
    "diff": diff.DiffAnswer,
    "watch": versions.WatchAnswer,
    "tune": versions.TuneAnswer,
    "profiles": versions.OutcomesAnswer,
    "spread": versions.SpreadAnswer,
    "gate": diff.GateAnswer,
    "gates": diff.GatesAnswer,
    "trend": history.TrendAnswer,
    "bisect": history.BisectAnswer,
    "triage": run.TriageAnswer,
    "history": history.HistoryAnswer,
    "list": archive.ListAnswer,
    "verify": archive.VerifyAnswer,
    "query": archive.QueryAnswer,
    "archive-pack": archive.PackAnswer,
    "archive-prune": archive.PruneAnswer,
    "archive-merge": archive.MergeAnswer,
    **dict.fromkeys(("init", "new", "demo"), archive.NewAnswer),
    "baseline": archive.BaselineAnswer,
    "baselines": archive.BaselinesAnswer,
    "report": archive.ReportAnswer,
    "metrics": metrics.MetricsAnswer,
    "explain": metrics.ExplainAnswer,
    "ledger": drafts.LedgerAnswer,
    "suggest": drafts.SuggestAnswer,
    "ceilings": machine.CeilingsAnswer,
    "doctor": machine.DoctorAnswer,
    "bug-report": machine.BugReportAnswer,
    "export": ExportAnswer,
}
FILES: dict[str, type] = {
    "run.json": Run,
    "findings.json": Findings,
    "draft.json": DraftRecord,
    "ceilings.json": Ceilings,
    "kernel.toml": KernelToml,
}
# What stands in a list of several kinds of objects: msgspec takes a union of them only where a tag tells them apart.
KINDS: dict[str, tuple[type, ...]] = {
    "OutcomeAnswer.versions": (versions.UnmeasuredVersionKeys, versions.MeasuredVersionKeys),
    "ExplainAnswer.subjects": (
        metrics.RowKeys,
        metrics.StallSubjectKeys,
        metrics.NvidiaRuleKeys,
        metrics.NameSubjectKeys,
        metrics.RuleSubjectKeys,
        metrics.WarningSubjectKeys,
        metrics.WordSubjectKeys,
    ),
}
Json = dict[str, Any]


def named_schema(name: str) -> Json:
    """Return ``schema_of`` a name that a user typed. Raises UsageProblem for one that there is none of."""
    known = ANSWERS | FILES
    if name not in known:
        raise UsageProblem(
            f"there is no JSON Schema of '{name}'; {did_you_mean(name, known)}", "ncu-assist explain --schema show"
        )
    return schema_of(name)


def schema_of(name: str) -> Json:
    """Return the schema of an answer (a key of ANSWERS) or of a file (a key of FILES).

    No object has other keys than those described. An answer has all of them; a file that an older version wrote may
    lack some, which then have the default. ``unit`` beside a description is the unit of a number.
    """
    shape = (ANSWERS | FILES)[name]
    kinds = {key: some for key, some in KINDS.items() if key.startswith(f"{shape.__name__}.")}
    (_, *_rest), found = msgspec.json.schema_components(
        [shape, *(kind for some in kinds.values() for kind in some)], ref_template="#/$defs/{name}"
    )
    for key, some in kinds.items():
        holder, _, of = key.partition(".")
        found[holder]["properties"][of]["items"] = {"oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in some]}
    defined = {title: _described(title, one, is_file=name in FILES) for title, one in found.items()}
    whole = defined.pop(shape.__name__)
    if "schema" in whole["properties"]:
        kind = name.removesuffix(".json")
        whole["properties"]["schema"] = {"const": f"ncu-assist.{kind}/1", "description": MEANINGS["schema"]}
    head = {"$schema": DRAFT, "$id": f"urn:ncu-assist:{name}:1"}
    return {**head, **whole, "title": name, **({"$defs": defined} if defined else {})}


def described_objects(name: str) -> list[tuple[str, Json]]:
    """Return every object of a schema with keys of its own by the name of its class, the whole first."""
    whole = schema_of(name)
    below = [(title, one) for title, one in whole.get("$defs", {}).items() if "properties" in one]
    return [((ANSWERS | FILES)[name].__name__, whole), *below]


def _described(title: str, made: Json, is_file: bool) -> Json:
    """Return the schema of one object without room for other keys, and with what each key means."""
    if "properties" not in made:
        return made
    said = " ".join(made.get("description", "").replace("``", "`").split())
    shape = next((vars(one)[title] for one in MODULES if title in vars(one)), None)
    order = list(shape.__annotations__ if is_typeddict(shape) else made["properties"])  # msgspec sorts a TypedDict's
    required, properties = sorted(made["required"], key=order.index), {}
    for key in order:
        one = made["properties"][key]
        if not is_file and "default" in one:  # a field of a record, which is always written
            one = {name: value for name, value in one.items() if name != "default"}
            required.append(key)
        meaning = MEANINGS.get(f"{title}.{key}", MEANINGS.get(key, ""))
        unit = unit_of(key, meaning)
        about = {"description": meaning.partition(" [")[0], **({"unit": unit} if unit else {})}
        properties[key] = {**one, **about}
    return {**made, "description": said, "properties": properties, "required": required, "additionalProperties": False}


def unit_of(key: str, meaning: str) -> str | None:
    """Return the unit that a meaning ends with in brackets, else that in the name of the key; None for neither."""
    said = re.search(r" \[(.+)\]$", meaning)
    named = next((unit for end, unit in UNITS.items() if key == end or key.endswith(f"_{end}")), None)
    return said[1] if said else named
