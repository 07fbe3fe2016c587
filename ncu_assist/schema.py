"""Files that name their schema: a reader for each that was ever written, and a plain word for what is newer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from ncu_assist.errors import DamagedData, NewerData

FORM = re.compile(r"(?P<kind>[a-z.-]+)/(?P<number>[1-9]\d{0,5})", re.ASCII)
UPGRADE = "read it with the ncu-assist that wrote it, or a newer one"
T = TypeVar("T")
# A number goes up where an older reader would misread what is written; a field more is none. Its reader stays for ever.
Readers = Mapping[int, Callable[[bytes], T]]


@dataclass(frozen=True)
class Named:
    """As much of a file as says what schema it has."""

    schema: str


def read(data: bytes, schema: str, readers: Readers[T], name: str, hint: str = "") -> T:
    """Return what the reader of the schema that a file names makes of it; ``schema`` is the one written now.

    Raises NewerData for one that a later version wrote, DamagedData for anything else that is no such file.
    """
    try:
        said = msgspec.json.decode(data, type=Named).schema
        return reader_of(said, schema, readers, name, hint)(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedData(f"{name} cannot be read: {error}", hint) from error


def reader_of(said: str, schema: str, readers: Readers[T], name: str, hint: str = "") -> Callable[[bytes], T]:
    """Return the reader of the schema that a file names. Raises as ``read`` does."""
    form, kind, newest = FORM.fullmatch(said), schema.partition("/")[0], max(readers)
    if form is None or form["kind"] != kind:
        raise DamagedData(f"{name} has schema '{said}', this version reads '{schema}'", hint)
    number = int(form["number"])
    if number > newest:
        raise NewerData(
            f"{name} was written by a newer ncu-assist: its schema is {said}, known here is {schema}", UPGRADE
        )
    if number not in readers:
        raise DamagedData(f"{name} has schema '{said}', which no version wrote", hint)
    return readers[number]
