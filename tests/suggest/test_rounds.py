"""The loop of drafts: replies sent back, repairs, candidates, rounds, budgets; proofs are told, not measured."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from factories import make_run, metrics_frame, samples_frame, save_run, times
from pipeline.measured import Notes
from suggest.recorded import made_project

from ncu_assist.errors import ModelProblem, UsageProblem
from ncu_assist.project import Project
from ncu_assist.sources import source_sha256
from ncu_assist.store import Store
from ncu_assist.store.drafts import DraftArchive, MetricPrediction, ModelCost, Proof, Score, StoredDraft
from ncu_assist.suggest.drafting import DraftTask, ReplySource, source_of_saved
from ncu_assist.suggest.model import FailedCall, Message, ModelAnswer
from ncu_assist.suggest.session import SuggestRequest, SuggestSession, draft_task

SOURCE = "import torch\n\n\ndef add_one(x, y):\n    torch.add(x, {}, out=y)\n"


def reply(number: float = 1.0, **changes: Any) -> str:
    """A reply whose draft adds a number."""
    said = {
        "bottleneck": "latency",
        "evidence": [],
        "change": f"adds {number}",
        "slug": f"adds_{int(number)}",
        "predictions": [],
        "expected_speedup": 1.5,
        "source": SOURCE.format(number),
        "edits": None,
    }
    return json.dumps({**said, **changes})


@dataclass
class Queue:
    """A model that answers from a list, and remembers what it was told."""

    answers: list[str | Exception]
    heard: list[str] = field(default_factory=list)

    def __call__(self, messages: Any) -> ModelAnswer:
        last: Message = messages("fences")[-1]
        self.heard.append(last.text)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ModelAnswer(answer, ModelCost(1, 100, 10, 0.5), "json_object")


@dataclass
class RuleResults:
    """A prover that says what it was told to say of each draft: a speed-up, or a compiler's words."""

    project: Project
    verdicts: list[float | str]
    steps: list[str] = field(default_factory=list)

    def open(self) -> None: ...

    def begin(self, task: DraftTask, stored: StoredDraft) -> None:
        self.steps.append(f"build {stored.draft.candidate}")

    def close(self) -> None: ...

    def prove(self, task: DraftTask, stored: StoredDraft) -> tuple[StoredDraft, str]:
        verdict = self.verdicts.pop(0)
        self.steps.append(f"prove {stored.draft.candidate}")
        if isinstance(verdict, str):
            failed = replace(stored.draft, fate="rejected", reason="it does not build")
            return DraftArchive(self.project.reports).update(stored, failed), verdict
        proof = Proof((), "bwrap", "small", "faster", verdict)
        fate = "kept" if verdict > 1 else "rejected"
        draft = replace(stored.draft, fate=fate, reason="" if verdict > 1 else "slower", proof=proof)
        return DraftArchive(self.project.reports).update(stored, draft), ""


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the ids of the drafts that became versions."""
    ids = []

    def make(project: Project, folder: Path, stored: StoredDraft) -> tuple[StoredDraft, Path]:
        ids.append(stored.draft.id)
        named = replace(stored.draft, version="v1_torch")  # which has a run that the next round goes on from
        return DraftArchive(project.reports).update(stored, named), folder / "v2_next.py"

    monkeypatch.setattr("ncu_assist.suggest.session.make_version", make)
    return ids


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return made_project(tmp_path, SOURCE.format(3.0))


def suggestion(project: Project, queue: Queue, *verdicts: float | str, **request: Any) -> SuggestSession:
    prover = RuleResults(project, list(verdicts)) if verdicts else None
    return SuggestSession(
        project,
        SuggestRequest("add_one/v1", **{"force": True, **request}),
        ReplySource("mock-1", queue),
        Notes(),
        prover,
    )


def test_a_draft_is_archived_with_its_prompt_and_reply(project: Project) -> None:
    queue = Queue([reply()])
    (stored,) = suggestion(project, queue).run().drafts
    assert (stored.draft.fate, stored.draft.model, stored.draft.origin) == ("drafted", "mock-1", "model")
    assert stored.read("prompt.md").decode() == queue.heard[0]
    assert stored.read("reply-1.txt").decode() == reply()
    assert stored.read("draft.py").decode() == SOURCE.format(1.0)
    assert stored.draft.cost == ModelCost(1, 100, 10, 0.5)


def test_a_reply_that_cannot_be_used_is_sent_back_once_with_what_is_wrong(project: Project) -> None:
    edits = [{"search": "torch.sub(x", "replace": "torch.add(x"}]
    queue = Queue([reply(source=None, edits=edits), reply()])
    (stored,) = suggestion(project, queue).run().drafts
    assert stored.draft.fate == "drafted"
    assert "matches nothing in the source" in queue.heard[1]
    assert "torch.add(x, 3.0, out=y)" in queue.heard[1]  # the nearest line
    assert stored.draft.cost.calls == 2
    assert json.loads(stored.read("reply-1.txt"))["edits"] == edits


def test_a_reply_is_kept_where_asking_again_comes_to_nothing(project: Project) -> None:
    (stored,) = suggestion(project, Queue(["only prose", ModelProblem("the endpoint is gone")])).run().drafts
    assert stored.draft.fate == "rejected"
    assert stored.draft.reason.endswith("; asking again came to nothing: the endpoint is gone")
    assert (stored.read("reply-1.txt"), stored.draft.cost.calls) == (b"only prose", 1)


def test_a_second_one_is_rejected_and_nothing_of_it_is_applied(project: Project) -> None:
    found = suggestion(project, Queue(["only prose", "prose again"]), 2.0).run()
    (stored,) = found.drafts
    assert stored.draft.fate == "rejected"
    assert stored.draft.reason.startswith("its reply could not be used: ")
    assert "draft.py" not in stored.files
    assert stored.read("refusal.txt").decode().startswith("Your reply could not be used: ")
    assert found.exit_code == 3


def test_a_saved_reply_is_not_answered(project: Project) -> None:
    made = SuggestSession(
        project, SuggestRequest("add_one/v1"), source_of_saved("only prose"), Notes(), RuleResults(project, [2.0])
    )
    (stored,) = made.run().drafts
    assert (stored.draft.fate, stored.draft.origin, stored.draft.cost.calls) == ("rejected", "file", 0)


def test_the_compilers_words_go_back_twice_and_each_repair_is_a_draft(project: Project) -> None:
    queue = Queue([reply(1), reply(2), reply(4), reply(5)])
    found = suggestion(project, queue, "line 1: error", "line 2: error", "line 3: error", 2.0).run()
    assert [one.draft.fate for one in found.drafts] == ["rejected"] * 3
    assert queue.heard[1:] == ["line 1: error", "line 2: error"]
    assert len(queue.answers) == 1
    assert found.exit_code == 3


def test_of_several_candidates_the_fastest_is_kept(project: Project, kept: list[str]) -> None:
    made = suggestion(project, Queue([reply(1), reply(2), reply(4)]), 1.2, 1.6, 0.9, candidates=3)
    found = made.run()
    assert [one.draft.fate for one in found.drafts] == ["rejected", "kept", "rejected"]
    assert found.drafts[0].draft.reason.endswith(f"draft {found.drafts[1].draft.id} of the same round is faster")
    assert kept == [found.drafts[1].draft.id]
    assert found.exit_code == 0
    assert isinstance(made.reporter, Notes)
    assert made.reporter.notes[0].startswith("3 drafts: at least about "), "what it costs is said before it starts"
    assert made.reporter.notes[0].endswith("Each draft that builds is checked, timed and profiled.")


def test_candidates_are_built_while_others_are_asked_for_and_proved_in_turn(project: Project) -> None:
    made = suggestion(project, Queue([reply(1), reply(2), reply(4)]), "line 1: error", 1.6, 1.2, candidates=2)
    found = made.run()
    assert isinstance(made.prover, RuleResults)
    assert made.prover.steps == ["build 1", "build 2", "prove 1", "build 1", "prove 1", "prove 2"]
    assert [(one.draft.candidate, one.draft.fate) for one in found.drafts] == [
        *((1, "rejected"), (2, "rejected"), (1, "kept")),
    ]


def test_a_repair_that_comes_to_nothing_leaves_the_others(project: Project) -> None:
    queue = Queue([reply(1), reply(2), ModelProblem("the endpoint is down")])
    found = suggestion(project, queue, "line 1: error", 1.6, candidates=2).run()
    assert [one.draft.fate for one in found.drafts] == ["rejected", "kept"]


def test_rounds_go_on_from_what_was_kept_and_tell_what_failed(project: Project) -> None:
    queue = Queue([reply(1), reply(2), reply(4)])
    found = suggestion(project, queue, 1.5, 0.8, rounds=3).run()
    assert [(one.draft.round, one.draft.fate) for one in found.drafts] == [(1, "kept"), (2, "rejected")]
    assert len(queue.answers) == 1  # nothing was kept in round 2, so that there is nothing to go on from
    again = suggestion(project, Queue([reply(4)]))
    again.run()
    assert "adds 2" in again.author.answer.heard[0]  # type: ignore[attr-defined]


def test_rounds_end_where_what_was_kept_has_nothing_left_to_win(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = draft_task(project, SuggestRequest("add_one/v1"), "fences").prompt.evidence.diagnosis_id
    monkeypatch.setattr("ncu_assist.suggest.session.DONE", (told,))
    found = suggestion(project, Queue([reply(1), reply(2)]), 1.5, 1.5, rounds=3).run()
    assert [(one.draft.round, one.draft.fate) for one in found.drafts] == [(1, "kept")]
    assert found.ended == f"v1 is at its floor ({told})"


def test_a_model_is_not_asked_where_nothing_is_left_to_win(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    told = draft_task(project, SuggestRequest("add_one/v1"), "fences").prompt.evidence.diagnosis_id
    monkeypatch.setattr("ncu_assist.suggest.session.DONE", (told,))
    author = Queue([reply(1)])
    with pytest.raises(UsageProblem, match=r"v1 is at its floor .*: a draft has nothing left to win") as refused:
        suggestion(project, author, 1.5, force=False).run()
    assert refused.value.hint.startswith("--force")
    assert len(suggestion(project, author, 1.5).run().drafts) == 1


def test_without_a_version_the_parent_is_the_fastest_own_one(project: Project) -> None:
    """A library's version has no kernel to improve. It is the parent only where nothing else is timed."""
    library = project.kernels / "add_one" / "v2_library.py"
    library.write_text(f"# Baseline: torch does it all.\n{SOURCE.format(3.0)}", encoding="utf-8")
    run = make_run(version=library.stem, source_sha256=source_sha256(library))
    samples = samples_frame(times(50_000.0, 2), version=library.stem)
    source = {f"source/{library.name}": library.read_bytes()}
    save_run(Store(project.reports), run, metrics_frame(), samples, **source)

    def parent(**asked: str) -> str:
        return draft_task(project, SuggestRequest(**asked), "fences").parent.run.version

    assert (parent(kernel="add_one"), parent()) == ("v1_torch", "v1_torch")
    assert parent(reference="@best") == parent(reference="v2") == "v2_library"
    (project.kernels / "add_one" / "v1_torch.py").write_text("# changed since it was measured\n", encoding="utf-8")
    assert parent(kernel="add_one") == "v2_library"


def test_a_prompt_tells_what_a_draft_predicted_that_did_not_come(project: Project) -> None:
    suggestion(project, Queue([reply(2)])).run()
    (stored,) = DraftArchive(project.reports).drafts()
    prediction = MetricPrediction("dram_bytes", "down", 0.5)
    scores = (Score(prediction, 100.0, 140.0, False), Score(prediction, 100.0, 50.0, True))
    proof = Proof((), "bwrap", "small", "faster", 1.1, scores=scores)
    unproven = replace(stored.draft, fate="unproven", reason="right and faster, but", proof=proof)
    DraftArchive(project.reports).update(stored, unproven)
    again = suggestion(project, Queue([reply(4)]))
    again.run()
    heard = again.author.answer.heard[0]  # type: ignore[attr-defined]
    assert "unproven: right and faster, but" in heard
    assert "disproved: dram_bytes down to 0.5 of it, and it went from 100 to 140\n" in heard
    assert "came as predicted: dram_bytes down to 0.5 of it, and it went from 100 to 50\n" in heard


def test_a_prompt_tells_what_was_proved_of_the_draft_that_its_parent_was(project: Project) -> None:
    suggestion(project, Queue([reply(2)])).run()
    (stored,) = DraftArchive(project.reports).drafts()
    scores = (Score(MetricPrediction("dram_bytes", "down"), 100.0, 50.0, True),)
    proof = Proof((), "bwrap", "small", "faster", 1.6, scores=scores)
    kept = replace(stored.draft, fate="kept", proof=proof, version="v1_torch")
    DraftArchive(project.reports).update(stored, kept)
    again = suggestion(project, Queue([reply(4)]))
    again.run()
    heard = again.author.answer.heard[0]  # type: ignore[attr-defined]
    assert "came as predicted: dram_bytes down, and it went from 100 to 50\n" in heard


def test_budgets_end_the_work_before_the_next_draft(project: Project) -> None:
    found = suggestion(project, Queue([reply(1), reply(2)]), 0.9, 0.9, candidates=2, budget_tokens=100).run()
    assert len(found.drafts) == 1
    assert found.ended == "the budget of 100 tokens is used up (110)"
    with pytest.raises(UsageProblem, match=r"used up .* before the model was asked"):
        suggestion(project, Queue([reply(1)]), 0.9, candidates=2, budget_s=1e-9).run()


def test_the_announced_tokens_are_all_that_a_request_sends(project: Project) -> None:
    made = suggestion(project, Queue([reply(1), reply(2)]), candidates=2)
    made.author = replace(made.author, extra_tokens=1_000, tool_calls=12)
    made.run()
    prompt = draft_task(project, made.request, "fences").prompt.tokens
    assert isinstance(made.reporter, Notes)
    assert made.reporter.notes[0] == (
        f"2 drafts: at least about {prompt + 1_000:,} tokens are sent for each ({prompt:,} of the prompt, 1,000 of "
        f"tools and form), {2 * (prompt + 1_000):,} in all. They are sent again after each of up to 12 tool calls and "
        "for each repair. Replies are extra."
    )


def test_a_budget_counts_requests_that_failed_after_they_were_sent(project: Project) -> None:
    failed = FailedCall("the connection broke off", "ask again", ModelCost(1, 300, 0, 0.5, estimated=True))
    queue = Queue([reply(1), failed, reply(2)])
    found = suggestion(project, queue, "line 1: error", 1.5, rounds=2, candidates=1, budget_tokens=400)
    assert [one.draft.cost.prompt_tokens for one in found.run().drafts] == [100]
    assert isinstance(found.reporter, Notes)
    assert "no draft came of requests with about 300 tokens; the budget counts them" in found.reporter.notes
    assert found.spent_tokens == 410

    queue = Queue(["only prose", failed, reply(2)])
    again = suggestion(project, queue, 1.5, candidates=2, budget_tokens=400).run()
    assert [one.draft.cost.prompt_tokens for one in again.drafts] == [400]
    assert again.ended == "the budget of 400 tokens is used up (410)"


def test_a_repair_is_not_asked_for_beyond_the_budget(project: Project) -> None:
    queue = Queue([reply(1), reply(2)])
    suggestion(project, queue, "line 1: error", 1.5, budget_tokens=100).run()
    assert len(queue.heard) == 1


def test_a_model_that_fails_later_keeps_what_there_is(project: Project) -> None:
    queue = Queue([reply(1), ModelProblem("the endpoint is down")])
    found = suggestion(project, queue, 1.5, candidates=2).run()
    assert [one.draft.fate for one in found.drafts] == ["kept"]
    assert found.ended == "the endpoint is down"


def test_a_model_that_never_answers_is_an_error(project: Project) -> None:
    with pytest.raises(ModelProblem):
        suggestion(project, Queue([ModelProblem("no key")])).run()
    assert DraftArchive(project.reports).drafts() == []
