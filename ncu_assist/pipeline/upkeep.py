"""Maintain an archive: pack many small files into few, prune runs that nothing needs, merge two archives.

No lock is taken. A run or a pack appears by one rename. It is removed only after its replacement was written, flushed,
read back and checked against its hashes. So any process that writes or reads meanwhile, even on another machine, sees
each run once, loose or packed. ``store/packs.py`` and ``store/archive.py`` rely on that.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ncu_assist.analysis.archive import Merged, Packed, PrunePlan
from ncu_assist.errors import DamagedData, NcuAssistError, UsageProblem
from ncu_assist.pipeline.history import history_of
from ncu_assist.pipeline.pages.index import kernel_state
from ncu_assist.pipeline.pages.readable import PageStore
from ncu_assist.project import Project
from ncu_assist.quantity import number_of
from ncu_assist.steps import Reporter
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.store.baselines import get_baseline, write_baseline
from ncu_assist.store.choosing import Context, unknown
from ncu_assist.store.drafts import DRAFT_JSON, DraftArchive
from ncu_assist.store.folders import DERIVED_FILES, DRAFTS, RUN_JSON, foreign_files, is_folder_name, run_folders
from ncu_assist.store.index import RunHead, has_record, written_ns
from ncu_assist.store.packs import LARGEST_FILE, MOST_RUNS, Pack, RunFiles, opened_packs, write_pack
from ncu_assist.store.reading import open_packed, open_run, record_of
from ncu_assist.store.references import resolve
from ncu_assist.store.writing import ArchivePlace, copy_run, environment_problem, remove_run, write_whole

PACK_BYTES = 128 << 20  # of files in one pack, before compression, because they are all in memory while it is made
RUN_ID = re.compile(r"\b\d{8}T\d{6}Z-[0-9a-f]{6}\b")
TEXT_SUFFIXES = (".md", ".toml", ".py", ".cu", ".cuh", ".json", ".txt", ".yml", ".yaml")  # texts that may name a run
LONGEST_TEXT = 4 << 20  # bytes: a larger file was not written by hand
LEAST = 2  # small packs that are worth merging


def pack(project: Project, kernels: Sequence[str], reporter: Reporter) -> Packed:
    """Put the loose runs of kernels (default: all) into packs, and small packs into larger ones.

    A run that is damaged, has an unknown file or one above 64 MB stays in place and is reported. Raises
    EnvironmentProblem for a disk error, after which everything not yet packed is unchanged.
    """
    store = Store(project.reports)
    done = Packed()
    for kernel in chosen(store, kernels):
        try:
            for batch in _batches(store, kernel, done):
                reporter.status(f"packing {number_of(len(batch), 'run')} of {kernel}")
                _pack(store, kernel, batch, done)
        except OSError as error:
            raise environment_problem(error, "pack") from error
    return done


def chosen(store: Store, kernels: Sequence[str]) -> tuple[str, ...]:
    """Return the kernels named, by default all of the archive; raises UsageProblem for a kernel without runs."""
    known = store.kernels()
    for name in kernels:
        if name not in known:
            raise unknown(f"there are no runs of a kernel '{name}'", name, known)
    return tuple(dict.fromkeys(kernels)) or known


@dataclass
class _Batch:
    """The runs for one pack, each with the files that it was read from, which are removed afterwards."""

    runs: dict[tuple[str, str], RunFiles] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    packs: list[Pack] = field(default_factory=list)
    size: int = 0
    files: int = 0

    def __len__(self) -> int:
        return len(self.runs)

    def add(self, stored: StoredRun, record: bytes, written: int) -> None:
        """Add a run; read its files now and check them against their hashes. Raises DamagedData."""
        held = {name: stored.read(name) for name in stored.run.files}
        run = stored.run
        names = sorted(held)
        self.runs[run.version, run.run_id] = RunFiles(run.version, run.run_id, written, record, names, held.__getitem__)
        self.size += len(record) + sum(map(len, held.values()))


def _batches(store: Store, kernel: str, done: Packed) -> Iterator[_Batch]:
    """Yield the batches of one kernel, each of which becomes a pack."""
    packs, damages = opened_packs(store.reports, kernel)
    done.left += damages
    small = [pack for pack in packs if len(pack.runs) < MOST_RUNS // 2 and pack.stamp[1] < PACK_BYTES // 8]
    there = {key for pack in packs for key in pack.runs}
    folders = [one for one in run_folders(store.reports, kernel) if isinstance(one, Path)]
    loose = [one for one in folders if one.parts[-2:] not in there or has_record(one)]
    if not loose and len(small) < LEAST:
        return
    batch = _Batch()
    for pack in small:
        if len(batch) and (len(batch) + len(pack.runs) > MOST_RUNS or batch.size > PACK_BYTES):
            yield batch
            batch = _Batch()
        _take_pack(batch, pack)
    for folder in loose:
        if len(batch) >= MOST_RUNS or batch.size > PACK_BYTES:
            yield batch
            batch = _Batch()
        try:
            _take_folder(batch, folder)
        except DamagedData as error:
            if folder.exists():  # otherwise another process packed or pruned it
                done.left.append(Damage("/".join(folder.parts[-3:]), error.message))
    if batch.folders or len(batch.packs) >= LEAST:
        yield batch


def _take_pack(batch: _Batch, pack: Pack) -> None:
    """Add all runs of a pack; if one of them cannot be read, the pack stays as it is."""
    mine = _Batch()
    try:
        for key, where in pack.runs.items():
            stored = open_packed(pack, key)
            mine.add(stored, pack.record(key), where.written_ns)
    except (DamagedData, FileNotFoundError):  # not found: another process packs, too
        return
    batch.runs |= mine.runs
    batch.size += mine.size
    batch.packs.append(pack)


def _take_folder(batch: _Batch, folder: Path) -> None:
    stored = open_run(folder)
    alien = foreign_files(folder, {RUN_JSON, *DERIVED_FILES, *stored.run.files}, "run")
    if alien:
        raise DamagedData(alien[0])
    large = [name for name, fact in stored.run.files.items() if fact.size > LARGEST_FILE]
    if large:
        raise DamagedData(f"{large[0]} is larger than {LARGEST_FILE >> 20} MB: the run stays a folder")
    batch.add(stored, record_of(folder, RUN_JSON), written_ns(folder))
    batch.folders.append(folder)
    batch.files += len(stored.run.files) + 1


def _pack(store: Store, kernel: str, batch: _Batch, done: Packed) -> None:
    path = write_pack(store.reports, kernel, list(batch.runs.values()))
    for folder in batch.folders:
        remove_run(folder)
    for old in batch.packs:
        if old.path != path:
            old.path.unlink(missing_ok=True)
    done.runs += len(batch.folders)
    done.files += batch.files
    done.packs += 1
    done.merged += len(batch.packs)
    done.bytes_before += batch.size
    with contextlib.suppress(FileNotFoundError):  # another process put the pack into a larger one
        done.bytes_after += path.stat().st_size


@dataclass(frozen=True)
class KeepRules:
    """The runs that ``--keep`` adds to those always kept: the best run of a kernel, its baseline, the last few."""

    best: bool = False
    baseline: bool = False
    last: int = 0

    @staticmethod
    def of(text: str) -> KeepRules:
        """Return the rules in a text such as ``best,baseline,last:3``; raises UsageProblem."""
        best, baseline, last = False, False, 0
        for word in filter(None, (part.strip() for part in text.split(","))):
            match = re.fullmatch(r"last:(\d{1,6})", word)
            if match:
                last = int(match[1])
            elif word in ("best", "baseline"):
                best, baseline = best or word == "best", baseline or word == "baseline"
            else:
                raise UsageProblem(f"--keep has no rule '{word}'", "--keep best,baseline,last:3")
        return KeepRules(best, baseline, last)


def plan_prune(project: Project, kernels: Sequence[str], keep: KeepRules) -> PrunePlan:
    """Return the runs that nothing needs, and why the others are kept. Removes nothing.

    Always kept are the runs that a ladder opens (those that show its versions, those that they are compared with, and
    the newest of each version, whose comment names its parent), that a baseline names, that a draft was made from, and
    whose id is in a text of ``kernels/``, a draft or a document of the project. A kernel whose history cannot be read
    keeps all of its runs.
    """
    store = Store(project.reports)
    named = _named_ids(project)
    kept: dict[str, str] = {}
    going: list[tuple[RunHead, int]] = []
    for kernel in chosen(store, kernels):
        heads, _ = store.listed(kernel)
        why = _needed(project, store, kernel, heads, keep)
        for head in heads:
            reason = "named in a text" if head.run_id in named else why.get(head.path)
            if why is ALL or reason:
                kept[head.reference] = reason or "the history of its kernel cannot be read"
            else:
                going.append((head, _bytes(store, head)))
    return PrunePlan(tuple(going), kept)


ALL: dict[str, str] = {}  # every run is needed


@dataclass(frozen=True)
class _Noting(Store):
    """An archive that notes the runs that an answer opens, by the rules of commands on this machine."""

    noted: dict[str, str] = field(default_factory=dict)

    def opened(self, head: RunHead) -> StoredRun:
        """Return the run of an index entry, and note it."""
        self.noted.setdefault(head.path, "the ladder shows it or compares with it")
        return super().opened(head)


class _NotingPages(_Noting, PageStore):
    """An archive that notes the runs that are opened, by the rules of pages."""


def _needed(project: Project, store: Store, kernel: str, heads: Sequence[RunHead], keep: KeepRules) -> dict[str, str]:
    """Return why runs of a kernel are kept, by their paths, or ALL if that cannot be determined."""
    why: dict[str, str] = {}
    try:
        baseline = get_baseline(store, kernel)
        if baseline is not None:
            why |= {
                one.path: "a baseline was set"
                for one in heads
                if one.version == baseline.version and baseline.run_id in (None, one.run_id)
            }
        for symbol in [*(["best"] if keep.best else []), *(["baseline"] if keep.baseline else [])]:
            with contextlib.suppress(UsageProblem):
                found = resolve(f"{kernel}/@{symbol}", store, Context(project, project.root, kernel))
                if isinstance(found, StoredRun):
                    why.setdefault(f"{kernel}/{found.run.version}/{found.run.run_id}", f"@{symbol}")
        notings = _Noting(project.reports), _NotingPages(project.reports)
        for noting in notings:
            history_of(project, noting, kernel)
            if heads:
                kernel_state(project, noting, kernel, tuple(noting.heads(kernel)))
            for path, reason in noting.noted.items():
                why.setdefault(path, reason)
    except NcuAssistError:
        return ALL
    counted: dict[tuple[str, str | None], int] = {}
    newest: set[str] = set()
    for head in heads:  # newest first
        place = counted[head.version, head.gpu] = counted.get((head.version, head.gpu), 0) + 1
        if head.version not in newest:
            newest.add(head.version)
            why.setdefault(head.path, "the newest of its version")
        if place <= keep.last:
            why.setdefault(head.path, f"one of the last {keep.last} of its version on its GPU")
    return why


def _named_ids(project: Project) -> set[str]:
    """Return the run ids in the project's texts: worklogs, sources, drafts, documents."""
    places = [project.kernels, project.prompts, project.root / "docs"]
    texts = [path for place in places for path in place.rglob("*") if path.suffix in TEXT_SUFFIXES]
    texts += [path for path in project.root.glob("*") if path.suffix in TEXT_SUFFIXES]
    texts += [path for one in DraftArchive(project.reports).drafts() for path in one.folder.glob("*") if path.is_file()]
    found: set[str] = set()
    for path in texts:
        with contextlib.suppress(OSError):
            if path.is_file() and path.stat().st_size <= LONGEST_TEXT:
                found |= set(RUN_ID.findall(path.read_text(encoding="utf-8", errors="replace")))
    return found


def _bytes(store: Store, head: RunHead) -> int:
    if isinstance(head.place, Pack):
        return sum(head.place.sizes(head.key).values())
    folder = store.reports / head.path
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def prune(project: Project, kernels: Sequence[str], keep: KeepRules, plan: PrunePlan, reporter: Reporter) -> PrunePlan:
    """Remove the runs of a plan that are still not needed, and return them; a baseline may have been set since."""
    store = Store(project.reports)
    wanted = {one.path for one, _ in plan.going}
    now = plan_prune(project, kernels, keep)
    going = [(one, size) for one, size in now.going if one.path in wanted]
    try:
        for kernel in dict.fromkeys(one.kernel for one, _ in going):
            mine = {one.key for one, _ in going if one.kernel == kernel}
            reporter.status(f"removing {number_of(len(mine), 'run')} of {kernel}")
            for version, run_id in mine:
                folder = store.reports / kernel / version / run_id
                if folder.is_dir():
                    remove_run(folder, with_page=True)
            for pack in opened_packs(store.reports, kernel)[0]:
                if mine & pack.runs.keys():
                    with contextlib.suppress(FileNotFoundError):  # another process packs: its runs stay until next time
                        _without(store, pack, mine)
    except OSError as error:
        raise environment_problem(error, "archive without them") from error
    return PrunePlan(tuple(going), now.kept)


def _without(store: Store, pack: Pack, going: set[tuple[str, str]]) -> None:
    """Rewrite a pack without some of its runs; unreadable data of the others is copied as it is."""
    kept = []
    for key, where in pack.runs.items():
        if key not in going:
            names = sorted(pack.sizes(key))

            def read(name: str, key: tuple[str, str] = key) -> bytes:
                data = pack.read(key, name)
                assert data is not None
                return data

            kept.append(RunFiles(*key, where.written_ns, pack.record(key), names, read))
    if kept:
        write_pack(store.reports, pack.kernel, kept)
    pack.path.unlink(missing_ok=True)


def merge(project: Project, other: Path, reporter: Reporter) -> Merged:
    """Copy runs, baselines and drafts that are missing here; ``other`` is a project or ``reports/``.

    A run is identified by kernel, version and id. If both archives have it with the same record, it is one run; if the
    records differ, it is a conflict, and ours stays as it is. Damaged runs are left out. Raises UsageProblem for a
    folder that is not an archive.
    """
    reports = other / "reports" if (other / "reports").is_dir() else other
    if not reports.is_dir() or reports.resolve() == project.reports.resolve():
        what = "is this archive" if reports.is_dir() else "is no folder"
        raise UsageProblem(f"{other} {what}", "name the project, or the reports/, of another archive")
    ours, theirs = Store(project.reports), Store(reports)
    if not theirs.kernels() and not any(True for _ in DraftArchive(reports).drafts()):
        raise UsageProblem(f"{other} holds no run and no draft", "name the project, or the reports/, of an archive")
    done = Merged()
    try:
        for kernel in theirs.kernels():
            reporter.status(f"merging {kernel}")
            _merge_runs(ours, theirs, kernel, done)
            _merge_baseline(ours, theirs, kernel, done)
        _merge_drafts(ours, theirs, done)
    except OSError as error:
        raise environment_problem(error, "merged run") from error
    return done


def _merge_runs(ours: Store, theirs: Store, kernel: str, done: Merged) -> None:
    heads, damages = theirs.listed(kernel)
    mine = {one.key: one.digest for one in ours.heads(kernel)} if is_folder_name(kernel) else {}
    damaged_here = {one.path for one in ours.damaged(kernel)}
    done.damaged += [one for one in damages if one.concerns(f"{kernel}/")]
    batch = _Batch()
    for head in heads:
        if head.key in mine:
            done.same += mine[head.key] == head.digest
            if mine[head.key] != head.digest:
                done.conflicts.append(f"{head.path}: another run of that id is here; ours is kept")
            continue
        if head.path in damaged_here:
            done.conflicts.append(f"{head.path}: it is damaged here; remove what is left of it, then merge again")
            continue
        try:
            stored = theirs.opened(head)
            if isinstance(head.place, Pack):
                batch.add(stored, stored.record_bytes(), head.written_ns)
            else:
                copy_run(ours.reports, stored, stored.record_bytes())
            done.runs += 1
        except DamagedData as error:
            done.damaged.append(Damage(head.path, error.message))
        if len(batch) >= MOST_RUNS or batch.size > PACK_BYTES:
            write_pack(ours.reports, kernel, list(batch.runs.values()))
            batch = _Batch()
    if len(batch):
        write_pack(ours.reports, kernel, list(batch.runs.values()))


def _merge_baseline(ours: Store, theirs: Store, kernel: str, done: Merged) -> None:
    try:
        there, here = get_baseline(theirs, kernel), get_baseline(ours, kernel)
    except DamagedData as error:
        done.conflicts.append(error.message)
        return
    if there is None or (here and (here.version, here.run_id) == (there.version, there.run_id)):
        return
    if here is not None:
        done.conflicts.append(f"{kernel}: the baseline is {here.version} here and {there.version} there; ours is kept")
        return
    write_baseline(ours, kernel, there)
    done.baselines += 1


def _merge_drafts(ours: Store, theirs: Store, done: Merged) -> None:
    drafts, damaged = DraftArchive(theirs.reports).everything()
    done.damaged += [one for one in damaged if one not in done.damaged]
    for one in drafts:
        record = record_of(one.folder, DRAFT_JSON)
        folder = ours.reports / one.draft.kernel / DRAFTS / one.draft.id
        if folder.exists():
            if record != (folder / DRAFT_JSON).read_bytes():
                done.conflicts.append(f"{'/'.join(folder.parts[-3:])}: the draft is another here; ours is kept")
            continue
        place = ArchivePlace(ours.reports, folder, DRAFT_JSON, "draft", one.reference)
        try:
            write_whole(place, {name: one.read(name) for name in one.files}, lambda _facts, kept=record: kept)  # type: ignore[misc]
            done.drafts += 1
        except DamagedData as error:
            done.damaged.append(Damage("/".join(one.folder.parts[-3:]), error.message))
