"""The archive that this repository ships: whole, small, true to the kernels as they are, and silent about machines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import blanking
import pytest
import zstandard

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.pipeline.archiving import always_late
from ncu_assist.pipeline.reading import compare
from ncu_assist.project import Project
from ncu_assist.sources import source_sha256
from ncu_assist.spec import Kernel, Version
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun, machine_hash
from ncu_assist.store.reading import CODE, FACTS

ROOT = Path(__file__).parent.parent
PROJECT = Project(ROOT)
STORE = Store(PROJECT.reports)
SHIPPED = [stored for stored in STORE.runs() if stored.run.machine != machine_hash()]  # not what was measured here
FAMILIES = sorted({stored.run.kernel for stored in SHIPPED})
UNRECORDED = sorted(set(kernel_names(PROJECT)) - set(FAMILIES))
KERNELS = [load_kernel(PROJECT, name) for name in kernel_names(PROJECT) if name in FAMILIES]
RUNS = [pytest.param(stored, id=stored.reference) for stored in SHIPPED]
VERSIONS = [pytest.param(k, version, id=f"{k.name}-{version.short}") for k in KERNELS for version in k.versions]
SIZE_LIMIT = 40_000_000  # bytes of all families, with pages and drafts
FORBIDDEN = re.compile(
    rb"/(?:home|root|work|tmp|Users|mnt|workspace|scratch)/[\w.+-]+"  # folders of a person or a job
    rb"|GPU-[0-9a-fA-F]{8}-?"
    rb"|MIG-[0-9a-fA-F]{8}-"
)
ADDRESS = re.compile(rb"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])")
TEXTS = (".json", ".log", ".cu", ".py", ".toml", ".h", ".cuh")


def contents(stored: StoredRun) -> dict[str, bytes]:
    """Every file of a run by name; the report decompressed, of tables every text and name in them."""
    found = {name: stored.read(name) for name in stored.run.files}
    found["run.json"] = (stored.folder / "run.json").read_bytes()
    report = stored.report_bytes()
    if report is not None:
        found["report"] = report
    packed = (name for name in (CODE, FACTS) if name in stored.run.files)
    found |= {f"{name} unpacked": zstandard.ZstdDecompressor().decompress(stored.read(name)) for name in packed}
    metrics, samples = stored.metrics(), stored.samples()
    words = [set(metrics[column].dropna().astype(str)) for column in ("metric", "text", "unit")]
    words += [set(samples[column].astype(str)) for column in ("bench_id", "workload", "version")]
    found["tables"] = "\n".join(sorted(set().union(*words))).encode()
    return found


def shipped(kernel: Kernel, version: Version) -> StoredRun:
    """The run of a version's source as it is now."""
    wanted = kernel.name, version.name, source_sha256(version.path)
    found = [one for one in SHIPPED if (one.run.kernel, one.run.version, one.run.source_sha256) == wanted]
    assert found, f"{version.name} was not recorded as it is now"
    return found[0]


def counted(kernel: Kernel) -> set[str | None]:
    """The workloads that a family was profiled on."""
    return {launch.workload for one in SHIPPED if one.run.kernel == kernel.name for launch in one.run.launches}


def test_there_is_an_archive(at_the_end: Callable[[str], None]) -> None:
    assert RUNS
    assert "lightning_decode" in FAMILIES
    if UNRECORDED:
        at_the_end(f"not recorded yet: {', '.join(UNRECORDED)}")


@pytest.mark.slow
def test_it_is_whole() -> None:
    assert STORE.verify() == []


def test_it_is_small() -> None:
    sizes = [path.stat().st_size for name in FAMILIES for path in (PROJECT.reports / name).rglob("*") if path.is_file()]
    assert sum(sizes) <= SIZE_LIMIT


@pytest.mark.parametrize("stored", RUNS)
def test_a_run_is_recorded_and_belongs_to_no_machine(stored: StoredRun) -> None:
    assert (stored.run.source, stored.run.machine, stored.run.verified) == ("recorded", None, True)
    assert stored.run.device is not None
    assert re.fullmatch(r"[0-9a-f]{64}", stored.run.device.uuid_sha256)
    if stored.run.launches:  # else it serves no workload that was profiled, or launches no kernel
        assert (stored.run.toolchain.ncu or "").count(".") >= 2
        assert stored.run.profile is not None
        assert stored.run.profile.section_set == "full"


@pytest.mark.parametrize(("kernel", "version"), VERSIONS)
def test_every_version_has_a_run_of_its_source_on_every_workload(kernel: Kernel, version: Version) -> None:
    """Checked and timed on all that it serves, profiled on those of them that its family was profiled on."""
    stored = shipped(kernel, version)
    wanted = {workload.name for workload in kernel.workloads if version.serves(workload)}
    assert {check.workload for check in stored.run.checks if check.passed} == wanted
    timed = {timing.workload for timing in stored.run.bench.timings} if stored.run.bench else set()
    assert timed | set(always_late(stored.samples(), version.name)) == wanted
    profiled = {launch.workload for launch in stored.run.launches}
    why_not = stored.run.launched_nothing or any(note.startswith("not counted: ") for note in stored.run.notes)
    assert profiled == (set() if why_not else wanted & counted(kernel))
    assert set(stored.metrics()["launch"]) == {launch.index for launch in stored.run.launches}


@pytest.mark.parametrize("stored", RUNS)
def test_no_file_names_a_machine(stored: StoredRun) -> None:
    for name, data in contents(stored).items():
        found = FORBIDDEN.findall(data)
        assert found == [], f"{name} of {stored.reference}"
        if name.endswith(TEXTS) or name == "tables":
            assert ADDRESS.findall(data) == [], f"{name} of {stored.reference}"


@pytest.mark.parametrize("stored", RUNS)
def test_the_code_that_its_page_shows_is_kept(stored: StoredRun) -> None:
    assert (stored.code() is not None) == bool(stored.run.launches)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_family_was_profiled(kernel: Kernel) -> None:
    """On its default workload at least; only few versions launch no kernel of their own."""
    runs = [shipped(kernel, version) for version in kernel.versions]
    assert kernel.default_workload.name in counted(kernel)
    assert sum(not one.run.launches for one in runs) <= len(runs) // 4


@pytest.mark.slow
@pytest.mark.parametrize("stored", RUNS)
def test_no_report_holds_what_identifies(stored: StoredRun) -> None:
    report = stored.report_bytes()
    assert report is None or blanking.leftovers(report) == ()


@pytest.mark.parametrize("data", [b"x/home/alice/k.cu", b"/Users/bob/x", b"GPU-01234567-89ab", b"/workspace/x"])
def test_the_search_can_fail(data: bytes) -> None:
    assert FORBIDDEN.search(data)


def test_an_address_is_told_from_a_version() -> None:
    assert ADDRESS.search(b"at 10.0.3.17:22")
    assert not ADDRESS.search(b"ncu 2025.3.1.0, driver 580.95.05, nvcc 13.0.88")


@pytest.mark.parametrize(("baseline", "candidate", "verdict"), [("v2", "v3", "slower"), ("v3", "v7", "faster")])
def test_the_verdicts_of_the_ladder(
    baseline: str, candidate: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    kernel = load_kernel(PROJECT, "lightning_decode")
    references = [shipped(kernel, kernel.version(name)).reference for name in (baseline, candidate)]
    found = compare(PROJECT, (references[0], references[1]), None, DiffOptions())
    assert (found.verdict.verdict, found.source) == (verdict, "recorded")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_all_versions_were_timed_in_one_bench(kernel: Kernel) -> None:
    benches = [shipped(kernel, version).run.bench for version in kernel.versions]
    assert len({bench.bench_id for bench in benches if bench}) == 1
