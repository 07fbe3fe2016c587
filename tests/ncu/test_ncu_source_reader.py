"""The child process asks NVIDIA's reader once for each function, and has a row for each counted address."""

from __future__ import annotations

import pytest

from ncu_assist.ncu.source.contents import (
    ACCESSES,
    NO_FILE,
    SPACES,
    CodeRequest,
    SourceDocument,
    spelled,
    stall_columns,
)
from ncu_assist.ncu.source.reader import _Reading

KERNEL = 0x1000


class FakeAction:
    """A launch of a kernel at 0x1000, in a cubin with another function at 0x2000."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self._code = {0x1000: "  S2R R0", 0x1010: "@P0 CALL 0x2000", 0x1020: "EXIT", 0x2000: "MUFU", 0x2010: "RET"}

    def name(self) -> str | None:
        return "kernel"

    def source_files(self) -> dict[str, str]:
        return {}

    def source_info(self, address: int) -> None:
        return None

    def sass_by_pc(self, address: int) -> str:
        self.asked.append(address)
        return self._code.get(address, "" if address % 16 == 0 else "N/A")


def read(*launches: tuple[FakeAction, int, tuple[int, ...]]) -> SourceDocument:
    """Return what is read of launches: the reader's, its cubins, the addresses at which something was counted."""
    reading = _Reading()
    for place, (action, cubins, counted) in enumerate(launches):
        reading.launch(action, CodeRequest(place, cubins, (KERNEL,), counted))
    return reading.document()


def test_launches_of_a_function_share_its_code() -> None:
    first, second, other = FakeAction(), FakeAction(), FakeAction()
    document = read((first, 7, (0x1000, 0x1020)), (second, 7, (0x1000,)), (other, 8, (0x1000,)))
    assert [launch.functions for launch in document.launches] == [(0,), (0,), (1,)]
    assert document.functions[0].sass == ("S2R R0", "@P0 CALL 0x2000", "EXIT")
    assert document.functions[0].files == (NO_FILE,) * 3
    assert second.asked == []
    assert other.asked  # another cubin at the same address


def test_a_function_that_was_called_is_behind_the_kernel() -> None:
    document = read((FakeAction(), 0, (0x1000, 0x2010)))
    assert [(each.start, each.base, each.sass) for each in document.functions[1:]] == [
        (0x2000, 0x2000, ("MUFU", "RET"))
    ]
    assert document.launches[0].functions == (0, 1)


@pytest.mark.parametrize("address", [0x1040, 0x1008])
def test_a_counter_where_no_code_is_keeps_its_place(address: int) -> None:
    stray = read((FakeAction(), 0, (address,))).functions[1]
    assert (stray.start, stray.base, stray.sass) == (address, KERNEL, ("",))


def test_addresses_without_code_are_one_function() -> None:
    _, called, bare = read((FakeAction(), 0, (0x1008, 0x1048, 0x2010, 0x3000))).functions
    assert (called.start, bare.base, bare.sass) == (0x2000, KERNEL, ("", "", ""))
    assert bare.each_address() == (0x1008, 0x1048, 0x3000)


def test_a_launch_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeAction, "name", lambda self: None)  # what the reader says of a launch that does not parse
    with pytest.raises(SystemExit, match="a launch is empty"):
        read((FakeAction(), 0, ()))


def test_words_for_memory() -> None:
    assert [spelled(bits, SPACES) for bits in (0, 4, 16, 20)] == [None, "Global", "Shared", "Global,Shared"]
    assert [spelled(bits, ACCESSES) for bits in (6, 8, 33)] == ["Load,Store", "Atomic", "33"]


def test_stall_reasons_are_an_open_set() -> None:
    prefix = "smsp__pcsamp_warps_issue_stalled_"
    found = stall_columns({prefix + "wait_not_issued", prefix + "wait", prefix + "new_on_rubin", "inst_executed"})
    assert list(found) == ["stall_new_on_rubin", "stall_wait", "stall_wait_not_issued"]
