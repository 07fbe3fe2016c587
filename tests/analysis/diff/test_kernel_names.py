"""What of a kernel's name is its identity, and when two names are of one kernel."""

from __future__ import annotations

import pytest

from ncu_assist.analysis.diff.kernel_names import kernel_name, renamed, without_suffixes, work_of

CLAMP = (
    "void at::native::vectorized_elementwise_kernel<(int){width}, at::native::<unnamed>::launch_clamp_scalar("
    "at::TensorIteratorBase &, c10::Scalar)::[lambda() (instance 1)]::operator ()() const::[lambda({type}) "
    "(instance {instance})], std::array<char *, (unsigned long)2>>(int, T2, T3)"
)
LIBRARY = (
    "nvjet_sm90_hsh_64x48_64x15_2x4_h_bz_NNT",
    "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3_warpsize1x2x1_g1_ffma_aligna4"
    "_alignc4_execute_kernel__5x_cudnn",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn",
    "cutlass_80_tensorop_f16_s16816gemm_f16_64x64_32x6_tn_align8",
)


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("add_kernel_0d1d2d3de", "add_kernel"),
        ("matmul_kernel_0d1d2d3de4de5de6de7c8de9c10de11c", "matmul_kernel"),
        ("_fwd_kernel_0d1d2d34d5", "_fwd_kernel"),
        ("kernel_a1b2c3d4", "kernel"),
        ("add_kernel_9d4c1a2e_0d1d2", "add_kernel"),
        ("triton_per_fused_add_mul_prepare_softmax_online_0", "triton_per_fused_add_mul_prepare_softmax_online"),
        ("triton_red_fused__softmax_add_12", "triton_red_fused__softmax_add"),
        ("triton_poi_fused_add_0_0d1d2d", "triton_poi_fused_add"),
        ("julia_bb_4477", "julia_bb"),
        ("julia__5_11236", "julia__5"),
        ("julia_partial_mapreduce_grid_60479", "julia_partial_mapreduce_grid"),
        ("ptxcall___gpu_transpose_kernel_naive__430_2", "ptxcall___gpu_transpose_kernel_naive__430"),
        ("input_reduce_fusion_92", "input_reduce_fusion"),
        ("gemm_fusion_dot_5_0", "gemm_fusion_dot"),
        ("wrapped_convert_1", "wrapped_convert"),
        ("tvmgen_default_fused_nn_conv2d_add_nn_relu_1_kernel", "tvmgen_default_fused_nn_conv2d_add_nn_relu_kernel"),
        ("fused_nn_conv2d_add_12_kernel0", "fused_nn_conv2d_add_kernel0"),
        ("_capacity_high_water_1b6d14b0_cuda_kernel_forward", "_capacity_high_water_cuda_kernel_forward"),
    ],
)
def test_what_compilers_append_is_dropped(name: str, bare: str) -> None:
    assert without_suffixes(name) == bare
    assert kernel_name(name).base == bare


@pytest.mark.parametrize(
    "name",
    [
        *LIBRARY,
        "kernel_3",  # the user's own number
        "gemm_64",
        "pool_0d",
        "reduce_1d2d",
        "kernel_012",
        "kernel_20240101",
        "gemm_f16f16f32",  # types, though all are hexadecimal digits
        "gemm_bf16bf16f32acc",
        "triton__0d1d2d",  # nothing else names it
        "fused_deadbeef",
        "loop_add_fusion",
        "sensor_fusion_2",
        "fused_softmax_2_kernel",
        "julia_gpu_calculate_Gh_",
        "",
        "_",
    ],
)
def test_what_may_be_the_name_stays(name: str) -> None:
    assert without_suffixes(name) == name


@pytest.mark.parametrize(
    ("signature", "qualified", "base"),
    [
        ("void ops::scale<float, (int)2>(T1 *, int)", "ops::scale", "scale"),
        ("add_one(float *, int)", "add_one", "add_one"),
        ("unsigned long long count<(bool)1>()", "count", "count"),
        ("at::native::<unnamed>::fill(long *, a::b<int>)", "at::native::{unnamed}::fill", "fill"),
        ("void (anonymous namespace)::fill(long *)", "{unnamed}::fill", "fill"),
        ("void f<(g<int>(1) > 2), h>(int) const", "f", "f"),
        ("void f<<<(((", "f", "f"),
        (")>)>", ")>)>", ")>)>"),
    ],
)
def test_the_function_is_what_is_left_without_arguments(signature: str, qualified: str, base: str) -> None:
    found = kernel_name(signature)
    assert (found.signature, found.qualified, found.base) == (signature, qualified, base)


def test_numbers_among_the_template_arguments_are_left_out_first() -> None:
    two, four = kernel_name("void scale<float, (int)2>(T1 *)"), kernel_name("void scale<float, (int)4>(T1 *)")
    assert two.words == four.words != kernel_name("void scale<double, (int)2>(T1 *)").words


def test_a_wrapper_is_known_by_its_functor() -> None:
    one = kernel_name(CLAMP.format(width=4, type="float", instance=7))
    assert one.base == kernel_name(CLAMP.format(width=8, type="double", instance=7)).base
    assert one.base != kernel_name(CLAMP.format(width=4, type="float", instance=8)).base
    kernels = [kernel_name(f"void cutlass::Kernel2<{name}>(T1::Params)").base for name in LIBRARY]
    assert len(set(kernels)) == len(LIBRARY)


def test_a_megabyte_of_name_takes_no_time() -> None:
    long = (
        *(
            "<" * 10**6,
            "a_0" * 10**5,
            "k_" + "ab1" * 10**5,
            "f16" * 10**5,
            "tiled" * 10**5 + "x",
            "f(" + "a<b," * 10**5,
        ),
        *(f"{start}{'_0' * 10**5}{end}" for start in ("triton_poi_fused", "julia", "tvmgen") for end in ("", "_x")),
        *(f"{start}{'_' * 10**5}x" for start in ("wrapped_", "loop_", "fused_nn_")),
        f"void cutlass::Kernel<{'a::' * 10**5}b>(int)",
    )
    for text in long:
        name = kernel_name(text)
        assert name.base
        assert renamed([name], [kernel_name("k")]) == set()


GEMM = (
    "void cutlass::{wrapper}<{head}<cutlass::gemm::threadblock::{mma}<cutlass::gemm::GemmShape<(int){tile}, (int)64>, "
    "signed char, cutlass::layout::{layout}>>>(T1::Params)"
)


def test_a_class_that_is_a_kernel_is_known_by_its_name() -> None:
    """Its template arguments are left out as those of a function: CUTLASS's Gemm stays one with other layouts."""

    def base(head: str, wrapper: str = "Kernel", mma: str = "MmaMultistage", layout: str = "RowMajor") -> str:
        return kernel_name(GEMM.format(wrapper=wrapper, head=head, mma=mma, tile=64, layout=layout)).base

    gemm = "cutlass::gemm::kernel::Gemm"
    assert base(gemm) == base(gemm, mma="MmaPipelined", layout="ColumnMajorInterleaved<(int)32>") == gemm
    assert base("cutlass::gemm::kernel::B2bGemm") != gemm
    forward, backward = (f"flash::enable_sm90<flash::FlashAttn{way}Sm90" for way in ("Fwd", "Bwd"))
    assert base(forward, "device_kernel") == "flash::FlashAttnFwdSm90"
    assert base(backward, "device_kernel") == "flash::FlashAttnBwdSm90"


def test_the_namespace_of_a_version_of_cccl_is_no_part_of_the_name() -> None:
    fill = (
        "void thrust::{0}cuda_cub::core::_kernel_agent<thrust::{0}cuda_cub::__parallel_for::ParallelForAgent<"
        "thrust::{0}cuda_cub::__uninitialized_fill::functor<thrust::{0}device_ptr<float>, float>, unsigned long>>(T1)"
    )
    assert kernel_name(fill.format("")) == kernel_name(fill.format("THRUST_200301_890_NS::"))


def test_what_an_anonymous_function_of_julia_takes_tells_it_apart() -> None:
    """The number at the end is of the compiler, in the signature too: what it takes is its specialisation."""
    one, again, other = (
        kernel_name(f"julia__5_{number}(CuKernelContext, CuDeviceArray<{kind}, (int)1, (int)1>, {kind})")
        for number, kind in ((6739, "Int4x8"), (11236, "Int4x8"), (11155, "Float16x2"))
    )
    assert one == again
    assert (one.words == other.words, one.base) == (False, other.base)


ONE_KERNEL = (  # of public programs: two versions of one kernel
    "sgemm_naive sgemm_global_mem_coalesce",
    "sgemm_shared_mem_block sgemm1DBlocktiling",
    "sgemm2DBlocktiling sgemmVectorize",
    "sgemmResolveBankConflicts sgemmWarptiling",
    "gemm wmma_gemm",
    "ampere_sgemm_128x64_nn ampere_sgemm_64x64_nn",
    "ParallelStrategyOne ParallelStrategyNine",
    "softmax_forward_kernel4 softmax_forward_online_kernel1",
    "softmax_autoregressive_backward_kernel softmax_autoregressive_backward_inplace_kernel",
    "residual_forward_kernel fused_residual_forward_kernel5",
    "reduceNeighbored reduceNeighboredLess",
    "reduceInterleaved reduceCompleteUnrollWarps8",
    "transposeNaive transposeNoBankConflicts",
    "matmul matmul_2d_tiling",
    "spmv_scalar_kernel spmv_vector_kernel",
    "rope_v1 rope_v2",
    "kernel_1234 kernel_5678",
    "triton_red_fused__softmax_add_12 triton_per_fused__softmax_add_0",
    "launch_7d launch_8d",
)
OTHER_KERNELS = (
    "julia_bb_4477 julia__5_11236",
    "julia_bb_4477 julia_frb_5885",
    "julia__5_6739 julia__7_11155",
    "triton_poi_fused_add_3 triton_poi_fused_mul_4",
    "triton_poi_fused_add_3 triton_poi_fused_add_relu_4",
    "triton_poi_fused__softmax_1 triton_red_fused__softmax_1",
    "loop_add_fusion_3 loop_multiply_fusion_1",
    "tvmgen_default_fused_add_kernel tvmgen_default_fused_add_nn_relu_kernel",
    "csr_spmv_slow conv3x3_slow",
    "sgemm_slow spmm_slow",
    "healthy_softmax healthy_resident_wgmma",
    "gelu_forward_kernel gelu_backward_kernel",
    "update_positions update_velocities",
    "init_data_kernel init_matrix_half",
    "row_sum col_sum",
    "poly_compress_gpu poly_decompress_gpu",
    "h2d_copy d2h_copy",
    "calculate calculate_forces",
    "kernel_A kernel_C",
    "E_1024_32_4 E_64_4",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL ncclDevKernel_AllGather_RING_LL",
    "cupy_add__float32_float32_float32 cupy_multiply__float32_float32_float32",
)


def pairs_of(left: str, right: str, of_library: bool = False) -> set[tuple[str, str]]:
    """Return the pairs of the names in two texts, by their words before what they take."""
    names = [[kernel_name(name) for name in side.split(";")] for side in (left, right)]
    back = renamed(names[1], names[0], of_library)
    assert {(one, other) for other, one in back} == renamed(*names, of_library)
    return renamed(*names, of_library)


@pytest.mark.parametrize("names", ONE_KERNEL)
def test_names_that_say_the_same_work_are_of_one_kernel(names: str) -> None:
    left, right = names.split()
    assert pairs_of(left, right) == {(kernel_name(left).base, kernel_name(right).base)}


@pytest.mark.parametrize("names", OTHER_KERNELS)
def test_names_that_share_what_says_nothing_are_of_two_kernels(names: str) -> None:
    assert pairs_of(*names.split()) == set()


def test_words_that_a_third_kernel_has_too_tell_nothing() -> None:
    assert pairs_of("sgemm_naive", "sgemm_tiled") == {("sgemm_naive", "sgemm_tiled")}
    for left, right in (
        ("sgemm_naive;sgemm_coalesced", "sgemm_tiled"),
        ("sgemm_naive", "sgemm_naive;sgemm_tiled"),
        ("mathKernel1;mathKernel2", "mathKernel1;mathKernel3"),
        ("layernorm_kernel", "layernorm_forward;layernorm_backward"),
        ("add;relu", "add_relu"),  # either may have become it
        ("setRowReadCol", "setColReadRow;setRowReadColDyn"),
    ):
        assert pairs_of(left, right) == set(), (left, right)
    assert pairs_of("softmax_naive;softmax_backward", "softmax_tiled;softmax_backward") == set()
    both = pairs_of("gelu_forward1;gelu_backward1", "gelu_forward2;gelu_backward2")
    assert both == {("gelu_forward1", "gelu_forward2"), ("gelu_backward1", "gelu_backward2")}


def test_a_name_that_says_more_is_of_one_kernel_if_it_takes_the_same() -> None:
    spmv = "spmv_scalar(const float *, const int *, int)"
    assert pairs_of(spmv, "void spmv<float>(T1 *, int *, unsigned int)")
    assert not pairs_of(spmv, "spmv(const float *, const int *, const int *, int)")
    assert not pairs_of(spmv, "spmv(float, int, int *)")
    assert pairs_of(spmv, "spmv")
    assert pairs_of("spmv_naive(int)", "spmv_tiled(int, float *, f<int, int>)")  # they say the same: it may take more
    nested = "void scan_rows<op>(T1<a, b *>, void (*)(int, int), int)"
    assert pairs_of(nested, "void scan<op>(T1, T2, int) const")


def test_names_of_a_library_say_all_of_the_work() -> None:
    one, other = (
        f"void at::native::vectorized_elementwise_kernel<(int)4, at::native::{functor}<float>, std::array<char *, "
        f"(unsigned long)2>>(int, T2, T3)"
        for functor in ("CUDAFunctor_add", "CUDAFunctorOnSelf_add")
    )
    unrolled = one.replace("vectorized_", "unrolled_")
    assert (len(pairs_of(one, unrolled, True)), pairs_of(one, other, True)) == (1, set())
    assert pairs_of(one, one.replace("CUDAFunctor_add", "FillFunctor"), True) == set()
    gemm, twice = (f"cutlass::gemm::kernel::{name}" for name in ("Gemm", "B2bGemm"))
    assert pairs_of(gemm, twice, True) == set()
    assert {work_of(kernel_name(name), True) for name in LIBRARY} == {
        frozenset([words])
        for words in (
            "bz hsh nvjet",
            "aligna alignc ffma fprop gemm implicit nchwkcr tilesize warpsize",
            "f2f gemm",
            "gemm",
        )
    }
