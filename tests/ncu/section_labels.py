"""What the sections of a report call its metrics: how ncu describes them in the file itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ncu_assist.ncu import report_file
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.messages import Messages

TITLE, HEAD, BODY = 2, 4, 5  # fields of a section
METRIC_OF_HEAD, METRIC_OF_TABLE = 2, 5
NAME, LABEL, OTHERWISE = 1, 2, 7  # fields of a metric; the last is what it is on other chips

Said = tuple[str, str, str, frozenset[str]]  # section, table or nothing, label, names on all chips


def section_labels(path: Path) -> set[Said]:
    """Return what the sections of the first launch of each block say."""
    data, messages = read_plain(path), Messages()
    results = [messages.result(data, block.results[0]) for block in report_file.blocks(data) if block.results]
    return {said for result in results for section in set(result.sections) for said in _of_section(section)}


def _of_section(section: bytes) -> Iterator[Said]:
    title = _texts(section, TITLE)[0]
    for head in _parts(section, HEAD):
        for metric in _parts(head, METRIC_OF_HEAD):
            yield from ((title, "", *said) for said in _of_metric(metric))
    for body in _parts(section, BODY):
        yield from ((title, *said) for said in _of_tables(body))


def _of_tables(message: bytes) -> Iterator[tuple[str, str, frozenset[str]]]:
    for metric in _parts(message, METRIC_OF_TABLE):
        if _texts(message, NAME):
            yield from ((_texts(message, NAME)[0], *said) for said in _of_metric(metric))
    for part in _parts(message):
        yield from _of_tables(part)


def _of_metric(metric: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    names = [name for part in (metric, *_parts(metric, OTHERWISE)) for name in _texts(part, NAME)]
    if any("__" in name for name in names):
        yield from ((label, frozenset(names)) for label in _texts(metric, LABEL))


def _parts(message: bytes, number: int | None = None) -> list[bytes]:
    """Return the fields of this number, of all numbers where none is given, that are messages or texts."""
    if not report_file.is_message(message, 0, len(message)):
        return []
    found = report_file.fields(message, 0, len(message))
    return [
        message[one.body : one.end] for one in found if one.wire == report_file.BYTES and number in (None, one.number)
    ]


def _texts(message: bytes, number: int) -> list[str]:
    parts = [part.decode("ascii", "replace") for part in _parts(message, number)]
    return [part for part in parts if part and part.isprintable() and "\ufffd" not in part]
