"""References on the command line: ``[kernel/]version[@run]``, ``@last``, ``@best``, ``@baseline``, a report's path."""

from __future__ import annotations

import contextlib
import difflib
import re
import shlex
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_assist.errors import NUMBER, DamagedData, UsageProblem, did_you_mean
from ncu_assist.project import Project
from ncu_assist.sources import source_sha256
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store.archive import Store
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.choosing import (
    NEAR,
    Context,
    best_run,
    choose_kernel,
    has_all,
    known_kernels,
    live_first,
    machine_hash,
    made_here_first,
    newest_of_source,
    of_its_number,
    refuse_misnamed,
    refuse_unreadable,
    shown_source,
    sources_of,
    unknown,
    versions_of,
)
from ncu_assist.store.reading import StoredRun
from ncu_assist.store.report_names import FORMS, REPORT_ENDINGS, as_word, listed
from ncu_assist.versions import is_called, with_short_names

WEB = re.compile(r"https?://")
_FILE, _FOLDER = "a file", "a folder"
_PARTS = ("kernel", "version", "run")  # what the folders below reports/ are of, level by level
_KINDS = {stat.S_IFREG: _FILE, stat.S_IFDIR: _FOLDER, stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


class VersionNotMeasured(UsageProblem):
    """A version that has no run of its source as it is now; ``newest`` is the last run of it as it was, if any."""

    def __init__(self, kernel: str, version: str, newest: StoredRun | None) -> None:
        old = f"changed since it was measured; the old run is {newest.reference}" if newest else "not been measured"
        super().__init__(f"{kernel}/{version} has {old}", f"ncu-assist profile {kernel} {version}")
        self.kernel, self.version, self.newest = kernel, version, newest


def resolve(text: str, store: Store, context: Context) -> StoredRun | Path:
    """Return what a reference means: a stored run, or the path of a report that exists.

    A version means its newest run of the source as it is now, a run measured on this machine before a recorded one;
    with ``@run`` (an id, the beginning of one, or ``last``) any run may be named. What names no run and is a file is
    the path of a report, whatever its ending. Raises UsageProblem, with the nearest names or the candidates, for a
    reference that means nothing or more than one thing, VersionNotMeasured for a version without such a run,
    DamagedData for a damaged one. A kernel's name means its best run, the last where none is checked and timed;
    ``KERNEL@last`` is ``KERNEL/@last``.
    """
    if text == "-":
        raise UsageProblem("a report is read from a file, not from a pipe", "ncu-assist show FILE.ncu-rep")
    if text.endswith(REPORT_ENDINGS):
        return existing_report(context.folder / text, text)
    try:
        return _stored(text, store, context)
    except UsageProblem as error:
        path = context.folder / text
        if _kind(path) == _FILE:
            return path
        known = known_kernels(store, context)
        if text not in known and not isinstance(error, VersionNotMeasured):
            is_folder = bool(text) and _kind(path) == _FOLDER
            if is_folder or "/" in text:
                _refuse_own(text, is_folder, store, context, error)
            if within := _reports_within(path):
                hint = f"ncu-assist show {as_word(str(Path(text) / within[0]))}"
                held = f"a folder with {len(within)}: {listed(within)}" if len(within) > 1 else "a folder with one"
                raise UsageProblem(f"{text} is not a report, but {held}", hint) from error
            if is_folder:
                raise UsageProblem(f"{text} is a folder without reports", "ncu-assist list") from error
        program = text.partition("@")[0].partition("/")[0]
        source = f"{program}.cu"
        if program not in known and _kind(context.folder / source) == _FILE:
            typed = f"ncu-assist profile {shlex.quote(source)}"
            raise UsageProblem(f"'{text}' has no run; {source} is here, and can be profiled", typed) from error
        named = [name for name in _reports_beside(path) if name.startswith(f"{path.name}.")]
        if not named and path.suffix.startswith(FORMS[0][:3]) and (near := _nearest(path)):
            named = [near]  # its ending is misspelt
        if not named or isinstance(error, VersionNotMeasured):
            raise
        report = str(Path(text).parent / named[0])  # `ncu -o NAME` is told the name without its ending
        hint = f"ncu-assist show {as_word(report)}"
        raise UsageProblem(f"{error.message}; did you mean the report {report}?", hint) from error


def _refuse_own(text: str, is_folder: bool, store: Store, context: Context, error: UsageProblem) -> None:
    """Raise UsageProblem where a word leads into reports/ or kernels/, as Tab completes it: with what it means."""
    own = _own_folder(context.folder / text, context.project)
    if own is None:
        return
    above, names = own
    if not names:
        held = "the archive" if above == context.project.reports else "the folder of all kernels"
        raise UsageProblem(f"'{text}' is {held}; name a kernel, a version or a run in it", "ncu-assist list") from error
    near = _nearest_names(names[:2], store, context)
    named = "/".join(near) + "@".join(["", *names[2:3]])
    found = _stored(named, store, replace(context, kernel=None))  # raises what is wrong with it
    meant = found.reference if names[2:] else named
    if is_folder:
        said = f"'{text}' is the folder of a {_PARTS[len(names[:3]) - 1]}"
    else:
        said = f"there is no '{text}'" if [*near] != [*names[:2]] else f"'{text}' is not a reference"
    raise UsageProblem(f"{said}; did you mean '{meant}'?", f"ncu-assist show {shlex.quote(meant)}") from error


def _nearest_names(names: Sequence[str], store: Store, context: Context) -> list[str]:
    """Return the names of a kernel and a version as typed, or the nearest that there are."""
    kernel, *versions = names
    kernel = _near(kernel, known_kernels(store, context))
    known = versions_of(store, context, kernel)
    return [kernel, *(of_its_number(one, _near(one, with_short_names(known)), known) for one in versions)]


def _near(name: str, known: Sequence[str]) -> str:
    is_fixed = name in known or NUMBER.fullmatch(name)  # v10 is near no other number
    return name if is_fixed else next(iter(difflib.get_close_matches(name, known, n=1, cutoff=NEAR)), name)


def _own_folder(path: Path, project: Project) -> tuple[Path, tuple[str, ...]] | None:
    """Return which of a project's two folders a path leads into, and the names below it; None for neither."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # a NUL in the name, links in a circle
        whole = path.resolve()
        for above in (project.reports, project.kernels):
            if whole.is_relative_to(above.resolve()):
                return above, whole.relative_to(above.resolve()).parts
    return None


def resolve_all(texts: Sequence[str], store: Store, context: Context) -> list[StoredRun | Path]:
    """Return what several references mean, each as ``resolve`` does; where one names a kernel, bare ones are of it.

    Raises UsageProblem also where --kernel was given and is for none of them, as ``refuse_kernel_of_none`` says.
    """
    within = replace(context, kernel=common_kernel(texts, store, context))
    found = [resolve(text, store, within) for text in texts]
    refuse_kernel_of_none(context.kernel, texts, [None if isinstance(one, Path) else one.run.kernel for one in found])
    return found


def common_kernel(texts: Sequence[str], store: Store, context: Context) -> str | None:
    """Return the kernel of bare references among several: that of --kernel, else the only one that others name.

    Of bare versions alone it is one that has them all; None where no kernel has. Raises UsageProblem where several do.
    """
    if context.kernel:
        return context.kernel
    words = [spelled_out(text, store, context).partition("@")[0] for text in texts if not text.endswith(REPORT_ENDINGS)]
    kernels = [word if _is_kernel(store, context, word) else word.rpartition("/")[0] for word in words]
    named, known = {*kernels} - {""}, known_kernels(store, context)
    if named:
        return named.pop() if len(named) == 1 and named <= {*known} else None
    bare = [*filter(None, words)]
    is_had = len(bare) > 1 and any(has_all(store, context, kernel, bare) for kernel in known)
    return choose_kernel(store, context, None, *bare) if is_had else None


def spelled_out(text: str, store: Store, context: Context) -> str:
    """Return ``KERNEL/@last`` for ``KERNEL@last``, and so for the other symbols; any other reference as it is."""
    kernel, at, symbol = text.partition("@")
    is_kernels = at and symbol in SYMBOLS and "/" not in kernel and _is_kernel(store, context, kernel)
    return f"{kernel}/@{symbol}" if is_kernels else text


def refuse_kernel_of_none(kernel: str | None, texts: Sequence[str], found: Sequence[str | None]) -> None:
    """Raise UsageProblem where --kernel was given and all that references mean is reports or of other kernels.

    It names the kernel of a bare version: whoever expects it to choose among the launches of a report, or to go before
    a kernel that a reference names, must not get something else. ``found`` is each one's kernel, None of a report.
    """
    if kernel is None or kernel in found:
        return
    named, several = " and ".join(texts), len(texts) > 1
    if None in found:
        are = "are reports" if several else "is a report"
        message = f"--kernel is for a bare version such as v2, and {named} {are}; it selects no launches"
    else:
        names = "name another kernel" if several else "names another kernel"
        message = f"--kernel is for a bare version such as v2, and {named} {names}"
    raise UsageProblem(message, "drop --kernel")


def _stored(text: str, store: Store, context: Context) -> StoredRun:
    before, at, after = spelled_out(text, store, context).partition("@")
    kernel, slash, version = before.rpartition("/")
    if not version and after in SYMBOLS:
        return SYMBOLS[after](store, context, choose_kernel(store, context, kernel or None, None))
    if not version or (at and not after) or (slash and not kernel):
        help_ = did_you_mean(text, _SYMBOL_NAMES) if at else _FORMS
        raise UsageProblem(f"'{text}' is not a reference; {help_}", "ncu-assist list")
    if not slash and _is_kernel(store, context, version):
        if at:
            message = f"{version} is a kernel, and only a version has a run @{after}"
            raise UsageProblem(f"{message}; known: {', '.join(_SYMBOL_NAMES)}", f"ncu-assist list {version}")
        return _best_or_last(store, context, version)
    chosen = choose_kernel(store, context, kernel or None, version)
    name = full_name(store, context, chosen, version)
    return _one_run(store, chosen, name, after) if after else _current(store, context, chosen, name)


def _is_kernel(store: Store, context: Context, name: str) -> bool:
    """Tell whether a word is a kernel's name and, wherever it is read, no version's."""
    known = known_kernels(store, context)
    return name in known and not any(
        is_called(version, name) for kernel in known for version in versions_of(store, context, kernel)
    )


def _best_or_last(store: Store, context: Context, kernel: str) -> StoredRun:
    try:
        return _best(store, context, kernel)
    except UsageProblem:
        return _last(store, context, kernel)


def full_name(store: Store, context: Context, kernel: str, version: str) -> str:
    """Return the full name of a version of ``kernel``; raises UsageProblem with the nearest when there is none.

    The version in the kernel's folder goes before archived ones of the same number that were renamed since.
    """
    known = versions_of(store, context, kernel)
    found = [name for name in known if name == version] or [name for name in known if is_called(name, version)]
    if not found:
        refuse_unreadable(store, kernel, version)
        refuse_misnamed(context, [kernel], version)
        listing = f"ncu-assist list {shlex.quote(kernel)}"
        near = difflib.get_close_matches(version, known, n=1, cutoff=NEAR)
        if near and (meant := of_its_number(version, near[0], known)) != near[0]:
            raise UsageProblem(f"{kernel} has no version '{version}'; did you mean '{meant}'?", listing)
        raise unknown(f"{kernel} has no version '{version}'", version, with_short_names(known), listing)
    return found[0]


def existing_report(path: Path, text: str | None = None, command: str = "show") -> Path:
    """Return the path of a file; ``text`` is what messages call it, ``command`` the one to try on another.

    Raises UsageProblem that says what is there instead, or which reports are.
    """
    kind, text = _kind(path), text or str(path)
    if kind == _FILE:
        return path
    if not kind and WEB.match(text):
        raise UsageProblem(f"{text} is a web address, not a file; download it first", f"curl -LO {shlex.quote(text)}")
    near, beside = _nearest(path), _reports_beside(path)
    within = _reports_within(path)
    other = str(Path(text) / within[0]) if within else str(Path(text).parent / (near or beside[0])) if beside else ""
    hint = f"ncu-assist {command} {as_word(other)}" if other else "ncu-assist list"
    if kind == _FOLDER:
        held = f"it holds {len(within)}: {listed(within)}" if within else "it has no reports"
        hint = hint if within else f"ncu-assist {command} FILE.ncu-rep"  # nothing that lies there is offered
        raise UsageProblem(f"{text} is not a report: it is {kind}; {held}", hint)
    if kind:
        raise UsageProblem(f"{text} is not a report: it is {kind}", hint)
    others = f"; did you mean '{near}'?" if near else f"; known: {listed(beside)}" if beside else ""
    raise UsageProblem(f"there is no report {text}{others}", hint)


def _kind(path: Path) -> str:
    """Return what a path leads to, in words; empty where there is nothing, or where one may not look."""
    try:
        if path.is_symlink() and not path.exists():
            return f"a link to {path.readlink()}, which does not exist"
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "a device")
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""


def _nearest(path: Path) -> str:
    """Return the name of a report in the folder of a path, nearly the same but for its ending; empty for none."""
    typed = path.name.partition(".")[0]
    stems = {name: name.partition(".")[0] for name in _reports_beside(path)}
    near = difflib.get_close_matches(typed, {*stems.values()}, n=len(stems) or 1, cutoff=0.5)

    def likeness(name: str) -> tuple[float, float]:  # the rest of the name tells those apart that begin alike
        pairs = ((typed, stems[name]), (path.name, name))
        first, whole = (difflib.SequenceMatcher(None, there, here).ratio() for here, there in pairs)
        return first, whole

    return max((name for name, stem in stems.items() if stem in near), key=likeness, default="")


def _reports_within(folder: Path) -> list[str]:
    """Return the names of the reports in a folder; none where it is no folder, or may not be looked into."""
    return _reports_beside(folder / "any") if _kind(folder) == _FOLDER else []


def _reports_beside(path: Path) -> list[str]:
    """Return the names of the reports in the folder of a path, without its own."""
    try:
        names = sorted(one.name for one in path.parent.iterdir() if one.name.endswith(REPORT_ENDINGS))
    except (OSError, ValueError):
        return []
    return [name for name in names if name != path.name and _kind(path.parent / name) == _FILE]


def _current(store: Store, context: Context, kernel: str, version: str) -> StoredRun:
    """Return the run that shows a version now. Without its source, as for a foreign program, the newest one does."""
    source = next((v for v in sources_of(context, kernel) if v.name == version), None)
    runs = live_first(store.heads(kernel, version))
    found = newest_of_source(runs, source_sha256(source.path)) if source else next(iter(runs), None)
    if found is not None:
        return store.opened(found)
    if not runs:
        _refuse_damaged(store, f"{kernel}/{version}/")
    raise VersionNotMeasured(kernel, version, store.opened(runs[0]) if runs else None)


def _one_run(store: Store, kernel: str, version: str, run_id: str) -> StoredRun:
    runs = store.heads(kernel, version)
    if run_id == "last" and runs:
        return store.opened(runs[0])
    found = [r for r in runs if r.run_id.startswith(run_id)]
    if len(found) == 1:
        return store.opened(found[0])
    if found:
        listed = ", ".join(r.run_id for r in found)
        raise UsageProblem(f"'{run_id}' begins {len(found)} runs: {listed}", f"ncu-assist show {found[0].reference}")
    _refuse_damaged(store, f"{kernel}/{version}/{run_id}")
    known = did_you_mean(run_id, [r.run_id for r in runs])
    command = f"ncu-assist show {runs[0].reference}" if runs else f"ncu-assist profile {kernel} {version}"
    raise UsageProblem(f"{kernel}/{version} has no run '{run_id}'; {known}", command)


def _refuse_damaged(store: Store, path: str) -> None:
    for damage in store.damaged():
        if damage.concerns(path):
            raise DamagedData(f"{damage.path} is damaged: {damage.problem}", "ncu-assist verify")


def _last(store: Store, context: Context, kernel: str) -> StoredRun:
    now = {v.name: source_sha256(v.path) for v in sources_of(context, kernel)}
    for head in made_here_first(store.heads(kernel)):
        source = shown_source(head, machine_hash())
        if source != "recorded" or now.get(head.version, head.source_sha256) == head.source_sha256:
            return store.opened(head)
    _refuse_damaged(store, f"{kernel}/")
    raise UsageProblem(f"{kernel} has not been measured", f"ncu-assist profile {kernel}")


def _best(store: Store, context: Context, kernel: str) -> StoredRun:
    names = versions_of(store, context, kernel)
    runs = live_first([run for run in (_current_or_none(store, context, kernel, name) for name in names) if run])
    workload = _default_workload(context, kernel, runs)
    best = best_run(runs, workload)
    if best is None:
        where = f"on workload {workload}" if workload else "on any workload"
        command = f"ncu-assist profile {kernel}" if sources_of(context, kernel) else f"ncu-assist show {kernel}/@last"
        raise UsageProblem(f"no version of {kernel} is checked and timed {where}", command)
    return best


def _baseline(store: Store, context: Context, kernel: str) -> StoredRun:
    baseline = get_baseline(store, kernel)
    if baseline is not None and baseline.run_id is not None:
        return _one_run(store, kernel, baseline.version, baseline.run_id)
    name = full_name(store, context, kernel, baseline.version if baseline else "v0")
    return _current(store, context, kernel, name)


def _current_or_none(store: Store, context: Context, kernel: str, version: str) -> StoredRun | None:
    try:
        return _current(store, context, kernel, version)
    except UsageProblem:
        return None


def _default_workload(context: Context, kernel: str, runs: list[StoredRun]) -> str:
    if kernel in kernel_names(context.project):
        return load_kernel(context.project, kernel).default_workload.name
    return next((w.name for r in runs for w in r.run.workloads), "")


SYMBOLS: dict[str, Callable[[Store, Context, str], StoredRun]] = {
    "last": _last,
    "best": _best,
    "baseline": _baseline,
}
_SYMBOL_NAMES = tuple(f"@{name}" for name in SYMBOLS)
_FORMS = "name a version, kernel/version, version@run, @last, @best, @baseline or the path of a report"
