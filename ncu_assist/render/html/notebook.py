"""What a notebook shows of a run or of a diff: the answer of its page, as a box."""

from __future__ import annotations

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.run_view import RunView
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.answer import AnswerRow, answer_rows
from ncu_assist.render.html.page import fragment
from ncu_assist.render.html.run_verdict import answer_sentence
from ncu_assist.render.words.changes import flags_by_role
from ncu_assist.render.words.verdicts import kernels_and_origins, names, verdict_line
from ncu_assist.render.words.why import why_lines
from ncu_assist.verdict import REASONS

WIDTH, FLAGS = 120, 3


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


def _box(title: str, sentence: str, rows: tuple[AnswerRow, ...]) -> str:
    return fragment("notebook.html.j2", title=title, sentence=sentence, rows=rows)
