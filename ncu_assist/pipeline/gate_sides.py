"""Which runs a gate is about: what its references name, and what else was measured of the same sources."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.gate.sides import Pair
from ncu_assist.pipeline.baselines import in_force
from ncu_assist.pipeline.reading import named
from ncu_assist.project import Project
from ncu_assist.spec import source_sha256
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import Context, known_kernels, sources_of, versions_of
from ncu_assist.store.matching import live_first
from ncu_assist.store.naming import version_order, with_short_names
from ncu_assist.store.references import REPORT_ENDINGS, resolve

BASELINE = "@baseline"
MOST_OFFERED, MOST_LISTED = 3, 5  # names that are near, names where none is
NEAR = 0.5  # of difflib's ratio, as for other names that are typed
Timed = tuple[Sequence[StoredRun], Sequence[StoredRun]]


@dataclass(frozen=True)
class GateRequest:
    """What is asked of a gate: ``candidate`` is a kernel, whose last run it then is, or a reference.

    ``workload`` None or ``all`` are all that both runs have. ``fail_on`` are limits as they were typed.
    """

    candidate: str
    against: str = BASELINE
    kernel: str | None = None
    workload: str | None = None
    fail_on: tuple[str, ...] = ()
    force: bool = False


def both_sides(project: Project, asked: GateRequest) -> Pair:
    """Return baseline and candidate; the baseline is one of the candidate's kernel unless it names another.

    Raises UsageProblem for a reference that names nothing, DamagedData for what cannot be read whole, also where the
    newest run is damaged and an older one would stand in for it.
    """
    store, context = Store(project.reports), Context(project, Path.cwd(), asked.kernel)
    reference = _reference(asked.candidate, store, context)
    candidate = _resolved(asked.candidate, reference, store, context)
    kernel = candidate.run.kernel if isinstance(candidate, StoredRun) else asked.kernel
    if kernel is None and asked.against == BASELINE:
        command = f"ncu-assist gate {shlex.quote(asked.candidate)} --against OTHER.ncu-rep"
        raise UsageProblem("a report belongs to no kernel, so it has no baseline", command)
    try:
        baseline, chosen = named(project, (asked.against, reference), kernel)
    except UsageProblem:
        if asked.against == BASELINE:
            in_force(project, kernel)  # which says what is wrong with the baseline, and what to do
        raise
    for text, stored in ((asked.against, baseline), (reference, chosen)):
        _refuse_damaged_successor(store, text, stored)
    return baseline, chosen


def runs_of_source(
    project: Project, asked: GateRequest, sides: Pair
) -> tuple[Sequence[StoredRun], Sequence[StoredRun]]:
    """Return for either side the runs of its source on the candidate's model of GPU, live before recorded, then newest.

    Where a reference names an exact run, the two runs themselves are all that count.
    """
    if any(_is_exact(text) for text in (asked.candidate, asked.against)):
        return (sides[0],), (sides[1],)
    store = Store(project.reports)
    both = [_of_source(store, stored, sides[1]) for stored in sides]
    return both[0], both[1]


def stale(project: Project, stored: StoredRun) -> bool:
    """Tell whether a version in its kernel's folder has another source by now than the run had."""
    context = Context(project, Path.cwd())
    now = [v for v in sources_of(context, stored.run.kernel) if v.name == stored.run.version]
    return any(source_sha256(version.path) != stored.run.source_sha256 for version in now)


def _reference(text: str, store: Store, context: Context) -> str:
    """Return what to resolve: of a kernel the last run."""
    return f"{text}/@last" if text in known_kernels(store, context) else text


def _resolved(typed: str, reference: str, store: Store, context: Context) -> StoredRun | Path:
    try:
        return resolve(reference, store, context)
    except UsageProblem:
        if typed == reference and not set("/@") & set(typed) and not typed.endswith(REPORT_ENDINGS):
            _refuse_unknown(typed, store, context)
        raise


def _refuse_unknown(typed: str, store: Store, context: Context) -> None:
    """Raise UsageProblem, with what is near, for a word that is the name of no kernel and of no version."""
    kernels = known_kernels(store, context)
    searched = [context.kernel] if context.kernel else kernels
    versions = with_short_names(dict.fromkeys(name for one in searched for name in versions_of(store, context, one)))
    if not kernels or typed in versions or context.kernel not in (None, *kernels):
        return
    near = difflib.get_close_matches(typed, [*kernels, *versions], n=MOST_OFFERED, cutoff=NEAR)
    offered = " or ".join(f"'{name}'" for name in near)
    known = f"kernels: {_some(kernels)}; versions: {_some(sorted(versions, key=version_order))}"
    help_ = f"did you mean {offered}?" if near else known
    hint = f"ncu-assist gate {shlex.quote(near[0])}" if near else "ncu-assist list"
    raise UsageProblem(f"there is no kernel or reference '{typed}'; {help_}", hint) from None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")


def _is_exact(text: str) -> bool:
    """Tell whether a reference names one run, as ``v7@20261121T0854`` does and ``@last`` does not."""
    version, at, _ = text.rpartition("/")[2].partition("@")
    return bool(version and at)


def _refuse_damaged_successor(store: Store, text: str, stored: StoredRun) -> None:
    """Raise DamagedData where a reference means the newest run, and a newer one than this is damaged."""
    version, at, which = text.rpartition("/")[2].partition("@")
    if not stored.run.run_id or (at and which != "last"):
        return
    place = f"{stored.run.kernel}/{stored.run.version}/" if version else f"{stored.run.kernel}/"
    for damage in store.damaged():
        folder, _, run_id = damage.path.rpartition("/")
        is_run = folder.count("/") == 1
        if damage.concerns(place) and (not is_run or run_id > stored.run.run_id):
            newer = "and newer" if is_run else "and what it holds may be newer"
            message = f"{damage.path} is damaged, {newer} than {stored.reference}: {damage.problem}"
            raise DamagedData(message, "ncu-assist verify")


def _of_source(store: Store, stored: StoredRun, like: StoredRun) -> Sequence[StoredRun]:
    if stored.run.source_sha256 is None:
        return (stored,)
    runs = live_first(store.runs(stored.run.kernel, stored.run.version))
    return [r for r in runs if r.run.source_sha256 == stored.run.source_sha256 and _gpu(r) == _gpu(like)] or [stored]


def _gpu(stored: StoredRun) -> str | None:
    return stored.run.device.name if stored.run.device else None
