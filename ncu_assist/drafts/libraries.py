"""Which library a kernel is of, by the name of its function: a table of the beginnings of names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ncu_assist.record import Launch

# Beginnings of demangled names without return type, as reports have them: those of torch, cuBLAS (nvjet, gemv, xmma),
# cuDNN and CUB in torch's and cuBLAS's own test programs on an H200, the others as their sources spell them. xmma and
# cutlass kernels come with cuBLAS and cuDNN alike; CUTLASS that a draft instantiates itself is a library's kernel too.
LIBRARIES: tuple[tuple[str, str], ...] = (
    ("torch", r"at::native::|at::cuda::|c10::|at_cuda_detail::(?!cub)"),
    ("torch.compile", r"triton_(?:poi|red|per|tem|mm|foreach)_"),
    ("cublas", r"nvjet_|cublas|gemv\w*_kernel|internal::gemvx::|splitKreduce_|gemmk1_|dot_kernel<|Kernel2<cutlass"),
    ("xmma", r"(?:sm\d+|ampere|turing|volta|hopper|maxwell)_(?:xmma|[sdhcz]\d*gemm|\w*gemm|\w*cudnn)"),
    ("cutlass", r"cutlass(?:::|_)|cute::"),
    ("cudnn", r"cudnn|implicit_convolve_|\w+__5x_cudnn"),
    ("cub", r"(?:at_cuda_detail::)?cub::|thrust::"),
    ("flash-attention", r"pytorch_flash::|flash_fwd|flash_bwd|flash::|fmha_"),
    ("cufft", r"(?:regular|vector|composite)_fft"),
    ("cusparse", r"cusparse::"),
    ("nccl", r"nccl"),
)
TYPE = re.compile(r"^(?:(?:void|std::enable_if<[^>]*>::type)\s+)+")


def library_of(launch: Launch) -> str:
    """Return the library that a launch's kernel is of, empty if it is of none that is known."""
    names = (TYPE.sub("", launch.signature), launch.kernel)
    return next((name for name, start in LIBRARIES if any(re.match(start, text) for text in names)), "")


def library_time(launches: Iterable[Launch], allowed: frozenset[str]) -> dict[str, float]:
    """Return the nanoseconds that launches of each library take, those of ``allowed`` left out."""
    times: dict[str, float] = {}
    for launch in launches:
        name = library_of(launch)
        if name and name not in allowed:
            times[name] = times.get(name, 0.0) + (launch.duration_ns or 0.0)
    return times
