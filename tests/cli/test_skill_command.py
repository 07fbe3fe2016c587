"""``ncu-assist skill``: each command in it runs, each tool in it exists, and it is written where agents look."""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import Run, files

from ncu_assist.agents.skill import BEGIN, END, whole_text

COMMAND = re.compile(r"`ncu-assist ([^`]+)`")
LARGEST_TOKENS = 2_000
REPLY = Path(__file__).parent.parent / "suggest" / "replies" / "coalesced_load.md"
KNOWN = {  # what stands for the words in capitals
    "KERNEL/VERSION": iter(["lightning_decode/v3", "lightning_decode/v7"] * 20),
    "KERNEL": iter(["lightning_decode"] * 20),
    "ID": iter(["20261121T221601Z"] * 20),
    "FILE": iter([str(REPLY)] * 20),
    "NAMES": iter(["dram_bytes"] * 20),
    "NAME": iter(["wavefront"] * 20),
    "PATTERN": iter(["dram"] * 20),
}
REFUSED = {"suggest prove": "kept already", "suggest accept": ""}  # the one needs a GPU, the other a person


def commands() -> Iterator[str]:
    for line in COMMAND.findall(whole_text()):
        for word, known in KNOWN.items():
            while re.search(rf"(?<![\w/]){word}(?![\w/])", line):
                line = re.sub(rf"(?<![\w/]){word}(?![\w/])", next(known), line, count=1)
        yield line


@pytest.mark.slow
@pytest.mark.parametrize("line", list(commands()))
def test_each_command_runs(line: str, run: Run, recorded: Path) -> None:
    if "--reply" in line:
        line = line.replace("lightning_decode/v3", "lightning_decode/v6").replace("lightning_decode/v7", "v6")
    answer = run(*shlex.split(line))
    refused = next((words for start, words in REFUSED.items() if line.startswith(start)), None)
    if refused:
        assert (answer.code, refused in answer.err) == (2, True)
    else:
        assert answer.code == 0, answer.err


def test_its_tools_exist_and_it_is_short() -> None:
    from ncu_assist.agents.server import BUDGETS

    rows = re.findall(r"^\| \d+\. [^|]+\|([^|]+)\|", whole_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(rows) == 10
    assert named < set(BUDGETS)
    assert len(whole_text()) // 4 < LARGEST_TOKENS


def test_it_is_in_the_form_of_skills() -> None:
    head, body = whole_text().removeprefix("---\n").split("\n---\n", 1)
    keys = dict(line.split(": ", 1) for line in head.splitlines())
    assert keys["name"] == "ncu-assist"
    assert 50 < len(keys["description"]) < 1_024
    assert "# Working with ncu-assist" in body


class TestInstall:
    def test_printed(self, run: Run, recorded: Path) -> None:
        before = files(recorded)
        answer = run("skill", "--print")
        assert (answer.code, answer.out.rstrip()) == (0, whole_text().rstrip())
        assert "references/" not in answer.out
        assert "## A draft and its proof" in answer.out
        assert files(recorded) == before

    @pytest.mark.parametrize(
        ("agent", "paths"),
        [
            ("claude", ["SKILL.md", "references/proving.md", "references/reading.md"]),
            ("cursor", [".cursor/rules/ncu-assist.mdc"]),
            ("codex", ["AGENTS.md"]),
        ],
    )
    def test_written_for_each_agent_and_again(self, run: Run, recorded: Path, agent: str, paths: list[str]) -> None:
        before = files(recorded)
        if agent == "claude":
            paths = [f".claude/skills/ncu-assist/{path}" for path in paths]
        for _ in range(2):
            answer = run("skill", "--install", agent)
            assert (answer.code, answer.out.splitlines()) == (0, paths)
        assert files(recorded) - before == set(paths)
        text = (recorded / paths[0]).read_text()
        assert "ncu-assist suggest prove ID --no-keep" in text
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert bool(links) == (agent == "claude")
        assert all((recorded / paths[0]).parent.joinpath(link).is_file() for link in links)

    def test_the_rest_of_a_shared_file_stays(self, run: Run, recorded: Path) -> None:
        path = recorded / "AGENTS.md"
        path.write_text("# Ours\n\nBe kind.\n")
        run("skill", "--install", "codex")
        path.write_text(path.read_text().replace("## How to choose", "## How") + "\n## Behind\n")
        run("skill", "--install", "codex")
        text = path.read_text()
        assert text.startswith("# Ours\n\nBe kind.\n\n" + BEGIN)
        assert "## How to choose the change" in text
        assert text.count(BEGIN) == text.count(END) == 1
        assert text.endswith("## Behind\n")

    def test_the_line_ends_of_a_shared_file_stay(self, run: Run, recorded: Path) -> None:
        path = recorded / "AGENTS.md"
        path.write_bytes(b"# Ours\r\n\r\nBe kind.\r\n")
        for _ in range(2):
            assert run("skill", "--install", "codex").code == 0
            assert path.read_bytes().startswith(b"# Ours\r\n\r\nBe kind.\n\n" + BEGIN.encode())

    @pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
    def test_a_shared_file_in_another_encoding_is_not_touched(self, run: Run, recorded: Path, encoding: str) -> None:
        path, text = recorded / "AGENTS.md", "# Für uns\n".encode(encoding)
        path.write_bytes(text)
        for words in ((), ("--force",)):
            answer = run("skill", "--install", "codex", *words)
            assert (answer.code, path.read_bytes()) == (2, text)
            assert answer.err.startswith("error: AGENTS.md is not UTF-8, and was not changed\n  try: save AGENTS.md as")

    def test_what_was_changed_by_hand_is_not_written_over(self, run: Run, recorded: Path) -> None:
        run("skill", "--install", "claude")
        changed = recorded / ".claude" / "skills" / "ncu-assist" / "references" / "proving.md"
        changed.write_text("mine\n")
        answer = run("skill", "--install", "claude")
        assert (answer.code, changed.read_text()) == (2, "mine\n")
        assert "references/proving.md already exists with other text" in answer.err
        assert run("skill", "--install", "claude", "--force").code == 0
        assert changed.read_text() != "mine\n"

    @pytest.mark.parametrize("agent", ["claude", "cursor", "codex"])
    def test_a_folder_that_may_not_be_written_to(
        self, run: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch, agent: str
    ) -> None:
        def refuse(path: Path, *_: object, **__: object) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

        monkeypatch.setattr(Path, "mkdir" if agent == "claude" else "write_bytes", refuse)
        answer = run("skill", "--install", agent)
        assert (answer.code, "AGENTS.md: Read-only" in answer.err) == (6, agent == "codex")
        assert answer.err.startswith(f"error: the skill cannot be written: {recorded}/")
        assert answer.err.endswith("  try: ncu-assist skill --print\n")

    @pytest.mark.parametrize("words", [[], ["--print", "--install", "codex"], ["--install", "emacs"]])
    def test_one_of_two_things(self, run: Run, recorded: Path, words: list[str]) -> None:
        assert run("skill", *words).code == 2
