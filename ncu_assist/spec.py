"""A kernel folder as data: what kernel.toml and the file names say, without running any code of the kernel."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.expression import evaluate
from ncu_assist.versions import Descent, Lineage, descent

VERSION_FILE = re.compile(r"v(\d+)_(\w+)\.(cu|py)", re.ASCII)  # which names a folder of the archive too
# Within a line: \s would take the square of a file of blank lines, and a draft may be one.
DTYPES_LINE = re.compile(r"^[ \t]*(?://|#|\*)?[ \t]*dtypes:[ \t]*(.+)$", re.MULTILINE)
# In the first comment only, where prose may stand before and after.
PACKAGES_LINE = re.compile(r"^[ \t]*packages:[ \t]*(.+)$", re.MULTILINE)
DRAWS_LINE = re.compile(r"^[ \t]*draws: its own[ \t]*$", re.MULTILINE)
HEADER_COMMENT = {
    ".cu": re.compile(rb"\A(?:[ \t]*(?://[^\n]*)?\r?\n)*"),
    ".py": re.compile(rb"\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*"),
}
LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
DTYPE_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "uint8": 1}
OF_WORKLOAD = "workload"  # an output's dtype where it has that of the inputs


@dataclass(frozen=True)
class Tolerance:
    """How far an output may be from the reference.

    ``norm`` bounds ||out - ref|| / ||ref||; each element obeys |out - ref| <= atol + rtol * |ref|.
    """

    norm: float
    rtol: float
    atol: float


@dataclass(frozen=True)
class Output:
    """One tensor a kernel writes. ``shape`` holds expressions over the workload's integers."""

    name: str
    dtype: str  # perhaps OF_WORKLOAD: ask Kernel.dtype
    shape: tuple[str, ...]


@dataclass(frozen=True)
class HostInputs:
    """The inputs that lie in pinned memory of the host, and an expression for the bytes of them that a call needs."""

    names: tuple[str, ...]
    bytes_expression: str


@dataclass(frozen=True)
class Workload:
    """One problem size: its name, the dtype its inputs have, and its integers by name.

    ``versions`` are those that it is for, as kernel.toml calls them; empty: every version that serves its dtype.
    """

    name: str
    dtype: str
    integers: dict[str, int]
    default: bool
    versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Version:
    """One source file: ``v3_global_memory.cu`` is number 3, short ``v3``, name ``v3_global_memory``."""

    number: int
    name: str
    path: Path
    dtypes: tuple[str, ...]  # empty: every dtype of the kernel
    packages: tuple[str, ...] = ()  # that it cannot run without, by the names that Python imports
    draws_own: bool = False  # random numbers of another generator than the reference's
    descent: Descent = field(default_factory=Descent)  # what it says of the versions that it builds on

    @property
    def is_peer(self) -> bool:
        """Whether it is of a library or framework: the steps are held against it."""
        return self.descent.is_peer

    @property
    def short(self) -> str:
        return f"v{self.number}"

    def serves(self, workload: Workload) -> bool:
        """Tell whether a workload is for this version: of a dtype that it serves, and not for others alone."""
        is_for_it = not workload.versions or not {self.short, self.name}.isdisjoint(workload.versions)
        return is_for_it and (not self.dtypes or workload.dtype in self.dtypes)


def why_skipped(version: Version) -> str:
    """Return which of a version's packages are not installed here, as a reason to skip it; empty where all are.

    Nothing is imported: a package that is there and broken is a failure of the version, told by its own words.
    """
    absent = [name for name in version.packages if importlib.util.find_spec(name) is None]
    if not absent:
        return ""
    return f"package{'s' * (len(absent) > 1)} {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed"


@dataclass(frozen=True)
class Kernel:
    """A kernel folder: one function, its arguments, its workloads, its versions in the order of their numbers.

    ``numbers`` are the inputs that are no tensors, but numbers that CUDA C gets as integers.
    """

    name: str
    folder: Path
    summary: str
    inputs: tuple[str, ...]
    arguments: tuple[str, ...]
    outputs: tuple[Output, ...]
    bytes_expression: str
    flops_expression: str
    tolerances: dict[str, Tolerance]
    workloads: tuple[Workload, ...]
    versions: tuple[Version, ...]
    host: HostInputs | None = None
    numbers: tuple[str, ...] = ()

    @property
    def default_workload(self) -> Workload:
        return next(w for w in self.workloads if w.default)

    @property
    def reference(self) -> Path:
        return self.folder / "reference.py"

    def algorithmic_bytes(self, workload: Workload) -> int:
        """Return the bytes that a call has to move: each input read once, each output written once."""
        return evaluate(self.bytes_expression, workload.integers)

    def written_bytes(self, workload: Workload) -> int:
        """Return the bytes of the outputs, each written once."""
        sizes = (DTYPE_BYTES[self.dtype(one, workload)] * prod(self.shape(one, workload)) for one in self.outputs)
        return sum(sizes)

    def host_bytes(self, workload: Workload) -> int | None:
        """Return the bytes that a call has to fetch across the host link, None if all inputs lie on the device."""
        return evaluate(self.host.bytes_expression, workload.integers) if self.host else None

    def flops(self, workload: Workload) -> int:
        """Return the floating-point operations that a call has to do."""
        return evaluate(self.flops_expression, workload.integers)

    def shape(self, output: Output, workload: Workload) -> tuple[int, ...]:
        """Return the shape of an output for a workload."""
        return tuple(evaluate(size, workload.integers) for size in output.shape)

    def dtype(self, output: Output, workload: Workload) -> str:
        """Return the dtype of an output for a workload."""
        return workload.dtype if output.dtype == OF_WORKLOAD else output.dtype

    @property
    def lineage(self) -> Lineage:
        """Which version builds on which."""
        return Lineage([one.name for one in self.versions], lambda name: self.version(name).descent)

    def version(self, name: str) -> Version:
        """Return the version called ``v3`` or ``v3_global_memory``; raises UsageProblem with the nearest name."""
        for version in self.versions:
            if name in (version.short, version.name):
                return version
        known = [n for v in self.versions for n in (v.short, v.name)]
        message = f"{self.name} has no version '{name}'; {did_you_mean(name, known)}"
        raise UsageProblem(message, f"ncu-assist list {self.name}")

    def select_versions(self, names: tuple[str, ...]) -> tuple[Version, ...]:
        """Return the versions named, in the order of their numbers; all of them when none is named."""
        if not self.versions:
            raise UsageProblem(f"{self.name} has no versions", f"write {self.folder.name}/v0_<idea>.py or .cu")
        chosen = {self.version(name) for name in names} or set(self.versions)
        return tuple(v for v in self.versions if v in chosen)

    def select_workloads(self, name: str | None) -> tuple[Workload, ...]:
        """Return the workload called ``name``, all of them for ``all``, the default one for None."""
        if name is None:
            return (self.default_workload,)
        found = tuple(w for w in self.workloads if name in ("all", w.name))
        if not found:
            known = ["all", *(w.name for w in self.workloads)]
            message = f"{self.name} has no workload '{name}'; {did_you_mean(name, known)}"
            raise UsageProblem(message, f"ncu-assist list {self.name}")
        return found


def unserved(version: Version, workloads: Iterable[Workload]) -> tuple[str, ...]:
    """Return the names of the workloads that are not for a version."""
    return tuple(workload.name for workload in workloads if not version.serves(workload))


def source_sha256(path: Path) -> str:
    """Return a hash over a version's code and the files of its folder that it includes with ``#include "…"``.

    The comment at the top of a file does not count: there the author writes down what was measured, afterwards.
    """
    digest = hashlib.sha256()
    for file in source_files(path):
        code = HEADER_COMMENT[path.suffix].sub(b"", file.read_bytes(), count=1)
        digest.update(file.name.encode() + b"\0" + code + b"\0")
    return digest.hexdigest()


def header_comment(code: bytes, suffix: str) -> str:
    """Return what the comment at the top of a source says, without its signs; empty where it has none.

    ``suffix`` is that of the file. It is the same comment that ``source_sha256`` leaves out.
    """
    found = HEADER_COMMENT[suffix].match(code) if suffix in HEADER_COMMENT else None
    lines = found[0].decode("utf-8", "replace").splitlines() if found else []
    sign = "//" if suffix == ".cu" else "#"
    said = [line.strip().removeprefix(sign).rstrip() for line in lines if not line.startswith("#!")]
    return "\n".join(line.removeprefix(" ") for line in said).strip("\n")


def source_files(path: Path) -> tuple[Path, ...]:
    """Return a version's file followed by the local files it includes, directly or through another, sorted by name.

    Raises UsageProblem for one that cannot be read.
    """
    found: dict[Path, None] = {path: None}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        try:
            code = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise _unreadable_file(file, error) from error
        for name in LOCAL_INCLUDE.findall(code):
            included = file.parent / name
            if included.is_file() and included not in found:
                found[included] = None
                waiting.append(included)
    return (path, *sorted(f for f in found if f != path))


def discover_versions(folder: Path) -> tuple[Version, ...]:
    """Return the versions in a kernel folder, sorted as numbers.

    Raises UsageProblem, with all that is wrong, for two files with one number, for files that cannot be read and for
    the folder itself.
    """
    try:
        versions, wrong = versions_and_mistakes(folder)
    except OSError as error:
        raise unreadable_folder(folder, error) from error
    if wrong:
        raise told_together(folder.name, wrong)
    return versions


def unreadable_folder(folder: Path, error: OSError) -> UsageProblem:
    """Return the error for a kernel's folder that may not be looked into."""
    return UsageProblem(f"{folder.name}: the folder cannot be read ({error.strerror})", "see that you may read it")


def versions_and_mistakes(folder: Path) -> tuple[tuple[Version, ...], list[UsageProblem]]:
    """Return the versions in a kernel folder, sorted as numbers, and what is wrong with others."""
    matches = [(path, match) for path in sorted(folder.iterdir()) if (match := VERSION_FILE.fullmatch(path.name))]
    free = 1 + max((int(match[1]) for _, match in matches), default=-1)
    found: dict[int, Version] = {}
    wrong: list[UsageProblem] = []
    for path, match in matches:
        number = int(match[1])
        if number in found:
            message = f"{folder.name}: {found[number].path.name} and {path.name} have the same number {number}"
            wrong.append(UsageProblem(message, f"rename one of them, e.g. to v{free}_{match[2]}.{match[3]}"))
            free += 1
            continue
        try:
            found[number] = _version(number, path)
        except OSError as error:
            wrong.append(_unreadable_file(path, error))
        except UsageProblem as error:
            wrong.append(error)
    return tuple(found[number] for number in sorted(found)), wrong


def _unreadable_file(path: Path, error: OSError) -> UsageProblem:
    message = f"{path.parent.name}: {path.name} cannot be read ({error.strerror})"
    return UsageProblem(message, f"see that {path.name} is a file that you may read, or remove it")


def told_together(name: str, wrong: Sequence[UsageProblem]) -> UsageProblem:
    """Return one error for all mistakes of a kernel folder, each with what to write."""
    if len(wrong) == 1:
        return wrong[0]
    own = [(one.message.removeprefix(f"{name}: "), one.hint) for one in wrong]
    lines = [f"  {message}" + (f"; try: {hint}" if hint else "") for message, hint in own]
    return UsageProblem(
        "\n".join([f"{name} has {len(wrong)} mistakes:", *lines]), "mend each of them; every line says how"
    )


def _version(number: int, path: Path) -> Version:
    said = header_comment(path.read_bytes(), path.suffix)
    draws_own = bool(DRAWS_LINE.search(said))
    return Version(number, path.stem, path, _dtypes(path), _packages(path, said), draws_own, descent(said))


def _dtypes(path: Path) -> tuple[str, ...]:
    match = DTYPES_LINE.search(path.read_text(encoding="utf-8", errors="replace"))
    return tuple(match.group(1).replace(",", " ").split()) if match else ()


def _packages(path: Path, said: str) -> tuple[str, ...]:
    match = PACKAGES_LINE.search(said)
    names = tuple(match.group(1).replace(",", " ").split()) if match else ()
    for name in names:
        if not name.isidentifier():
            raise UsageProblem(
                f"{path.parent.name}: {path.name} names the package '{name}', which Python cannot import",
                "write it as in an import, e.g. packages: liger_kernel",
            )
    return names
