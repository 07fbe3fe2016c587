"""The instructions of some launches of a report, with what each cost and the text of its source line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ncu_assist.ncu.line_sums import sample_weights
from ncu_assist.ncu.report import Report
from ncu_assist.ncu.source.metrics import SAMPLES, STALL_COLUMN
from ncu_assist.ncu.source.reading import SourceTables

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Code:
    """``sass`` as Report.sass has it, samples by time; ``texts``: source lines by file and number, where imported.

    Its column chain, which tables made of other things may lack, is that of ``SourceTables.chains``.
    """

    sass: pd.DataFrame = field(repr=False)
    texts: Mapping[tuple[str, int], str] = field(repr=False)

    def of(self, launches: Sequence[int]) -> Code:
        """Return the code of some launches alone."""
        return replace(self, sass=self.sass[self.sass["launch"].isin(launches)])


def read_code(report: Report, launches: Sequence[int]) -> Code | None:
    """Return the code of these launches; None where the report has none. Raises DamagedData as ``Report.source``."""
    return None if report.lossy or not launches else code_of(report, launches, report.source(launches))


def code_of(
    report: Report, launches: Sequence[int], tables: SourceTables, numbers: Sequence[int] | None = None
) -> Code | None:
    """Return the code of launches whose source was read; None where the report has none.

    ``numbers`` are what the launches of the report are called, their place by default.
    """
    sass = tables.sass.assign(chain=tables.chains)
    weights = sample_weights(report, sass)
    sampled = [name for name in map(str, sass) if name == SAMPLES or name.startswith(STALL_COLUMN)]
    sass = sass.assign(**{name: sass[name] * weights for name in sampled})
    if numbers is not None:
        sass = sass.assign(launch=sass["launch"].map(dict(enumerate(numbers))))
    return Code(sass, _texts(tables)) if len(sass) else None


def _texts(tables: SourceTables) -> dict[tuple[str, int], str]:
    """Return the text of each line that ncu names, and of those that call what is inlined."""
    known = tables.lines[tables.lines["source"].notna()]
    named = zip(known["file"], known["line"], known["source"], strict=True)
    texts = {(str(file), int(line)): str(text) for file, line, text in named}
    callers = {line for chain in set(tables.chains) if chain for line in chain} - texts.keys()
    files = {file: tables.texts[file].split("\n") for file in {file for file, _ in callers} if file in tables.texts}
    inside = ((file, line) for file, line in callers if 0 < line <= len(files.get(file, ())))
    return texts | {(file, line): files[file][line - 1].removesuffix("\r") for file, line in inside}
