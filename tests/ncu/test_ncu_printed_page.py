"""The details page as a terminal shows it: in logs, READMEs and messages, of any release, changed by people."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from ncu.printed_made import kernel, printed, section, table
from ncu.section_labels import section_labels

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.catalogue.labels import OF_SECTIONS, OF_TABLES
from ncu_assist.ncu.printed_page import is_printed, read_printed
from ncu_assist.ncu.report import Report, read_report

DATA = Path(__file__).parents[1] / "data"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "reports"
SPEED, LAUNCH = "GPU Speed Of Light Throughput", "Launch Statistics"
DURATION = section(SPEED, ("Duration", "us", "117.98"), ("DRAM Throughput", "%", "3.29"))
UNTIL_2022 = """\
==PROF== Disconnected from process 73376
[73376] matrix_sums@127.0.0.1
  row_sums(float const *,float*,unsigned long), 2020-Jul-28 06:48:36, Context 1, Stream 7
    Section: GPU Speed Of Light
    ---------------------------------------------------------------------- --------------- ----------------------------
    Memory Frequency                                                         cycle/usecond                       874.41
    SOL FB                                                                               %                        36.25
    Elapsed Cycles                                                                   cycle                      4341767
    Memory [%]                                                                           %                        77.32
    Duration                                                                       msecond                         3.32
    ---------------------------------------------------------------------- --------------- ----------------------------
    WRN   Memory is more heavily utilized than Compute: ---- see Section: Memory

    Section: Launch Statistics
    ---------------------------------------------------------------------- --------------- ----------------------------
    Block Size                                                                                                      256
    Function Cache Configuration                                                                cudaFuncCachePreferNone
    Grid Size                                                                                                     1,024
    ---------------------------------------------------------------------- --------------- ----------------------------
"""
RULE = "    OPT   Est. Speedup: 12%\n          Look at this ---- closely.\n\n"
TABLES_ONLY = """\
Profiling k: 16384; l: 1; m: 7168; seed: 1111 (1/2):
    void gemv<64, 128>(const unsigned char *, int) (112, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 10.0

      Table Name : GPU Throughput
      ---------------- ----------- ------------
      Metric Name      Metric Unit Metric Value
      ---------------- ----------- ------------
      Memory [%]                 %         4.37
      Compute (SM) [%]           %        10.09
      ---------------- ----------- ------------

      Table Name : Warp State (All Cycles)
      Table Description : All the states of warps.
      ------------------------ ----------- ------------
Profiling k: 16384; l: 1; m: 7168; seed: 1111 (2/2):
      Metric Name              Metric Unit Metric Value
      ------------------------ ----------- ------------
      Stall Long Scoreboard           inst        10.24
      Selected                        inst            1
      ------------------------ ----------- ------------
"""


def read(text: str) -> dict[str, float]:
    """Return the metrics of the one launch of a text."""
    found = read_printed(text, "log.txt")
    assert len(found.launches) == 1
    return dict(zip(found.names(0), found.values.tolist(), strict=True))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.ncu-rep.zst")), ids=lambda path: path.name)
def test_labels_say_what_sections_say(path: Path) -> None:
    agree(path)


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no public report lies beside this clone: ../shared/corpus")
def test_labels_say_what_the_sections_of_every_release_say() -> None:
    for path in sorted(CORPUS.glob("*-re[pz]*.xz")):
        agree(path)


def agree(path: Path) -> None:
    """Hold the tables of labels against what ncu wrote into a report."""
    for title, name, label, names in section_labels(path):
        known = (OF_TABLES.get(name, {}) if name else OF_SECTIONS.get(title, {})).get(label)
        assert known is None or known in names or label == "Warp Cycles Per Issued Instruction", (title, name, label)


def test_a_report_comes_back_from_its_page(full_path: Path, tmp_path: Path) -> None:
    """What is rounded is rounded, nothing is changed else."""
    report = read_report(full_path)
    path = tmp_path / "log.txt"
    path.write_text(printed(report, with_tables=True))
    again = read_report(path)
    assert again.lossy
    assert [one.kernel for one in again.records] == [one.kernel for one in report.records]
    assert [one.grid for one in again.records] == [one.grid for one in report.records]
    assert again.device is not None
    assert again.device.compute_capability == "9.0"
    for launch in again.contents.launches[:1]:
        names = again.contents.name_lists[launch.names]
        assert len(names) > 90
        for name in names:
            near(again, report, name)


def near(again: Report, report: Report, name: str) -> None:
    for mine, exact in zip(again.launches[name], report.launches[name], strict=True):
        if isinstance(exact, str) or math.isnan(exact):
            assert mine == exact or math.isnan(exact)
        else:
            assert mine == pytest.approx(exact, rel=0.006, abs=0.006)


def test_a_page_of_before_2022_has_the_totals_of_its_sizes() -> None:
    found = read_printed(UNTIL_2022, "log.txt")
    assert found.launches[0].kernel == "row_sums"
    assert found.launches[0].grid == (1024, 1, 1)
    assert found.launches[0].block == (256, 1, 1)
    assert found.notes == ("of 1 launch only the totals of grid and block are printed, and stand as their x",)
    metrics = read(UNTIL_2022)
    assert metrics["gpu__time_duration.sum"] == 3.32e6
    assert metrics["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] == 36.25
    assert metrics["gpc__cycles_elapsed.max"] == 4341767


def test_tables_without_sections_are_read_through_lines_between() -> None:
    metrics = read(TABLES_ONLY)
    assert metrics["sm__throughput.avg.pct_of_peak_sustained_elapsed"] == 10.09
    assert metrics["smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"] == 10.24
    assert metrics["smsp__average_warps_issue_stalled_selected_per_issue_active.ratio"] == 1.0


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n".join(line.strip() for line in text.split("\n")),
        lambda text: f"# A title\n\n```\n{text}```\n\nThe kernel is slow (1, 2).\n",
        lambda text: text.replace("117.98\n", "117.98   # too long: why?\n"),
        lambda text: text.replace("    Section", f"{RULE}    Section"),
        lambda text: f"{text}    INF   Use the Section: Occupancy of it.\n",
    ],
    ids=["indentation lost", "in Markdown", "annotated", "with rules", "rules at the end"],
)  # fmt: skip
def test_what_people_do_with_a_page_changes_no_value(change: Callable[[str], str]) -> None:
    metrics = read(change(kernel() + DURATION))
    assert metrics["gpu__time_duration.sum"] == pytest.approx(117980.0)
    assert metrics["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] == 3.29


def test_a_label_is_read_by_its_section() -> None:
    of_memory = section("Memory Workload Analysis", ("Memory Throughput", "Gbyte/s", "1,004.50"))
    metrics = read(kernel() + section(SPEED, ("Memory Throughput", "%", "42.00")) + of_memory)
    assert metrics["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"] == 42.0
    assert metrics["dram__bytes.sum.per_second"] == 1004.5e9


def test_labels_that_say_no_one_metric_are_counted() -> None:
    rows = ("SM Busy", "%", "12.00"), ("Executed Ipc Active", "inst/cycle", "2")
    (note,) = read_printed(kernel() + section("Compute Workload Analysis", *rows), "log.txt").notes
    assert note == "1 value not read, as no label there says one metric for certain: Compute Workload Analysis"


def test_metrics_by_name_are_read_of_any_section() -> None:
    chosen = section("Command line profiler metrics", ("dram__bytes.sum", "Mbyte", "9.45"))
    assert read(kernel() + chosen)["dram__bytes.sum"] == 9.45e6


def test_the_raw_page_has_a_table_without_a_section() -> None:
    page = kernel() + table(
        [("dram__bytes.sum", "Mbyte", "9.45"), ("launch__func_cache_config", "", "CachePreferNone")]
    )
    assert is_printed(page)
    assert read(page)["dram__bytes.sum"] == 9.45e6


def test_tables_of_no_kernel_belong_to_none() -> None:
    """A second table of a section is of another launch: a launch has one of each."""
    found = read_printed(DURATION + kernel() + DURATION + DURATION.replace("117.98", "9.00"), "log.txt")
    assert len(found.launches) == 1
    assert 117980.0 in found.values
    assert found.notes == ("2 tables not read: no line says of which kernel",)


SUMMARY = """\
  k (1, 1, 1)x(256, 1, 1), Invocations 4
    Section: GPU Speed Of Light Throughput
    ----------- ----------- ------------ ------------ ------------
    Metric Name Metric Unit      Minimum      Maximum      Average
    ----------- ----------- ------------ ------------ ------------
    Duration             us         1.00         2.00         1.50
    ----------- ----------- ------------ ------------ ------------
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SUMMARY, "is a summary over launches"),
        (DURATION, "no line that says of which kernel"),
        (UNTIL_2022.partition("    Section: Launch")[0], "prints no sizes of them"),
        (kernel() + section("PM Sampling", ("Dropped Samples", "sample", "0")), "none of their labels says one metric"),
    ],
    ids=["summary", "no kernel", "no sizes", "unsure labels"],
)
def test_a_page_of_which_no_launch_can_be_read_is_refused(text: str, words: str) -> None:
    assert is_printed(text)
    with pytest.raises(UsageProblem, match=words) as found:
        read_printed(text, "log.txt")
    assert "--csv --page raw" in found.value.hint


@pytest.mark.parametrize("value", ["23,27", "23 982 976", "1.234,5"])
def test_the_numbers_of_another_locale_are_refused(value: str) -> None:
    with pytest.raises(DamagedData, match="in English"):
        read_printed(kernel() + section(SPEED, ("Elapsed Cycles", "cycle", value)), "log.txt")


def test_prose_is_no_page() -> None:
    assert not is_printed("Look at Section: Launch Statistics.\n----\n")
    assert not is_printed("Section: Launch Statistics\nGrid Size 12\n")


def test_two_values_of_a_metric_are_told() -> None:
    both = table([("Memory [%]", "%", "9.00")], "GPU Throughput")
    found = read_printed(kernel() + section(SPEED, ("Memory Throughput", "%", "8.00")) + both, "log.txt")
    assert found.notes[0].startswith("twice in a launch, with different values: gpu__compute_memory_throughput")
