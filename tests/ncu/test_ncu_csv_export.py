"""Raw pages hold what the report holds, to the printed precision."""

from __future__ import annotations

import ast
import functools
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ncu.csv_made import line, numbers, page, pushed, row
from ncu.nvidia_reader import everything
from patience import grows_linearly

from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.contents import Contents
from ncu_assist.ncu.csv_page import base_unit, decode, find_table, is_csv, read_csv, split_line

DATA = Path(__file__).parent.parent / "data"
TRANSPOSE, TORCH, STREAMS = (f"{name}_full_h200_2025.3.1" for name in ("transpose", "torch", "streams"))
EXPORTS = [(TRANSPOSE, "raw"), (TRANSPOSE, "base"), (TORCH, "raw")]
WITHOUT_UNIT = {"idc__requests.sum"}  # a request by the report, nothing by its pages
LACKING = ("breakdown:", "group:")
ROUNDING = 1e-9  # of half a digit: what the comparison itself loses


def recorded(stem: str, units: str) -> bytes:
    return read_plain(DATA / f"{stem}.{units}.csv.zst")


@functools.cache
def contents(stem: str, units: str) -> Contents:
    return read_csv(recorded(stem, units), f"{stem}.csv")


@functools.cache
def oracle(stem: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "report.ncu-rep"
        plain.write_bytes(read_plain(DATA / f"{stem}.ncu-rep.zst"))
        return everything(plain)


def printed(stem: str, units: str) -> list[dict[str, tuple[str, str]]]:
    """Return cell and unit of each metric of each launch; none of these names holds a separator."""
    header, own, rows = find_table(decode(recorded(stem, units)), stem)
    return [
        {name: (cell, unit) for name, cell, unit in zip(header, split_line(each), own, strict=True)} for each in rows
    ]


def half_a_digit(cell: str, unit: str) -> float:
    digits = len(cell.partition(".")[2])
    return 0.5 * 10.0 ** (base_unit(unit)[1] - digits)


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "units"), EXPORTS)
def test_launches_are_those_of_the_report(stem: str, units: str) -> None:
    found, report = contents(stem, units), oracle(stem)
    assert len(found.launches) == len(report)
    for launch, truth in zip(found.launches, report, strict=True):
        assert launch.kernel == truth["names"][0]
        for sizes, prefix in ((launch.grid, "launch__grid_dim_"), (launch.block, "launch__block_dim_")):
            assert [str(size) for size in sizes] == [truth["metrics"][prefix + axis][0] for axis in "xyz"]
        assert [list(launch.ranges)] == truth["ranges"]
        assert launch.domain_ranges == launch.start_end_ranges == launch.rules == ()


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "units"), EXPORTS)
def test_a_page_lacks_breakdown_and_group_metrics_only(stem: str, units: str) -> None:
    found = contents(stem, units)
    assert all(list(names) == sorted(names) for names in found.name_lists)
    for number, truth in enumerate(oracle(stem)):
        names = set(found.names(number))
        lacking = set(truth["metrics"]) - names
        assert len(lacking) == 16
        assert all(name.startswith(LACKING) for name in lacking)
        assert names <= set(truth["metrics"])
        units = {name: truth["metrics"][name][1] for name in names if name not in WITHOUT_UNIT}
        assert {name: found.units[name] for name in units} == units


@pytest.mark.parametrize(("stem", "units"), EXPORTS)
def test_values_are_those_of_the_report_to_half_the_last_printed_digit(stem: str, units: str) -> None:
    found, compared = contents(stem, units), 0
    cells = printed(stem, units)
    for number, (at, launch) in enumerate(zip(found.slices(), found.launches, strict=True)):
        metrics = oracle(stem)[number]["metrics"]
        for position, (name, value) in enumerate(zip(found.names(number), found.values[at], strict=True)):
            truth = ast.literal_eval(str(metrics[name][0]).replace("nan", "None"))
            if isinstance(truth, str):
                # an empty text prints like an absent value
                assert [found.texts[launch.texts[position]]] == [truth] if truth else position not in launch.texts
                assert math.isnan(value)
            elif truth is None:
                assert math.isnan(value), name
            else:
                compared += 1
                # whole numbers print exactly, but only to the 15 to 17 digits that a double has
                within = half_a_digit(*cells[number][name]) * (1 + ROUNDING) + abs(truth) * 1e-15
                assert abs(value - truth) <= within, name
                assert position not in launch.texts
    assert compared > 2000 * len(found.launches)


def test_both_exports_say_the_same() -> None:
    for stem in (TRANSPOSE, STREAMS):
        scaled, base = contents(stem, "raw"), contents(stem, "base")
        assert scaled.units == base.units
        assert scaled.name_lists == base.name_lists
        assert scaled.launches == base.launches
        assert scaled.texts == base.texts
        assert np.array_equal(np.isnan(scaled.values), np.isnan(base.values))
        units = {unit for unit in base.units.values() if unit}
        assert all(base_unit(unit) == (unit, 0) for unit in units)


def test_streams_and_nested_ranges_are_read() -> None:
    found = contents(STREAMS, "base")
    assert [launch.kernel for launch in found.launches] == ["scale"] * 4
    assert [launch.signature for launch in found.launches][1] == "void scale<double, 3>(T1 *, int)"
    assert [launch.stream for launch in found.launches] == [13, 14, 14, 7]
    assert {(launch.process, launch.context, launch.mangled) for launch in found.launches} == {(3165, 1, "")}
    assert [launch.ranges for launch in found.launches] == [("step 1", 'layer/0 "quoted"'), ("step 1",), (), ()]
    assert [launch.domain_ranges for launch in found.launches] == [(), ("model:attention",), (), ()]
    assert [launch.start_end_ranges for launch in found.launches] == [("whole run",)] * 3 + [()]
    assert [launch.block[0] for launch in found.launches] == [256, 128, 512, 256]
    assert found.session.host == "127.0.0.1"
    assert found.session.ncu_version is found.session.driver is found.session.command is None


def test_a_sum_of_bytes_is_in_bytes() -> None:
    found = read_csv(page(row(0, "1,234.57", "6.016000", "all")).encode(), "made.csv")
    assert found.name_lists == (("dram__bytes.sum", "gpu__time_duration.sum", "launch__tpc_enabled"),)
    assert found.units == {"dram__bytes.sum": "byte", "gpu__time_duration.sum": "ns", "launch__tpc_enabled": ""}
    assert found.values.tolist()[:2] == [6016.0, 1234570.0]
    assert found.launches[0].texts == {2: 0}
    assert found.texts == ("all",)
    assert (found.launches[0].grid, found.launches[0].block) == ((4096, 2, 1), (256, 1, 1))


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("0", 0.0),
        ("-0.25", -0.25),
        ("1,017,616,732,026,143.88", 1017616732026143.88),
        ("20684", 20684.0),
        ("0.500", 0.5),
        ("inf", math.inf),
        ("12 (3; 4; 5)", 12.0),
        ("1,234.50 (1,000.00; 234.50)", 1234.5),
    ],
)
def test_a_cell_is_a_number(cell: str, value: float) -> None:
    assert read_csv(numbers(metric_a=cell).encode(), "made.csv").values.tolist() == [value]


@pytest.mark.parametrize("cell", ["", "no data", "n/a", "nan", "-nan", "(1; 2)"])
def test_a_cell_may_hold_no_number(cell: str) -> None:
    found = read_csv(numbers(metric_a=cell).encode(), "made.csv")
    assert np.isnan(found.values).all()
    assert found.launches[0].texts == {}


def test_a_text_metric_is_a_text_whatever_it_looks_like() -> None:
    found = read_csv(
        numbers(metric_a="3", launch__tpc_enabled="0,1,3", launch__func_cache_config="3").encode(), "m.csv"
    )
    assert found.texts == ("0,1,3", "3")
    assert found.values[2] == 3.0


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("==PROF== Connected to process 7\nhello, world\n\n", "==PROF== Disconnected from process 7\n\n"),
        ("", "==WARNING== something\n"),
        ("\n", "\n"),
    ],
)
def test_lines_around_the_table_do_not_count(before: str, behind: str) -> None:
    text = page(row(0, "1.00", "2.00", "all"), row(1, "3.00", "4.00", "all"))
    plain, found = (read_csv(each.encode(), "made.csv") for each in (text, before + text + behind))
    assert found.launches == plain.launches
    assert is_csv((before + text).encode())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "==PROF== Connected\n"])
def test_a_redirected_table_is_read(encoding: str, end: str, before: str) -> None:
    text = before + page(row(0, "1.00", "2.00", "all", kernel="größe(int)"))
    data = text.replace("\n", end).encode(encoding)
    assert is_csv(data[:64])
    assert read_csv(data, "made.csv").launches[0].kernel == "größe"


@pytest.mark.parametrize(
    "name",
    ['a","b', 'a"," ""b', "two\nlines", '"', '","', "a\n==PROF== b", "<script>", "\x00\x1b[31m\u2028", "n" * (1 << 20)],
)
def test_a_range_may_be_called_anything(name: str) -> None:
    rows = [row(i, "1.00", "2.00", "all", ranges=(pushed("outer", name), "")) for i in range(2)]
    found = read_csv(page(*rows).encode(), "made.csv")
    assert [launch.ranges for launch in found.launches] == [("outer", name)] * 2


@pytest.mark.parametrize(
    "name", ['operator""_x(int)', "<b>&amp;</b>", "tab\tline\nend\x00\x7f", "k" * (1 << 20), "größe(int)"]
)
def test_a_kernel_may_be_called_anything(name: str) -> None:
    found = read_csv(page(row(0, "1.00", "2.00", "all", kernel=name)).encode(), "made.csv")
    assert found.launches[0].signature == name


def test_a_mangled_name_is_kept_as_such() -> None:
    (launch,) = read_csv(page(row(0, "1.00", "2.00", "all", kernel="_Z4fillPfi")).encode(), "made.csv").launches
    assert launch.mangled == launch.signature == launch.kernel == "_Z4fillPfi"


def test_a_page_without_ranges_has_none() -> None:
    text = page(row(0, "1.00", "2.00", "all", ranges=None), ranges=False)
    assert read_csv(text.encode(), "made.csv").launches[0].ranges == ()


def test_five_hundred_launches_take_no_time() -> None:
    text = recorded(STREAMS, "raw").decode()
    head, _, body = text.partition('"0","3165"')
    one = body.partition('\n"1"')[0]

    def read(size: int) -> None:
        many = head + "".join(f'"{number}","3165"{one}\n' for number in range(size))
        assert len(read_csv(many.encode(), "many.csv").launches) == size

    read(500)
    assert grows_linearly(read, 5)


@pytest.mark.parametrize("stem", [TRANSPOSE, TORCH])
def test_a_report_is_no_table(stem: str) -> None:
    assert not is_csv(read_plain(DATA / f"{stem}.ncu-rep.zst")[:4096])
    assert not is_csv((DATA / f"{stem}.ncu-rep.zst").read_bytes()[:4096])


@pytest.mark.parametrize("head", [b"", b"garbage", b"\x00\x01\x02,", bytes(range(256)), line("a").encode()])
def test_other_bytes_are_no_table(head: bytes) -> None:
    assert not is_csv(head)


def test_a_head_may_end_inside_a_character() -> None:
    assert is_csv("a,größe".encode()[:5])
