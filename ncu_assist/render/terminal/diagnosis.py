"""What is wrong with a kernel on a terminal: our findings with their evidence and lines, hot lines, NVIDIA's rules."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.lines import base_name
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import percent, quantity
from ncu_assist.render.escape import one_line, whole_clauses
from ncu_assist.render.terminal.style import NARROWEST, styled
from ncu_assist.render.words.values import evidence_value
from ncu_assist.render.words.verdicts import estimated
from ncu_assist.render.words.why import stall_words

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.analysis.run_view import RunView
    from ncu_assist.ncu.line_sums import HotSpots, LineCost
    from ncu_assist.ncu.report import NvidiaFinding
    from ncu_assist.rules.model.diagnosis import Ranked
    from ncu_assist.rules.model.of_run import RuleResults
    from ncu_assist.rules.model.places import Place

MOST_FURTHER = 4  # further findings
MESSAGE_LETTERS = 1000  # letters: what a rule says fits, and breaks into lines
PLACE_WIDTH = 30  # columns for the name of a file
GUESS = "(guess) "  # before the text of a line: code of a library, and the report does not say who calls it


def diagnosis_lines(results: RuleResults, width: int = NARROWEST) -> list[str]:
    """Return the diagnosis with its source lines, further findings, what could not be answered and what misleads."""
    diagnosis = results.diagnosis
    if diagnosis.first is None:
        return []
    further = diagnosis.further
    lines = [f"Diagnosis{_of_kernel(results)}: {_first_title(results)}", *_first_lines(diagnosis.first, results, width)]
    for one in further[:MOST_FURTHER]:
        lines += [
            f"also {_heading(one)}: {_message(one, results)}",
            *(_place_line(place, width) for place in one.places[:1]),
        ]
    if len(further) > MOST_FURTHER:
        lines.append(f"and {len(further) - MOST_FURTHER} more findings above info: --json has them")
    lines += [f"together: {results.joint.words}"] if results.joint else []
    remarks = ", ".join(_name(one) for one in diagnosis.remarks)
    lines += [f"remarks: {remarks}"] if remarks else []
    return [*lines, *(f"warning {id}: {one_line(sentence, 1000)}" for id, sentence in results.warnings.items())]


def brief_diagnosis(results: RuleResults, letters: int) -> list[str]:
    """Return the diagnosis in a few lines: its name, what to try, where, what it rests on; and what else was found."""
    first = results.diagnosis.first
    if first is None:
        return []
    lines = [f"Diagnosis{_of_kernel(results)}: {_first_title(results)}"]
    lines += [_advice(first, letters)] if first.finding.advice else []
    lines += [_place_line(place, NARROWEST) for place in first.places[:1]]
    lines.append(f"  {whole_clauses(_message(first, results), letters)}")
    others = ", ".join(_name(one) for one in results.diagnosis.further)
    lines += [f"also: {others}"] if others else []
    return [*lines, *(f"warning: {id}" for id in results.warnings)]


EDITOR_WORDS: dict[str, str] = {"high": "warning", "medium": "warning", "low": "info", "info": "info"}


def problem_lines(shown: RunView, files: Mapping[str, str]) -> list[str]:
    """Return a line a finding and place, for editors: ``file:line: severity: finding (share)``.

    ``files`` are paths by the name of a file; one that is not among them is told as the report has it. A finding
    without a place stands at line 1 of the version's own file, and nowhere where that is not there.
    """
    found: dict[tuple[str, int, str], str] = {}
    own = next((path for name, path in files.items() if PurePath(name).stem == shown.run.version), None)
    for results in [row.results for row in shown.launches_shown if row.results]:
        for one in results.diagnosis.findings:
            won = "" if one.severity == "info" else f", {estimated(one.estimated_speedup, one.finding.assumed)}"
            advice = f"; {one_line(one.finding.full_advice, MESSAGE_LETTERS)}" if one.finding.advice else ""
            says = f"{EDITOR_WORDS[one.severity]}: {_name(one)}: {_message(one, results)}{advice}"
            places = [place for place in one.places if place.file and place.line]
            for place in places:
                path = files.get(base_name(place.file or ""), place.file or "")
                key = (one_line(path, MESSAGE_LETTERS), place.line or 1, _name(one))
                found.setdefault(key, f"{says} ({percent(place.share)} of it{won})")
            if not places and own is not None:
                found.setdefault((one_line(own, MESSAGE_LETTERS), 1, _name(one)), f"{says} (of the kernel{won})")
    return [f"{path}:{line}: {says}" for (path, line, _), says in found.items()]


def _of_kernel(results: RuleResults) -> str:
    """Return the kernel that a diagnosis is of, with its part of the time, where it is not of all launches."""
    part = results.part
    if part is None:
        return ""
    share = "" if part.share is None else f", {percent(part.share)} of the time"
    return f" of {one_line(part.name, 60)} ({part.launches} of {part.of_launches} launches{share})"


def _first_title(results: RuleResults) -> str:
    first = results.diagnosis.first
    if first is None or results.diagnosis.lacks_counters:
        return "none, for lack of counters"
    return _heading(first)


def _first_lines(first: Ranked, results: RuleResults, width: int) -> Iterator[str]:
    if first.finding.advice:
        yield _advice(first, MESSAGE_LETTERS)
    yield from (_place_line(place, width) for place in first.places)
    yield f"  {_message(first, results)}"
    yield from (f"  {text}" for text in _evidence(first, results))
    if not results.diagnosis.lacks_counters:
        yield f"  more on it: ncu-assist explain {first.finding.rule}"


def _advice(first: Ranked, letters: int) -> str:
    """Return what to do about a finding; of a kernel that is done it is no advice, but what would be left."""
    is_done = first.severity == "info" and first.finding.is_done
    return f"  {'next' if is_done else 'try'}: {whole_clauses(first.finding.full_advice, letters)}"


def _message(ranked: Ranked, results: RuleResults) -> str:
    where = results.where(ranked.finding)
    return one_line(ranked.finding.message, MESSAGE_LETTERS) + (f" (in {one_line(where, 100)})" if where else "")


def _heading(ranked: Ranked) -> str:
    is_assumed = ranked.finding.assumed
    if ranked.severity == "info":
        return f"{_name(ranked)}, {ranked.severity}{', assumed' if is_assumed else ''}"
    return f"{_name(ranked)}, {estimated(ranked.estimated_speedup, is_assumed)}"


def _name(ranked: Ranked) -> str:
    return ranked.finding.rule + "".join(f" ({value})" for value in ranked.finding.detail.values())


def _place_line(place: Place, width: int) -> str:
    name = f"{one_line(PurePath(place.file).name, PLACE_WIDTH)}:{place.line}  " if place.file else ""
    guess = GUESS if place.is_guess else ""
    start = f"  {name}{percent(place.share)}  {guess}"
    return (start + one_line((place.text or "").strip(), max(1, width - len(start)))).rstrip()


def _evidence(ranked: Ranked, results: RuleResults) -> list[str]:
    facts = results.about(ranked.finding)
    known = [(key, value) for key in ranked.finding.evidence if (value := facts.get(key)) is not None]
    return [
        f"{ROWS[key].label} {evidence_value(value, ROWS[key].unit, facts.is_approximate(key))}" for key, value in known
    ]


INDENT = "    "
FEW_SAMPLES = 100  # of which a share of a half strays by 5 points
HOT_PLACE_WIDTH = 30  # columns for file:line; of a longer name the end is shown


def hot_lines_text(spots: HotSpots, width: int, launch: int | None = None) -> list[RenderableType]:
    """Return the lines, each with its source text below it; or the note why there are none.

    ``launch`` is the one that they are of, None for the longest.
    """
    if not spots.lines:
        return [styled(""), styled(f"note: {spots.note}")] if spots.note else []
    parts: list[RenderableType] = [styled(""), styled(_lines_title(spots, launch), "bold")]
    for line in spots.lines:
        parts += [styled(_hot_line(line))]
        parts += [styled(INDENT + one_line(line.text, width - len(INDENT)), "dim")] if line.text else []
    return parts


def _lines_title(spots: HotSpots, launch: int | None) -> str:
    counted = sum(line.samples for line in spots.lines) / max(sum(line.share for line in spots.lines), 1e-9)
    few = f", of about {counted:.0f} only: rough" if counted < FEW_SAMPLES else ""
    title = f"Hottest source lines: share of warp samples{few}, top stall"
    if launch is not None:
        return f"{title} (launch {launch})"
    return title + (f" ({spots.launches_read} longest launches)" if spots.launches_read < spots.launches else "")


def _hot_line(line: LineCost) -> str:
    parts = [f"{100 * line.share:5.1f} %  {_file_and_line(line)}"]
    barrier = (line.barrier_file, line.barrier_line or 0) if line.barrier_file else None
    parts += [stall_words(line.stall, line.text, barrier, line.file)] if line.stall else []
    parts += [
        f"{quantity(excess, '')} excess {what}"
        for what, excess in (("sectors", line.sectors_excessive), ("wavefronts", line.wavefronts_excessive))
        if excess
    ]
    return ", ".join(parts)


def _file_and_line(line: LineCost) -> str:
    place = f"{one_line(PurePath(line.file).name)}:{line.line}"
    return place if len(place) <= HOT_PLACE_WIDTH else f"…{place[1 - HOT_PLACE_WIDTH :]}"


NVIDIA_TITLE = "NVIDIA's rules: global is time of the launch that a fix may save, local is of one unit alone"
LEAST_PCT = 1.0  # an estimate below it is no advice
NVIDIA_INDENT = "    "
NVIDIA_LETTERS = 600  # letters


def nvidia_text(findings: Sequence[NvidiaFinding], launches: int, width: int) -> list[RenderableType]:
    """Return each rule with its estimate and message, those worth next to nothing left out; a line if none is left."""
    parts: list[RenderableType] = [styled(""), styled(NVIDIA_TITLE, "bold")]
    worth = [one for one in findings if one.speedup_pct is None or one.speedup_pct >= LEAST_PCT]
    for finding in worth:
        parts.append(styled(_nvidia_heading(finding, launches)))
        results = one_line(finding.message, NVIDIA_LETTERS)
        parts += [
            styled(line, "dim")
            for line in textwrap.wrap(
                results, width - len(NVIDIA_INDENT), initial_indent=NVIDIA_INDENT, subsequent_indent=NVIDIA_INDENT
            )
        ]
    return parts if worth else [*parts, styled("none has any advice")]


def _nvidia_heading(finding: NvidiaFinding, launches: int) -> str:
    gain = "no estimate" if finding.speedup_pct is None else f"{finding.speedup_pct:.0f} % {finding.speedup_type or ''}"
    where = f", {one_line(finding.kernel, 24)} ({finding.launches} of {launches} launches)" if launches > 1 else ""
    rule = "" if finding.rule in ("", finding.title) else f" ({one_line(finding.rule, 40)})"
    return f"{one_line(finding.title, 60)}{rule}: {gain.strip()}{where}"
