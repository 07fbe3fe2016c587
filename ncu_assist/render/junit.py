"""Gates as JUnit's XML, which CI systems show beside other tests: one suite a gate, one case a limit and workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as xml

from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, NotMeasured
from ncu_assist.errors import NcuAssistError
from ncu_assist.render.escape import one_line
from ncu_assist.render.words.gate import (
    FIRST,
    GATE_LETTERS,
    NOTHING_CHANGED,
    gate_title,
    limit_words,
    not_measured_summary,
    reason_words,
    summary,
    why_unmeasured,
    within,
    workload_words,
)

INTERVAL = "99 % interval "
NOT_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")  # beside controls, which one_line spells out


def _text(text: str, limit: int = 200) -> str:
    return one_line(text, limit).translate(NOT_XML)


def junit(judged: Gate | NotMeasured | GateSet) -> str:
    """Return gates as XML: a broken limit is a failure, what is unclear or not measured an error, as both block.

    A version that nothing is there to hold against is a case that passes, and so is that no version has changed. Names
    of cases stay the same from run to run, as CI systems tell by them what is new: what it was held against stands in
    the name of the suite.
    """
    root = xml.Element("testsuites", name="ncu-assist gate")
    for gate in judged.gates if isinstance(judged, GateSet) else (judged,):
        said = not_measured_summary(gate) if isinstance(gate, NotMeasured) else summary(gate)
        cases = _not_measured(gate) if isinstance(gate, NotMeasured) else (_case(gate, one) for one in gate.checks)
        _add(root, gate_title(gate), list(cases), said)
    if isinstance(judged, GateSet):
        for kernel, _, version in (name.partition("/") for name in judged.first):
            _add(root, f"{kernel}/{version}", [_named(kernel, version, "measured and right")], FIRST)
        if not len(root):
            _add(root, f"since {judged.since}", [_named("kernels", "all", NOTHING_CHANGED)], NOTHING_CHANGED)
    return _written(root)


def junit_of_error(error: NcuAssistError) -> str:
    """Return XML that says why nothing was judged, in place of what an earlier gate left."""
    root = xml.Element("testsuites", name="ncu-assist gate")
    case = _named("gate", "all", "judged")
    xml.SubElement(case, "error", type=type(error).__name__, message=_text(error.message, GATE_LETTERS))
    _add(root, "gate", [case], error.message)
    return _written(root)


def _written(root: xml.Element) -> str:
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _add(root: xml.Element, name: str, cases: Sequence[xml.Element], said: str) -> None:
    suite = xml.SubElement(root, "testsuite", name=_text(name, GATE_LETTERS), tests=str(len(cases)))
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
    suite.extend(cases)
    xml.SubElement(suite, "system-out").text = _text(said, GATE_LETTERS)


def _named(kernel: str, version: str, name: str) -> xml.Element:
    return xml.Element("testcase", classname=f"{_text(kernel)}.{_text(version)}", name=_text(name))


def _case(gate: Gate, check: GateCheck) -> xml.Element:
    run = gate.candidate.run
    limit = f"{check.limit.metric.key} {limit_words(check.limit)}"
    against = "" if not gate.by_window else " alone" if gate.is_alone else " against earlier runs"
    case = _named(run.kernel, run.version, f"{workload_words(check)}: {limit}{against}")
    said = ": ".join(part for part in (within(check, INTERVAL), reason_words(check)) if part)
    if check.outcome == "pass" or gate.lets_pass(check):
        xml.SubElement(case, "system-out").text = _text(said, GATE_LETTERS)
    else:
        kind = "failure" if check.outcome == "regression" else "error"
        found = xml.SubElement(case, kind, type=check.outcome, message=_text(f"{limit}: {said}", GATE_LETTERS))
        found.text = _text(f"try: {check.next}", GATE_LETTERS) if check.next else ""
    return case


def _not_measured(gate: NotMeasured) -> Iterator[xml.Element]:
    for side in gate.missing:
        case = _named(side.kernel, side.version, "runs of before" if side.since else "measured")
        message = _text(why_unmeasured(side), GATE_LETTERS)
        xml.SubElement(case, "error", type=gate.outcome, message=message).text = _text(
            f"try: {gate.next}", GATE_LETTERS
        )
        yield case
