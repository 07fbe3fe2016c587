"""Make a new kernel folder: from a .cu file, from another kernel, or from the demo that the wheel carries."""

from __future__ import annotations

import json
import keyword
import re
import shlex
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.backends.cuda import C_DTYPES, split_parameters, without_comments
from ncu_assist.errors import EnvironmentProblem, UsageProblem, did_you_mean
from ncu_assist.project import Project
from ncu_assist.sources import discover_versions, versions_and_mistakes
from ncu_assist.spec import DTYPE_BYTES
from ncu_assist.spec_file import FILE, check_kernel_name, load_kernel

MEASURED = re.compile(r"^(?:(?:#|//) *\n)?(?:#|//) (?:expected|measured):.*\n(?:(?:#|//)  +\S.*\n)*", re.MULTILINE)
LAUNCHER = re.compile(r'extern\s+"C"\s+cudaError_t\s+(\w+)\s*\(([^)]*)\)')
GLOBAL = re.compile(
    r"(template\s*<[^;{]*?>\s*)?__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)"
)
WORDS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "struct"}
WHOLE = ("int", "long", "long long", "short")
INTEGERS = {
    *WHOLE,
    *(f"unsigned {one}" for one in WHOLE),
    "unsigned",
    "size_t",
    "int32_t",
    "int64_t",
    "uint32_t",
    "uint64_t",
}
STREAM = "cudaStream_t"
UNSIGNED = re.compile(r"unsigned(?! char)|uint(32|64)_t|size_t")
NESTED = r"(?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*"  # an index, which may contain other indices
# The first tolerance: a few roundings of the type, for a result that is summed up in it.
TOLERANCES = {"float64": "1e-12", "float32": "1e-5", "float16": "1e-2", "bfloat16": "2e-2"}
SIZE, SIDE = 1 << 24, 4096  # of the large workload: 64 MB of float32, more than any L2 holds; SIDE if it has two sizes
ODD_SIZE, ODD_SIDES = 1_000_003, (1021, 769)
BLOCK, OF_A_BLOCK = "256", "block"  # threads
LITTLE = 8  # value of an integer that no thread index is compared with: a radius, a depth, a number of steps


@dataclass(frozen=True)
class Parameter:
    """A parameter of a C function: ``type`` without const and pointer."""

    name: str
    type: str
    is_pointer: bool
    is_const: bool

    @property
    def is_integer(self) -> bool:
        return not self.is_pointer and self.type in INTEGERS

    @property
    def dtype(self) -> str:
        """The name of the type in kernel.toml; raises UsageProblem if it has none."""
        if self.type not in C_DTYPES:
            said = f"{self.name} points to {self.type}, which is not one of {', '.join(C_DTYPES)}"
            raise UsageProblem(
                said, f'write extern "C" cudaError_t KERNEL({self.name} as one of them, …, {STREAM} stream)'
            )
        return C_DTYPES[self.type]


NewKernel = tuple[tuple[Path, ...], tuple[str, ...]]  # files written, relative to the project, and steps for the user


# Shows the output of `show --format lines` as the editor's list of problems.
VSCODE_TASKS = {
    "version": "2.0.0",
    "tasks": [
        {
            "label": "ncu-assist: findings",
            "type": "shell",
            "command": 'ncu-assist show "${input:version}" --format lines',
            "options": {"cwd": "${workspaceFolder}"},
            "problemMatcher": {
                "owner": "ncu-assist",
                "fileLocation": ["relative", "${workspaceFolder}"],
                "pattern": {
                    "regexp": r"^(.+?):(\d+): (warning|info): (.+)$",
                    "file": 1,
                    "line": 2,
                    "severity": 3,
                    "message": 4,
                },
            },
        }
    ],
    "inputs": [
        {
            "id": "version",
            "type": "promptString",
            "description": "kernel/version, @last, @best",
            "default": "@last",
        }
    ],
}


def write_vscode_tasks(project: Project) -> NewKernel:
    """Write the task that shows findings in VS Code's list of problems.

    Raises UsageProblem if the project already has tasks, and leaves them as they are.
    """
    path = project.root / ".vscode" / "tasks.json"
    if path.exists():
        raise UsageProblem(f"{path} already exists", "add the task by hand: docs/guide/agents.md has it")
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{json.dumps(VSCODE_TASKS, indent=2)}\n", encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}", "another folder") from error
    return (path.relative_to(project.root),), ("in VS Code: Terminal > Run Task > ncu-assist: findings",)


# Builds, pages, which can always be made again from the runs, and prompts, which wait here for a reply.
NOT_KEPT = (".ncu-assist/", "/reports/**/*.html", "/reports/*/suggest/prompt-*.json")


def init(project: Project, here: Path) -> NewKernel:
    """Make a folder a project: add ``kernels/``, and keep builds and pages out of git.

    Raises UsageProblem if the folder is already in a project, EnvironmentProblem if it cannot be written.
    """
    if project.kernels.is_dir():
        raise UsageProblem(f"this is already a project: {project.root}", "ncu-assist list")
    ignored = here / ".gitignore"
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored.is_file() else []
    try:
        (here / "kernels").mkdir()
        written = [Path("kernels")]
        if lacking := [one for one in NOT_KEPT if one not in lines]:
            ignored.write_text("\n".join([*lines, *lacking, ""]), encoding="utf-8")
            written.append(Path(ignored.name))
    except OSError as error:
        raise EnvironmentProblem(f"cannot write in {here}: {error.strerror}", "cd to another folder") from error
    return tuple(written), ("ncu-assist new KERNEL --from FILE.cu",)


def new_from(project: Project, name: str, source: Path, with_torch: bool) -> NewKernel:
    """Write a kernel folder around a .cu file; ``with_torch`` makes the first version a stub that calls torch.

    Raises UsageProblem for an invalid name or one in use, and for a file without a kernel.
    """
    folder = _free_folder(project, name, f"ncu-assist new {name} --from {shlex.quote(str(source))} --next")
    text = _text_of(source)
    parameters, launcher, left = _read(source, text, name)
    pointers = [one for one in parameters if one.is_pointer]
    outputs = [one for one in pointers if not one.is_const]
    inputs = [one for one in pointers if one.is_const]
    integers = [one for one in parameters if one.is_integer]
    if not inputs or not outputs:
        said = (
            "no pointer to const, so its inputs are not known" if outputs else "no other pointer, so it has no output"
        )
        raise UsageProblem(f"{source} takes {said}", "declare inputs as const T*, and outputs as T*")
    sizes = [one.name for one in integers] or ["n"]
    lengths = re.findall(r"\[[^][]*\*\s*(\w+)\s*\+", without_comments(text))  # width of image[y * width + x]
    pitches = [one for one in sizes if one in lengths]
    sides = _shape(_sides(parameters, text), pitches)
    order = [one.name for one in parameters if one.is_pointer or one.is_integer]
    order += [] if integers or not launcher else sizes
    own = _file_name(int(with_torch), name, source)
    files = {
        FILE: _toml(name, inputs, outputs, _workloads(sizes, (*sides, *pitches)), sides, order),
        "reference.py": _reference(name, inputs, outputs, sides),
        own: _with_launcher(text, launcher, name),
    }
    if with_torch:
        files["v0_torch.py"] = _torch_version(name, inputs, outputs)
    cleared = re.findall(r"cudaMemset(?:Async)?\s*\(\s*(\w+)", text) if not launcher else []
    if read := _read_outputs(text, [one.name for one in outputs if one.name not in cleared]):
        one, typed = read[0], next(each.type for each in outputs if each.name == read[0])
        left.append(
            f"{', '.join(read)} is read and written, but an output holds NaN before each call: where old values are an "
            f"input, take them as const {typed}* {one} and write to another array, {typed}* out; where it adds up, "
            "clear it in the launcher first"
        )
    unsigned = [one.name for one in pointers if UNSIGNED.match(one.type)]
    if unsigned:
        left.append(f"{', '.join(unsigned)}: unsigned in C, a signed tensor with the same bits in reference.py")
    guessed = [one for one in sizes if one not in (*sides, *pitches)]
    values = f"; {', '.join(guessed)} = {LITTLE}" if guessed else ""
    keys = "ncu-assist explain --schema kernel.toml"
    todo = [
        f"{FILE}: check the guessed shapes of outputs, bytes, flops, tolerance and sizes{values}; all keys: {keys}",
        *(f"{own}: {one}" for one in left),
    ]
    todo.append("reference.py: write reference; make_inputs makes random numbers of one size")
    if guessed:
        todo.append(f'{FILE}: numbers = ["{guessed[0]}"] and inputs, where reference has to get {guessed[0]}')
    if with_torch:
        todo.append("v0_torch.py: call torch, into the outputs")
    todo.append(f"then: ncu-assist check {name}")
    return _write(project, folder, files), tuple(todo)


def add_version(project: Project, name: str, source: Path) -> NewKernel:
    """Write a .cu file into the folder of a kernel as its next version; add a launcher if the file has none.

    Raises UsageProblem if there is no such kernel, and for a file without a kernel.
    """
    folder = project.kernels / name
    if not (folder / FILE).is_file():
        again = f"ncu-assist new {name} --from {shlex.quote(str(source))}"
        raise UsageProblem(f"there is no kernel {name} to add a version to", again)
    text = _text_of(source)
    _, launcher, left = _read(source, text, name)
    number = 1 + max((one.number for one in versions_and_mistakes(folder)[0]), default=-1)
    path = folder / _file_name(number, name, source)
    try:
        path.write_text(_with_launcher(text, launcher, name), encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"cannot write {path}: {error.strerror}", f"make {folder} writable") from error
    todo = [f"{path.name}: {one}" for one in left]
    return (path.relative_to(project.root),), (*todo, f"then: ncu-assist check {name} v{number}")


def _file_name(number: int, name: str, source: Path) -> str:
    stem = re.sub(r"[^A-Za-z0-9_]+", "_", re.sub(r"^v\d+_", "", source.stem)).strip("_") or "first"
    return f"v{number}_{'naive' if stem == name else stem}.cu"


def new_like(project: Project, name: str, other: str) -> NewKernel:
    """Write a kernel folder as a copy of another kernel: its kernel.toml, its reference and its first version.

    The other kernel is one of the project, else one that comes with the tool. Raises UsageProblem as ``new_from``
    does, and if there is no such kernel.
    """
    folder = _free_folder(project, name, "choose another name")
    own = {path.parent.name for path in project.kernels.glob(f"*/{FILE}")}
    forms = {path.parent.name for path in shipped().kernels.glob(f"*/{FILE}")}
    if other not in own | forms:
        there = f"there is no kernel '{other}'; {did_you_mean(other, [*own, *forms])}"
        raise UsageProblem(there, f"ncu-assist new {name} --like softmax")
    kernel = load_kernel(project if other in own else shipped(), other)
    first = [version.path for version in discover_versions(kernel.folder)[:1]]
    paths = [kernel.folder / FILE, kernel.folder / "reference.py", *first]
    word = re.compile(rf"(?<![\w.]){re.escape(other)}\b")  # torch.softmax keeps its name
    files = {path.name: word.sub(name, MEASURED.sub("", path.read_text(encoding="utf-8"))) for path in paths}
    left = (
        f"{FILE}: change the summary, arguments, sizes, bytes and tolerance, which are those of {other}",
        f"reference.py and {first[0].name if first else 'v0'}: rewrite them; they compute what {other} does",
        f"then: ncu-assist check {name}",
    )
    return _write(project, folder, files), left


def _free_folder(project: Project, name: str, instead: str) -> Path:
    check_kernel_name(name)
    folder = project.kernels / name
    if folder.exists():
        raise UsageProblem(f"kernel {name} already exists: {folder.relative_to(project.root)}", instead)
    return folder


def _text_of(source: Path) -> str:
    if source.suffix == ".py":
        said = f"{source} is Python, and only a .cu file can be read; write a version in Triton or torch by hand"
        raise UsageProblem(said, "ncu-assist new KERNEL --like softmax; what it needs: ncu-assist explain version")
    if source.suffix != ".cu":
        raise UsageProblem(f"{source} is not a .cu file", "name a .cu file, or use --like")
    try:
        return source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{source} is not UTF-8 text", "name a .cu file") from error
    except FileNotFoundError as error:
        beside = [str(one) for one in source.parent.glob("*.cu")]
        near = did_you_mean(str(source), beside) if beside else "that folder has no .cu file"
        raise UsageProblem(f"there is no file '{source}'; {near}", "name a .cu file") from error
    except OSError as error:
        raise UsageProblem(f"{source} cannot be read: {error.strerror}", "name a .cu file") from error


def _read(source: Path, text: str, name: str) -> tuple[list[Parameter], str, list[str]]:
    """Return the launcher's parameters, its code if it has to be written, and the steps left to the user."""
    bare = without_comments(text)
    launchers = {found[1]: found[2] for found in LAUNCHER.finditer(bare)}
    if name in launchers:
        own = [one for one in _parameters(launchers[name]) if one.type != STREAM]
        for one in own:
            if not (one.is_pointer or one.is_integer):
                said = f"the launcher of {source} takes {one.type} {one.name}: only pointers and integers are allowed"
                raise UsageProblem(said, f"set {one.name} inside the launcher")
        return own, "", []
    if launchers:
        other = next(iter(launchers))
        raise UsageProblem(f"the launcher of {source} is called {other}", f"ncu-assist new {other} --from {source}")
    kernels = {found[2]: found for found in GLOBAL.finditer(bare)}
    if not kernels:
        raise UsageProblem(f"{source} has no __global__ function", "name the .cu file that has the kernel")
    if len(kernels) > 1 and name not in kernels:
        listed = ", ".join(kernels)
        raise UsageProblem(
            f"{source} has several kernels, {listed}, and no launcher that calls them",
            f'write extern "C" cudaError_t {name}(pointers, long long sizes, cudaStream_t stream) in it',
        )
    found = kernels.get(name) or next(iter(kernels.values()))
    if found[1]:
        raise UsageProblem(
            f"{found[2]} in {source} is a template, and its types are not known",
            f'write extern "C" cudaError_t {name}(pointers, long long sizes, cudaStream_t stream) in it',
        )
    parameters = _parameters(found[3])
    sides = _sides(parameters, bare[found.end() :])
    over = " x ".join(sides)
    each, block = _threads_each(bare[found.end() :], _constants(bare)), _block_of(bare, found[2])
    shares = {"1": f" over {over}", "32": f", a warp for each of {over},", OF_A_BLOCK: f", one for each of {over},"}
    share = shares.get(each, f", {each} for each of {over},")
    blocks = f"32 x 8 threads over {over}" if sides[1:] else f"{block} threads{share}"
    left = [f"check the launcher at its end; blocks of {blocks} are a guess"]
    numbers = [one.name for one in parameters if not (one.is_pointer or one.is_integer)]
    if numbers:
        names = ", ".join(numbers)
        left.append(
            f"the launcher takes only pointers and integers, so {names} is 1 in it; set the value that you need"
        )
    return parameters, _launcher(name, found[2], parameters, sides, (each, block)), left


def _with_launcher(text: str, launcher: str, name: str) -> str:
    """Return a file with the launcher at its end. A kernel of the same name gets C++ linkage, as C cannot overload."""
    own = rf'extern\s+"C"\s+(?=__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?{name}\s*\()'
    return re.sub(own, "", text) + launcher if launcher else text


def _read_outputs(text: str, outputs: Sequence[str]) -> list[str]:
    """Return the outputs that a kernel also reads: it uses them with an index anywhere except before a single ``=``.

    An atomic function reads, too. A read through another name, such as a cast pointer, is not found.
    """
    bare = without_comments(text)
    bodies = [(found[3], _block(bare[found.end() :])) for found in GLOBAL.finditer(bare)]
    read = []
    for name in outputs:
        word = rf"(?<![\w.&])(?<!->){re.escape(name)}"
        of_kernels = [body for taken, body in bodies if re.search(rf"\*[^,]*\b{re.escape(name)}\b", taken)]
        reads = rf"{word}\s*\[{NESTED}\](?!\s*=(?!=))|\batomic\w+\s*\(\s*&?\s*{re.escape(name)}\b"
        if any(re.search(reads, body) for body in of_kernels):
            read.append(name)
    return read


def _block(text: str) -> str:
    """Return a text up to the brace that closes its first one."""
    depth = 0
    for place, sign in enumerate(text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "}" and depth <= 0:
            return text[: place + 1]
    return text


def _parameters(text: str) -> list[Parameter]:
    found = []
    for place, part in enumerate(split_parameters(text)):
        words = part.partition("=")[0].replace("*", " * ").replace("&", " ").replace("[]", " * ").split()
        is_pointer, is_const = "*" in words, "const" in words[: words.index("*")] if "*" in words else False
        rest = [word for word in words if word not in WORDS and word != "*"]
        known = rest[-1:] if len(rest) > 1 else []
        kind = " ".join(rest[: len(rest) - len(known)])
        name = known[0] if known else f"argument_{place}"
        name += "_" if keyword.iskeyword(name) else ""  # a parameter of reference.py cannot be called 'in'
        found.append(Parameter(name, kind, is_pointer, is_const))
    return found


def _sides(parameters: Sequence[Parameter], body: str) -> list[str]:
    """Return the sizes to launch threads over: two for code that has a y in its grid, the one of x last.

    They are the bounds of the indices, or the first parameters if no bound is found.
    """
    sizes = [one.name for one in parameters if one.is_integer] or ["n"]
    if not re.search(r"\b(?:blockIdx|threadIdx)\s*\.\s*y\b", body):
        return sizes[:1]
    found = [_bound(body, axis) for axis in "yx"]
    return found if {*found} <= {*sizes} and found[0] != found[1] else sizes[:2]


def _bound(body: str, axis: str) -> str:
    """Return the bound of the index that is made of ``blockIdx.x`` or ``.y``, empty if none is found."""
    index = re.search(rf"(\w+)\s*=[^=;]*\bblockIdx\s*\.\s*{axis}\b", body)
    limit = re.search(rf"\b{index[1]}\s*(?:<|>=)\s*(\w+)", body) if index else None
    return limit[1] if limit else ""


def _shape(sides: list[str], pitches: Sequence[str]) -> list[str]:
    """Return the sizes of an array, rows first, taken from the sizes that threads are launched over."""
    if len(sides) == 1:
        return [*sides, *(one for one in pitches[:1] if one not in sides)]
    return sides[::-1] if sides[0] in pitches and sides[1] not in pitches else sides


def _workloads(sizes: Sequence[str], lengths: Collection[str]) -> tuple[str, str]:
    """Return the sizes of a large and an odd workload; integers that are no array's length are small."""
    large, odd = ((SIDE,) * len(sizes), ODD_SIDES) if len({*lengths}) > 1 else ((SIZE,), (ODD_SIZE,))
    sides = {one: place for place, one in enumerate(one for one in sizes if one in lengths)}
    values = [
        "".join(f"{one} = {some[min(sides[one], len(some) - 1)] if one in sides else LITTLE}\n" for one in sizes)
        for some in (large, odd)
    ]
    return values[0], values[1]


def _constants(bare: str) -> list[str]:
    """Return the names of numbers in a file: each ``#define`` and each constant definition."""
    named = re.findall(r"^[ \t]*#\s*define\s+(\w+)", bare, re.MULTILINE)
    defined = re.findall(r"^[ \t]*(?:static\s+)?const(?:expr)?\s+\w+\s+([^;{(]*);", bare, re.MULTILINE)
    return [*named, *(name for one in defined for name in re.findall(r"(\w+)\s*=", one))]


def _block_of(bare: str, kernel: str) -> str:
    """Return the block size of the launch in the file, a number or a constant; 256 if there is none."""
    launch = re.search(rf"\b{kernel}\s*<<<[^;]*?,\s*(\w+)\s*(?:,[^;]*)?>>>", bare)
    known = launch is not None and (launch[1].isdigit() or launch[1] in _constants(bare))
    return launch[1] if launch and known else BLOCK


def _threads_each(body: str, constants: Sequence[str]) -> str:
    """Return how many threads share an index that is made of ``blockIdx.x``: one, a number, a constant, or a block."""
    made = re.search(r"\w\s*=\s*([^=;,]*\bblockIdx\s*\.\s*x\b[^;,]*)", body)
    if made is None:
        return "1"
    if not re.search(r"\bthreadIdx\b", made[1]):
        return OF_A_BLOCK
    by = re.search(r"/\s*(\w+)|>>\s*(\d+)", made[1])
    if by is None:
        return "1"
    shared = str(1 << int(by[2])) if by[2] else "32" if by[1] == "warpSize" else by[1]
    return shared if shared.isdigit() or shared in constants else "1"


def _launcher(
    name: str, kernel: str, parameters: Sequence[Parameter], sides: Sequence[str], shared: tuple[str, str]
) -> str:
    """Return the code of a launcher; ``shared`` holds the threads per index and the threads per block."""
    taken, passed = [], []
    for one in parameters:
        if one.is_pointer:
            taken.append(f"{'const ' if one.is_const else ''}{one.type}* {one.name}")
            passed.append(one.name)
        elif one.is_integer:
            taken.append(f"long long {one.name}")
            passed.append(one.name)
        else:  # a launcher takes only pointers and integers
            passed.append(f"{one.type}(1) /* {one.name} */")
    taken += [] if any(one.is_integer for one in parameters) else ["long long n"]
    each, block = shared
    threads = sides[0] if each == "1" else f"{sides[0]} * {each}"
    last = str(int(block) - 1) if block.isdigit() else f"{block} - 1"
    grid = sides[0] if each == OF_A_BLOCK else f"({threads} + {last}) / {block}"
    if sides[1:]:
        grid, block = f"dim3(({sides[1]} + 31) / 32, ({sides[0]} + 7) / 8)", "dim3(32, 8)"
    return f"""
extern "C" cudaError_t {name}({", ".join([*taken, f"{STREAM} stream"])}) {{
    {kernel}<<<{grid}, {block}, 0, stream>>>({", ".join(passed)});
    return cudaGetLastError();
}}
"""


def _toml(
    name: str,
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    workloads: tuple[str, str],
    sides: Sequence[str],
    order: Sequence[str],
) -> str:
    def listed(names: Sequence[str]) -> str:
        return ", ".join(f'"{one}"' for one in names)

    count, each = " * ".join(sides), sum(DTYPE_BYTES[one.dtype] for one in (*inputs, *outputs))
    shapes = "".join(f'{one.name} = {{ dtype = "{one.dtype}", shape = [{listed(sides)}] }}\n' for one in outputs)
    limits = {one.dtype: TOLERANCES.get(one.dtype, "0") for one in outputs}
    tables = "".join(f"[tolerance.{one}]\nnorm = {it}\nrtol = {it}\natol = {it}\n\n" for one, it in limits.items())
    return f"""summary = "{name}: say what it computes"
inputs = [{listed([one.name for one in inputs])}]
arguments = [{listed(order)}]
# each input read once, each output written once
bytes = "{each} * {count}"
flops = "{count}"

[outputs]
{shapes}
# norm = ||out - ref|| / ||ref||; each element: |out - ref| <= atol + rtol * |ref|
{tables}[workloads.large]
{workloads[0]}dtype = "{inputs[0].dtype}"
default = true

# no multiple of a block, and no square: what a tail or a turned index breaks
[workloads.odd]
{workloads[1]}dtype = "{inputs[0].dtype}"
"""


MAKERS = {
    "normal": """
    def normal(dtype: str) -> torch.Tensor:
        made = torch.randn({shape}, generator=generator, device=device)
        return made.to(getattr(torch, dtype))
""",
    "whole": """
    def whole(dtype: str) -> torch.Tensor:
        return torch.randint(256, ({shape},), generator=generator, device=device, dtype=getattr(torch, dtype))
""",
}


def _reference(name: str, inputs: Sequence[Parameter], outputs: Sequence[Parameter], sides: Sequence[str]) -> str:
    shape = ", ".join(f'workload["{one}"]' for one in sides)
    made = ", ".join(f'{"normal" if one.dtype in TOLERANCES else "whole"}("{one.dtype}")' for one in inputs)
    makers = "".join(text.format(shape=shape) for name, text in MAKERS.items() if f"{name}(" in made)
    taken, returned = (", ".join(one.name for one in some) for some in (inputs, outputs))
    return f'''"""Inputs of {name} and its result in float64."""

import torch


def make_inputs(workload: dict, seed: int, device: str) -> tuple:
    """Return {taken}."""
    generator = torch.Generator(device=device).manual_seed(seed)
{makers}
    return ({made},)


def reference({taken}) -> tuple:
    """Return ({returned},), in float64 where it can be."""
    raise NotImplementedError("reference.py: write what {name} computes")
'''


def _torch_version(name: str, inputs: Sequence[Parameter], outputs: Sequence[Parameter]) -> str:
    taken = ", ".join(one.name for one in (*inputs, *outputs))
    return f"""# Baseline: torch. The number to beat.
import torch


def {name}({taken}):
    raise NotImplementedError("v0_torch.py: call torch, e.g. torch.add(x, 1, out=y)")
"""


def _write(project: Project, folder: Path, files: dict[str, str]) -> tuple[Path, ...]:
    try:
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise EnvironmentProblem(f"cannot write {folder}: {error.strerror}", "make kernels/ writable") from error
    return tuple((folder / name).relative_to(project.root) for name in files)


DEMO_KERNEL = "softmax"  # `hatch_build.py` puts its folder and its runs into the wheel
PACKAGED = Path(__file__).parents[1] / "demo"  # in a wheel; a checkout has them in their own folders
NO_PAGES = shutil.ignore_patterns("*.html", "__pycache__")
DEMO_MEASURED = "profile", DEMO_KERNEL
DEMO_COMMANDS = (
    ("history", DEMO_KERNEL),
    ("diff", f"{DEMO_KERNEL}/v3", f"{DEMO_KERNEL}/v6"),
    ("report", DEMO_KERNEL),
    ("suggest", DEMO_KERNEL, "--dry-run"),
)


def shipped() -> Project:
    """Return the project that comes with the tool: the demo, and a template of each kernel of the repository."""
    return Project(PACKAGED if PACKAGED.is_dir() else Path(__file__).parents[2])


def copy_demo(to: Path) -> Project:
    """Write the demo into a new folder and return it as a project.

    Raises UsageProblem if the folder exists, EnvironmentProblem if it cannot be written or this package was built
    without a demo.
    """
    source = shipped().root
    parts = ("kernels", DEMO_KERNEL), ("reports", DEMO_KERNEL)
    if not all(source.joinpath(*part).is_dir() for part in parts):
        raise EnvironmentProblem("this package was built without the demo", "install a wheel that `make dist` made")
    if to.exists():
        raise UsageProblem(f"{to} already exists, and nothing is overwritten", f"ncu-assist demo {to}_2")
    try:
        for part in parts:
            shutil.copytree(source.joinpath(*part), to.joinpath(*part), ignore=NO_PAGES)
    except OSError as error:
        shutil.rmtree(to, ignore_errors=True)
        raise EnvironmentProblem(f"cannot write {to}: {error.strerror}", "cd to another folder") from error
    return Project(to)
