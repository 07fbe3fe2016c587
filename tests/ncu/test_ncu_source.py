"""Each instruction and each source line says what it cost; nothing is lost, and damage is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ncu.conftest import Broken
from ncu.nvidia_reader import everything

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu import report_file
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.source import reading as source
from ncu_assist.ncu.source.contents import COUNTERS, NUMBERS, RATIOS
from ncu_assist.ncu.source.instruction_counters import InstructionCounters
from ncu_assist.ncu.source.reading import SourceTables, read_source

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
COUNTED = [name for name in NUMBERS if name not in RATIOS]
KIND_TYPES = {"memory_space": "category", "memory_access": "category", "memory_access_bits": "Int32"}
Unpack = Callable[[str], Path]


@pytest.fixture(scope="module")
def unpack(tmp_path_factory: pytest.TempPathFactory) -> Unpack:
    folder = tmp_path_factory.mktemp("plain")

    def plain(name: str) -> Path:
        path = folder / f"{name}.ncu-rep"
        if not path.exists():
            path.write_bytes(read_plain(DATA / f"{name}_h200_2025.3.1.ncu-rep.zst"))
        return path

    return plain


@pytest.fixture(scope="module")
def transpose(unpack: Unpack) -> SourceTables:
    return read_source(unpack("transpose_full"))


@pytest.fixture(scope="module")
def repeats(unpack: Unpack) -> SourceTables:
    return read_source(unpack("repeats_full"))


def worst(frame: pd.DataFrame, launch: int, column: str) -> pd.Series:  # type: ignore[type-arg]
    rows = frame[frame.launch == launch]
    return rows.loc[rows[column].idxmax()]


@pytest.mark.parametrize("launch", [0, 2])
def test_the_strided_store_of_a_naive_transpose(transpose: SourceTables, launch: int) -> None:
    line = worst(transpose.lines, launch, "sectors_excessive")
    assert (line.line, line.source) == (14, "  out[x * N + y] = in[y * N + x];")
    assert line.file.endswith("/transpose.cu")
    assert (line.sectors, line.sectors_ideal, line.sectors_excessive) == (1179648, 262144, 917504)
    store = worst(transpose.sass, launch, "sectors_excessive")
    assert (store.opcode, store.line) == ("STG.E", 14)
    assert (store.memory_space, store.memory_access, store.memory_access_bits) == ("Global", "Store", 32)
    assert store.sectors == 8 * store.sectors_ideal  # each thread of a warp writes to a sector of its own: 32 for 4


def test_the_conflicting_load_of_a_transpose_without_padding(transpose: SourceTables) -> None:
    line = worst(transpose.lines, 1, "wavefronts_excessive")
    assert (line.line, str(line.source).strip().split(" = ")[1]) == (23, "tile[threadIdx.x][threadIdx.y + j];")
    assert line.wavefronts == 32 * line.wavefronts_ideal  # all threads of a warp on one bank
    loads = transpose.sass[(transpose.sass.launch == 1) & (transpose.sass.wavefronts_excessive > 0)]
    assert set(loads.opcode) == {"LDS"}
    assert set(loads.memory_access) == {"Load"}
    assert set(loads.line) == {23}
    assert transpose.lines[transpose.lines.launch == 1].sectors_excessive.max() == 0


def test_the_same_load_in_another_program(repeats: SourceTables, repository: Path) -> None:
    program = (repository / "tests" / "data" / "programs" / "repeats.cu").read_text().splitlines()
    launch = repeats.sass[repeats.sass.kernel == "transpose_unpadded"].launch.iloc[0]
    line = worst(repeats.lines, launch, "wavefronts_excessive")
    assert line.source == program[line.line - 1]
    assert "= tile[threadIdx.x][threadIdx.y + j];" in line.source
    load = worst(repeats.sass, launch, "wavefronts_excessive")
    assert (load.opcode, load.line) == ("LDS", line.line)


def test_columns_and_types(transpose: SourceTables) -> None:
    types = {name: str(dtype) for name, dtype in transpose.sass.dtypes.items()}
    stalls = [name for name in types if name.startswith("stall_")]
    code = {
        "launch": "int32",
        "kernel": "category",
        "offset": "int64",
        "address": "uint64",
        "sass": "object",
        "opcode": "category",
        "file": "category",
        "line": "Int32",
    }
    numbers = dict.fromkeys(NUMBERS, "float64")
    assert types == code | numbers | KIND_TYPES | dict.fromkeys(stalls, "float64")
    assert list(types) == [*code, *numbers, *KIND_TYPES, *stalls]
    assert stalls == sorted(stalls, key=lambda name: (name.endswith("_not_issued"), name))
    assert {"stall_long_scoreboard", "stall_warpgroup_arrive", "stall_long_scoreboard_not_issued"} < {*stalls}

    types = {name: str(dtype) for name, dtype in transpose.lines.dtypes.items()}
    line = {"launch": "int32", "file": "category", "line": "Int32", "source": "object", "sass_instructions": "int32"}
    assert types == line | numbers | dict.fromkeys(stalls, "float64")
    assert list(types) == [*line, *numbers, *stalls]


def test_every_instruction_has_a_row(transpose: SourceTables) -> None:
    sass = transpose.sass
    assert sass.groupby("launch").size().tolist() == [32, 64, 32]  # with the padding that is never executed
    assert sass.kernel.unique().tolist() == ["transpose_naive", "transpose_shared"]
    assert sass[sass.launch == 1].offset.tolist() == list(range(0, 1024, 16))
    padding = sass[sass.opcode == "NOP"]
    assert (padding.instructions == 0).all()
    assert padding.threads_per_instruction.isna().all()
    assert (padding.sectors == 0).all()
    assert padding.memory_space.isna().all()


@pytest.mark.parametrize("name", ["transpose_full", "library_full", "triton_full"])
def test_sums_are_those_of_the_launch(name: str, unpack: Unpack) -> None:
    tables = read_source(unpack(name))
    of_sass, of_lines = (frame.groupby("launch")[COUNTED].sum() for frame in (tables.sass, tables.lines))
    pd.testing.assert_frame_equal(of_sass, of_lines)
    for launch, facts in enumerate(everything(unpack(name))):
        metrics = facts["metrics"]
        assert isinstance(metrics, dict)
        for column, metric in COUNTERS.items():
            assert of_sass[column][launch] == float(metrics[metric][0]), (column, launch)
        if name != "library_full":  # cuBLAS polls barriers, as often as it takes, in each pass anew
            assert of_sass.instructions[launch] == float(metrics["smsp__inst_executed.sum"][0])
        stalls = [c for c in tables.sass if c.startswith("stall_") and not c.endswith("_not_issued")]
        assert tables.sass[tables.sass.launch == launch][stalls].sum().sum() == of_sass.samples[launch]


def test_threads_of_a_line_are_weighted_by_instructions(unpack: Unpack) -> None:
    tables = read_source(unpack("triton_full"), [0])
    rows = tables.sass[tables.sass.line == 12]
    line = tables.lines[tables.lines.line == 12].iloc[0]
    assert line.threads_per_instruction == 32
    assert line.predicated_on_threads_per_instruction == 3932160 / 126976
    assert line.instructions == rows.instructions.sum() == 126976
    assert line.sass_instructions == len(rows)


def test_inlined_code_of_several_files(unpack: Unpack) -> None:
    lines = read_source(unpack("triton_full"), [1]).lines
    files = [str(path).rsplit("/", 1)[1] for path in lines.file.unique()]
    assert files[:2] == ["triton_helpers.py", "standard.py"]
    assert len(files) == 3
    assert lines[lines.line == 129].source.tolist() == ["    return tl.reduce(a, dim, maximum)"]
    for _, rows in lines.groupby("file", observed=True):
        assert rows.line.is_monotonic_increasing


def test_without_line_information_the_instructions_are_whole(unpack: Unpack) -> None:
    tables = read_source(unpack("transpose_basic"))
    assert tables.sass.groupby("launch").size().tolist() == [32, 64, 32]
    assert tables.sass.file.isna().all()
    assert tables.sass.line.isna().all()
    assert "STG.E" in set(tables.sass.opcode)
    assert tables.lines[["launch", "sass_instructions"]].to_numpy().tolist() == [[0, 32], [1, 64], [2, 32]]
    assert tables.lines[["file", "line", "source"]].isna().all(axis=None)
    for frame in (tables.sass, tables.lines):  # --set basic counts nothing by instruction
        assert frame[list(NUMBERS)].isna().all(axis=None)
        assert not [name for name in frame if name.startswith("stall_")]


def test_code_is_found_at_the_same_offset_in_another_run(repeats: SourceTables, unpack: Unpack) -> None:
    again = read_source(unpack("repeats_again_full"))
    first, second = (
        frame.drop_duplicates(["kernel", "offset"]).astype({"kernel": str, "opcode": str})[
            ["kernel", "offset", "opcode"]
        ]
        for frame in (repeats.sass, again.sass)
    )
    known = set(second.itertuples(index=False, name=None))
    assert set(first[first.kernel.isin(second.kernel)].itertuples(index=False, name=None)) == known


def test_some_launches_are_read_as_among_all(repeats: SourceTables, unpack: Unpack) -> None:
    some = read_source(unpack("repeats_full"), [5, 3, 5])
    assert some.sass.launch.unique().tolist() == [3, 5]
    for frame, whole in ((some.sass, repeats.sass), (some.lines, repeats.lines)):
        expected = whole[whole.launch.isin([3, 5])].reset_index(drop=True)
        for name in expected.select_dtypes("category"):
            expected[name] = expected[name].cat.remove_unused_categories()
        pd.testing.assert_frame_equal(frame, expected)


def test_a_large_report_is_read_in_parts(
    transpose: SourceTables, unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "BATCH_BYTES", 1)  # one launch a child process
    parts = read_source(unpack("transpose_full"))
    pd.testing.assert_frame_equal(parts.sass, transpose.sass)
    pd.testing.assert_frame_equal(parts.lines, transpose.lines)


def test_no_launches(unpack: Unpack) -> None:
    tables = read_source(unpack("transpose_full"), [])
    assert (len(tables.sass), len(tables.lines)) == (0, 0)
    assert {*NUMBERS, "launch", "file", "line"} <= {*tables.sass} & {*tables.lines}
    assert str(tables.lines["line"].dtype) == "Int32"


def test_a_launch_that_is_not_there(unpack: Unpack) -> None:
    for number in (-1, 3):
        with pytest.raises(UsageProblem, match=rf"r.zst has no launch {number}: it has 3, numbered from 0"):
            read_source(unpack("transpose_full"), [0, number], name="r.zst")


def test_counters_are_kept_where_the_code_is_not(unpack: Unpack, tmp_path: Path) -> None:
    data = unpack("transpose_full").read_bytes()
    bare = tmp_path / "bare.ncu-rep"
    blocks = report_file.blocks(data)
    kept = [[e for e in block.entries if e.kind != report_file.SOURCES] for block in blocks]
    rebuilt = [report_file._rebuilt(data, block, entries) for block, entries in zip(blocks, kept, strict=True)]
    bare.write_bytes(data[: blocks[0].header_start - 4] + b"".join(rebuilt))
    tables = read_source(bare)
    assert tables.sass.sass.isna().all()
    assert tables.sass[tables.sass.launch == 1].offset.tolist() == list(range(0, 54 * 16, 16))  # up to the last sample
    assert tables.lines.wavefronts_excessive.tolist() == [0, 1015808, 0]


def test_reports_of_2022(old_report: Path) -> None:
    tables = read_source(old_report)
    sass, lines = tables.sass, tables.lines
    assert sass.opcode.isin(["EXIT", "IMAD.MOV.U32"]).any()
    assert sass.sass.notna().all()
    assert lines.source.isna().all()  # ncu 2022 imported none of it into these
    pd.testing.assert_frame_equal(sass.groupby("launch")[COUNTED].sum(), lines.groupby("launch")[COUNTED].sum())
    if "nvtx" in old_report.name:
        assert lines.file.str.endswith("manual_nvtx.cu").all()
        assert sass.groupby("launch").instructions.sum().gt(0).all()
        assert lines.groupby("launch").size().tolist() == sass.groupby("launch").line.nunique().tolist()
        assert "stall_long_scoreboard" in lines
    else:
        assert lines.instructions.isna().all()


def test_a_reader_that_dies_or_hangs_is_damaged_data(unpack: Unpack, broken_reader: Broken) -> None:
    with pytest.raises(DamagedData, match=broken_reader.words):
        read_source(unpack("transpose_full"), timeout_s=broken_reader.limit_s)


def test_the_reader_stays_within_its_memory(unpack: Unpack) -> None:
    with pytest.raises(DamagedData, match="NVIDIA's reader failed"):
        read_source(unpack("transpose_full"), memory_bytes=60_000_000)


def test_a_cut_report_is_damaged(unpack: Unpack, tmp_path: Path) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(unpack("transpose_full").read_bytes()[:-1000])
    with pytest.raises(DamagedData):
        read_source(path)


def test_a_launch_that_cannot_be_parsed_is_damaged(unpack: Unpack, tmp_path: Path) -> None:
    data = bytearray(unpack("transpose_full").read_bytes())
    entry = list(report_file.results(bytes(data)))[1]
    data[entry.start] = 7  # no field has number 0
    path = tmp_path / "flipped.ncu-rep"
    path.write_bytes(bytes(data))
    with pytest.raises(DamagedData):
        read_source(path)


def test_a_launch_that_the_reader_drops_is_noticed(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    real = source.SourceRequest
    monkeypatch.setattr(source, "SourceRequest", lambda count, launches: real(count + 1, launches))
    with pytest.raises(DamagedData, match="it returned 2 of 3 launches"):  # of two kernels
        read_source(unpack("transpose_full"))


def test_the_reader_is_asked_once_for_launches_of_a_kernel(
    repeats: SourceTables, unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = source.SourceRequest
    monkeypatch.setattr(
        source, "SourceRequest", lambda count, launches: asked.append(len(launches)) or real(count, launches)
    )
    found = read_source(unpack("repeats_full")).found
    kernels = {(one.kernel, one.functions[0].start) for one in found}
    assert len(found) > sum(asked) == len(kernels)
    pd.testing.assert_frame_equal(source.tables_of(found).sass, repeats.sass)


def test_a_launch_has_of_its_group_what_it_ran() -> None:
    none = (source.NO_FILE,) * 2, (0,) * 2
    kernel = source.DeviceFunction(0x100, 0x100, ("MOV", "EXIT"), *none)
    called = source.DeviceFunction(0x200, 0x200, ("MUFU", "RET"), *none)
    bare = source.DeviceFunction(0x300, 0x100, ("", ""), *none, addresses=(0x300, 0x308))
    functions = (kernel, called, bare)

    def rows(counted: dict[int, float]) -> tuple[list[int], list[float]]:
        own = InstructionCounters(
            (0x100,), ("inst_executed",), np.array([*counted], np.uint64), np.array([[*counted.values()]])
        )
        found = source._launch(7, "kernel", functions, (), own)
        assert len(found.values) == 1
        return [at for one in found.functions for at in one.each_address()], found.values[0].tolist()

    assert rows({0x110: 1.0}) == ([0x100, 0x110], [0, 1])
    assert rows({0x100: 1.0, 0x200: 2.0}) == ([0x100, 0x110, 0x200, 0x210], [1, 0, 2, 0])
    assert rows({0x100: 1.0, 0x308: 3.0}) == ([0x100, 0x110, 0x308], [1, 0, 3])
    assert rows({0x210: 2.0, 0x300: 3.0, 0x308: 4.0})[1] == [0, 0, 0, 2, 3, 4]
