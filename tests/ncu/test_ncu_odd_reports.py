"""Reports that say odd things: hostile names, parts that are newer or older, launches that are not what they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ncu.corruptions import Original
from ncu.rewriting import with_header, with_launch

from ncu_assist.errors import DamagedData
from ncu_assist.frame import by_launch
from ncu_assist.ncu import report_file
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.messages import APART, Messages
from ncu_assist.ncu.report import Report, read_report

HOSTILE = "<script>alert(1)</script>\x1b[2J\x1b]0;title\x07 `rm` | a\nb\t\u202e\x00[red]x[/]"
NAME = b"sm__throughput.avg.pct_of_peak_sustained_elapsed"
NEW_FIELD = report_file.write_varint(99 << 3) + b"\x05"
Read = Callable[[bytes], Report]


@pytest.mark.parametrize("name", [HOSTILE, "k" * 3_000_000, ""])
def test_any_name_of_a_kernel_comes_through(plain: bytes, read: Read, name: str) -> None:
    def rename(result: Any) -> None:
        result.function = result.demangled = result.mangled = name

    report = read(with_launch(plain, 1, rename))
    assert report.records[1].kernel == report.launches.signature[1] == name
    assert report.notes == ()


def _rename_range(raw: bytes) -> Callable[[Any], None]:
    """Give the outermost NVTX range of a launch a name, which need not be UTF-8."""

    def rename(result: Any) -> None:
        nvtx = Messages().nvtx(result)
        nvtx.threads[0].domains[0].stack[0].name = "x" * len(raw)
        result.nvtx = nvtx.SerializeToString().replace(b"x" * len(raw), raw)

    return rename


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (HOSTILE.encode(), HOSTILE),
        (b"r" * 2_000_000, "r" * 2_000_000),
        ("Größe 12".encode("latin-1"), "Gr\\xf6\\xdfe 12"),
    ],
)
def test_any_name_of_a_range_comes_through(plain: bytes, read: Read, raw: bytes, shown: str) -> None:
    report = read(with_launch(plain, 0, _rename_range(raw)))
    assert report.records[0].ranges == (shown, "v0_naive|w0")


def test_a_kernel_name_that_is_not_utf_8_is_damage(plain: bytes, read: Read) -> None:
    at = plain.index(b"transpose_shared", Original(plain).launches[1].start)
    with pytest.raises(DamagedData, match="not UTF-8"):
        read(plain[:at] + b"\xff" + plain[at + 1 :])


def test_fields_of_a_newer_ncu_are_told(plain: bytes, read: Read) -> None:
    for data in (
        with_launch(plain, 1, lambda _: None, more=NEW_FIELD),
        with_header(plain, 0, lambda _: None, more=NEW_FIELD),
    ):
        report = read(data)
        assert report.notes == ("it has unknown fields: it is from a newer Nsight Compute, or damaged",)
        assert len(report.metrics) == 3 * 563


def test_a_newer_form_of_the_file_is_told(plain: bytes, read: Read) -> None:
    assert plain[8:10] == b"\x08\x07"
    (note,) = read(plain[:9] + b"\x09" + plain[10:]).notes
    assert note == "the file is of form 9, newer than the 7 known here: parts may not be read"


def test_a_newer_kind_of_value_is_refused(plain: bytes, read: Read) -> None:
    def change(result: Any) -> None:
        result.metrics[5].value.Clear()
        result.metrics[5].value.MergeFromString(report_file.write_varint(9 << 3 | 2) + b"\x01x")

    with pytest.raises(DamagedData, match="newer Nsight Compute"):
        read(with_launch(plain, 0, change))


def test_a_lost_value_is_damage(plain: bytes, read: Read) -> None:
    def turn(result: Any) -> None:
        metric = next(metric for metric in result.metrics if metric.value.HasField("double"))
        metric.instances.append(metric.value.SerializeToString())
        metric.ClearField("value")

    with pytest.raises(DamagedData, match="is in the wrong place"):
        read(with_launch(plain, 0, turn))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda result: setattr(result.grid, "x", 0), "a launch has the impossible size 0 x 32 x 1"),
        (lambda result: setattr(result.grid, "y", 2**40), "a launch has the impossible size"),
        (lambda result: setattr(result.block, "x", 33), "launch__block_dim_x is 32"),
        (lambda result: setattr(result, "stream", 8), "stream of launch 1 is 8, its launch__stream_id is 7"),
    ],
)
def test_what_is_said_twice_has_to_agree(plain: bytes, read: Read, change: Callable[[Any], None], words: str) -> None:
    with pytest.raises(DamagedData, match=words):
        read(with_launch(plain, 1, change))


def test_of_a_metric_that_stands_twice_the_last_counts_and_is_told_once(plain: bytes, read: Read) -> None:
    def measure_anew(result: Any) -> None:
        doubles = [metric for metric in result.metrics if metric.value.HasField("double")][:2]
        for metric in doubles:
            result.metrics.add().CopyFrom(metric)
            result.metrics[-1].value.double = 142560.0

    both = with_launch(with_launch(plain, 0, measure_anew), 1, measure_anew)
    report = read(both)
    names = [report.contents.name_lists[0][i] for i, v in enumerate(report.contents.values[:563]) if v == 142560.0]
    assert report.notes == (
        f"twice in a launch, with different values: {', '.join(names)}; the last counts, as with NVIDIA's reader",
    )
    assert len(names) == 2
    assert len(report.metrics) == 3 * 563


def test_a_name_that_no_ncu_has_is_told(plain: bytes, read: Read) -> None:
    wrong_name = "sm__throughpuu.avg.pct_of_peak_sustained_elapsed"
    wrong = plain.replace(NAME, wrong_name.encode(), 1)
    (note,) = read(wrong).notes
    assert note == (
        "the name of a metric is none of ncu's and may be damaged: "
        f"breakdown:{wrong_name} (of breakdown:{NAME.decode()}?)"
    )


def test_a_name_that_is_none_is_damage(plain: bytes, read: Read) -> None:
    at = plain.index(NAME)
    with pytest.raises(DamagedData, match="the name of a metric is not a name"):
        read(plain[:at] + b"\n" + plain[at + 1 :])


def test_a_copy_and_a_new_order_of_launches_are_told(plain: bytes, read: Read) -> None:
    *before, second, third, end = Original(plain).bounds
    assert before
    assert read(plain + plain[third:end]).notes == ("launches that stand twice, to the byte: 3 is 2",)
    notes = read(plain[:second] + plain[third:end] + plain[second:third]).notes
    assert notes == ("the launches do not stand in the order in which they ran",)


def test_a_lost_session_and_lost_code_are_told(plain: bytes, read: Read) -> None:
    original = Original(plain)
    for number, note in (
        (0, "the report does not say when it was made: it is cut, or lacks a part"),
        (1, "the code of 3 of 3 launches is not in it: no source lines, no SASS"),
        (6, "the report does not say the version of ncu: it is cut, or lacks a part"),
    ):
        start, end = original.bounds[number], original.bounds[number + 1]
        assert read(plain[:start] + plain[end:]).notes == (note,)


def test_a_damaged_description_of_a_section_is_told(plain: bytes, read: Read) -> None:
    def damage(result: Any) -> None:
        result.sections[2] = result.sections[2][:-40] + bytes(40)

    for launch, named in ((2, "2"), (0, "1, 2")):
        (note,) = read(with_launch(plain, launch, damage)).notes
        assert note == f"sections of launch {named} are not those of launch 0: damaged in a part that is not read"


def test_a_report_without_launches_is_damage(plain: bytes, read: Read) -> None:
    with pytest.raises(DamagedData, match="holds no launch"):
        read(plain[: Original(plain).bounds[2]])


def test_a_range_of_no_domain_is_told(plain: bytes, read: Read) -> None:
    def change(result: Any) -> None:
        nvtx = Messages().nvtx(result)
        nvtx.threads[0].domains[0].id = 8
        result.nvtx = nvtx.SerializeToString()

    (note,) = read(with_launch(plain, 0, change)).notes
    assert note == "it has NVTX ranges of a domain without a name: ranges may be assigned wrongly"


def test_numbers_that_are_none_are_damage(full: bytes, read: Read) -> None:
    def change(result: Any) -> None:
        rules = Messages().rules(result)
        rule = next(i for i, rule in enumerate(rules) if any(item.HasField("speedup") for item in rule.body.items))
        next(item for item in rules[rule].body.items if item.HasField("speedup")).speedup.percent = float("inf")
        result.rules[rule] = rules[rule].SerializeToString()

    with pytest.raises(DamagedData, match="estimated speed-up is not a number"):
        read(with_launch(full, 0, change))
    with pytest.raises(DamagedData, match="after the year 2242"):
        read(with_header(full, 0, lambda header: setattr(header.session, "created", 2**62)))


def test_an_old_report_lacks_nothing_that_matters(old_report: Path) -> None:
    assert read_report(old_report).notes == ()


def test_sectors_of_loads_and_of_stores_are_those_of_their_instructions(full: bytes, read: Read) -> None:
    """Without ncu's bytes per sector: the loads need 4 sectors of 4, the stores here 2 of 32, and not 3 each."""
    names = [name for block in report_file.blocks(full) for name in Messages().header(full, block).strings.strings]

    def change(result: Any) -> None:
        kept = [one for one in result.metrics if names[one.name] not in APART]
        (ideal,) = (one for one in kept if names[one.name] == "memory_l2_theoretical_sectors_global_ideal")
        of_stores = ideal.instances[1].replace(report_file.write_varint(131_072), report_file.write_varint(65_536))
        ideal.instances[1], ideal.value.uint64 = of_stores, 131_072 + 65_536
        del result.metrics[:]
        result.metrics.extend(kept)

    report = read(with_launch(full, 0, change))
    table = by_launch(report.metrics)[0]
    assert ROWS["sectors_per_request_load_ideal"].value(table) == 4.0
    ideal = ROWS["sectors_per_request_store_ideal"].value(table)
    assert ideal == pytest.approx(2.0, rel=0.02)  # of the sectors that L1 counted: some fewer
