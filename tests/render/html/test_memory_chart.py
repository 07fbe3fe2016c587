"""The figures on links against the counters of recorded runs, and which link is the limit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from render.html.charts_page import ARCHIVE, GALLERY, launch, recorded, shown

from ncu_assist.analysis.memory_flows import FLOWS, memory_tables
from ncu_assist.analysis.run_view import RunView
from ncu_assist.frame import combine_launches
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.memory_chart import THINNEST, WIDEST, delta, memory_chart, width_of

BY_ID = {flow.id: flow for flow in FLOWS}
MEMORY = GALLERY / "gallery_memory1_full_h200.ncu-rep.zst"
CONTROL = GALLERY / "gallery_control1_full_h200.ncu-rep.zst"
ONCHIP = GALLERY / "gallery_onchip1_full_h200.ncu-rep.zst"
# flow: the metric that ncu's chart shows on the link, times what makes it bytes
NCU = {
    "kernel-global-load": ("smsp__sass_inst_executed_op_global_ld.sum", 1),
    "kernel-shared-load": ("smsp__sass_inst_executed_op_shared_ld.sum", 1),
    "global-l1-load": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1),
    "global-l1-store": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 1),
    "shared-banks-load": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 1),
    "l1-l2-load": ("l1tex__m_xbar2l1tex_read_bytes.sum", 1),
    "l1-l2-store": ("l1tex__m_l1tex2xbar_write_bytes.sum", 1),
    "l2-dram-load": ("dram__bytes_read.sum", 1),
    "l2-dram-store": ("dram__bytes_write.sum", 1),
    "l2-host-load": ("lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum", 32),
}
WITHOUT_SHARE = ("kernel-global-load", "kernel-shared-load")  # ncu gives none of loads alone
HOST_SHARE = "l2-host-load"  # of what was measured


@pytest.mark.parametrize("version", ["v3", "v6", "v7"])
@pytest.mark.parametrize("workload", ["b64_d96", "b1_d128"])
def test_figures_are_those_of_the_report(version: str, workload: str) -> None:
    one = shown(version, workload)
    frame = recorded(version).metrics()
    index = one.combined.launches[0].index
    raw = frame[frame["launch"] == index].set_index("metric")["value"]
    for name, (metric, factor) in NCU.items():
        flow = BY_ID[name]
        assert flow.amount(one) == raw[metric] * factor
        if name in WITHOUT_SHARE:
            assert flow.percent(one) is None
        elif name != HOST_SHARE:
            assert flow.percent(one) == raw[f"{metric}.pct_of_peak_sustained_elapsed"], name


def test_every_figure_stands_in_the_table_under_its_name() -> None:
    made = memory_chart(shown("v6"))
    assert made.folded is not None
    named = {row[2].term.name: row[3].text for row in made.folded[1].rows if row[2].term}
    assert named["l1tex__m_xbar2l1tex_read_bytes.sum"] == "162 MB"
    assert named["l1tex__t_sector_hit_rate.pct"] == "77.0 %"
    said = {word.text for word in made.chart.words}
    assert {"162 MB", "155 MB", "153 MB", "127 MB", "1.22 M inst", "Hit rate 77.0 %"} <= said


def test_a_share_of_peak_is_that_of_the_metric_beside_it() -> None:
    made = memory_chart(shown("v6"))
    assert made.folded is not None
    raw = recorded("v6").metrics()
    raw = raw[raw["launch"] == shown("v6").combined.launches[0].index].set_index("metric")["value"]
    shares = {row[2].term.name: row[4].text for row in made.folded[1].rows if row[2].term and row[4].text != "-"}
    assert shares["l1tex__m_l1tex2xbar_write_bytes.sum"] == "8.5 %"
    for name, share in shares.items():
        assert share == f"{raw[f'{name}.pct_of_peak_sustained_elapsed']:.1f} %", name
    texts = [word.text for word in made.chart.words]
    assert any(text.endswith(" % of L2 input") for text in texts)  # the port is busier than the bytes alone say
    assert any("req · 2.1 %" in text for text in texts)  # of requests, not of their bytes


@pytest.mark.parametrize(
    ("path", "name", "flow", "box"),
    [
        (MEMORY, "load_struct_member", "From DRAM to L2", "DRAM"),
        (MEMORY, "host_read", "From host memory to L2", "host link"),
        (CONTROL, "spill_asked_occupancy", "From L1 to L2", "L2 input"),
        (ONCHIP, "shared_column_transpose", "Shared load wavefronts", "shared memory"),
    ],
)
def test_the_limit_is_marked_by_sign_and_words(path: Path, name: str, flow: str, box: str) -> None:
    made = memory_chart(launch(path, name))
    assert sum("link-limit" in one.cls and one.width != "" for one in made.chart.shapes) == 1
    assert box in made.says[0]
    assert "◆" in made.says[0]
    assert any(word.text == box for word in made.chart.words)
    marked = next(one for one in made.chart.shapes if "link-limit" in one.cls)
    assert marked.hint.startswith(f"{flow}: ")
    assert sum(word.text.startswith("◆ ") and "limit" not in word.text for word in made.chart.words) == 1


def test_wasted_sectors_that_fill_the_link_to_the_host_mark_it() -> None:
    """A byte a thread from pinned memory: the diagnosis is how it reads, the limit is where."""
    stored = next(one for one in ARCHIVE.runs("fast_h2d") if one.run.version == "v1_byte_copy")
    one = gather(stored, None, ARCHIVE)
    assert one.results is not None
    assert one.results.diagnosis.first is not None
    assert one.results.diagnosis.first.finding.rule == "uncoalesced-global-load"
    made = memory_chart(one)
    assert made.says[0] == "What binds is the host link (◆)."
    assert any(word.text == "host link" for word in made.chart.words)
    assert "host link" not in memory_chart(launch(MEMORY, "load_struct_member")).says[0]


def test_a_full_link_to_the_host_says_how_full() -> None:
    stored = next(one for one in ARCHIVE.runs("fast_h2d") if one.run.version == "v6_line_aligned")
    assert memory_chart(gather(stored, None, ARCHIVE)).says[0] == "What binds is the host link, 87 % of its peak (◆)."


def test_a_kernel_that_memory_does_not_limit_says_what_does() -> None:
    made = memory_chart(shown("v6", "b1_d96"))
    assert made.says[0].startswith("No link of the memory is the limit; the busiest: ")
    assert made.says[0].endswith("What binds is latency.")
    assert not any("limit" in one.cls for one in made.chart.shapes)


def test_rare_parts_are_drawn_where_they_were_used() -> None:
    atomic = memory_chart(launch(CONTROL, "atomic_global_bins"))
    assert any(word.text.startswith("33.8 k red") for word in atomic.chart.words)
    titles = [word.text for word in atomic.chart.words]
    assert "TMA" not in titles
    assert "Local" in titles  # that there are no spills is worth saying
    assert "no traffic" in titles


def test_deltas_against_the_baseline() -> None:
    made = memory_chart(shown("v7"), shown("v3"), "v3")
    texts = [word.text for word in made.chart.words]
    assert "▼ -87.4 %" in texts
    assert "▲ new" in texts
    assert any(one.cls == "link-before" for one in made.chart.shapes)
    assert made.folded is not None
    assert [column.title for column in made.folded[1].columns][3:] == ["v3", "value", "of peak", "change"]
    hits = next(row for row in made.folded[1].rows if "Hit Rate" in row[2].text)
    assert hits[-1].text.endswith(" pt")  # of a percentage, points


def test_the_change_of_bytes_is_not_that_of_requests() -> None:
    """v6 stores by as many requests as v5, which move an eighth of the bytes: one ``=`` would deny what it mended."""
    texts = [word.text for word in memory_chart(shown("v6"), shown("v5")).chart.words]
    at = texts.index("164 MB")
    assert texts[at + 1 : at + 3] == ["req =", "bytes ▼ -86.6 %"]


def test_what_was_not_counted_is_not_called_nothing() -> None:
    """The sections of this report count no instruction that reads or writes memory."""
    one = shown("v6")
    few = {"dram__bytes_read.sum": 1e6, "l1tex__m_xbar2l1tex_read_bytes.sum": 1e6}
    made = memory_chart(replace(one, combined=combine_launches(None, one.combined.launches[:1], [few])))
    texts = [word.text for word in made.chart.words]
    assert "no traffic" not in texts
    assert texts[texts.index("Global") + 1] == texts[texts.index("Shared") + 1] == "not counted"


def test_no_label_lies_outside_or_on_another_where_only_dram_and_host_were_counted() -> None:
    one = shown("v6")

    def side(amount: float) -> RunView:
        names = ("dram__bytes_read.sum", "dram__bytes_write.sum", "l1tex__m_xbar2l1tex_read_bytes.sum")
        host = "lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum"
        few = dict.fromkeys((*names, host), amount)
        return replace(one, combined=combine_launches(None, one.combined.launches[:1], [few]))

    chart = memory_chart(side(2e9), side(1e6)).chart
    assert chart is not None
    words = [word for word in chart.words if word.text]
    assert {"2 GB", "64 GB", "▲ 2000x"} <= {word.text for word in words}
    assert all(12 <= word.y <= chart.height - 4 for word in words)
    columns = {word.x: sorted(each.y for each in words if each.x == word.x) for word in words}
    assert all(below - above >= 12 for ys in columns.values() for above, below in pairwise(ys))
    dram = next(box for box, cls in chart.boxes if box.left > 1000 and box.top < 20)
    heads = [word.y for word in words if word.text == "2 GB" and word.x > 900]
    assert len(heads) == 2
    assert all(dram.top < y < dram.bottom for y in heads)


def test_what_went_is_told_by_its_kind() -> None:
    """v11 loads tiles by ldmatrix, a sum has no shared memory: the arrow tells of ldmatrix, not of plain loads."""
    tiles = next(one for one in ARCHIVE.runs("gemm_bias_gelu") if one.run.version == "v11_tma")
    without = next(one for one in ARCHIVE.runs("add_relu") if one.run.version.startswith("v1_"))
    made = memory_chart(gather(without, None, ARCHIVE), gather(tiles, None, ARCHIVE))
    assert any(word.text.startswith("0 ldmatrix") for word in made.chart.words)
    assert "▼ -100.0 %" in [word.text for word in made.chart.words]


def test_operands_that_tensor_cores_take_from_shared_memory_are_drawn() -> None:
    """v12 loads by TMA and multiplies out of shared memory: no plain load, and 8.39 million wgmma of warps."""
    stored = next(one for one in ARCHIVE.runs("gemm_bias_gelu") if one.run.version == "v12_wgmma")
    made = memory_chart(gather(stored, None, ARCHIVE))
    texts = [word.text for word in made.chart.words]
    assert any(text.startswith("8.39 M wgmma") for text in texts)
    assert {"TMA", "12.9 GB"} <= set(texts)
    assert made.folded is not None
    named = {row[2].term.name: row[3].text for row in made.folded[1].rows if row[2].term}
    assert named["smsp__sass_inst_executed_op_shared_gmma.sum"] == "8.39 M"


def test_deltas_in_words() -> None:
    assert delta(2.0, 2.0) == "="
    assert delta(3.0, 2.0) == "▲ +50.0 %"
    assert delta(1.0, 0.0) == "▲ new"
    assert delta(0.0, 1.0) == "▼ -100.0 %"
    assert delta(100.0, 1.0) == "▲ 100x"
    assert delta(None, 1.0) == ""


def test_widths_grow_with_the_share_of_peak() -> None:
    assert width_of(None) == width_of(0.0) == THINNEST
    assert width_of(100.0) == width_of(140.0) == WIDEST
    assert THINNEST < width_of(30.0) < width_of(60.0) < WIDEST


def test_missing_counters_are_named_with_the_command() -> None:
    one = shown("v6")
    bare = replace(one, combined=replace(one.combined, tables=tuple({} for _ in one.combined.tables)))
    made = memory_chart(bare)
    assert made.missing
    assert made.collect.endswith("--set full")


def test_memory_tables_hold_what_ncu_counted_by_operation() -> None:
    raw = recorded("v6").metrics()
    raw = raw[raw["launch"] == shown("v6").combined.launches[0].index].set_index("metric")["value"]
    tables = {made[0].id: made for made in memory_tables(shown("v6").combined)}
    assert list(tables) == ["memory-shared", "memory-l1", "memory-l2", "memory-evictions", "memory-dram"]

    def row(table: str, name: str) -> dict[str, float | None]:
        one, rows, _ = tables[table]
        return dict(zip([column.title for column in one.columns], dict(rows)[name], strict=True))

    lsu = "l1tex__t_{}_pipe_lsu_mem_global_op_ld"
    hit, miss = (raw[f"{lsu.format('sectors')}_lookup_{what}.sum"] for what in ("hit", "miss"))
    waves, sectors = f"{lsu.format('output_wavefronts')}.sum", raw[f"{lsu.format('sectors')}.sum"]
    assert row("memory-l1", "Global loads") == {
        "instructions": raw["smsp__sass_inst_executed_op_global_ld.sum"],
        "requests": raw[f"{lsu.format('requests')}.sum"],
        "wavefronts": raw[waves],
        "of peak": raw[f"{waves}.pct_of_peak_sustained_elapsed"],
        "sectors": sectors,
        "sectors/req": sectors / raw[f"{lsu.format('requests')}.sum"],
        "hit rate": pytest.approx(raw["l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"]),
        "bytes": 32 * sectors,
        "misses": miss,
    }
    assert hit + miss == sectors
    stores = row("memory-l2", "Stores of L1")
    assert stores["sectors"] == raw["lts__t_sectors_srcunit_tex_op_write.sum"]
    assert stores["from device"] == raw["lts__t_sectors_srcunit_tex_aperture_device_op_write_lookup_miss.sum"]
    assert row("memory-l2", "Total")["hit rate"] == raw["lts__t_sector_hit_rate.pct"]
    total = row("memory-dram", "Total")
    assert total["bytes"] == raw["dram__bytes_read.sum"] + raw["dram__bytes_write.sum"]
    assert total["throughput"] == pytest.approx(raw["dram__bytes.sum.per_second"], rel=1e-3)
    shared = row("memory-shared", "Loads")
    assert shared["raw bank conflicts"] == raw["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]
    assert "Texture" in tables["memory-l1"][2]


def test_memory_tables_leave_out_what_moved_nothing_and_are_those_of_a_bare_report_too() -> None:
    made = {one.id: one for one in memory_chart(launch(CONTROL, "atomic_global_bins")).by_operation}
    assert [row[0].text for row in made["memory-l1"].rows] == ["Global loads", "Global reductions"]
    assert "No global stores, " in made["memory-l1"].note
    assert "from peer" not in [column.title for column in made["memory-l2"].columns]  # nothing came from another GPU
    assert all(cell.text != "-" for row in made["memory-l1"].rows for cell in row[2:4])
    assert memory_chart(shown("v7"), shown("v3")).by_operation == ()


def test_one_hit_rate_of_loads_stands_on_a_page() -> None:
    """ncu's rate of all reads, 95.7 %, is of passes in which blocks ran in another order than in those of the table."""
    stored = next(one for one in ARCHIVE.runs("flash_attention") if one.run.version == "v18_persistent")
    one = gather(stored, "d128", ARCHIVE)
    made = memory_chart(one)
    table = next(table for table in made.by_operation if table.id == "memory-l2")
    column = [one.title for one in table.columns].index("hit rate")
    of_l1 = next(row[column].text for row in table.rows if row[0].text == "Loads of L1")
    assert one.combined.values["l2_hit_rate_load"] == pytest.approx(95.7, abs=0.05)
    assert of_l1 == "92.0 %"
    assert "L1's loads 92.0 %" in [word.text for word in made.chart.words]
    assert made.folded is not None
    assert [row[3].text for row in made.folded[1].rows if row[2].text == "L2 hit rate of L1's loads"] == [of_l1]


def test_the_busiest_part_of_memory_is_the_same_in_sentence_arrow_and_table() -> None:
    """wgmma reads shared memory, which no counter of loads has, and L2 can fill a fifth of what SMs can take."""
    stored = next(one for one in ARCHIVE.runs("flash_attention") if one.run.version == "v19_heads_in_l2")
    one = gather(stored, None, ARCHIVE)
    made = memory_chart(one)
    assert "the busiest: shared memory, 51.0 % of its peak, and L2 output, 49.5 %. What binds is tensor" in made.says[0]
    texts = [word.text for word in made.chart.words]
    at = texts.index("86.7 M wave")
    assert texts[at + 1] == "51.0 % of peak"
    assert texts[texts.index("49.5 % of L2 output") - 1] == "4.36 GB"
    assert "20.0 % of L1 fill" in texts  # what TMA brings
    table = next(table for table in made.by_operation if table.id == "memory-shared")
    peak = [column.title for column in table.columns].index("of peak")
    assert table.rows[-1][peak].text == "51.0 %"
    assert made.folded is not None
    assert next(row[3].text for row in made.folded[1].rows if row[2].text == "L2 output") == "49.5 %"
    assert "wgmma reads" not in memory_chart(shown("v6")).says[0]
    assert "all wavefronts" in made.says[0]


def test_a_limit_is_not_denied_where_nobody_counted_how_busy_the_links_are() -> None:
    one = shown("v6")
    values = {"dram__bytes_read.sum": 1e8, "dram__bytes_write.sum": 1e6}
    combined = combine_launches(None, list(one.combined.launches), [values for _ in one.combined.launches])
    (said,) = memory_chart(replace(one, combined=combined, results=None, bottleneck=None)).says
    assert said.startswith("The report does not say how busy the memory links are")
