"""Which instruction a warp waits for."""

from __future__ import annotations

from ncu_assist.rules.model.blame import UNIFORM, Function, read_instruction

LOADED = (
    "LDG.E.128.CONSTANT R8, desc[UR4][R2.64]",
    "LDG.E R4, desc[UR4][R6.64]",
    "IADD3 R4, P0, R4, UR6, RZ",
    "@P0   FADD R11, R11, 1",
    "FADD R5, R4, 1",
    "STG.E.128 desc[UR4][R2.64], R8",
)


def test_what_an_instruction_writes_and_names() -> None:
    load = read_instruction(LOADED[0])
    assert (load.head, load.written, load.named) == ("LDG", {8, 9, 10, 11}, {8, 2, 3, UNIFORM + 4})
    assert load.read == {2, 3, UNIFORM + 4}
    assert read_instruction("ULDC.64 UR4, c[0x0][0x210]").written == {UNIFORM + 4, UNIFORM + 5}
    ticket = read_instruction("ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR4][R4.64], R9")
    assert ticket.written == {4}
    assert read_instruction(LOADED[5]).written == frozenset()
    assert read_instruction("EXIT").named == frozenset()


def test_a_wait_is_put_down_to_the_load_of_its_register() -> None:
    function = Function.of(LOADED)
    assert function.blamed(3, "long_scoreboard") == 0  # not the load next to it
    assert function.blamed(2, "long_scoreboard") == 1
    assert function.blamed(3, "math_pipe_throttle") == 3


def test_a_load_of_the_round_before() -> None:
    function = Function.of(("FADD R1, R1, R4", "LDG.E R4, desc[UR4][R2.64]", "BRA 0x0"))
    assert function.blamed(0, "long_scoreboard") == 1


def test_a_barrier_stands_above_where_the_warp_is_seen() -> None:
    function = Function.of(("BAR.SYNC 0x0", "MOV R1, R2", "BAR.SYNC 0x0", "LDS R9, [R7]"))
    assert function.blamed(3, "barrier") == 2
    assert function.blamed(0, "barrier") == 0
    arrives = Function.of(("BAR.SYNC 0x1, 0x80", "BAR.ARV R8, 0x100", "MOV R1, R8"))
    assert arrives.blamed(2, "barrier") == 0  # nobody is held where it only arrives
    assert arrives.code[1].written == frozenset()


def test_what_a_load_from_shared_memory_is_for() -> None:
    function = Function.of(
        ("LDSM.16.M88.4 R16, [R9]", "HMMA.16816.F32 R4, R16, R8, R4", "HMMA.16816.F32 R4, R18, R8, R4")
    )
    assert function.matrix_instruction(0) == 1
    assert function.matrix_instruction(1) == 1
    assert Function.of(("LDS R16, [R9]", "FADD R1, R16, R2")).matrix_instruction(0) == 0
    assert Function.of(("LDG.E R16, [R8.64]", "HMMA.16816.F32 R4, R16, R8, R4")).matrix_instruction(0) == 0


def test_a_register_that_all_lanes_share_is_another_one() -> None:
    function = Function.of(("S2UR UR4, SR_CTAID.X", "S2R R4, SR_TID.X", "IMAD R5, R6, UR4, R7"))
    assert function.blamed(2, "short_scoreboard") == 0


def test_no_load_in_sight_leaves_the_wait_where_it_is() -> None:
    assert Function.of(("MOV R1, R2", "FADD R1, R1, 1")).blamed(1, "long_scoreboard") == 1
