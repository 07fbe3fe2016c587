"""The calls that instructions were inlined through, as reports give them."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from ncu_assist import read_report
from ncu_assist.ncu import cubin_lines, report_file
from ncu_assist.ncu.code import Code, read_code
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.source.contents import DeviceFunction, SourceFile
from ncu_assist.ncu.source.reading import Chains

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
REPORT = DATA / "repeats_full_h200_2025.3.1.ncu-rep.zst"
HISTOGRAM = 6
BLIND = DATA.parent / "gallery" / "reports" / "gallery_blind_data1_full_h200.ncu-rep.zst"


def code_of(path: Path, launches: list[int]) -> Code:
    code = read_code(read_report(path), launches)
    assert code is not None
    return code


def test_the_calls_of_code_from_headers_are_known() -> None:
    code = code_of(REPORT, [HISTOGRAM])
    inlined = code.sass[[len(chain) > 1 for chain in code.sass["chain"]]]
    headers = {PurePath(chain[0][0]).name for chain in inlined["chain"]}
    assert headers == {"device_atomic_functions.hpp"}
    assert set(inlined["opcode"].astype(str).str.split(".").str[0]) == {"ATOMS", "REDG", "BSYNC"}
    callers = {chain[1] for chain in inlined["chain"]}
    assert [line for _, line in sorted(callers)] == [73, 76]
    assert all("atomicAdd(" in code.texts[one] for one in callers)


def test_the_line_that_ncu_names_is_one_of_the_chain() -> None:
    """Also in files that the compiler knew by another way of writing their path."""
    sass = code_of(BLIND, [0, 1, 2, 3, 4, 5, 6, 7, 8]).sass
    lined = sass[sass["line"].notna()]
    assert len(lined) > 500
    chains = zip(lined["chain"], lined["file"].astype(str), lined["line"], strict=True)
    assert all((file, line) in chain for chain, file, line in chains)
    assert {PurePath(file).name for chain in lined["chain"] for file, _ in chain} > {"gallery.cuh", "blind_data.cu"}


def test_code_without_lines_has_no_chain() -> None:
    sass = code_of(DATA / "torch_full_h200_2025.3.1.ncu-rep.zst", [0]).sass
    assert sass["chain"].isna().all()


def test_a_table_that_is_too_long_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cubin_lines, "MOST_BYTES", 100)
    assert code_of(REPORT, [HISTOGRAM]).sass["chain"].isna().all()


def first_function(data: bytes) -> tuple[DeviceFunction, SourceFile, list[int]]:
    """Return a function of two instructions, the first of the first kernel, as the reader would tell of it."""
    cubins = list(report_file.sources_of(data, next(report_file.results(data))))
    place = min(Chains(data)._loaded(set(cubins)), key=lambda one: "fill" not in one.section)
    file = SourceFile("", None)
    return DeviceFunction(place.address, place.address, ("A", "B"), (0, 0), (0, 0)), file, cubins


def test_a_cubin_that_is_damaged_leaves_the_rest() -> None:
    data = read_plain(REPORT)
    function, file, cubins = first_function(data)
    chain = Chains(data)._chain(sorted(Chains(data)._loaded(set(cubins))), function.start)
    assert chain
    own = SourceFile(chain[0][0], None)
    function = DeviceFunction(function.start, function.base, function.sass, (0, 0), (chain[0][1], 1))
    assert Chains(data).of([function], (own,), cubins)[0].chains == (chain, None)
    assert Chains(data).of([function], (file,), cubins)[0].chains == (None, None), "ncu names another file"
    at = data.index(b"\x7fELF")
    for damaged in (data[:at] + b"\x7fELG" + data[at + 4 :], data[: at + 0x28] + b"\xff" * 8 + data[at + 0x30 :]):
        assert Chains(damaged).of([function], (own,), cubins) == [function]


def test_an_address_of_no_function_has_no_chain() -> None:
    data = read_plain(REPORT)
    function, file, cubins = first_function(data)
    below = DeviceFunction(16, 16, function.sass, function.files, function.lines)
    assert Chains(data).of([below], (file,), cubins) == [below]
