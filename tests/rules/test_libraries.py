"""Kernels of libraries are told by how their names are built, and get advice that whoever calls them can follow."""

from __future__ import annotations

import re

import pytest
from factories import launch

from ncu_assist.rules import RULES
from ncu_assist.rules.model.libraries import ADVICE, NAMINGS, LibraryKernel, library_advice, library_kernel

NAMES = [
    ("ampere_sgemm_128x64_tn", "float32 matrix product of cuBLAS"),
    ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "float16 matrix product of cuBLAS"),
    ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "bfloat16 matrix product of cuBLAS"),
    (
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_ffma_execute_kernel__5x_cublas",
        "float32 matrix product of cuBLAS",
    ),
    (
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_execute_kernel__5x_cublas",
        "TF32 matrix product of cuBLAS",
    ),
    ("nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNN", "bfloat16 matrix product of cuBLAS"),
    ("nvjet_hsh_128x128_64x6_2x1_v_bz_coopA_TNN", "float16 matrix product of cuBLAS"),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_256x128_16x3_tt_align4>(T1::Params)",
        "TF32 matrix product of cuBLAS",
    ),
    (
        "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, float, float, float, float, (bool)0>(T13)",
        "float32 matrix product of cuBLAS",
    ),
    (
        "void gemv2T_kernel_val<int, int, double, double, double, double, 128, cublasGemvParamsEx<int> >(T12)",
        "float64 matrix product of cuBLAS",
    ),
    (
        "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::Mma<float>>>(T1::Params)",
        "float32 matrix product of CUTLASS",
    ),
    (
        "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3__5x_cudnn",
        "float32 convolution of cuDNN",
    ),
    (
        "void cudnn::ops::nchwToNhwcKernel<__half, __half, float>(cudnn::ops::nchw2nhwc_params_t<float>)",
        "copy of cuDNN",
    ),
    ("ampere_scudnn_128x64_relu_xregs_large_nn_v1", "float32 convolution of cuDNN"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128", "float16 attention of cuDNN"),
    (
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>(Params)",
        "bfloat16 attention of FlashAttention",
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
        "elementwise operation of PyTorch",
    ),
    (
        "void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl<"
        "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]>>(int, T3)",
        "copy of PyTorch",
    ),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(T3)", "reduction of PyTorch"),
    (
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
        "normalization of PyTorch",
    ),
    ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 8>(float *)", "normalization of PyTorch"),
    ("void cub::CUB_200301_520_NS::DeviceMergeSortMergeKernel<(bool)0>(T1)", "merge sort of CUB"),
    ("void cub::DeviceRadixSortOnesweepKernel<cub::Policy900, (bool)0, unsigned int>(T5 *)", "radix sort of CUB"),
    ("void cub::DeviceSegmentedSortFallbackKernel<(bool)0, cub::Policy860>(T1)", "sort of CUB"),
    ("void cub::CUB_200301_890_NS::DeviceScanInitKernel<cub::ScanTileState<float, (bool)1>>(T1, int)", "scan of CUB"),
    (
        "void cub::DeviceSelectSweepKernel<cub::AgentSelectIfPolicy<128>, cub::ScanTileState<int>>(T1)",
        "selection of CUB",
    ),
    ("void at::native::radixSortKVInPlace<-2, -1, 32, 4, float, long>(T1)", "sort of PyTorch"),
    ("void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(float *)", "scan of PyTorch"),
    ("void cub::DeviceReduceSingleTileKernel<cub::Policy600, float *>(T2, T3)", "reduction of CUB"),
    ("void cub::CUB_300001_SM_900::detail::transform::transform_kernel<int>(T5)", "elementwise operation of CUB"),
    (
        "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__merge_sort::BlockSortAgent<int>>(T1)",
        "merge sort of Thrust",
    ),
    (
        "void thrust::THRUST_200301_890_NS::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::Agent>(T1)",
        "elementwise operation of Thrust",
    ),
    ("triton_poi_fused_add_relu_0", "generated kernel of torch.compile"),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication of NCCL"),
    ("void cusparse::csrmv_v3_kernel<int>(int)", "sparse operation of cuSPARSE"),
]
OWN = [
    "sgemm_128x128x8_kernel(const float *, const float *, float *, unsigned int)",
    "gemm_kernel(float *)",
    "my_ampere_sgemm",
    "void attend<Swizzled<(int)128>, ByHead>(Attention, Grid, float)",
    "void computeValue<float>(unsigned int*, curandStateXORWOW*, unsigned int)",
    "void mine<at::native::Add, cub::BlockReduce<float>>(cutlass::half_t *)",
    "_triton_rope",
    "decode_masked",
    "",
]


@pytest.mark.parametrize(("signature", "words"), NAMES)
def test_a_library_is_known_by_the_name(signature: str, words: str) -> None:
    found = library_kernel(launch(kernel=re.split(r"[<(]", signature)[0].split("::")[-1], signature=signature))
    assert found is not None
    assert found.words == words


@pytest.mark.parametrize("signature", OWN)
def test_one_s_own_kernel_is_no_library_s(signature: str) -> None:
    assert library_kernel(launch(kernel=signature.partition("(")[0], signature=signature)) is None


def test_a_name_without_a_signature_is_enough() -> None:
    assert library_kernel(launch(kernel="ampere_sgemm_64x64_nn", signature="")) == LibraryKernel(
        "cuBLAS", "matrix product", "float32"
    )


@pytest.mark.parametrize("naming", NAMINGS, ids=lambda one: f"{one.library}-{one.kind}")
def test_every_kind_has_advice_that_can_be_followed(naming: object) -> None:
    kernel = LibraryKernel(naming.library, naming.kind)  # type: ignore[attr-defined]
    for rule in RULES:
        said = library_advice(kernel, rule)
        assert said
        assert said[0].islower()
        assert not said.endswith(".")
        assert not re.search(r"\bpad\b|shared memory|registers|swizzle|unroll", said), "nobody changes a library"


def test_advice_is_of_rules_that_there_are() -> None:
    assert {rule for own in ADVICE.values() for rule in own} <= {"", *RULES}


def test_only_a_radix_sort_is_told_of_bits_and_only_pytorch_of_torch() -> None:
    """Public programs in C++: a merge sort was told of `begin_bit`, which it lacks, and all of torch.compile."""
    for naming in NAMINGS:
        for rule in RULES:
            said = library_advice(LibraryKernel(naming.library, naming.kind), rule)
            assert ("begin_bit" in said) <= (naming.kind == "radix sort")
            assert not (naming.library in ("CUB", "Thrust") and re.search(r"torch|contiguous\(\)", said)), said
