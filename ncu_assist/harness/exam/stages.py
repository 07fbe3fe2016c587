"""The order of the sandboxed side's work: what measures first, then the versions, then the questions."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.harness import results
from ncu_assist.harness.bench import stopwatch_of
from ncu_assist.harness.exam.answering import run_check
from ncu_assist.harness.exam.paper import Paper
from ncu_assist.harness.exam.profiled import run_profile
from ncu_assist.harness.exam.session import ExamSession
from ncu_assist.harness.exam.timing import run_bench
from ncu_assist.harness.stopwatch import Hold, Stopwatch


@dataclass(frozen=True)
class Room:
    """Everything that was made before any version was loaded."""

    session: ExamSession
    hold: Hold
    stopwatch: Stopwatch


def prepare(paper: Paper) -> Room:
    """Make what measures and remember what it is made of, then wait for the questions and the versions."""
    session = ExamSession(paper)
    room = Room(session, Hold(paper.request.helpers), stopwatch_of(session))
    results.write_facts(session.out, session.facts())
    assert session.questions
    session.await_versions()
    return room


def run(room: Room) -> None:
    """Load the versions, do the stages that are asked for, and write the facts once more."""
    session = room.session
    stages = session.request.settings.stages
    session.load()
    session.inspect_seal()
    if "check" in stages:
        run_check(session, room.hold)
    if "bench" in stages:
        run_bench(session, room.stopwatch)
    if "profile" in stages:
        run_profile(session)
    session.inspect_seal()
    results.write_facts(session.out, session.facts())
