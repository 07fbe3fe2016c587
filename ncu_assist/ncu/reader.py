"""Run as a child process: read a report and write its values into a folder.

The parser of protocol buffers takes what NVIDIA documents of the format; NVIDIA's own reader, which can abort the
interpreter on a damaged file, is asked for units and for a second opinion on a launch. What is written is as plain as
it gets (JSON and arrays of numbers): the child then starts in a tenth of the time that a data-frame library would take.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from ncu_assist.errors import DamagedData, NcuAssistError
from ncu_assist.ncu import oddities, report_file
from ncu_assist.ncu.catalogue.chips import recorded_units
from ncu_assist.ncu.child import handed, limit_memory
from ncu_assist.ncu.contents import (
    BOTH,
    DOCUMENT,
    EXPORTED,
    INSTANCES,
    NVIDIAS,
    PRINTED,
    SAMPLES,
    SCALARS,
    VALUES,
    WANTED,
    Contents,
    Document,
    LaunchFacts,
)
from ncu_assist.ncu.messages import (
    NOT_UTF8,
    InstanceTable,
    Messages,
    MetricTable,
    checked_sizes,
    launch_facts,
    session_facts,
)
from ncu_assist.ncu.report_file import Bytes
from ncu_assist.ncu.source.contents import SECTORS_BY_ACCESS
from ncu_assist.ncu.tables import SAMPLED, STARTS

# Metrics that the section files of a release define, with their units: ncu 2022.3 gives one of them another than
# later releases do. Those between these two gave the recorded ones, in reports of each.
DERIVED = "derived__"
TELL_S = 0.2  # between two lines that say how far reading is
SAME_UNITS = (2022, 4), (2025, 4)


def main(arguments: list[str]) -> int:
    """Read WHAT of PATH, called NAME in messages, within MEMORY bytes beside the file itself, and write it into FOLDER.

    An error is one JSON object, the last line of stderr, and its exit code that of the process.
    """
    what, path, name, folder, memory = handed(arguments)
    limit_memory(int(memory) + Path(path).stat().st_size)
    try:
        _READERS[what](Path(path), name, Path(folder))
    except NcuAssistError as error:
        return _tell(error)
    except MemoryError:
        words = f"{name} cannot be read within {int(memory) >> 20} MiB of memory beside its size"
        return _tell(DamagedData(words, "profile fewer launches at a time"))
    return 0


def _tell(error: NcuAssistError) -> int:
    sys.stderr.write("\n" + json.dumps({"message": error.message, "hint": error.hint}))
    return error.exit_code


def _read_scalars(path: Path, name: str, folder: Path) -> None:
    with _whose(name), report_file.mapped(path) as data:
        _read(data, folder)


def _read_instances(path: Path, name: str, folder: Path) -> None:
    with _whose(name), report_file.mapped(path) as data:
        _read_instances_of(data, folder, folder / WANTED, lambda _name: True)


def _read_samples(path: Path, name: str, folder: Path) -> None:
    with _whose(name), report_file.mapped(path) as data:
        _read_instances_of(data, folder, folder / WANTED, _is_of_timeline)


def _read_both(path: Path, name: str, folder: Path) -> None:
    with _whose(name), report_file.mapped(path) as data:
        _read(data, folder)
        (folder / SAMPLES).mkdir()
        _read_instances_of(data, folder / SAMPLES, folder / WANTED, _is_of_timeline)


def _is_of_timeline(metric: str) -> bool:
    return bool(SAMPLED.match(metric)) or metric.startswith(STARTS)


def _read_printed(path: Path, name: str, folder: Path) -> None:
    from ncu_assist.ncu.csv_page import decode  # which takes numpy: the others start without
    from ncu_assist.ncu.printed_page import read_printed

    _write_contents(read_printed(decode(path.read_bytes()), name), folder)


def _read_exported(path: Path, name: str, folder: Path) -> None:
    from ncu_assist.ncu.csv_page import read_csv

    _write_contents(read_csv(path.read_bytes(), name), folder)


def _write_contents(found: Contents, folder: Path) -> None:
    _write(folder, {name: value for name, value in vars(found).items() if name != "values"})
    found.values.tofile(folder / VALUES)


def _count_nvidias(path: Path, name: str, folder: Path) -> None:
    link = folder / "refused.ncu-rep"
    link.symlink_to(path.absolute())  # NVIDIA's reader takes no name that is not UTF-8, nor another locale's
    _write(folder, count_launches(link))


_READERS = {
    SCALARS: _read_scalars,
    INSTANCES: _read_instances,
    SAMPLES: _read_samples,
    BOTH: _read_both,
    PRINTED: _read_printed,
    EXPORTED: _read_exported,
    NVIDIAS: _count_nvidias,
}


@contextlib.contextmanager
def _whose(name: str) -> Iterator[None]:
    """Put the name of the file before the message of an error."""
    try:
        yield
    except DamagedData as error:
        raise DamagedData(f"{name}: {error.message}", error.hint or "profile again") from error


def _read(data: Bytes, folder: Path) -> None:
    messages, table, values, launches_seen = Messages(), MetricTable(), array("d"), oddities.Oddities(data)
    blocks = report_file.blocks(data)
    headers = [messages.header(data, block) for block in blocks]
    for header in headers:  # all of them first: names can stand behind the launch that uses them
        table.add_names(header.strings.strings)
    table.add_names(SECTORS_BY_ACCESS)
    numbers = {name: number for number, name in enumerate(table.strings)}
    read: list[LaunchFacts] = []
    process, total, told = None, sum(len(block.results) for block in blocks), time.monotonic()
    for block, header in zip(blocks, headers, strict=True):
        launches_seen.add_block(block)
        process = header.process.id if header.HasField("process") else process
        for entry in block.results:
            result = messages.result(data, entry)
            metrics = [*result.metrics, *messages.by_access(result.metrics, numbers)]
            read.append(launch_facts(messages, entry.kind, result, process, table.add(metrics, values)))
            launches_seen.add_launch(entry, result, process)
            report_file.forget(data, entry)
            if time.monotonic() - told > TELL_S:
                told = time.monotonic()
                sys.stdout.write(f"{len(read)} {total} {entry.end}\n")
                sys.stdout.flush()
    if not read:
        raise DamagedData("the report holds no launch: it is cut, or nothing was profiled")
    session, recorded = session_facts(headers), recorded_units() | dict.fromkeys(SECTORS_BY_ACCESS, "sectors")
    session = replace(session, held=launches_seen.sections or None)
    release = _release(session.ncu_version)
    newer = list(oddities.unknown_sentences(release, table.unknown, sum(block.unknown for block in blocks)))
    launches = checked_sizes(read, table.name_lists, values)
    is_known = SAME_UNITS[0] <= release <= SAME_UNITS[1]
    known = {name: unit for name, unit in recorded.items() if is_known or not name.startswith(DERIVED)}
    units = _units(data, folder, launches, table, values, known)
    notes = (
        *oddities.interrupted_sentences(launches),
        *newer,
        *oddities.file_sentences(data),
        *sorted(messages.odd),
        *oddities.session_sentences(session),
        *launches_seen.sentences(),
        *oddities.name_sentences(units.keys() - recorded.keys(), units.keys()),
        *oddities.double_sentences(table.doubles, table.differing),
    )
    _write(folder, Document(launches, tuple(table.name_lists), tuple(table.texts), units, session, notes))
    with (folder / VALUES).open("wb") as out:
        values.tofile(out)


def _release(version: str | None) -> tuple[int, ...]:
    """Return year and number of a release of ncu; nothing where the report does not say, as that of ncu 2019."""
    return tuple(int(part) for part in (version or "").split(".")[:2] if part.isdecimal())


def _units(
    data: Bytes,
    folder: Path,
    launches: Sequence[LaunchFacts],
    table: MetricTable,
    values: array[float],
    known: Mapping[str, str],
) -> dict[str, str]:
    """Return the unit of each metric: recorded ones, and for names that are new here those of NVIDIA's reader.

    It is asked for the first launch of a list that brings a new name, and has to give the same values too.
    """
    units = {name: known[name] for names in table.name_lists for name in names if name in known}
    lists = [one.names for one in launches]
    ends = list(accumulate(len(table.name_lists[number]) for number in lists))
    for number, names in enumerate(table.name_lists):
        if units.keys() >= set(names):
            continue
        launch = lists.index(number)
        found = nvidias_metrics(report_file.select(data, {launch}), folder)
        told = [(name, ends[launch] - len(names) + i) for i, name in enumerate(names) if name not in SECTORS_BY_ACCESS]
        own = [values[place] for _, place in told]
        skipped = [name in table.unknown for name, _ in told]
        if list(found) != [name for name, _ in told] or not _agree(
            own, [value for _, value in found.values()], skipped
        ):
            raise DamagedData(
                f"the report is damaged, or of a newer Nsight Compute: NVIDIA's reader and its file "
                f"disagree on launch {launch}"
            )
        units |= {name: unit for name, (unit, _) in found.items()}
    return units


def _agree(own: Sequence[float], other: Sequence[float], skipped: Sequence[bool]) -> bool:
    return all(c or a == b or (a != a and b != b) for a, b, c in zip(own, other, skipped, strict=True))


def count_launches(path: Path) -> int:
    """Return how many launches NVIDIA's reader finds in a report; it may abort the process on a damaged one."""
    import ncu_report

    return sum(part.num_actions() for part in ncu_report.load_report(str(path)))


def nvidias_metrics(report: bytes, folder: Path) -> dict[str, tuple[str, float]]:
    """Return unit and value of each metric, by name and sorted, as NVIDIA's reader has them of a report of one launch.

    The report is written to ``folder`` for it. A value is NaN for a text and for what has no value.
    """
    import ncu_report

    path = folder / "one_launch.ncu-rep"
    path.write_bytes(report)
    actions = [action for part in ncu_report.load_report(str(path)) for action in part]
    path.unlink()
    if len(actions) != 1:
        return {}
    kind = ncu_report.IMetric
    found = {}
    for name in sorted(actions[0].metric_names()):
        metric = actions[0].metric_by_name(name)
        is_number = kind.has_value(metric) and kind.kind(metric) != kind.ValueKind_STRING
        found[name] = (kind.unit(metric), kind.as_double(metric) if is_number else math.nan)
    return found


def _read_instances_of(data: Bytes, folder: Path, wanted: Path, is_wanted: Callable[[str], bool]) -> None:
    """Write instances of the launches that the file ``wanted`` lists, as far as they are there; without it, of all."""
    messages, table = Messages(), InstanceTable()
    strings: list[str] = []
    blocks = report_file.blocks(data)
    for block in blocks:
        strings.extend(messages.header(data, block).strings.strings)
    entries = [entry for block in blocks for entry in block.results]
    names = {number for number, name in enumerate(strings) if is_wanted(name)}
    launches = json.loads(wanted.read_bytes()) if wanted.exists() else range(len(entries))
    for launch in (one for one in launches if one < len(entries)):
        table.add(launch, messages.instances(data, entries[launch], names), strings)
        report_file.forget(data, entries[launch])
    _write(folder, list(table.texts))
    table.write(folder)


def _write(folder: Path, document: object) -> None:
    (folder / DOCUMENT).write_text(json.dumps(document, default=_plain), encoding="utf-8")


def _plain(value: object) -> object:
    if isinstance(value, bytes):  # what the parser makes of a text that is not UTF-8
        raise DamagedData(NOT_UTF8)
    return vars(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
