"""The source lines of a finding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from ncu_assist.ncu.code import Code
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.places import MOST, places


def finding(rule: str, **changes: Any) -> Finding:
    return Finding(rule=rule, message="", saved_ns=0.0, evidence=(), **changes)


FINDING = finding("l2-bound", stalls=("long_scoreboard",))
HEADER = "/usr/local/cuda/include/x.hpp"


def code(*rows: tuple[str, str | None, int | None, float], imported: bool = True, **columns: Any) -> Code:
    made: dict[str, Any] = {
        "launch": 0,
        "kernel": "k",
        "offset": [16 * place for place in range(len(rows))],
        "sass": [row[0] for row in rows],
        "opcode": [row[0].split()[0] for row in rows],
        "file": pd.Categorical([row[1] for row in rows]),
        "line": pd.array([row[2] for row in rows], dtype="Int32"),
        "samples": [row[3] for row in rows],
        "stall_long_scoreboard": [row[3] for row in rows],
        "instructions": 10.0,
        "thread_instructions": 320.0,
        "sectors_excessive": 0.0,
        "wavefronts_excessive": 0.0,
    }
    texts = {("a.cu", row[2]): f"line {row[2]}" for row in rows if row[1] == "a.cu" and row[2]} if imported else {}
    return Code(pd.DataFrame({**made, **columns}), texts)


WAITING = (("LDG.E R4, [R2.64]", "a.cu", 3, 10.0), ("FADD R5, R4, 1", "a.cu", 4, 90.0))


def test_a_wait_that_no_sample_shows_has_no_line() -> None:
    """A barrier that nobody was sampled at is not where most samples are."""
    barrier = replace(FINDING, stalls=("barrier",))
    assert places(barrier, code(*WAITING, stall_barrier=0.0)) == ()
    assert [one.line for one in places(barrier, code(*WAITING, stall_barrier=[0.0, 1.0]))] != []
    assert places(replace(FINDING, stalls=()), code(*WAITING))[0].line == 4


def test_a_wait_is_shown_at_the_load() -> None:
    (first,) = places(FINDING, code(*WAITING))
    assert (first.file, first.line, first.text, first.share) == ("a.cu", 3, "line 3", 1.0)


def test_excess_is_shown_where_it_was_counted_and_of_the_right_kind() -> None:
    rows = (*WAITING, ("STG.E [R2.64], R5", "a.cu", 5, 1.0))
    made = code(*rows, sectors_excessive=[30.0, 0.0, 70.0])
    store = finding("uncoalesced-global-store", waste="sectors_excessive")
    assert [(one.line, one.share) for one in places(store, made)] == [(5, 1.0)]
    assert [one.line for one in places(replace(store, rule="uncoalesced-global-load"), made)] == [3]
    assert [(one.line, one.share) for one in places(replace(store, rule="l2-bound"), made)] == [(5, 0.7), (3, 0.3)]


def test_stores_by_what_they_send() -> None:
    rows = (*WAITING, ("STG.E [R2.64], R5", "a.cu", 5, 0.0), ("STG.E.64 [R2.64], R5", "a.cu", 6, 0.0))
    made = code(*rows, sectors=[50.0, 0.0, 10.0, 30.0])
    stored = Finding(
        rule="host-link-bound", message="", saved_ns=0.0, evidence=(), waste="sectors", about=frozenset({"STG"})
    )
    assert [(one.line, one.share) for one in places(stored, made)] == [(6, 0.75), (5, 0.25)]


def test_operands_of_a_matrix_instruction() -> None:
    rows = (
        ("LDSM.16.M88.4 R16, [R17]", "a.cu", 3, 0.0),
        ("LDS R20, [R17]", "a.cu", 4, 0.0),
        ("HMMA.16816.F32 R4, R16, R8, R4", "a.cu", 5, 30.0),
        ("FADD R5, R20, 1", "a.cu", 6, 20.0),
    )
    made = code(*rows).sass.assign(stall_long_scoreboard=0.0, stall_short_scoreboard=[0.0, 0.0, 30.0, 20.0])
    waits = replace(FINDING, stalls=("short_scoreboard",))
    both = [waits, replace(waits, with_operands=True)]
    lines = [[(p.line, p.share) for p in places(one, replace(code(*rows), sass=made))] for one in both]
    assert lines == [[(3, 0.6), (4, 0.4)], [(5, 0.6), (4, 0.4)]]


@pytest.mark.parametrize(("own", "line"), [(9, 3), (12, 12)])
def test_a_routine_of_the_compiler_is_shown_at_its_call(own: int, line: int) -> None:
    """It has the line above it, here that of the closing brace; a function of the user has lines of its own."""
    rows = (
        ("MUFU.RCP R3, R4", "a.cu", 3, 0.0),
        ("@P0 CALL.REL.NOINC 0x1040", "a.cu", 3, 0.0),
        ("STG.E [R2.64], R5", "a.cu", 5, 0.0),
        ("EXIT", "a.cu", 9, 0.0),
        ("SHF.R.U32.HI R2, RZ, 0x18, R2", "a.cu", own, 0.0),
        ("RET.REL.NODEC R4, 0x1000", "a.cu", own, 0.0),
    )
    lanes = [320.0] * 4 + [10.0] * 2
    made = code(*rows, thread_instructions=lanes, address=[0x1000 + 16 * place for place in range(6)])
    found = places(finding("warp-divergence", waste="divergence"), made)
    assert [one.line for one in found] == [line]


def test_later_sweeps_over_an_array() -> None:
    rows = (
        ("LDC.64 R2, c[0x0][0x210]", "a.cu", 1, 0.0),
        ("LDG.E R4, desc[UR4][R2.64]", "a.cu", 2, 0.0),
        ("FADD R5, R4, 1", "a.cu", 3, 70.0),
        ("LDG.E R6, desc[UR4][R2.64]", "a.cu", 4, 0.0),
        ("FADD R5, R6, R5", "a.cu", 5, 30.0),
    )
    again = replace(FINDING, waste="read_again")
    assert [(p.line, p.share) for p in places(again, code(*rows, sectors=[0, 8.0, 0, 8.0, 0]))] == [(4, 1.0)]
    once = [(p.line, p.share) for p in places(again, code(*rows, sectors=[0, 8.0, 0, 2.0, 0]))]
    assert once == [(2, 0.8), (4, 0.2)], "none is read again: what asks for sectors, however long warps wait"
    stores = replace(again, about=frozenset({"STG"}))
    written = (*rows, ("STG.E [R2.64], R5", "a.cu", 6, 0.0))
    found = places(stores, code(*written, sectors=[0, 8.0, 0, 2.0, 0, 10.0]))
    assert [(p.line, p.counted) for p in found] == [(6, "read_again")]
    assert places(again, code(*rows, sectors=[0.0] * 5)) == (), "no line without sectors"


def test_idle_lanes() -> None:
    made = code(*WAITING, thread_instructions=[320.0, 10.0])
    assert [one.line for one in places(finding("warp-divergence", waste="divergence"), made)] == [4]


def test_an_imported_library_is_not_the_users_own() -> None:
    rows = (("LDG.E R4, [R2.64]", "/venv/site-packages/triton/language/standard.py", 293, 9.0), *WAITING)
    made = code(*rows)
    texts = {**made.texts, ("/venv/site-packages/triton/language/standard.py", 293): "return core.reduce("}
    assert {one.file for one in places(FINDING, replace(made, texts=texts))} == {"a.cu"}


@pytest.mark.parametrize("imported", [True, False])
def test_a_header_of_others_is_shown_at_the_line_that_calls_it(imported: bool) -> None:
    rows = (("MOV R1, R2", "a.cu", 7, 0.0), ("LDG.E R4, [R2.64]", HEADER, 99, 50.0))
    (first,) = places(FINDING, code(*rows, imported=imported))
    assert (first.file, first.line, first.is_guess) == ("a.cu", 7, True)


def test_a_header_whose_caller_is_known_is_no_guess() -> None:
    rows = (("MOV R1, R2", "a.cu", 7, 0.0), ("MOV R3, R4", "a.cu", 9, 1.0), ("LDG.E R4, [R2.64]", HEADER, 99, 50.0))
    chains = pd.Series([(("a.cu", 7),), (("a.cu", 9),), ((HEADER, 99), ("a.cu", 9))], dtype=object)
    (first,) = places(FINDING, code(*rows, chain=chains))
    assert (first.line, first.share, first.is_guess) == (9, 1.0, False)


def test_at_most_five_and_none_of_next_to_nothing() -> None:
    rows = [(f"MOV R{n}, R2", "a.cu", n, 100.0 - n) for n in range(1, 9)]
    assert [one.line for one in places(FINDING, code(*rows))] == [1, 2, 3, 4, 5]
    assert MOST == 5
    few = code(("MOV R1, R2", "a.cu", 1, 1000.0), ("MOV R1, R2", "a.cu", 2, 1.0))
    assert [one.line for one in places(FINDING, few)] == [1]


def test_without_line_numbers_the_instruction_is_named() -> None:
    made = code(("LDG.E R4, [R2.64]", None, None, 0.0), ("FADD R5, R4, 1", None, None, 9.0))
    (first,) = places(FINDING, made)
    assert (first.file, first.line, first.text) == (None, None, "LDG.E R4, [R2.64]")


def test_nothing_sampled_leads_nowhere() -> None:
    silent = code(("MOV R1, R2", "a.cu", 1, float("nan")))
    assert places(FINDING, silent) == ()
    assert places(FINDING, silent.of([7])) == ()


def test_where_code_was_loaded_is_not_shown() -> None:
    made = code(("BRA P2, 0x7f50337aa9c0", None, None, 9.0))
    assert places(FINDING, made)[0].text == "BRA P2, …"


def test_a_conversion_is_shown_at_the_line_that_calls_it_and_not_above() -> None:
    """As in a recorded kernel: the compiler put another line's multiplication just before it."""
    header = "/usr/local/cuda/include/cuda_bf16.hpp"
    rows = (
        ("LDG.E R62, [R64.64]", "a.cu", 44, 0.0),
        ("MUFU.EX2 R4, R59", "a.cu", 43, 0.0),
        ("PRMT R64, R62, 0x7632, R64", header, 266, 90.0),
        ("FMUL R7, R7, R4", "a.cu", 43, 0.0),
        ("FFMA R55, R64, R3, R55", "a.cu", 47, 10.0),
    )
    made = code(*rows)
    texts = {**made.texts, ("a.cu", 45): "const float2 v = __bfloat1622float2(pairs[0]);", ("a.cu", 46): "// bfloat()"}
    bound = finding("pipe-bound")
    assert [one.line for one in places(bound, replace(made, texts=texts))] == [45, 47]
    assert [one.line for one in places(bound, made)] == [47], "without such a call: the line that uses the result"


def test_some_launches_of_many_keep_their_own_lines() -> None:
    rows = (*WAITING, ("LDG.E R4, [R2.64]", HEADER, 99, 50.0))
    made = code(*rows, *rows, launch=[0, 0, 0, 1, 1, 1])
    sass = made.sass.assign(line=made.sass["line"] + 10 * made.sass["launch"])
    assert {one.line for one in places(finding("x"), replace(made, sass=sass).of([1]))} == {13, 14}
