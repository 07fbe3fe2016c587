"""What of a kernel's name is its identity."""

from __future__ import annotations

import pytest

from ncu_assist.analysis.diff.pairing import kernel_name, without_suffixes

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
    ],
)
def test_what_triton_and_inductor_append_is_dropped(name: str, bare: str) -> None:
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
    for text in ("<" * 10**6, "a_0" * 10**5, "k_" + "ab1" * 10**5, "f16" * 10**5, "triton_poi_fused" + "_0" * 10**5):
        assert kernel_name(text).base
