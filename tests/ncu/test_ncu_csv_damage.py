"""What raw pages that are cut, changed or of another kind get: words, and never fewer launches or metrics."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ncu.csv_made import UNITS, line, numbers, page, pushed, row
from ncu.test_ncu_csv_export import STREAMS, TRANSPOSE, recorded

from ncu_assist.errors import DamagedData, NcuAssistError, UsageProblem
from ncu_assist.ncu.csv_page import is_csv, read_csv
from ncu_assist.ncu.report import read_report

ROWS = [
    row(0, "1,234.50", "2.00", "all", ranges=(pushed("a", 'b "c"'), "")),
    row(1, "12", "no data", "all", kernel="void k<2>(int)", ranges=(pushed('x","y', "two\nlines"), "")),
    row(2, "1.00", "", "", ranges=(pushed("z"), pushed("end").replace("7  ", " ").replace("<", "0:<"))),
]
MADE = page(*ROWS)
WORKING_COMMAND = "ncu --import FILE.ncu-rep --csv --page raw --print-units base"


def launches_of(data: bytes) -> int | None:
    """Return how many launches are read, each with all metrics; None when it is an error with words."""
    try:
        found = read_csv(data, "made.csv")
    except NcuAssistError as error:
        refused = error
    else:
        assert all(len(found.names(i)) == len(found.values[at]) for i, at in enumerate(found.slices()))
        return len(found.launches)
    assert refused.exit_code in (2, 7)
    assert "made.csv" in refused.message
    assert refused.hint
    return None


def whole_rows(text: str) -> dict[int, int]:
    """Return where a cut cannot be seen, and the launches before it: at a row's end, with its newline or without."""
    ends = {}
    at = text.index('"0","')
    for number, each in enumerate(ROWS if text == MADE else text[at:].splitlines(keepends=True), start=1):
        at += len(each)
        ends[at] = ends[at - 1] = number
    return ends


def test_a_cut_at_any_byte_is_seen_or_stands_at_the_end_of_a_row() -> None:
    ends = whole_rows(MADE)
    for size in range(len(MADE)):
        assert launches_of(MADE[:size].encode()) == ends.get(size), size


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("units", ["raw", "base"])
def test_a_recorded_page_is_cut(encoding: str, units: str) -> None:
    text = recorded(STREAMS, units).decode()
    ends, seeded = whole_rows(text), random.Random(3)
    sizes = [*ends, *(end + step for end in ends for step in (-3, -2, 1, 2)), *seeded.sample(range(len(text)), 40)]
    for size in sizes:
        assert launches_of(text[:size].encode(encoding)) == ends.get(size, 4 if size >= len(text) else None), size


def test_half_a_character_at_the_end_is_seen() -> None:
    assert launches_of(MADE.encode("utf-16")[:-1]) is None


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(MADE) - 1), st.integers(0, 7))
def test_a_flipped_bit_loses_no_launch_and_no_metric(at: int, bit: int) -> None:
    data = bytearray(MADE.encode())
    data[at] ^= 1 << bit
    assert launches_of(bytes(data)) in (None, len(ROWS))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(MADE)))
def test_foreign_bytes_in_a_page_are_no_traceback(noise: bytes, at: int) -> None:
    data = MADE.encode()
    is_csv(noise)
    launches_of(noise)
    assert launches_of(data[:at] + noise + data[at:]) in (None, len(ROWS))


@pytest.mark.slow
def test_a_recorded_page_loses_no_launch_to_a_flipped_byte() -> None:
    data, seeded = recorded(TRANSPOSE, "raw"), random.Random(5)
    for _ in range(100):
        changed = bytearray(data)
        changed[seeded.randrange(len(data))] = seeded.randrange(256)
        assert launches_of(bytes(changed)) in (None, 3)


def without(text: str, number: int) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[:number] + lines[number + 1 :])


SIMPLE = page(row(0, "1.00", "2.00", "all"), row(1, "3.00", "4.00", "all"))
DAMAGED = {
    "empty": ("", "is empty"),
    "blank": (" \n\n", "is empty"),
    "header only": (SIMPLE.splitlines(keepends=True)[0], "before the first launch"),
    "no row of units": (without(SIMPLE, 1), "units, is missing"),
    "no launches": ("".join(SIMPLE.splitlines(keepends=True)[:2]), "before the first launch"),
    "too few units": (SIMPLE.replace('"us","Kbyte",""', '"us"'), "should hold 16 units"),
    "a name twice": (SIMPLE.replace("gpu__time_duration.sum", "dram__bytes.sum"), "dram__bytes.sum more than once"),
    "a row with more cells": (SIMPLE + row(2, "1.00", "2.00", "all", "5"), "launch 2 do not fit"),
    "a row with fewer cells": (SIMPLE + row(2, "1.00", "2.00"), "launch 2 do not fit"),
    "a row twice": (SIMPLE + row(1, "3.00", "4.00", "all"), "same ID"),
    "two exports": (SIMPLE + SIMPLE, "more than one export"),
    "text behind a row": (SIMPLE + "done\n", "launch 1 ends inside a cell"),
    "a text for a number": (SIMPLE.replace('"3.00"', '"fast"'), "is 'fast', where a number belongs"),
    "a number with letters": (SIMPLE.replace('"3.00"', '"3.0O"'), "is '3.0O', where a number belongs"),
    "ranges of another form": (SIMPLE + row(2, "1", "2", "all", ranges=("7 a", "")), "ranges of launch 2"),
    "messages only": ("==PROF== Connected\n==ERROR== failed\n", "messages of ncu, but no table"),
    "part of a header": ('"ID","Pro', "row of column names"),
    "semicolons": (SIMPLE.replace('","', '";"'), "saved again"),
    "unquoted": (SIMPLE.replace('"', ""), "saved again"),
    "tabs": (SIMPLE.replace('","', "\t").replace('"', ""), "saved again"),
}


@pytest.mark.parametrize("duration", ["-5.20", "inf"])
def test_a_time_that_cannot_be_is_damage(tmp_path: Path, duration: str) -> None:
    (tmp_path / "made.csv").write_text(page(row(0, "1.00", "2.00", "all"), row(1, duration, "2.00", "all")))
    with pytest.raises(DamagedData, match=r"made.csv is damaged: launch 1 takes .* ns, which no launch can"):
        read_report(tmp_path / "made.csv")


def test_of_a_raw_page_what_nothing_here_reads_is_no_news() -> None:
    units = {"gpu__time_duration.sum": "us", "derived_tempMetric4": "", "dram__bytes.sum": "Kbyte"}
    assert read_csv(page(row(0, "1.00", "nan", "2.00"), units=units).encode(), "made.csv").notes == ()
    (note,) = read_csv(page(row(0, "1.00", "nan", "-2.00"), units=units).encode(), "made.csv").notes
    assert note == "below zero, which no counter can be: dram__bytes.sum -2.00 Kbyte; nothing is concluded from it"


@pytest.mark.parametrize("case", DAMAGED)
def test_damage_is_named(case: str) -> None:
    text, words = DAMAGED[case]
    with pytest.raises(DamagedData, match=words) as found:
        read_csv(text.encode(), "made.csv")
    assert found.value.exit_code == 7
    assert found.value.message.startswith("made.csv ")
    assert not text.strip() or is_csv(text.encode())


# The first is what ncu 2025 prints under a European locale on Windows for 117344 ns, the second for 27595520 byte.
@pytest.mark.parametrize(
    "cell",
    ["117.344", "27.595.520", "1.234,56", "3,14", "0,123", "0,123456", "1'234.50", "1 234,50", "1\u202f234",
     "12,34,567.00", "1\u00a0234,50", "-1.234", "1,2345", "1,234,5", "1.2.3"],
)  # fmt: skip
def test_the_numbers_of_another_locale_are_refused(cell: str) -> None:
    for data in (numbers(metric_a="1", metric_b=cell).encode(), numbers(metric_a=cell).encode("utf-16")):
        with pytest.raises(DamagedData, match="not a number as ncu prints it in English") as found:
            read_csv(data, "made.csv")
        assert "LC_ALL=C" in found.value.hint
        assert WORKING_COMMAND in found.value.hint


def test_a_no_break_space_of_a_windows_code_page_is_seen() -> None:
    with pytest.raises(DamagedData, match="in English"):
        read_csv(numbers(metric_a="1\u00a0234").encode("latin-1"), "made.csv")


DETAILS = line("ID", "Process ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value")
DETAILS += line("0", "7", "k", "Launch", "Registers", "register/thread", "16")
OTHER = {
    "details": (DETAILS, "of no row can be said for certain"),
    "details with messages": ("==PROF== Connected\n" + DETAILS, "of no row can be said for certain"),
    "source": (line("Address", "Source", "# Samples"), "source page"),
    "source by kernel": (line("Kernel Name", "k(int)") + line("Address", "Source"), "source page"),
    "source by file": (line("File Name", "k.cu") + line("Line No", "Source"), "source page"),
    "a summary": (SIMPLE.replace('"CC"', '"CC","Invocations made"'), "is no metric"),
    "a column between": (SIMPLE.replace('"Context"', '"Context","Thread"'), "'Thread' is no metric"),
    "no sizes": (SIMPLE.replace("Grid Size", "grid_size"), "no column 'Grid Size'"),
}


@pytest.mark.parametrize("case", OTHER)
def test_another_page_is_refused_with_the_command_that_works(case: str) -> None:
    text, words = OTHER[case]
    if case in ("a summary", "a column between"):
        text = text.replace('"",""', '"","",""', 1)
    with pytest.raises(UsageProblem, match=words) as found:
        read_csv(text.encode(), "made.csv")
    assert WORKING_COMMAND in found.value.hint
    assert is_csv(text.encode())


def test_another_table_is_a_text_as_any() -> None:
    with pytest.raises(DamagedData, match="this is a text, not an Nsight Compute report or an export") as found:
        read_csv(b"a,b\n1,2\n", "made.csv")
    assert "ncu-assist list" in found.value.hint


@pytest.mark.parametrize(
    "part", ['"', '""', '","', "\n", " ", "(", ":", '""  ""', "1", "\n==PROF== x", '"," ""', "\ufffd"]
)
@pytest.mark.parametrize("place", ["kernel", "ranges", "value", "behind"])
def test_megabytes_in_one_cell_take_no_time(part: str, place: str) -> None:
    """What grows with the square takes hours, which the time limit of all tests ends."""
    much = part * ((1 << 20) // len(part))
    rows = {
        "kernel": row(0, "1", "2", "all", kernel=much),
        "ranges": row(0, "1", "2", "all", ranges=(pushed(much), "")),
        "value": row(0, "1", much, "all"),
        "behind": row(0, "1", "2", "all") + much,
    }
    launches_of(page(rows[place], units=UNITS).encode())
    is_csv(much.encode())
