"""Recorded runs changed where they lie: files of a run written anew, and its record, which has their hashes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ncu_assist.record import encode
from ncu_assist.store import StoredRun
from ncu_assist.store.folders import RUN_JSON
from ncu_assist.store.writing import write_file


def write_files(stored: StoredRun, made: Mapping[str, bytes], without: Collection[str] = ()) -> int:
    """Write files of a run in the place of those of the same name, then its record; return their size in bytes.

    Those named in ``without`` go last: the record remembers their size and hash as dropped.
    """
    for name in made.keys() & stored.run.files.keys():
        (stored.folder / name).unlink()
    facts = {name: write_file(stored.folder / name, data) for name, data in made.items()}
    run = stored.run
    dropped = {name: run.files[name] for name in without}
    files = {name: fact for name, fact in {**run.files, **facts}.items() if name not in dropped}
    record = encode(replace(run, files=files, dropped={**run.dropped, **dropped}, digest=""))
    (stored.folder / RUN_JSON).write_bytes(record)
    for name in dropped:
        (stored.folder / name).unlink()
    return sum(fact.size for fact in facts.values())
