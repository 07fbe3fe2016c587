"""The details page as a terminal shows it: in logs, READMEs and messages, of any release, changed by people."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from ncu.csv_made import page as csv_page
from ncu.csv_made import row as csv_row
from ncu.printed_made import kernel, printed, section, table
from ncu.section_labels import section_labels

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.frame import by_launch, combine_launches
from ncu_assist.ncu.catalogue.labels import OF_CHIPS, OF_SECTIONS, OF_TABLES
from ncu_assist.ncu.catalogue.rule_words import rule_of
from ncu_assist.ncu.contents import Contents
from ncu_assist.ncu.csv_page import RULES_LACKED
from ncu_assist.ncu.printed_page import FIRST_ROWS, is_printed, read_printed
from ncu_assist.ncu.report import LINK, Report, nvidia_findings, read_report
from ncu_assist.rules import RULES, Facts, diagnose

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


def told(found: Contents) -> tuple[str, ...]:
    """Return the notes but the one that every page of ncu's default has."""
    return tuple(one for one in found.notes if one != FIRST_ROWS)


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


WITHOUT_WORDS = ("SOLFPRoofline",)  # rules with a message that no words tell


def agree(path: Path) -> None:
    """Hold the tables of labels against what ncu wrote into a report, and the words of rules."""
    report = read_report(path)
    of_chip = OF_CHIPS.get(report.device.compute_capability or "", {}) if report.device else {}
    measured = {*report.contents.names(0)} if report.contents.launches else set()
    for title, name, label, names in section_labels(path):
        if (known := of_chip.get(name, {}).get(label)) is not None:
            assert known in names, (title, name, label)
            assert known in measured or not names & measured, (title, name, label)
        known = (OF_TABLES.get(name, {}) if name else OF_SECTIONS.get(title, {})).get(label)
        assert known is None or known in names or label == "Warp Cycles Per Issued Instruction", (title, name, label)

    for rule in (rule for launch in report.contents.launches for rule in launch.rules if rule.kind != "error"):
        found = rule_of("", LINK.sub(r"\1", rule.message)) if rule.message else None
        assert found or not rule.message or rule.rule in WITHOUT_WORDS, rule
        if found:
            is_elsewhere = found[0] == "TheoreticalOccupancy" and rule.section == "SchedulerStats"
            assert rule.rule.startswith(found[0]) or is_elsewhere, rule
            assert found[1] == rule.section or is_elsewhere, rule
            assert found[2] == rule.title or (report.contents.session.ncu_version or "") < "2024", rule


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
    assert told(found) == ("of 1 launch only the totals of grid and block are printed, and stand as their x",)
    metrics = read(UNTIL_2022)
    assert metrics["gpu__time_duration.sum"] == 3.32e6
    assert metrics["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] == 36.25
    assert metrics["gpc__cycles_elapsed.max"] == 4341767


def test_a_page_without_sizes_has_unknown_ones(tmp_path: Path) -> None:
    """As of ``--metrics`` before 2022.2: the launch is whole, and not one that the end of the program cut."""
    path = tmp_path / "log.txt"
    path.write_text(UNTIL_2022.partition("    Section: Launch")[0])
    report = read_report(path)
    (launch,) = report.records
    assert (launch.grid, launch.block) == ((0, 0, 0), (0, 0, 0))
    assert not launch.interrupted
    assert launch.duration_ns == 3.32e6
    (note,) = told(report.contents)
    assert note.startswith("of 1 launch neither grid nor block is printed: before 2022.2")


SUMMARY = """\
  k(int *) (1, 1, 1)x(256, 1, 1), Device 0, CC 9.0, Invocations 4
    Section: GPU Speed Of Light Throughput
    ----------- ----------- ------------ ------------ ------------
    Metric Name Metric Unit      Minimum      Maximum      Average
    ----------- ----------- ------------ ------------ ------------
    Duration             us         1.00         2.00         1.50
    ----------- ----------- ------------ ------------ ------------
"""


def test_a_summary_of_a_kernel_is_a_launch_of_averages() -> None:
    found = read_printed(SUMMARY, "log.txt")
    assert read(SUMMARY)["gpu__time_duration.sum"] == 1500.0
    assert found.launches[0].grid == (1, 1, 1)
    assert told(found) == ("averages, of which times and shares are those of one launch: 4 launches of k",)


def called(process: int, *sections: str, program: str = "a.out") -> str:
    return f"[{process}] {program}@127.0.0.1\n{kernel()}{''.join(sections)}"


def test_calls_of_ncu_that_count_different_metrics_are_passes_of_one() -> None:
    found = read_printed(called(1, DURATION) + called(2, OCCUPANCY), "log.txt")
    assert len(found.launches) == 1
    assert {"gpu__time_duration.sum", OCCUPIED} <= {*found.names(0)}
    assert told(found) == ("put together: 2 calls of ncu, which counted different metrics of the same launches",)


@pytest.mark.parametrize(
    "other",
    [
        called(2, DURATION.replace("117.98", "118.50"), section("Occupancy", ("Achieved Occupancy", "%", "1.00"))),
        called(2, DURATION),
        called(2, DURATION.replace("117.98", "99.00")) + called(3, DURATION),
        called(2, section("Occupancy", ("Achieved Occupancy", "%", "1.00")), program="b.out"),
    ],
    ids=["measured again", "the same values", "three", "another program"],
)
def test_what_was_measured_again_is_another_launch(other: str) -> None:
    assert len(read_printed(called(1, DURATION) + other, "log.txt").launches) > 1


def test_what_fits_two_launches_stays_alone() -> None:
    """Two versions of one kernel, counted in turn: nothing says whose occupancy the third call counted."""
    other = DURATION.replace("117.98", "99.00")
    found = read_printed(called(1, DURATION) + called(2, other) + called(3, OCCUPANCY), "log.txt")
    assert (len(found.launches), told(found)) == (3, ())
    by_version = called(1, DURATION) + called(2, OCCUPANCY) + called(3, other) + called(4, OCCUPANCY)
    assert len(read_printed(by_version, "log.txt").launches) == 2


def test_calls_of_one_process_number_are_told_too() -> None:
    """As in a container, where each is the first."""
    found = read_printed(called(1, DURATION) + called(1, OCCUPANCY), "log.txt")
    assert told(found) == ("put together: 2 calls of ncu, which counted different metrics of the same launches",)


def test_a_page_that_stands_twice_is_one() -> None:
    page = called(1, DURATION, OCCUPANCY)
    found = read_printed(page + page, "log.txt")
    assert len(found.launches) == 1
    assert told(found) == ()


def pipes(cc: str) -> Contents:
    rows = ("Tensor (All)", "%", "41.00"), ("FMA", "%", "2.00")
    text = kernel(cc=cc) + DURATION + table(rows, "Pipe Utilization (% of active cycles)")
    return read_printed(text, "log.txt")


def test_rows_that_differ_by_chip_are_read_of_recorded_ones() -> None:
    tensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
    assert tensor in pipes("8.6").names(0)
    assert tensor not in pipes("10.0").names(0)
    assert told(pipes("10.0"))[0].startswith("1 value not read, as no label there says one metric for certain")


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
    (note,) = told(read_printed(kernel() + section("Compute Workload Analysis", *rows), "log.txt"))
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
    """The same section with other values is of another launch: a launch has one of each."""
    found = read_printed(DURATION + kernel() + DURATION + DURATION.replace("117.98", "9.00"), "log.txt")
    assert len(found.launches) == 1
    assert 117980.0 in found.values
    assert told(found) == ("left out: 2 tables of no kernel line",)


OCCUPANCY = section("Occupancy", ("Achieved Occupancy", "%", "12.00"))
OCCUPIED = "sm__warps_active.avg.pct_of_peak_sustained_active"


def test_a_section_that_stands_twice_is_read_once() -> None:
    states = table([("Selected", "inst", "1")], "Warp State (All Cycles)")
    text = kernel() + DURATION + states + DURATION + states + OCCUPANCY
    assert told(read_printed(text, "log.txt")) == ()
    metrics = read(text)
    assert metrics["gpu__time_duration.sum"] == pytest.approx(117980.0)
    assert metrics[OCCUPIED] == 12.0


@pytest.mark.parametrize(
    "line",
    [
        "  other(int) <<<1, 64>>> (512, 1, 1)x(64, 1, 1)",
        "  other(int), Context 1, Stream 7, on a device",
        "[200] b.out@127.0.0.1",
        "==PROF== Connected to process 200 (/bin/b.out)",
        "## The version with tiles",
        "```",
        '$ sudo ncu -k regex:"tiled" ./a.out',
    ],
    ids=["sizes", "context", "process", "connected", "heading", "fence", "command"],
)
def test_what_stands_behind_another_kernel_or_heading_is_not_the_launch_before(line: str) -> None:
    found = read_printed(f"{kernel()}{DURATION}{line}\n{OCCUPANCY}", "log.txt")
    assert OCCUPIED not in found.names(0)
    assert told(found) == ("left out: 1 table of no kernel line",)


def test_a_kernel_line_that_a_terminal_wrapped_is_one() -> None:
    """Else its values would be those of the launch before."""
    wrapped = (
        "\n  void ns::other<int>(const float *,\nint)\n(512, 1, 1)x(64, 1, 1), Context 1, Stream 7, Device 0, CC 8.0\n"
    )
    first, second = read_printed(f"{kernel()}{DURATION}{wrapped}{OCCUPANCY}", "log.txt").launches
    assert (first.kernel, second.kernel) == ("scale", "other")
    assert second.grid == (512, 1, 1)


def test_a_table_without_a_title_takes_nothing_from_those_behind_it() -> None:
    """As *Achieved Traffic* of the roofline with --print-details all."""
    found = read_printed(kernel() + DURATION + table([("Duration", "us", "1.00")]) + OCCUPANCY, "log.txt")
    metrics = dict(zip(found.names(0), found.values.tolist(), strict=True))
    assert metrics["gpu__time_duration.sum"] == pytest.approx(117980.0)
    assert metrics[OCCUPIED] == 12.0
    assert told(found) == ("left out: 1 table without a title",)


def test_rows_that_do_not_fit_are_told() -> None:
    changed = DURATION.replace(" 3.29\n", " 3.29->3.45\n")
    found = read_printed(kernel() + changed, "log.txt")
    assert told(found) == ("left out: 1 row outside of its columns",)


def test_rows_below_no_line_of_dashes_are_told() -> None:
    row = "Registers Per Thread     register/thread      211"
    text = f"{kernel()}{DURATION}    Section: {LAUNCH}\n\n    {row}\n"
    assert told(read_printed(text, "log.txt")) == ("left out: 1 row outside of its columns",)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n".join(" ".join(line.split()) for line in text.split("\n")),
        lambda text: text.replace("    ", "\t"),
        lambda text: text.replace("-", "\N{BOX DRAWINGS LIGHT HORIZONTAL}"),
        lambda text: text.replace(" ", "\N{NO-BREAK SPACE}"),
        lambda text: "\n".join("..." if "---" in line or "Metric Name" in line else line for line in text.split("\n")),
    ],
    ids=["blanks lost", "tabs", "lines drawn", "from a web page", "elided"],
)
def test_rows_are_read_by_their_words_where_blanks_were_lost(change: Callable[[str], str]) -> None:
    of_launch = section(LAUNCH, ("Grid Size", "", "1,024"), ("Registers Per Thread", "register/thread", "24"))
    chosen = section("Command line profiler metrics", ("smsp__inst_executed.sum", "inst", "129,400,832"))
    metrics = read(kernel() + DURATION.replace("us", "usecond") + change(of_launch + chosen))
    assert metrics["launch__grid_size"] == 1024.0
    assert metrics["launch__registers_per_thread"] == 24.0
    assert metrics["smsp__inst_executed.sum"] == 129400832.0


@pytest.mark.parametrize(
    "row",
    ["Duration 117.98", "Duration us 117.98 120.10", "Duration of us 117.98", "Registers Per Thread Allocated 24"],
)
def test_words_that_are_no_row_are_not_read(row: str) -> None:
    lost = f"    Section: {SPEED}\n    {row}\n    Section: {LAUNCH}\n    {row}\n"
    assert not {"gpu__time_duration.sum", "launch__registers_per_thread"} & {*read(kernel() + OCCUPANCY + lost)}


def test_tables_that_are_left_out_are_counted_one_by_one() -> None:
    untitled = table([("DRAM Bandwidth", "Gbyte/s", "48.17")])
    found = read_printed(kernel() + DURATION + untitled + untitled, "log.txt")
    assert told(found) == ("left out: 2 tables without a title",)


def test_ncu_says_that_it_prints_the_first_rows_only() -> None:
    assert FIRST_ROWS in read_printed(kernel() + DURATION, "log.txt").notes
    chosen = section("Command line profiler metrics", ("dram__bytes.sum", "Mbyte", "9.45"))
    assert FIRST_ROWS not in read_printed(kernel() + chosen, "log.txt").notes
    assert FIRST_ROWS not in read_printed(TABLES_ONLY, "log.txt").notes


def test_a_blank_line_in_a_table_ends_it_only_before_what_is_no_row() -> None:
    rows = DURATION.split("\n")
    at = next(place for place, row in enumerate(rows) if "Duration" in row)
    metrics = read(kernel() + "\n".join([*rows[: at + 1], "", *rows[at + 1 :]]))
    assert metrics["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] == 3.29
    open_end = "\n".join([*rows[: at + 2], "", "    WRN   This kernel is small.", "    DRAM                1.00"])
    assert read(kernel() + open_end) == {**metrics}


@pytest.mark.parametrize("prefix", ["> ", "// ", " * ", "[1,0]<stdout>:", "0: ", "\x1b[32m"])
def test_a_prefix_of_all_lines_is_taken_away(prefix: str) -> None:
    page = "".join(f"{prefix}{line}\n" for line in (kernel() + DURATION + OCCUPANCY).split("\n"))
    assert is_printed(page)
    assert read(page)[OCCUPIED] == 12.0


def test_prefixes_that_differ_are_of_several_processes() -> None:
    page = "".join(f"{place % 2}: {line}\n" for place, line in enumerate((kernel() + DURATION).split("\n")))
    assert not is_printed(page)


def test_a_page_behind_much_output_is_found(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("epoch 1 step 2 loss 0.12\n" * 10_000 + kernel() + DURATION)
    assert read_report(path).records[0].duration_ns == pytest.approx(117980.0)


def test_csv_of_the_program_does_no_harm_and_two_pages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text('"ID","name"\n"1","a"\n' + kernel() + DURATION)
    assert len(read_report(path)) == 1
    path.write_text(kernel() + DURATION + csv_page(csv_row(0, "1.00", "2.00", "all")))
    with pytest.raises(DamagedData, match="one behind the other"):
        read_report(path)


def test_a_page_in_a_source_file_does_not_make_it_a_report(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(f"__global__ void k(float* x) {{}}\n/*\n{kernel()}{DURATION}*/\n")
    with pytest.raises(DamagedData, match="this is a source file"):
        read_report(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SUMMARY.replace("k(int *) (1, 1, 1)x(256, 1, 1), ", ""), "is a summary over different kernels"),
        (SUMMARY.replace("Average", "Stddev "), "is a summary over different kernels"),
        (DURATION, "no line of a kernel: NAME "),
        (kernel() + section("PM Sampling", ("Dropped Samples", "sample", "0")), "none of their labels says one metric"),
    ],
    ids=["of a GPU", "other columns", "no kernel", "unsure labels"],
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
    assert not is_printed("Section: Results of the survey\n---- ---- ----\nAnswer A 12\n")
    assert not is_printed("Table Name : users\n---- ---- ----\nid name age\n")


def test_two_values_of_a_metric_are_told() -> None:
    both = table([("Memory [%]", "%", "9.00")], "GPU Throughput")
    found = read_printed(kernel() + section(SPEED, ("Memory Throughput", "%", "8.00")) + both, "log.txt")
    assert told(found)[0].startswith("twice in a launch, with different values: gpu__compute_memory_throughput")


def test_kernels_without_a_duration_are_judged(tmp_path: Path) -> None:
    """As of ``ncu --section MemoryWorkloadAnalysis``: nothing says how much of the time is whose."""
    rates = section("Memory Workload Analysis", ("Memory Throughput", "Gbyte/s", "48.17"), ("Mem Busy", "%", "20.00"))
    path = tmp_path / "log.txt"
    path.write_text(kernel("a(int)") + rates + kernel("b(int)") + rates)
    report = read_report(path)
    tables = by_launch(report.metrics)
    both = combine_launches(None, report.records, [tables[one.index] for one in report.records])
    assert diagnose(Facts(both, report.device), RULES).first is not None


FINDINGS = """\
    OPT   Est. Local Speedup: 15.75%
          The difference between calculated theoretical (100.0%) and measured achieved occupancy (84.3%) can be the
          result of warp scheduling overheads. See the CUDA Best Practices Guide (https://docs.nvidia.com/a#occupancy)
          for more details.
    ----- --------------------------------------------------------------------------------------------------------------
    WRN   A rule of somebody else says so.
"""


@pytest.mark.parametrize("change", [str, lambda text: "\n".join(line.strip() for line in text.split("\n"))])
def test_what_rules_of_ncu_say_is_read(change: Callable[[str], str]) -> None:
    text = change(kernel() + OCCUPANCY + FINDINGS + "\nAnd then the program printed this.\n")
    ours, theirs = read_printed(text, "log.txt").launches[0].rules
    assert (ours.rule, ours.section, ours.title) == ("AchievedOccupancy", "Occupancy", "Achieved Occupancy")
    assert (ours.kind, ours.speedup_type, ours.speedup_pct) == ("optimization", "local", 15.75)
    assert ours.message is not None
    assert ours.message.endswith("overheads. See the CUDA Best Practices Guide for more details.")
    assert (theirs.rule, theirs.title, theirs.kind) == ("", "Occupancy", "warning")
    assert (theirs.speedup_type, theirs.message) == (None, "A rule of somebody else says so.")


def test_what_people_say_below_a_finding_is_not_of_it() -> None:
    quoted = "".join(f"> {line}\n" for line in (kernel() + OCCUPANCY + FINDINGS).rstrip().split("\n"))
    rules = read_printed(f"They say:\n{quoted}And I say: no.\n", "log.txt").launches[0].rules
    assert rules[-1].message == "A rule of somebody else says so."


def test_a_finding_is_of_the_kernel_before_it() -> None:
    text = "\n".join(
        line.strip() for line in (kernel("a(int)") + OCCUPANCY + FINDINGS + kernel("b(int)") + OCCUPANCY).split("\n")
    )
    before, after = read_printed(text, "log.txt").launches
    assert (len(before.rules), after.rules) == (2, ())


def test_findings_on_lines_are_none_of_the_launch() -> None:
    """As of ncu before 2022, which names the address; a report has them beside its code."""
    one = "    WRN   Uncoalesced global access, expected 36 sectors, got 83 (2.30x) at PC 0x201dac890\n"
    assert read_printed(kernel() + OCCUPANCY + one, "log.txt").launches[0].rules == ()


def test_findings_of_a_text_are_shown_as_those_of_a_report(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(kernel() + OCCUPANCY + FINDINGS)
    report = read_report(path)
    local, other = nvidia_findings(report, [0])
    assert (local.title, local.speedup_pct) == ("Achieved Occupancy", 15.75)
    assert (other.title, other.rule) == ("Occupancy", "")
    assert RULES_LACKED not in report.lacks


@pytest.mark.parametrize("sign", [": ", "|", "\t"])
def test_lines_with_numbers_are_read(sign: str) -> None:
    page = "".join(f"{place:>4}{sign}{line}\n" for place, line in enumerate((kernel() + DURATION).split("\n")))
    assert is_printed(page)
    assert read(page)["gpu__time_duration.sum"] == pytest.approx(117980.0)


def test_a_kernel_line_that_people_cut_is_one() -> None:
    text = "  vectorAdd(const float *, int) (19532, 1, 1)x(256, 1, 1)\n" + DURATION
    found = read_printed(text, "log.txt")
    assert (found.launches[0].kernel, found.launches[0].grid) == ("vectorAdd", (19532, 1, 1))
