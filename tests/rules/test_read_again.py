"""Which loads read what an earlier line has read."""

from __future__ import annotations

from patience import grows_linearly

from ncu_assist.rules.model.blame import read_again

# A pointer at 0x210 read three ways, as nvcc writes them; one at 0x218.
LOADED_WHOLE = ("LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R0, 0x4, R2", "LDG.E R4, desc[UR4][R2.64]")
BY_HALVES = (
    "IADD3 R8, P0, R6, c[0x0][0x210], RZ",
    "IADD3.X R9, R7, c[0x0][0x214], RZ, P0, !PT",
    "LDG.E R5, desc[UR4][R8.64+0x10]",
)
UNIFORM = (
    "ULDC.64 UR6, c[0x0][0x210]",
    "LEA R10, P2, R20, UR6, 0x4",
    "LEA.HI.X R11, R20, UR7, R21, 0x4, P2",
    "LDG.E.128 R12, desc[UR4][R10.64]",
)
OTHER = ("LDC.64 R2, c[0x0][0x218]", "LDG.E R4, desc[UR4][R2.64]")
FROM_MEMORY = ("LDC.64 R2, c[0x0][0x210]", "LDG.E.64 R2, desc[UR4][R2.64]", "LDG.E R4, desc[UR4][R2.64]")


def found(*parts: tuple[str, ...], sectors: tuple[float, ...] = ()) -> list[int]:
    """Return which parts read an array again; each is a line of its own, its loads with so many sectors."""
    texts = [text for part in parts for text in part]
    lines = [("a.cu", number) for number, part in enumerate(parts) for _ in part]
    amounts = [amount for part, amount in zip(parts, sectors or (8.0,) * len(parts), strict=True) for _ in part]
    counted = [amount if "LDG" in text else 0.0 for text, amount in zip(texts, amounts, strict=True)]
    return [lines[place][1] for place in read_again(texts, lines, counted)]


def test_every_sweep_after_the_first() -> None:
    assert found(LOADED_WHOLE, BY_HALVES, UNIFORM) == [1, 2]
    assert found(LOADED_WHOLE) == []


def test_another_array_is_not_read_again() -> None:
    assert found(LOADED_WHOLE, OTHER) == []
    assert found(LOADED_WHOLE, OTHER, UNIFORM, OTHER) == [2, 3]


def test_what_a_loop_left_over_is_no_sweep() -> None:
    assert found(LOADED_WHOLE, BY_HALVES, UNIFORM, sectors=(8.0, 2.0, 8.0)) == [2]


def test_a_line_that_was_unrolled_is_one_sweep() -> None:
    texts = [*LOADED_WHOLE, "LDG.E R5, desc[UR4][R2.64+0x400]", "LDG.E R6, desc[UR4][R2.64+0x800]"]
    assert read_again(texts, [("a.cu", 1)] * 5, [0.0, 0.0, 8.0, 8.0, 8.0]) == []


def test_a_pointer_from_memory_is_not_known() -> None:
    assert found(FROM_MEMORY[2:], FROM_MEMORY[2:]) == []
    texts = [*FROM_MEMORY, FROM_MEMORY[2]]
    assert read_again(texts, [("a.cu", n) for n in range(4)], [0.0, 0.0, 8.0, 8.0]) == []


def test_a_loop_that_moves_its_pointer_ends() -> None:
    texts = [
        "ULDC.64 UR6, c[0x0][0x210]",
        "IADD3 R2, R2, UR6, RZ",
        "LDG.E R4, desc[UR4][R2.64]",
        "IADD3 R2, R2, 0x400, RZ",
    ]
    assert read_again([*texts, *texts], [("a.cu", n // 4) for n in range(8)], [0.0, 0.0, 8.0, 0.0] * 2) == [6]


def test_an_address_of_many_steps_takes_no_time() -> None:
    def read(loads: int) -> None:
        chain = ["LDC.64 R2, c[0x0][0x210]", *["IADD3 R2, R2, R2, RZ"] * (3 * loads)]
        texts = chain + ["LDG.E R4, desc[UR4][R2.64]"] * loads
        assert read_again(texts, [("a.cu", n) for n in range(len(texts))], [0.0] * len(chain) + [8.0] * loads) == []

    read(1000)
    assert grows_linearly(read, 100)
