"""What the trusted child is told to grade: a file a task in its folder, and a file with the grades beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ncu_assist.harness.exam.paper import Answer, Purpose

TASK, GRADED = "task-", "graded-"


@dataclass(frozen=True)
class Task:
    """Answers to grade: the lines that came with them, and the sandbox's folder with the outputs."""

    name: str
    purposes: tuple[Purpose, ...]
    examined: tuple[str, ...]
    answers: tuple[Answer, ...]
    out: str


def hand_over(task: Task, folder: Path) -> Path:
    """Write a task where the trusted child finds it and return the file that its grades will come in."""
    file = folder / f"{TASK}{task.name}.json"
    unfinished = file.with_suffix(".tmp")
    unfinished.write_bytes(msgspec.json.encode(task))
    unfinished.replace(file)
    return graded_file(file)


def task_files(folder: Path) -> Iterator[Path]:
    """Yield the tasks that have no grades yet."""
    return (file for file in sorted(folder.glob(f"{TASK}*.json")) if not graded_file(file).exists())


def graded_file(task: Path) -> Path:
    """Return the file for the grades of a task."""
    return task.with_name(task.name.replace(TASK, GRADED, 1))
