"""The names of NVTX ranges that parent and child agree on, repeats included."""

from __future__ import annotations

import pytest

from ncu_assist.harness.events import call_of, range_name, repeat_of


@pytest.mark.parametrize("workload", ["b64", "a|b", "4|x"])
@pytest.mark.parametrize("repeat", [0, 1, 49])
def test_a_name_says_what_it_was_made_of(workload: str, repeat: int) -> None:
    name = range_name("v7_registers", workload, repeat)
    assert call_of(name) == ("v7_registers", workload)
    assert repeat_of(name) == repeat


def test_the_first_call_is_named_as_ever() -> None:
    assert range_name("v7", "b64") == "v7|b64"
    assert (call_of(""), repeat_of("")) == (("", ""), 0)
