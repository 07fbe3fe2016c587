"""The columns of the instructions of launches: what they are, where they come from, what they counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.source.contents import INSTRUCTION_BYTES, NO_FILE, NO_LINE, Function, LaunchSource, SourceFile
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

    known = _rows(launches)
    rows = [known[id(function), id(one.files)] for one in launches for function in one.functions]
    sizes = [one.values.shape[1] for one in launches]
    return {
        "launch": np.repeat(np.array([one.launch for one in launches], dtype=np.int32), sizes),
        "kernel": pd.Categorical(np.repeat(np.array([one.kernel for one in launches], dtype=object), sizes)),
        "offset": _joined((each.offset for each in rows), np.int64),
        "address": _joined((each.address for each in rows), np.uint64),
        "sass": pd.Series(_joined((each.sass for each in rows), object), dtype=object),
        "opcode": pd.Categorical(_joined((each.opcode for each in rows), object)),
        "file": pd.Categorical(_joined((each.file for each in rows), object)),
        "line": _whole(_joined((each.line for each in rows), np.int32), absent=NO_LINE),
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


@dataclass(frozen=True)
class _Rows:
    """The rows of a function; launches share them."""

    offset: Array
    address: Array
    sass: Array
    opcode: Array
    file: Array
    line: Array


def _rows(launches: Sequence[LaunchSource]) -> dict[tuple[int, int], _Rows]:
    """Return the rows of each function once, by its identity: child processes number files each for themselves."""
    found: dict[tuple[int, int], _Rows] = {}
    for one in launches:
        for function in one.functions:
            key = id(function), id(one.files)
            if key not in found:
                found[key] = _rows_of(function, one.files)
    return found


def _rows_of(function: Function, files: Sequence[SourceFile]) -> _Rows:
    import numpy as np

    address = np.arange(len(function.sass), dtype=np.uint64) * np.uint64(INSTRUCTION_BYTES) + np.uint64(function.start)
    return _Rows(
        offset=(address - np.uint64(function.base)).astype(np.int64),
        address=address,
        sass=_objects(text or None for text in function.sass),
        opcode=_objects(_opcode(text) for text in function.sass),
        file=_objects(None if number == NO_FILE else files[number].name for number in function.files),
        line=np.array(function.lines, dtype=np.int32),
    )


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
