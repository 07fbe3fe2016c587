"""The line table of a cubin: where each instruction comes from, and through which calls it was inlined."""

from __future__ import annotations

import random
from pathlib import Path, PurePath

import pytest
from ncu.cubins import ADDRESS, END, SECTION, cubin, cubins_of, file, inlined, row
from patience import lines_run

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.cubin_lines import Chain, Elf, Inlining, chain_at, read_inlining

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data"
COMPUTE = TESTS / "gallery" / "reports" / "gallery_compute1_full_h200.ncu-rep.zst"
# Line 3 of a.cu, then line 8 of lib.h inlined there, then line 9 inlined at that, then line 4 of a.cu.
CALLS = (
    ADDRESS
    + (row(0, 2) + inlined(1) + file(2) + row(2, 5) + inlined(2) + row(2, 1))
    + (inlined(0) + file(1) + row(2, -5) + row(2, 0))
)


def chains(data: bytes, *offsets: int) -> list[Chain | None]:
    found = read_inlining(data)
    assert found is not None
    return [chain_at(found, SECTION, offset) for offset in offsets]


def tried(data: bytes) -> Inlining | DamagedData | None:
    try:
        return read_inlining(data)
    except DamagedData as error:
        return error


def test_every_line_is_the_one_that_nvdisasm_names() -> None:
    (one,) = cubins_of(COMPUTE)
    found = read_inlining(one)
    assert found is not None
    rows = [text.split("\t") for text in read_plain(DATA / "nvdisasm_inlined_13.5.tsv.zst").decode().splitlines()]
    assert len(rows) == 1086
    assert sum(" " in chain for _, _, chain in rows) == 573
    for section, offset, chain in rows:
        own = chain_at(found, section, int(offset, 16))
        assert own is not None
        assert " ".join(f"{PurePath(name).name}:{line}" for name, line in own) == chain, (section, offset)


def test_where_only_the_caller_changes_the_caller_is_right() -> None:
    """nvdisasm prints nothing there: of two rotations, by 17 and by 13, it calls the second one the first's."""
    found = read_inlining(cubins_of(COMPUTE)[0])
    assert found is not None
    outer = [(chain_at(found, ".text.pipe_alu_hash", offset) or ())[-1][1] for offset in (0xE0, 0x100, 0x110)]
    assert outer == [45, 46, 45]


def test_a_chain_leads_outwards() -> None:
    data = cubin(CALLS + END)
    assert chains(data, 0, 1, 2, 3) == [
        (("dir/a.cu", 3),),
        (("dir/a.cu", 3),),
        (("dir/lib.h", 8), ("dir/a.cu", 3)),
        (("dir/lib.h", 8), ("dir/a.cu", 3)),
    ]
    assert chains(data, 4, 6) == [(("dir/lib.h", 9), ("dir/lib.h", 8), ("dir/a.cu", 3)), (("dir/a.cu", 4),)]


def test_behind_the_end_and_in_other_sections_nothing_is_known() -> None:
    found = read_inlining(cubin(CALLS + END))
    assert found is not None
    assert chain_at(found, SECTION, 8) is None
    assert chain_at(found, SECTION, 4096) is None
    assert chain_at(found, ".text.other", 0) is None


def test_rows_are_numbered_in_each_sequence() -> None:
    later = ADDRESS + bytes([2, 100]) + row(0, 2) + inlined(1) + file(2) + row(2, 5) + bytes([2, 1]) + END
    (call, inner) = chains(cubin(CALLS + END, later), 100, 102)
    assert (call, inner) == ((("dir/a.cu", 3),), (("dir/lib.h", 8), ("dir/a.cu", 3)))
    assert chains(cubin(CALLS + END, later), 2) == chains(cubin(CALLS + END), 2)


@pytest.mark.parametrize("call", [2, 3, 100])
def test_a_call_that_does_not_stand_above_is_no_call(call: int) -> None:
    data = cubin(ADDRESS + row(0, 2) + inlined(call) + row(2, 1) + row(2, 1) + END)
    assert chains(data, 0, 2) == [(("dir/a.cu", 3),), None]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_versions_of_the_table(version: int) -> None:
    assert chains(cubin(CALLS + END, version=version), 2) == [(("dir/lib.h", 8), ("dir/a.cu", 3))]


def test_a_version_with_other_tables_is_refused() -> None:
    with pytest.raises(DamagedData, match="cannot be read"):
        read_inlining(cubin(CALLS + END, version=5))


def test_code_without_lines_has_none() -> None:
    for one in cubins_of(DATA / "torch_full_h200_2025.3.1.ncu-rep.zst"):
        assert read_inlining(one) is None


def test_lines_without_calls() -> None:
    """Triton writes which line, and not who called."""
    _, generated = (read_inlining(one) for one in cubins_of(DATA / "triton_full_h200_2025.3.1.ncu-rep.zst"))
    assert generated is not None
    ((_, found),) = generated.values()
    assert {len(chain) for chain in found if chain} == {1}


def test_every_cut_is_an_error_or_whole() -> None:
    made, recorded = cubin(CALLS + END), cubins_of(DATA / "triton_full_h200_2025.3.1.ncu-rep.zst")[0]
    for whole in (made, recorded):
        found = [tried(whole[:size]) for size in range(len(whole))]
        behind = max(size for size, one in enumerate(found) if isinstance(one, DamagedData))
        assert all(isinstance(one, DamagedData) for one in found[:behind])
        assert all(one == tried(whole) for one in found[behind + 1 :]), "what follows the sections is not needed"


def test_a_table_without_its_end_is_cut_as_well() -> None:
    for size in range(len(CALLS)):
        found = tried(cubin(CALLS[:size]))
        assert found == {} or isinstance(found, DamagedData), "of no row it is known how far it reaches"


@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_change_lead_to_an_error_or_other_lines(seed: int) -> None:
    whole = cubins_of(DATA / "repeats_full_h200_2025.3.1.ncu-rep.zst")[0]
    names = (".debug_line", ".rela.debug_line", ".symtab", ".shstrtab")
    spots = [one for one in Elf.of(whole).sections if one.name in names]
    rng = random.Random(seed)
    for _ in range(150):
        changed = bytearray(whole)
        for spot in rng.choices(spots, k=rng.choice([1, 3, 20])):
            changed[spot.start + rng.randrange(spot.size)] = rng.randrange(256)
        changed[rng.choice([rng.randrange(64), 0])] ^= rng.choice([0, 1])
        tried(bytes(changed))


def test_a_number_without_an_end_takes_no_time() -> None:
    def read(size: int) -> None:
        assert isinstance(tried(cubin(ADDRESS + bytes([2]) + b"\x80" * size)), DamagedData)

    assert lines_run(lambda: read(1_000_000)) == lines_run(lambda: read(1_000))
