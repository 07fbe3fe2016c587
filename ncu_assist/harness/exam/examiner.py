"""The trusted side's loop: set the questions, then grade whenever it is told to, until nobody waits for it any more."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import msgspec

from ncu_assist.harness import accelerator, events
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.grading import Grader
from ncu_assist.harness.exam.paper import Grades, Secret
from ncu_assist.harness.exam.setting import Questions
from ncu_assist.harness.exam.task import Task, graded_file, task_files
from ncu_assist.harness.facts import Nvml, device_facts, gpu_uuid
from ncu_assist.record import Device

POLL_S = 0.01


def run(secret: Secret) -> None:
    """Set the questions, then grade task after task."""
    parent, folder = os.getppid(), Path(secret.folder)
    questions = Questions(secret)
    questions.set()
    device = device_facts(secret.device, Nvml(gpu_uuid(secret.device)))
    accelerator.release()
    events.emit(Event("ready"))
    while os.getppid() == parent:
        for file in task_files(folder):
            _grade(questions, file, device)
        time.sleep(POLL_S)


def _grade(questions: Questions, file: Path, device: Device | None) -> None:
    task = msgspec.json.decode(file.read_bytes(), type=Task)
    grades: Grades = replace(Grader(questions, task).grades(), device=device)
    accelerator.release()
    target = graded_file(file)
    unfinished = target.with_suffix(".tmp")
    unfinished.write_bytes(msgspec.json.encode(grades))
    unfinished.replace(target)
