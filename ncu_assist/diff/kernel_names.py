"""What in a kernel's name says which kernel it is, and what a compiler or a wrapper only added to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNNAMED = re.compile(r"<unnamed>|\(anonymous namespace\)")
# A number that stands alone among template arguments: a tile width, a vector size. Digits inside a word stay, for they
# tell library kernels apart (nvjet_sm90_hsh_64x48_…), and so does the number of a lambda, which is its only name.
LITERAL = re.compile(r"(?<![\w.#])(?<!instance )(?:-?\d[\w.]*|true|false)(?!\w)")
SCALAR = re.compile(r"\b(?:float|double|(?:__)?half2?|\w*[Bb][Ff]loat16|Half|(?:un)?signed|char|short|int|long|bool)\b")
# Functions that run whatever functor they are given: the functor, among the template arguments, is what tells them
# apart (PyTorch's elementwise and foreach kernels, CUTLASS, CCCL and Kokkos).
WRAPPERS = frozenset(
    (
        "elementwise_kernel",
        "vectorized_elementwise_kernel",
        "unrolled_elementwise_kernel",
        "elementwise_kernel_with_index",
        "index_elementwise_kernel",
        "reduce_kernel",
        "multi_tensor_apply_kernel",
        "Kernel",
        "Kernel2",
        "device_kernel",
        "static_kernel",
        "transform_kernel",
        "_kernel_agent",
        "cuda_parallel_launch_local_memory",
        "cuda_parallel_launch_constant_memory",
    )
)
# TorchInductor numbers its kernels in the order of compilation: triton_poi_fused_add_3 is another's …_add_4.
INDUCTOR = re.compile(r"(triton_[a-z]{3}_fused\w*?)_\d+")
ANONYMOUS = "triton"  # what older TorchInductor calls every kernel: nothing would be left of the name
# The end of a digest in hexadecimal. f16f16f32 is one by its letters only: types side by side, as libraries name them.
DIGEST = re.compile(r"_(?!(?:b?f(?:8|16|32|64)|acc)+$)(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}$")
SPECIALISED = re.compile(r"(?:c|d|de|e)?")


@dataclass(frozen=True)
class KernelName:
    """A kernel's name, from all of it to the least that still names it; two kernels are alike in one of these or not.

    ``words`` leaves out numbers among the template arguments, ``qualified`` all arguments, ``base`` the namespaces too.
    In all of them the suffixes of Triton and TorchInductor are gone. Of a wrapper such as vectorized_elementwise_kernel
    only numbers and scalar types are left out.
    """

    signature: str
    words: str
    qualified: str
    base: str


def kernel_name(signature: str) -> KernelName:
    """Return the forms of a demangled name, or of a plain one as Triton and libraries have it."""
    function = _function(signature)
    if function == signature:
        plain = without_suffixes(signature)
        return KernelName(plain, plain, plain, plain)
    words = LITERAL.sub("#", signature)
    base = function.rpartition("::")[2]
    if base in WRAPPERS:
        functor = " ".join(SCALAR.sub("#", words).split())
        return KernelName(signature, words, functor, functor)
    return KernelName(signature, words, function, without_suffixes(base))


def without_suffixes(name: str) -> str:
    """Return a name without Triton's specialisation, the end of a digest, and TorchInductor's running number."""
    bare = DIGEST.sub("", _without_specialisation(name))
    numbered = INDUCTOR.fullmatch(bare)
    bare = numbered.group(1) if numbered else bare
    return name if bare.rstrip("_") in ("", ANONYMOUS) else bare


def _without_specialisation(name: str) -> str:
    """Drop what Triton 2 appends, one entry an argument: its index, c for 1, d and e for divisible by 16 and 8."""
    stem, _, suffix = name.rpartition("_")
    position = index = 0
    while stem and suffix.startswith(str(index), position):
        position += len(str(index))
        letters = SPECIALISED.match(suffix, position)
        position = letters.end() if letters else position
        index += 1
    specialised = position == len(suffix) and index > 1 and not suffix.isdecimal()
    return stem if specialised else name


def _function(signature: str) -> str:
    """Return the qualified name of the function: without return type, template arguments and parameters."""
    kept, angles, parentheses = [], 0, 0
    for character in UNNAMED.sub("{unnamed}", signature):
        if character in "()":
            parentheses = max(0, parentheses + (1 if character == "(" else -1))
        elif parentheses == 0 and character in "<>":
            angles = max(0, angles + (1 if character == "<" else -1))
        elif parentheses == 0 and angles == 0:
            kept.append(character)
    words = [word for word in "".join(kept).split() if word not in ("const", "volatile")]
    return words[-1] if words else signature
