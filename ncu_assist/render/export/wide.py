"""The wide table: a row a launch, a column a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def wide(facts: pd.DataFrame, metrics: pd.DataFrame, order: list[str] | None = None) -> pd.DataFrame:
    """Return ``facts`` (a row a launch, with a column ``launch``) followed by a column for each metric.

    ``order`` names the metrics and their order; None takes all: numbers by name, then texts by name. A metric that is
    a text in any launch is a column of texts; absent is NaN or None.
    """
    import numpy as np
    import pandas as pd

    rows = pd.Index(facts["launch"]).get_indexer(metrics["launch"])
    metrics, rows = metrics[rows >= 0], rows[rows >= 0]
    coded = metrics["metric"].astype("category").cat.remove_unused_categories().cat
    names = list(map(str, coded.categories))
    numbers = np.full((len(facts), len(names)), np.nan)
    numbers[rows, coded.codes.to_numpy()] = metrics["value"].to_numpy(dtype="float64")
    by_code = _texts(metrics["text"], rows, coded.codes.to_numpy(), numbers)
    texts = {names[code]: column for code, column in by_code.items()}
    listed = order or [*sorted(set(names) - set(texts)), *sorted(texts)]
    place = {name: i for i, name in enumerate(names)}
    columns = {name: texts[name] if name in texts else _numbers(numbers, place.get(name)) for name in listed}
    return pd.concat([facts.reset_index(drop=True), pd.DataFrame(columns)], axis=1)


def _numbers(numbers: Any, column: int | None) -> Any:
    """Return a column; of a derived metric that no launch has, NaN."""
    import numpy as np

    return np.full(len(numbers), np.nan) if column is None else numbers[:, column]


def _texts(texts: pd.Series[Any], rows: Any, codes: Any, numbers: Any) -> dict[int, Any]:
    """Return the columns of metrics that are texts by code, numbers among them as they are written in CSV."""
    import pandas as pd

    given = texts.notna().to_numpy()
    columns: dict[int, list[str | None]] = {}
    for row, code, text in zip(rows[given], codes[given], texts.to_numpy(dtype=object)[given], strict=True):
        if code not in columns:
            columns[code] = [None if value != value else repr(value) for value in numbers[:, code].tolist()]
        columns[code][row] = text
    return {code: pd.Series(column, dtype=object) for code, column in columns.items()}
