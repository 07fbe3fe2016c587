"""Packed runs: the same to every reader, never lost, listed from a cache that never matters."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from factories import make_run, metrics_frame, samples_frame, save_run, times

from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem
from ncu_assist.pipeline.upkeep import KeepRules, merge, pack, plan_prune, prune
from ncu_assist.project import Project
from ncu_assist.store import Store, index, packs
from ncu_assist.store.baselines import get_baseline, set_baseline
from ncu_assist.store.folders import PACKED

KERNEL, VERSION = "add_one", "v1_torch"


class Quiet:
    """A reporter that nobody hears."""

    def note(self, text: str) -> None:
        """Drop a line."""

    def status(self, text: str) -> None:
        """Drop a line."""


def project_of(root: Path, count: int = 6, **changes: object) -> Project:
    store = Store(root / "reports")
    for place in range(count):
        run = make_run(
            run_id=f"20261121T0745{place:02}Z-1a2b{place:02x}", created=f"2026-11-21T07:45:{place:02}Z", **changes
        )
        save_run(store, run, metrics_frame(), samples_frame(times(1e5 + place, place)), **{"ncu.log": b"log"})
    return Project(root)


def paths(project: Project) -> list[str]:
    return sorted(str(one.relative_to(project.reports)) for one in project.reports.rglob("*") if one.is_file())


def facts(store: Store) -> list[object]:
    return [(one.run, {name: one.read(name) for name in one.run.files}, one.folder) for one in store.runs()]


def test_packed_runs_read_as_before(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    store = Store(project.reports)
    before, listed = facts(store), [head._replace(problem="", place=None) for head in store.heads()]
    page = store.runs()[0].folder / "report.html"
    page.write_text("page")
    done = pack(project, (), Quiet())
    assert (done.runs, done.packs, done.files, done.left) == (6, 1, 24, [])
    assert [Path(one).parts[1] for one in paths(project)] == [PACKED, VERSION]  # the page stays
    for _ in range(2):  # without the cache, and with it
        assert facts(store) == before
        assert [head._replace(problem="", place=None) for head in store.heads()] == listed
    assert (store.kernels(), store.versions(KERNEL)) == ((KERNEL,), (VERSION,))
    assert store.damaged() == store.verify() == []
    assert len(store.folders()) == 6
    assert page.read_text() == "page"
    assert pack(project, (), Quiet()).packs == 0


def test_new_runs_go_into_the_small_pack(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    pack(project, (), Quiet())
    save_run(Store(project.reports), make_run(run_id="20261122T000000Z-ffffff", created="2026-11-22T00:00:00Z"))
    assert len(Store(project.reports).runs()) == 7
    done = pack(project, (), Quiet())
    assert (done.runs, done.packs, done.merged) == (1, 1, 1)
    assert len(paths(project)) == 1
    assert len(Store(project.reports).runs()) == 7


def test_a_run_that_was_opened_before_it_was_packed_reads_on(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    store = Store(project.reports)
    opened, heads = store.runs()[0], store.heads()
    expected = opened.read("ncu.log"), opened.metrics()
    pack(project, (), Quiet())
    assert opened.read("ncu.log") == expected[0]
    assert opened.metrics().equals(expected[1])
    packed = store.runs()[0]
    save_run(store, make_run(run_id="20261122T000000Z-ffffff", created="2026-11-22T00:00:00Z"))
    pack(project, (), Quiet())  # into another pack
    assert packed.read("samples.parquet")
    assert [store.opened(head._replace(place=None)).reference for head in heads] == [one.reference for one in heads]


def test_what_is_damaged_or_large_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(tmp_path, 3)
    store = Store(project.reports)
    newest, older, _ = store.runs()
    (newest.folder / "ncu.log").write_bytes(b"LOG")
    (older.folder / "notes.txt").write_text("of nobody")
    save_run(store, make_run(run_id="20261122T000000Z-ffffff"), **{"report.ncu-rep": b"x" * 200})
    monkeypatch.setattr("ncu_assist.pipeline.upkeep.LARGEST_FILE", 100)
    done = pack(project, (), Quiet())
    assert done.runs == 0
    monkeypatch.setattr("ncu_assist.pipeline.upkeep.LARGEST_FILE", 100_000)
    done = pack(project, (), Quiet())
    assert done.runs == 2
    assert [one.problem.split(" ")[0] for one in done.left] == ["notes.txt", newest.reference + ":"]
    assert newest.folder.is_dir()
    assert older.folder.is_dir()


def test_a_damaged_pack_is_named_and_hides_no_other(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    pack(project, (), Quiet())
    store = Store(project.reports)
    save_run(store, make_run(run_id="20261122T000000Z-ffffff", created="2026-11-22T00:00:00Z"))
    path = next((project.reports / KERNEL / PACKED).iterdir())
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    assert (
        [one.path for one in store.damaged()]
        == [f"{KERNEL}/{PACKED}/{path.name}"]
        == [one.path for one in store.verify()]
    )
    assert store.damaged()[0].concerns(f"{KERNEL}/{VERSION}/")
    assert len(store.runs()) == 1
    assert pack(project, (), Quiet()).left
    path.write_bytes(whole)
    assert len(store.runs()) == 7


def test_one_byte_of_a_pack(tmp_path: Path) -> None:
    """Each byte of the data is under a checksum: a flipped one is told by verify, wherever it is."""
    project = project_of(tmp_path)
    pack(project, (), Quiet())
    path = next((project.reports / KERNEL / PACKED).iterdir())
    whole = path.read_bytes()
    for place in range(500, len(whole) - 3000, (len(whole) - 3500) // 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        os.utime(path, ns=(place, place))
        assert Store(project.reports).verify(), place


def test_a_pack_of_a_newer_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(tmp_path)
    monkeypatch.setattr(packs, "SCHEMA", "ncu-assist.pack/2")
    monkeypatch.setattr(packs, "READERS", {2: packs.READERS[1]})
    pack(project, (), Quiet())
    monkeypatch.undo()
    packs._opened.cache_clear()
    assert [(one.is_newer, one.exit_code) for one in Store(project.reports).damaged()] == [(True, 6)]


def test_the_cache_never_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loose and packed, absent, damaged, old or of another archive: what is listed is what is there."""
    monkeypatch.setattr(index, "INDEXED_FROM", 0)
    project = project_of(tmp_path)
    store = Store(project.reports)
    expected = [head.reference for head in store.heads()]
    part = index.cache_folder(project.reports) / "runs" / KERNEL / "loose.parquet"
    written = part.read_bytes()
    for damaged in (b"", b"PAR1", written[: len(written) // 2], written[:300] + b"\0" * 50 + written[350:]):
        part.write_bytes(damaged)
        assert [head.reference for head in store.heads()] == expected
        assert part.read_bytes() != damaged
    log = store.runs()[0].folder / "ncu.log"
    log.write_bytes(b"longer than it was")
    assert [one.problem.split(" ")[0] for one in store.damaged()] == ["ncu.log"]
    log.write_bytes(b"log")
    assert [head.reference for head in store.heads()] == expected
    part.unlink()
    part.mkdir()  # which cannot be replaced by a file
    assert [head.reference for head in store.heads(KERNEL, VERSION)] == expected


def test_a_warm_cache_opens_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "INDEXED_FROM", 0)
    project = project_of(tmp_path)
    store = Store(project.reports)
    expected = store.heads()
    opened: list[object] = []
    monkeypatch.setattr(index, "open_run", opened.append)
    assert [head.reference for head in store.heads()] == [head.reference for head in expected]
    assert opened == []


def test_prune_lists_first_and_keeps_what_is_needed(tmp_path: Path) -> None:
    project = project_of(tmp_path, 10)
    store = Store(project.reports)
    runs = store.runs()
    set_baseline(store, runs[9])
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "README.md").write_text(f"see {KERNEL}/v1@{runs[8].run.run_id}")
    pack(project, (), Quiet())
    save_run(store, make_run(run_id="20261122T000000Z-ffffff", created="2026-11-22T00:00:00Z"))
    before = paths(project)
    rules = KeepRules.of("last:3")
    plan = plan_prune(project, (), rules)
    assert paths(project) == before
    gone = {one.reference for one, _ in plan.going}
    assert len(gone) + len(plan.kept) == 11
    assert {runs[9].reference: "a baseline was set", runs[8].reference: "named in a text"}.items() <= plan.kept.items()
    assert all(reference in plan.kept for reference in (runs[0].reference, runs[1].reference))
    assert runs[5].reference in gone
    set_baseline(store, store.opened(next(head for head in store.heads() if head.reference == runs[5].reference)))
    done = prune(project, (), rules, plan, Quiet())
    assert runs[5].reference not in {one.reference for one, _ in done.going}  # a baseline since
    assert runs[5].reference in {one.reference for one in store.runs()}
    left = {one.reference for one in store.runs()}
    assert left == {*done.kept, runs[9].reference}  # the baseline of before was not listed
    assert store.verify() == []


@pytest.mark.parametrize("text", ["last", "last:x", "worst"])
def test_rules_that_are_none(text: str) -> None:
    with pytest.raises(UsageProblem, match="--keep has no rule"):
        KeepRules.of(text)


@pytest.mark.parametrize("packed", [False, True])
def test_merge(tmp_path: Path, packed: bool) -> None:
    ours, theirs = project_of(tmp_path / "a", 3), project_of(tmp_path / "b", 5)
    store, other = Store(ours.reports), Store(theirs.reports)
    set_baseline(other, other.runs()[0])
    changed = make_run(run_id="20261123T000000Z-aaaaaa", created="2026-11-23T00:00:00Z")
    save_run(store, changed)
    save_run(other, replace(changed, notes=("another",)))
    if packed:
        pack(theirs, (), Quiet())
    done = merge(ours, tmp_path / "b", Quiet())
    assert (done.runs, done.same, done.baselines, done.damaged) == (2, 3, 1, [])
    assert [one.split(":")[0] for one in done.conflicts] == [f"{KERNEL}/{VERSION}/20261123T000000Z-aaaaaa"]
    assert store.runs()[0].run.notes == ()
    assert len(store.runs()) == 6
    assert store.verify() == []
    assert {one.run.run_id: one.run.digest for one in store.runs()[1:]} == {
        one.run.run_id: one.run.digest for one in other.runs()[1:]
    }
    kept = get_baseline(store, KERNEL)
    assert kept == get_baseline(other, KERNEL)
    assert kept is not None
    again = merge(ours, theirs.reports, Quiet())
    assert (again.runs, again.same) == (0, 5)
    with pytest.raises(UsageProblem, match="is this archive"):
        merge(ours, tmp_path / "a", Quiet())


def test_a_baseline_is_merged_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = project_of(tmp_path / "a", 3), project_of(tmp_path / "b", 3)
    set_baseline(Store(theirs.reports), Store(theirs.reports).runs()[0])

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(EnvironmentProblem, match="the baseline could not be stored: No space left") as raised:
        merge(ours, tmp_path / "b", Quiet())
    assert raised.value.hint.startswith("free disk space")
    assert sorted(path.name for path in (ours.reports / KERNEL).iterdir()) == [VERSION]


WRITER = """
import sys
from pathlib import Path
from factories import make_run, metrics_frame, save_run
from ncu_assist.pipeline.upkeep import pack
from ncu_assist.project import Project
from ncu_assist.store import Store, index
class Quiet:
    def note(self, text): pass
    def status(self, text): pass
index.INDEXED_FROM = 0
who, root = sys.argv[1], Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
store = Store(root / "reports")
for place in range(30):
    run_id = f"20261121T07{place:02}00Z-{who}"
    save_run(store, make_run(run_id=run_id), metrics_frame(), **{"ncu.log": run_id.encode()})
    if place % 3 == 0:
        pack(Project(root), (), Quiet())
    seen = {head.run_id for head in store.heads()}
    mine = {f"20261121T07{one:02}00Z-{who}" for one in range(place + 1)}
    assert mine <= seen, mine - seen
    assert not store.damaged(), store.damaged()
    for head in store.heads():
        assert store.opened(head).read("ncu.log") == head.run_id.encode()
"""


def test_two_processes_write_pack_and_read_at_once(tmp_path: Path) -> None:
    """Each sees all of its own runs after every step, whatever the other packs; in the end every run is there once."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, who, str(tmp_path)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for who in ("aaaaaa", "bbbbbb")
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=300)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], said
    store = Store(tmp_path / "reports")
    assert Counter(one.run.run_id[-6:] for one in store.runs()) == {"aaaaaa": 30, "bbbbbb": 30}
    assert store.verify() == []
    pack(Project(tmp_path), (), Quiet())
    assert len(paths(Project(tmp_path))) == 1
    assert len(store.runs()) == 60


def test_a_pack_that_reads_back_otherwise_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(tmp_path)
    before = paths(project)
    monkeypatch.setattr(packs, "_others", lambda runs: iter(()))
    with pytest.raises(DamagedData):
        pack(project, (), Quiet())
    assert paths(project) == before
