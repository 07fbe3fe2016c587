"""The repository stays one that can be carried: quotas on what git tracks, and on what is published of it."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MB = 1_000_000
RECORDED_SINCE = (
    4  # pairs on the chip, eight versions of gemm_bias_gelu, nine of flash_attention, the deferred decode: 4 MB each
)
TREE, SDIST, WHEEL = (36 + 4 * RECORDED_SINCE) * MB, 5 * MB, 2 * MB
DEMO, DEMO_MOST = ("kernels/softmax/", "reports/softmax/"), 4 * MB  # in the wheel, beside the package
OF_THE_SDIST = ("ncu_assist/", "prompts/", "README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "hatch_build.py")


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    """The size of each tracked file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    if listed.returncode or not names:
        pytest.skip("not a checkout: nothing is tracked")
    return {name: (ROOT / name).stat().st_size for name in names if (ROOT / name).is_file()}


def test_the_tracked_tree(sizes: dict[str, int]) -> None:
    heaviest = sorted(sizes, key=lambda name: -sizes[name])[:10]
    assert sum(sizes.values()) <= TREE, [(name, sizes[name]) for name in heaviest]


def test_what_is_published(sizes: dict[str, int]) -> None:
    """Each file is packed by itself, so that nothing has to be built; an archive of them all is no larger."""

    def packed(*starts: str) -> int:
        return sum(len(zlib.compress((ROOT / name).read_bytes())) for name in sizes if name.startswith(starts))

    assert packed(*OF_THE_SDIST, *DEMO) <= SDIST
    assert packed("ncu_assist/") <= WHEEL
    assert sum(size for name, size in sizes.items() if name.startswith(DEMO)) <= DEMO_MOST
