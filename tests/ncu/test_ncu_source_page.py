"""The frames hold what ncu's own source page shows, cell by cell."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
import pytest
from ncu.source_page import COLUMNS, DATA, Table, tables

from ncu_assist.ncu.catalogue.stalls import BOOKED_AS
from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.source.reading import SourceTables, read_source

pytestmark = pytest.mark.slow

LABEL = re.compile(r"`\(\S+\) ")  # a later reader names the target of a branch: 'BRA `(.L_x_0) 0x7fb7437a00f0'
NOT_COUNTS = ("threads_per_instruction", "predicated_on_threads_per_instruction")


def source_of(name: str, folder: Path) -> SourceTables:
    plain = folder / "r.ncu-rep"
    plain.write_bytes(read_plain(DATA / f"{name}_full_h200_2025.3.1.ncu-rep.zst"))
    return read_source(plain)


@pytest.mark.parametrize("name", ["transpose", "torch", "triton", "library"])
def test_sass_is_what_the_page_shows(name: str, tmp_path: Path) -> None:
    sass = source_of(name, tmp_path).sass
    pages = tables(f"{name}_full_h200_2025.3.1.sass.csv.zst")
    assert sass.launch.nunique() == len(pages)
    for launch, page in enumerate(pages):
        rows = sass[sass.launch == launch]
        assert list(rows.address) == [int(text, 16) for text in page.column("Address")]
        assert_same(rows, page)
        if name in ("transpose", "torch", "triton"):  # the page's disassembler orders the operands of LDGSTS otherwise
            assert [LABEL.sub("", text) for text in rows.sass] == [text.strip() for text in page.column("Source")]


@pytest.mark.parametrize("name", ["transpose", "triton"])
def test_lines_are_what_the_page_shows(name: str, tmp_path: Path) -> None:
    lines = source_of(name, tmp_path).lines
    pages = tables(f"{name}_full_h200_2025.3.1.lines.csv.zst")
    compared = 0
    launch, kernel = -1, ""
    for page in pages:
        file, function = page.title
        launch += function != kernel
        kernel = function
        of_file = lines.file.map(lambda path: PurePosixPath(path).name, na_action="ignore").astype(object) == file
        rows = lines[(lines.launch == launch) & of_file]
        assert list(rows.line) == [int(text) for text in page.column("Line No")]
        assert [str(text).strip() for text in rows.source] == [row[1].strip() for row in page.rows]
        assert_same(rows, page, but=("memory_space", "memory_access", "memory_access_bits", *NOT_COUNTS))
        compared += len(rows)
    assert compared == len(lines)


def assert_same(rows: pd.DataFrame, page: Table, but: tuple[str, ...] = ()) -> None:
    known = {ours: theirs for ours, theirs in (COLUMNS | page.stalls()).items() if theirs in page.names}
    assert len(known) >= 48
    for ours, theirs in known.items():
        if ours in but:
            continue
        shown = page.column(theirs)
        if ours.startswith("memory_"):
            assert ["" if pd.isna(value) else str(value) for value in rows[ours]] == [text.strip("-") for text in shown]
        else:
            expected = [float(text) for text in shown]
            apart = [
                name
                for own, booked in BOOKED_AS.items()
                if (name := ours.replace(booked, own)) in rows and name != ours
            ]
            found = rows[[ours, *apart]].fillna(0).sum(axis=1)  # ncu's page books them under its own reason
            assert np.floor(found).tolist() == expected, ours
