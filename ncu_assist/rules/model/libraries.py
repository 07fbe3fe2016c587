"""Kernels that come with a library: what their names tell, and what somebody who calls them can change.

Nobody opens cuBLAS: what helps is another number format, shape or layout, another call, or fusing what is around it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ncu_assist.record import Launch

Kind = Literal[
    "matrix product", "convolution", "attention", "elementwise operation", "reduction", "normalization", "copy",
    "sort", "radix sort", "merge sort", "scan", "selection", "generated kernel", "Fourier transform",
    "sparse operation", "random numbers", "communication",
]  # fmt: skip
Format = Literal["float64", "float32", "TF32", "float16", "bfloat16", "float8", "int8"]


@dataclass(frozen=True)
class LibraryKernel:
    """What a kernel's name says of it: the library, what it does, and in which format; None where it does not say."""

    library: str
    kind: Kind
    number_format: Format | None = None

    @property
    def words(self) -> str:
        """What it is in words, e.g. ``float32 matrix product of cuBLAS``."""
        return f"{f'{self.number_format} ' if self.number_format else ''}{self.kind} of {self.library}"


@dataclass(frozen=True)
class Naming:
    """How a library names its kernels of one kind.

    ``pattern`` is matched from the start of the name with its namespaces and template arguments, without what it
    returns and takes: one's own kernel may well take a type of a library. ``source`` says where the names are from.
    """

    library: str
    kind: Kind
    pattern: str
    source: str


CUTLASS_NAMES = "CUTLASS, its page on the profiler: names of the kernels of its instance library"
ATEN = "PyTorch, aten/src/ATen/native/cuda: kernels are templates in at::native"
INDUCTOR = "PyTorch, torch/_inductor/codegen/triton.py: triton_<poi|red|per|tem>_fused_<operations>_<number>"
CCCL = "CCCL, cub/device/dispatch and thrust/system/cuda/detail: kernels of cub and thrust, by their agents"
SEEN = "names of the kernels that the library launches, as ncu prints them"
AT = r"at::native::(<unnamed>::|\w+::)*"
CUB = r"cub::(CUB_\w+::)?(detail::)?(\w+::)*"
THRUST = r"thrust::(THRUST_\w+::)?(cuda_cub|system)::"

# The first that fits counts: what a kernel does before what it is made of.
NAMINGS = (
    Naming("NCCL", "communication", r"nccl(Dev)?Kernel", "NCCL, src/device: ncclDevKernel_<collective>"),
    Naming("FlashAttention", "attention", r"(pytorch_)?flash::|flash_(fwd|bwd)_",
           "FlashAttention, csrc/flash_attn: flash_fwd_kernel, flash_bwd_… in namespace flash"),
    Naming("cuDNN", "attention", r"cudnn(_generated_\w*|::.*)(sdpa|mha|attention)", SEEN),
    Naming("xFormers", "attention", r"fmha_cutlass[FB]|(PyTorchMemEffAttention::)?Attention(Backward)?Kernel<",
           "PyTorch, aten/src/ATen/native/transformers/cuda/mem_eff_attention"),
    Naming("FlashInfer", "attention", r"flashinfer::\w*(Prefill|Decode|Attention)",
           "FlashInfer, include/flashinfer/attention"),
    Naming("cuDNN", "normalization", r"(void )?cudnn::(bn_|batchnorm|norm|ops::\w*norm)", SEEN),
    Naming("cuDNN", "copy", r"(cudnn::(\w+::)*)?(nchwToNhwc|nhwcToNchw|tensorTransform|nchwToFoldedNhwc)", SEEN),
    Naming("cuDNN", "convolution",
           r"\w*(scudnn|_cudnn\b|implicit_convolve|implicit_gemm|conv2d_grouped|winograd)|"
           r"\w*xmma_(fprop|dgrad|wgrad)|\w*cutlass\w*_(fprop|dgrad|wgrad)|"
           r"cudnn::(cnn::|winograd|detail::(\w*implicit|dgrad|wgrad|explicit))", SEEN),
    Naming("cuDNN", "elementwise operation", r"cudnn(::|_)", SEEN),
    Naming("cuBLAS", "matrix product", r"nvjet_", SEEN),
    Naming("cuBLAS", "matrix product",
           r"(maxwell|pascal|volta|turing|ampere|hopper|sm\d+)_(xmma_gemm|(\w+_)?[a-z]?\d*gemm)", SEEN),
    Naming("cuBLAS", "matrix product", r"(cutlass::Kernel2?<)?cutlass_\d+_(tensorop|wmma|simt)_\w*gemm", CUTLASS_NAMES),
    Naming("cuBLAS", "matrix product",
           r"cublas(Lt)?::|(internal::)?gemvx::kernel<|gem[mv]\w*_kernel(_val)?<.*cublas|"
           r"(gemv2[TN]|gemvNSP|gemmSN_\w\w|gemmk1)_kernel", SEEN),
    Naming("CUTLASS", "convolution", r"cutlass::(Kernel2?|device_kernel)<cutlass::conv::", CUTLASS_NAMES),
    Naming("CUTLASS", "matrix product", r"cutlass::(Kernel2?|device_kernel)\b", CUTLASS_NAMES),
    Naming("cuFFT", "Fourier transform", r"(regular|vector|composite|multi_bluestein)\w*_fft\b|cufft", SEEN),
    Naming("cuSPARSE", "sparse operation", r"cusparse::", SEEN),
    Naming("cuRAND", "random numbers", r"curand|gen_sequenced<|generate_seed_pseudo", SEEN),
    Naming("torch.compile", "generated kernel", r"triton_(poi|red|per|tem|for|mm|unk)_", INDUCTOR),
    Naming("PyTorch", "random numbers", AT + r"(distribution_|fused_dropout)", ATEN),
    Naming("PyTorch", "sort", AT + r"\w*([sS]ort|[tT]op[kK])", ATEN),
    Naming("PyTorch", "scan", AT + r"\w*[sS]can", ATEN),
    Naming("PyTorch", "normalization",
           AT + r"\w*([lL]ayer_?[nN]orm|batch_norm|RowwiseMoments|GroupNorm|[sS]oft_?[mM]ax)", ATEN),
    Naming("PyTorch", "normalization", r"<unnamed>::softmax_warp_(forward|backward)<", ATEN),
    Naming("PyTorch", "copy", AT + r"(CatArrayBatchedCopy|.*copy_kernel)", ATEN),
    Naming("PyTorch", "reduction", AT + r"\w*reduc", ATEN),
    Naming("PyTorch", "elementwise operation", r"at::(native|cuda)::|<unnamed>::elementwise_kernel_with_index<", ATEN),
    Naming("CUB", "elementwise operation", CUB + r"(transform_kernel|static_kernel<.*for_each)", CCCL),
    Naming("CUB", "reduction", CUB + r"\w*Reduce\w*Kernel", CCCL),
    Naming("CUB", "radix sort", CUB + r"\w*RadixSort", CCCL),
    Naming("CUB", "merge sort", CUB + r"\w*MergeSort", CCCL),
    Naming("CUB", "sort", CUB + r"\w*Sort", CCCL),
    Naming("CUB", "scan", CUB + r"\w*Scan\w*Kernel", CCCL),
    Naming("CUB", "selection", CUB, CCCL),
    Naming("Thrust", "reduction", THRUST + r".*__reduce", CCCL),
    Naming("Thrust", "radix sort", THRUST + r".*__radix_sort", CCCL),
    Naming("Thrust", "merge sort", THRUST + r".*__merge_sort", CCCL),
    Naming("Thrust", "scan", THRUST + r".*__scan", CCCL),
    Naming("Thrust", "selection", THRUST + r".*__(copy_if|unique|partition|set_)", CCCL),
    Naming("Thrust", "elementwise operation", THRUST, CCCL),
)  # fmt: skip
# The format of the operands, as names of products shorten it; sums are of the last one often.
FORMATS: tuple[tuple[Format, str], ...] = (
    ("TF32", r"tf32|s1688gemm(?!.*(f16|bf16))|tfloat32|nvjet_(sm\d+_)?s[a-z]{2}_"),
    ("float8", r"e4m3|e5m2|fp8|nvjet_(sm\d+_)?[qo][a-z]{2}_"),
    ("bfloat16", r"bf16|bfloat16|BFloat16|nvjet_(sm\d+_)?t[a-z]{2}_"),
    ("int8", r"i8816|i16832|imma|s8s8|int8|signed char"),
    ("float16", r"f16f16|fp16|[hs]884|h1688|h16816|s16816|hgemm|half|Half|nvjet_(sm\d+_)?h[a-z]{2}_|_f16_"),
    ("float64", r"d884|dgemm|f64f64|\bdouble\b|nvjet_(sm\d+_)?d[a-z]{2}_"),
    ("TF32", r"MmaTensorOp"),
    ("float32", r"sgemm|scudnn|f32f32|simt|\bfloat\b"),
)
# Device code that comes as a header, and what to call in place of what nearly all of a kernel's instructions are of.
# The header has the start of a generator and its next number, but a number brings instructions of its user's as well:
# so many are of the start alone (cuRAND's guide, Device API, Performance Notes).
NEARLY_ALL = 0.9
HEADERS = {
    "curand_kernel.h": "start generators by `curand_init(seed + thread, 0, 0, ...)`, which skips no numbers (different "
    "seeds may be correlated), or take curandStatePhilox4_32_10_t, which skips ahead by an addition"
}
# Numbers in what curand_kernel.h starts the XORWOW generator by (`_curand_init_scratch`): the first is mixed with the
# seed and is cuRAND's own, the second is Marsaglia's.
STARTS_XORWOW = ("0xaad26b49", "0x159a55e5")
READS = re.compile(r"\bLDG?\b")  # the matrices by which the generator skips ahead
ON_FLOATS = re.compile(r"\b(I2FP?|[FDH](ADD|MUL|FMA)2?|MUFU)\b")
OF_PRODUCTS: tuple[Kind, ...] = ("matrix product", "convolution", "attention")

FUSE = "fuse it with the operations before and after it: torch.compile, or a kernel of your own for the chain"
FEWER_LAUNCHES = "run fewer and larger ones, fuse them (torch.compile), or record a chain of them as a CUDA graph"
MIXED = "multiply in bfloat16 or float16 (torch.autocast), or allow TF32 (torch.set_float32_matmul_precision('high'))"
LARGER = "give the GPU more at once: a larger batch, or several of them as one batched or grouped call"
ONE_LAYOUT = "give it contiguous inputs of one layout: contiguous(), or channels_last throughout"
INSTANCE = "take another tile shape, number of stages or schedule: cutlass_profiler times them for plain products"
SMALLER_ITEMS = "smaller keys, indices in place of large values, one call for many segments"
IN_CPP = ("CUB", "Thrust")  # called from C++: no torch around them
ITERATORS = (
    "fuse it with the operations before and after it: an iterator that works its input out (transform, zip, counting), "
    "or a kernel of your own for the chain"
)
FEWER_IN_CPP = "run fewer and larger ones, fuse them by iterators, or record a chain of them as a CUDA graph"
MEMBERS_APART = "keep each member of a structure in an array of its own (zip_iterator)"
OF_CPP = {
    "uncoalesced-global-load": MEMBERS_APART,
    "uncoalesced-global-store": MEMBERS_APART,
    "launch-bound": FEWER_IN_CPP,
    "grid-underfill": FEWER_IN_CPP,
    "": ITERATORS,
}
# By library or kind, then by rule; the empty rule is for all others. What saves nothing keeps its own words. A kind *in
# C++* is that of IN_CPP.
ADVICE: dict[str, dict[str, str]] = {
    "CUTLASS": {"no-tensor-core": "take an instance of OpClassTensorOp, in TF32, bfloat16 or float16", "": INSTANCE},
    "matrix product": {
        "no-tensor-core": MIXED,
        "pipe-bound": MIXED,
        "grid-underfill": f"{LARGER}, or a call that splits K (cublasLt heuristics, torch.compile mode 'max-autotune')",
        "tail-effect": "choose M and N that fill whole waves of its tiles, or use torch.compile mode 'max-autotune'",
        "workload-imbalance": "choose M and N that fill whole waves of its tiles, or a call that splits K evenly",
        "launch-bound": LARGER,
        "redundant-traffic": "fold what stands around it into the call: a cublasLt epilogue for bias and activation",
        "": "choose M, N, K and leading dimensions that are multiples of 16 bytes, and another algorithm: cublasLt "
        "heuristics, or torch.compile mode 'max-autotune'",
    },
    "convolution": {
        "no-tensor-core": "convolve in bfloat16 or float16 (torch.autocast), or allow TF32",
        "pipe-bound": "convolve in bfloat16 or float16 (torch.autocast), or allow TF32",
        "launch-bound": LARGER,
        "grid-underfill": LARGER,
        "": "keep tensors in channels_last, channels a multiple of 8, and let cuDNN try its algorithms "
        "(torch.backends.cudnn.benchmark = True)",
    },
    "attention": {
        "grid-underfill": f"{LARGER}, or a call that splits the keys (flash decoding)",
        "launch-bound": LARGER,
        "": "choose another backend of scaled_dot_product_attention, a head size that is a multiple of 64, and "
        "is_causal=True in place of a mask",
    },
    "elementwise operation": {
        "uncoalesced-global-load": ONE_LAYOUT,
        "uncoalesced-global-store": ONE_LAYOUT,
        "launch-bound": FEWER_LAUNCHES,
        "grid-underfill": FEWER_LAUNCHES,
        "": FUSE,
    },
    "reduction": {
        "uncoalesced-global-load": "reduce along the dimension that is contiguous, or change the layout before it",
        "grid-underfill": "reduce more rows at once, or in one call along all dimensions",
        "launch-bound": FEWER_LAUNCHES,
        "": f"{FUSE}; reduce along the dimension that is contiguous",
    },
    "normalization": {
        "launch-bound": FEWER_LAUNCHES,
        "": "call the fused form (layer_norm, rms_norm, softmax of torch.nn.functional), or fuse it: torch.compile",
    },
    "copy": {
        "launch-bound": FEWER_LAUNCHES,
        "": "do without the copy: keep one layout and one format throughout, and write the result where it is needed",
    },
    "elementwise operation in C++": OF_CPP,
    "reduction in C++": OF_CPP,
    "selection in C++": OF_CPP,
    "scan in C++": OF_CPP,
    "scan": {
        "launch-bound": LARGER,
        "grid-underfill": LARGER,
        "": f"{FUSE}; scan along the dimension that is contiguous, in the smallest type that holds the sums",
    },
    "sort": {"launch-bound": LARGER, "grid-underfill": LARGER, "": f"give it less: {SMALLER_ITEMS}"},
    "radix sort": {
        "launch-bound": LARGER,
        "grid-underfill": LARGER,
        "": f"give it less: {SMALLER_ITEMS}, fewer bits (begin_bit, end_bit of cub::DeviceRadixSort)",
    },
    "merge sort": {
        "launch-bound": LARGER,
        "grid-underfill": LARGER,
        "": "sort numbers by radix, with fewer passes over memory (cub::DeviceRadixSort; thrust::sort does so for "
        f"numbers and less or greater), or give it less: {SMALLER_ITEMS}",
    },
    "generated kernel": {
        "launch-bound": "fuse or batch the calls, or record a chain of them as a CUDA graph: torch.compile mode "
        "'reduce-overhead'",
        "": "compile with mode 'max-autotune', static shapes and contiguous inputs; what it fuses ends where the graph "
        "breaks (TORCH_LOGS=graph_breaks)",
    },
    "Fourier transform": {
        "": "transform many at once (a batched plan) of sizes 2^a 3^b 5^c 7^d, and real to complex for real input",
    },
    "sparse operation": {"": "try another format (CSR, blocked ELL, structured 2:4) or algorithm of the call"},
    "random numbers": {
        "": "draw fewer, or draw them in the kernel that uses them (curand device API): this also spares writing and "
        "reading them, which is not in the estimate",
    },
    "communication": {"": "send fewer and larger messages, and compute while they are under way"},
}  # fmt: skip


def library_kernel(launch: Launch) -> LibraryKernel | None:
    """Return which library a kernel comes with by its name; None for one of somebody's own."""
    return _by_name(launch.kernel, launch.signature)


@cache
def _by_name(kernel: str, signature: str) -> LibraryKernel | None:
    name = qualified_name(signature or kernel)
    found = next((one for one in NAMINGS if re.match(one.pattern, name)), None)
    if found is None:
        return None
    told = (word for word, pattern in FORMATS if re.search(pattern, name))
    return LibraryKernel(found.library, found.kind, next(told, None) if found.kind in OF_PRODUCTS else None)


def qualified_name(signature: str) -> str:
    """Return a name with namespaces and template arguments, without what it returns and takes."""
    text = signature.replace("(anonymous namespace)", "<unnamed>").replace("operator()", "operator")
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">" and text[place - 1] != "-")
        if depth == 0 and letter == " ":
            start = place + 1
        if depth == 0 and letter == "(":
            return text[start:place]
    return text[start:]


def library_advice(kernel: LibraryKernel, rule: str) -> str:
    """Return what to try where a rule finds something in a library's kernel."""
    in_cpp = ADVICE.get(f"{kernel.kind} in C++") if kernel.library in IN_CPP else None
    own = ADVICE.get(kernel.library) or in_cpp or ADVICE[kernel.kind]
    return own.get(rule, own[""])


def header_advice(files: Sequence[str], counts: Sequence[float]) -> str | None:
    """Return what to call in place of a header's code, where nearly all that was executed is its; None elsewhere.

    ``files`` and ``counts`` are of each instruction; counts that are all zero were not made.
    """
    every = sum(counts)
    names = [re.split(r"[/\\]", one)[-1] for one in files]
    for header, advice in HEADERS.items():
        own = sum(count for name, count in zip(names, counts, strict=True) if name == header)
        if own > NEARLY_ALL * every:
            return advice
    return None


def header_advice_by_code(kernels: Sequence[Sequence[str]]) -> str | None:
    """Return what ``header_advice`` does, of SASS without lines, one a kernel.

    A kernel starts generators and does no more if it has the numbers of that, reads memory to skip ahead, and has no
    operation on floats: a number that is drawn becomes one nearly always.
    """
    return HEADERS["curand_kernel.h"] if kernels and all(map(_only_starts_generators, kernels)) else None


def _only_starts_generators(sass: Sequence[str]) -> bool:
    text = "\n".join(sass).lower()
    if not all(number in text for number in STARTS_XORWOW):
        return False
    return any(map(READS.search, sass)) and not any(map(ON_FLOATS.search, sass))
