"""Take the samples over time out of reports that tests read, in place: no test needs them, and they weigh most.

usage: python benchmarks/trim_samples.py REPORT.ncu-rep.zst …

A metric that ncu sampled while a kernel ran keeps its value and loses its instances; all else stays as ncu wrote it,
and NVIDIA's reader reads it. A report that gets no smaller by a tenth is left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ncu_assist.ncu import compressed, report_file
from ncu_assist.ncu.messages import Messages
from ncu_assist.ncu.report_file import PAYLOAD, RESULT_METRIC, RESULTS, Block, Entry
from ncu_assist.ncu.tables import SAMPLED

NAME, INSTANCE = 1, 3  # fields of a metric
WORTH = 0.9


def main(paths: list[Path]) -> None:
    """Write each report that gets smaller, and say its size before and after."""
    for path in paths:
        data = compressed.read_plain(path)
        bare = without_samples(data)
        if report_file.metric_counts(bare) != report_file.metric_counts(data):
            sys.exit(f"{path}: other metrics than before")
        packed, before = compressed.compress(bare, compressed.SMALL), path.stat().st_size
        if len(packed) < WORTH * before:
            path.write_bytes(packed)
            sys.stdout.write(f"{path} {before} {len(packed)}\n")


def without_samples(data: bytes) -> bytes:
    """Return the report without the instances of sampled metrics."""
    found = report_file.blocks(data)
    names = [name for block in found for name in Messages().header(data, block).strings.strings]
    sampled = {number for number, name in enumerate(names) if SAMPLED.match(name)}
    return data[: found[0].header_start - 4] + b"".join(_block(data, block, sampled) for block in found)


def _block(data: bytes, block: Block, sampled: set[int]) -> bytes:
    payload = b"".join(_sized(_entry(data, one, sampled)) for one in block.entries)
    header = b"".join(
        report_file.write_varint(PAYLOAD << 3) + report_file.write_varint(len(payload))
        if field.number == PAYLOAD
        else data[field.start : field.end]
        for field in report_file.fields(data, block.header_start, block.header_end)
    )
    return _sized(header) + payload


def _entry(data: bytes, entry: Entry, sampled: set[int]) -> bytes:
    if entry.kind != RESULTS:
        return data[entry.start : entry.end]
    return b"".join(
        _metric(data, field, sampled) if field.number == RESULT_METRIC else data[field.start : field.end]
        for field in report_file.fields(data, entry.start, entry.end)
    )


def _metric(data: bytes, field: report_file.Field, sampled: set[int]) -> bytes:
    parts = list(report_file.fields(data, field.body, field.end))
    if not any(one.number == NAME and one.value in sampled for one in parts):
        return data[field.start : field.end]
    body = b"".join(data[one.start : one.end] for one in parts if one.number != INSTANCE)
    return report_file.write_varint(RESULT_METRIC << 3 | report_file.BYTES) + report_file.write_varint(len(body)) + body


def _sized(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
