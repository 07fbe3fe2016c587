"""What instructions counted is what NVIDIA's reader has of them; what does not add up is damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ncu.nvidia_reader import everything
from ncu.rewriting import with_launch

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import compressed
from ncu_assist.ncu.messages import Messages, message_classes
from ncu_assist.ncu.source.contents import is_source_metric
from ncu_assist.ncu.source.instruction_counters import ENTRIES, InstructionCounters, InstructionReader, _decoded

DATA = Path(__file__).parent.parent / "data"
TOTAL = "inst_executed"


def by_address(counters: InstructionCounters, name: str) -> dict[int, float]:
    row = counters.values[counters.metrics.index(name)]
    return {int(at): value for at, value in zip(counters.addresses, row, strict=True) if value}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transpose_full", "triton_full", "torch_full", "library_full", "range"])
def test_the_counters_are_those_of_nvidias_reader(name: str, tmp_path: Path) -> None:
    plain = compressed.plain_file(DATA / f"{name}_h200_2025.3.1.ncu-rep.zst", tmp_path)
    reader = InstructionReader(plain.read_bytes())
    compared = 0
    for launch, facts in enumerate(everything(plain)):
        found = reader.of(launch)
        starts = facts["metrics"][ENTRIES][2]  # type: ignore[index]
        assert found.entries == tuple(sorted(map(int, starts)))
        for metric, (total, _, values, ids) in facts["metrics"].items():  # type: ignore[attr-defined]
            if not is_source_metric(metric):
                continue
            known: dict[int, float] = {}
            for at, value in zip(map(int, ids), map(float, values), strict=False):
                known[at] = known.get(at, 0.0) + value
            assert (metric in found.metrics) == bool(ids or total in ("0", "0.0")), metric
            if metric in found.metrics:
                assert by_address(found, metric) == {at: value for at, value in known.items() if value}, metric
                compared += len(known)
    assert compared or name == "range"  # which was collected without counters of instructions


CLASSES = message_classes()


def instance(value: dict[str, Any], at: int | None = 0x7FFF_FFFF_FFF0) -> bytes:
    made = CLASSES["Instance"](value=value) if at is None else CLASSES["Instance"](id={"uint64": at}, value=value)
    raw: bytes = made.SerializeToString()
    return raw


VALUES = ({"uint64": 2**63}, {"double": -1.5}, {"uint32": 7}, {"float": 0.25}, {"uint64": 0}, {})


def test_values_of_each_type() -> None:
    numbers = [2.0**63, -1.5, 7, 0.25, 0, 0]
    ((addresses, values),) = _decoded([[instance(value, 16 * i) for i, value in enumerate(VALUES)]])
    assert (addresses.tolist(), values.tolist()) == ([0, 16, 32, 48, 64, 80], numbers)
    for value, number in zip(VALUES, numbers, strict=True):  # each alone: other columns are decoded at once
        ((addresses, values),) = _decoded([[instance(value)]])
        assert (addresses.tolist(), values.tolist()) == ([0x7FFF_FFFF_FFF0], [number])


def test_metrics_keep_their_own() -> None:
    one, other = instance({"uint64": 1}, 16), instance({"uint64": 300}, 32)
    bare = instance({"uint64": 5}, None)
    found = [(at.tolist(), values.tolist()) for at, values in _decoded([[one, other], [], [bare], [one, bare]])]
    assert found == [([16, 32], [1, 300]), ([], []), ([], [5]), ([], [1, 5])]
    assert list(_decoded([])) == []


GOOD = instance({"uint64": 300})


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        GOOD[:-1],
        GOOD + b"\0",
        GOOD[:-1] + b"\x80",  # a number that does not end
        instance({"text": "sin"}),
        GOOD.replace(b"\x12\x03", b"\x1a\x03"),
        b"\x0a\xff" + GOOD[2:],
        b"\x12\x0c\x28" + b"\xff" * 10 + b"\x01",  # a number of eleven bytes
        b"\x12\x05\x19\0\0\0\0",  # half a double
    ],
)
def test_what_is_no_instance_is_damage(raw: bytes) -> None:
    with pytest.raises(DamagedData, match="the value of an instruction cannot be parsed"):
        list(_decoded([[GOOD, raw]]))


def changed(full: bytes, name: str, change: Callable[[Any], object]) -> InstructionCounters:
    """Return the counters of the first launch after a change of one of its metrics."""
    number = next(number for number, one in InstructionReader(full)._names.items() if one == name)

    def of(result: Any) -> None:
        change(next(one for one in result.metrics if one.name == number))

    return InstructionReader(with_launch(full, 0, of)).of(0)


def test_counters_that_do_not_add_up_are_refused(full: bytes) -> None:
    total = InstructionReader(full).of(0).values[InstructionReader(full).of(0).metrics.index(TOTAL)].sum()
    words = f"values of {TOTAL} add up to {total:.0f}, not to {total + 1:.0f}"

    def one_more(metric: Any) -> None:
        field = metric.value.WhichOneof("kind")
        setattr(metric.value, field, int(total) + 1)

    with pytest.raises(DamagedData, match=words):
        changed(full, TOTAL, one_more)


def test_samples_may_lie_outside_of_what_is_attributed(full: bytes) -> None:
    name = "smsp__pcsamp_sample_count"
    found = changed(full, name, lambda metric: metric.value.__setattr__(metric.value.WhichOneof("kind"), 10**6))
    assert by_address(found, name)


def test_a_metric_without_addresses_is_no_row(full: bytes) -> None:
    assert TOTAL in InstructionReader(full).of(0).metrics
    assert TOTAL not in changed(full, TOTAL, lambda metric: metric.ClearField("instances")).metrics
    nothing = changed(full, TOTAL, lambda metric: metric.value.__setattr__(metric.value.WhichOneof("kind"), 0))
    assert by_address(nothing, TOTAL) == {}  # counted, and there was none


def test_a_launch_that_is_no_message_is_damage(full: bytes) -> None:
    entry = InstructionReader(full).results[0]
    broken = full[: entry.start] + b"\x07" + full[entry.start + 1 :]  # no field has number 0
    with pytest.raises(DamagedData, match="cannot be parsed"):
        InstructionReader(broken).of(0)
    assert Messages().result(full, entry)
