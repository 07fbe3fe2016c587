"""What of a kernel's name is its identity, and what of it says which work the kernel does."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

UNNAMED = re.compile(r"<unnamed>|\(anonymous namespace\)")
# A number that stands alone among template arguments: a tile width, a vector size. Digits inside a word stay, for they
# tell library kernels apart (nvjet_sm90_hsh_64x48_…), and so does the number of a lambda, which is its only name.
LITERAL = re.compile(r"(?<![\w.#])(?<!instance )(?:-?\d[\w.]*|true|false)(?!\w)")
SCALAR = re.compile(r"\b(?:float|double|(?:__)?half2?|\w*[Bb][Ff]loat16|Half|(?:un)?signed|char|short|int|long|bool)\b")
# CCCL's namespace of one version and architecture: another version's kernel is the same one.
VERSIONED = re.compile(r"\b(?:THRUST|CUB)_\w*NS::")
# Functions that run a class which is a kernel by itself (CUTLASS): its template arguments are those of a kernel. Some
# wrap it once more, in enable_sm90<…>, which only says for which chips it is compiled.
CLASS_WRAPPERS = frozenset(("Kernel", "Kernel2", "device_kernel"))
KERNEL_CLASS = re.compile(r"(?:(?:\w+::)*enable_\w+<)?([\w:]+)<")
# Functions that run whatever functor they are given: the functor, among the template arguments, is what tells them
# apart (PyTorch's elementwise and foreach kernels, CUTLASS, CCCL and Kokkos).
WRAPPERS = CLASS_WRAPPERS | frozenset(
    (
        "elementwise_kernel",
        "vectorized_elementwise_kernel",
        "unrolled_elementwise_kernel",
        "elementwise_kernel_with_index",
        "index_elementwise_kernel",
        "reduce_kernel",
        "multi_tensor_apply_kernel",
        "static_kernel",
        "transform_kernel",
        "_kernel_agent",
        "cuda_parallel_launch_local_memory",
        "cuda_parallel_launch_constant_memory",
    )
)
# Names that compilers number in the order in which they compile, or mark with a digest: another run has other ones.
# The groups are what stays.
GENERATED = (
    re.compile(r"(triton_[a-z]{3}_fused\w*?)_\d+"),  # TorchInductor
    re.compile(r"((?:julia|ptxcall)_\w+?)_\d+"),  # CUDA.jl and CUDAnative.jl
    re.compile(r"((?:(?:loop|input|output|custom|gemm)_\w*fusion|wrapped_)[a-z_]*?)(?:_\d+){1,2}"),  # XLA
    re.compile(r"((?:tvmgen|fused_nn)_\w+?)_\d+(_kernel\d*)"),  # TVM
    re.compile(r"(\w+)_[0-9a-f]{8}(_cuda_kernel_(?:forward|backward))"),  # Warp
)
ANONYMOUS = "triton"  # what older TorchInductor calls every kernel: nothing would be left of the name
# The end of a digest in hexadecimal. f16f16f32 is one by its letters only: types side by side, as libraries name them.
DIGEST = re.compile(r"_(?!(?:b?f(?:8|16|32|64)|acc)+$)(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}$")
SPECIALISED = re.compile(r"(?:c|d|de|e)?")
# What a compiler lists in the name of a kernel that it fused: the operations, which are all that the kernel does.
# TorchInductor reduces in a loop (red) or keeps the row (per).
LISTED = re.compile(
    r"triton_(?:red|per)_fused_(\w+)|(triton_[a-z]{3}_fused_\w+|(?:loop|input|output|custom)_\w+_fusion|wrapped_\w+)"
    r"|tvmgen_\w*?fused_(\w+)"
)
PREFIX = re.compile(r"^(?:julia|ptxcall|triton|tvmgen)_(?:gpu_)?")  # of every kernel of a compiler
# A word, also as part of camelCase, or two letters with a 2 that is a "to": h2d, b2b.
WORD = re.compile(r"(?<![A-Za-z\d])[A-Za-z]2[A-Za-z](?![a-z\d])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# BLAS begins a routine with its precision: sgemm and hgemm are one routine.
ROUTINE = re.compile(r"[a-z]?(gemm|gemv|ger|axpy|dot|scal|asum|nrm|syrk|trsm|trmm|symm|symv)")
# Words that name no work: what every kernel is, and what C++ and PyTorch put around a functor.
OF_ALL = frozenset(
    re.findall(
        r"\w+",
        """kernel kern krnl gpu cuda cu device dev host func function fn functor lambda instance operator op ops array
        impl wrapper agent policy detail native std at const void char unsigned signed template launch launcher nocast
        compute calculate calc run execute exec process perform do main my test demo
        unnamed anonymous namespace
        a an the and or of in on by with without non no not per from to for over into as is""",
    )
)
# Words that say how a kernel works, and not at what: versions of one kernel differ in these. They may stand together,
# as in warptiling.
HOW = (
    # where its data is, and how it is laid out
    "global|shar|local|constant|const|textur|register|regist|reg|[gsclr]?mem|memory|cach|buffer|bank|conflict|padd?|unpadd?"
    "|swizzl|nhwc|nchw|align|[nt]{2,3}"
    # who works
    "|thread|warp|block|cta|cluster|grid|lane|simt|tensor|core|[wx]?mma|wgmma|tma|tensorop|fma"
    # in which way
    "|tile?|coalesc|vectori[sz]|vector|vec|unroll|prefetch|pipelin|multistag|stag|async|sync|persistent|persist|stream"
    "|splitk?|interleav|privati[sz]|coarsen|strid|shuffl|shfl|atomic|loop|bound|barrier|once|cooperativ|coop|occupancy"
    "|inlin|inplac|doubl|ilp|resolv|ldg|online"
    # how well
    "|naiv|simpl|basic|baselin|base|referenc|ref|original|orig|old|new|slow|fast|quick|improv|better|best|bad|good|opt"
    "|optimi[sz]|optimal|tun|autotun|auto|nativ|custom|version|ver|fix|draft|variant|alt|first|one|two|three|four|five"
    "|six|seven|eight|nine|ten"
    # with which numbers, on which chip, of which library
    "|float|half|int|uint|long|short|byte|bool|fp|bf|tf|bfloat|singl|precision|mix"
    "|kepler|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell|sm|cublas|cudnn|cutlass"
)
HOW_WORD = re.compile(rf"(?:(?:{HOW})(?:ing|ed|e|d|er|es|s)?){{1,4}}")
LONGEST_WORD = 40  # of those that are looked up: longer ones take time, and are no words
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class KernelName:
    """A kernel's name, from all of it to the least that still names it; two kernels are alike in one of these or not.

    ``words`` leaves out numbers among the template arguments, ``qualified`` all arguments, ``base`` the namespaces too.
    In all of them what compilers append is gone, as Triton's suffixes and the numbers of TorchInductor and Julia. Of a
    wrapper such as vectorized_elementwise_kernel only numbers and scalar types are left out; ``base`` of one that runs
    a class which is a kernel, as CUTLASS does, is the name of that class.
    """

    signature: str
    words: str
    qualified: str
    base: str


def kernel_name(signature: str) -> KernelName:
    """Return the forms of a demangled name, or of a plain one as Triton and libraries have it."""
    signature = VERSIONED.sub("", signature)
    function = _function(signature)
    if function == signature:
        plain = without_suffixes(signature)
        return KernelName(plain, plain, plain, plain)
    namespace, colons, base = function.rpartition("::")
    bare = without_suffixes(base)
    whole = signature.replace(base, bare, 1)
    words = LITERAL.sub("#", whole)
    if base in WRAPPERS:
        functor = " ".join(SCALAR.sub("#", words).split())
        found = KERNEL_CLASS.match(functor.partition(f"{base}<")[2]) if base in CLASS_WRAPPERS else None
        return KernelName(whole, words, functor, found.group(1) if found else functor)
    return KernelName(whole, words, namespace + colons + bare, bare)


def without_suffixes(name: str) -> str:
    """Return a name without Triton's specialisation, digests, and the running numbers of compilers."""
    bare = DIGEST.sub("", _without_specialisation(name))
    for pattern in GENERATED:
        if numbered := pattern.fullmatch(bare):
            bare = "".join(numbered.groups())
            break
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


def renamed(left: Iterable[KernelName], right: Iterable[KernelName], of_library: bool = False) -> set[tuple[str, str]]:
    """Return the pairs of kernels, by ``base``, that are one kernel under two names, as far as names can say.

    ``left`` and ``right`` are all kernels of two programs that are one's own, or all of one library. Two names are of
    one kernel if they differ in numbers only; or if they say the same of the work; or if one only says more of it, and
    both kernels take the same arguments, where these are known. What they have in common must be in no third name of
    either program: else it names several kernels, as the start of all names of a project does, and does not tell which
    of them became which. A kernel that could be either of two others is neither.
    """
    sides = {name.base: name for name in left}, {name.base: name for name in right}
    kernels = [(side, name) for side, names in enumerate(sides) for name in names.values()]
    words = [work_of(name, of_library) for _, name in kernels]
    numbered, worded = defaultdict(set), defaultdict(set)
    for place, (_, name) in enumerate(kernels):
        numbered[without_numbers(name)].add(place)
        for word in words[place]:
            worded[word].add(place)
    alike = [places for bare, places in numbered.items() if bare]
    for of_one in filter(None, words):
        fewest, *others = sorted((worded[word] for word in of_one), key=len)
        alike.append(set(islice((place for place in fewest if all(place in other for other in others)), 3)))
    pairs = {(min(places), max(places)) for places in alike if len(places) == 2}
    found = Counter(place for pair in pairs for place in pair)
    named = [
        (kernels[one][1], kernels[other][1])
        for one, other in pairs
        if kernels[one][0] < kernels[other][0] and found[one] == found[other] == 1
        if words[one] == words[other] or _take_the_same(kernels[one][1], kernels[other][1])
    ]
    return {(one.base, other.base) for one, other in named if one.base != other.base}


def _take_the_same(one: KernelName, other: KernelName) -> bool:
    """Return whether two kernels take as many arguments, pointers in the same places; also if that is not known."""
    taken = _arguments(one.signature), _arguments(other.signature)
    return None in taken or taken[0] == taken[1]


def _arguments(signature: str) -> list[bool] | None:
    """Return of each argument whether it is a pointer; None for a name without arguments, as Triton's."""
    if not (signature := signature.removesuffix(" const").rstrip()).endswith(")"):
        return None
    found, depth = [""], 0
    for character in reversed(signature[:-1]):
        depth += (character in ")>]") - (character in "(<[")
        if depth < 0:
            break
        if character == "," and depth == 0:
            found.append("")
        elif depth == 0:
            found[-1] += character
    return ["*" in argument for argument in reversed(found)]


def work_of(name: KernelName, of_library: bool = False) -> frozenset[str]:
    """Return the words of a name that say which work the kernel does; empty where none does, as of julia__5.

    Numbers, what all names of a compiler begin with, and words that say how are no such words. Those of a functor, of a
    kernel that a compiler fused and of a kernel of a library are one word together: they say all of the work, so that
    a name which says more is of other work.
    """
    listed = LISTED.fullmatch(name.base)
    whole = next(filter(None, listed.groups())) if listed else PREFIX.sub("", name.base)
    found = frozenset(_routine(word) for word in map(str.lower, WORD.findall(whole)) if _is_of_work(word))
    return frozenset([" ".join(sorted(found))]) if found and (of_library or listed or "<" in name.base) else found


def _is_of_work(word: str) -> bool:
    says_how = len(word) <= LONGEST_WORD and HOW_WORD.fullmatch(word)
    return len(word) > 1 and word not in OF_ALL and not says_how


def _routine(word: str) -> str:
    """Return a word in the singular, and a routine of BLAS without its precision."""
    one = word.removesuffix("s") if len(word) > 3 and word[-2] not in "isu" else word
    found = ROUTINE.fullmatch(one)
    return found.group(1) if found else one


def without_numbers(name: KernelName) -> str:
    """Return a name without any number; empty if nothing is left that names a kernel."""
    bare = NUMBER.sub("#", PREFIX.sub("", name.base))
    return bare if any(len(word) > 1 for word in WORD.findall(bare)) else ""
