"""Does the evidence help? The same tasks, the same form of reply, three arms: source, ncu's details page, our prompt.

usage: python benchmarks/closed_loop/loop.py prompts FOLDER           writes FOLDER/prompts/<task>-<arm>.md
       python benchmarks/closed_loop/loop.py prove FOLDER [SECONDS]   proves FOLDER/replies/<task>-<arm>-<n>.md on a GPU
       python benchmarks/closed_loop/loop.py report FOLDER [--json]   says what came of them

FOLDER has kernels/ with one version each, reports/ with a recorded run of it, and details/<task>.txt, the text of
``ncu --page details``. Arms: a is task and source, b these and the details page, c the prompt of ``suggest``. The first
line of a reply may be ``model: NAME``. What proving gave is kept as FOLDER/proofs/<task>-<arm>-<n>.json, the record of
the draft; a reply that has one is not proved again, and after SECONDS no further one is begun. All else is made
of these files, anywhere.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import msgspec

from ncu_assist.project import Project, Settings
from ncu_assist.render.redact import NOBODY
from ncu_assist.store.drafts import Draft, DraftArchive
from ncu_assist.suggest.drafting import Conversation, draft, source_of_saved
from ncu_assist.suggest.evidence.gathering import evidence
from ncu_assist.suggest.evidence.records import Evidence
from ncu_assist.suggest.prompting import MAX_TOKENS, build_prompt, load, render, tokens_of, values_of
from ncu_assist.suggest.proof.prover import ProofOptions, SandboxProver
from ncu_assist.suggest.session import SuggestRequest, draft_task

ARMS = {"a": "task and source", "b": "and ncu's details page", "c": "the prompt of suggest"}
TEMPLATES = Path(__file__).parent / "arms"
REPLY = re.compile(r"(?P<task>\w+)-(?P<arm>[abc])-(?P<number>\d+)")
MODEL = re.compile(r"\Amodel: *(?P<model>\S.*)\n")
RESAMPLES, SEED = 10_000, 32
WITHIN = 0.95
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
    """Return the prompt of an arm: the same wherever it is made, whatever other kernels lie in the archive."""
    known = replace(evidence(Project(folder, Settings()), parent_of(folder, task), identity=NOBODY), removed=())
    if arm == "c":
        return build_prompt(known, None, MAX_TOKENS, "fences").text
    details = (
        SAYS_WHO.sub("", (folder / "details" / f"{task}.txt").read_text("utf-8")).strip("\n") if arm == "b" else ""
    )
    environment = load([*(one.name for one in fields(Evidence)), "form", "dropped", "details"], TEMPLATES)
    bare = {**values_of(_untimed(known)), "form": "fences", "dropped": (), "details": details}
    return f"{_without_columns(render(environment, bare)).rstrip()}\n"


def _untimed(known: Evidence) -> Evidence:
    """Return evidence without what was measured of the parent but its source: no notes at lines, no times."""
    workloads = tuple(replace(one, median_ns=None, copy_ns=None, floor_ns=None) for one in known.task.workloads)
    return replace(known, task=replace(known.task, workloads=workloads), source=replace(known.source, margins=()))


def _without_columns(text: str) -> str:
    """Return a prompt whose table of workloads ends with the type: the times that would follow are left out."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| workload |"))
    for place in range(start, len(lines)):
        if not lines[place].startswith("|"):
            break
        lines[place] = "|".join(lines[place].split("|")[:4]) + "|"
    return "\n".join(lines)


def write_prompts(folder: Path) -> None:
    """Write the prompts of all arms and print how long each is."""
    (folder / "prompts").mkdir(exist_ok=True)
    for task in tasks(folder):
        sizes = []
        for arm in ARMS:
            text = prompt_of(folder, task, arm)
            (folder / "prompts" / f"{task}-{arm}.md").write_text(text, encoding="utf-8")
            sizes.append(f"{arm} {tokens_of(text):,}")
        sys.stdout.write(f"{task}: {', '.join(sizes)} tokens\n")


class Speak:
    """A reporter for a terminal that nobody watches."""

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")

    def status(self, text: str) -> None:
        return


def prove_all(folder: Path, seconds: float = math.inf) -> int:
    """Prove the replies that have no outcome yet, one after the other; return how many are left."""
    began, proofs = time.monotonic(), folder / "proofs"
    waiting = [
        path for path in sorted((folder / "replies").glob("*.md")) if not (proofs / f"{path.stem}.json").is_file()
    ]
    proofs.mkdir(exist_ok=True)
    for place, path in enumerate(waiting):
        if time.monotonic() - began > seconds:
            return len(waiting) - place
        made = prove(folder, path)
        (proofs / f"{path.stem}.json").write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
        said = f"{made.proof.speedup:.2f}x" if made.proof and made.proof.speedup else ""
        sys.stdout.write(f"{path.stem}: {made.fate} {said} {made.reason}\n")
        sys.stdout.flush()
    return 0


def prove(folder: Path, path: Path, options: ProofOptions | None = None) -> Draft:
    """Prove one reply in a project of its own, which holds its task alone and no draft before it."""
    task, model, text = _parts(path)[0]["task"], *_parts(path)[1:]
    with tempfile.TemporaryDirectory(prefix="closed-loop-", ignore_cleanup_errors=True) as root:
        for part in ("kernels", "reports"):
            shutil.copytree(folder / part / task, Path(root) / part / task)
        project = Project(Path(root), Settings())
        return replace(_proved(project, parent_of(folder, task), text, options or ProofOptions()), model=model)


def _parts(path: Path) -> tuple[re.Match[str], str, str]:
    """Return the name of a reply taken apart, the model that it names, and the reply itself."""
    match, text = REPLY.fullmatch(path.stem), path.read_text("utf-8")
    assert match is not None, f"{path.name} is not TASK-ARM-NUMBER.md"
    model = MODEL.match(text)
    return match, model["model"].strip() if model else "", text[model.end() :] if model else text


def _proved(project: Project, parent: str, text: str, options: ProofOptions) -> Draft:
    task = draft_task(project, SuggestRequest(parent, proving=options), "fences")
    stored = draft(DraftArchive(project.reports), task, Conversation(source_of_saved(text)), task.worded, 1, 1)
    if stored.draft.fate != "drafted":
        return stored.draft
    prover = SandboxProver(project, options, Speak())
    prover.check()
    try:
        return prover.prove(task, stored)[0].draft
    finally:
        prover.close()


def _outcome(folder: Path, path: Path, made: Draft) -> ReplyOutcome:
    match, model, text = _parts(path)
    prompt = (folder / "prompts" / f"{match['task']}-{match['arm']}.md").read_text("utf-8")
    proof = made.proof
    passed = {stage.name for stage in proof.stages if stage.passed} if proof else set()
    scores = [one for one in proof.scores if one.came_true is not None] if proof else []
    # the stage that holds counters against predictions comes last; it fails an honest draft for these alone
    reached = bool(proof) and any(stage.name == "diff" for stage in proof.stages)
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
        proof = folder / "proofs" / f"{path.stem}.json"
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


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a geometric mean over tasks: percentiles of means of tasks drawn with return."""
    draws, logs = random.Random(SEED), [math.log(one) for one in values]
    means = sorted(sum(draws.choices(logs, k=len(logs))) / len(logs) for _ in range(RESAMPLES))
    cut = int((1 - WITHIN) / 2 * RESAMPLES)
    return math.exp(means[cut]), math.exp(means[-1 - cut])


def report_of(outcomes: Sequence[ReplyOutcome]) -> dict[str, object]:
    """Return what came of each arm, over the tasks that every arm has a reply to, and how c stands to a and to b."""
    answered = {arm: {one.task for one in outcomes if one.arm == arm} for arm in ARMS}
    common = sorted(set.intersection(*answered.values()))
    if not common:
        return {"tasks": [], "arms": {}, "ratios": {}}
    arms = {arm: _arm([one for one in outcomes if one.arm == arm and one.task in common], common) for arm in ARMS}
    ratios = {}
    for other in ("a", "b"):
        paired = [best_of(outcomes, task, "c") / best_of(outcomes, task, other) for task in common]
        ratios[f"c/{other}"] = {"geomean": geomean(paired), "interval": interval(paired)}
    return {"tasks": common, "arms": arms, "ratios": ratios}


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
        "prompt_tokens": sum(one.prompt_tokens for one in own),
        "reply_tokens": sum(one.reply_tokens for one in own),
    }


def report_text(outcomes: Sequence[ReplyOutcome]) -> str:
    """Return the report as Markdown."""
    return "\n".join(_report_lines(report_of(outcomes), outcomes)) + "\n"


def _report_lines(made: dict[str, object], outcomes: Sequence[ReplyOutcome]) -> Iterator[str]:
    arms, common = made["arms"], made["tasks"]
    assert isinstance(arms, dict)
    assert isinstance(common, list)
    yield f"{len(common)} tasks, {len(outcomes)} drafts"
    yield ""
    yield "| arm | drafts | right | kept | its counter moved | geomean of the best | 95 % | predictions true | tokens |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for arm, own in arms.items():
        low, high = own["interval"]
        tokens = own["prompt_tokens"] + own["reply_tokens"]
        yield (
            f"| {arm}: {ARMS[arm]} | {own['drafts']} | {own['right']} | {own['kept']} | {own['proved']} | "
            f"{own['geomean']:.2f}x | {low:.2f} to {high:.2f} | {own['came_true']} of {own['predicted']} | {tokens:,} |"
        )
    yield ""
    for name, ratio in made["ratios"].items() if isinstance(made["ratios"], dict) else ():
        yield f"{name}: {ratio['geomean']:.2f} ({ratio['interval'][0]:.2f} to {ratio['interval'][1]:.2f})"
    yield ""
    yield "| task | " + " | ".join(arms) + " |"
    yield "|---|" + "--:|" * len(arms)
    for task in common:
        yield f"| {task} | " + " | ".join(f"{own['best'][task]:.2f}x" for own in arms.values()) + " |"


def main(words: Sequence[str]) -> int:
    what, folder = words[0], Path(words[1])
    if what == "prompts":
        write_prompts(folder)
    elif what == "prove":
        left = prove_all(folder, *map(float, words[2:]))
        sys.stdout.write(f"{left} replies are left\n")
    elif what == "report":
        outcomes = read_outcomes(folder)
        sys.stdout.write(json.dumps(report_of(outcomes), indent=1) if "--json" in words else report_text(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
