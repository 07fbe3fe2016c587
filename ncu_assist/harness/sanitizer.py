"""Run compute-sanitizer, explain its messages, and read its findings with kernel, line and thread."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Literal, get_args

from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.base import Executor
from ncu_assist.harness.client import STDERR_TAIL, child_environment
from ncu_assist.harness.events import MARK, parse
from ncu_assist.harness.request import REQUEST_FILE, Artifact
from ncu_assist.process import Completed, module_argv
from ncu_assist.spec import Kernel, Version, Workload

SanitizerTool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
TOOLS: tuple[SanitizerTool, ...] = get_args(SanitizerTool)
PROGRAM = "compute-sanitizer"
STAGE = "sanitize"
# racecheck reports either all pairs of accesses, each with its number of hazards but without threads, or the hazards of
# single bytes with threads. One pair of accesses then fills the limit of printed messages and hides the others.
PAIRS, HAZARDS_ALONE = "analysis", "hazard"
PRINTED = 100  # blocks of its output; a fault that every thread makes repeats the same message
# In torch's memory pool, an access far outside a tensor is still inside one large allocation and so not reported.
# Without the pool, torch calls cudaMalloc for each tensor with its exact size.
PLAIN_MEMORY = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
MOST_BYTES = 64 << 20  # moved by a call on a workload that was not named: checking each access makes it some 10 to 100
# times slower (Compute Sanitizer, user guide), and racecheck keeps a record of every shared access
MOST_WORKLOADS = 3


@dataclass(frozen=True)
class SanitizerMessage:
    """A known message: patterns of its first line and of the lines below, the fault in words, and what to try."""

    id: str
    tool: SanitizerTool
    head: str  # a pattern
    below: str
    words: str
    advice: str


# The first match counts. The patterns are from the user guide of Compute Sanitizer and from its recorded outputs.
MESSAGES: tuple[SanitizerMessage, ...] = (
    SanitizerMessage(
        "misaligned",
        "memcheck",
        r"^Invalid __\w+__ (?:read|write|atomic)",
        r"is misaligned",
        "misaligned access",
        "the address of a vector load or store has to be a multiple of its size: test it, or take the narrow path",
    ),
    SanitizerMessage(
        "out-of-bounds",
        "memcheck",
        r"^Invalid __\w+__ (?:read|write|atomic)",
        r"",
        "out of bounds",
        "compare the index with the sizes of the workload: a tail, a stride, an offset that overflows 32 bits; "
        "memory that was freed before is out of bounds too",
    ),
    SanitizerMessage(
        "stack",
        "memcheck",
        r"[Ss]tack overflow|^Invalid pc|^Hardware exception|^Device exception",
        r"",
        "the hardware stopped the kernel",
        "look for recursion, a call through a wrong pointer, or a local array written beyond its end",
    ),
    SanitizerMessage(
        "device-heap",
        "memcheck",
        r"^(?:Malloc|Free)/?\w* ?[Ee]rror|[Dd]ouble free",
        r"",
        "wrong use of malloc or free on the device",
        "each pointer of malloc is freed once, by one thread",
    ),
    SanitizerMessage(
        "race",
        "racecheck",
        r"[Rr]ace reported|hazard detected",
        r"",
        "race on shared memory",
        "put a barrier between the two accesses: __syncthreads(), __syncwarp(), or the wait of a pipeline",
    ),
    SanitizerMessage(
        "uninitialised",
        "initcheck",
        r"^Uninitialized|uninitialized (?:device )?memory",
        r"",
        "read of uninitialized memory",
        "write it before, or leave the read out: an output holds nothing until the kernel writes it",
    ),
    SanitizerMessage(
        "no-wait",
        "synccheck",
        r"Missing wait",
        r"",
        "mbarrier that is armed again before anybody waited for it",
        "wait for each phase of an mbarrier before the next one is armed: a wait is missing, or is of another phase",
    ),
    SanitizerMessage(
        "barrier",
        "synccheck",
        r"^Barrier error|[Dd]ivergent thread|[Ii]nvalid arguments|illegal barrier",
        r"",
        "barrier that not all threads reach",
        "a barrier of a block stands where all its threads come by, outside of branches and before any return",
    ),
)
# Stands for a message of the tool that is not in the table.
UNKNOWN = SanitizerMessage("other", "memcheck", r"", r"", "", "read the tool's own words in the log")

# Failures of the tool itself: the fixed part of its message, the cause, the cure.
TOOL_FAILURES: tuple[tuple[str, str, str], ...] = (
    (
        "Unable to find injection library",
        "its libraries are not next to it: a broken installation",
        "install the CUDA toolkit again",
    ),
    (
        "Device not supported",
        "this release does not know this GPU",
        "use compute-sanitizer from a newer CUDA toolkit",
    ),
    (
        "Insufficient driver version",
        "the driver is older than this release",
        "use compute-sanitizer from the driver's CUDA release",
    ),
    (
        "terminated before first instrumented API call",
        "the program ended before it used the GPU",
        "run it without compute-sanitizer and read its error output",
    ),
    ("Internal Sanitizer Error", "the tool itself failed", "use compute-sanitizer from a newer CUDA toolkit"),
    ("out of memory", "its records of every access did not fit into the GPU's memory", "use a smaller workload"),
)


@dataclass(frozen=True)
class CodePlace:
    """A kernel or a function that it calls, without parameters, and the line if built with -lineinfo."""

    kernel: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True)
class SanitizerFinding:
    """One fault, however often it occurred. ``id`` and ``words`` are from MESSAGES.

    ``access`` is the access and its distance from allocated memory: "read of 4 bytes, global memory". ``place`` may be
    in an inlined function; ``called_at`` is then the line of the kernel that calls it, if the tool reports one.
    ``other`` is the second access of a race. ``thread`` and ``block`` are those of the first occurrence, empty if the
    tool names none. ``said`` is the tool's own first line.
    """

    tool: str
    id: str
    words: str
    advice: str
    access: str
    place: CodePlace
    other: CodePlace | None
    called_at: CodePlace | None
    thread: tuple[int, ...]
    block: tuple[int, ...]
    count: int
    said: str


@dataclass(frozen=True)
class Sanitized:
    """The findings of one tool in one version. ``problem`` is why it did not finish; findings may then be missing."""

    version: str
    tool: str
    workloads: tuple[str, ...]
    findings: tuple[SanitizerFinding, ...] = ()
    seconds: float = 0.0
    problem: str = ""
    unprinted: int = 0  # errors that were counted but not printed, usually of the same faults
    log: str = field(default="", repr=False)


SIGN = "========="
SUMMARY = re.compile(r"^\w+ SUMMARY: (\d+) (?:error|hazard)s?\b(?! (?:was|were) not)")
UNPRINTED = re.compile(r"^\w+ SUMMARY: (\d+) \w+ (?:was|were) not printed")
NEAREST = re.compile(r"[\d,]+ bytes (?:before|after) the nearest allocation\b.*?(?: of size [\d,]+ bytes|$)")
NO_FINDING = re.compile(
    r"^(?:COMPUTE-SANITIZER|\w+ SUMMARY:|Program hit|Target application|Saved |Unable to|Internal |Device not|"
    r"Insufficient|Error: (?:process|No attachable|Target))"
)
AT = re.compile(
    r"(?:\bat|Device Frame:) (?P<kernel>.+?)\+0x[0-9a-f]+(?: in (?P<file>[^()]+?):(?P<line>\d+))?(?: \[|:|$)"
)
OLD_AT = re.compile(r"\bat 0x[0-9a-f]+ in (?P<file>[^()]+?):(?P<line>\d+):(?P<kernel>.+?)(?: \[|$)")  # before 2023
BY = re.compile(r"by (?:thread|.*?thread) \((?P<thread>[\d,]+)\)(?: in block \((?P<block>[\d,]+)\))?")
THREAD = re.compile(r"Thread \((?P<thread>[\d,]+)\)")
BLOCK = re.compile(r"in block \((?P<block>[\d,]+)\)")
ACCESS = re.compile(r"__(?P<space>\w+?)__ (?:memory )?(?P<what>read|write|atomic)\w*(?: of size (?P<size>\d+))?")
SIZE = re.compile(r"of size (?P<size>\d+)")
KINDS = re.compile(r"\b(Write|Read|Atomic|WAR|RAW|WAW)\b")
HAZARDS = re.compile(r"\[(\d+) hazards?\]")


def read_findings(text: str, tool: str) -> tuple[SanitizerFinding, ...]:
    """Return the findings of a tool in its order, each fault once per place.

    A race has its threads if the output also contains single hazards.
    """
    found: dict[tuple[object, ...], SanitizerFinding] = {}
    for block in _blocks(text):
        for one in _findings(block, tool):
            key = (one.id, frozenset(_line(place) for place in (one.place, one.other) if place is not None))
            known = found.setdefault(key, one)
            if known is not one:
                thread, inside = known.thread or one.thread, known.block or one.block
                found[key] = replace(known, count=known.count + one.count, thread=thread, block=inside)
    return tuple(replace(one, count=max(1, one.count)) for one in found.values())


def _line(place: CodePlace) -> tuple[str, int | None]:
    """Return the key of a place: its line, or the kernel if there is no line."""
    return (place.file, place.line) if place.file else (place.kernel, None)


def summed_up(text: str) -> int | None:
    """Return the tool's final count of errors or hazards, None if it did not reach its end."""
    counts = [match[1] for line in text.splitlines() if (match := SUMMARY.match(_own(line)))]
    return sum(map(int, counts)) if counts else None


def _unprinted(text: str) -> int:
    return sum(int(match[1]) for line in text.splitlines() if (match := UNPRINTED.match(_own(line))))


def tool_failure(text: str) -> tuple[str, str] | None:
    """Return cause and cure if the tool itself failed, None if it reports no such failure."""
    own = "\n".join(line for line in text.splitlines() if line.startswith(SIGN))
    return next(((cause, cure) for fragment, cause, cure in TOOL_FAILURES if fragment in own), None)


def _own(line: str) -> str:
    return line[len(SIGN) :].strip() if line.startswith(SIGN) else ""


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the tool's lines message by message: a first line and the indented lines below it."""
    block: list[str] = []
    for line in text.splitlines():
        if not line.startswith(SIGN):
            continue
        rest = line[len(SIGN) :]
        if block and rest.startswith("    ") and rest.strip():
            block.append(rest.strip())
            continue
        if block:
            yield block
        block = [rest.strip()] if rest.strip() and not NO_FINDING.match(rest.strip()) else []
    if block:
        yield block


def _findings(block: Sequence[str], tool: str) -> Iterator[SanitizerFinding]:
    """Yield the finding of a message, or one for each second access of a race."""
    head, below = re.sub(r"^(?:Error|Warning|Info): ", "", block[0]), " ".join(block[1:])
    row = next((one for one in MESSAGES if re.search(one.head, head) and re.search(one.below, below)), None)
    lines = [head, *(line for line in block[1:] if not line.startswith(("Device Frame", "Host Frame", "Saved")))]
    places = [(place, line) for line in lines if (place := _place(line)) is not None]
    if row is None:
        if not places:
            return  # a remark of the tool that is about no kernel
        row = replace(UNKNOWN, words=head.rstrip("."))
    frames = [place for line in block if line.startswith("Device Frame") and (place := _place(line))]
    by, thread, inside = BY.search(below), THREAD.search(below), BLOCK.search(f"{head} {below}")
    first = places[0][0] if places else CodePlace("")
    found = SanitizerFinding(
        tool=tool,
        id=row.id,
        words=row.words,
        advice=row.advice,
        access=_access(head, below),
        place=first,
        other=None,
        called_at=frames[-1] if frames else None,
        thread=_numbers(by or thread, "thread"),
        block=_numbers(by, "block") or _numbers(inside, "block"),
        count=1,
        said=block[0],
    )
    if row.id != "race" or len(places) < 2:
        yield found
        return
    for other, line in places[1:]:
        hazards = HAZARDS.search(line)  # a single hazard is already counted with its pair of lines
        access = _race_of(f"{places[0][1]} {line}")
        yield replace(found, other=other, access=access, count=int(hazards[1]) if hazards else 0)


def _place(line: str) -> CodePlace | None:
    """Return the function and the line that a line of output names, None if it names none."""
    match = OLD_AT.search(line) or AT.search(line)
    if match is None:
        return None
    file = PurePath(match["file"]).name if match["file"] else ""
    return CodePlace(plain_kernel(match["kernel"]), file, int(match["line"]) if match["line"] else None)


def plain_kernel(signature: str) -> str:
    """Return the name of a kernel without return type, template arguments and parameters."""
    bare, depth = "", 0
    for letter in signature.replace("(anonymous namespace)::", "").strip():
        depth += letter in "<("
        if depth == 0:
            bare += letter
        depth -= letter in ">)"
    return bare.split()[-1] if bare.split() else signature.strip()


def _access(head: str, below: str) -> str:
    match, nearest = ACCESS.search(head), NEAREST.search(below)
    if match is None:
        return ""
    size = f" of {match['size']} bytes" if match["size"] else ""
    far = f", {re.sub(r' at 0x[0-9a-f]+', '', nearest[0])}" if nearest else ""
    return f"{match['what']}{size}, {match['space']} memory{far}"


def _race_of(text: str) -> str:
    kinds = [one.lower() for one in KINDS.findall(text) if one not in ("WAR", "RAW", "WAW")]
    return " and ".join(kinds[:2])


def _numbers(match: re.Match[str] | None, group: str) -> tuple[int, ...]:
    if match is None or group not in match.re.groupindex or match[group] is None:
        return ()
    return tuple(int(one) for one in match[group].split(","))


def find_sanitizer() -> Path:
    """Return compute-sanitizer from PATH, else from nvcc's folder; raises EnvironmentProblem if there is none."""
    on_path = shutil.which(PROGRAM)
    if on_path is not None:
        return Path(on_path)
    try:
        beside = find_nvcc().path.resolve().with_name(PROGRAM)
    except EnvironmentProblem:
        beside = Path()
    if not beside.is_file() or not os.access(beside, os.X_OK):
        raise EnvironmentProblem(f"there is no {PROGRAM} on PATH or beside nvcc", "it comes with the CUDA toolkit")
    return beside


def sanitizer_argv(program: Path, tool: str, command: Sequence[str], report: str = PAIRS) -> list[str]:
    """Return the command line that runs a program under a tool; ``report`` is the form of racecheck's reports.

    Errors returned by CUDA API calls are not reported: torch causes some on purpose, and a launcher returns its own.
    Host backtraces are off because they only show our own child.
    """
    own = ["--tool", tool, "--print-limit", str(PRINTED), "--show-backtrace", "device", "--report-api-errors", "no"]
    if tool == "racecheck":
        own += ["--racecheck-report", report]
    return [str(program), *own, *command]


def sanitized_workloads(kernel: Kernel, version: Version, among: Sequence[Workload]) -> tuple[Workload, ...]:
    """Return up to three of the workloads ``among`` that a version serves: small ones, odd ones or ones with a tail.

    Of those within 64 MB, the smallest comes first, then those with the most new integer values, the cheapest first.
    If none is within 64 MB, the result is the smallest of all.
    """
    by_size = sorted((one for one in among if version.serves(one)), key=kernel.algorithmic_bytes)
    left = [one for one in by_size if kernel.algorithmic_bytes(one) <= MOST_BYTES] or by_size[:1]
    chosen = left[:1]
    left = left[1:]
    while left and len(chosen) < MOST_WORKLOADS:
        seen = {pair for one in chosen for pair in one.integers.items()}
        dtypes = {one.dtype for one in chosen}
        best = max(left, key=lambda one: len(one.integers.items() - seen) + (one.dtype not in dtypes))
        chosen.append(best)
        left.remove(best)
    return tuple(one for one in kernel.workloads if one in chosen)


@dataclass(frozen=True)
class SanitizerRequest:
    """The calls of the child: one version, once per workload. ``questions`` is the folder of an exam's questions, which
    give the inputs; if empty, reference.py does."""

    kernel_folder: str
    artifact: Artifact
    workloads: tuple[str, ...]
    seed: int
    out: str
    device: str = "cuda"
    questions: str = ""

    @property
    def path(self) -> Path:
        return Path(self.out) / REQUEST_FILE


def sanitize(
    request: SanitizerRequest, tool: str, executor: Executor, cwd: Path, timeout_s: float, program: Path | None = None
) -> Sanitized:
    """Run a version under a tool and return its findings; if they are races, run it again to get their threads.

    If the tool does not finish (too slow, a crash of the version), ``problem`` says why. Raises EnvironmentProblem if
    the tool is missing or cannot work here.
    """
    program = program or find_sanitizer()
    command = module_argv("ncu_assist.harness.sanitized", str(request.path))
    started = time.monotonic()

    def run(report: str) -> Completed:
        argv = sanitizer_argv(program, tool, command, report)
        left_s = timeout_s - (time.monotonic() - started)
        return executor.run(argv, env={**child_environment(), **PLAIN_MEMORY}, cwd=cwd, timeout_s=max(1.0, left_s))

    done = run(PAIRS)
    log = done.stdout + done.stderr
    findings = read_findings(log, tool)
    problem, unprinted = "" if findings else _problem(done, request, timeout_s), _unprinted(log)
    if any(one.id == "race" for one in findings):
        log += run(HAZARDS_ALONE).stdout
        findings = read_findings(log, tool)
    seconds = round(time.monotonic() - started, 3)
    return Sanitized(request.artifact.version, tool, request.workloads, findings, seconds, problem, unprinted, log)


def _problem(done: Completed, request: SanitizerRequest, timeout_s: float) -> str:
    """Return why a run without findings did not finish or not do all of its work, empty if it did."""
    text = done.stdout + done.stderr
    if done.timed_out:
        return f"was not done after {timeout_s:.0f} s and was ended"
    known = tool_failure(text)
    if known is not None:
        return f"{known[0]}; try: {known[1]}"
    events = [event for line in done.stdout.splitlines() if MARK in line and (event := parse(line))]
    told = next((event for event in events if event.event in ("problem", "failed", "fatal")), None)
    if told is not None and told.exit_code == EnvironmentProblem.exit_code:
        raise EnvironmentProblem(told.text, told.hint)
    if told is not None:
        return told.text
    called = {event.workload for event in events if event.event == "end"}
    lacking = [name for name in request.workloads if name not in called]
    if not lacking and (count := summed_up(text)) is not None:
        return "" if count == 0 else f"it counts {count}, in messages that are not known here: read its log"
    words = done.stderr.strip()[-STDERR_TAIL:].splitlines()
    last = f": {words[-1]}" if words else ""
    return f"it did not finish (exit code {done.exit_code}){last}"
