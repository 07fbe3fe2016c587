"""``ncu-assist archive``: pack, prune, merge; every answer is the same over packed runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Run, files

KERNEL = "softmax"
ANSWERS = (
    ("list", "--json"),
    ("history", KERNEL, "--json"),
    ("show", f"{KERNEL}/v3", "--lines", "--json"),
    ("diff", f"{KERNEL}/v0", f"{KERNEL}/v3", "--json"),
    ("trend", KERNEL, "--json"),
    ("export", f"{KERNEL}/v3", "--json"),
    ("verify", "--json"),
    ("report", f"{KERNEL}/v3", "--output", "-"),
    ("report", KERNEL, "--output", "-"),
)


@pytest.mark.slow
def test_every_answer_is_the_same_over_packed_runs(run: Run, family: Path, no_gpu: None) -> None:
    before = [run(*words) for words in ANSWERS]
    count = before[-3].json["runs"]
    answer = run("archive", "pack", "--json")
    assert (answer.code, answer.json["runs"], answer.json["packs"]) == (0, count, 1)
    assert [path.suffix for path in family.glob("reports/**/*") if path.is_file()] == [".parquet"]
    for words, was in zip(ANSWERS, before, strict=True):
        now = run(*words)
        assert (now.code, now.out) == (was.code, was.out), words
    written = run("report", KERNEL)
    assert written.code == 0
    assert len(list(family.glob("reports/softmax/*/*/report.html"))) == count
    assert run("verify").code == 0
    assert run("archive", "pack").out == "nothing to pack\n"


INDEX_PAGE = """
from pathlib import Path
from ncu_assist.pipeline.pages.writing import Pages
from ncu_assist.project import find_project
from ncu_assist.cli.console import progress
with progress() as reporter:
    Pages(find_project(Path.cwd()), reporter).index()
"""
COMMAND = "import sys; from ncu_assist.cli import main; sys.argv[1:] = {}; main()"
SAY = "import atexit, sys; atexit.register(lambda: sys.stdout.write(str('pandas' in sys.modules)))\n"


@pytest.mark.parametrize("words", [("list",), ("history", KERNEL), ("query", "select count(*) from metrics"), ()])
def test_what_lists_many_runs_needs_no_pandas(run: Run, family: Path, no_gpu: None, words: tuple[str, ...]) -> None:
    """Nor does pyarrow import it, as some of its functions do: it takes longer than to list 100,000 runs."""
    if "query" in words:
        pytest.importorskip("duckdb")
    assert run("archive", "pack").code == 0
    assert run(*(words or ["list"])).code == 0  # makes the cache
    code = SAY + (COMMAND.format(words) if words else INDEX_PAGE)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout[-5:]) == (0, "False"), done.stderr


def test_prune_needs_yes(run: Run, family: Path, no_gpu: None) -> None:
    before = files(family)
    answer = run("archive", "prune", "--json")
    assert (answer.code, answer.json["runs"], answer.json["removed"]) == (0, [], False)
    assert len(answer.json["kept"]) == len(list(family.glob("reports/*/*/*/run.json")))
    assert run("archive", "prune").out.endswith("every run is needed\n")
    assert files(family) == before
    assert run("archive", "prune", "nothing").code == 2
    assert run("archive", "prune", "--keep", "all").code == 2


def test_merge_of_a_copy_takes_nothing(run: Run, family: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(family / "reports", other / "reports")
    kept = next(family.glob("reports/softmax/v3_*/*"))
    shutil.rmtree(kept)
    answer = run("archive", "merge", str(other))
    assert answer.code == 0
    assert answer.out.startswith("added: 1 run; ")
    assert kept.is_dir()
    assert run("archive", "merge", str(other), "--json").json["runs"] == 0
    assert run("archive", "merge", str(family)).code == 2


def test_a_damaged_run_stays_and_is_named(run: Run, family: Path) -> None:
    (next(family.glob("reports/softmax/v3_*/*")) / "ncu.log").write_text("changed")
    answer = run("archive", "pack")
    assert answer.code == 7
    assert "stays as it is: softmax/v3_" in answer.out
    assert run("verify").code == 7
