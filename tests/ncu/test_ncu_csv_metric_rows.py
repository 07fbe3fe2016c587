"""Pages with a row for each metric, as ``ncu --csv --metrics`` prints them: read by ncu's own names."""

from __future__ import annotations

from pathlib import Path

import pytest
from ncu.csv_made import line

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.csv_page import is_csv, read_csv
from ncu_assist.ncu.report import Report, read_report

FACTS = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size")
HEADER = line(*FACTS, "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value")
CHOSEN = "Command line profiler metrics"
CHATTER = "==PROF== Connected to process 7 (/bin/program)\n==PROF== Disconnected from process 7\n"


def metric(number: int, name: str, unit: str, value: str, section: str = CHOSEN, kernel: str = "k(int *)") -> str:
    place = ("1", "7", "(512, 1, 1)", "(32, 2, 1)", "0", "8.9")
    return line(str(number), "7", "program", "127.0.0.1", kernel, *place, section, name, unit, value)


PAGE = (
    CHATTER
    + HEADER
    + metric(0, "dram__bytes.sum", "Mbyte", "104.10")
    + metric(0, "gpu__time_duration.sum", "us", "813.66")
    + metric(0, "launch__func_cache_config", "", "CachePreferNone")
    + metric(1, "dram__bytes.sum", "Kbyte", "1,004.50")
    + metric(1, "gpu__time_duration.sum", "us", "3.20")
)


def read(folder: Path, text: str) -> Report:
    path = folder / "page.csv"
    path.write_text(text)
    return read_report(path)


def test_every_value_is_read_by_its_name_in_base_units(tmp_path: Path) -> None:
    report = read(tmp_path, PAGE)
    assert report.launches["dram__bytes.sum"].tolist() == [104.1e6, 1004.5e3]
    assert report.contents.units["dram__bytes.sum"] == "byte"
    assert [one.duration_ns for one in report.records] == [813660.0, 3200.0]
    assert report.launches["launch__func_cache_config"].tolist()[0] == "CachePreferNone"
    assert report.records[0].kernel == "k"
    assert report.records[0].grid == (32, 2, 1)
    assert report.lossy


def test_what_the_columns_say_is_there_as_metrics(tmp_path: Path) -> None:
    report = read(tmp_path, PAGE)
    assert report.launches["launch__grid_size"].tolist() == [64.0, 64.0]
    assert report.launches["launch__block_size"].tolist() == [512.0, 512.0]
    assert report.device is not None
    assert report.device.compute_capability == "8.9"


def test_a_range_has_no_sizes_and_is_read(tmp_path: Path) -> None:
    row = metric(0, "dram__bytes.sum", "byte", "5", kernel="range").replace("(512, 1, 1)", "").replace("(32, 2, 1)", "")
    report = read(tmp_path, HEADER + row)
    assert report.records[0].grid == (0, 0, 0)
    assert report.launches["dram__bytes.sum"].tolist() == [5.0]


def test_a_launch_that_lacks_a_metric_is_told(tmp_path: Path) -> None:
    assert read(tmp_path, PAGE).notes == ("1 of 2 launches lack 1 metric that others have: launch__func_cache_config",)


def test_a_label_is_read_where_it_says_one_metric_in_its_section(tmp_path: Path) -> None:
    share = metric(0, "Memory Throughput", "%", "71.00", section="GPU Speed Of Light Throughput")
    rate = metric(0, "Memory Throughput", "Gbyte/s", "2.50", section="Memory Workload Analysis")
    report = read(tmp_path, HEADER + share + rate)
    assert report.launches["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"].tolist() == [71.0]
    assert report.launches["dram__bytes.sum.per_second"].tolist() == [2.5e9]
    assert report.notes == ()


def test_other_labels_are_left_out_and_counted(tmp_path: Path) -> None:
    label = metric(0, "SM Busy", "%", "71.00", section="Compute Workload Analysis")
    plain = read(tmp_path, HEADER + metric(0, "dram__bytes.sum", "byte", "5") + label)
    assert plain.notes == (
        "1 value not read, as no label there says one metric for certain: Compute Workload Analysis",
    )
    assert "dram__bytes.sum" in plain.launches


def test_a_label_beside_its_name_is_read_by_the_name(tmp_path: Path) -> None:
    report = read(tmp_path, HEADER + metric(0, "Duration (gpu__time_duration.sum)", "ns", "5", section="GPU Speed"))
    assert report.records[0].duration_ns == 5.0


def test_the_rows_of_rules_are_passed_over(tmp_path: Path) -> None:
    header = HEADER.replace('"Metric Value"', '"Metric Value","Rule Name","Rule Type","Rule Description"')
    own = metric(0, "dram__bytes.sum", "byte", "5").replace("\n", ',"","",""\n')
    rule = metric(0, "", "", "").replace("\n", ',"SOLBottleneck","OPT","say ""so"", or "," not"\n')
    assert read(tmp_path, header + own + rule).launches["dram__bytes.sum"].tolist() == [5.0]


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ((metric(0, "dram__bytes.sum", "Mbyte", "-104.1"),),
         "below zero, which no counter can be: dram__bytes.sum -104.1 Mbyte; nothing is concluded from it"),
        ((metric(0, "dram__throughput.avg_pct", "", "(!) n/a"), metric(0, "sm__cycles_active.avg", "cycle", "(!) nan")),
         "ncu printed no value, as it does not know the metric here or could not count it: "
         "dram__throughput.avg_pct (!) n/a, sm__cycles_active.avg (!) nan cycle"),
        ((metric(0, "sm__cycles_active.avg", "cycle", "inf"),),
         "ncu printed no value, as it does not know the metric here or could not count it: "
         "sm__cycles_active.avg inf cycle"),
        ((metric(0, "gpu__time_duration.sum", "us", "5.00"), metric(0, "gpu__time_duration.sum", "us", "6.00")),
         "twice in a launch, with different values: gpu__time_duration.sum; the last counts, as with NVIDIA's reader"),
    ],
    ids=["below zero", "no value", "infinite", "twice"],
)  # fmt: skip
def test_what_is_no_number_that_can_be_is_told(tmp_path: Path, rows: tuple[str, ...], note: str) -> None:
    """ncu puts (!) before what it has no value for: a name that it does not know, a counter that this chip lacks."""
    report = read(tmp_path, HEADER + "".join(rows))
    assert report.notes == (note,)


def test_noise_of_two_passes_and_a_rounded_zero_are_no_news(tmp_path: Path) -> None:
    rows = (metric(0, "lts__t_sector_hit_rate.pct", "%", "-0.31"), metric(0, "dram__bytes.sum", "byte", "-0.00"))
    assert read(tmp_path, HEADER + "".join(rows)).notes == ()


def test_a_page_of_such_labels_only_is_refused() -> None:
    text = HEADER + metric(0, "SM Busy", "%", "71.00", section="Compute Workload Analysis")
    with pytest.raises(UsageProblem, match="of no row can be said for certain"):
        read_csv(text.encode(), "made.csv")
    assert is_csv(text.encode())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PAGE[:-4], "ends inside a cell"),
        (HEADER, "ends before the first launch"),
        (PAGE + HEADER, "more than one export"),
        (PAGE + metric(1, "dram__sectors.sum", "sector", "3", kernel="other(int)"), "name different kernels"),
        (PAGE + metric(1, "dram__sectors.sum", "sector", "1.234,5"), "not a number as ncu prints it"),
        (PAGE + metric(1, "sm__inst_executed.sum", "", "fast"), "sm__inst_executed.sum is 'fast', where a number"),
    ],
)
def test_damage_is_named(text: str, words: str) -> None:
    with pytest.raises(DamagedData, match=words):
        read_csv(text.encode(), "made.csv")


SUMMARY = line(
    "Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations",
    "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average",
)  # fmt: skip


def average(grid: str, label: str, unit: str, value: str) -> str:
    place = ("7", "program", "127.0.0.1", "k(int *)", "(256, 1, 1)", grid, "0", "9.0", "14")
    return line(*place, "GPU Speed Of Light Throughput", label, unit, "0.00", "900.00", value)


def test_a_summary_has_a_launch_for_each_kernel_and_shape(tmp_path: Path) -> None:
    rows = average("(8, 1, 1)", "Duration", "us", "1.50"), average("(8, 1, 1)", "DRAM Throughput", "%", "3.00")
    report = read(tmp_path, CHATTER + SUMMARY + "".join(rows) + average("(9, 1, 1)", "Duration", "us", "2.50"))
    assert [(one.grid, one.duration_ns) for one in report.records] == [((8, 1, 1), 1500.0), ((9, 1, 1), 2500.0)]
    words = "averages, of which times and shares are those of one launch"
    assert f"{words}: 14 launches of k, 14 launches of k" in report.notes


def test_a_summary_over_kernels_is_refused(tmp_path: Path) -> None:
    page = '"Process ID","Device","CC","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum",'
    with pytest.raises(UsageProblem, match="over different kernels"):
        read(tmp_path, page + '"Average"\n"7","0","9.0","14","Occupancy","Achieved Occupancy","%","1","2","1.5"\n')


def test_what_rules_say_is_read(tmp_path: Path) -> None:
    columns = (*FACTS, "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name")
    header = line(*columns, "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
    place = ("0", "7", "program", "127.0.0.1", "k(int *)", "1", "7", "(512, 1, 1)", "(32, 2, 1)", "0", "8.9")
    words = 'Uses "a", "b","c" of 4, see (https://docs.nvidia.com/x)'
    rows = (
        line(*place, CHOSEN, "dram__bytes.sum", "byte", "1", "", "", "", "", ""),
        line(
            *place,
            "SpeedOfLight",
            "",
            "",
            "",
            "SOLBottleneck",
            "OPT",
            "Memory is more heavily utilized than Compute: Look",
            "",
            "",
        ),
        line(*place, "SourceCounters", "", "", "", "OwnRule", "WRN", words, "local", "34.6"),
    )
    report = read(tmp_path, header + "".join(rows))
    first, second = report.contents.launches[0].rules
    assert (first.rule, first.section, first.title) == ("SOLBottleneck", "SpeedOfLight", "High Memory Throughput")
    assert (first.kind, first.speedup_type, first.speedup_pct) == ("optimization", None, None)
    assert (second.rule, second.title, second.kind) == ("OwnRule", "OwnRule", "warning")
    assert (second.message, second.speedup_type, second.speedup_pct) == ('Uses "a", "b","c" of 4, see', "local", 34.6)
