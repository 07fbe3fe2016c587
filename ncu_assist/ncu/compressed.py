"""Reports as they lie on disk: plain, or compressed with zstd, xz or gzip, told apart by their first bytes."""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from ncu_assist.errors import DamagedData, EnvironmentProblem, UsageProblem

ZSTD, XZ, GZIP = b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"\x1f\x8b"
QUICK, SMALL = 9, 19  # zstd levels: a report of 21 MB takes 0.2 s to 0.64 MB, or 6 s to 0.52 MB
HEAD, CHUNK = 6, 1 << 20
ZSTD_STEP = 1 << 12  # a block of 4 bytes can stand for 128 KiB: what one step of input gives has to fit into memory
XZ_MEMORY = 1 << 30  # for its dictionary; xz -9 takes 65 MB
MAX_BYTES = 32 << 30  # 2,000 launches of the largest kind, 4.6 MB each, take 9 GB
MAX_RATIO, SMALL_BYTES = 3000, 256 << 20  # reports of many like launches pack 340 times smaller; less is always fine
MAX_LAYERS = 3  # a .ncu-repz is itself zstd and may be compressed once more


def read_plain(path: Path) -> bytes:
    """Return the bytes of a file, decompressed; raises DamagedData when they cannot be, UsageProblem without a file."""
    _check_regular(path)
    with _opened(path) as file:
        data = file.read()
    for _ in range(MAX_LAYERS):
        if not is_compressed(data):
            break
        data = b"".join(_unpacked(io.BytesIO(data), len(data), path.name))
    return data


def plain_file(path: Path, folder: Path) -> Path:
    """Return a file with the decompressed bytes of ``path``: itself, or one written to ``folder``.

    Memory stays bounded, whatever the size. Raises as ``read_plain`` does, and DamagedData for more than MAX_BYTES or
    MAX_RATIO: no report is as large.
    """
    _check_regular(path)
    name = path.name
    for layer in range(MAX_LAYERS):
        with _opened(path) as packed:
            if not is_compressed(packed.read(HEAD)):
                break
            target = folder / f"layer{layer}"
            _write(target, _unpacked(packed, path.stat().st_size, name))
        path = target
    return path


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageProblem(f"cannot read {path}: {error.strerror}") from error


def _write(target: Path, chunks: Iterator[bytes]) -> None:
    try:
        with target.open("xb") as plain:
            plain.writelines(chunks)
    except OSError as error:
        words = f"cannot decompress a report into {target.parent}: {error.strerror}"
        raise EnvironmentProblem(words, "set TMPDIR to a folder with more space") from error


def _check_regular(path: Path) -> None:
    """Raise UsageProblem for what would never end, or never begin, when it is read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise UsageProblem(f"cannot read {path}: {error.strerror}", "give the path of a report") from error
    if not stat.S_ISREG(mode):
        raise UsageProblem(f"{path} is no file but a folder, a pipe or a device", "give the path of a report")


def compress_file(source: Path, target: Path) -> Path:
    """Write ``source`` compressed with zstd to ``target``, and return that; the same bytes for the same input."""
    import zstandard

    packer = zstandard.ZstdCompressor(level=QUICK, write_checksum=True)
    with source.open("rb") as plain, target.open("xb") as packed:
        packer.copy_stream(plain, packed, size=source.stat().st_size)
    return target


def is_compressed(data: bytes) -> bool:
    """Tell whether these bytes start like a zstd, xz or gzip file."""
    return data.startswith((ZSTD, XZ, GZIP))


def compress(data: bytes, level: int = QUICK) -> bytes:
    """Return the bytes compressed with zstd, the way reports are archived; the same bytes for the same input."""
    import zstandard

    packed: bytes = zstandard.ZstdCompressor(level=level, write_checksum=True).compress(data)
    return packed


def _unpacked(packed: IO[bytes], size: int, name: str) -> Iterator[bytes]:
    """Yield what a compressed stream of this size holds. Raises DamagedData where it is cut or not what it says."""
    import zstandard

    packed.seek(0)
    head = packed.read(HEAD)
    packed.seek(0)
    limit, given = min(MAX_BYTES, max(SMALL_BYTES, MAX_RATIO * size)), 0
    try:
        for chunk in (_zstd if head.startswith(ZSTD) else _xz if head.startswith(XZ) else _gzip)(packed):
            given += len(chunk)
            if given > limit:
                raise DamagedData(f"{name} is no report: decompressed it takes more than {limit >> 20} MiB")
            yield chunk
    except (lzma.LZMAError, EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise DamagedData(f"{name} is damaged: it cannot be decompressed ({error})", "profile again") from error


def _gzip(packed: IO[bytes]) -> Iterator[bytes]:
    with gzip.open(packed) as stream:
        yield from iter(partial(stream.read, CHUNK), b"")


def _xz(packed: IO[bytes]) -> Iterator[bytes]:
    """Yield the streams of an xz file one after the other; its library ends at the first bytes that are none."""
    stream = lzma.LZMADecompressor(memlimit=XZ_MEMORY)
    while chunk := packed.read(CHUNK):
        while chunk or not (stream.eof or stream.needs_input):
            if stream.eof:
                chunk = chunk.lstrip(b"\0")  # which may stand between two streams
                if not chunk:
                    break
                stream = lzma.LZMADecompressor(memlimit=XZ_MEMORY)
            yield stream.decompress(chunk, CHUNK)
            chunk = stream.unused_data if stream.eof else b""
    if not stream.eof:
        raise EOFError("it is cut")


def _zstd(packed: IO[bytes]) -> Iterator[bytes]:
    """Yield the frames of a zstd file one after the other; its library ends a cut one without a word."""
    import zstandard

    stream = zstandard.ZstdDecompressor().decompressobj()
    while chunk := packed.read(ZSTD_STEP):
        while chunk:
            if stream.eof:
                stream = zstandard.ZstdDecompressor().decompressobj()
            yield stream.decompress(chunk)
            chunk = stream.unused_data if stream.eof else b""
    if not stream.eof:
        raise EOFError("it is cut")
