"""What a page or an export is made of, without what identifies: frames, the record of a run, its lines and findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ncu_assist.analysis.diff.lines import LineChange, LineChanges
from ncu_assist.analysis.run_view import CloseLook
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.line_sums import HotSpots, LineCost
from ncu_assist.ncu.report import NvidiaFinding
from ncu_assist.record import Check, Launch, Run
from ncu_assist.render.redact import (
    HOST,
    NOBODY,
    PLACE,
    Identity,
    redact_command,
    redact_file,
    redact_mangled,
    redact_text,
)
from ncu_assist.rules.model.places import LIBRARY, LIBRARY_PLACE

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


def redact_each(texts: Iterable[str], redact: Redact, identity: Identity) -> dict[str, str]:
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
        became = redact_each(map(str, column.cat.categories), redact, identity)
        return column.cat.rename_categories(became)
    values = column.tolist()
    texts = {value for value in values if isinstance(value, str)}
    texts |= {part for value in values if isinstance(value, tuple) for part in value if isinstance(part, str)}
    became = redact_each(texts, redact, identity)
    if all(became[text] == text for text in texts):
        return column
    return pd.Series([_redacted_value(value, became) for value in values], index=column.index, dtype=column.dtype)


def _redacted_value(value: Any, became: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        return tuple(became.get(part, part) for part in value)
    return became.get(value, value) if isinstance(value, str) else value


Files = Mapping[str, str]  # what each file of a page is called there, by its name in the report


def redact_run(run: Run, identity: Identity) -> Run:
    """Return the record without what identifies; kernels that differ still do."""
    kernels = redact_each((one.kernel for one in run.launches), redact_text, identity)
    signatures = redact_each((one.signature for one in run.launches), redact_text, identity)

    def launch(one: Launch) -> Launch:
        ranges = tuple(redact_text(name, identity) for name in one.ranges)
        return replace(one, kernel=kernels[one.kernel], signature=signatures[one.signature], ranges=ranges)

    def check(one: Check) -> Check:
        return replace(one, reason=redact_text(one.reason, identity))

    profile = run.profile and replace(run.profile, command=redact_command(run.profile.command, identity))
    return replace(
        run,
        launches=tuple(map(launch, run.launches)),
        checks=tuple(map(check, run.checks)),
        notes=tuple(redact_text(note, identity) for note in run.notes),
        profile=profile,
    )


def redact_files(looks: Iterable[CloseLook], identity: Identity) -> Files:
    """Return what the files in which source lines stand are called, as in an export: ``<path>/k.cu``.

    Headers of CUDA, compilers and packages still tell that they are: ``<library>/cmath``.
    """
    return redact_each((name for close in looks for name in _files(close)), _file_or_header, identity)


def _file_or_header(path: str, identity: Identity) -> str:
    name = redact_file(path, identity)
    return name.replace(PLACE, LIBRARY_PLACE, 1) if LIBRARY.search(path) else name


def redact_close(close: CloseLook, files: Files, identity: Identity) -> CloseLook:
    """Return the lines, the code and NVIDIA's findings without what identifies; ``files`` has all their files."""
    return CloseLook(
        spots=close.spots and _spots(close.spots, files, identity),
        code=close.code and _code(close.code, files, identity),
        nvidia=close.nvidia and tuple(_finding(one, identity) for one in close.nvidia),
        note=redact_text(close.note, identity),
        texts={files[name]: redact_text(text, identity) for name, text in close.texts.items()},
        kept=frozenset(files[name] for name in close.kept),
        timeline=close.timeline,
    )


def redact_lines(lines: LineChanges, files: Files, identity: Identity) -> LineChanges:
    """Return the changed lines of a diff without what identifies; a file that ``files`` lacks by its own name."""

    def file(name: str) -> str:
        return files.get(name, redact_file(name, identity))

    def cost(one: LineCost) -> LineCost:
        return replace(
            one,
            file=file(one.file),
            text=_line(one.text, identity),
            barrier_file=one.barrier_file and file(one.barrier_file),
            barrier_text=_line(one.barrier_text, identity),
        )

    def change(one: LineChange) -> LineChange:
        return replace(
            one,
            baseline=one.baseline and cost(one.baseline),
            candidate=one.candidate and cost(one.candidate),
            told=one.told and change(one.told),
            sampled=one.sampled and (file(one.sampled[0]), one.sampled[1]),
        )

    before, after = lines.own
    return replace(
        lines,
        changes=tuple(map(change, lines.changes)),
        left=tuple(map(cost, lines.left)),
        notes=(redact_text(lines.notes[0], identity), redact_text(lines.notes[1], identity)),
        own=(before and file(before), after and file(after)),
    )


def _files(close: CloseLook) -> Iterable[str]:
    yield from close.texts
    yield from (one.file for one in close.spots.lines) if close.spots else ()
    if close.code is not None:
        yield from (file for file, _ in close.code.texts)
        yield from (str(name) for name in close.code.sass["file"].dropna().unique())
        yield from (file for chain in _chains(close.code.sass) for file, _ in chain)


def _chains(sass: pd.DataFrame) -> set[tuple[tuple[str, int], ...]]:
    return {chain for chain in sass["chain"] if chain} if "chain" in sass else set()


def _spots(spots: HotSpots, files: Files, identity: Identity) -> HotSpots:
    lines = (replace(one, file=files[one.file], text=_line(one.text, identity)) for one in spots.lines)
    return replace(spots, lines=tuple(lines), note=redact_text(spots.note, identity))


def _code(code: Code, files: Files, identity: Identity) -> Code:
    """Return the code; its chains of calls name files too, and are no texts of a frame."""
    sass = redact_frame(code.sass.drop(columns=["file", "chain"], errors="ignore"), identity)
    columns: dict[str, Any] = {"file": code.sass["file"].map(files, na_action="ignore")}
    if "chain" in code.sass:
        known = {chain: tuple((files[file], line) for file, line in chain) for chain in _chains(code.sass)}
        columns["chain"] = code.sass["chain"].map(lambda chain: known.get(chain, chain))
    texts = {(files[file], line): redact_text(text, identity) for (file, line), text in code.texts.items()}
    return Code(sass.assign(**columns)[list(code.sass)], texts)


def _finding(one: NvidiaFinding, identity: Identity) -> NvidiaFinding:
    title, message, kernel = (redact_text(text, identity) for text in (one.title, one.message, one.kernel))
    return replace(one, title=title, message=message, kernel=kernel)


def _line(text: str | None, identity: Identity) -> str | None:
    return None if text is None else redact_text(text, identity)
