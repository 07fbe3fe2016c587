"""Findings with the source lines that they blame, where the code of the launches was read."""

from __future__ import annotations

from dataclasses import replace

from ncu_assist.ncu.code import Code
from ncu_assist.rules.diagnosis import UNEXPLAINED, Ranked
from ncu_assist.rules.inlined import own_lines
from ncu_assist.rules.of_run import Told
from ncu_assist.rules.places import places


def located(told: Told | None, code: Code | None) -> Told | None:
    """Return what was told with the lines of each finding that some lines are to blame for; as it is without code."""
    if told is None or code is None:
        return told
    read = code.of([one.index for one in told.facts.combined.launches])
    own = replace(read, sass=own_lines(read)) if len(read.sass) else read
    findings = tuple(_located(one, told, own) for one in told.diagnosis.findings)
    return replace(told, diagnosis=replace(told.diagnosis, findings=findings))


def blames_lines(ranked: Ranked) -> bool:
    """Tell whether some lines are to blame for a finding.

    Not for remarks, nor where a kernel is done or not explained, nor for what is about the launch as a whole, such as
    its tail: that holds for every line.
    """
    finding = ranked.finding
    if ranked.severity == "info" or finding.rule == UNEXPLAINED:
        return False
    return finding.waste != "samples" or bool(finding.stalls)


def _located(ranked: Ranked, told: Told, own: Code) -> Ranked:
    if not blames_lines(ranked):
        return ranked
    some = [one.index for one in told.about(ranked.finding).combined.launches]
    return replace(ranked, places=places(ranked.finding, own.of(some), owned=True))
