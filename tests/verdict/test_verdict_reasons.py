"""Every reason is spelled out, and what is unclear names the command that would settle it."""

from __future__ import annotations

import re
from pathlib import Path

import ncu_assist.verdict
from ncu_assist.verdict import REASONS, not_comparable

SETTLED = {
    "interval-beyond",
    "interval-inside",
    "robust-apart",
    "robust-alike",
    "robust-alike-in-time",
    "other-kernel",
    "no-common-launch",
    "other-size",
    "other-work",
    "no-result",
    "unknown-work",
    "other-passes",
}


def test_every_reason_is_spelled_out() -> None:
    for code, reason in REASONS.items():
        assert reason.meaning
        assert "{" not in reason.command.format(kernel="k", baseline="v1", candidate="v2"), code
        assert (code in SETTLED) == (reason.command == ""), code
    assert not_comparable("other-device").reason in REASONS


def test_every_reason_that_a_rule_gives_is_known() -> None:
    sources = "".join(path.read_text() for path in Path(ncu_assist.verdict.__file__).parent.glob("*.py"))
    code = '"(?!not-comparable)([a-z]+(?:-[a-z]+)+)"'
    given = re.findall(rf'(?:"(?:unclear|same|faster|slower)"|gap), {code}|unclear\({code}\)', sources)
    codes = {code for found in given for code in found if code}
    assert {"robust-apart", "no-samples", "interval-across", "clocks-disagree", "too-few-samples"} <= codes
    assert codes <= set(REASONS)
