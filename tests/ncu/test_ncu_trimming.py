"""A trimmed report holds the code of the kernels that were launched, reads as before, and weighs less."""

from __future__ import annotations

from pathlib import Path

import pytest
from blanking import trimmed
from ncu.nvidia_reader import everything

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import compressed, report_file
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.cubin_lines import Elf

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
LAUNCHES = ("library", "streams", "torch", "transpose", "triton")


def _report(name: str) -> bytes:
    (path,) = DATA.glob(f"{name}_h200_2025.3.1.ncu-rep.zst")
    return read_plain(path)


def _code(data: bytes) -> dict[str, bytes]:
    """The machine code in the cubins of a report, by section."""
    cubins = [
        Elf.of(data[field.body : field.end])
        for block in report_file.blocks(data)
        for entry in block.entries
        if entry.kind == report_file.SOURCES
        for field in report_file.fields(data, entry.start, entry.end)
        if field.number == report_file.SOURCE_CUBIN
    ]
    return {
        one.name: cubin.bytes_of(one.name)
        for cubin in cubins
        for one in cubin.sections
        if one.name.startswith(".text.")
    }


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_trimmed_report_reads_as_before(name: str, tmp_path: Path) -> None:
    data = _report(f"{name}_full")
    after = trimmed(data)
    before_path, after_path = tmp_path / "before.ncu-rep", tmp_path / "after.ncu-rep"
    before_path.write_bytes(data)
    after_path.write_bytes(after)
    assert everything(after_path) == everything(before_path)
    assert len(after) == len(data)


def test_the_code_of_kernels_without_a_launch_goes() -> None:
    data = report_file.select(_report("transpose_full"), {1})  # transpose_shared
    before, after = _code(data), _code(trimmed(data))
    kept = ".text._Z16transpose_sharedPKfPf"
    assert after.pop(kept) == before.pop(kept)
    assert len(before) == 3
    assert all(any(code) for code in before.values())
    assert not any(any(code) for code in after.values())


def test_a_library_s_code_weighs_little_then() -> None:
    data = _report("torch_full")
    small, large = (len(compressed.compress(one, compressed.SMALL)) for one in (trimmed(data), data))
    assert small < large / 2


def test_a_cubin_that_more_than_launches_refer_to_keeps_all_code() -> None:
    data = report_file.select(_report("transpose_full"), {1})
    (source,) = {one for entry in report_file.results(data) for one in report_file.sources_of(data, entry)}
    shared = data + _block_with_a_range(source)
    assert [entry.kind for entry in report_file.results(shared)] == [report_file.RESULTS, report_file.RANGES]
    assert trimmed(shared) == shared
    other = data + _block_with_a_range(source + 1)
    assert trimmed(other) != other


def _block_with_a_range(source: int) -> bytes:
    """A block with nothing but a range that refers to a cubin."""
    number = report_file.OTHER_SOURCES[report_file.RANGES]
    entry = report_file.write_varint(number << 3) + report_file.write_varint(source)
    payload = len(entry).to_bytes(4, "little") + entry
    counts = {report_file.RANGES: 1, report_file.PAYLOAD: len(payload)}
    header = b"".join(
        report_file.write_varint(key << 3) + report_file.write_varint(value) for key, value in counts.items()
    )
    return len(header).to_bytes(4, "little") + header + payload


def test_what_is_no_report_is_refused() -> None:
    with pytest.raises(DamagedData, match="not an Nsight Compute report"):
        trimmed(b"x" * 100)
