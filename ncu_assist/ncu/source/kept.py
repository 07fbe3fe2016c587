"""The code of launches as an archive keeps it: what NVIDIA's reader said of it, in a file that any program can read.

A disassembler takes half a second to start; this takes some milliseconds, and it still can be read when there is no
such reader any more. JSON, compressed with zstd; what occurs often stands once and is referred to by its number.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import msgspec

from ncu_assist import schema
from ncu_assist.errors import DamagedData, NewerData
from ncu_assist.ncu import compressed
from ncu_assist.ncu.cubin_lines import Chain
from ncu_assist.ncu.source.contents import NO_FILE, DeviceFunction, LaunchSource, SourceFile

SCHEMA = "ncu-assist.code/1"
MOST_BYTES = 64 << 20  # of JSON: read in 0.3 s; what would be more (20 launches of 20,000 instructions) is not kept
NO_CHAIN = -1
LAST_ADDRESS = 1 << 63


@dataclass(frozen=True)
class KeptFunction:
    """As ``contents.DeviceFunction`` has it, its ``chains`` as numbers in ``KeptCode.chains`` or NO_CHAIN."""

    start: int
    base: int
    sass: tuple[str, ...]
    files: tuple[int, ...]
    lines: tuple[int, ...]
    chains: tuple[int, ...]


@dataclass(frozen=True)
class KeptLaunch:
    """What a launch ran and counted; ``launch`` is its place in the report.

    ``values`` has a row for each metric of its list, with a number for each instruction; an empty row is all zeros.
    """

    launch: int
    kernel: str
    functions: tuple[int, ...]
    metrics: int
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class KeptCode:
    """The file: launches, and what they share. ``report_sha256`` is that of the archived report it was read from."""

    report_sha256: str
    files: tuple[SourceFile, ...]
    chains: tuple[Chain, ...]
    functions: tuple[KeptFunction, ...]
    metric_lists: tuple[tuple[str, ...], ...]
    launches: tuple[KeptLaunch, ...]
    schema: str = SCHEMA


READERS: schema.Readers[KeptCode] = {1: msgspec.json.Decoder(KeptCode).decode}


def packed(launches: Sequence[LaunchSource], report_sha256: str) -> bytes | None:
    """Return launches as a file; None where there is no code, a value that JSON has no word for, or too much."""
    import numpy as np

    if not any(one.values.shape[1] for one in launches) or not all(np.isfinite(one.values).all() for one in launches):
        return None
    if any(each.addresses for one in launches for each in one.functions):
        return None
    data = msgspec.json.encode(_Packing().code(launches, report_sha256))
    return compressed.compress(data) if len(data) <= MOST_BYTES else None


class _Packing:
    """Numbers for what launches share, in the order in which it is met."""

    def __init__(self) -> None:
        self._files: dict[SourceFile, int] = {}
        self._chains: dict[Chain, int] = {}
        self._functions: dict[tuple[int, int], int] = {}  # by identity: child processes number files for themselves
        self._kept: list[KeptFunction] = []
        self._metrics: dict[tuple[str, ...], int] = {}

    def code(self, launches: Sequence[LaunchSource], report_sha256: str) -> KeptCode:
        """Return all of these launches."""
        for file in (file for one in launches for file in one.files):
            self._files.setdefault(file, len(self._files))
        kept = tuple(self._launch(one) for one in launches)
        return KeptCode(
            report_sha256, tuple(self._files), tuple(self._chains), tuple(self._kept), tuple(self._metrics), kept
        )

    def _launch(self, one: LaunchSource) -> KeptLaunch:
        functions = tuple(self._function(each, one.files) for each in one.functions)
        metrics = self._metrics.setdefault(one.metrics, len(self._metrics))
        rows = tuple(tuple(row.tolist()) if row.any() else () for row in one.values)
        return KeptLaunch(one.launch, one.kernel, functions, metrics, rows)

    def _function(self, each: DeviceFunction, files: Sequence[SourceFile]) -> int:
        key = id(each), id(files)
        if key not in self._functions:
            numbers = tuple(number if number == NO_FILE else self._files[files[number]] for number in each.files)
            chains = tuple(self._chain(chain) for chain in each.chains)
            self._functions[key] = len(self._kept)
            self._kept.append(KeptFunction(each.start, each.base, each.sass, numbers, each.lines, chains))
        return self._functions[key]

    def _chain(self, chain: Chain | None) -> int:
        return self._chains.setdefault(chain, len(self._chains)) if chain else NO_CHAIN


def unpacked(data: bytes, name: str) -> KeptCode | None:
    """Return what ``packed`` made; None for what a newer version wrote: it is in the report, too.

    Raises DamagedData, which names the file, for anything else.
    """
    plain = decompressed(data, name)
    try:
        code = schema.read(plain, SCHEMA, READERS, name, "ncu-assist verify")
    except NewerData:
        return None
    if not _fits(code):
        raise DamagedData(f"{name} contradicts itself", "ncu-assist verify")
    return code


def decompressed(data: bytes, name: str) -> bytes:
    """Return the document in a file of a run; raises DamagedData for more than MOST_BYTES and for what is no zstd."""
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as stream:
            plain: bytes = stream.read(MOST_BYTES + 1)
    except zstandard.ZstdError as error:
        raise DamagedData(f"{name} cannot be decompressed ({error})", "ncu-assist verify") from error
    if len(plain) > MOST_BYTES:
        raise DamagedData(f"{name} takes more than {MOST_BYTES >> 20} MiB when decompressed")
    return plain


def _fits(code: KeptCode) -> bool:
    """Tell whether every number means something, and every list has as many entries as there are instructions."""
    functions = all(_function_fits(one, code) for one in code.functions)
    return functions and all(_launch_fits(one, code) for one in code.launches)


def _function_fits(one: KeptFunction, code: KeptCode) -> bool:
    size = len(one.sass)
    return (
        len(one.files) == len(one.lines) == size
        and len(one.chains) in (0, size)
        and 0 <= one.base <= one.start < LAST_ADDRESS
        and _inside(one.files, NO_FILE, len(code.files))
        and _inside(one.chains, NO_CHAIN, len(code.chains))
        and _inside(one.lines, 0, 1 << 31)
    )


def _launch_fits(one: KeptLaunch, code: KeptCode) -> bool:
    if not _inside((one.launch, one.metrics), 0, 1 << 31) or one.metrics >= len(code.metric_lists):
        return False
    if not _inside(one.functions, 0, len(code.functions)):
        return False
    size = sum(len(code.functions[number].sass) for number in one.functions)
    return len(one.values) == len(code.metric_lists[one.metrics]) and {len(row) for row in one.values} <= {0, size}


def _inside(numbers: Sequence[int], first: int, end: int) -> bool:
    return not numbers or (first <= min(numbers) and max(numbers) < end)


def launches_of(code: KeptCode, wanted: Collection[int]) -> list[LaunchSource] | None:
    """Return these launches, by their places in the report, in order; None where not all of them are kept."""
    if not {one.launch for one in code.launches}.issuperset(wanted):
        return None
    functions = [_function(one, code) for one in code.functions]
    chosen = sorted((one for one in code.launches if one.launch in wanted), key=lambda one: one.launch)
    return [_launch(one, code, functions) for one in chosen]


def _function(one: KeptFunction, code: KeptCode) -> DeviceFunction:
    bare = DeviceFunction(one.start, one.base, one.sass, one.files, one.lines)
    return replace(bare, chains=tuple(None if n == NO_CHAIN else code.chains[n] for n in one.chains))


def _launch(one: KeptLaunch, code: KeptCode, functions: Sequence[DeviceFunction]) -> LaunchSource:
    import numpy as np

    own = tuple(functions[number] for number in one.functions)
    values = np.zeros((len(one.values), sum(len(each.sass) for each in own)))
    for place, row in enumerate(one.values):
        if row:
            values[place] = row
    return LaunchSource(one.launch, one.kernel, own, code.files, code.metric_lists[one.metrics], values)
