"""What a page is made of, without what identifies: the record of a run, its source lines, NVIDIA's findings, its logs.

It is taken out before anything is made of it: findings, charts and words then have nothing left to tell. A recorded run
was made fit to be shipped before (pipeline/recording.py), and is not looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ncu_assist.analysis.diff.lines import LineChange, LineChanges, LineCost
from ncu_assist.analysis.run_view import CloseLook
from ncu_assist.ncu.code import Code
from ncu_assist.ncu.hot_spots import HotSpots
from ncu_assist.ncu.nvidia_findings import NvidiaFinding
from ncu_assist.record import Check, Launch, Run
from ncu_assist.render.redact.frames import redact_frame, redacted
from ncu_assist.render.redact.identity import Identity
from ncu_assist.render.redact.text import redact_command, redact_file, redact_text

if TYPE_CHECKING:
    import pandas as pd

Files = Mapping[str, str]  # what each file of a page is called there, by its name in the report


def redact_run(run: Run, identity: Identity) -> Run:
    """Return the record without what identifies; kernels that differ still do."""
    kernels = redacted((one.kernel for one in run.launches), redact_text, identity)
    signatures = redacted((one.signature for one in run.launches), redact_text, identity)

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
    """Return what the files in which source lines stand are called, as in an export: ``<path>/k.cu``."""
    return redacted((name for close in looks for name in _files(close)), redact_file, identity)


def redact_close(close: CloseLook, files: Files, identity: Identity) -> CloseLook:
    """Return the lines, the code and NVIDIA's findings without what identifies; ``files`` has all their files."""
    return CloseLook(
        spots=close.spots and _spots(close.spots, files, identity),
        code=close.code and _code(close.code, files, identity),
        nvidia=close.nvidia and tuple(_finding(one, identity) for one in close.nvidia),
        note=redact_text(close.note, identity),
        texts={files[name]: redact_text(text, identity) for name, text in close.texts.items()},
        kept=frozenset(files[name] for name in close.kept),
    )


def redact_lines(lines: LineChanges, files: Files, identity: Identity) -> LineChanges:
    """Return the changed lines of a diff without what identifies; a file that ``files`` lacks by its own name."""

    def file(name: str) -> str:
        return files.get(name, redact_file(name, identity))

    def cost(one: LineCost) -> LineCost:
        return replace(one, file=file(one.file), text=_line(one.text, identity))

    def change(one: LineChange) -> LineChange:
        return replace(
            one, baseline=one.baseline and cost(one.baseline), candidate=one.candidate and cost(one.candidate)
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
    lines = (replace(one, file=files[one.file], source=_line(one.source, identity)) for one in spots.lines)
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
