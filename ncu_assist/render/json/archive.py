"""What an archive holds as JSON: kernels, baselines, damage, written pages (list, baseline, verify, report)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from ncu_assist.analysis.archive import BaselineInForce, Merged, Packed, PageKind, PrunePlan, QueryResult, Written
from ncu_assist.analysis.ladder import NOT_MEASURED, SKIPPED, UNREADABLE, KernelListing, VersionOutcome
from ncu_assist.analysis.records import Damage
from ncu_assist.render.json.values import AnswerKeys, RunKeys, answer, filled, run_facts
from ncu_assist.render.json.workloads import AgainstLibraryKeys, library_json
from ncu_assist.render.words.values import shown_path


class MisnamedKeys(TypedDict):
    """A source that was probably meant as a version."""

    file: str
    rename_to: str


class ListedVersionKeys(TypedDict):
    """A version and the run that shows it."""

    version: str
    status: Literal["measured", "not measured", "skipped", "cannot be read"]
    skipped: str | None
    run: RunKeys | None
    median_ns: float | None


class ListedKernelKeys(TypedDict):
    """A kernel with its versions."""

    kernel: str
    summary: str | None
    workloads: list[str]
    default_workload: str | None
    only_for: dict[str, list[str]]
    against_library: AgainstLibraryKeys | None
    misnamed: list[MisnamedKeys]
    versions: list[ListedVersionKeys]


class ListAnswer(AnswerKeys):
    """Kernels, their versions, and the run that shows each."""

    kernels: list[ListedKernelKeys]
    damaged: list[Damage]


class VerifyAnswer(AnswerKeys):
    """What of the archive can be read, and what cannot."""

    runs: int
    drafts: int
    damaged: list[Damage]


class PackAnswer(AnswerKeys):
    """What went into packs."""

    runs: int
    files: int
    packs: int
    merged: int
    bytes_before: int
    bytes_after: int
    left: list[Damage]


class PrunedRunKeys(TypedDict):
    """A run that nothing needs."""

    reference: str
    created: str
    bytes: int


class PruneAnswer(AnswerKeys):
    """Which runs nothing needs, and why the others are kept."""

    removed: bool
    runs: list[PrunedRunKeys]
    kept: dict[str, str]


class MergeAnswer(AnswerKeys):
    """What was taken of another archive."""

    runs: int
    same: int
    baselines: int
    drafts: int
    conflicts: list[str]
    damaged: list[Damage]


class QueryAnswer(AnswerKeys):
    """The rows of a query."""

    columns: list[str]
    rows: list[list[str | float | bool | None]]
    more: bool


class NewAnswer(AnswerKeys):
    """What was written to begin with, and what is left to do."""

    files: list[str]
    left: list[str]


class BaselineKeys(TypedDict):
    """Which run ``@baseline`` names."""

    kernel: str
    set: bool
    since: str | None
    cleared: bool
    missing: str | None
    version: str | None
    run_id: str | None
    run: RunKeys | None


class BaselineAnswer(AnswerKeys, BaselineKeys):
    """Which run ``@baseline`` names of one kernel."""


class BaselineOfKernelKeys(BaselineKeys):
    """Which run ``@baseline`` names of one kernel, among those of others."""

    exit_code: int


class BaselinesAnswer(AnswerKeys):
    """Which run ``@baseline`` names of each kernel."""

    kernels: list[BaselineOfKernelKeys]


class PageKeys(TypedDict):
    """A page that was written."""

    kind: PageKind
    of: str | None
    path: str


class ReportAnswer(AnswerKeys):
    """The pages that were written, in that order."""

    asked: str
    pages: list[PageKeys]
    problems: list[str]


def baseline_json(shown: BaselineInForce) -> dict[str, Any]:
    """Return which run ``@baseline`` names; ``set`` is false where it is v0, and ``run`` null where v0 has no run."""
    return answer("baseline", BaselineAnswer, **_in_force(shown))


def baselines_json(every: Sequence[BaselineInForce]) -> dict[str, Any]:
    """Return which run ``@baseline`` names of each kernel, as ``baseline_json`` does of one.

    ``exit_code`` of a kernel is not 0 where the run that was set is gone or cannot be read; ``missing`` says why.
    """
    kernels = [{**_in_force(one), "exit_code": one.exit_code} for one in every]
    return answer("baselines", BaselinesAnswer, kernels=kernels)


def _in_force(shown: BaselineInForce) -> dict[str, Any]:
    stored = shown.run
    return filled(
        BaselineKeys,
        shown,
        set=shown.is_set,
        missing=shown.missing or None,
        version=stored.run.version if stored else None,
        run_id=stored.run.run_id if stored else None,
        run=run_facts(stored.run, stored.reference, stored.run.source) if stored else None,
    )


def list_json(kernels: Sequence[KernelListing], damages: Sequence[Damage] = ()) -> dict[str, Any]:
    """Return kernels, their versions, and the run that shows each (null where there is none); what was left out."""
    return answer("list", ListAnswer, kernels=[_kernel(kernel) for kernel in kernels], damaged=damages)


def _kernel(kernel: KernelListing) -> dict[str, Any]:
    return filled(
        ListedKernelKeys,
        kernel,
        summary=kernel.summary or None,
        only_for=dict(kernel.only),
        against_library=library_json(kernel.against_library) if kernel.against_library else None,
        misnamed=[{"file": one.path.name, "rename_to": one.name} for one in kernel.misnamed],
        versions=[_version(version, kernel.default_workload) for version in kernel.versions],
    )


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
    return answer("verify", VerifyAnswer, runs=runs, drafts=drafts, damaged=damages)


def query_json(found: QueryResult) -> dict[str, Any]:
    """Return the rows of a query; what JSON has no kind of, such as a date, is a text."""
    plain = (str, bool, int, float, type(None))
    rows = [[value if isinstance(value, plain) else str(value) for value in row] for row in found.rows]
    return answer("query", QueryAnswer, found, rows=rows)


def packed_json(done: Packed) -> dict[str, Any]:
    """Return what went into packs, and what stayed as it was."""
    return answer("archive-pack", PackAnswer, done)


def pruned_json(found: tuple[PrunePlan, bool]) -> dict[str, Any]:
    """Return which runs nothing needs, whether they were removed, and why the others are kept."""
    plan, removed = found
    going = [filled(PrunedRunKeys, one, bytes=size) for one, size in plan.going]
    return answer("archive-prune", PruneAnswer, removed=removed, runs=going, kept=dict(plan.kept))


def merged_json(done: Merged) -> dict[str, Any]:
    """Return what was taken of another archive, and what was not."""
    return answer("archive-merge", MergeAnswer, done)


def new_json(files: Sequence[str], left: Sequence[str], command: str) -> dict[str, Any]:
    """Return what ``new`` or ``init`` wrote, and what is left to do."""
    return answer(command, NewAnswer, files=files, left=left)


def report_json(written: Written, folder: Path) -> dict[str, Any]:
    """Return the pages in the order in which they were written; paths are relative to ``folder`` where below it.

    ``of`` is a reference, two references with a blank between, or a kernel; null for the index.
    """
    pages = [{"kind": one.kind, "of": one.of or None, "path": shown_path(one.path, folder)} for one in written.pages]
    return answer("report", ReportAnswer, written, asked=shown_path(written.asked.path, folder), pages=pages)
