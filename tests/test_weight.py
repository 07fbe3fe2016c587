"""The repository stays one that can be carried: quotas on what git tracks, and on what is published of it."""

from __future__ import annotations

import re
import subprocess
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MB = 1_000_000
# 4 MB for each piece of work that records: pairs on the chip, gemm_bias_gelu, flash_attention with the deferred decode,
# traces of whole programs, compute-sanitizer's findings, and the closed loop with its runs, replies and proofs.
RECORDED_SINCE = 6
TREE, SDIST, WHEEL = (36 + 4 * RECORDED_SINCE) * MB, 5 * MB, 2 * MB
FORM = re.compile(r"kernels/\w+/(kernel\.toml|reference\.py|v0_\w+\.\w+)")  # of a shipped kernel, for new --like
DEMO, DEMO_MOST = ("kernels/softmax/", "reports/softmax/"), 4 * MB  # in the wheel, beside the package
OF_THE_SDIST = (
    *("ncu_assist/", "prompts/", "README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff", "SECURITY.md"),
    "hatch_build.py",
    "docs/man_page.py",
)


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
        names = (name for name in sizes if name.startswith(starts) or (starts[1:] and FORM.fullmatch(name)))
        return sum(len(zlib.compress((ROOT / name).read_bytes())) for name in names)

    assert packed(*OF_THE_SDIST, *DEMO) <= SDIST
    assert packed("ncu_assist/", *DEMO) <= WHEEL + DEMO_MOST
    assert packed("ncu_assist/") <= WHEEL
    assert sum(size for name, size in sizes.items() if name.startswith(DEMO)) <= DEMO_MOST


def test_an_sdist_holds_what_it_should_and_nothing_by_chance(sizes: dict[str, int]) -> None:
    from hatchling.builders.sdist import SdistBuilder

    held = {one.distribution_path for one in SdistBuilder(str(ROOT)).recurse_included_files()}
    own = {name for name in sizes if name.startswith((*OF_THE_SDIST, *DEMO)) or FORM.fullmatch(name)}
    assert {"SECURITY.md", "README.md", "hatch_build.py", "docs/man_page.py", "prompts/task.md.j2"} <= own
    assert own - held == set()
    assert {name for name in held if name in sizes} - own == set()


def test_links_of_the_readme_are_absolute_where_the_address_is_known(tmp_path: Path) -> None:
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    def built(address: str) -> ProjectMetadata[PluginManager]:
        said = (ROOT / "pyproject.toml").read_text()
        folder = tmp_path / ("set" if address else "not set")
        folder.mkdir()
        (folder / "pyproject.toml").write_text(re.sub(r'(?m)^address = "[^"]*"', f'address = "{address}"', said))
        for name in ("hatch_build.py", "README.md", "LICENSE"):
            (folder / name).write_bytes((ROOT / name).read_bytes())
        return ProjectMetadata(str(folder), PluginManager())

    relative = re.compile(r"\]\((?!https?://|#)([^)]+)\)")
    plain, told = built(""), built("https://example.org/us/tool/")
    assert plain.core.readme == (ROOT / "README.md").read_text()
    assert plain.core.urls == {}
    assert len(relative.findall(plain.core.readme)) > 20
    assert relative.findall(told.core.readme) == []
    assert "![The page of a diff: which version is faster, and why](https://example.org/us/tool/raw/HEAD/docs/" in (
        told.core.readme
    )
    assert "(https://example.org/us/tool/blob/HEAD/docs/guide/kernels.md)" in told.core.readme
    assert told.core.urls["Source"] == "https://example.org/us/tool"
