"""Calls under way: cancelled, terminated from outside, in line for the GPU, of two clients. The commands are fakes."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest
from agents.talking import talk, text_of, value_of
from mcp import Client
from mcp.types import CallToolResult
from patience import CEILING_S, has_ended

# Stands for every command: notes when it starts and ends, and does what the file `plan` says.
FAKE = """#!{python}
import json, os, sys, time
from pathlib import Path
def note(word):
    with open("events", "a") as events:
        events.write(f"{{word}} {{os.getpid()}}\\n")
plan = Path("plan").read_text().split()
note("begin")
sys.stderr.write("check: v1 of 2\\n"); sys.stderr.flush()
if plan[0] == "dies":
    os.kill(os.getpid(), 9)
try:
    while plan[0] == "waits" and not Path("go").exists():
        time.sleep(0.01)
finally:
    note("end")
print(json.dumps({{"kernel": "k", "source": "live", "versions": [], "verdicts": [], "exit_code": 0}}))
"""
LAUNCH = (
    "import sys; sys.executable = {fake!r}; sys.argv = ['ncu-assist', 'mcp']; from ncu_assist.cli import main; main()"
)
WAITING = "waiting: another call uses the GPU"
BENCH = ("bench", {"kernel": "k", "versions": ["v1"]})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose commands are fakes."""
    (tmp_path / "kernels" / "k").mkdir(parents=True)
    fake = tmp_path / "fake"
    fake.write_text(FAKE.format(python=sys.executable))
    fake.chmod(0o755)
    return tmp_path


def words(project: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", LAUNCH.format(fake=str(project / "fake")))


def events(project: Path) -> list[str]:
    path = project / "events"
    return [line.split()[0] for line in path.read_text().splitlines()] if path.is_file() else []


def first_has_ended(project: Path) -> bool:
    return has_ended(int((project / "events").read_text().split()[1]))


@pytest.mark.slow
class TestUnderWay:
    def test_a_child_that_dies_is_an_error_and_the_server_lives_on(self, project: Path) -> None:
        (project / "plan").write_text("dies")

        async def calls(client: Client) -> tuple[CallToolResult, CallToolResult]:
            dead = await client.call_tool(*BENCH)
            (project / "plan").write_text("goes on")
            return dead, await client.call_tool(*BENCH)

        dead, alive = talk(project, calls, words=words(project))
        assert dead.is_error
        assert "was killed by signal 9" in text_of(dead)
        assert value_of(alive)["exit_code"] == 0

    def test_a_cancelled_call_ends_the_command_and_frees_the_gpu(self, project: Path) -> None:
        (project / "plan").write_text("waits")

        async def calls(client: Client) -> CallToolResult:
            with anyio.move_on_after(CEILING_S) as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, *BENCH)
                    while events(project) != ["begin"]:
                        await anyio.sleep(0.1)
                    tasks.cancel_scope.cancel()
            assert not scope.cancelled_caught
            (project / "plan").write_text("goes on")
            return await client.call_tool(*BENCH)

        result = talk(project, calls, words=words(project))
        assert value_of(result)["exit_code"] == 0
        assert first_has_ended(project)
        assert events(project) == ["begin", "end", "begin", "end"]

    def test_calls_wait_in_line_for_the_gpu_and_say_so(self, project: Path) -> None:
        (project / "plan").write_text("waits")
        told: list[str] = []

        async def tell(_progress: float, _total: float | None, message: str | None) -> None:
            told.append(message or "")
            if told.count(WAITING) == 2 and "check: v1 of 2" in told:
                (project / "go").touch()

        async def calls(client: Client) -> None:
            async def one() -> None:
                await client.call_tool(*BENCH, progress_callback=tell)

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(one)

        talk(project, calls, words=words(project))
        assert events(project) == ["begin", "end"] * 3
        assert WAITING in told
        assert "check: v1 of 2" in told

    def test_two_clients_at_once(self, project: Path) -> None:
        (project / "plan").write_text("goes on")

        async def both(client: Client) -> list[CallToolResult]:
            first = await client.call_tool(*BENCH)
            second = await anyio.to_thread.run_sync(lambda: talk(project, one, words=words(project)))
            return [first, second, await client.call_tool(*BENCH)]

        async def one(client: Client) -> CallToolResult:
            return await client.call_tool(*BENCH)

        results = talk(project, both, words=words(project))
        assert [value_of(one)["kernel"] for one in results] == ["k"] * 3

    def test_a_client_that_leaves_ends_what_it_asked_for(self, project: Path) -> None:
        (project / "plan").write_text("waits")

        async def leave(client: Client) -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, *BENCH)
                while events(project) != ["begin"]:
                    await anyio.sleep(0.1)
                tasks.cancel_scope.cancel()

        talk(project, leave, words=words(project))
        assert first_has_ended(project)


def test_words_that_are_no_json_are_the_error(project: Path) -> None:
    (project / "fake").write_text(
        f"#!{sys.executable}\nimport sys\nsys.exit('error: the disk is full\\n  try: a smaller one')\n"
    )

    async def call(client: Client) -> CallToolResult:
        return await client.call_tool(*BENCH)

    assert "the disk is full\n  try: a smaller one" in text_of(talk(project, call, words=words(project)))
