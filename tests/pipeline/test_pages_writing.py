"""Pages as files: where they lie, what they link to, what they never replace, the same bytes from anywhere."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from factories import make_run, samples_frame, save_run, times
from kernel_folder import write_kernel
from measured import Notes
from requirements import require

from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.pipeline.pages.writing import PageRequest, is_our_page, pages_of, report, write_page
from ncu_assist.project import Project, find_project
from ncu_assist.sources import discover_versions, source_sha256
from ncu_assist.store import Store
from ncu_assist.store.choosing import MACHINE_ID

pytestmark = pytest.mark.slow

OURS = '<!doctype html><meta name="generator" content="ncu-assist 0.1.0">'
VERSIONS = {"v0_torch.py": "x = 0\n", "v1_wide.py": "x = 1\n", "v2_slow.py": "x = 2\n"}
LINK = re.compile(r' href="([^"#][^"]*)"')
# Renders a whole archive with the salt of hashes and the machine's id that it is given, and prints a hash of each page.
SCRIPT = """
import hashlib, sys
from pathlib import Path
from ncu_assist.store.choosing import machine_hash
machine_hash.__defaults__ = (Path(sys.argv[2]),)
from ncu_assist.pipeline.pages.writing import PageRequest, report
from ncu_assist.project import find_project
class Quiet:
    def note(self, text): pass
    status = note
root = Path(sys.argv[1])
report(find_project(root), PageRequest(every=True), Quiet())
for path in sorted((root / "reports").rglob("*.html")):
    print(hashlib.sha256(path.read_bytes()).hexdigest(), path.relative_to(root))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A kernel of three versions, all timed in one bench, and another kernel without a folder."""
    (tmp_path / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    write_kernel(tmp_path, VERSIONS)
    store = Store(tmp_path / "reports")
    versions = discover_versions(tmp_path / "kernels/add_one")
    frames = [samples_frame(times(1e4 * (n + 1), n), version=one.name) for n, one in enumerate(versions)]
    for number, one in enumerate(versions):
        created = f"2026-11-2{number}T07:45:00Z"
        run = make_run(version=one.name, created=created, source_sha256=source_sha256(one.path))
        save_run(store, run, samples=pd.concat(frames, ignore_index=True))
    save_run(store, make_run(kernel="other", created="2026-11-01T07:45:00Z"), samples=samples_frame(times(2e4, 1)))
    monkeypatch.chdir(tmp_path)
    return find_project(tmp_path)


def names(project: Project) -> set[str]:
    """Return the pages below reports/, without the ids of runs."""
    found = (path.relative_to(project.reports).as_posix() for path in project.reports.rglob("*.html"))
    return {re.sub(r"20\d+T\d+Z-\w+", "RUN", name) for name in found}


def test_all_pages_of_a_clean_clone_change_nothing_that_git_knows(project: Project, repository: Path) -> None:
    """What is shipped of them lies elsewhere: a page leads to those that are there, and so depends on them."""
    require("git")

    def git(folder: Path, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout

    shutil.copy(repository / ".gitignore", project.root)
    git(project.root, "init", "--quiet")
    git(project.root, "add", "--all")
    before = git(project.root, "status", "--porcelain", "--untracked-files=all")
    written = report(project, PageRequest(every=True), Notes())
    assert {one.kind for one in written.pages} == {"run", "diff", "ladder", "index"}
    assert git(project.root, "status", "--porcelain", "--untracked-files=all") == before
    if (repository / ".git").exists():  # a release has none
        assert git(repository, "ls-files", "reports/*.html", "reports/**/*.html") == ""


def test_the_last_run_gets_its_page_its_ladder_and_the_index(project: Project) -> None:
    written = report(project, PageRequest(), Notes())
    assert names(project) == {
        "index.html",
        "add_one/index.html",
        "add_one/v2_slow/RUN/report.html",
        "add_one/v2_slow/diff-v1_wide.html",
    }
    assert [one.kind for one in written.pages] == ["run", "diff", "ladder", "index"]
    assert written.asked.path.parent.parent.name == "v2_slow"
    assert Store(project.reports).verify() == []


def test_a_kernel_gets_all_its_pages_and_no_link_leads_nowhere(project: Project) -> None:
    report(project, PageRequest("add_one"), Notes())
    assert {f"add_one/{name}/RUN/report.html" for name in ("v0_torch", "v1_wide", "v2_slow")} < names(project)
    assert "other/index.html" not in names(project)
    pages = list(project.reports.rglob("*.html"))
    assert len(pages) == 7
    for page in pages:
        for link in LINK.findall(page.read_text()):
            assert link.startswith(("data:", "http")) or (page.parent / link).is_file(), f"{page.name}: {link}"


def test_everything_is_written_around_what_is_damaged(project: Project) -> None:
    path = Store(project.reports).runs("add_one", "v1_wide")[0].folder / "samples.parquet"
    path.write_bytes(bytes(reversed(path.read_bytes())))
    written = report(project, PageRequest(every=True), Notes())
    assert written.exit_code == 7
    assert "v1_wide" in written.problems[0]
    assert "other/index.html" in names(project)
    assert "samples.parquet was changed" in (project.reports / "add_one/index.html").read_text()


def test_pages_of_a_damaged_run_say_so_until_it_is_whole_again(project: Project) -> None:
    report(project, PageRequest(every=True), Notes())
    before = {path: path.read_bytes() for path in project.reports.rglob("*.html")}
    stored = Store(project.reports).runs("add_one", "v1_wide")[0]
    path = stored.folder / "samples.parquet"
    whole = path.read_bytes()
    path.write_bytes(bytes(reversed(whole)))
    notes = Notes()
    report(project, PageRequest("other"), notes)
    own = stored.folder / "report.html"
    diffs = sorted((project.reports / "add_one").glob("*/diff-*.html"))
    assert len(diffs) == 2
    for page in (own, *diffs):
        text = page.read_text()
        assert is_our_page(page)
        assert "samples.parquet was changed" in text
        assert "faster" not in text.partition("<main")[2].partition("</main>")[0]  # the words of the help aside
        for link in LINK.findall(text):
            assert link.startswith("data:") or (page.parent / link).is_file()
    assert sum("withdrawn" in note for note in notes.notes) == 3
    path.write_bytes(whole)
    report(project, PageRequest(every=True), Notes())
    assert {path: path.read_bytes() for path in project.reports.rglob("*.html")} == before


def test_every_damaged_run_is_named(project: Project) -> None:
    store = Store(project.reports)
    (store.runs("add_one", "v1_wide")[0].folder / "run.json").write_text("{")
    samples = store.runs("add_one", "v2_slow")[0].folder / "samples.parquet"
    samples.write_bytes(bytes(reversed(samples.read_bytes())))
    written = report(project, PageRequest(every=True), Notes())
    assert written.exit_code == 7
    assert [any(name in one for one in written.problems) for name in ("/v1_wide/", "/v2_slow/")] == [True, True]


def test_a_run_leads_to_its_diff_from_the_first_time_on(project: Project) -> None:
    notes = Notes()
    written = report(project, PageRequest(), notes)
    first = written.asked.path.read_bytes()
    assert b'href="../diff-v1_wide.html"' in first
    report(project, PageRequest(), Notes())
    assert written.asked.path.read_bytes() == first
    assert notes.notes == [], "the answer lists the pages, and a note of each would be there twice"


def test_the_index_lists_every_run_with_its_hash(project: Project) -> None:
    report(project, PageRequest(), Notes())
    text = (project.reports / "index.html").read_text()
    assert all(stored.run.digest in text for stored in Store(project.reports).runs())


def test_a_file_that_is_no_page_of_ours_stays(project: Project) -> None:
    index = project.reports / "add_one/v2_slow/diff-v1_wide.html"
    index.write_text("mine")
    written = report(project, PageRequest(), Notes())
    assert index.read_text() == "mine"
    assert "not a page of ncu-assist" in written.problems[0]
    report(project, PageRequest(force=True), Notes())
    assert is_our_page(index)


@pytest.mark.parametrize("wanted", ["v1", "add_one"])
def test_an_output_is_all_that_is_written(project: Project, tmp_path: Path, wanted: str) -> None:
    target = tmp_path / "one.html"
    report(project, PageRequest(wanted, output=target), Notes())
    assert is_our_page(target)
    assert names(project) == set()
    local = [link for link in LINK.findall(target.read_text()) if not link.startswith(("data:", "http"))]
    assert local == [], "nothing lies beside it"


def test_pages_are_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    write_page(path, OURS)

    def full(_: Path, __: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        write_page(path, f"{OURS} new")
    assert path.read_text() == OURS
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_the_folder_of_a_page_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(_: Path, __: Path) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(EnvironmentProblem, match=os.strerror(number)) as caught:
        write_page(tmp_path / "page.html", OURS)
    assert caught.value.hint.startswith(f"{tmp_path} is ")
    assert "reports/" not in caught.value.hint


def test_links_folders_and_foreign_files_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text(OURS)
    (tmp_path / "link.html").symlink_to("other.html")
    (tmp_path / "foreign.html").write_text("<!doctype html>")
    (tmp_path / "folder.html").mkdir()
    for name in ("link.html", "foreign.html", "folder.html", "missing/page.html"):
        with pytest.raises(UsageProblem):
            write_page(tmp_path / name, OURS)
    write_page(tmp_path / "link.html", f"{OURS} new", force=True)
    assert (tmp_path / "other.html").read_text() == OURS, "the link is replaced, not what it leads to"


def test_a_page_goes_into_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_page(tmp_path / "fifo", OURS)
        assert os.read(reader, 1 << 16).decode() == OURS
    finally:
        os.close(reader)
    assert (tmp_path / "fifo").is_fifo()


def test_a_page_that_cannot_be_made_loses_no_measurement(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> str:
        raise ZeroDivisionError("a bug in a page")

    monkeypatch.setattr("ncu_assist.pipeline.pages.index.archive_state", broken)
    notes = Notes()
    assert pages_of(project, Store(project.reports).runs("add_one")[:1], notes) is None
    assert any("ZeroDivisionError: a bug in a page; try: ncu-assist report add_one" in note for note in notes.notes)


def test_the_same_runs_give_the_same_bytes(project: Project, tmp_path: Path, repository: Path) -> None:
    """Rendered in two processes, with two salts of hashing, on two machines, from two folders; also a recorded run."""
    recorded = next((repository / "reports/lightning_decode/v6_coalesced_store").glob("2*"))
    target = project.reports / "lightning_decode/v6_coalesced_store" / recorded.name
    shutil.copytree(recorded, target, ignore=shutil.ignore_patterns("*.html"))
    (live,) = Store(project.reports).runs("add_one", "v1_wide")
    newer = replace(live.run, run_id="20261130T074500Z-1a2b3c", created="2026-11-30T07:45:00Z", source="recorded")
    save_run(Store(project.reports), newer, samples=samples_frame(times(3e4, 9), version="v1_wide", bench_id="another"))
    again = tmp_path / "elsewhere" / "a b"
    for name in ("kernels", "reports", "pyproject.toml"):
        copy = shutil.copytree if (tmp_path / name).is_dir() else shutil.copy
        again.mkdir(parents=True, exist_ok=True)
        copy(tmp_path / name, again / name)
    found = []
    for number, root in enumerate((tmp_path, again)):
        (root / "machine").write_text("another machine")
        words = [sys.executable, "-c", SCRIPT, str(root), str(root / "machine" if number else MACHINE_ID)]
        made = subprocess.run(words, env={"PYTHONHASHSEED": str(number)}, capture_output=True, text=True, cwd=root)
        assert made.returncode == 0, made.stderr
        found.append(made.stdout)
    assert len(found[0].splitlines()) == 12
    assert found[0] == found[1]
    for page in project.reports.rglob("*.html"):
        assert str(tmp_path).encode() not in page.read_bytes()
