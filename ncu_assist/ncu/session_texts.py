"""What the session of a report says of a machine and its user: host, command line, environment; launches unread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file, wire
from ncu_assist.ncu.blanking import LAUNCH_SETTINGS, SESSION_KINDS
from ncu_assist.ncu.wire import Bytes


@dataclass(frozen=True)
class SessionTexts:
    """Names of hosts, and commands: the command line of ncu, the program with its arguments and environment."""

    hosts: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def session_texts(plain: Path) -> SessionTexts:
    """Return what an uncompressed report says; nothing for another kind of file. Takes milliseconds at any size."""
    try:
        with report_file.mapped(plain) as data:
            found = list(_texts(data))
    except DamagedData:
        return SessionTexts()
    hosts = dict.fromkeys(text for kind, text in found if kind == "host")
    commands = dict.fromkeys(text for kind, text in found if kind in ("command line", "launch settings"))
    return SessionTexts(tuple(hosts), tuple(commands))


def _texts(data: Bytes) -> Iterator[tuple[str, str]]:
    for block in report_file.blocks(data):
        for field in wire.fields(data, block.header_start, block.header_end):
            if field.number == report_file.SESSION and field.wire == wire.BYTES:
                for path, _, text in wire.texts(data, field.body, field.end):
                    yield ("launch settings" if path[0] == LAUNCH_SETTINGS else SESSION_KINDS.get(path, "")), text
