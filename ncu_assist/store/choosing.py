"""Which kernel a reference without a kernel means, and which of its runs stands for a version as its source is now."""

from __future__ import annotations

import difflib
import hashlib
import math
import platform
import shlex
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ncu_assist.errors import MOST_LISTED, NUMBER, DamagedData, UsageProblem, did_you_mean, known_names
from ncu_assist.project import Project
from ncu_assist.record import Run, Source, gpu_name
from ncu_assist.sources import Misnamed, discover_versions, misnamed, source_sha256
from ncu_assist.spec import Kernel, Version
from ncu_assist.spec_file import kernel_names
from ncu_assist.store.archive import Store
from ncu_assist.store.folders import ROOT, is_folder_name
from ncu_assist.store.index import Listed, RunFacts, RunHead, by_version
from ncu_assist.store.reading import StoredRun
from ncu_assist.store.report_names import REPORT_ENDINGS, nothing_measured
from ncu_assist.versions import is_called, short_name, with_short_names

NEAR = 0.5  # how alike a name must be to be offered, of 1
MOST_OFFERED = 3


@dataclass(frozen=True)
class Context:
    """Where a reference is read: the project, the folder the user stands in, and ``--kernel`` if it was given."""

    project: Project
    folder: Path
    kernel: str | None = None


def choose_kernel(store: Store, context: Context, named: str | None, version: str | None, *others: str) -> str:
    """Return the kernel that a reference means.

    That is the one ``named`` in it, else the one of --kernel, else the folder one stands in, else the only kernel that
    has ``version`` and the ``others``, else the kernel profiled last. Without a version it is the kernel of the last
    run, imported ones included. Raises UsageProblem when none is.
    """
    kernel = named or context.kernel
    if kernel in kernel_names(context.project):
        return str(kernel)  # whatever the archive holds, which may be large
    known = known_kernels(store, context)
    kernel = kernel or kernel_of_folder(context, known)
    if kernel is not None:
        if kernel not in known:
            refuse_unreadable(store, kernel, version)
            raise unknown(f"there is no kernel '{kernel}'", kernel, known)
        return kernel
    candidates = [k for k in known if has_all(store, context, k, [version, *others])]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        refuse_unreadable(store, None, version)
        refuse_misnamed(context, known, version or "")
        raise _nothing(store, context, known, version)
    heads = store.heads()
    newest = [one for one in live_first(heads) if one.source != "imported"] if version else made_here_first(heads)
    if newest and newest[0].kernel in candidates:
        return newest[0].kernel
    if version is None:
        raise DamagedData(f"no run of {', '.join(candidates)} can be read", "ncu-assist verify")
    listed = ", ".join(f"{kernel}/{version}" for kernel in candidates)
    command = f"ncu-assist show {candidates[0]}/{version}"
    raise UsageProblem(f"'{version}' may mean several: {listed}; name the kernel too", command)


def also_called(store: Store, context: Context, text: str, chosen: str) -> tuple[str, ...]:
    """Return the other kernels that a bare version may have meant, where the kernel profiled last was taken."""
    version = text.partition("@")[0]
    known = known_kernels(store, context)
    if not version or "/" in text or context.kernel or kernel_of_folder(context, known):
        return ()
    return tuple(one for one in known if one != chosen and has_all(store, context, one, [version]))


def refuse_unreadable(store: Store, kernel: str | None, version: str | None) -> None:
    """Raise DamagedData where what was asked for may lie in a folder of the archive that cannot be looked into."""
    for damage in store.unreadable():
        own = damage.path.split("/")
        is_meant = kernel in (None, own[0]) and (len(own) == 1 or version is None or is_called(own[1], version))
        if damage.path == ROOT or is_meant:
            raise DamagedData(f"{damage.place} is damaged: {damage.problem}", "ncu-assist verify")


def misnamed_of(project: Project, *kernels: str) -> tuple[Misnamed, ...]:
    """Return the sources of kernels that were probably meant as versions and are not called so."""
    folders = [project.kernels / kernel for kernel in dict.fromkeys(kernels) if is_folder_name(kernel)]
    return tuple(one for folder in folders for one in misnamed(folder))


def refuse_misnamed(context: Context, kernels: Iterable[str], version: str) -> None:
    """Raise UsageProblem where a word that is no version's name is a file that only lacks the right name."""
    for one in misnamed_of(context.project, *kernels):
        if version in (one.path.stem, one.path.name) or is_called(Path(one.name).stem, version):
            raise UsageProblem(f"there is no version '{version}': {one.problem}", one.command)


def unknown(message: str, name: str, known: Iterable[str], listing: str = "ncu-assist list") -> UsageProblem:
    """Return the error for a name that means nothing, with the nearest names and the command that lists all."""
    if name.endswith(REPORT_ENDINGS):
        return UsageProblem(f"{message}: that is a report, and can be shown", f"ncu-assist show {shlex.quote(name)}")
    return UsageProblem(f"{message}; {did_you_mean(name, known)}", listing)


def known_kernels(store: Store, context: Context) -> tuple[str, ...]:
    """Return the kernels that have a folder or a run, sorted."""
    return tuple(sorted({*kernel_names(context.project), *store.kernels()}))


def sources_of(context: Context, kernel: str) -> tuple[Version, ...]:
    """Return the versions in the kernel's folder; none for a foreign program. Raises as ``discover_versions`` does."""
    folder = context.project.kernels / kernel
    try:
        is_there = is_folder_name(kernel) and folder.is_dir()
    except OSError:  # kernels/ lists names and shows nothing of them
        is_there = True
    return discover_versions(folder) if is_there else ()


def versions_of(store: Store, context: Context, kernel: str) -> tuple[str, ...]:
    """Return the full names of a kernel's versions: those of its folder, then those found in the archive only."""
    return tuple(dict.fromkeys([*(v.name for v in sources_of(context, kernel)), *store.versions(kernel)]))


def has_all(store: Store, context: Context, kernel: str, versions: Iterable[str | None]) -> bool:
    """Tell whether a kernel has all of these versions; of None, which is no version's name, whether it has runs."""
    wanted = [one for one in versions if one is not None]
    if not wanted:
        return kernel in store.kernels()
    try:
        names = versions_of(store, context, kernel)
    except UsageProblem:  # another kernel's folder is wrong: who means that one names it, and is told
        names = store.versions(kernel)
    return all(any(is_called(name, one) for name in names) for one in wanted)


def kernel_of_folder(context: Context, known: tuple[str, ...]) -> str | None:
    """Return the kernel whose folder, of sources or of runs, one stands in or below; None elsewhere."""
    folder = context.folder.resolve()
    for above in (context.project.kernels.resolve(), context.project.reports.resolve()):
        if folder.is_relative_to(above) and folder != above:
            name = folder.relative_to(above).parts[0]
            return name if name in known else None
    return None


def _nothing(store: Store, context: Context, known: tuple[str, ...], version: str | None) -> UsageProblem:
    """Return the error for a word that no kernel has: with the nearest kernel or versions, each of its kernel."""
    if version is None:
        return nothing_measured(context.folder)
    message = f"there is no kernel or version '{version}'"
    names = {kernel: versions_of(store, context, kernel) for kernel in known}
    words = dict.fromkeys([*known, *(word for own in names.values() for word in with_short_names(own))])
    near = [] if NUMBER.fullmatch(version) else difflib.get_close_matches(version, words, n=1, cutoff=NEAR)
    if not near:
        every = [f"{kernel}/{name}" for kernel, own in names.items() for name in own]
        listed = known_names(every) if len(every) <= MOST_LISTED else f"kernels: {', '.join(known[:MOST_LISTED])}"
        return UsageProblem(f"{message}; {listed}", "ncu-assist list")
    owners = [kernel for kernel, own in names.items() if near[0] in with_short_names(own)]
    meant = near if near[0] in known else [f"{one}/{of_its_number(version, near[0], names[one])}" for one in owners]
    offered = ", ".join(f"'{name}'" for name in meant[:MOST_OFFERED])
    return UsageProblem(f"{message}; did you mean {offered}?", f"ncu-assist show {meant[0]}")


def of_its_number(version: str, near: str, names: Iterable[str]) -> str:
    """Return what is meant by a version that there is not: ``v3`` for ``v3_online``, where ``near`` is ``v4_online``.

    That is ``near`` itself where it has the same number, or none of ``names`` has.
    """
    number = short_name(version)
    return number if not is_called(near, number) and any(is_called(one, number) for one in names) else near


L = TypeVar("L", bound=Listed)
MACHINE_ID = Path("/etc/machine-id")
MADE_UP = 1 << 40  # this bit is set in an address that belongs to no network card (RFC 4122, 4.5)


def machine_hash(path: Path = MACHINE_ID) -> str:
    """Return a hash that tells this machine from others: of its id, or of a network address where it has none.

    Without either it is of the host's name: Python then makes an address up, another one in each process.
    """
    try:
        machine_id = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        machine_id = ""
    node = uuid.getnode()
    address = platform.node() if node & MADE_UP else node
    return hashlib.sha256(f"ncu-assist{machine_id or address}".encode()).hexdigest()


def shown_source(run: RunFacts, machine: str | None) -> Source:
    """Return what a run counts as *here*, where runs are chosen: a live one of another machine as a recorded one.

    ``machine`` is what machine_hash returned. Words say what a run is, which is ``run.source``.
    """
    if run.source == "live" and run.machine != machine:
        return "recorded"
    return run.source


def recorded_runs_matching(store: Store, kernel: Kernel) -> dict[str, StoredRun | None]:
    """Return for each version of a kernel, by full name, the run that shows it; None where there is none.

    Only runs of exactly this source count: one with counters if there is one. Runs measured on this machine go before
    recorded ones, new before old.
    """
    heads = by_version(store.heads(kernel.name))
    newest = {one.name: newest_of_source(heads.get(one.name, ()), source_sha256(one.path)) for one in kernel.versions}
    return {name: store.opened(head) if head else None for name, head in newest.items()}


def newest_of_source(runs: Iterable[L], sha256: str | None) -> L | None:
    """Return which of a version's runs, newest first, shows it where its source has this hash; None where none does."""
    matching = (stored for stored in runs if stored.run.source_sha256 == sha256)
    machine = machine_hash()
    return min(
        matching,
        key=lambda stored: (shown_source(stored.run, machine) != "live", not stored.run.is_profiled),
        default=None,
    )


def same_source(store: Store, stored: StoredRun) -> list[RunHead]:
    """Return what the index knows of the runs of a run's source, newest first."""
    runs = store.heads(stored.run.kernel, stored.run.version)
    return [one for one in runs if one.run.source_sha256 == stored.run.source_sha256]


def live_first(runs: list[L]) -> list[L]:
    """Return runs with those measured on this machine in front, otherwise in the order given."""
    machine = machine_hash()
    return sorted(runs, key=lambda stored: shown_source(stored.run, machine) != "live")


def made_here_first(runs: list[L]) -> list[L]:
    """Return runs with those that this machine measured or imported in front, otherwise in the order given."""
    machine = machine_hash()
    return sorted(runs, key=lambda stored: stored.run.source == "recorded" or stored.run.machine != machine)


def fastest_run(runs: list[StoredRun], workload: str) -> StoredRun | None:
    """Return the run with the lowest median on ``workload`` among those whose check of it passed.

    Times of different GPUs are not compared: only runs on the GPU of the first run count.
    """
    return min(_comparable(runs, workload), key=lambda r: _median_ns(r.run, workload), default=None)


def _comparable(runs: list[StoredRun], workload: str) -> list[StoredRun]:
    timed = [r for r in runs if r.run.timing(workload) is not None and passed(r.run, workload)]
    return [r for r in timed if r.run.gpu == timed[0].run.gpu]


def best_run(runs: list[StoredRun], workload: str) -> StoredRun | None:
    """Return, of the fastest on ``workload`` and those within its quartiles, the fastest over all that they share."""
    first = fastest_run(runs, workload)
    limit = first.run.timing(workload) if first else None
    if first is None or limit is None:
        return None
    as_fast = [r for r in _comparable(runs, workload) if _median_ns(r.run, workload) <= limit.q3_ns]
    shared = set.intersection(
        *({one.workload for one in r.run.timings if passed(r.run, one.workload)} for r in as_fast)
    )
    return min(as_fast, key=lambda r: (sum(math.log(_median_ns(r.run, name)) for name in shared), r is not first))


def passed(run: Run, workload: str) -> bool:
    """Tell whether a run was checked on a workload and is right there."""
    checks = [check.passed for check in run.checks if check.workload == workload]
    return bool(checks) and all(checks)


def _median_ns(run: Run, workload: str) -> float:
    timing = run.timing(workload)
    return timing.median_ns if timing else float("inf")


def gpu_model(models: Iterable[str | None], wanted: str, kernel: str) -> str:
    """Return the one of the GPU models of a kernel's runs that ``wanted`` is, or is a part of the name of.

    Raises UsageProblem where it fits none of them, or several.
    """
    known = sorted({model for model in models if model})
    chosen = [one for one in known if one == gpu_name(wanted)] or [
        one for one in known if wanted.lower() in one.lower()
    ]
    if len(chosen) != 1:
        said = f"fits {len(chosen)} GPU models" if chosen else "fits no GPU model"
        message = f"'{wanted}' {said} that {kernel} was measured on"
        raise UsageProblem(
            f"{message}: {', '.join(chosen or known) or 'no run names its GPU'}",
            "name one of them, or a part that only one has",
        )
    return chosen[0]
