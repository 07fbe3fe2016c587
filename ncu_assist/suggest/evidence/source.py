"""The parent's code by line, with what the profiler says of its hot lines."""

from __future__ import annotations

from ncu_assist.render.facts import CloseLook
from ncu_assist.suggest.evidence.cleaning import Cleaner
from ncu_assist.suggest.evidence.margins import margins_of
from ncu_assist.suggest.evidence.records import Margin, SourceText

NO_CODE = "the run keeps no report, so nothing is known of single lines"
NO_LINES = "the report knows no line of this file: its time is in code without line numbers, or in libraries"


def source_of(sources: dict[str, str], close: CloseLook, clean: Cleaner) -> SourceText:
    """Return the code of a version, its own file first in ``sources``, redacted line by line."""
    (file, text), *others = sources.items()
    lines, margins = clean.code(text), _margins(close, file)
    return SourceText(
        file=file,
        lines=lines,
        margins=margins,
        about_margins="" if margins else (close.note or NO_CODE if close.code is None else NO_LINES),
        includes=tuple((name, "\n".join(clean.code(own))) for name, own in others),
        redacted=_redacted(text, lines),
    )


def _margins(close: CloseLook, file: str) -> tuple[Margin, ...]:
    return margins_of(close.code, file) if close.code is not None else ()


def _redacted(text: str, lines: tuple[str, ...]) -> int:
    """Return how many lines do not stand in the prompt as they stand in the file."""
    return sum(one.removesuffix("\r") != other for one, other in zip(text.split("\n"), lines, strict=False))
