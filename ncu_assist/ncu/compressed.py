"""Reports as they lie on disk: plain, or compressed with zstd, xz or gzip, told apart by their first bytes."""

from __future__ import annotations

import gzip
import lzma
import zlib
from pathlib import Path

from ncu_assist.errors import DamagedData, UsageProblem

ZSTD, XZ, GZIP = b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"\x1f\x8b"
QUICK, SMALL = 9, 19  # zstd levels: a report of 21 MB takes 0.2 s to 0.64 MB, or 6 s to 0.52 MB
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
        data = _layer(data, path)
    return data


def is_compressed(data: bytes) -> bool:
    """Tell whether these bytes start like a zstd, xz or gzip file."""
    return data.startswith((ZSTD, XZ, GZIP))


def compress(data: bytes, level: int = QUICK) -> bytes:
    """Return the bytes compressed with zstd, the way reports are archived; the same bytes for the same input."""
    import zstandard

    packed: bytes = zstandard.ZstdCompressor(level=level, write_checksum=True).compress(data)
    return packed


def _layer(data: bytes, path: Path) -> bytes:
    import zstandard

    try:
        if data.startswith(XZ):
            return lzma.decompress(data)
        if data.startswith(GZIP):
            return gzip.decompress(data)
        stream = zstandard.ZstdDecompressor().decompressobj()
        plain: bytes = stream.decompress(data)
    except (lzma.LZMAError, EOFError, OSError, zlib.error, zstandard.ZstdError) as error:
        raise DamagedData(f"{path.name} is damaged: it cannot be decompressed ({error})", "profile again") from error
    if not stream.eof:
        raise DamagedData(f"{path.name} is damaged: its compressed data is cut", "profile again")
    return plain
