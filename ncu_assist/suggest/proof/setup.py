"""What one proof is about: the draft beside its parent, and the exam that was planned for it."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.drafts import StoredDraft
from ncu_assist.harness.exam.plan import Plan, new_plan
from ncu_assist.harness.request import Settings
from ncu_assist.suggest.drafting import Brief
from ncu_assist.suggest.proof.room import Room
from ncu_assist.suggest.proof.trial import Trial, make_trial


@dataclass(frozen=True)
class Setup:
    """One proof in its room."""

    room: Room
    brief: Brief
    stored: StoredDraft
    trial: Trial
    plan: Plan

    @property
    def workload(self) -> str:
        """The workload that is timed and profiled."""
        return self.trial.kernel.default_workload.name


def set_up(room: Room, brief: Brief, stored: StoredDraft) -> Setup:
    """Write the kernel of a proof into its room and plan the exam: from now on its questions are set.

    Raises UsageProblem for a draft that fits no version's name, DamagedData for files that were changed.
    """
    trial = make_trial(brief, stored, room.work / "trial")
    known, wish = room.project.settings, room.wish
    settings = Settings((), known.check_trials, rounds=wish.rounds or known.rounds, device=wish.device)
    plan = new_plan(trial.kernel, (trial.parent, trial.draft), settings, room.project.work, room.folders)
    room.exam.plan = plan
    return Setup(room, brief, stored, trial, plan)
