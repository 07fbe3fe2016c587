"""The columns of the instructions of launches: what they are, where they come from, what they counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.source.contents import NO_LINE, LaunchSource
from ncu_assist.ncu.source.metrics import ACCESS, ACCESS_BITS, ACCESSES, SPACE, SPACES, spelled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Array = np.ndarray[Any, Any]

KIND_COLUMNS = ("memory_space", "memory_access", "memory_access_bits")
OPCODE = re.compile(r"(?:@\S+\s+)?(\S+)")  # what follows the predicate in '@!P0 LDG.E.128 R4, …'


def code_columns(launches: Sequence[LaunchSource]) -> dict[str, Any]:
    """Return the columns that say which instruction of which launch a row is."""
    import numpy as np
    import pandas as pd

    sizes = [one.values.shape[1] for one in launches]
    functions = [function for one in launches for function in one.functions]
    address = _joined((np.array(each.each_address(), dtype=np.uint64) for each in functions), np.uint64)
    base = np.repeat(
        np.array([each.base for each in functions], dtype=np.uint64), [len(each.sass) for each in functions]
    )
    sass = [text for each in functions for text in each.sass]
    opcode = {text: _opcode(text) for text in set(sass)}
    files = {id(one.files): [*(file.name for file in one.files), None] for one in launches}  # NO_FILE is the last
    names = [(function, files[id(one.files)]) for one in launches for function in one.functions]
    return {
        "launch": np.repeat(np.array([one.launch for one in launches], dtype=np.int32), sizes),
        "kernel": pd.Categorical(np.repeat(np.array([one.kernel for one in launches], dtype=object), sizes)),
        "offset": (address - base).astype(np.int64),
        "address": address,
        "sass": pd.Series([text or None for text in sass], dtype=object),
        "opcode": pd.Categorical(_objects(opcode[text] for text in sass)),
        "file": pd.Categorical(_objects(own[number] for each, own in names for number in each.files)),
        "line": _whole(_joined((np.array(each.lines, dtype=np.int32) for each in functions), np.int32), absent=NO_LINE),
    }


def chains(launches: Sequence[LaunchSource]) -> pd.Series[Any]:
    """Return of each instruction its file and line, then those of the calls that it was inlined through, outwards.

    None where the report does not say.
    """
    import pandas as pd

    functions = (function for one in launches for function in one.functions)
    found = [chain for each in functions for chain in each.chains or [None] * len(each.sass)]
    return pd.Series(found, dtype=object)


def counter(launches: Sequence[LaunchSource], metric: str) -> Array:
    """Return a metric of each instruction, NaN in launches that do not have it."""
    import numpy as np

    def of(one: LaunchSource) -> Array:
        if metric in one.metrics:
            row: Array = one.values[one.metrics.index(metric)]
            return row
        return np.full(one.values.shape[1], np.nan)

    return _joined((of(one) for one in launches), np.float64)


def kind_columns(launches: Sequence[LaunchSource]) -> dict[str, Any]:
    """Return what each instruction does to which memory, NA where it accesses none."""
    import numpy as np
    import pandas as pd

    def words(metric: str, known: dict[int, str]) -> pd.Categorical:
        bits = np.nan_to_num(counter(launches, metric)).astype(np.int64)
        found, place = np.unique(bits, return_inverse=True)
        return pd.Categorical(np.array([spelled(int(each), known) for each in found], dtype=object)[place])

    size = _whole(np.nan_to_num(counter(launches, ACCESS_BITS)).astype(np.int32), absent=0)
    return dict(zip(KIND_COLUMNS, (words(SPACE, SPACES), words(ACCESS, ACCESSES), size), strict=True))


def _opcode(sass: str) -> str | None:
    match = OPCODE.match(sass)
    return match.group(1) if match else None


def _whole(values: Array, absent: int) -> pd.api.extensions.ExtensionArray:
    """Return integers as a nullable column; ``absent`` becomes NA."""
    import pandas as pd

    return pd.arrays.IntegerArray(values, values == absent)


def _objects(values: Iterable[Any]) -> Array:
    import numpy as np

    return np.array(list(values), dtype=object)


def _joined(parts: Iterable[Array], dtype: Any) -> Array:
    """Return arrays as one of this type, an empty one for none."""
    import numpy as np

    return np.concatenate([np.empty(0, dtype=dtype), *parts])
