"""Every kernel folder of the project: it loads, says what it expects, spills only if it says so, has its worklog."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from emulation import KERNELS

from ncu_assist.backends import backend_of, build_versions
from ncu_assist.backends.nvcc import find_ninja, find_nvcc
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.project import Project
from ncu_assist.rules import RULES
from ncu_assist.sources import header_comment
from ncu_assist.spec import DTYPE_BYTES, Kernel, Version
from ncu_assist.spec_file import load_kernel, read_kernel
from ncu_assist.store.archive import Store
from ncu_assist.store.choosing import recorded_runs_matching

NAMES = sorted(f.parent.name for f in KERNELS.glob("*/kernel.toml"))
SPILLED = re.compile(r"(\d+) bytes spill stores")
DIAGNOSIS = re.compile(r"`([a-z]+(?:-[a-z]+)+)`")
TABLE = re.compile(r"^<!-- table -->\n(.*?)^<!-- /table -->$", re.DOTALL | re.MULTILINE)


def _versions() -> list[Version]:
    return [version for name in NAMES for version in read_kernel(KERNELS / name).versions]


def _named(version: Version) -> str:
    return f"{version.path.parent.name}-{version.short}"


def _expected(version: Version) -> list[str]:
    """The diagnoses that a version's header expects."""
    said = header_comment(version.path.read_bytes(), version.path.suffix)
    assert re.match(r"(Baseline|Changes)\b", said)
    return DIAGNOSIS.findall(said.split("expected:")[1].split("measured:")[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_ladder_has_no_gaps(name: str) -> None:
    kernel = load_kernel(Project(KERNELS.parent), name)
    assert [v.number for v in kernel.versions] == list(range(len(kernel.versions)))
    for workload in kernel.workloads:
        served = [v.short for v in kernel.versions if v.serves(workload)]
        assert kernel.algorithmic_bytes(workload) > 0
        if workload.versions:  # a point of a sweep
            assert served == list(workload.versions)
            continue
        assert served[0] == "v0", f"{workload.name} has a baseline"
        assert len(served) > 2


@pytest.mark.parametrize("name", NAMES)
def test_a_width_is_that_of_the_dtype(name: str) -> None:
    for workload in read_kernel(KERNELS / name).workloads:
        assert workload.integers.get("width", DTYPE_BYTES[workload.dtype]) == DTYPE_BYTES[workload.dtype]


def test_an_output_may_have_the_dtype_of_the_workload() -> None:
    kernel = read_kernel(KERNELS / "elementwise_add")
    assert {(w.dtype, kernel.dtype(kernel.outputs[0], w)) for w in kernel.workloads} == {
        (d, d) for d in kernel.tolerances
    }
    decode = read_kernel(KERNELS / "lightning_decode")
    assert [decode.dtype(o, decode.default_workload) for o in decode.outputs] == ["bfloat16", "float32"]


@pytest.mark.parametrize("version", _versions(), ids=_named)
def test_a_header_says_what_changes_and_what_is_expected(version: Version) -> None:
    for rule in _expected(version):
        assert rule in RULES, f"{version.name} expects {rule}"
    kernel = read_kernel(version.path.parent)
    assert set(version.dtypes) <= {w.dtype for w in kernel.workloads}


@pytest.mark.parametrize("name", NAMES)
def test_a_worklog_has_every_version_and_room_for_the_table(name: str) -> None:
    kernel = read_kernel(KERNELS / name)
    text = (kernel.folder / "README.md").read_text(encoding="utf-8")
    assert len(TABLE.findall(text)) == 1
    told = re.findall(r"^\*\*(v\d+) ", text, re.MULTILINE)
    assert told == [v.short for v in kernel.versions]


def _cuda(name: str) -> list[Version]:
    return [v for v in read_kernel(KERNELS / name).versions if backend_of(v.path).name == "cuda"]


def _assert_told(version: Version, log: str) -> None:
    """A build spills only where that is the version's story, and warns of nothing."""
    spills = any(int(n) for n in SPILLED.findall(log))
    assert spills == ("register-spill" in _expected(version)), version
    assert "warning" not in log, log


def _build(kernel: Kernel, versions: list[Version], folder: Path, patch: pytest.MonkeyPatch) -> None:
    try:
        find_nvcc()
        find_ninja()
    except EnvironmentProblem as missing:
        pytest.skip(missing.message)
    patch.setenv("NCU_ASSIST_ARCH", "sm_90a")  # which has wgmma
    for version, outcome in build_versions(kernel, versions, folder).items():
        assert outcome.artifact is not None, outcome.log
        _assert_told(kernel.version(version), outcome.log)


@pytest.mark.parametrize("name", NAMES)
def test_cuda_versions_spill_only_where_that_is_the_story(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that was recorded was built: its log is in the archive. Another one is built here."""
    runs, unseen = recorded_runs_matching(Store(KERNELS.parent / "reports"), read_kernel(KERNELS / name)), []
    for version in _cuda(name):
        stored = runs[version.name]
        if stored is None:
            unseen.append(version)
        else:
            _assert_told(version, stored.read("build.log").decode())
    if unseen:
        _build(read_kernel(KERNELS / name), unseen, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_newest_version_compiles(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _build(read_kernel(KERNELS / name), _cuda(name)[-1:], tmp_path, monkeypatch)
