"""A prompt has an id and is kept with its evidence: a reply is held against that, whatever was measured since."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from commandline import Run
from recorded_family import copy_family

from ncu_assist.project import Project
from ncu_assist.store import Store, StoredRun, metrics_parquet
from ncu_assist.suggest.model import Endpoint
from ncu_assist.suggest.prompting import Prompt, PromptArchive, id_of
from ncu_assist.suggest.session import ReplyOptions, SuggestRequest, prompt_of

REPLY = (Path(__file__).parent.parent / "suggest" / "replies" / "coalesced_load.md").read_text()
LATER = {"run_id": "20991231T000000Z-abcdef", "created": "2099-12-31T00:00:00Z"}
NOBODY = ReplyOptions(Endpoint(""), None, dry=True, on_text=str)
QUOTED = 31.0  # what the reply quotes for E3, as its prompt shows it


@dataclass(frozen=True)
class Written:
    """A project in which prompts of v7 and, last, of v6 were written before v6 was measured again."""

    root: Path
    of_v6: Prompt
    of_v7: Prompt
    parent: StoredRun  # of the prompt of v6
    later: StoredRun


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Written:
    root = tmp_path_factory.mktemp("replies")
    copy_family(root)
    made = Project(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        seven, six = (prompt_of(made, SuggestRequest(f"lightning_decode/{name}"), NOBODY) for name in ("v7", "v6"))
    parent = Store(made.reports).runs("lightning_decode", "v6_coalesced_store")[0]
    return Written(root, six, seven, parent, measured_again(root))


@pytest.fixture
def written(project: Written, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Written:
    monkeypatch.chdir(project.root)
    return project


def replied(run: Run, folder: Path, text: str, *words: str) -> Any:
    (folder / "reply.md").write_text(text)
    return run("suggest", *words, "--reply", "reply.md", "--no-prove", "--json")


def measured_again(root: Path) -> StoredRun:
    """Save another run of v6, whose loads touch other numbers of sectors than those that the reply quotes."""
    store = Store(root / "reports")
    stored = store.runs("lightning_decode", "v6_coalesced_store")[0]
    files = {name: stored.read(name) for name in stored.run.files if not name.startswith("report")}
    frame = stored.metrics()
    wanted = frame["metric"].astype(str).str.contains("sectors")
    frame.loc[wanted, "value"] *= 3
    files["metrics.parquet"] = metrics_parquet(frame)
    files.pop("code.json.zst", None)
    return store.save(replace(stored.run, **LATER, files={}), files)


@pytest.mark.slow
def test_a_prompt_carries_its_id_and_is_kept_with_its_evidence(run: Run, written: Written) -> None:
    prompt = written.of_v6
    asked = f"Write {prompt.id} in the first line of your reply, so it is checked against the numbers above."
    assert prompt.text.endswith(f"{asked}\n")
    kept = PromptArchive(written.root / "reports").find(prompt.id)
    assert (kept.text, kept.evidence, id_of(kept.evidence)) == (prompt.text, prompt.evidence, prompt.id)
    assert next(item.value for item in kept.evidence.items if item.id == "E3") == QUOTED


def test_a_reply_is_held_against_its_prompt_and_not_against_a_later_run(run: Run, written: Written) -> None:
    (draft,) = replied(run, written.root, f"{written.of_v6.id}\n\n{REPLY}", "v6").json["drafts"]
    assert (draft["flaws"], draft["parent"]) == ([], written.parent.reference)
    assert draft["prompt"] == written.of_v6.id


@pytest.mark.slow
def test_a_prompt_of_the_later_run_has_another_id_and_other_numbers(
    run: Run, written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(written.root, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("prompt-*"))
    monkeypatch.chdir(tmp_path)
    answer = replied(run, tmp_path, REPLY, "v6")  # no prompt is kept there
    assert "none is kept: it is held against what a prompt would say now" in answer.err.replace("\n", " ")
    (draft,) = answer.json["drafts"]
    assert draft["parent"] == written.later.reference
    assert draft["prompt"] != written.of_v6.id
    assert any("E3" in flaw for flaw in draft["flaws"])


def test_without_a_reference_the_prompt_says_what_is_drafted_from(run: Run, written: Written) -> None:
    (draft,) = replied(run, written.root, f"`{written.of_v6.id}`\n{REPLY}").json["drafts"]
    assert draft["parent"] == written.parent.reference


def test_a_reply_that_drops_the_id_is_taken_for_that_of_the_last_prompt(run: Run, written: Written) -> None:
    answer = replied(run, written.root, REPLY)
    told = f"the reply names no prompt; the last one is assumed: {written.of_v6.id} of v6"
    assert told in answer.err.replace("\n", " ")
    assert answer.json["drafts"][0]["prompt"] == written.of_v6.id
    other = replied(run, written.root, REPLY, "v7")  # the last one of the version that was named
    assert other.json["drafts"][0]["prompt"] == written.of_v7.id


def test_the_id_can_be_given_beside_the_reply(run: Run, written: Written) -> None:
    answer = replied(run, written.root, REPLY, "--prompt", written.of_v7.id)
    assert answer.json["drafts"][0]["prompt"] == written.of_v7.id
    alone = run("suggest", "v6", "--prompt", written.of_v7.id)
    assert alone.code == 2
    assert "--prompt needs --reply" in alone.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("reply", "words", "told"),
    [
        ("prompt-0123456789ab\n", (), "no prompt prompt-0123456789ab is kept here"),
        ("prompt-0123456789ab prompt-ba9876543210\n", (), "the reply names 2 prompts"),
        ("", ("--prompt", "v6"), "no prompt v6 is kept here"),
    ],
)
def test_an_id_that_means_nothing_here(
    run: Run, written: Written, reply: str, words: tuple[str, ...], told: str
) -> None:
    answer = replied(run, written.root, reply + REPLY, *words)
    assert answer.code == 2
    assert told in answer.err.replace("\n", " ")


def test_a_reply_to_the_prompt_of_another_version(run: Run, written: Written) -> None:
    answer = replied(run, written.root, f"{written.of_v6.id}\n{REPLY}", "v7")
    assert answer.code == 2
    told = answer.err.replace("\n", " ")
    assert f"{written.of_v6.id} is of lightning_decode/v6_coalesced_store, not of v7" in told
    assert "ncu-assist suggest lightning_decode/v6 --reply FILE" in told


def test_a_kept_prompt_that_was_changed_is_damage(run: Run, written: Written) -> None:
    path = written.root / "reports" / "lightning_decode" / "suggest" / f"{written.of_v7.id}.json"
    whole = path.read_text()
    said = json.loads(whole)
    said["evidence"]["items"][0]["value"] += 1
    path.write_text(json.dumps(said))
    answer = replied(run, written.root, f"{written.of_v7.id}\n{REPLY}")
    path.write_text(whole)
    assert answer.code == 7
    assert "was changed after it was written" in answer.err.replace("\n", " ")
