"""The code of launches and its counters as data frames: a row for each instruction, a row for each source line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.catalogue.stalls import BOOKED_AS, CLUSTER_BARRIER, MBARRIER, WGMMA
from ncu_assist.ncu.source.contents import (
    ACCESS,
    ACCESS_BITS,
    ACCESSES,
    COUNTERS,
    NO_FILE,
    NO_LINE,
    NOT_ISSUED,
    NUMBERS,
    RATIOS,
    SAMPLES,
    SAMPLES_NOT_ISSUED,
    SPACE,
    SPACES,
    STALL_COLUMN,
    LaunchSource,
    SourceFile,
    spelled,
    stall_columns,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Array = np.ndarray[Any, Any]


TRIED = re.compile(r"SYNCS\.PHASECHK\S*\s+(U?P\d)\b")
AT_ONCE = {"WARPGROUP.DEPBAR": WGMMA, "UCGABAR_WAIT": CLUSTER_BARRIER}
HEAD = re.compile(r"\s*(?:@!?U?P\w+\s+)?((?:WARPGROUP\.\w+)|UCGABAR_WAIT)")
MARKS = ("SYNCS.PHASECHK", "WARPGROUP.", "UCGABAR_WAIT")  # code without these has nothing of it
WITHIN = 24  # instructions behind one that tries, where its outcome is looked at: 1 to 10 were seen


def awaited(texts: Sequence[str | None]) -> dict[int, str]:
    """Return what a warp at an instruction waits for, by place, where ncu's reason has another meaning first."""
    if not any(text and any(mark in text for mark in MARKS) for text in texts):
        return {}
    found: dict[int, str] = {}
    for place, text in enumerate(texts):
        if not text:
            continue
        if tried := TRIED.search(text):
            reader = _reader(texts, place, tried[1])
            if reader is not None:
                found[reader] = MBARRIER
        elif (head := HEAD.match(text)) and head[1] in AT_ONCE:
            found[place] = AT_ONCE[head[1]]
    return found


def _reader(texts: Sequence[str | None], place: int, predicate: str) -> int | None:
    """Return the instruction that looks at the predicate which the one at ``place`` sets."""
    named = re.compile(rf"!?\b{predicate}\b")
    for later in range(place + 1, min(place + 1 + WITHIN, len(texts))):
        if named.search(texts[later] or ""):
            return later
    return None


def waits_of(launch: LaunchSource) -> dict[str, float]:
    """Return the samples of a launch by stall reason, with those apart that ncu books under another."""
    counts = stall_counts([launch])
    kept = (name for name in counts if name.startswith(STALL_COLUMN) and not name.endswith(NOT_ISSUED))
    return {name.removeprefix(STALL_COLUMN): float(counts[name].sum()) for name in kept}


def told_apart(shares: Mapping[str, float], waits: Mapping[str, float]) -> dict[str, float]:
    """Return shares of stall reasons, the largest first, with those apart that ncu books under another.

    ``shares`` are ncu's; each is divided as the samples of ``waits`` are, by the reasons that the code tells.
    """
    found: dict[str, float] = {}
    for reason, share in shares.items():
        names = [own for own, booked in BOOKED_AS.items() if booked == reason and waits.get(own)]
        parts = {own: waits.get(own, 0.0) for own in (*names, reason)} if names else {reason: 1.0}
        whole = sum(parts.values())
        found |= {own: share * part / whole for own, part in parts.items() if part > 0}
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


ASSEMBLY = re.compile(r"\basm\b(?:\s+(?:volatile|goto|inline))*\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
MOST_LINES = 8  # below the statement, among which its instruction stands
INSTRUCTION = re.compile(r"[@\s{]*(?:\.reg[^;]*;\s*)*([a-z][\w.:]+)")


def with_instruction(lines: Sequence[str], number: int) -> str:
    """Return the text of a line, from 1; of one in a statement of inline assembly with the statement's instruction.

    Behind the line that begins the statement stands the first instruction of a later line; before a line further down,
    to which compilers book the statement, stands ``asm`` with its instruction. As it is where the instruction stands in
    it, or in none of the lines. Empty for a line that is not there.
    """
    if not 0 < number <= len(lines):
        return ""
    text = lines[number - 1]
    found = ASSEMBLY.search(text)
    if found is None:
        return _of_statement_above(lines, number)
    if _instruction(text[found.end() :]):
        return text
    for later in lines[number : number + MOST_LINES]:
        if instruction := _instruction(later):
            return f"{text.rstrip()} {instruction}"
        if ";" in LITERAL.sub("", later):
            break
    return text


def _of_statement_above(lines: Sequence[str], number: int) -> str:
    """Return a line, with the instruction of the statement that began above and goes on to it before it."""
    text = lines[number - 1]
    if _instruction(text):
        return text
    for start in range(number - 2, max(-1, number - 2 - MOST_LINES), -1):
        if found := ASSEMBLY.search(lines[start]):
            between = [lines[start][found.end() :], *lines[start + 1 : number - 1]]
            bare = LITERAL.sub("", "".join(between))
            instruction = next(filter(None, map(_instruction, between)), "")
            is_open = 1 + bare.count("(") - bare.count(")") > 0
            return f"asm {instruction} {text.strip()}" if is_open and instruction else text
    return text


def _instruction(text: str) -> str:
    """Return the first literal of a line that names an instruction, without its line ends; empty for none."""
    for literal in LITERAL.findall(text):
        words = str(literal).replace("\\n", " ").replace("\\t", " ").strip()
        if INSTRUCTION.match(words) and ("." in words or ";" in words):  # no constraint, such as "memory"
            return f'"{" ".join(words.split())}"'
    return ""


CODE = ("launch", "kernel", "offset", "address", "sass", "opcode", "file", "line")
BARRIER_COLUMN = f"{STALL_COLUMN}barrier"
LINE = ("launch", "file", "line", "source", "sass_instructions")


def sass_frame(launches: Sequence[LaunchSource]) -> pd.DataFrame:
    """Return one row for each instruction of each launch, as ncu's source page counts them.

    launch int32, kernel category (function name) · offset int64 (bytes from the first instruction of its function: the
    same in every run of one build), address uint64 · sass (None where the report holds no code), opcode category (with
    modifiers, such as LDG.E.128) · file category and line Int32 (NA without -lineinfo; of inlined code the innermost).

    Counters, float64, NaN where the report does not have them: samples and samples_not_issued (warp states) ·
    instructions (of warps), thread_instructions, predicated_on_thread_instructions (of threads), and the last two per
    warp-level instruction: threads_per_instruction and predicated_on_threads_per_instruction, NaN where nothing was
    executed · divergent_branches · tag_requests (global, L1) · sectors, sectors_ideal and sectors_excessive (global,
    theoretical, L2), sectors_local · wavefronts, wavefronts_ideal and wavefronts_excessive (shared memory, L1).

    memory_space, memory_access (category, NA where no memory is accessed), memory_access_bits Int32 · samples by stall
    reason: stall_<reason> and stall_<reason>_not_issued for every reason in these launches, in ncu's spelling. Where
    the code shows that a warp waits for an mbarrier, a product or a cluster, they stand under a reason of their own and
    not under that which ncu books them as (`waits`).

    Rows stand in the order of launches; in a launch the kernel is first, then functions that it called.
    """
    import pandas as pd

    stalls = stall_columns({name for launch in launches for name in launch.metrics})
    columns = code_columns(launches) | kind_columns(launches)
    columns |= {column: counter(launches, metric) for column, metric in (COUNTERS | stalls).items()}
    not_issued = [columns[name] for name in stalls if name.endswith(NOT_ISSUED)]
    columns[SAMPLES_NOT_ISSUED] = sum(not_issued) if not_issued else columns[SAMPLES] * float("nan")
    columns |= _ratios(columns)
    by_reason = stall_counts(launches)
    return pd.DataFrame({name: columns[name] for name in (*CODE, *NUMBERS, *KIND_COLUMNS)} | by_reason)


def stall_counts(launches: Sequence[LaunchSource]) -> dict[str, Array]:
    """Return the columns of stall reasons of ``sass_frame``, made without a data frame."""
    stalls = stall_columns({name for launch in launches for name in launch.metrics})
    texts = [text or None for one in launches for function in one.functions for text in function.sass]
    return _with_awaited({column: counter(launches, metric) for column, metric in stalls.items()}, texts)


def _with_awaited(stalls: Mapping[str, Array], texts: Sequence[str | None]) -> dict[str, Array]:
    """Return the columns of stall reasons, with those apart that ncu books under another, in the order of all."""
    import numpy as np

    found, made = awaited(texts), dict[str, Any]()
    for name, column in stalls.items():
        rest = column.copy() if found else column
        for reason in dict.fromkeys(found.values()):
            ending = NOT_ISSUED if name.endswith(NOT_ISSUED) else ""
            if name != STALL_COLUMN + BOOKED_AS[reason] + ending:
                continue
            places = [place for place, own in found.items() if own == reason]
            own = np.zeros_like(column)
            own[places], rest[places] = column[places], 0.0
            made[STALL_COLUMN + reason + ending] = own
        made[name] = rest
    return dict(sorted(made.items(), key=lambda one: (one[0].endswith(NOT_ISSUED), one[0])))


def lines_frame(sass: pd.DataFrame, launches: Sequence[LaunchSource]) -> pd.DataFrame:
    """Return one row for each source line of each launch, made of the rows of its instructions.

    launch int32, file category, line Int32, source (the text of the line; None where it was not imported),
    sass_instructions int32 (how many the compiler made of it) · then the counters of ``sass_frame``, added up; threads
    per instruction are weighted by instructions. Ordered by launch, file and line. Instructions without a line are a
    row of their own, with NA, at the end of their launch: nothing is lost, the sums are those of the instructions.
    """
    import pandas as pd

    stalls = [name for name in map(str, sass) if name.startswith(STALL_COLUMN)]
    counters = [name for name in (*NUMBERS, *stalls) if name not in RATIOS]
    files = list(sass["file"].cat.categories)
    code = sass["file"].cat.codes.astype("int32").replace(-1, len(files))  # no file: behind all others
    line = sass["line"].fillna(NO_LINE).astype("int32")
    groups = sass[counters].groupby([sass["launch"], code.rename("file"), line], sort=True)
    found = groups.sum(min_count=1).assign(sass_instructions=groups.size().astype("int32")).reset_index()
    found["source"] = _texts(found, files, launches)
    found["file"] = pd.Categorical.from_codes(
        found["file"].replace(len(files), -1).to_numpy(), categories=pd.Index(files)
    )
    found["line"] = found["line"].astype("Int32").where(found["line"] != NO_LINE)
    return found.assign(**_ratios(found))[[*LINE, *NUMBERS, *stalls]]


def _ratios(columns: Mapping[Any, Any] | pd.DataFrame) -> dict[str, Any]:
    """Return the columns of threads per warp-level instruction, NaN where there is none."""
    import numpy as np

    executed = np.where(columns["instructions"] > 0, columns["instructions"], np.nan)
    return {name: columns[counted] / executed for name, counted in RATIOS.items()}


def _texts(found: pd.DataFrame, files: Sequence[str], launches: Sequence[LaunchSource]) -> pd.Series[Any]:
    """Return the text of each line, None where its file was not imported; ``found`` has files by number."""
    import pandas as pd

    texts = LineTexts(launches)
    rows = zip(found["launch"], found["file"], found["line"], strict=True)
    column = [texts.of(launch, files[file], line) if file < len(files) else None for launch, file, line in rows]
    return pd.Series(column, index=found.index, dtype=object)


class LineTexts:
    """The lines of the files that launches imported; launches share them."""

    def __init__(self, launches: Sequence[LaunchSource]) -> None:
        split: dict[SourceFile, list[str]] = {}
        for file in {file: None for one in launches for file in one.sources()}:
            split[file] = [line.removesuffix("\r") for line in (file.content or "").split("\n")]
        self._lines = {(one.launch, file.name): split[file] for one in launches for file in one.sources()}

    def of(self, launch: int, file: str, number: int) -> str | None:
        """Return the text of a line as a launch imported it, None where it did not."""
        lines = self._lines.get((launch, file), [])
        return lines[number - 1] if 0 < number <= len(lines) else None


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


BARRIERS = ("BAR.SYNC", "BAR.RED", "BAR.WAIT")  # what blocks a warp: BAR.ARV only arrives
Place = tuple[str, int]  # a file and a line of it


def barriers(sass: pd.DataFrame) -> dict[Place, Place]:
    """Return the line of the barrier that warps seen at a line are held by, where that is another line.

    The sampler names the instruction that could not start, which is one behind the barrier, and compilers move what
    stands before a barrier in the source behind it. ``sass`` is as of ``sass_frame``; of several barriers of a line it
    is the one that holds most. Code without SASS or without lines has none.
    """
    if BARRIER_COLUMN not in sass:
        return {}
    lines = sass["line"].fillna(NO_LINE).astype(int)
    return _barriers(
        sass[BARRIER_COLUMN].fillna(0.0).tolist(),
        [str(opcode) for opcode in sass["opcode"].astype(object)],
        list(zip(sass["file"].astype(object), lines, strict=True)),
        sass["offset"].tolist(),
    )


def barriers_in(launches: Sequence[LaunchSource]) -> dict[Place, Place]:
    """Return ``barriers`` of the rows of these launches, made without a data frame."""
    import numpy as np

    held = stall_counts(launches).get(BARRIER_COLUMN)
    if held is None:
        return {}
    functions = [(function, one.files) for one in launches for function in one.functions]
    return _barriers(
        np.nan_to_num(held).tolist(),
        [_opcode(text) or "" for function, _ in functions for text in function.sass],
        [
            ("" if number == NO_FILE else files[number].name, line)
            for function, files in functions
            for number, line in zip(function.files, function.lines, strict=True)
        ],
        [address - function.base for function, _ in functions for address in function.each_address()],
    )


def _barriers(
    held: Sequence[float], opcodes: Sequence[str], places: Sequence[Place], offsets: Sequence[int]
) -> dict[Place, Place]:
    sums: dict[Place, dict[Place, float]] = {}
    for row, count in enumerate(held):
        if not count or places[row][1] == NO_LINE:
            continue
        above = row
        while above and not opcodes[above].startswith(BARRIERS) and offsets[above] > offsets[above - 1]:
            above -= 1
        barrier = places[above]
        if opcodes[above].startswith(BARRIERS) and barrier[1] != NO_LINE:
            own = sums.setdefault(places[row], {})
            own[barrier] = own.get(barrier, 0.0) + count
    most = {place: max(own, key=lambda one: own[one]) for place, own in sums.items()}
    return {place: barrier for place, barrier in most.items() if barrier != place}


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
