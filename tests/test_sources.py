"""Sources that were meant as versions and are called otherwise: named, each with the command that mends it."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from kernel_folder import PYTHON_VERSION, write_kernel

from ncu_assist.sources import discover_versions, misnamed, name_beside, source_files, source_sha256

SIGN = "is not a version: its name is not v<number>_<idea>."


@pytest.mark.parametrize(
    ("files", "renamed"),
    [
        ({"v1.cu": "// Changes: one thread an element, no more\n"}, {"v1.cu": "v1_one_thread_an_element.cu"}),
        ({"v1.cu": ""}, {"v1.cu": "v1_idea.cu"}),
        ({"V1_x.cu": ""}, {"V1_x.cu": "v1_x.cu"}),
        ({"v1-x.cu": ""}, {"v1-x.cu": "v1_x.cu"}),
        ({"naive.cu": ""}, {"naive.cu": "v1_naive.cu"}),
        ({"vector_add.cu": ""}, {"vector_add.cu": "v1_vector_add.cu"}),
        ({"v0-x.cu": ""}, {"v0-x.cu": "v1_x.cu"}),  # 0 is taken
        ({"naive.cu": "", "v1.cu": ""}, {"naive.cu": "v2_naive.cu", "v1.cu": "v1_idea.cu"}),
        ({"2d_tile.cu": "", "3 x y.CU": ""}, {"2d_tile.cu": "v4_2d_tile.cu", "3 x y.CU": "v3_x_y.cu"}),
        ({"v1_naïve.cu": ""}, {"v1_naïve.cu": "v1_naive.cu"}),  # no folder of the archive can be called so
        ({"fast.py": PYTHON_VERSION}, {"fast.py": "v1_fast.py"}),
        ({"v3.py": ""}, {"v3.py": "v3_idea.py"}),
    ],
)
def test_each_is_named_with_a_free_name(tmp_path: Path, files: dict[str, str], renamed: dict[str, str]) -> None:
    folder = write_kernel(tmp_path, {"v0_torch.py": PYTHON_VERSION, **files})
    found = misnamed(folder)
    assert {one.path.name: one.name for one in found} == renamed
    for one in found:
        subprocess.run(shlex.split(one.command), check=True)
    assert misnamed(folder) == ()
    assert {"v0_torch", *(Path(name).stem for name in renamed.values())} == {v.name for v in discover_versions(folder)}


def test_the_first_file_is_no_v0(tmp_path: Path) -> None:
    """v0 is the version of a library: the number to beat."""
    folder = write_kernel(tmp_path, {"naive.cu": "", "other.cu": ""})
    assert [one.name for one in misnamed(folder)] == ["v1_naive.cu", "v2_other.cu"]
    (folder / "v0.cu").touch()
    assert "v0_idea.cu" in [one.name for one in misnamed(folder)], "who says 0 means it"


def test_what_belongs_to_a_version_is_left_in_peace(tmp_path: Path) -> None:
    write_kernel(
        tmp_path,
        {
            "v0_torch.py": f"import shared_tables\nfrom deep.er import x\n{PYTHON_VERSION}",
            "v1_tile.cu": '#include "tile.cuh"\n#include "body.cu"\n',
            "v2_loaded.py": 'SOURCES = ["extension.cu"]\n',
            "v3_old.CUH": "",
            "tile.cuh": '#include "inner.cu"\n',
            **dict.fromkeys(("inner.cu", "body.cu", "extension.cu", "_scratch.cu", ".#v1_tile.cu"), ""),
            **dict.fromkeys(("shared_tables.py", "deep.py", "plot.py", "__init__.py"), ""),
            "notes.md": "",
        },
    )
    assert misnamed(tmp_path / "kernels" / "add_one") == ()


def test_no_kernel_of_this_repository_has_one(repository: Path) -> None:
    for folder in (*(repository / "kernels").iterdir(), *(repository / "benchmarks/kernel_folders").iterdir()):
        assert misnamed(folder) == ()


def test_two_files_that_include_each_other_and_a_name_in_a_comment(tmp_path: Path) -> None:
    folder = write_kernel(tmp_path, {"v0_a.cu": "// faster than naive.cu\n", "naive.cu": '#include "naive.cu"\n'})
    assert [one.path.name for one in misnamed(folder)] == ["naive.cu"]
    assert re.search(SIGN, misnamed(folder)[0].problem)


def test_what_python_imports_from_beside_it_counts_but_never_the_reference(tmp_path: Path) -> None:
    (tmp_path / "v1_draft.py").write_text("import reference, tiles as t\nfrom shapes.wide import one\nimport torch\n")
    for name in ("reference", "tiles", "shapes", "others"):
        (tmp_path / f"{name}.py").write_text("import reference\n")
    found = source_files(tmp_path / "v1_draft.py")
    assert [path.name for path in found] == ["v1_draft.py", "shapes.py", "tiles.py"]


def test_headers_that_include_each_other_through_their_folders_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "v1_a.cu").write_text('#include "inc/x.cuh"\n#include "inc/../inc/y.cuh"\n')
    for name, other in (("x", "y"), ("y", "x")):
        (tmp_path / "inc" / f"{name}.cuh").write_text(f'#pragma once\n#include "../inc/{other}.cuh"\n')
    assert sorted(file.name for file in source_files(tmp_path / "v1_a.cu")) == ["v1_a.cu", "x.cuh", "y.cuh"]


@pytest.mark.parametrize("code", ["from helpers import K", "from helpers.tile import K", "import helpers.tile"])
@pytest.mark.parametrize("start", ["v1_a.py", "reference.py"])
def test_the_files_of_a_package_count(tmp_path: Path, code: str, start: str) -> None:
    package = tmp_path / "helpers"
    (package / "deep").mkdir(parents=True)
    own = tmp_path / start
    own.write_text(code + "\n")
    alone = source_sha256(own)
    (package / "__init__.py").write_text("from .tile import *\n")
    (package / "tile.py").write_text("from .deep import reference\nimport near\n")
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "reference.py").write_text("from ..more import K\n")
    (package / "more.py").write_text("K = 1\n")
    (package / "unused.py").write_text("")
    (tmp_path / "near.py").write_text("")
    names = {name_beside(own, file) for file in source_files(own)}
    parts = ("__init__.py", "tile.py", "more.py", "deep/__init__.py", "deep/reference.py")
    assert names == {start, "near.py", *(f"helpers/{part}" for part in parts)}
    before = source_sha256(own)
    (package / "more.py").write_text("K = 2\n")
    assert len({alone, before, source_sha256(own)}) == 3
