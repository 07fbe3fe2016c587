"""`parent: v1` in the first comment of a version: history, show, the ladder, its diffs and `suggest` go by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commandline import Run
from factories import BENCH_ID, make_run, metrics_frame, samples_frame, save_run, times
from kernel_folder import PYTHON_VERSION, write_kernel

from ncu_assist.project import Project
from ncu_assist.sources import source_sha256
from ncu_assist.spec_file import load_kernel
from ncu_assist.store import Store

REPOSITORY = Path(__file__).parents[2]
# A baseline, a first step, a step back, what builds on the first step, another library's version, a fresh start.
SAYS = {
    "v0_torch": ("# Baseline: torch's own.\n", 4e5),
    "v1_fused": ("# Changes: fused.\n", 2e5),
    "v2_back": ("# Changes: a step back.\n", 2.5e5),
    "v3_wide": ("# Changes, to v1: wide.\n# parent: v1\n", 2e5),
    "v4_triton": ("# Baseline: Triton.\n", 1e5),
    "v5_scalar": ("# Changes: from scratch.\n# parent: none\n", 8e5),
    "v6_tiles": ("# Changes: tiles.\n", 4e5),
    "v7_hints": ("# Changes: hints.\n", 4e5),
}
EXPECTED = {
    "v0_torch": None,
    "v1_fused": "v0_torch",
    "v2_back": "v1_fused",
    "v3_wide": "v1_fused",
    "v4_triton": None,
    "v5_scalar": None,
    "v6_tiles": "v5_scalar",
    "v7_hints": "v6_tiles",
}


def written(root: Path, **other: str) -> Path:
    """Write the kernel; ``other`` are first comments in place of those above."""
    sources = {f"{name}.py": f"{other.get(name, says)}{PYTHON_VERSION}# {name}\n" for name, (says, _) in SAYS.items()}
    return write_kernel(root, sources)


def measured(root: Path, folder: Path) -> None:
    store = Store(root / "reports")
    for seed, (version, (_, median_ns)) in enumerate(SAYS.items()):
        path = folder / f"{version}.py"
        run = make_run(version=version, source_sha256=source_sha256(path))
        frame = samples_frame(times(median_ns, seed, noise=0.001), version=version, bench_id=BENCH_ID)
        save_run(store, run, metrics_frame({}), frame, **{f"source/{version}.py": path.read_bytes()})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parents")
    measured(made, written(made))
    return made


@pytest.fixture
def run_here(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(root)
    return run


def test_history_holds_each_version_against_its_parent(run_here: Run) -> None:
    rows = run_here("history", "add_one", "--json").json["rows"]
    assert {row["version"]: row["before"] for row in rows} == EXPECTED
    assert {row["version"]: row["parents"] for row in rows} == {
        version: [parent] if parent else [] for version, parent in EXPECTED.items()
    }
    told = run_here("history", "add_one").out
    assert re.search(r"v3_wide +200 µs +(= same|\? unclear)", told)  # the step back would be 1.25x slower
    assert re.search(r"v5_scalar +800 µs +- ", told)
    assert re.search(r"v4_triton +100 µs +library ", told)  # a line to beat, no step
    assert "v3_wide: compared with v1_fused, which it builds on" in told
    assert re.search(r"v2_back +250 µs +▼ 1\.25x slower", told)


@pytest.mark.slow
def test_show_and_the_prompt_do_too(run_here: Run) -> None:
    for version, parent in EXPECTED.items():
        before = run_here("show", f"add_one/{version}", "--json").json["before"]
        assert (before and before["version"]) == parent
    prompt = run_here("suggest", "add_one/v3", "--dry-run")
    assert prompt.code == 0, prompt.err
    assert re.search(r"v3_wide.*: 200 (µ|u)s, as fast as v1", prompt.out)


@pytest.mark.slow
def test_the_ladder_links_the_diff_with_the_parent(run_here: Run, root: Path) -> None:
    assert run_here("report", "add_one").code == 0
    pages = {path.relative_to(root / "reports").as_posix() for path in (root / "reports").rglob("*.html")}
    diffs = {page for page in pages if "v1_fused" in page and "v3_wide" in page}
    assert diffs
    assert not {page for page in pages if "v2_back" in page and "v3_wide" in page}
    assert not {page for page in pages if "v4_triton" in page and "v5_scalar" in page}


def test_a_workload_that_the_parent_does_not_serve_has_the_nearest_that_does(run: Run) -> None:
    """elementwise_add v10 builds on v9, which has float16 only, and in float32 on v4."""
    kernel = load_kernel(Project(REPOSITORY), "elementwise_add")
    assert kernel.lineage.parents("v10_streaming_hints") == ("v9_block_size", "v4_x4_f32")
    found = list(kernel.lineage.ancestors("v10_streaming_hints"))
    assert found[:2] == ["v9_block_size", "v4_x4_f32"]


def test_the_recorded_versions_build_on_what_their_worklogs_say() -> None:
    decode = load_kernel(Project(REPOSITORY), "lightning_decode").lineage
    assert decode.parents("v10_row_groups") == ("v7_registers_128bit",)
    layer = load_kernel(Project(REPOSITORY), "gemm_bias_gelu").lineage
    assert layer.parents("v4_wmma_global") == ()
    assert layer.parents("v5_wmma_shared") == ("v4_wmma_global",)


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ({"v3_wide": "# parent: v77\n"}, "v3_wide.py names the parent 'v77', which is not a version"),
        ({"v3_wide": "# parent: v3\n"}, "v3_wide.py names the parent 'v3', which is itself"),
        ({"v1_fused": "# parent: v3\n"}, "versions build on each other: v1 on v3 on v1"),
        ({"v3_wide": "# parent: none, v1\n"}, "names the parent 'none', which is not a version"),
    ],
)
def test_a_parent_that_cannot_be_is_an_error_of_the_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: dict[str, str], told: str
) -> None:
    written(tmp_path, **says)
    monkeypatch.chdir(tmp_path)
    answer = run("history", "add_one")
    assert answer.code == 2
    assert told in answer.err.replace("\n", " ")


def test_a_source_that_changed_since_has_the_parent_that_was_archived(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path)
    measured(tmp_path, folder)
    monkeypatch.chdir(tmp_path)
    path = folder / "v3_wide.py"
    path.write_text(path.read_text().replace("parent: v1", "parent: v0"))  # the comment is no part of the hash
    assert run("show", "add_one/v3", "--json").json["before"]["version"] == "v0_torch"
    path.write_text(path.read_text() + "changed = 1\n")
    (stored,) = Store(tmp_path / "reports").runs("add_one", "v3_wide")
    assert run("show", stored.reference, "--json").json["before"]["version"] == "v1_fused"


def test_the_comment_is_no_part_of_the_hash(tmp_path: Path) -> None:
    hashes = []
    for says in ("# Changes: x\n", "# Changes: x\n# parent: v1\n", "# parent: none\n"):
        folder = written(tmp_path, v3_wide=says)
        hashes.append(source_sha256(folder / "v3_wide.py"))
    assert len(set(hashes)) == 1
