"""Finding what a name stands for: a metric, a derived metric, a stall reason, or a name outside the catalogue."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.ncu.available_names import on_chip
from ncu_assist.ncu.chips import CHIPS
from ncu_assist.ncu.derived import ALL_DERIVED, DERIVED_GROUPS, Derived
from ncu_assist.ncu.metric import Metric
from ncu_assist.ncu.metric_doctor import check_names, spelled, suggestion
from ncu_assist.ncu.metrics import CATALOGUE, GROUPS, STALL
from ncu_assist.ncu.mistaken_names import MISTAKEN
from ncu_assist.ncu.recorded_names import RecordedName, recorded_names
from ncu_assist.ncu.spelling import split
from ncu_assist.ncu.stalls import SAMPLED, STALL_REASONS, StallReason


@dataclass(frozen=True)
class NamedRollup:
    """A name that ncu has and the catalogue has not, or not with this rollup; ``keys``: rows with the same base."""

    recorded: RecordedName
    rollup: str
    keys: tuple[str, ...]


Row = Metric | Derived
Subject = Row | StallReason | NamedRollup


@dataclass(frozen=True)
class Found:
    """What a search found: rows by group, rows that the chip lacks, and ncu's names outside the catalogue."""

    chip: str | None
    groups: dict[str, tuple[Row, ...]]
    lacking: tuple[str, ...]
    names: tuple[RecordedName, ...]


def search(patterns: Sequence[str], chip: str | None) -> Found:
    """Return what matches any of ``patterns``: parts of a key, a name or a label, or with ``*`` the whole of it.

    Names outside the catalogue are looked through for a chip, and where the catalogue has nothing. Raises UsageProblem
    for a pattern that nothing matches.
    """
    _check_chip(chip)
    rows = {group: tuple(row for row in _rows(group) if _is_wanted(row, patterns)) for group in GROUPS}
    here = {
        group: tuple(row for row in some if not chip or spelled(row.key, on_chip(chip))) for group, some in rows.items()
    }
    lacking = tuple(row.key for group, some in rows.items() for row in some if row not in here[group])
    missed = [pattern for pattern in patterns if not any(_is_wanted(r, [pattern]) for g in GROUPS for r in _rows(g))]
    names = tuple(_names(patterns if chip else missed, chip))
    unknown = [pattern for pattern in missed if not any(_matches(pattern, (one.name,)) for one in names)]
    if unknown:
        raise _not_found(unknown, chip)
    return Found(chip, {group: some for group, some in here.items() if some}, lacking, names)


def explain(name: str) -> tuple[Subject, ...]:
    """Return what a key, a name of ncu with or without rollup, a label or a stall reason stands for.

    Raises UsageProblem with the nearest name where nothing is called so.
    """
    subjects = tuple(dict.fromkeys(_subjects(name.strip())))
    if not subjects:
        raise UsageProblem(f"no metric, stall reason or label is called '{name}'", _near(name))
    return subjects


def _near(name: str) -> str:
    """Return a hint: the nearest name, or the command that lists all."""
    if "__" in name or name in MISTAKEN:
        near = suggestion(name, on_chip(None))
        hint = f"did you mean '{near}'?" if near else ""
    else:
        hint = did_you_mean(name.lower().replace(" ", "_"), [*CATALOGUE, *ALL_DERIVED, *STALL_REASONS])
    return hint if hint.startswith("did you mean") else "ncu-assist metrics"


def _subjects(name: str) -> Iterator[Subject]:
    reason = name.removeprefix("stall_")
    for pattern in (STALL, SAMPLED):
        match = pattern.fullmatch(name)
        reason = match.group(1) if match else reason
    if reason in STALL_REASONS:
        yield STALL_REASONS[reason]
        return
    if name in CATALOGUE or name in ALL_DERIVED:
        yield CATALOGUE[name] if name in CATALOGUE else ALL_DERIVED[name]
        return
    exact = [metric for metric in CATALOGUE.values() if name in metric.names]
    yield from exact or _labelled(name)
    base, rollup = split(name)
    recorded = recorded_names().get(name) or recorded_names().get(base)
    if recorded and not exact and on_chip(None).has(name if rollup else recorded.name):
        yield _named(recorded, rollup)
    elif recorded and not exact and not rollup:
        yield _named(recorded, "")


def _named(recorded: RecordedName, rollup: str) -> NamedRollup:
    keys = [key for key, metric in CATALOGUE.items() if recorded.name in {split(name)[0] for name in metric.names}]
    return NamedRollup(recorded, rollup, tuple(keys))


def _labelled(label: str) -> Iterator[Row]:
    wanted = label.lower()
    rows: list[Row] = [*CATALOGUE.values(), *ALL_DERIVED.values()]
    for row in rows:
        labels = {row.label.lower(), row.shown_as.lower()} if isinstance(row, Metric) else {row.label.lower()}
        if wanted and wanted in labels:
            yield row


def _rows(group: str) -> tuple[Row, ...]:
    return (*GROUPS[group], *DERIVED_GROUPS.get(group, ()))


def _is_wanted(row: Row, patterns: Sequence[str]) -> bool:
    texts = (row.key, row.label, *((*row.names, row.shown_as) if isinstance(row, Metric) else ()))
    return not patterns or any(_matches(pattern, texts) for pattern in patterns)


def _matches(pattern: str, texts: Sequence[str]) -> bool:
    wanted = pattern.lower()
    if "*" in wanted:
        return any(fnmatch.fnmatchcase(text.lower(), wanted) for text in texts)
    return any(wanted in text.lower() for text in texts)


def _names(patterns: Sequence[str], chip: str | None) -> Iterator[RecordedName]:
    listed = {split(name)[0] for metric in CATALOGUE.values() for name in metric.names}
    for recorded in recorded_names().values():
        matches = any(_matches(pattern, (recorded.name,)) for pattern in patterns)
        if matches and recorded.is_on(chip) and recorded.name not in listed:
            yield recorded


def _check_chip(chip: str | None) -> None:
    if chip is not None and chip not in CHIPS:
        raise UsageProblem(f"the names of chip '{chip}' were not recorded", did_you_mean(chip, CHIPS))


def _not_found(patterns: Sequence[str], chip: str | None) -> UsageProblem:
    checked = check_names(patterns, on_chip(chip))
    offered = [problem.suggestion for problem in checked.problems]
    names = ", ".join(f"'{pattern}'" for pattern in patterns)
    hint = f"ncu-assist metrics {offered[0]}" if offered else "ncu-assist metrics"
    where = f" on {chip}" if chip else ""
    detail = "; ".join(line for line in checked.lines if "__" in line)
    return UsageProblem(f"no metric{where} matches {names}" + (f": {detail}" if detail else ""), hint)
