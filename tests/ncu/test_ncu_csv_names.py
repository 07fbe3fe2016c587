"""Kernel names and NVTX ranges as a raw page prints them."""

from __future__ import annotations

import pytest

from ncu_assist.ncu.csv_page import function_name, push_pop_ranges, start_end_ranges

# Signatures as exports of 2025.3.1 print them, and the function name that NVIDIA's reader gives for the same launch.
SIGNATURES = {
    "fill(float *, int)": "fill",
    "void scale<float, 2>(T1 *, int)": "scale",
    "void ops::scale<float, (int)2>(T1 *, int)": "scale",
    "nvjet_sm90_hsh_64x48_64x15_2x4_h_bz_NNT": "nvjet_sm90_hsh_64x48_64x15_2x4_h_bz_NNT",
    "triton_red_fused__softmax_add_exp_mul_prepare_softmax_online_sub_0": (
        "triton_red_fused__softmax_add_exp_mul_prepare_softmax_online_sub_0"
    ),
    "native::<unnamed>::fill_reverse_indices_kernel(long *, int, cuda::IntDivider<unsigned int>)": (
        "fill_reverse_indices_kernel"
    ),
    "void native::vectorized_elementwise_kernel<4, native::<unnamed>::launch_clamp_scalar(at::TensorIteratorBase &, "
    "c10::Scalar, c10::Scalar, native::ClampLimits)::[lambda() (instance 1)]::operator ()() const::[lambda() "
    "(instance 7)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, 2>>(int, T2, T3)": (
        "vectorized_elementwise_kernel"
    ),
    "void at_cuda_detail::DeviceRadixSortExclusiveSumKernel<at_cuda_detail::policy_hub<float, cub::OpaqueType<8>, "
    "unsigned long long>::Policy1000, unsigned long long>(T2 *)": "DeviceRadixSortExclusiveSumKernel",
    # made: brackets that close nothing
    "void (anonymous namespace)::k<(a < b), decltype(x->y)>(int)": "k",
    "std::enable_if<(T1 > 1), void>::type ns::k<2>(int) const": "k",
    "": "",
    "(int)": "(int)",
    "<<<((((": "<<<((((",
    "))))>>>": "))))>>>",
}
PLAIN = "none:none:none:none:none:none"


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_function_name_is_what_the_binary_reader_says(signature: str) -> None:
    assert function_name(signature) == SIGNATURES[signature]


@pytest.mark.parametrize("part", ["<", "(", ">", "a::", "f<(", "x ", '"'])
def test_a_name_of_a_megabyte_takes_no_time(part: str) -> None:
    """What grows with the square takes hours, which the time limit of all tests ends."""
    assert function_name(part * (1_000_000 // len(part)))


@pytest.mark.parametrize(
    "name",
    ["step 1", 'layer/0 "quoted"', "a:b", "::", 'x","y', "two\nlines", "", "none:none", "<b>bold</b>", "é\u202e\x07"],
)
def test_a_range_keeps_its_name(name: str) -> None:
    cell = f'12  ""<default domain>:{name}:{PLAIN}""  ""model:{name}:none:none:none:none:ASCII:{name}"" '
    assert push_pop_ranges(cell) == (("<default domain>", name), ("model", name))
    started = start_end_ranges(f' ""0:<default domain>:{name}:{PLAIN}""  ""13:model:{name}:{PLAIN}"" ')
    assert started == (("<default domain>", name), ("model", name))


def test_a_range_may_have_payload_and_colour() -> None:
    (found,) = push_pop_ranges('1  ""d:name:Int32:5:ARGB:ff00ff00:Registered:another"" ')
    assert found == ("d", "name")


def test_the_ranges_of_several_threads_are_all_kept() -> None:
    cell = f'1  ""<default domain>:a:{PLAIN}""  2  ""<default domain>:b:{PLAIN}"" '
    assert [name for _, name in push_pop_ranges(cell)] == ["a", "b"]


@pytest.mark.parametrize("cell", ["", " "])
def test_no_ranges_are_none(cell: str) -> None:
    assert push_pop_ranges(cell) == start_end_ranges(cell) == ()


@pytest.mark.parametrize("cell", ["ranges", '""', '1  ""<default domain>:a"" ', f'1  ""<default domain>:a:{PLAIN}" '])
def test_a_cell_of_another_form_is_an_error(cell: str) -> None:
    with pytest.raises(ValueError, match="NVTX"):
        push_pop_ranges(cell)
