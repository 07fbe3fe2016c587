"""Launches of two runs in pairs: by range, name, order; nothing lost, the same from both sides, and quickly."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from factories import launch
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import grows_linearly

from ncu_assist.analysis.diff import LaunchPair, pair_launches
from ncu_assist.analysis.diff.pairing import gaps
from ncu_assist.record import Launch

Made = tuple[str, tuple[str, ...]]
MANY = 2_000


def launches(*made: str | Made, grid: int = 1) -> list[Launch]:
    """Make launches of a foreign program, each from its signature, or from that and the ranges it is in."""
    named = [one if isinstance(one, tuple) else (one, ()) for one in made]
    return [
        launch(i, name.partition("(")[0], None, signature=name, ranges=ranges, grid=(grid, 1, 1))  # type: ignore[arg-type]
        for i, (name, ranges) in enumerate(named)
    ]


def ours(version: str, *kernels: str, workload: str = "small") -> list[Launch]:
    ranges = ("ncu-assist", f"{version}|{workload}")
    return [launch(i, kernel, workload, signature=kernel, ranges=ranges) for i, kernel in enumerate(kernels)]


def short(pairs: Sequence[LaunchPair]) -> list[tuple[str, str, str]]:
    """Say each pair in short: the kernels of both sides, with their places, and the confidence."""
    return [(places(pair.baseline), places(pair.candidate), pair.confidence) for pair in pairs]


def places(side: Sequence[Launch]) -> str:
    return " ".join(f"{one.signature}{one.index}" for one in side)


def test_a_range_of_one_launch_a_side_pairs_whatever_it_is_called() -> None:
    paired = pair_launches(launches(("a", ("step", "norm")), "b"), launches("b", ("c", ("step", "norm"))))
    assert short(paired.pairs) == [("a0", "c1", "nvtx"), ("b1", "b0", "exact")]
    assert [pair.range for pair in paired.pairs] == [("step", "norm"), ()]


def test_the_workload_pairs_versions_of_a_kernel() -> None:
    paired = pair_launches(ours("v1_a", "slow"), ours("v2_b", "quick"))
    assert short(paired.pairs) == [("slow0", "quick0", "nvtx")]
    assert paired.pairs[0].range == ("small",)
    other = pair_launches(ours("v1_a", "slow"), ours("v2_b", "quick", workload="odd"))
    assert [pair.confidence for pair in other.pairs] == ["order"]


def test_a_bare_report_of_ours_pairs_the_version_before_the_workload() -> None:
    v1, v2, v3 = (("k", ("ncu-assist", f"v{n}|small")) for n in (1, 2, 3))
    paired = pair_launches(launches(v1, v2), launches(v2, v3))
    assert short(paired.pairs) == [("k0", "k1", "nvtx"), ("k1", "k0", "nvtx")]


def test_the_innermost_ranges_count_where_an_outer_one_differs() -> None:
    before = launches(("a", ("old", "fwd", "norm")), ("b", ("old", "bwd", "norm")))
    after = launches(("c", ("new", "bwd", "norm")), ("d", ("new", "fwd", "norm")))
    paired = pair_launches(before, after)
    assert short(paired.pairs) == [("a0", "d1", "nvtx"), ("b1", "c0", "nvtx")]
    assert paired.pairs[0].range == ("fwd", "norm")


def test_within_a_range_names_pair_and_the_rest_stands_together() -> None:
    before = launches(*((kernel, ("r",)) for kernel in "xyazw"))
    after = launches(*((kernel, ("r",)) for kernel in "paq"))
    assert short(pair_launches(before, after).pairs) == [
        ("x0 y1", "p0", "order"),
        ("a2", "a1", "exact"),
        ("z3 w4", "q2", "order"),
    ]
    rest = pair_launches(launches(*((k, ("r",)) for k in "xya")), launches(*((k, ("r",)) for k in "ap")))
    assert short(rest.pairs) == [("x0 y1", "p1", "nvtx"), ("a2", "a0", "exact")]


def test_a_chain_fused_into_one_kernel_is_one_step() -> None:
    paired = pair_launches(ours("v1_a", "add", "softmax", "scale"), ours("v2_b", "softmax"))
    assert short(paired.pairs) == [("add0 softmax1 scale2", "softmax0", "nvtx")]
    foreign = pair_launches(launches(*((k, ("r",)) for k in "abc")), launches(("abc", ("r",))))
    assert short(foreign.pairs) == [("a0 b1 c2", "abc0", "nvtx")]
    gone = pair_launches(launches(*((k, ("r",)) for k in "abc")), launches(("b", ("r",))))
    assert (short(gone.pairs), places(gone.only_baseline)) == ([("b1", "b0", "exact")], "a0 c2")
    repeated = pair_launches(ours("v1_a", "k", "k", "k"), ours("v2_b", "k"))
    assert short(repeated.pairs) == [("k0", "k0", "exact")]
    assert [one.index for one in repeated.only_baseline] == [1, 2]


def test_several_kernels_that_nothing_pairs_are_left_and_never_added_up() -> None:
    for before, after in (("abc", "d"), ("ab", "cd"), ("axy" * 3, "az" * 3)):
        paired = pair_launches(launches(*before), launches(*after))
        assert {pair.confidence for pair in paired.pairs} <= {"exact"}
        assert all(len(pair.baseline) == len(pair.candidate) == 1 for pair in paired.pairs)
        assert {one.kernel for one in paired.only_baseline} == set(before) - set(after)
        assert {one.kernel for one in paired.only_candidate} == set(after) - set(before)


def test_one_kernel_on_each_side_pairs_by_place() -> None:
    assert short(pair_launches(launches("naive"), launches("quick")).pairs) == [("naive0", "quick0", "order")]
    paired = pair_launches(launches("naive"), launches(*["quick"] * 3))
    assert short(paired.pairs) == [("naive0", "quick0", "order")]
    assert places(paired.only_candidate) == "quick1 quick2"


def test_another_function_beside_launches_that_pair_is_other_work() -> None:
    paired = pair_launches(launches("set", "naive", "naive"), launches("quick", "quick", "set"))
    assert short(paired.pairs) == [("set0", "set2", "exact")]
    assert (places(paired.only_baseline), places(paired.only_candidate)) == ("naive1 naive2", "quick0 quick1")
    between = pair_launches(launches(*"axbyc"), launches(*"apbqc"))
    assert short(between.pairs) == [("a0", "a0", "exact"), ("b2", "b2", "exact"), ("c4", "c4", "exact")]
    assert (places(between.only_baseline), places(between.only_candidate)) == ("x1 y3", "p1 q3")
    ranged = pair_launches(launches(("a", ("r",)), "x"), launches(("b", ("r",)), "y"))
    assert short(ranged.pairs) == [("a0", "b0", "nvtx")]
    assert gaps([1, 4], [1, 4], [(0, 0), (2, 3), (3, 2), (5, 5)]) == [([1, 4], [1, 4])]


def test_a_range_of_both_and_a_workload_say_that_the_rest_is_the_same_work() -> None:
    foreign = pair_launches(*(launches(*((kernel, ("r",)) for kernel in side)) for side in ("axb", "apb")))
    assert short(foreign.pairs)[1] == ("x1", "p1", "order")
    called = pair_launches(ours("v1_a", "set", "naive"), ours("v2_b", "set", "quick"))
    assert short(called.pairs) == [("set0", "set0", "exact"), ("naive1", "quick1", "order")]


def test_one_kernel_pairs_shape_by_shape() -> None:
    small, large = launches("naive", grid=1), launches("naive", grid=9)
    other = [*launches("quick", grid=9), *launches("quick", grid=1)]
    assert [pair.candidate[0].grid[0] for pair in pair_launches([*small, *large], other).pairs] == [1, 9]
    coarser = [*launches("quick", grid=3), *launches("quick", grid=5)]
    assert [pair.candidate[0].grid[0] for pair in pair_launches([*small, *large], coarser).pairs] == [3, 5]


def levels(*grids: int, kernel: str = "merge", others: Sequence[str] = ()) -> list[Launch]:
    """Make launches of one kernel in these grids, with others behind."""
    made = [*((kernel, grid) for grid in grids), *((name, 1) for name in others)]
    return [
        launch(i, name, None, signature=name, ranges=(), grid=(grid, 1, 1))  # type: ignore[arg-type]
        for i, (name, grid) in enumerate(made)
    ]


def test_levels_correspond_if_there_are_as_many() -> None:
    same = pair_launches(levels(64, 16, 4), levels(128, 32, 8))
    assert short(same.pairs) == [(f"merge{i}", f"merge{i}", "base-name") for i in range(3)]
    sort = pair_launches(levels(64, 16, 4, 3, 3, others=["init"]), levels(8, 8, 8, others=["init"]))
    assert short(sort.pairs) == [("init5", "init3", "exact")]
    assert (len(sort.only_baseline), len(sort.only_candidate)) == (5, 3)


def test_as_many_shapes_correspond_however_often_each_was_launched() -> None:
    paired = pair_launches(levels(64, 64, 64, 4), levels(32, 2))
    assert short(paired.pairs) == [("merge0", "merge0", "base-name"), ("merge3", "merge1", "base-name")]
    assert places(paired.only_baseline) == "merge1 merge2"
    repeated = pair_launches(levels(8, 8, 64), levels(8, 32))  # the second is the first again, and no level of its own
    assert short(repeated.pairs) == [("merge0", "merge0", "exact"), ("merge2", "merge1", "base-name")]


def test_no_level_pairs_with_one_on_the_other_side_of_a_pair() -> None:
    """The first of the larger sort has no partner, nor has the last of the smaller one."""
    paired = pair_launches(levels(64, 16, 4), levels(16, 4, 1))
    assert short(paired.pairs) == [("merge1", "merge0", "exact"), ("merge2", "merge1", "exact")]
    assert (places(paired.only_baseline), places(paired.only_candidate)) == ("merge0", "merge2")


def test_a_renamed_kernel_pairs_by_order_only_where_shapes_or_launches_are_as_many() -> None:
    assert len(pair_launches(levels(64, 16, 4), levels(8, 8, 8, kernel="quick")).pairs) == 3
    assert not pair_launches(levels(64, 16, 4), levels(8, kernel="quick")).pairs
    assert not pair_launches(levels(64, 16, 4), levels(8)).pairs  # nor by order what has one name


def test_close_names_pair_the_closest_first_and_the_rest_is_left() -> None:
    before = launches("init_data", "sgemm_naive", "void n::transpose_naive<float>(T *)", "histogram")
    after = launches("transpose_tiled_kernel", "sgemm_tiled_kernel", "scan_blocks", "init_data")
    paired = pair_launches(before, after)
    assert [(p.baseline[0].index, p.candidate[0].index, p.confidence) for p in paired.pairs] == [
        (0, 3, "exact"),
        (1, 1, "similar"),
        (2, 0, "similar"),
    ]
    assert (places(paired.only_baseline), places(paired.only_candidate)) == ("histogram3", "scan_blocks2")
    more = pair_launches(before, [*after, *launches("reduce_sum")])
    assert (places(more.only_baseline), places(more.only_candidate)) == ("histogram3", "scan_blocks2 reduce_sum0")


BEAMS = (  # kernels of IndexSpaces.jl at two commits, as ncu names them
    "julia__5_6739(CuKernelContext, CuDeviceArray<Int4x8, (int)1, (int)1>, Int4x8)",
    "julia_bb_4477(CuDeviceArray<Int8x4, (int)1, (int)1>, CuDeviceArray<Int32, (int)1, (int)1>)",
)
BURSTS = (
    "julia__5_11155(CuKernelContext, CuDeviceArray<Float16x2, (int)1, (int)1>, Float16x2)",
    "julia__5_11236(CuKernelContext, CuDeviceArray<Int4x8, (int)1, (int)1>, Int4x8)",
    "julia_frb_5885(CuDeviceArray<Int32, (int)1, (int)1>, CuDeviceArray<Float16x2, (int)1, (int)1>)",
)


def test_the_start_that_a_compiler_gives_all_names_makes_no_two_alike() -> None:
    paired = pair_launches(launches(*BEAMS, grid=84), launches(*BURSTS, grid=5397))
    assert short(paired.pairs) == [(f"{BEAMS[0]}0", f"{BURSTS[1]}1", "base-name")]
    assert (paired.only_baseline[0].signature, len(paired.only_baseline)) == (BEAMS[1], 1)
    assert [one.signature for one in paired.only_candidate] == [BURSTS[0], BURSTS[2]]


def test_numbers_of_a_compiler_are_not_compared() -> None:
    for before, after in (
        ("julia_bb_4477(CuDeviceArray<Int8x4>)", "julia_bb_5102(CuDeviceArray<Int8x4>)"),
        ("triton_poi_fused_add_3", "triton_poi_fused_add_11"),
        ("input_reduce_fusion_92", "input_reduce_fusion_116"),
        ("tvmgen_default_fused_nn_dense_add_1_kernel", "tvmgen_default_fused_nn_dense_add_2_kernel"),
        ("clamp_kernel_abc510a6_cuda_kernel_forward", "clamp_kernel_2c1ddbb7_cuda_kernel_forward"),
    ):
        paired = pair_launches(launches("init", before), launches("init", after))
        assert [pair.confidence for pair in paired.pairs] == ["exact", "base-name"], before


def test_kernels_of_a_library_are_no_likeness_of_ones_own() -> None:
    """A program that holds its own product against cuBLAS has the same word in both; the other's is another kernel."""
    cublas, cutlass = "ampere_sgemm_128x64_nn", "void cutlass::Kernel<cutlass_80_simt_sgemm_128x256_8x4_tt_align1>(T1)"
    paired = pair_launches(launches("sgemm_naive", cublas), launches(cublas, "sgemm_tiled"))
    assert [pair.confidence for pair in paired.pairs] == ["similar", "exact"]
    paired = pair_launches(launches("fill", "sgemm_naive"), launches("fill", cublas))
    assert (places(paired.only_baseline), places(paired.only_candidate)) == ("sgemm_naive1", f"{cublas}1")
    paired = pair_launches(launches("fill", cublas), launches("fill", cutlass))
    assert [pair.confidence for pair in paired.pairs] == ["exact", "similar"]


def test_of_several_kernels_with_one_name_for_the_work_none_is_guessed() -> None:
    """Also one that is in both programs, or in a range, is one of them."""
    ladder = launches("sgemm_naive", "sgemm_coalesced"), launches("sgemm_naive", "sgemm_tiled")
    paired = pair_launches(*ladder)
    assert short(paired.pairs) == [("sgemm_naive0", "sgemm_naive0", "exact")]
    assert (places(paired.only_baseline), places(paired.only_candidate)) == ("sgemm_coalesced1", "sgemm_tiled1")
    ranged = [launches((name, ("r",)), f"conv_{how}") for name, how in (("conv_ref", "direct"), ("conv_ref", "tiled"))]
    assert short(pair_launches(*ranged).pairs) == [("conv_ref0", "conv_ref0", "nvtx")]


def test_a_word_that_every_kernel_has_makes_no_two_alike() -> None:
    paired = pair_launches(launches("VecAdd_kernel"), launches("init_data_kernel", "daxpy_kernel", "check_kernel"))
    assert paired.pairs == ()


def test_one_kernel_in_a_foreign_range_is_not_added_up() -> None:
    """Its launches repeat the work as far as anyone can tell; a call of a version does its work once."""
    paired = pair_launches(launches(("naive", ("r",))), launches(*[("quick", ("r",))] * 3))
    assert short(paired.pairs) == [("naive0", "quick0", "order")]
    call = pair_launches(ours("v1_a", "whole"), ours("v2_b", "slice", "slice", "slice"))
    assert short(call.pairs) == [("whole0", "slice0 slice1 slice2", "nvtx")]


def test_repeats_pair_by_occurrence_and_the_rest_is_said() -> None:
    paired = pair_launches(launches(*"kkak"), launches(*"akk"))
    assert short(paired.pairs) == [("k0", "k1", "exact"), ("k1", "k2", "exact"), ("a2", "a0", "exact")]
    assert (places(paired.only_baseline), paired.only_candidate) == ("k3", ())


def test_names_pair_from_the_whole_to_the_least() -> None:
    before = ["void n::f<float, (int)2>(T *)", "void n::f<float, (int)4>(T *)", "void n::g<float>(T *)", "k_0d1d2"]
    after = ["k_0d1", "void m::g<float>(T *)", "void n::f<double, (int)8>(T *)", "void n::f<float, (int)4>(T *)"]
    paired = pair_launches(launches(*before), launches(*after, grid=7))
    assert [(p.baseline[0].index, p.candidate[0].index) for p in paired.pairs] == [(0, 2), (1, 3), (2, 1), (3, 0)]
    assert {pair.confidence for pair in paired.pairs} == {"base-name"}


def test_shape_tells_launches_of_one_kernel_apart() -> None:
    small, large = launches("k", grid=1), launches("k", grid=9)
    paired = pair_launches([*small, *large], [*large, *small])
    assert [pair.baseline[0].grid for pair in paired.pairs] == [pair.candidate[0].grid for pair in paired.pairs]
    assert {pair.confidence for pair in paired.pairs} == {"exact"}
    assert pair_launches(small, large).pairs[0].confidence == "base-name"


def test_inductors_numbers_follow_the_shape() -> None:
    before = [*launches("triton_poi_fused_add_0", grid=4), *launches("triton_poi_fused_add_1", grid=8)]
    after = [*launches("triton_poi_fused_add_1", grid=4), *launches("triton_poi_fused_add_2", grid=8)]
    pairs = pair_launches(before, after).pairs
    assert [pair.baseline[0].grid for pair in pairs] == [pair.candidate[0].grid for pair in pairs]


def test_library_kernels_of_other_tiles_are_no_name_match() -> None:
    one, other = "nvjet_sm90_hsh_64x48_64x15_2x4_h_bz_NNT", "nvjet_sm90_hsh_128x8_64x12_2x1_v_bz_TNT"
    assert pair_launches(launches(one), launches(other)).pairs[0].confidence == "similar"


def test_launches_in_other_shared_ranges_are_not_paired_by_order() -> None:
    paired = pair_launches(
        launches(("a", ("r",)), ("b", ("r",)), ("x", ("r",)), ("c", ("s",)), ("d", ("s",))),
        launches(("a", ("r",)), ("b", ("r",)), ("y", ("s",)), ("c", ("s",)), ("d", ("s",))),
    )
    assert (places(paired.only_baseline), places(paired.only_candidate)) == ("x2", "y2")


KERNELS = st.sampled_from(
    [
        "a",
        "b",
        "scan_rows",
        "scan_naive",
        "scan_v2(int)",
        "void n::f<(int)2>(int)",
        "void n::f<(int)4>(int)",
        "k_0d1d2",
        "k_0d1",
    ]
)
RANGES = st.sampled_from([(), ("r",), ("r", "s"), ("t", "s"), ("ncu-assist", "v1|w"), ("ncu-assist", "v2|w")])
SIDES = st.lists(st.tuples(KERNELS, RANGES), max_size=14).map(lambda made: launches(*made))


@settings(max_examples=300, deadline=None)
@given(SIDES, SIDES)
def test_every_launch_is_in_one_place_and_the_sides_are_alike(before: list[Launch], after: list[Launch]) -> None:
    paired = pair_launches(before, after)
    assert all(pair.baseline and pair.candidate for pair in paired.pairs)
    for side, whole, rest in (("baseline", before, paired.only_baseline), ("candidate", after, paired.only_candidate)):
        found = [one.index for pair in paired.pairs for one in getattr(pair, side)] + [one.index for one in rest]
        assert sorted(found) == [one.index for one in whole]
    assert pair_launches(before, after) == paired
    back = pair_launches(after, before)
    assert {LaunchPair(p.candidate, p.baseline, p.confidence, p.range) for p in back.pairs} == set(paired.pairs)
    assert (back.only_candidate, back.only_baseline) == (paired.only_baseline, paired.only_candidate)


@settings(max_examples=100, deadline=None)
@given(SIDES)
def test_a_run_against_itself_pairs_each_launch_with_itself(side: list[Launch]) -> None:
    paired = pair_launches(side, side)
    assert [(p.baseline, p.candidate) for p in paired.pairs] == [((one,), (one,)) for one in side]
    assert {pair.confidence for pair in paired.pairs} <= {"nvtx", "exact"}


def test_thousands_of_launches_are_paired_in_time() -> None:
    draw = random.Random(3).randrange
    deep = tuple(f"s{i}" for i in range(50))
    shapes = {
        "all alike": lambda i: "k",
        "nothing alike": lambda i: f"kernel_{draw(10**9)}",
        "one word alike": lambda i: f"reduce_{''.join(chr(97 + draw(26)) for _ in range(6))}",
        "a few kernels": lambda i: f"k{draw(20)}",
        "in ranges": lambda i: (f"k{draw(500)}", (f"s{draw(300)}", "x")),
        "in deep ranges": lambda i: (f"k{draw(500)}", (*deep, f"s{draw(300)}")),
    }

    def pair(one: Callable[[int], str | Made], size: int) -> None:
        pair_launches(*(launches(*map(one, range(size))) for _ in range(2)))

    for name, one in shapes.items():
        pair(one, MANY)
        assert grows_linearly(partial(pair, one), 100), name
