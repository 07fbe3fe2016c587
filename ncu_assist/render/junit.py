"""Gates as JUnit's XML, which CI systems show beside other tests: one suite a gate, one case a limit and workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as xml

from ncu_assist.analysis.gate import Gate, GateCheck, NotMeasured
from ncu_assist.render.escape import one_line
from ncu_assist.render.words.gate import (
    GATE_LETTERS,
    gate_title,
    limit_words,
    moved,
    not_measured_summary,
    reason_words,
    summary,
    why_unmeasured,
    workload_words,
)

NOT_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")  # beside controls, which one_line spells out


def _text(text: str, limit: int = 200) -> str:
    return one_line(text, limit).translate(NOT_XML)


def junit(gates: Sequence[Gate | NotMeasured]) -> str:
    """Return gates as XML: a broken limit is a failure, what is unclear or not measured an error, as both block."""
    root = xml.Element("testsuites", name="ncu-assist gate")
    for gate in gates:
        suite = xml.SubElement(root, "testsuite", name=_text(gate_title(gate), GATE_LETTERS))
        cases = (
            list(_not_measured(gate)) if isinstance(gate, NotMeasured) else [_case(gate, one) for one in gate.checks]
        )
        suite.extend(cases)
        suite.set("tests", str(len(cases)))
        for kind in ("failure", "error"):
            suite.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
        said = not_measured_summary(gate) if isinstance(gate, NotMeasured) else summary(gate)
        xml.SubElement(suite, "system-out").text = _text(said, GATE_LETTERS)
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _case(gate: Gate, check: GateCheck) -> xml.Element:
    run = gate.candidate.run
    limit = f"{check.limit.metric.key} {limit_words(check.limit)}"
    case = xml.Element("testcase", classname=f"{_text(run.kernel)}.{_text(run.version)}")
    case.set("name", _text(f"{workload_words(check)}: {limit} against {gate_title(gate).partition(' against ')[2]}"))
    if check.outcome != "pass":
        kind = "failure" if check.outcome == "regression" else "error"
        said = ": ".join(part for part in (moved(check), reason_words(check)) if part)
        found = xml.SubElement(case, kind, type=check.outcome, message=_text(f"{limit}: {said}", GATE_LETTERS))
        found.text = _text(f"try: {check.next}", GATE_LETTERS) if check.next else ""
    return case


def _not_measured(gate: NotMeasured) -> Iterator[xml.Element]:
    for side in gate.missing:
        case = xml.Element("testcase", classname=f"{_text(side.kernel)}.{_text(side.version)}", name="measured")
        message = _text(why_unmeasured(side), GATE_LETTERS)
        xml.SubElement(case, "error", type=gate.outcome, message=message).text = _text(
            f"try: {gate.next}", GATE_LETTERS
        )
        yield case
