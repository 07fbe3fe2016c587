"""Does the evidence help? The same tasks, the same form of reply, three arms: source, ncu's details page, our prompt.

usage: python benchmarks/closed_loop/loop.py record FOLDER            on a GPU: writes reports/ and details/ of tasks
       python benchmarks/closed_loop/loop.py prompts FOLDER           writes FOLDER/prompts/<task>-<arm>.md
       python benchmarks/closed_loop/loop.py prove FOLDER [SECONDS]   proves FOLDER/replies/<task>-<arm>-<n>.md on a GPU
       python benchmarks/closed_loop/loop.py report FOLDER [--json]   says what came of them
       python benchmarks/closed_loop/loop.py page FILE FOLDER ...     writes that as a page, with links to each draft

FOLDER has kernels/ with one version each, reports/ with a recorded run of it, and details/<task>.txt, the text of
``ncu --page details``. Arms: a is task and source, b these and the details page, c the prompt of ``suggest``. The first
line of a reply may be ``model: NAME``. What proving gave is kept as FOLDER/proofs/<task>-<arm>-<n>.json, the record of
the draft; a reply that has one is not proved again, and none is begun that would not end within SECONDS. All else is
made of these files, anywhere; prompts/ and details/ may be packed into FOLDER/asked.tar.zst.
"""

from __future__ import annotations

import fcntl
import functools
import json
import math
import os
import random
import re
import shutil
import statistics
import sys
import tarfile
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from ncu_assist import process
from ncu_assist.environment import gpu_here
from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.harness.sanitizer import find_sanitizer
from ncu_assist.ncu.command import ProfileOptions, find_ncu
from ncu_assist.pipeline.measuring import measure
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.project import Project, Settings
from ncu_assist.record import Run
from ncu_assist.render.redact import NOBODY
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.drafts import Draft, DraftArchive
from ncu_assist.suggest.drafting import Conversation, draft, source_of_saved
from ncu_assist.suggest.evidence.gathering import evidence
from ncu_assist.suggest.evidence.records import Evidence, HardwareFacts, SourceText
from ncu_assist.suggest.evidence.task import Cleaner, task_of
from ncu_assist.suggest.prompting import MAX_TOKENS, build_prompt, load, render, tokens_of
from ncu_assist.suggest.proof.prover import GPU, NOT_BELIEVED, ProofOptions, SandboxProver
from ncu_assist.suggest.session import SuggestRequest, draft_task

sys.path.append(str(Path(__file__).parents[1]))
from recording import record

ARMS = {"a": "task and source", "b": "and ncu's details page", "c": "the prompt of suggest"}
TEMPLATES = Path(__file__).parent / "arms"
REPLY = re.compile(r"(?P<task>\w+)-(?P<arm>[abc])-(?P<number>\d+)")
MODEL = re.compile(r"\Amodel: *(?P<model>\S.*)\n")
RESAMPLES, SEED = 10_000, 32
WITHIN = 0.95
PROOF_S = 30.0  # a proof on an H200, as long as none was seen
MOST_FAILED = 3  # proofs in a row: the next would fail as well
SAYS_WHO = re.compile(r"^(?:==PROF==|\[\d+\] ).*\n", re.MULTILINE)  # the program that was profiled, with its process


@dataclass(frozen=True)
class ReplyOutcome:
    """What came of one reply. ``kept``: right, faster, and no way of cheating seen, whatever it predicted.

    ``proved``: also the counter that it predicts first has moved. ``speedup`` is parent over draft. ``predicted`` of
    its predictions could be held against the counters, ``came_true`` of these did. Tokens are characters over four.
    """

    task: str
    arm: str
    number: int
    model: str
    fate: str
    reason: str
    change: str
    right: bool
    kept: bool
    proved: bool
    speedup: float | None
    low: float | None
    high: float | None
    expected: float | None
    predicted: int
    came_true: int
    prompt_tokens: int
    reply_tokens: int
    seconds: dict[str, float]


def tasks(folder: Path) -> list[str]:
    """Return the tasks of a folder by name."""
    return sorted(path.parent.name for path in folder.glob("kernels/*/kernel.toml"))


def parent_of(folder: Path, task: str) -> str:
    """Return the reference of the one version of a task."""
    (path,) = (folder / "kernels" / task).glob("v[0-9]*_*")
    return f"{task}/{path.stem.partition('_')[0]}"


def prompt_of(folder: Path, task: str, arm: str) -> str:
    """Return the prompt of an arm: the same wherever it is made, whatever other kernels lie in the archive.

    That of arm a needs no run of its task: any run of the same GPU and compiler says what these are. Raises
    FileNotFoundError where arm b has no details page, or there is no run at all, UsageProblem where arm c has no run.
    """
    if arm == "c":
        known = evidence(Project(folder, Settings()), parent_of(folder, task), identity=NOBODY)
        return build_prompt(replace(known, removed=()), None, MAX_TOKENS, "fences").text
    kernel = read_kernel(folder / "kernels" / task)
    (version,), workload, clean = kernel.versions, kernel.default_workload.name, Cleaner()
    run = next(_runs_near(folder), None)
    if run is None:
        raise FileNotFoundError("no run says what GPU and compiler there are")
    run = replace(run, kernel=task, version=version.name, workloads=(), bench=None)  # nothing of it was measured
    source, details = version.path.read_text("utf-8"), kept_text(folder, f"details/{task}.txt") if arm == "b" else ""
    values = {
        "kernel": task,
        "version": version.name,
        "workload": workload,
        "suffix": version.path.suffix,
        "task": task_of(kernel, run, workload, source, clean),
        "hardware": HardwareFacts(run.gpu or "", (), ()),
        "source": SourceText(version.path.name, clean.code(source)),
        "form": "fences",
        "details": SAYS_WHO.sub("", details).strip("\n"),
    }
    return f"{_without_columns(render(_templates(), values)).rstrip()}\n"


def _runs_near(folder: Path) -> Iterator[Run]:
    """Yield the runs of a folder, then those of the folder around it, on the same GPU."""
    for place in (folder, folder.resolve().parent):
        for stored in Store(place / "reports").runs():
            yield stored.run


@functools.cache
def _templates() -> Any:
    return load([*(one.name for one in fields(Evidence)), "form", "dropped", "details"], TEMPLATES)


def _without_columns(text: str) -> str:
    """Return a prompt whose table of workloads ends with the type: the times that would follow are left out."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| workload |"))
    for place in range(start, len(lines)):
        if not lines[place].startswith("|"):
            break
        lines[place] = "|".join(lines[place].split("|")[:4]) + "|"
    return "\n".join(lines)


def kept_text(folder: Path, name: str) -> str:
    """Return a file of prompts/ or details/: as it was packed once replies were asked for, else as it lies there."""
    packed = _packed(folder / "asked.tar.zst")
    return packed[name] if name in packed else (folder / name).read_text("utf-8")


@functools.cache
def _packed(archive: Path) -> dict[str, str]:
    if not archive.is_file():
        return {}
    found = {}
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as plain,
        tarfile.open(fileobj=plain, mode="r|") as members,
    ):
        for member in members:
            data = members.extractfile(member)
            if data is not None:
                found[member.name] = data.read().decode("utf-8")
    return found


def write_prompts(folder: Path) -> None:
    """Write the prompts of all arms that can be made by now, and print how long each is.

    One that has a reply stays as it was asked.
    """
    (folder / "prompts").mkdir(exist_ok=True)
    for task in tasks(folder):
        sizes = []
        for arm in ARMS:
            if any((folder / "replies").glob(f"{task}-{arm}-*.md")):
                sizes.append(f"{arm} is asked")
                continue
            try:
                text = prompt_of(folder, task, arm)
            except (FileNotFoundError, NcuAssistError) as error:
                sizes.append(f"{arm} not yet ({type(error).__name__})")
                continue
            (folder / "prompts" / f"{task}-{arm}.md").write_text(text, encoding="utf-8")
            sizes.append(f"{arm} {tokens_of(text):,} tokens")
        sys.stdout.write(f"{task}: {', '.join(sizes)}\n")


def check_machine(folder: Path, options: ProofOptions) -> None:
    """Raise EnvironmentProblem where nothing can be proved, or on another GPU than that of the runs that there are.

    Arms that are proved on different GPUs cannot be compared, nor are drafts of which some met no compute-sanitizer.
    """
    SandboxProver(Project(folder), options, Speak()).check()
    if options.device != GPU:
        return
    find_ncu()
    find_sanitizer()
    known = next(_runs_near(folder), None)
    if known is not None and known.gpu != gpu_here().name:
        raise EnvironmentProblem(f"its runs are of an {known.gpu}, and this is an {gpu_here().name}")


def record_all(folder: Path) -> int:
    """Profile the tasks that have no details page yet, each in a project of its own; return how many are left."""
    check_machine(folder, ProofOptions())
    left = 0
    for task in tasks(folder):
        if (folder / "details" / f"{task}.txt").is_file():
            continue
        try:
            with _project_of(folder, task, ("kernels",)) as project:
                request = MeasureRequest(task)
                outcome = measure(plan(project, request, ("check", "bench"), ProfileOptions()), Speak())
                (version,) = outcome.versions
                if version.run is None or version.failure:
                    raise NcuAssistError(f"not recorded: {version.failure or version.skipped}")
                keep_run(folder, version.run)
            sys.stdout.write(f"{task}: recorded\n")
        except Exception:  # the others are to be recorded in the time that there is
            left += 1
            sys.stdout.write(f"{task}: {traceback.format_exc()}\n")
        sys.stdout.flush()
    return left


def keep_run(folder: Path, stored: StoredRun) -> None:
    """Keep a run as one that may be shipped, and the details page of its report, which says that it was recorded."""
    workload = str(stored.run.launches[0].workload)
    with tempfile.TemporaryDirectory(prefix="closed-loop-") as made:
        report, data = Path(made) / "report.ncu-rep", stored.report_bytes()
        assert data is not None, f"{stored.reference} has no report"
        report.write_bytes(data)
        said = process.run([str(find_ncu()), "--import", str(report), "--page", "details"])
    if said.exit_code != 0:
        raise NcuAssistError(f"ncu --import ended with exit code {said.exit_code}: {said.stderr.strip()}")
    record(stored, Store(folder / "reports"), workload)
    write_whole(folder / "details" / f"{stored.run.kernel}.txt", said.stdout.encode())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there as a whole or not at all: who is ended while it writes leaves no half of one."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    part.replace(path)


@contextmanager
def _project_of(folder: Path, task: str, parts: Sequence[str]) -> Iterator[Project]:
    """A project of its own, which holds one task alone and no draft."""
    with tempfile.TemporaryDirectory(prefix="closed-loop-", ignore_cleanup_errors=True) as root:
        for part in parts:
            shutil.copytree(folder / part / task, Path(root) / part / task)
        yield Project(Path(root), Settings())


class Speak:
    """A reporter for a terminal that nobody watches."""

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        return


def waiting_replies(folder: Path) -> list[Path]:
    """Return the replies without a proof: first drafts of all tasks first, and all arms of a task one after another.

    Wherever time ends, nearly all that was proved can be compared.
    """

    def place(path: Path) -> tuple[int, str, str]:
        match = _parts(path)[0]
        return int(match["number"]), match["task"], match["arm"]

    return [one for one in sorted((folder / "replies").glob("*.md"), key=place) if not _proof_of(folder, one).is_file()]


def _proof_of(folder: Path, reply: Path) -> Path:
    return folder / "proofs" / f"{reply.stem}.json"


def prove_all(folder: Path, seconds: float = math.inf, options: ProofOptions | None = None) -> int:
    """Prove the replies that have no outcome yet, one after the other; return how many are left.

    The next one is drafted and built while one is measured. One that cannot be proved here is left, with the reason;
    after three such in a row no other is begun.
    Several may prove one folder at once, each on a GPU of its own: a reply is taken by one of them.
    """
    began, spent, failed, options = time.monotonic(), list[float](), 0, options or ProofOptions()
    check_machine(folder, options)
    waiting = iter(waiting_replies(folder))
    with ThreadPoolExecutor(1) as ahead:
        following = ahead.submit(_next, folder, waiting, options)
        while (taken := following.result()) is not None:
            path, held, finish = taken
            with held:
                started = time.monotonic()
                if failed == MOST_FAILED or started - began + statistics.median(spent or [PROOF_S]) > seconds:
                    break
                following = ahead.submit(_next, folder, waiting, options)
                try:
                    said = _kept(_proof_of(folder, path), finish())
                except Exception:  # a draft that nobody thought of costs no other its time
                    said = f"not proved: {traceback.format_exc()}"
                failed = 0 if _proof_of(folder, path).is_file() else failed + 1
            spent.append(time.monotonic() - started)
            sys.stdout.write(f"{path.stem}: {said}\n")
            sys.stdout.flush()
    return len(waiting_replies(folder))


def _kept(proof: Path, made: Draft) -> str:
    """Keep what proving gave and return it in words; what the machine is to blame for is not kept."""
    if made.reason.startswith(NOT_BELIEVED):
        return f"not proved: {made.reason}"
    write_whole(proof, msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    speedup = f"{made.proof.speedup:.2f}x" if made.proof and made.proof.speedup else ""
    return ": ".join(filter(None, (f"{made.fate} {speedup}".strip(), made.reason)))


Taken = tuple[Path, ExitStack, Callable[[], Draft]]


def _next(folder: Path, waiting: Iterator[Path], options: ProofOptions) -> Taken | None:
    """Take the next reply that nobody else is at, and return what proves it; None where none is left."""
    for path in waiting:
        with ExitStack() as stack:
            try:
                reply = stack.enter_context(path.open("rb"))
                fcntl.flock(reply, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it ends with this process
                if not _proof_of(folder, path).is_file():
                    finish = stack.enter_context(drafted(folder, path, options))
                    return path, stack.pop_all(), finish
            except BlockingIOError:
                continue
            except Exception:
                sys.stdout.write(f"{path.stem}: no draft: {traceback.format_exc()}\n")
    return None


@contextmanager
def drafted(folder: Path, path: Path, options: ProofOptions) -> Iterator[Callable[[], Draft]]:
    """Make the draft of a reply, in a project of its own, and begin to build it; what is yielded proves it."""
    match, model, text = _parts(path)
    task = match["task"]
    with _project_of(folder, task, ("kernels", "reports")) as project:
        asked = draft_task(project, SuggestRequest(parent_of(folder, task), proving=options), "fences")
        said = Conversation(source_of_saved(text))
        stored = draft(DraftArchive(project.reports), asked, said, asked.worded, 1, 1)
        with closing(SandboxProver(project, options, Speak())) as prover:
            usable = stored.draft.fate == "drafted"
            if usable:
                prover.begin(asked, stored)
            yield lambda: replace((prover.prove(asked, stored)[0] if usable else stored).draft, model=model)


def _parts(path: Path) -> tuple[re.Match[str], str, str]:
    """Return the name of a reply taken apart, the model that it names, and the reply itself."""
    match, text = REPLY.fullmatch(path.stem), path.read_text("utf-8")
    assert match is not None, f"{path.name} is not TASK-ARM-NUMBER.md"
    model = MODEL.match(text)
    return match, model["model"].strip() if model else "", text[model.end() :] if model else text


def _outcome(folder: Path, path: Path, made: Draft) -> ReplyOutcome:
    match, model, text = _parts(path)
    prompt = kept_text(folder, f"prompts/{match['task']}-{match['arm']}.md")
    proof = made.proof
    passed = {stage.name for stage in proof.stages if stage.passed} if proof else set()
    scores = [one for one in proof.scores if one.came_true is not None] if proof else []
    # the stage that holds counters against predictions comes last; it fails an honest draft for these alone
    reached = proof is not None and any(stage.name == "diff" for stage in proof.stages)
    return ReplyOutcome(
        task=match["task"],
        arm=match["arm"],
        number=int(match["number"]),
        model=model,
        fate=made.fate,
        reason=made.reason,
        change=made.claim.change if made.claim else "",
        right="check" in passed,
        kept=made.fate == "kept" or (made.fate == "unproven" and reached),
        proved=made.fate == "kept",
        speedup=proof.speedup if proof else None,
        low=proof.speedup_low if proof else None,
        high=proof.speedup_high if proof else None,
        expected=made.claim.expected_speedup if made.claim else None,
        predicted=len(scores),
        came_true=sum(bool(one.came_true) for one in scores),
        prompt_tokens=tokens_of(prompt),
        reply_tokens=tokens_of(text),
        seconds={stage.name: stage.seconds for stage in proof.stages} if proof else {},
    )


def read_outcomes(folder: Path) -> list[ReplyOutcome]:
    """Return what came of the replies that were proved."""
    found = []
    for path in sorted((folder / "replies").glob("*.md")):
        proof = _proof_of(folder, path)
        if proof.is_file():
            found.append(_outcome(folder, path, msgspec.json.decode(proof.read_bytes(), type=Draft)))
    return found


def best_of(outcomes: Sequence[ReplyOutcome], task: str, arm: str) -> float:
    """Return the speed-up of the fastest draft that was kept; 1 where none was: the parent stays."""
    kept = [one.speedup or 1.0 for one in outcomes if (one.task, one.arm) == (task, arm) and one.kept]
    return max(kept, default=1.0)


def geomean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a geometric mean over tasks: percentiles of means of tasks drawn with return.

    None of a single task, which says nothing of others.
    """
    if len(values) < 2:
        return None
    draws, logs = random.Random(SEED), [math.log(one) for one in values]
    means = sorted(sum(draws.choices(logs, k=len(logs))) / len(logs) for _ in range(RESAMPLES))
    cut = int((1 - WITHIN) / 2 * RESAMPLES)
    return math.exp(means[cut]), math.exp(means[-1 - cut])


def missing_of(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return what is still to be done for each task and arm, in words; a task with nothing left is not there."""
    replies = {path.stem for path in (folder / "replies").glob("*.md")}
    numbers = sorted({int(name.rpartition("-")[2]) for name in replies} or {1})
    found: dict[str, dict[str, list[str]]] = {}
    for task in tasks(folder):
        for arm in ARMS:
            names = [name for name in (f"{task}-{arm}-{number}" for number in numbers) if not _is_proved(folder, name)]
            if names:
                said = [f"{name.rpartition('-')[2]}: {'no proof' if name in replies else 'no reply'}" for name in names]
                found.setdefault(task, {})[arm] = said
    return found


def _is_proved(folder: Path, name: str) -> bool:
    return (folder / "proofs" / f"{name}.json").is_file()


def compared(outcomes: Sequence[ReplyOutcome]) -> list[ReplyOutcome]:
    """Return the outcomes of drafts that every arm has proved: of a task the same numbers of each arm."""
    known = {(one.task, one.arm, one.number) for one in outcomes}
    return [one for one in outcomes if all((one.task, arm, one.number) in known for arm in ARMS)]


def report_of(outcomes: Sequence[ReplyOutcome]) -> dict[str, object]:
    """Return what came of each arm, over the drafts that every arm has proved, and how c stands to a and to b."""
    fair = compared(outcomes)
    common = sorted({one.task for one in fair})
    if not common:
        return {"tasks": [], "arms": {}, "ratios": {}}
    arms = {arm: _arm([one for one in fair if one.arm == arm], common) for arm in ARMS}
    ratios = {}
    for other in ("a", "b"):
        paired = [best_of(fair, task, "c") / best_of(fair, task, other) for task in common]
        ratios[f"c/{other}"] = {"geomean": geomean(paired), "interval": interval(paired)}
    return {"tasks": common, "arms": arms, "ratios": ratios}


def expected_off(own: Sequence[ReplyOutcome]) -> float | None:
    """Return by what factor the speed-up was another than expected, either way: the median; None without any."""
    off = [abs(math.log(one.expected / one.speedup)) for one in own if one.expected and one.speedup]
    return math.exp(statistics.median(off)) if off else None


def _arm(own: Sequence[ReplyOutcome], common: Sequence[str]) -> dict[str, object]:
    best = {task: best_of(own, task, own[0].arm) for task in common}
    return {
        "drafts": len(own),
        "right": sum(one.right for one in own),
        "kept": sum(one.kept for one in own),
        "proved": sum(one.proved for one in own),
        "best": best,
        "geomean": geomean(list(best.values())),
        "interval": interval(list(best.values())),
        "predicted": sum(one.predicted for one in own),
        "came_true": sum(one.came_true for one in own),
        "expected_off": expected_off(own),
        "prompt_tokens": sum(one.prompt_tokens for one in own),
        "reply_tokens": sum(one.reply_tokens for one in own),
    }


def report_text(outcomes: Sequence[ReplyOutcome], missing: dict[str, dict[str, list[str]]]) -> str:
    """Return the report as Markdown."""
    return "\n".join(_report_lines(report_of(outcomes), outcomes, missing)) + "\n"


def _report_lines(
    made: dict[str, object], outcomes: Sequence[ReplyOutcome], missing: dict[str, dict[str, list[str]]]
) -> Iterator[str]:
    arms, common, ratios = made["arms"], made["tasks"], made["ratios"]
    assert isinstance(arms, dict)
    assert isinstance(common, list)
    assert isinstance(ratios, dict)
    count, of = len(compared(outcomes)), f"{len(common)} task{'s' * (len(common) != 1)}"
    yield f"{len(outcomes)} drafts are proved. Compared are the {count} that every arm has, of {of}."
    if common:
        yield ""
        yield (
            "| arm | drafts | right | kept | first counter moved | geomean of best | 95 % | expected, off by | "
            "came true | tokens |"
        )
        yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for arm, own in arms.items():
        tokens = own["prompt_tokens"] + own["reply_tokens"]
        yield (
            f"| {arm}: {ARMS[arm]} | {own['drafts']} | {own['right']} | {own['kept']} | {own['proved']} | "
            f"{own['geomean']:.2f}x | {_between(own['interval'])} | {_factor(own['expected_off'])} | "
            f"{own['came_true']} of {own['predicted']} | "
            f"{tokens:,} |"
        )
    if common:
        yield ""
        for name, ratio in ratios.items():
            yield f"- {name}: {ratio['geomean']:.2f} ({_between(ratio['interval'])})"
        yield ""
        yield "| task | " + " | ".join(arms) + " |"
        yield "|---|" + "--:|" * len(arms)
        for task in common:
            yield f"| {task} | " + " | ".join(f"{own['best'][task]:.2f}x" for own in arms.values()) + " |"
    if missing:
        yield ""
        yield "Still missing, by number of the draft:"
        yield ""
        yield "| task | " + " | ".join(ARMS) + " |"
        yield "|---|" + "---|" * len(ARMS)
        for task, own in missing.items():
            yield f"| {task} | " + " | ".join(", ".join(own.get(arm, ())) for arm in ARMS) + " |"


def _factor(value: float | None) -> str:
    return f"{value:.2f}x" if value else "-"


def _between(ends: tuple[float, float] | None) -> str:
    return f"{ends[0]:.2f} to {ends[1]:.2f}" if ends else "one task"


def write_page(page: Path, folders: Sequence[Path]) -> None:
    """Write a page with the report of each folder, and every draft with links to prompt, reply and proof."""
    lines = [PAGE_HEAD]
    for folder in folders:
        outcomes = read_outcomes(folder)
        lines += [
            f"## {folder.resolve().name}: {len(tasks(folder))} tasks",
            "",
            report_text(outcomes, missing_of(folder)),
        ]
        if outcomes:
            lines += ["| draft | of | change | outcome | time against the slow version | predictions true |"]
            lines += ["|---|---|---|---|--:|--:|", *(_draft_row(one, folder, page.parent) for one in outcomes), ""]
    write_whole(page, "\n".join(lines).encode())


PAGE_HEAD = """# Closed loop: what came of it

Written by `loop.py page`; [README.md](README.md) says what the arms are and how drafts are asked for and proved. A
draft is kept where it is right and faster and no way of cheating shows. Compared are drafts that every arm has proved:
of each task the best that was kept, 1x where none was. Intervals are of tasks drawn with return.
"""


def _draft_row(one: ReplyOutcome, folder: Path, start: Path) -> str:
    name = f"{one.task}-{one.arm}-{one.number}"
    prompt = next(path for path in (folder / "asked.tar.zst", folder / "prompts" / f"{name[:-2]}.md") if path.is_file())
    files = {"prompt": prompt, "reply": folder / "replies" / f"{name}.md", "proof": folder / "proofs" / f"{name}.json"}
    links = ", ".join(f"[{word}]({os.path.relpath(path, start)})" for word, path in files.items())
    time = f"{one.speedup:.2f}x ({one.low:.2f} to {one.high:.2f})" if one.speedup and one.low and one.high else "-"
    fate = ": ".join(filter(None, ("kept" if one.kept else one.fate, one.reason)))
    outcome, change = (text.replace("|", "\\|").replace("\n", " ") for text in (fate, one.change))
    return f"| {name} | {links} | {change} | {outcome} | {time} | {one.came_true} of {one.predicted} |"


def main(words: Sequence[str]) -> int:
    what, folder = words[0], Path(words[1])
    if what == "record":
        return 1 if record_all(folder) else 0
    if what == "prompts":
        write_prompts(folder)
    elif what == "prove":
        left = prove_all(folder, float(words[2]) if len(words) > 2 else math.inf)
        sys.stdout.write(f"{left} replies are left\n")
    elif what == "report":
        outcomes, missing = read_outcomes(folder), missing_of(folder)
        whole = {**report_of(outcomes), "missing": missing}
        sys.stdout.write(json.dumps(whole, indent=1) if "--json" in words else report_text(outcomes, missing))
    elif what == "page":
        write_page(folder, [Path(word) for word in words[2:]])
    else:
        sys.stdout.write(f"no such step: {what}\n{__doc__}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
