"""Small values in words: what of the shared memory of a block is the driver's."""

from __future__ import annotations

import pytest
from made_counters import side

from ncu_assist.render.words.values import drivers_part


@pytest.mark.parametrize(
    ("whole", "own", "said"),
    [
        (1024.0, 1024.0, "all of it the driver's"),
        (50_176.0, 1024.0, "1.02 kB of it the driver's"),
        (8192.0, 0.0, ""),  # chips before 8.0
        (0.0, 0.0, ""),
    ],
)
def test_what_the_driver_keeps_is_not_the_kernels(whole: float, own: float, said: str) -> None:
    assert drivers_part(side({"shared_memory": whole, "shared_memory_driver": own})) == said


def test_nothing_is_said_where_it_was_not_counted() -> None:
    assert drivers_part(side({"shared_memory": 1024.0})) == ""
