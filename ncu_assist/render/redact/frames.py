"""A data frame without what identifies: every text of every column, the same placeholder for the same text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ncu_assist.render.redact.identity import NOBODY, Identity
from ncu_assist.render.redact.text import HOST, redact_command, redact_file, redact_mangled, redact_text

if TYPE_CHECKING:
    import pandas as pd

Redact = Callable[[str, Identity], str]

COLUMNS: dict[str, Redact] = {  # those that are not prose; any other text goes through redact_text
    "command": redact_command,
    "file": redact_file,
    "host": lambda _text, _identity: HOST,
    "mangled": redact_mangled,
}
# Words of NVIDIA's, which a user of the same name must not change, and versions, which look like addresses.
_KEPT = (
    "metric unit rule section sections kind speedup_type focus_metrics opcode memory_space memory_access "
    "compute_capability driver cuda ncu clock_control replay_mode"
)
KEPT = frozenset(_KEPT.split())
PLACEHOLDER = re.compile(r"<(\w+)>")


def redact_frame(frame: pd.DataFrame, identity: Identity = NOBODY) -> pd.DataFrame:
    """Return the frame with every text redacted: values, categories, and texts in tuples; numbers and names stay.

    Two texts of a column that differed still differ: the second is ``<path 2>/k.cu``, in the order of the originals.
    """
    changed = {
        name: _column(frame[name], COLUMNS.get(str(name), redact_text), identity)
        for name in frame.columns
        if str(name) not in KEPT and _holds_text(frame[name])
    }
    return frame.assign(**{str(name): column for name, column in changed.items()}) if changed else frame


def redacted(texts: Iterable[str], redact: Redact, identity: Identity) -> dict[str, str]:
    """Return what each text becomes; texts that differ become texts that differ."""
    found: dict[str, str] = {}
    taken: dict[str, int] = {}
    for text in sorted(set(texts)):
        short = redact(text, identity)
        taken[short] = taken.get(short, 0) + 1
        found[text] = short if taken[short] == 1 else PLACEHOLDER.sub(rf"<\1 {taken[short]}>", short, count=1)
    return found


def _holds_text(column: pd.Series[Any]) -> bool:
    import pandas as pd

    kind = column.cat.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    return bool(pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind))


def _column(column: pd.Series[Any], redact: Redact, identity: Identity) -> pd.Series[Any]:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        became = redacted(map(str, column.cat.categories), redact, identity)
        return column.cat.rename_categories(became)
    values = column.tolist()
    texts = {value for value in values if isinstance(value, str)}
    texts |= {part for value in values if isinstance(value, tuple) for part in value if isinstance(part, str)}
    became = redacted(texts, redact, identity)
    if all(became[text] == text for text in texts):
        return column
    return pd.Series([_value(value, became) for value in values], index=column.index, dtype=column.dtype)


def _value(value: Any, became: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        return tuple(became.get(part, part) for part in value)
    return became.get(value, value) if isinstance(value, str) else value
