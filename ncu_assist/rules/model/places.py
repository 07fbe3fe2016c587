"""Where a finding happens: the source lines with most of what it wastes, and the user's own line of each instruction.

ncu names the innermost file of inlined code and not its caller. The cubin knows all of them where nvcc made it, and
then the innermost own line is taken; of a statement of inline assembly, which says what is done and not where, the line
that calls its function. A cubin of Triton's names lines, but no callers, neither in its line table nor in the PTX that
it keeps: there it is the line that most likely calls. Over 2044 such instructions of the gallery and of the recorded
kernels, whose callers are known, the line of the own instruction above was right for 34 %, that of the own instruction
that uses the result for 42 %, and the line next to it that calls such a function for 56 %.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ncu_assist.ceilings.chips import LANES
from ncu_assist.ncu.source.contents import SAMPLES, STALL_COLUMN
from ncu_assist.ncu.source.tables import ASSEMBLY
from ncu_assist.rules.model.blame import Function, read_again

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ncu_assist.ncu.code import Code
    from ncu_assist.rules.base import Finding

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


# Where CUDA, compilers and packages keep their files; those that ncu imported may be among them.
LIBRARY_PLACE = "<library>"  # in place of their folders, where those were made unreadable
LIBRARY = re.compile(
    rf"^{LIBRARY_PLACE[:-1]}(?: \d+)?>/"
    r"|/cuda[^/]*/(?:.*/)?include/|/targets/[^/]+/include/|/usr/(?:local/)?include/|/c\+\+/|/cutlass/include/"
    r"|/(?:site|dist)-packages/|/triton/language/|/torch/_inductor/"
    r"|(?:^|/)(?:triton_helpers|standard)\.py$"  # Triton's, also in an export
)


def own_lines(code: Code) -> pd.DataFrame:
    """Return the instructions with their own line in ``file`` and ``line``; as they are where none is the user's.

    ``is_guess`` tells where that is the line that most likely calls them, as the report does not say which does.
    """
    sass = code.sass
    files = sass["file"].astype(object)
    lines = _at_their_calls(sass, _known_lines(code))
    is_guess = [line is None for line in lines]
    if all(is_guess) or not any(is_guess):
        found = sass.assign(file=files, is_guess=False)
        return found if all(is_guess) else _with_lines(found, lines)
    texts, names = [str(text) for text in sass["sass"]], [str(file) for file in files]
    known: dict[Hashable, list[Line | None]] = {}  # launches of one kernel have the same code
    for rows in _bodies(sass):
        body = tuple(texts[row] for row in rows), tuple(lines[row] for row in rows), tuple(names[row] for row in rows)
        if body not in known:
            known[body] = Body(*body, code).lines()
        for row, line in zip(rows, known[body], strict=True):
            lines[row] = line
    return _with_lines(sass.assign(is_guess=is_guess), lines)


def _known_lines(code: Code) -> list[Line | None]:
    """Return the innermost own line that each instruction is known to come from, None where none is.

    One that is no statement of inline assembly, where there is one.
    """
    imported = {file for file, _ in code.texts}
    sass = code.sass

    @functools.cache
    def is_own(file: str) -> bool:
        return not LIBRARY.search(file) and (file in imported or not imported)

    @functools.cache
    def of(chain: tuple[Line, ...]) -> Line | None:
        own = [line for line in chain if is_own(line[0])]
        return next((line for line in own if not ASSEMBLY.search(code.texts.get(line, ""))), own[0] if own else None)

    chains = sass["chain"] if "chain" in sass else [None] * len(sass)
    lines = zip(chains, sass["file"].astype(object), sass["line"].fillna(0), strict=True)
    # Where ncu's line is the user's it is taken, as the source page has it: newer ones name the caller themselves.
    named = ((((str(file), int(line)),) if line else ()) + (chain or ()) for chain, file, line in lines)
    return [of(places) if places else None for places in named]


ROUTINE = re.compile(r"\bCALL\.REL\S*\s+(0x[0-9a-f]+)")


def _at_their_calls(sass: pd.DataFrame, lines: list[Line | None]) -> list[Line | None]:
    """Return the lines with those of the compiler's own routines, as the slow path of a division, at their calls.

    They stand behind the code of a kernel and have no line: the last one above, often a closing brace, runs on. Of
    several lines that call one, the line that does so most often.
    """
    if "address" not in sass:
        return lines
    texts, found = [str(text) for text in sass["sass"]], list(lines)
    counts = sass["instructions"].fillna(0.0).tolist()
    for rows in _bodies(sass):
        called: dict[int, dict[Line | None, float]] = {}
        calls = [(row, call[1]) for row in rows if "CALL.REL" in texts[row] and (call := ROUTINE.search(texts[row]))]
        at = dict(zip(sass["address"].iloc[rows].tolist(), range(len(rows)), strict=True)) if calls else {}
        for row, target in calls:
            weights = called.setdefault(at.get(int(target, 16), 0), {})
            weights[lines[row]] = weights.get(lines[row], 0.0) + counts[row]
        starts = sorted(called)
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=False):
            if start and {lines[row] for row in rows[start:end]} == {lines[rows[start - 1]]}:
                by = max(called[start], key=lambda line: called[start][line])
                for row in rows[start:end]:
                    found[row] = by
    return found


def _with_lines(sass: pd.DataFrame, lines: Sequence[Line | None]) -> pd.DataFrame:
    import pandas as pd

    columns = ([line[place] if line else None for line in lines] for place in (0, 1))
    made = (pd.Series(column, dtype=object, index=sass.index) for column in columns)
    return sass.assign(**dict(zip(("file", "line"), made, strict=True)))


def _bodies(sass: pd.DataFrame) -> Iterator[list[int]]:
    """Yield the rows of each function of each launch."""
    groups: dict[tuple[int, str], list[int]] = {}
    for row, key in enumerate(zip(sass["launch"], sass["kernel"].astype(str), strict=True)):
        groups.setdefault(key, []).append(row)
    yield from groups.values()


# What the calls that headers of CUDA are behind look like in a source; a call of another kind is told from neighbours.
CALLS = tuple(
    (re.compile(header), re.compile(call))
    for header, call in (
        (r"mma\.hpp$", r"\b(\w+_matrix|mma)_sync\s*\(|\bfill_fragment\s*\("),
        (r"bf16\.h", r"\b\w*(bfloat|bf16)\w*\s*\(|\b__h\w+\s*\("),
        (r"fp16\.h", r"\b\w*half\w*\s*\(|\b__h\w+\s*\("),
        (r"intrinsics\.h|_functions\.h|/sm_\d+_", r"\b(?!__sync|__launch)(__\w+|atomic\w+|min|max|f?abs|\w+f)\s*\("),
    )
)
COMMENT = "//"
DEPTH = 6  # results that are followed through code of the library
Line = tuple[str, int]


class Body:
    """One function of one launch: its instructions, and the own line of each, None for a library's."""

    def __init__(self, texts: Sequence[str], own: Sequence[Line | None], files: Sequence[str], code: Code) -> None:
        self.function = Function.of(texts)
        self.own, self.files, self.code = own, files, code
        self.owned = [place for place, line in enumerate(own) if line]
        self.users: dict[tuple[int, int], int | None] = {}
        self.calls: dict[tuple[str, re.Pattern[str]], list[int]] = {}

    def lines(self) -> list[Line | None]:
        """Return the own line of each instruction, the nearest that fits for one of a library; None without any."""
        return [line or self._line_of(place) for place, line in enumerate(self.own)]

    def _line_of(self, place: int) -> Line | None:
        """Return the line of the first own instruction that uses the result, else of the next, else of the last."""
        user = self._first_user(place, DEPTH)
        if user is None and self.owned:
            user = self.owned[min(bisect(self.owned, place), len(self.owned) - 1)]
        near = self.own[user] if user is not None else None
        return self._calling(near, self.files[place]) if near else None

    def _first_user(self, place: int, depth: int) -> int | None:
        """Return the first own instruction that uses a result, if through some others; users stand below."""
        key = place, depth
        if key not in self.users:
            direct = self.function.users(place)
            own = [one for one in direct if self.own[one]]
            if depth:
                further = (self._first_user(one, depth - 1) for one in direct if not self.own[one])
                own += [one for one in further if one is not None]
            self.users[key] = min(own, default=None)
        return self.users[key]

    def _calling(self, near: Line, library: str) -> Line:
        """Return the line of this function nearest to ``near`` that calls what the library's file is behind."""
        call = _call_behind(library)
        if call is None:
            return near
        if (near[0], call) not in self.calls:
            self.calls[near[0], call] = self._that_call(near[0], call)
        found = self.calls[near[0], call]
        return (near[0], min(found, key=lambda line: (abs(line - near[1]), line))) if found else near

    def _that_call(self, file: str, call: re.Pattern[str]) -> list[int]:
        """Return the lines of a file, from the first to the last of this function, that look like a call."""
        numbers = {one[1] for one in self.own if one and one[0] == file}
        return [line for line in range(min(numbers), max(numbers) + 1) if call.search(self._text(file, line))]

    def _text(self, file: str, line: int) -> str:
        return self.code.texts.get((file, line), "").partition(COMMENT)[0]


@functools.cache
def _call_behind(library: str) -> re.Pattern[str] | None:
    return next((call for header, call in CALLS if header.search(library)), None)


MOST = 5
MOST_OF_IT = 0.5
LEAST_SHARE = 0.01  # of the waste; a line below it leads nowhere
ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}\b")  # where code was loaded in one run: it leads nowhere


@dataclass(frozen=True)
class Place:
    """A source line and its part of what a finding wastes, 1 for all.

    ``text`` is None where the source was not imported. Of code without lines, ``file`` and ``line`` are None and
    ``text`` is the instruction. ``is_guess``: most of it is code of a library, and the line the one that most likely
    calls it, as the report does not say which does.
    """

    file: str | None
    line: int | None
    text: str | None
    share: float
    is_guess: bool = False
    counted: str = SAMPLES  # what the share is of, as Finding.waste calls it


def places(finding: Finding, code: Code, owned: bool = False) -> tuple[Place, ...]:
    """Return up to five lines with most of what a finding wastes, the first line first.

    Waits are put down to the instruction that was waited for, and code of libraries to the own line that calls it;
    ``owned``: that was done with ``code``. Empty where the report does not say what instructions cost.
    """
    frame = code.sass if owned else own_lines(code)
    waste = wasted(finding, frame)
    total = float(waste.sum())
    if not total > 0:
        return ()
    frame = frame.assign(waste=waste)
    lined = bool(frame["line"].notna().any())
    keys = ["file", "line"] if lined else ["kernel", "offset"]
    frame = frame.assign(guessed=waste * frame["is_guess"].to_numpy(float))
    groups = frame.groupby(keys, observed=True, sort=True)
    sums = groups.agg(waste=("waste", "sum"), guessed=("guessed", "sum"), sass=("sass", "first"))
    top = sums.nlargest(MOST, "waste")
    kept = top[top["waste"] >= LEAST_SHARE * total]
    own = (_place(key, row, float(row["waste"]) / total, code, lined) for key, row in kept.iterrows())
    counted = finding.waste if _is_counted(finding, frame) else SAMPLES
    return tuple(replace(one, counted=counted) for one in own)


def _place(key: object, row: pd.Series[Any], share: float, code: Code, lined: bool) -> Place:
    assert isinstance(key, tuple)
    if not lined:
        return Place(None, None, ADDRESS.sub("…", str(row["sass"])) if row["sass"] else None, share)
    file, line = str(key[0]), int(key[1])
    is_guess = bool(row["guessed"] > MOST_OF_IT * row["waste"])
    return Place(file, line, code.texts.get((file, line)), share, is_guess)


LOCAL = frozenset({"LDL", "STL"})
# The instructions that a finding is about, by opcode without modifiers; where none of them wastes anything, all are.
ABOUT = {
    "uncoalesced-global-load": frozenset({"LD", "LDG", "LDGSTS", "UBLKCP"}),
    "uncoalesced-global-store": frozenset({"ST", "STG"}),
    "atomic-contention": frozenset({"ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"}),
    "local-array": LOCAL,
    "register-spill": LOCAL,
    "no-tensor-core": frozenset({"FFMA", "HFMA2", "HFMA"}),
}


def wasted(finding: Finding, sass: pd.DataFrame) -> Floats:
    """Return what each instruction wastes, zero where nothing was counted; ``sass`` with the user's own lines."""
    waste = _of_all(finding, sass)
    about = finding.about or ABOUT.get(finding.rule)
    if not about:
        return waste
    heads = sass["opcode"].astype(str).str.split(".").str[0]
    only: Floats = waste * heads.isin(about).to_numpy()
    return only if only.sum() > 0 else waste


def _of_all(finding: Finding, sass: pd.DataFrame) -> Floats:
    import numpy as np

    if finding.waste == "divergence":
        lost = (LANES * sass["instructions"] - sass["thread_instructions"]).to_numpy(float)
        clipped: Floats = np.clip(np.nan_to_num(lost), 0.0, None)
        return clipped
    if finding.waste == "samples":
        return _waits(finding, sass)
    return _counts(finding, sass) if _is_counted(finding, sass) else _waits(finding, sass)


def _is_counted(finding: Finding, sass: pd.DataFrame) -> bool:
    """Return whether what a finding wastes was counted by instruction; else the samples that wait stand for it."""
    if finding.waste in ("divergence", "read_again", "samples"):
        return finding.waste != "samples"
    return bool(_counts(finding, sass).sum() > 0)


def _counts(finding: Finding, sass: pd.DataFrame) -> Floats:
    import numpy as np

    return _again(sass) if finding.waste == "read_again" else np.nan_to_num(sass[finding.waste].to_numpy(float))


def _again(sass: pd.DataFrame) -> Floats:
    """Return the sectors that are read again in a launch; where none are, or of several launches, all sectors.

    What a launch reads that an earlier one has read is not told by its code.
    """
    import numpy as np

    found = np.zeros(len(sass))
    every: Floats = np.nan_to_num(sass["sectors"].to_numpy(float))
    if sass["launch"].nunique() > 1:
        return every
    for rows in functions_of(sass):
        own = sass.iloc[rows]
        lines = zip(own["file"].astype(str), own["line"].fillna(0).astype(int), strict=True)
        texts, sectors = [str(text) for text in own["sass"]], np.nan_to_num(own["sectors"].to_numpy(float))
        again = read_again(texts, list(lines), sectors.tolist())
        found[rows[again]] = sectors[again]
    return found if found.any() else every


def _waits(finding: Finding, sass: pd.DataFrame) -> Floats:
    import numpy as np

    reasons = [reason for reason in finding.stalls if STALL_COLUMN + reason in sass]
    if not reasons:
        samples: Floats = np.nan_to_num(sass[SAMPLES].to_numpy(float))
        return samples
    waits = np.zeros(len(sass))
    for rows in functions_of(sass):
        function = Function.of([str(text) for text in sass["sass"].iloc[rows]])
        for reason in reasons:
            column = np.nan_to_num(sass[STALL_COLUMN + reason].to_numpy(float)[rows])
            for own in np.flatnonzero(column):
                blamed = function.blamed(int(own), reason)
                waits[rows[function.matrix_instruction(blamed) if finding.with_operands else blamed]] += column[own]
    return waits


def functions_of(sass: pd.DataFrame) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Yield the rows of each function of each launch."""
    import numpy as np

    keys = [sass["launch"].to_numpy(), sass["kernel"].astype(str).to_numpy()]
    for _, rows in sass.assign(row=np.arange(len(sass))).groupby(keys, sort=False)["row"]:
        yield rows.to_numpy()
