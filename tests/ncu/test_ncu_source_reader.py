"""The child process asks NVIDIA's reader once for each function, and loses no counter."""

from __future__ import annotations

import io
from array import array
from collections.abc import Mapping

import pytest

from ncu_assist.ncu.source.contents import ACCESSES, NO_FILE, SPACES, SourceDocument, spelled, stall_columns
from ncu_assist.ncu.source.reader import _Reading

Values = Mapping[int, float]
ENTRY = "launch__function_pcs"


class FakeMetric:
    """A metric with values by address, and a total that may be wrong."""

    def __init__(self, values: Values, total: float | None) -> None:
        self._ids, self._values, self._total = list(values), list(values.values()), total

    def num_instances(self) -> int:
        return len(self._ids)

    def has_value(self) -> bool:
        return self._total is not None

    def has_correlation_ids(self) -> bool:
        return True

    def correlation_ids(self) -> FakeMetric:
        return FakeMetric(dict(enumerate(self._ids)), None)

    def as_double(self, index: int | None = None) -> float:
        return float(self._total or 0) if index is None else self._values[index]

    def as_uint64(self, index: int) -> int:
        return int(self._values[index])


class FakeAction:
    """A launch of a kernel at 0x1000, in a cubin with another function at 0x2000."""

    def __init__(self, metrics: Mapping[str, Values], totals: Mapping[str, float] | None = None) -> None:
        self.asked: list[int] = []
        self._metrics = {name: FakeMetric(v, (totals or {}).get(name, sum(v.values()))) for name, v in metrics.items()}
        self._metrics[ENTRY] = FakeMetric({0: 0x1000}, 1)
        self._code = {0x1000: "  S2R R0", 0x1010: "@P0 CALL 0x2000", 0x1020: "EXIT", 0x2000: "MUFU", 0x2010: "RET"}

    def name(self) -> str:
        return "kernel"

    def metric_names(self) -> list[str]:
        return list(self._metrics)

    def metric_by_name(self, name: str) -> FakeMetric | None:
        return self._metrics.get(name)

    def source_files(self) -> dict[str, str]:
        return {}

    def source_info(self, address: int) -> None:
        return None

    def sass_by_pc(self, address: int) -> str:
        self.asked.append(address)
        return self._code.get(address, "" if address % 16 == 0 else "N/A")


def read(*actions: FakeAction, cubins: tuple[int, ...] | None = None) -> tuple[SourceDocument, list[float]]:
    out = io.BytesIO()
    reading = _Reading(out)
    for number, action in enumerate(actions):
        reading.launch(action, cubins[number] if cubins else 0)
    return reading.document(), array("d", out.getvalue()).tolist()


def test_launches_of_a_function_share_its_code() -> None:
    first, second, other = (FakeAction({"inst_executed": {0x1000: 1.0, 0x1020: n}}) for n in (2.0, 3.0, 4.0))
    document, values = read(first, second, other, cubins=(7, 7, 8))
    assert [launch.functions for launch in document.launches] == [(0,), (0,), (1,)]
    assert document.functions[0].sass == ("S2R R0", "@P0 CALL 0x2000", "EXIT")
    assert document.functions[0].files == (NO_FILE,) * 3
    assert second.asked == []
    assert other.asked  # another cubin at the same address
    assert values == [1, 0, 2, 1, 0, 3, 1, 0, 4]


def test_a_function_that_was_called_has_rows_behind_the_kernel() -> None:
    document, values = read(FakeAction({"inst_executed": {0x1000: 1.0, 0x2010: 5.0}, "smsp__pcsamp_sample_count": {}}))
    assert [(each.start, each.base, each.sass) for each in document.functions[1:]] == [
        (0x2000, 0x2000, ("MUFU", "RET"))
    ]
    assert document.launches[0].functions == (0, 1)
    assert document.metric_lists == (("inst_executed", "smsp__pcsamp_sample_count"),)
    assert values == [1, 0, 0, 0, 5, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("address", [0x1040, 0x1008])
def test_a_counter_where_no_code_is_keeps_its_place(address: int) -> None:
    document, values = read(FakeAction({"inst_executed": {address: 5.0}}))
    stray = document.functions[1]
    assert (stray.start, stray.base, stray.sass) == (address, 0x1000, ("",))
    assert values == [0, 0, 0, 5]


def test_addresses_without_code_are_one_function() -> None:
    document, values = read(FakeAction({"inst_executed": {0x1048: 1.0, 0x1008: 2.0, 0x2010: 3.0, 0x3000: 4.0}}))
    _, called, bare = document.functions
    assert (called.start, bare.base, bare.sass) == (0x2000, 0x1000, ("", "", ""))
    assert bare.each_address() == (0x1008, 0x1048, 0x3000)
    assert values == [0, 0, 0, 0, 3, 2, 1, 4]


def test_a_launch_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeAction, "name", lambda self: None)  # what the reader says of a launch that does not parse
    with pytest.raises(SystemExit, match="a launch is empty"):
        read(FakeAction({}))


def test_counters_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(SystemExit, match="values of inst_executed add up to 3, not to 4"):
        read(FakeAction({"inst_executed": {0x1000: 1.0, 0x1010: 2.0}}, {"inst_executed": 4.0}))


def test_samples_may_lie_outside_of_what_is_attributed() -> None:
    name = "smsp__pcsamp_sample_count"
    assert read(FakeAction({name: {0x1000: 1.0}}, {name: 4.0}))[1] == [1, 0, 0]


def test_a_metric_without_addresses_is_not_a_column() -> None:
    document, values = read(FakeAction({"inst_executed": {}, "dram__bytes.sum": {0x1000: 1.0}}, {"inst_executed": 4.0}))
    assert (document.metric_lists, values) == (((),), [])


def test_words_for_memory() -> None:
    assert [spelled(bits, SPACES) for bits in (0, 4, 16, 20)] == [None, "Global", "Shared", "Global,Shared"]
    assert [spelled(bits, ACCESSES) for bits in (6, 8, 33)] == ["Load,Store", "Atomic", "33"]


def test_stall_reasons_are_an_open_set() -> None:
    prefix = "smsp__pcsamp_warps_issue_stalled_"
    found = stall_columns({prefix + "wait_not_issued", prefix + "wait", prefix + "new_on_rubin", "inst_executed"})
    assert list(found) == ["stall_new_on_rubin", "stall_wait", "stall_wait_not_issued"]
