"""Reports as they lie on disk: plain, or compressed with zstd, xz or gzip, told apart by their first bytes."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from ncu_assist.errors import DamagedData, UsageProblem

ZSTD, XZ, GZIP = b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"\x1f\x8b"
QUICK, SMALL = 9, 19  # zstd levels: a report of 21 MB takes 0.2 s to 0.64 MB, or 6 s to 0.52 MB
HEAD, CHUNK = 6, 1 << 20
MAX_BYTES = 32 << 30  # 2,000 launches of the largest kind, 4.6 MB each, take 9 GB
MAX_LAYERS = 3  # a .ncu-repz is itself zstd and may be compressed once more


def read_plain(path: Path) -> bytes:
    """Return the bytes of a file, decompressed; raises DamagedData when they cannot be, UsageProblem without a file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"cannot read {path}: {error.strerror}") from error
    for _ in range(MAX_LAYERS):
        if not is_compressed(data):
            break
        data = b"".join(_unpacked(io.BytesIO(data), path.name))
    return data


def plain_file(path: Path, folder: Path) -> Path:
    """Return a file with the decompressed bytes of ``path``: itself, or one written to ``folder``.

    Memory stays bounded, whatever the size. Raises as ``read_plain`` does, and DamagedData for more than MAX_BYTES.
    """
    for layer in range(MAX_LAYERS):
        try:
            with path.open("rb") as file:
                if not is_compressed(file.read(HEAD)):
                    break
        except OSError as error:
            raise UsageProblem(f"cannot read {path}: {error.strerror}") from error
        target = folder / f"layer{layer}"
        _unpack(path, target)
        path = target
    return path


def compress_file(source: Path, target: Path, level: int = QUICK) -> Path:
    """Write ``source`` compressed with zstd to ``target``, and return that; the same bytes for the same input."""
    import zstandard

    packer = zstandard.ZstdCompressor(level=level, write_checksum=True)
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


def _unpack(path: Path, target: Path) -> None:
    with path.open("rb") as packed, target.open("xb") as plain:
        size = 0
        for chunk in _unpacked(packed, path.name):
            size += plain.write(chunk)
            if size > MAX_BYTES:
                raise DamagedData(f"{path.name} holds more than {MAX_BYTES >> 30} GiB when decompressed")


def _unpacked(packed: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield what a compressed stream holds. Raises DamagedData where it is cut or not what it says."""
    import zstandard

    head = packed.read(HEAD)
    packed.seek(0)
    try:
        if head.startswith(ZSTD):
            yield from _zstd(packed, name)
            return
        with lzma.open(packed) if head.startswith(XZ) else gzip.open(packed) as stream:
            yield from iter(partial(stream.read, CHUNK), b"")
    except (lzma.LZMAError, EOFError, OSError, zlib.error, zstandard.ZstdError) as error:
        raise DamagedData(f"{name} is damaged: it cannot be decompressed ({error})", "profile again") from error


def _zstd(packed: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the frames of a zstd stream one after the other; its library ends a cut one without a word."""
    import zstandard

    stream = zstandard.ZstdDecompressor().decompressobj()
    while chunk := packed.read(CHUNK):
        while chunk:
            if stream.eof:
                stream = zstandard.ZstdDecompressor().decompressobj()
            yield stream.decompress(chunk)
            chunk = stream.unused_data if stream.eof else b""
    if not stream.eof:
        raise DamagedData(f"{name} is damaged: its compressed data is cut", "profile again")
