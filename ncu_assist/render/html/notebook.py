"""What a notebook shows of a run or of a diff: the answer of its page, as a box."""

from __future__ import annotations

from markupsafe import escape

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.history import History
from ncu_assist.analysis.ladder import KernelOutcome, LadderCell
from ncu_assist.analysis.run_view import RunView
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.answer import AnswerRow, answer_rows
from ncu_assist.render.html.page import fragment
from ncu_assist.render.html.run_verdict import answer_sentence
from ncu_assist.render.words.changes import flags_by_role
from ncu_assist.render.words.floors import floor_words, library_sentence
from ncu_assist.render.words.history import bound_by, history_title, time_of
from ncu_assist.render.words.terms import against
from ncu_assist.render.words.verdicts import factor, kernels_and_origins, names, verdict_line
from ncu_assist.render.words.why import why_lines
from ncu_assist.verdict import REASONS
from ncu_assist.versions import short_name

WIDTH, FLAGS, REASON = 120, 3, 300


def run_box(shown: RunView) -> str:
    """Return the answer of a run, or of the launch that details are of, as HTML for a notebook."""
    title, sentence = one_line(shown.reference), answer_sentence(shown)
    return _box(title, sentence, answer_rows(shown, lambda file, line: ""))


def diff_box(diff: Diff) -> str:
    """Return which of two runs is faster, and why, as HTML for a notebook."""
    both = names(diff)
    reasons = why_lines(diff.why, diff.lines, both, WIDTH)
    flags = [AnswerRow(heading, "; ".join(said[:FLAGS])) for heading, _, said in flags_by_role(diff) if said]
    rows = [
        AnswerRow("Compared", kernels_and_origins(diff)),
        AnswerRow("Decided by", REASONS[diff.verdict.reason].meaning),
        *(AnswerRow("" if place else "Why", line.strip()) for place, line in enumerate(reasons)),
        *flags,
    ]
    return _box(" against ".join(reversed(both)), verdict_line(diff, WIDTH), tuple(rows))


def outcome_box(outcome: KernelOutcome) -> str:
    """Return what each version of a kernel came to, as HTML for a notebook: a row a version and workload."""
    rows, several = [], len(outcome.workloads) > 1
    for version in outcome.versions:
        cells = [cell for cell in outcome.cells(version) if cell.row and cell.row.timing]
        for place, cell in enumerate(cells):
            words = [f"{one_line(cell.workload)}:"] if several else []
            rows.append(AnswerRow("" if place else one_line(version.version), " ".join([*words, _cell(cell)])))
        if version.failure or not cells:
            why = version.failure or version.skipped or outcome.status(version)
            rows.append(AnswerRow("" if cells else one_line(version.version), one_line(why, REASON)))
    said = "; ".join(verdict_line(diff, WIDTH) for diff in outcome.diffs[:FLAGS])
    newest = f" on {one_line(outcome.newest.gpu or '')}" if outcome.newest and outcome.newest.gpu else ""
    return _box(f"{one_line(outcome.kernel)}{newest}", said, tuple(rows))


def history_box(history: History) -> str:
    """Return how a kernel got faster, as HTML for a notebook: a row a version, on the workload shown."""
    rows = []
    for row in history.rows:
        cell = history.cell(row)
        words = [time_of(row, cell)]
        if cell.verdict and cell.before:
            words.append(f"{against(cell.verdict)} against {short_name(one_line(cell.before))}")
        if cell.bottleneck:
            words.append(f"bound by {bound_by(cell)}")
        rows.append(AnswerRow(one_line(row.version), ", ".join(words)))
    on = next((one for one in history.against_library if one.workload == history.shown), None)
    said = library_sentence(on) or f"{len(history.rows)} versions"
    return _box(one_line(history_title(history)), said, tuple(rows))


def text_box(text: str) -> str:
    """Return what a terminal shows, as HTML for a notebook."""
    return f'<pre style="line-height: 1.2; overflow-x: auto">{escape(text)}</pre>'


def _cell(cell: LadderCell) -> str:
    row = cell.row
    assert row is not None
    assert row.timing is not None
    words = [duration(row.timing.median_ns)]
    if cell.speedup is not None:
        words.append(f"{factor(cell.speedup)} against v0")
    floor = floor_words(row)
    if floor:
        words.append(f"floor: {floor}")
    return ", ".join(words)


def _box(title: str, sentence: str, rows: tuple[AnswerRow, ...]) -> str:
    return fragment("notebook.html.j2", title=title, sentence=sentence, rows=rows)
