"""The user's own line of instructions that stand in a library's file."""

from __future__ import annotations

from pathlib import Path, PurePath

import pandas as pd
import pytest
from patience import grows_linearly

from ncu_assist import read_report
from ncu_assist.ncu.code import Code, read_code
from ncu_assist.rules.model.places import LIBRARY, own_lines

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.slow
def test_the_library_of_triton_is_put_down_to_the_users_kernels() -> None:
    code = read_code(read_report(DATA / "triton_full_h200_2025.3.1.ncu-rep.zst"), [0, 1])
    assert code is not None
    before = {PurePath(str(one)).name for one in code.sass["file"].dropna().unique()}
    assert {"standard.py", "triton_helpers.py"} < before
    after = {PurePath(str(one)).name for one in own_lines(code)["file"].dropna().unique()}
    assert after == before - {"standard.py", "triton_helpers.py", "libdevice.py"}
    assert len(after) == 2


@pytest.mark.slow
def test_triton_does_not_say_who_calls() -> None:
    code = read_code(read_report(DATA / "triton_full_h200_2025.3.1.ncu-rep.zst"), [0, 1])
    assert code is not None
    of_library = code.sass["file"].astype(str).str.contains(LIBRARY.pattern)
    assert of_library.sum() > 300
    assert (own_lines(code)["is_guess"] == of_library).all()


def test_the_line_that_ncu_names_where_it_is_own_else_the_innermost_of_a_chain() -> None:
    """Since 2025 ncu names the caller of inlined code: lines of findings are those of its source page."""
    header, own = ("/usr/include/lib.h", 7), [("kernel.cu", line) for line in (1, 2, 3)]
    chains = [(own[0],), (header, header, own[1], own[2]), (own[1], own[0]), (header,), None]
    files = ["kernel.cu", header[0], "kernel.cu", header[0], None]
    sass = pd.DataFrame({"launch": 0, "kernel": "k", "sass": "MOV R1, R2", "file": files, "line": [1, 7, 1, 7, None]})
    texts = dict.fromkeys(own, "text")
    found = own_lines(Code(sass.assign(chain=pd.Series(chains, dtype=object)), texts))
    assert found["line"].tolist()[:4] == [1, 2, 1, 1]
    assert set(found["file"][:4]) == {"kernel.cu"}
    assert found["is_guess"].tolist()[:4] == [False, False, False, True]


def test_a_chain_of_libraries_alone_is_left_as_it_is() -> None:
    chain = (("/usr/include/lib.h", 7), ("/usr/include/other.h", 8))
    sass = pd.DataFrame({"launch": 0, "kernel": "k", "sass": "MOV R1, R2", "file": [chain[0][0]], "line": [7]})
    found = own_lines(Code(sass.assign(chain=pd.Series([chain], dtype=object)), {}))
    assert (found["file"][0], found["line"][0], found["is_guess"][0]) == ("/usr/include/lib.h", 7, False)


@pytest.mark.parametrize(
    ("file", "is_library"),
    [
        ("/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/cuda_bf16.hpp", True),
        ("/usr/local/cuda/include/crt/mma.hpp", True),
        ("/venv/lib/python3.11/site-packages/triton/language/standard.py", True),
        ("/src/torch/_inductor/runtime/triton_helpers.py", True),
        ("/home/me/project/include/kernels.cuh", False),
        ("/tmp/torchinductor_me/c6/c62c5.py", False),
        ("kernel.cu", False),
    ],
)
def test_what_is_a_library(file: str, is_library: bool) -> None:
    assert bool(LIBRARY.search(file)) == is_library


def test_long_code_of_a_library_takes_no_time() -> None:
    """Results that follow one another through a library are followed once, however many ways lead there."""

    def follow(size: int) -> None:
        texts = ["LDG.E R0, [R2] ;"] + ["FADD R0, R0, R0 ;", "FADD R1, R0, R0 ;"] * (size // 2) + ["FADD R3, R0, R1 ;"]
        files = ["kernel.cu", *["/usr/include/lib.h"] * size, "kernel.cu"]
        lines = [1, *[7] * size, 2]
        sass = pd.DataFrame({"launch": 0, "kernel": "k", "sass": texts, "file": files, "line": lines})
        found = own_lines(Code(sass, {("kernel.cu", 1): "a", ("kernel.cu", 2): "b"}))
        assert set(found["file"]) == {"kernel.cu"}
        assert found["line"].tolist() == [1] + [2] * (size + 1)

    follow(4000)
    assert grows_linearly(follow, 200)


def test_an_instruction_without_code_ends_nothing() -> None:
    header, own = "/usr/include/lib.h", "kernel.cu"
    rows = {"sass": [None, "MOV R1, R2", None], "file": [own, header, header], "line": [1, 7, 8]}
    sass = pd.DataFrame({"launch": 0, "kernel": "k", **rows})
    found = own_lines(Code(sass, {(own, 1): "text"}))
    assert found["file"].tolist() == [own] * 3
