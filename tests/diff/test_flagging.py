"""What got worse explains a slowdown that is known, or stands beside a speed-up that is known; else neither."""

from __future__ import annotations

from typing import get_args

import pytest
from factories import STALL, launch, make_run, metrics_frame

from ncu_assist.diff import Change, Role, flags_heading
from ncu_assist.diff.changes import changes
from ncu_assist.diff.flagging import TELLINGS, flags, with_roles
from ncu_assist.frame import Combined, combine
from ncu_assist.ncu.catalogue.derived import STALL_SHARES
from ncu_assist.verdict import Verdict, Word, compare_durations, not_comparable

WORSE = Change("sm_throughput", "Compute (SM) Throughput", "%", 70.0, 50.0, -20.0, "regressed")


def verdict(word: Word) -> Verdict:
    return Verdict(word, None, "interval-beyond", 1.0, 1.0, 1.0, 100)


@pytest.mark.parametrize(
    ("word", "role"),
    [("slower", "explains"), ("faster", "side-effect"), ("same", "undecided"), ("unclear", "undecided")],
)
def test_the_role_follows_the_verdict(word: Word, role: Role) -> None:
    (told,) = with_roles((WORSE,), verdict(word))
    assert told.role == role
    (flag,) = flags((told,), verdict(word))
    assert flag.role == role
    assert flag.message.startswith("Compute (SM) Throughput fell from 70.0 % to 50.0 %: ")
    assert ("explains" in flag.message, "side effect" in flag.message) == (word == "slower", word == "faster")
    heading = flags_heading(verdict(word))
    assert ("explains" in heading, "side effect" in heading) == (word == "slower", word == "faster")


def test_what_is_only_likely_explains_nothing() -> None:
    for likely in (compare_durations(100.0, 300.0), compare_durations(300.0, 100.0)):
        assert likely.likely
        assert {change.role for change in with_roles((WORSE,), likely)} == {"undecided"}


def test_every_verdict_has_words_but_the_one_that_has_no_flags() -> None:
    assert set(get_args(Word)) - set(TELLINGS) == {"not-comparable"}
    assert flags_heading(not_comparable("other-device")) == ""


def test_the_catalogue_says_which_way_a_stall_is_better() -> None:
    reasons = ("long_scoreboard", "not_selected", "a_new_one")

    def side(*warps: float) -> Combined:
        named = {STALL.format(reason): value for reason, value in zip(reasons, warps, strict=True)}
        return combine(make_run(launches=(launch(),)), metrics_frame({STALL.format("barrier"): 0.0, **named}), None)

    words = {change.metric: change.verdict for change in changes(side(1.0, 8.0, 1.0), side(4.0, 20.0, 9.0))}
    less = {change.metric: change.verdict for change in changes(side(4.0, 20.0, 9.0), side(1.0, 8.0, 1.0))}
    for reason in reasons:
        row = STALL_SHARES.get(f"stall_{reason}")
        better = row.better if row else None
        told = {words[f"stall_{reason}"], less[f"stall_{reason}"]}
        assert told == ({"improved", "regressed"} if better else {"changed"}), reason
