"""All metrics of a run in one table: label, ncu's name, values, unit."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.ncu.catalogue.derived import DERIVED
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.possible import is_impossible
from ncu_assist.record import Launch
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.run_records import RawMetric, RawMetrics, Value
from ncu_assist.render.html.term import Term

BY_NAME = {name: metric for metric in CATALOGUE.values() for name in reversed(metric.names)}
ORDER = {name: place for place, name in enumerate(BY_NAME)}
NAME_LETTERS, UNIT_LETTERS = 200, 40
TEXT_LETTERS, TEXT_LETTERS_OF_SEVERAL = 40, 16  # of values that are texts: beside others there is less room
TOGETHER = (
    "all launches: counts are added up, a ratio is weighted by what it is a ratio over; empty for what launches cannot "
    "be combined in, as a ratio of different kernels"
)
IMPOSSIBLE = " (impossible)"
NOTE = "Impossible: no hardware has such a value; it is NVIDIA's own, of counters from different passes."
WHOLE = 1e6  # from here on no decimals


@dataclass(frozen=True)
class MetricRow:
    """A metric: ncu's name or our formula, the label with its meaning, values as texts, unit."""

    label: Term
    name: str
    values: tuple[str, ...]
    unit: str


@dataclass(frozen=True)
class MetricsPart:
    """The table; ``columns`` are the titles over the values, each with a longer text for the tooltip."""

    columns: tuple[Term, ...]
    rows: tuple[MetricRow, ...]
    note: str


def metrics_part(shown: Shown, raw: RawMetrics) -> MetricsPart:
    """Return every metric, those of the catalogue first, then what we derive, then ncu's others by name."""
    several = len(raw.launches) + raw.left_out > 1
    columns = [Term("together", "", TOGETHER)] if several else []
    titles = [Term(f"#{one.index}", one_line(one.kernel, 60)) for one in raw.launches] if several else [Term("value")]
    ours = [row for row in raw.rows if row.name in BY_NAME]
    ours.sort(key=lambda row: ORDER[row.name])
    others = [row for row in raw.rows if row.name not in BY_NAME]
    derived = [key for key in DERIVED if any(value is not None for value in shown.combined.of_each(key))]
    rows = (
        *(_row(row, shown, several) for row in ours),
        *(_derived(key, shown, raw.launches, several) for key in derived),
        *(_row(row, shown, several) for row in others),
    )
    note = f"{raw.left_out} shorter launches are left out; “together” is over all of them." if raw.left_out else ""
    if any(value.endswith(IMPOSSIBLE) for row in rows for value in row.values):
        note = f"{note} {NOTE}".strip()
    return MetricsPart((*columns, *titles), rows if raw.rows else (), note)


def _row(row: RawMetric, shown: Shown, several: bool) -> MetricRow:
    metric = BY_NAME.get(row.name)
    label = Term(metric.label, "", metric.meaning) if metric else Term("")
    together = (_together(row, shown),) if several else ()
    letters = TEXT_LETTERS_OF_SEVERAL if several else TEXT_LETTERS
    values = (_text(value, letters) + _remark(row.name, value) for value in row.values)
    return MetricRow(label, row.name[:NAME_LETTERS], (*together, *values), row.unit[:UNIT_LETTERS])


def _remark(name: str, value: Value) -> str:
    """Return a remark on a value that no hardware can have: it is shown, and nothing is concluded from it."""
    metric = BY_NAME.get(name)
    return IMPOSSIBLE if metric and isinstance(value, float) and is_impossible(metric, value) else ""


def _together(row: RawMetric, shown: Shown) -> str:
    metric = BY_NAME.get(row.name)
    if metric is None or metric.given:
        return _text(row.together)
    return _text(shown.combined.values[metric.key])


def _derived(key: str, shown: Shown, launches: tuple[Launch, ...], several: bool) -> MetricRow:
    derived = DERIVED[key]
    each = {one.index: own for one, own in zip(shown.combined.launches, shown.combined.of_each(key), strict=True)}
    alone = tuple(_text(each.get(one.index)) for one in launches) if several else ()
    value = _text(shown.combined.values[key])
    return MetricRow(Term(derived.label, "", derived.meaning), f"= {derived.words}", (value, *alone), derived.unit)


def _text(value: Value, letters: int = TEXT_LETTERS) -> str:
    """Return a value in its unit with six digits, whole numbers in full; texts are cut."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value, letters)
    if value == int(value) or abs(value) >= WHOLE:
        return f"{value:,.0f}"
    return f"{value:,.6g}"
