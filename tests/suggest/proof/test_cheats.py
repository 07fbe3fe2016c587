"""The judge of counters and times: recorded versions pass, each way of cheating is named, near misses are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import launch
from made_counters import side as counters

from ncu_assist.ceilings import shipped
from ncu_assist.frame import Combined, combine, combine_launches
from ncu_assist.record import WorkloadFacts
from ncu_assist.store import Store, StoredRun
from ncu_assist.suggest.proof.judging import CHEATS, CheatCase, MeasuredSide, cheating, judge, library_of

RECORDED = Store(Path(__file__).parents[3] / "reports").runs("lightning_decode")
HONEST = [pytest.param(stored, id=stored.run.version) for stored in RECORDED if stored.run.machine is None]
WORKLOAD = "b64_d96"
H200 = next(c for c in shipped() if "H200" in c.device.name)
TENSOR = next(rate for rate in H200.rates if (rate.kind, rate.source) == ("tensor", "events"))
KNOWN = replace(H200, rates=(replace(TENSOR, name="wgmma_bf16", per_second=60e12),))
WORK = WorkloadFacts("small", "float32", {}, 300_000_000, 100_000_000)
NOTHING = MeasuredSide()
MINIMUM = {"l2_sectors_sm": WORK.algorithmic_bytes / 32}  # type: ignore[operator]


def _recorded(stored: StoredRun) -> MeasuredSide:
    timing = stored.run.timing(WORKLOAD)
    assert timing is not None
    return MeasuredSide(timing.median_ns, combine(stored.run, stored.metrics(), WORKLOAD), timing.median_ns)


def _ids(case: CheatCase) -> set[str]:
    return {id for id, _ in judge(case)}


def _case(draft: MeasuredSide, parent: MeasuredSide = NOTHING, **more: object) -> CheatCase:
    return CheatCase(draft, parent, WORK, KNOWN, **more)  # type: ignore[arg-type]


def _side(
    bench_ns: float | None, counted_ns: float | None = 100_000.0, launches: int = 1, share: float = 1.0
) -> MeasuredSide:
    each = {"l2_sectors_sm": share * MINIMUM["l2_sectors_sm"] / max(1, launches)}
    time_ns = None if counted_ns is None else counted_ns / max(1, launches)
    return MeasuredSide(bench_ns, counters(*[each] * launches, duration_ns=time_ns))


@pytest.mark.parametrize("stored", HONEST)
def test_recorded_versions_are_honest(stored: StoredRun) -> None:
    facts = stored.run.workload(WORKLOAD)
    assert facts is not None
    found = _ids(CheatCase(_recorded(stored), _recorded(stored), facts, KNOWN))
    uses_torch = stored.run.version.startswith(("v0_", "v1_"))
    assert found == ({"library"} if uses_torch else set())


def test_there_are_recorded_versions() -> None:
    assert len(HONEST) > 9


def test_no_kernel() -> None:
    assert _ids(_case(MeasuredSide(100_000.0, Combined(None, (), ())))) == {"no-kernel"}
    assert _ids(_case(MeasuredSide(100_000.0))) == set()  # counters denied: nothing is said


@pytest.mark.parametrize(("share", "found"), [(1.0, set()), (0.985, set()), (0.97, {"bytes"}), (0.5, {"bytes"})])
def test_fewer_bytes_than_the_minimum(share: float, found: set[str]) -> None:
    assert _ids(_case(_side(100_000.0, share=share))) == found


def test_what_the_parent_needs_is_the_minimum_where_kernel_toml_says_more() -> None:
    half = _side(100_000.0, share=0.5)
    assert _ids(_case(half, half)) == set()
    assert _ids(_case(_side(100_000.0, share=0.4), half)) == {"bytes"}


def test_bytes_that_were_not_counted_are_no_proof() -> None:
    unknown = MeasuredSide(100_000.0, counters({"duration": 1.0}))
    assert _ids(_case(unknown)) == set()


def test_faster_than_the_peak_of_dram() -> None:
    beyond_l2 = 300e6 - (H200.device.l2_bytes or 0)
    least_ns = beyond_l2 / max(p.bytes_per_second for p in H200.dram if p.source == "events") * 1e9
    assert _ids(_case(MeasuredSide(least_ns))) == set()
    assert _ids(_case(MeasuredSide(0.9 * least_ns))) == {"peak"}
    assert _ids(CheatCase(MeasuredSide(0.9 * least_ns), MeasuredSide(), WORK)) == set()  # no ceilings


def test_faster_than_l2_and_than_arithmetic() -> None:
    small = WorkloadFacts("small", "float32", {}, 10_000_000, 100_000_000)  # fits in L2
    assert judge(CheatCase(MeasuredSide(1_000.0), MeasuredSide(), small, KNOWN))[0][1].startswith(
        "L2 at 10 TB/s, this GPU reaches 8.295"
    )
    assert _ids(CheatCase(MeasuredSide(2_000.0), MeasuredSide(), small, KNOWN)) == set()
    busy = replace(small, flops=600_000_000_000)
    assert (
        judge(CheatCase(MeasuredSide(9e6), MeasuredSide(), busy, KNOWN))[0][1]
        == "arithmetic at 66.67 TFLOP/s, this GPU reaches 60"
    )
    assert _ids(CheatCase(MeasuredSide(1e7), MeasuredSide(), busy, KNOWN)) == set()


@pytest.mark.parametrize(
    ("bench_ns", "launches", "found"),
    [
        (100_000.0, 1, set()),
        (81_000.0, 1, set()),
        (79_000.0, 1, {"time"}),
        (124_000.0, 1, set()),
        (126_000.0, 1, {"profiler"}),
        (165_000.0, 10, set()),  # gaps between ten launches
        (175_000.0, 10, {"profiler"}),
        (75_000.0, 10, set()),  # a chain whose launches find in L2 what ncu flushes
        (39_000.0, 10, {"time", "peak"}),
    ],
)
def test_times_that_launches_contradict(bench_ns: float, launches: int, found: set[str]) -> None:
    assert _ids(_case(_side(bench_ns, launches=launches))) == found


@pytest.mark.parametrize(
    ("bench_ns", "archived_ns", "found"),
    [
        (100_000.0, 100_000.0, set()),
        (100_000.0, 84_000.0, set()),
        (100_000.0, 82_000.0, {"parent"}),
        (100_000.0, 130_000.0, {"parent"}),
        (150_000.0, None, {"parent"}),
        (70_000.0, None, {"parent"}),
        (100_000.0, None, set()),
    ],
)
def test_the_parents_time_is_doubted_too(bench_ns: float, archived_ns: float | None, found: set[str]) -> None:
    parent = replace(_side(bench_ns), archived_ns=archived_ns)
    assert _ids(_case(_side(100_000.0), parent)) == found


@pytest.mark.parametrize(
    ("signature", "library"),
    [
        ("void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctorOnSelf_add<float>>", "torch"),
        ("nvjet_sm90_hsh_64x48_64x15_2x4_h_bz_NNT", "cublas"),
        ("void gemvNSP_kernel<float, float, float, float, (int)1>(cublasGemvParamsEx<int>)", "cublas"),
        ("std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, float>", "cublas"),
        ("void cublasLt::splitKreduce_kernel<(int)32>", "cublas"),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw__5x_cudnn", "xmma"),
        ("ampere_sgemm_128x64_nn", "xmma"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)", "cutlass"),
        ("void cudnn::ops::nchwToNhwcKernel<float>", "cudnn"),
        ("void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortHistogramKernel<int>", "cub"),
        ("void cub::CUB_300001_SM_900::DeviceReduceKernel<int>", "cub"),
        ("void pytorch_flash::flash_fwd_kernel<int>", "flash-attention"),
        ("triton_red_fused__softmax_add_0", "torch.compile"),
        ("decode_masked", ""),
        ("void scale_blocks<(int)4>(const float4 *, float4 *)", ""),
        ("void mine::reduce<cub::Sum, at::native::Half>(const float *)", ""),
        ("torch_like_kernel", ""),
        ("triton_mine", ""),
    ],
)
def test_kernels_of_libraries_are_known_by_name(signature: str, library: str) -> None:
    name = signature.split("<")[0].split("::")[-1]
    assert library_of(replace(launch(0), kernel=name, signature=signature)) == library


def _mixed(library_ns: float) -> MeasuredSide:
    own, other = launch(0, duration_ns=80_000.0), launch(1, duration_ns=library_ns)
    other = replace(other, kernel="fill", signature="void at::native::fill<int>")
    table = {"lts__t_sectors_srcunit_tex.sum": MINIMUM["l2_sectors_sm"]}
    return MeasuredSide(80_000.0 + library_ns, combine_launches("small", [own, other], [table, table]))


def test_a_library_may_help_but_not_do_the_work() -> None:
    assert _ids(_case(_mixed(19_000.0))) == set()
    (cheat,) = judge(_case(_mixed(40_000.0)))
    assert cheat == ("library", "torch: 33 % of its time")
    assert cheating(*cheat) == "a library does the work (torch: 33 % of its time)"
    assert _ids(_case(_mixed(40_000.0), allowed=frozenset({"torch"}))) == set()
    assert _ids(_case(_mixed(40_000.0), allowed=frozenset({"cublas"}))) == {"library"}


def test_every_id_has_words() -> None:
    assert all(words and not words.endswith(".") for words in CHEATS.values())
    source = (Path(__file__).parents[3] / "ncu_assist" / "harness" / "exam").glob("*.py")
    text = "\n".join(file.read_text() for file in source)
    in_exams = ("kept", "modified", "outside", "unfinished", "patched", "reference", "one-seed", "one-shape", "timed")
    assert [id for id in (*in_exams, "profiler", "results") if f'"{id}"' not in text or id not in CHEATS] == []
