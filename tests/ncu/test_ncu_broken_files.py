"""Files that are no reports, or never end: refused in words and in time, without filling memory or disk."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import zlib
from pathlib import Path
from random import Random

import pytest
import zstandard
from ncu.corruptions import Original, corrupted, recorded

from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError, UsageProblem
from ncu_assist.ncu import compressed, reader
from ncu_assist.ncu.compressed import compress, read_plain
from ncu_assist.ncu.report import read_report

GIB = 1 << 30


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"N", "this is a text"),
        (b"NVR\0", "4 bytes should follow byte 4"),
        (b"NVR\0\2\0\0\0\x08\x07", "nothing but a header"),
        (Random(1).randbytes(100_000), "does not start with NVR"),
        (b"NVR\0" + Random(2).randbytes(100_000), "is damaged"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(5000), "this is a picture"),
        (b"\x7fELF\2\1\1" + bytes(5000), "this is a program"),
        (b"PK\3\4" + bytes(5000), "this is a zip archive"),
        (b"SQLite format 3\0" + bytes(5000), "Nsight Systems"),
    ],
)
def test_what_is_no_report_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(DamagedData, match=words):
        read_report(path)


def test_a_text_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(b"hello, world\n" * 1000)
    with pytest.raises(DamagedData, match="this is a text, not an Nsight Compute report"):
        read_report(path)


def test_a_folder_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no file but a folder"):
        read_report(tmp_path)


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    for name, target in (("loop", "loop"), ("dangling", "nothing")):
        (tmp_path / name).symlink_to(tmp_path / target)
        with pytest.raises(UsageProblem, match="cannot read"):
            read_report(tmp_path / name)


def test_a_link_to_a_report_is_read(basic_path: Path, tmp_path: Path) -> None:
    (tmp_path / "r.ncu-rep.zst").symlink_to(basic_path)
    assert len(read_report(tmp_path / "r.ncu-rep.zst").launches) == 3


def test_a_pipe_and_a_device_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/stdin")):
        with pytest.raises(NcuAssistError):
            read_report(path)
        with pytest.raises(NcuAssistError):
            read_plain(path)


def test_a_file_that_may_not_be_read(basic_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.ncu-rep"
    path.write_bytes(basic_path.read_bytes())
    path.chmod(0)
    if os.access(path, os.R_OK):  # as root it may
        monkeypatch.setattr(Path, "open", _denied)
    with pytest.raises(UsageProblem, match="Permission denied"):
        read_report(path)


def _denied(*_: object) -> None:
    raise PermissionError(13, "Permission denied")


def bytes_read() -> int:
    """Return how much this process has read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_gigabytes_of_zeros(plain: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sparse.ncu-rep"
    for start, words in (
        (b"", "does not start with NVR"),
        (plain, "behind its last block are zeros, as in a copy that did not end"),
    ):
        with path.open("wb") as file:
            file.write(start)
            file.truncate(6 * GIB)
        before = bytes_read()
        with pytest.raises(DamagedData, match=words):
            read_report(path)
        assert bytes_read() - before < GIB


@pytest.mark.parametrize("seed", [240, 448])
def test_what_nvidias_reader_writes_before_a_refusal_is_no_part_of_it(tmp_path: Path, seed: int) -> None:
    """The session lost a field that NVIDIA's reader requires: it says so on stderr, and finds no launch."""
    path = tmp_path / "damaged.ncu-rep"
    path.write_bytes(corrupted(Original(recorded("transpose_basic")), "session", seed))
    with pytest.raises(DamagedData, match=r"^damaged.ncu-rep: the report is damaged, or of a newer Nsight Compute"):
        read_report(path)


@pytest.mark.parametrize("pack", [compress, lzma.compress, gzip.compress])
def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(compressed, "SMALL_BYTES", 4 << 20)
    monkeypatch.setattr(compressed, "MAX_RATIO", 100)
    path = tmp_path / "bomb.ncu-rep.zst"
    path.write_bytes(pack(bytes(64 << 20)))
    with pytest.raises(DamagedData, match="is no report: decompressed it takes more than"):
        read_report(path)


def test_a_step_of_zstd_fits_into_memory(tmp_path: Path) -> None:
    """A few kilobytes can stand for gigabytes: they are taken bit by bit."""
    path = tmp_path / "zeros"
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as stream:
        for _ in range(64):
            stream.write(bytes(4 << 20))
    with path.open("rb") as packed:
        largest = max(len(chunk) for chunk in compressed._unpacked(packed, GIB, "zeros"))
    assert path.stat().st_size < 64_000
    assert largest <= 192 << 20


@pytest.mark.parametrize("pack", [compress, lzma.compress, gzip.compress])
def test_what_follows_compressed_data_has_to_be_more_of_it(plain: bytes, tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    path, half = tmp_path / "r.ncu-rep", len(plain) // 2
    path.write_bytes(pack(plain[:half]) + pack(plain[half:]))
    assert len(read_report(path).launches) == 3
    path.write_bytes(pack(plain) + b"junk")
    with pytest.raises(DamagedData, match="cannot be decompressed"):
        read_report(path)


def test_xz_may_be_padded(plain: bytes, tmp_path: Path) -> None:
    path, half = tmp_path / "r.ncu-rep.xz", len(plain) // 2
    path.write_bytes(lzma.compress(plain[:half]) + bytes(4) + lzma.compress(plain[half:]) + bytes(8))
    assert len(read_report(path).launches) == 3


@pytest.mark.parametrize("pack", [compress, lzma.compress, gzip.compress])
def test_a_flip_in_compressed_data_is_seen(plain: bytes, tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    packed, path = pack(plain), tmp_path / "r"
    body = range(12, len(packed))  # what comes before may say when the file was made
    for seed in range(8):
        at = Random(seed).choice(body)
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 16]) + packed[at + 1 :])
        with pytest.raises(DamagedData):
            read_report(path)


def test_the_message_names_the_file_at_any_depth(plain: bytes, tmp_path: Path) -> None:
    path = tmp_path / "deep.ncu-repz.xz"
    path.write_bytes(lzma.compress(compress(plain)[:-50]))
    with pytest.raises(DamagedData, match=r"^deep\.ncu-repz\.xz is damaged"):
        read_report(path)


def test_a_full_disk_is_not_the_fault_of_the_report(basic_path: Path, tmp_path: Path) -> None:
    (tmp_path / "layer0").write_bytes(b"in the way")  # as good as a full disk: it cannot be written
    with pytest.raises(EnvironmentProblem, match="cannot decompress"):
        compressed.plain_file(basic_path, tmp_path)


def test_too_little_memory_is_said(
    basic_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setitem(reader._READERS, "scalars", fail)
    monkeypatch.setattr(reader, "limit_memory", lambda _: None)
    assert reader.main(["scalars", str(basic_path), "big.ncu-rep", str(tmp_path), str(512 << 20)]) == 7
    assert "big.ncu-rep cannot be read within 512 MiB of memory" in capsys.readouterr().err


def test_checksums_are_those_of_the_forms() -> None:
    """zstd's is asked for; xz and gzip have theirs."""
    assert zstandard.get_frame_parameters(compress(b"report")).has_checksum
    assert gzip.compress(b"report")[-8:-4] == zlib.crc32(b"report").to_bytes(4, sys.byteorder)
