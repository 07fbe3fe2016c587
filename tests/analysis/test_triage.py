"""Where the time of a program goes: groups, gaps, copies, and which launch stands for a group."""

from __future__ import annotations

from pathlib import Path

import pytest
from traced import ADD, GEMM, MUL, STEP, Copied, Ran, write_nsys

from ncu_assist.analysis.triage import Triage, triage
from ncu_assist.render.words.triage import name_of, next_commands, profile_command, time_lines
from ncu_assist.trace import read_trace


def _triage(tmp_path: Path, kernels: tuple[Ran, ...] = STEP, copies: tuple[Copied, ...] = ()) -> Triage:
    return triage(read_trace(write_nsys(tmp_path / "a.sqlite", kernels, copies)), "train", "python train.py")


def test_groups_are_by_name_and_shape_the_most_time_first(tmp_path: Path) -> None:
    found = _triage(tmp_path)
    assert [(one.kernel, one.grid, one.launches, one.total_ns) for one in found.groups] == [
        (GEMM, (16, 8, 1), 3, 212_000),
        ("vectorized_elementwise_kernel", (512, 1, 1), 2, 30_000),
        ("vectorized_elementwise_kernel", (8, 1, 1), 1, 4_000),
    ]
    assert sum(one.share for one in found.groups) == pytest.approx(1)
    assert [one.cumulative for one in found.groups] == pytest.approx([212 / 246, 242 / 246, 1])
    assert [one.library.words for one in found.groups if one.library] == [
        "TF32 matrix product of cuBLAS", *["elementwise operation of PyTorch"] * 2
    ]  # fmt: skip


def test_one_launch_stands_for_its_group(tmp_path: Path) -> None:
    """Neither the first, which is cold, nor one that is far off; counted as ncu counts, by the function's name."""
    found = _triage(tmp_path)
    assert [one.skip for one in found.groups] == [1, 2, 1]
    times = (900, 30, 10, 500, 11, 12, 9)
    odd = tuple(Ran("a()", 1000 * place, took) for place, took in enumerate(times))
    assert _triage(tmp_path, odd).groups[0].skip == 1, "30 µs: between the quartiles of all but the first"
    even = tuple(Ran("a()", 1000 * place, took) for place, took in enumerate((900, 500, 10, 10, 10)))
    assert _triage(tmp_path, even).groups[0].skip == 2


def test_template_arguments_make_groups_and_not_names(tmp_path: Path) -> None:
    found = _triage(tmp_path, (Ran(ADD, 0, 5), Ran(MUL, 10, 4), Ran(ADD, 20, 5)))
    assert [one.signature for one in found.groups] == [ADD, MUL]
    assert [one.skip for one in found.groups] == [2, 1], "ncu counts both: they are called alike"
    assert [name_of(found, one)[:46] for one in found.groups] == [
        "vectorized_elementwise_kernel<4, CUDAFunctor_a",
        "vectorized_elementwise_kernel<4, MulFunctor<fl",
    ]


def test_runs_of_a_group_have_names_of_their_own(tmp_path: Path) -> None:
    found = _triage(tmp_path)
    names = [found.archived_as(place) for place in range(3)]
    assert names == [
        "train_sm90_xmma_gemm_f32f32_tf32f32_f32__5c422f",
        "train_vectorized_elementwise_kernel_512x1x1",
        "train_vectorized_elementwise_kernel_8x1x1",
    ]


def test_long_names_that_begin_alike_stay_apart(tmp_path: Path) -> None:
    """Products of cuBLAS have names of a hundred letters, which are folders of the archive here."""
    long = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_"
    launched = (Ran(f"{long}a", 0, 9, (1, 1, 1)), Ran(f"{long}b", 10, 8), Ran(f"{long}b", 20, 7, (2, 2, 1)))
    found = _triage(tmp_path, launched)
    names = [found.archived_as(place) for place in range(3)]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 100
    assert names[1].endswith("_64x1x1")
    assert names[2].endswith("_2x2x1")


def test_time_is_of_kernels_copies_and_nothing(tmp_path: Path) -> None:
    kernels = (Ran("a()", 0, 100), Ran("b()", 50, 100), Ran("c()", 1150, 50))
    found = _triage(tmp_path, kernels, (Copied("HtoD", 140, 60, 1 << 20, "Pageable"),))
    time = found.time
    assert time is not None
    assert (time.span_ns, time.kernels_ns, time.copies_ns, time.idle_ns) == (1_200_000, 200_000, 50_000, 950_000)
    assert [(gap.at_ns, gap.duration_ns, gap.after, gap.before) for gap in time.longest] == [
        (200_000, 950_000, "H2D copy", "c")
    ]
    assert [(band.least_ns, band.most_ns, band.gaps) for band in time.bands] == [(100_000, 1_000_000, 1)]


def test_a_long_kernel_beside_short_ones_leaves_no_gap(tmp_path: Path) -> None:
    found = _triage(tmp_path, (Ran("long()", 0, 1000), Ran("a()", 10, 5), Ran("b()", 100, 5), Ran("c()", 1010, 5)))
    assert found.time is not None
    assert [(gap.duration_ns, gap.after) for gap in found.time.longest] == [(10_000, "long")]


def test_the_busiest_gpu_is_shown(tmp_path: Path) -> None:
    found = _triage(tmp_path, (Ran("a()", 0, 10), Ran("a()", 5, 100, device=1), Ran("a()", 205, 100, device=1)))
    assert found.time is not None
    assert (found.gpus, found.time.span_ns, found.launches) == (2, 300_000, 3)
    assert found.notes == ("times of GPU 1, the busiest of 2",)


def test_idle_time_is_explained_by_the_length_of_its_gaps(tmp_path: Path) -> None:
    launches = _triage(tmp_path, tuple(Ran("a()", 10 * place, 2) for place in range(50)))
    data = _triage(tmp_path, tuple(Ran("a()", 9000 * place, 20) for place in range(5)))
    busy = _triage(tmp_path, tuple(Ran("a()", 10 * place, 10) for place in range(50)))
    assert "CUDA graph" in list(time_lines(launches))[-1]
    assert "no faster kernel shortens them" in list(time_lines(data))[-1]
    assert list(time_lines(busy)) == ["the GPU: kernels 100 % (500 µs)"]


def test_commands_can_be_typed(tmp_path: Path) -> None:
    found = _triage(tmp_path)
    assert next_commands(found) == (
        "ncu-assist triage --profile-top 3 -- python train.py",
        f"ncu-assist profile --kernel {found.archived_as(0)} --filter {GEMM} --skip-launches 1 --max-launches 1 "
        "-- python train.py",
    )
    assert "--skip-launches 2 --max-launches 1" in profile_command(found, 1)


def test_savings_are_of_the_whole_program(tmp_path: Path) -> None:
    found = _triage(tmp_path)
    saved, share = found.saving(0, 2.0)
    assert found.time is not None
    assert (saved, share) == (106_000, 106_000 / found.time.span_ns)
