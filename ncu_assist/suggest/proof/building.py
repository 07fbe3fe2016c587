"""A draft compiled in the sandbox, without a GPU: for its proof, or for the compiler's words alone."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from ncu_assist.analysis.archive import CompiledFunction, DraftBuild
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.backends.building import OUTCOMES, PROBLEM, command, decode
from ncu_assist.backends.nvcc import ARCH_VARIABLE, CUOBJDUMP_HINT, find_arch, find_cuobjdump, find_nvcc
from ncu_assist.ceilings.chips import LANES, SM_LIMITS, SmLimits
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox import Sandbox, read_result, sandbox_for
from ncu_assist.harness.client import child_environment
from ncu_assist.harness.exam.plan import sealed_kernel
from ncu_assist.project import Project
from ncu_assist.rules.model.occupancy import LaunchShape, fits
from ncu_assist.spec import Kernel, Version
from ncu_assist.spec_file import FILE, read_kernel
from ncu_assist.steps import Reporter
from ncu_assist.store import StoredRun
from ncu_assist.store.drafts import BUILD_LOG, NOT_BUILT, DraftArchive, Proof, ProofStage, StoredDraft, source_name
from ncu_assist.suggest.drafting import DraftTask

Outcomes = dict[str, BuildOutcome]
TIMEOUT_S = 300.0  # a torch extension takes half a minute (docs/sources.md, Cost)
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
SMALL = 1 << 24  # bytes of a file of outcomes, compilers' words and all
NO_SANDBOX = "none"


DraftFile = tuple[str, bytes]  # what follows ``v<number>_`` in its name, slug and suffix, and what is in it


def draft_file(stored: StoredDraft) -> DraftFile:
    """Return the file of a draft in the archive; raises DamagedData where it was changed."""
    assert stored.draft.claim is not None
    suffix = stored.draft.suffix
    return f"{stored.draft.claim.slug}{suffix}", stored.read(source_name(suffix))


def make_trial(
    kernel: Kernel, parent: StoredRun, file: DraftFile, root: Path
) -> tuple[Kernel, tuple[Version, Version]]:
    """Write ``root``/kernels/<kernel> and return it with parent and draft, which is named as the next version would be.

    kernel.toml and reference are as they are, the parent as it was. Raises DamagedData for a run whose files were
    changed, UsageProblem for a draft that fits no version's name, OSError where the disk refuses.
    """
    folder = root / "kernels" / kernel.name
    draft = folder / f"v{max(version.number for version in kernel.versions) + 1}_{file[0]}"
    folder.mkdir(parents=True)
    for name in (FILE, kernel.reference.name):
        shutil.copyfile(kernel.folder / name, folder / name)
    for name, text in parent.source_texts().items():
        if name not in (FILE, kernel.reference.name):
            (folder / name).write_text(text, encoding="utf-8", newline="")
    draft.write_bytes(file[1])
    trial = read_kernel(folder)
    return trial, (trial.version(parent.run.version), trial.version(draft.stem))


@dataclass(frozen=True)
class BuiltDraft:
    """What compiling a draft came to, and its parent where that was wanted too; ``root`` holds all that was made."""

    outcomes: Outcomes
    draft: str
    root: Path
    seconds: float
    sandbox: str
    sass: str = ""  # of the draft, as cuobjdump prints it

    @property
    def outcome(self) -> BuildOutcome:
        return self.outcomes[self.draft]

    @property
    def log(self) -> str:
        """The compiler's words of the draft, and what is wrong besides."""
        return "\n".join(one for one in (self.log_of(self.draft).strip(), self.outcome.problem) if one)

    def log_of(self, version: str) -> str:
        """Return the compiler's words of a version without the folder in which it was built."""
        return self.outcomes[version].log.replace(f"{sealed_folder(self.root)}/", "").replace(f"{self.root}/", "")

    def delivered(self, folder: Path) -> Outcomes:
        """Return the outcomes as if the sealed sources lay in ``folder``, where the same ones do: a script is built by
        leaving it where it is."""
        sealed = sealed_folder(self.root)

        def moved(one: BuildOutcome) -> BuildOutcome:
            inside = one.artifact is not None and one.artifact.resolve().is_relative_to(sealed)
            return replace(one, artifact=folder / one.artifact.resolve().relative_to(sealed)) if inside else one  # type: ignore[union-attr]

        return {name: moved(one) for name, one in self.outcomes.items()}

    def told(self, id: str = "") -> DraftBuild:
        """Return what is said of it: of the compiler's words those that a person reads, and what ptxas counted."""
        passed, said = self.outcome.artifact is not None, without_counts(self.log)
        if passed and self.outcome.artifact.suffix == ".py":  # type: ignore[union-attr]
            said = "\n".join(filter(None, (said, ONLY_READ)))
        elif passed and not self.sass:
            said = "\n".join(filter(None, (said, NOT_COUNTED)))
        counted = functions_of(self.outcome.log, self.sass)
        return DraftBuild(id, passed, round(self.seconds, 3), said, counted)

    def words_for_author(self) -> str:
        """Return what the author of a draft that does not build is told: the compiler's words, the first of them."""
        log = without_counts(self.log)
        more = f"\n… ({len(log) - TOLD} characters more)" if len(log) > TOLD else ""
        return (
            "Your change does not compile. The compiler says:\n"
            f"{log[:TOLD]}{more}\n"
            "Give the same one change again, corrected, in the form asked for: edits are of the source that you saw."
        )


TOLD = 4_000  # characters of the compiler's words
ONLY_READ = "note: of Python the syntax alone was read; Triton compiles a kernel when it is first called, on a GPU"
NOT_COUNTED = f"note: instructions and loops were not counted: no cuobjdump reads this build ({CUOBJDUMP_HINT})"


def sealed_folder(root: Path) -> Path:
    """Return where below ``root`` the sources lie that a sandbox may read."""
    return root / "sealed"


def build_draft(
    project: Project, sandboxed: bool, kernel: Kernel, parent: StoredRun, file: DraftFile, root: Path, whole: bool
) -> BuiltDraft:
    """Compile a draft below the empty folder ``root``; ``whole``: its parent too, as a proof needs it.

    Raises EnvironmentProblem without a compiler or a sandbox, StageFailed where building itself came to nothing, and as
    ``make_trial`` does.
    """
    started, root = time.monotonic(), root.resolve()
    trial, (old, new) = make_trial(kernel, parent, file, root / "trial")
    sealed = sealed_kernel(trial, (old, new), sealed_folder(root))
    out = root / "build"
    out.mkdir()
    names = tuple(dict.fromkeys((old.name, new.name))) if whole else (new.name,)
    executor = builder(project, sandboxed, out, sealed_folder(root))
    outcomes = build(sealed, names, executor, sealed_folder(root), out)
    runner = executor.runner or "" if isinstance(executor, Sandbox) else NO_SANDBOX
    taken = time.monotonic() - started
    sass = "" if whole else sass_of(outcomes[new.name].artifact, executor, out)
    return BuiltDraft(outcomes, new.name, root, taken, runner, sass)


def sass_of(artifact: Path | None, executor: Executor, cwd: Path) -> str:
    """Return the code of what was built, as cuobjdump prints it; empty without one, and for what it cannot read."""
    if artifact is None or artifact.suffix != ".so":
        return ""
    try:
        program = find_cuobjdump(find_nvcc())
        if program is None:
            return ""
        paths = {"PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"}  # it calls nvdisasm
        argv = [str(program), "-sass", str(artifact)]
        done = executor.run(argv, env={**child_environment(), **NO_GPU, **paths}, cwd=cwd, timeout_s=SASS_TIMEOUT_S)
    except EnvironmentProblem:
        return ""
    return done.stdout if done.exit_code == 0 else ""


def builder(project: Project, sandboxed: bool, out: Path, readable: Path) -> Executor:
    """Return who builds; no GPU is used, and so none is waited for: the lock lies beside what is built."""
    local = Local(folder=out.parent / "lock")
    return replace(sandbox_for(project.root, (out,), (readable,)), local=local) if sandboxed else local


def build(kernel: Kernel, versions: Sequence[str], executor: Executor, cwd: Path, out: Path) -> Outcomes:
    """Build versions of a sealed kernel below ``cwd`` in the executor, into ``out``, and return their outcomes.

    Raises EnvironmentProblem without a compiler, StageFailed where building itself came to nothing.
    """
    env = {**child_environment(), **NO_GPU}
    with suppress(EnvironmentProblem):  # Python needs no compiler
        env[ARCH_VARIABLE] = find_arch(find_nvcc())  # no GPU is to be seen there
    done = executor.run(command(kernel.folder, versions, out), env=env, cwd=cwd, timeout_s=TIMEOUT_S)
    if done.timed_out:
        raise StageFailed(f"building took longer than {TIMEOUT_S:.0f} s")
    if (out / PROBLEM).is_file():
        raise EnvironmentProblem(*msgspec.json.decode(read_result(out, PROBLEM, SMALL), type=tuple[str, str]))
    if done.exit_code != 0:
        raise StageFailed(f"building ended with exit code {done.exit_code}: {done.stderr.strip()[-500:]}")
    return _outcomes(versions, read_result(out, OUTCOMES, SMALL), (out.resolve(), cwd.resolve()))


def _outcomes(versions: Sequence[str], data: bytes, places: tuple[Path, ...]) -> Outcomes:
    """Return what a sandboxed build said; what it says it built is copied, so it must lie where it was to be built.

    Raises StageFailed for other versions or other places: a compiler that a source has got hold of.
    """
    try:
        outcomes = decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StageFailed(f"building left no outcomes that can be read: {error}") from error
    built = [one.artifact.resolve() for one in outcomes.values() if one.artifact is not None]
    strays = [path.name for path in built if not any(path.is_relative_to(place) for place in places)]
    if set(outcomes) != set(versions) or strays:
        raise StageFailed("building left something else than the versions that it was given")
    return outcomes


SASS_TIMEOUT_S = 60.0
COUNTS = re.compile(r"^(ptxas info\s*:|\s+\d+ bytes stack frame)")
ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'(?: for 'sm_(?P<chip>\d+)(?P<minor>\d))?")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def without_counts(log: str) -> str:
    """Return a compiler's words without what ptxas counts: errors and warnings."""
    return "\n".join(line for line in log.splitlines() if not COUNTS.match(line)).strip()


BLOCKS = (64, 128, 256, 512, 1024)  # threads
MOST_OPCODES = 8
OF_FUNCTION = re.compile(r"^\s*Function : (\S+)$", re.MULTILINE)
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ +)?([A-Z]\w*)([^;]*);", re.MULTILINE)
BRANCH_TO = re.compile(r"0x([0-9a-f]+)\s*$")


def functions_of(log: str, sass: str = "") -> tuple[CompiledFunction, ...]:
    """Return what ``ptxas -v`` counts of each kernel, registers, spills, shared memory, and what ``sass`` holds."""
    found: list[CompiledFunction] = []
    code = dict(zip(*[iter(OF_FUNCTION.split(sass)[1:])] * 2, strict=False))
    limits: SmLimits | None = None
    symbol = ""
    stack = spilled = 0
    for line in log.splitlines():
        if entry := ENTRY.search(line):
            found.append(CompiledFunction(plain_name(entry["name"])))
            symbol, limits = entry["name"], SM_LIMITS.get(f"{entry['chip']}.{entry['minor']}")
            stack = spilled = 0
        elif counted := STACK.search(line):
            stack, stores, loads = (int(one) for one in counted.groups())
            spilled = stores + loads
        elif (used := USED.search(line)) and found:
            shared = SHARED.search(line)
            registers, bytes_of = int(used[1]), int(shared[1]) if shared else 0
            found[-1] = replace(
                found[-1], registers=registers, stack_bytes=stack, spilled_bytes=spilled, shared_bytes=bytes_of,
                warps=_warps(registers, bytes_of, limits) if limits else {}, **_counted(code.get(symbol, "")),
            )  # fmt: skip
    return tuple(found)


def _warps(registers: int, shared: int, limits: SmLimits) -> dict[str, int]:
    fitting = {one: min(fits(LaunchShape(one, registers, shared), limits).values()) * one // LANES for one in BLOCKS}
    return {str(one): warps for one, warps in fitting.items()}


def _counted(code: str) -> dict[str, Any]:
    """Return the instructions of a function, its opcodes, and the bodies of its innermost loops.

    A loop is what a branch goes back over. A branch to itself stands behind the end, and NOP fills what is left.
    """
    rows = [(int(at, 16), opcode, rest) for at, opcode, rest in INSTRUCTION.findall(code) if opcode != "NOP"]
    jumps = [(at, int(to[1], 16)) for at, opcode, rest in rows if opcode == "BRA" and (to := BRANCH_TO.search(rest))]
    ends = {at for at, to in jumps if at == to}
    places = [at for at, _, _ in rows if at not in ends]
    loops = sorted((to, at) for at, to in jumps if to < at)
    inner = [one for one in loops if not any(o != one and one[0] <= o[0] and o[1] <= one[1] for o in loops)]
    opcodes = Counter(opcode for at, opcode, _ in rows if at not in ends).most_common(MOST_OPCODES)
    bodies = tuple(sum(start <= at <= end for at in places) for start, end in inner)
    return {"instructions": len(places), "opcodes": dict(opcodes), "loops": bodies}


TYPES = {"f": "float", "d": "double", "i": "int", "j": "unsigned", "x": "long long", "m": "unsigned long", "b": "bool"}
LITERAL = re.compile(r"L([a-z])(n?)(\d+)E")


def plain_name(symbol: str) -> str:
    """Return the last name in a mangled symbol with its template arguments, as far as they are numbers and types of one
    word; other symbols as they are."""
    if not symbol.startswith("_Z"):
        return symbol
    rest, name = re.sub(r"^_ZN?L?", "", symbol), ""
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        name, rest = rest[length.end() : end], rest[end:]
    return name + _template_arguments(rest) if name else symbol


def _template_arguments(rest: str) -> str:
    """Return ``<4, true>`` for ``ILi4ELb1EE``; empty for what is no such list."""
    found, at = [], 1
    while rest.startswith("I") and rest[at : at + 1] not in ("E", ""):
        literal, length = LITERAL.match(rest, at), re.compile(r"\d+").match(rest, at)
        if literal:
            number = f"{'-' if literal[2] else ''}{literal[3]}"
            found.append({"0": "false", "1": "true"}.get(number, number) if literal[1] == "b" else number)
            at = literal.end()
        elif length:
            end = length.end() + int(length[0])
            found.append(rest[length.end() : end])
            at = end
        elif rest[at] in TYPES:
            found.append(TYPES[rest[at]])
            at += 1
        else:
            return ""
    return f"<{', '.join(found)}>" if found else ""


@dataclass
class DraftBuilds:
    """Builds of drafts beside their parents, as many at a time as there are cores, each in a folder of its own."""

    project: Project
    sandboxed: bool = True
    whole: bool = True
    _begun: dict[str, Future[BuiltDraft]] = field(default_factory=dict)
    _kept: ExitStack = field(default_factory=ExitStack)
    _pool: ThreadPoolExecutor | None = None

    def begin(self, task: DraftTask, stored: StoredDraft) -> None:
        """Start the build of a draft, unless it was started."""
        if stored.draft.id in self._begun:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(os.cpu_count() or 1, "build of a draft")
        parent = self.project.work / "proofs"
        parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(dir=parent, prefix="build-", ignore_cleanup_errors=True)
        root = Path(self._kept.enter_context(made))
        how = (self.project, self.sandboxed, task.kernel, task.parent, draft_file(stored), root, self.whole)
        self._begun[stored.draft.id] = self._pool.submit(build_draft, *how)

    def result(self, task: DraftTask, stored: StoredDraft) -> BuiltDraft:
        """Wait for the build of a draft, started here where it was not, and return it; raises as ``build_draft``."""
        self.begin(task, stored)
        return self._begun[stored.draft.id].result()

    def close(self) -> None:
        """Wait for what is being built, and remove all of it."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None
        self._begun.clear()
        self._kept.close()


@dataclass
class DraftCompiler:
    """Takes the place of a prover where nothing is to be run: drafts are compiled, and stay drafts if that succeeds."""

    project: Project
    reporter: Reporter
    told: list[DraftBuild] = field(default_factory=list)
    _builds: DraftBuilds = field(init=False)

    def __post_init__(self) -> None:
        self._builds = DraftBuilds(self.project, whole=False)

    def open(self) -> None:
        """Start nothing: there is nothing that takes its time."""

    def begin(self, task: DraftTask, stored: StoredDraft) -> None:
        """Start compiling a draft."""
        self._builds.begin(task, stored)

    def close(self) -> None:
        """End what is being compiled."""
        self._builds.close()

    def prove(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, str]:
        """Return a draft that compiles as it is, else rejected with the compiler's words beside it.

        Where nothing can be compiled here that is noted, and the draft stays as it is.
        """
        try:
            built = self._builds.result(task, stored)
        except NcuAssistError as error:
            self.reporter.note(f"draft {stored.draft.id} was not compiled: {error.message}")
            return stored, ""
        self.told.append(built.told(stored.draft.id))
        if built.outcome.artifact is not None:
            return stored, ""
        stage = ProofStage("build", False, round(built.seconds, 3), NOT_BUILT)
        proof = Proof((stage,), built.sandbox, task.kernel.default_workload.name)
        draft = replace(stored.draft, fate="rejected", reason=NOT_BUILT, proof=proof)
        log = {BUILD_LOG: built.log.encode("utf-8", "replace")}
        return DraftArchive(self.project.reports).update(stored, draft, log), built.words_for_author()
