"""The public API: what `import ncu_assist` offers, and that it answers what the commands print."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SMALL_REPORT, Run

import ncu_assist
from ncu_assist.moved import MOVED, PACKAGE

OFFERED = ("archive", "read_report", "show", "diff", "profile")


def test_what_is_offered_is_listed() -> None:
    code = "import ncu_assist; print(*dir(ncu_assist))"  # afresh: here other tests have imported much
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(OFFERED) <= set(listed)
    assert all(callable(getattr(ncu_assist, name)) for name in OFFERED)


def test_an_import_costs_no_pandas() -> None:
    code = "import ncu_assist, sys; sys.exit('pandas' in sys.modules or 'click' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_show(run: Run, recorded: Path) -> None:
    shown = ncu_assist.show("lightning_decode/v3")
    assert shown.to_dict() == run("show", "lightning_decode/v3", "--json").json
    assert shown.to_text().rstrip("\n") == run("show", "lightning_decode/v3").out.rstrip("\n")
    assert set(shown.metrics) >= {"launch", "metric", "value"}


def test_diff(run: Run, recorded: Path) -> None:
    both = ncu_assist.diff("v2", ncu_assist.show("lightning_decode/v3"))
    assert both.verdict.verdict == "slower"
    answer = both.to_dict()
    assert answer["candidate"]["version"] == "v3_global_memory"
    by_names = ncu_assist.diff("v2", "v3")
    assert by_names.to_dict() == run("diff", "v2", "v3", "--json").json
    assert by_names.to_text().rstrip("\n") == run("diff", "v2", "v3").out.rstrip("\n")
    assert by_names.to_markdown().rstrip("\n") == run("diff", "v2", "v3", "--format", "markdown").out.rstrip("\n")


@pytest.mark.slow
def test_pages(tmp_path: Path) -> None:
    report = ncu_assist.read_report(SMALL_REPORT)
    both = ncu_assist.diff(report, SMALL_REPORT, project=tmp_path)
    assert both.verdict.verdict in ("unclear", "same")
    assert both.to_html().startswith("<!doctype html>")
    page = ncu_assist.show(report, project=tmp_path).to_html()
    assert page.startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == []


def test_profile(run: Run, recorded: Path) -> None:
    found = ncu_assist.profile("lightning_decode", ["v3", "v7"])
    assert found.to_dict() == run("profile", "lightning_decode", "v3", "v7", "--json").json
    assert [one.version for one in found.outcome.versions] == ["v3_global_memory", "v7_registers_128bit"]


def test_the_archive_in_pandas() -> None:
    """Held against the records: every run, timing and finding once, joined by references that name the run."""
    found = ncu_assist.archive(project=Path(__file__).parents[2])
    assert len(found) == len(found.runs) == found.runs["reference"].nunique()
    some = found.stored[:: len(found) // 5]
    for stored in some:
        row = found.runs.set_index("reference").loc[stored.reference]
        assert (row["kernel"], row["gpu"], row["launches"]) == (
            stored.run.kernel,
            stored.run.gpu,
            len(stored.run.launches),
        )
        own = found.timings[found.timings["reference"] == stored.reference].set_index("workload")["median_ns"]
        assert own.to_dict() == {
            t.workload: t.median_ns for t in (stored.run.bench.timings if stored.run.bench else ())
        }
        said = found.findings.query("reference == @stored.reference and whole and rank == 0")
        judged = stored.findings()
        first = [one.findings[0].rule for one in judged.judged if one.whole] if judged else []
        assert said["rule"].tolist() == first
    assert {str(found.timings[name].dtype) for name in ("flops", "samples")} == {"Int64"}


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_moved_module_says_where_it_is(old: str, new: str) -> None:
    importlib.import_module(f"{PACKAGE}{new}")
    with pytest.raises(ModuleNotFoundError, match=f"is now {PACKAGE}{new}"):
        importlib.import_module(f"{PACKAGE}{old}")


def test_an_archive_without_runs(tmp_path: Path) -> None:
    found = ncu_assist.archive(project=tmp_path)
    assert [len(table) for table in (found, found.runs, found.timings, found.findings)] == [0, 0, 0, 0]
