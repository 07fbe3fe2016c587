"""Rule `debug-build`: which SASS is of a build without optimisation, and what it says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from factories import launch
from made_facts import gallery, made, told

from ncu_assist.frame import combine_launches
from ncu_assist.rules import RULES, debug_build, diagnose
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.of_run import LaunchSass, RuleResults, as_built

# nvcc 13.0 for 9.0: `y[i] = a * x[i] + y[i]`, with -G, and a loop of doubles with -Xptxas -O0; the same two with -O3.
WITH_G = """
MOV R0, RZ | LDC R0, c[0x0][R0+0x210] | MOV R0, R0 | MOV R2, 0x8 | LDC.64 R2, c[0x0][R2+0x210] | MOV R6, R2
MOV R5, R3 | MOV R6, R6 | MOV R5, R5 | S2R R4, SR_CTAID.X | MOV R4, R4 | IMAD R4, R4, R8, RZ
ISETP.LT.AND P0, PT, R4, R7, PT | PLOP3.LUT P0, PT, P0, PT, PT, 0x8, 0x0 | @P0 BRA 0x5b0 | BRA 0x270
R2UR UR4, R10 | R2UR UR5, R11 | LD.E R6, desc[UR4][R6.64] | FMUL R5, R0, R6 | MOV R6, R6 | MOV R7, R7
LD.E R6, desc[UR4][R6.64] | FADD R5, R5, R6 | ST.E desc[UR4][R2.64], R5 | EXIT
"""
WITH_PTXAS_O0 = """
MOV R2, RZ | LDC.64 R2, c[0x0][R2+0x210] | MOV R4, R2 | MOV R5, R3 | MOV R4, R4 | MOV R5, R5 | R2UR UR4, R6
R2UR UR5, R7 | LDG.E.64 R4, desc[UR4][R4.64] | MOV R8, 0xdb8bac71 | MOV R9, 0x3ff00068 | DFMA R4, R4, R8, 0.5
MOV R8, 0xdb8bac71 | MOV R9, 0x3ff00068 | DFMA R4, R4, R8, 0.5 | STG.E.64 desc[UR4][R2.64], R4 | EXIT
"""
OPTIMISED = """
S2R R7, SR_CTAID.X | S2R R0, SR_TID.X | IMAD R7, R7, UR4, R0 | ISETP.GE.AND P0, PT, R7, UR5, PT | @P0 EXIT
LDC.64 R2, c[0x0][0x218] | MOV R9, R4 | @!P1 MOV R12, R40 | IMAD.WIDE R2, R7, 0x4, R2
LDG.E R2, desc[UR4][R2.64] | LDG.E R9, desc[UR4][R4.64] | FFMA R7, R2, UR6, R9 | STG.E desc[UR4][R4.64], R7
EXIT
"""


def lines(code: str) -> list[str]:
    return [one.strip() for row in code.strip().splitlines() for one in row.split("|")]


def of_code(facts: Facts, code: Sequence[str], counts: Sequence[float] = ()) -> Facts:
    """The facts of kernels that all were built without optimisation."""
    every = {one.signature for one in facts.combined.launches}
    return replace(facts, unoptimised=dict.fromkeys(every, debug_build.executed(code, counts)))


def sass(facts: Facts, code: Sequence[str], counts: Sequence[float] = (), files: Sequence[str] = ()) -> LaunchSass:
    """The code of each launch, all of them alike."""
    launches = facts.combined.launches
    return LaunchSass.of({one.index: (list(code), list(counts), list(files)) for one in launches}, launches)


@pytest.mark.parametrize(
    ("code", "is_one"), [(WITH_G, True), (WITH_PTXAS_O0, True), (OPTIMISED, False), ("MOV R4, R40 | MOV R2, R4", False)]
)
def test_moves_of_a_register_into_itself_tell_it(code: str, is_one: bool) -> None:
    assert debug_build.is_unoptimised(lines(code)) is is_one
    assert not debug_build.is_unoptimised([])


def test_one_that_is_predicated_counts() -> None:
    assert debug_build.is_unoptimised(["@!P0   MOV R12, R12", *lines(OPTIMISED)])


@pytest.mark.parametrize(("code", "how"), [(WITH_G, "(nvcc -G)"), (WITH_PTXAS_O0, "(ptxas at -O0)")])
def test_accesses_tell_which_option_it_was(code: str, how: str) -> None:
    facts = of_code(made(issue_slots_busy=80.0), lines(code))
    (ranked,) = told(debug_build, facts).findings
    assert how in ranked.finding.message
    assert ranked.finding.assumed


def test_what_was_executed_counts_and_not_what_stands_there() -> None:
    code = ["MOV R4, R4", "FFMA R4, R4, R5, R6", "LDG.E R7, [R2]"]
    assert debug_build.executed(code, [10.0, 80.0, 10.0]) == {"MOV": 10.0, "FFMA": 80.0, "LDG": 10.0}
    assert debug_build.executed(code, [0.0, 0.0, 0.0]) == {"MOV": 1.0, "FFMA": 1.0, "LDG": 1.0}
    facts = made(issue_slots_busy=80.0)
    few, many = (debug_build.find(of_code(facts, code, counts)) for counts in ([10.0, 80.0, 10.0], [80.0, 10.0, 10.0]))
    assert few is not None
    assert many is not None
    assert few.saved_ns == pytest.approx(0.1 * 0.8 * facts.duration_ns)
    assert many.saved_ns == pytest.approx(0.8 * 0.8 * facts.duration_ns)


def test_instructions_that_were_not_counted_are_not_called_executed() -> None:
    code = ["MOV R4, R4", "FFMA R4, R4, R5, R6"]
    for counts, values, said in (
        ([4e5, 6e5], {"instructions": 1e6}, "40 % of the executed instructions"),
        ([], {"instructions": 1e6}, "50 % of the instructions in its code (how often each ran was not counted)"),
        ([], {}, "50 % of the instructions in its code (how often each ran was not counted)"),
    ):
        facts = of_code(made(issue_slots_busy=80.0, **values), code, counts)
        found = debug_build.find(facts)
        assert found is not None
        assert said in found.message


def test_an_optimised_build_needs_its_doubles_and_special_functions_as_well() -> None:
    code = ["MOV R4, R4", "DADD R4, R4, R6"]
    busy = {"pipe_fp64_cycles": 76.0, "sm_cycles_active": 100.0, "sm_cycles_elapsed": 100.0, "issue_slots_busy": 80.0}
    facts = of_code(made(**busy), code, [8e5, 2e5])
    (ranked,) = told(debug_build, facts).findings
    assert ranked.estimated_speedup <= 1 / 0.76


def test_of_code_that_was_not_read_nothing_is_said() -> None:
    said = told(debug_build, made())
    assert said.findings == said.unanswered == ()


def test_it_is_the_diagnosis_where_it_wins_most_and_others_wait_for_an_optimised_build() -> None:
    """Public reports built with -G: *local-array, 1.04x* was the diagnosis, and below it stood *debug-build, 2.55x*."""
    facts = gallery("pipe_issue_angles")
    before = RuleResults(facts, diagnose(facts, RULES), ())
    (issue,) = before.diagnosis.findings
    assert issue.finding.rule == "pipe-bound"
    code = ["MOV R4, R4", "FFMA R4, R4, R5, R6", "LDG.E R7, [R2]"]
    for moves in (80.0, 10.0):
        after = as_built(before, sass(facts, code, [moves, 90.0 - moves, 10.0]))
        said = ["debug-build", "pipe-bound"] if moves == 80.0 else ["pipe-bound", "debug-build"]
        assert [one.finding.rule for one in after.diagnosis.findings] == said
        assert after.joint_gains == ()
        other = next(one.finding for one in after.diagnosis.findings if one.finding.rule == "pipe-bound")
        assert other.advice.startswith("compile with optimisation first; if it is still there then, ")
        assert other.advice.endswith(issue.finding.advice)
        assert other.assumed
        ranked = {one.finding.rule: one for one in after.diagnosis.findings}
        wins_more = ranked[debug_build.ID].saved_ns > ranked["pipe-bound"].saved_ns
        assert ("optimisation alone: " in other.full_advice) is wins_more is (moves == 80.0)
        assert as_built(after, sass(facts, code, [moves, 90.0 - moves, 10.0])) is after
    assert as_built(before, sass(facts, lines(OPTIMISED), [])) is before


def test_of_several_kernels_it_is_said_of_those_that_were_built_so() -> None:
    """A program without optimisation calls a library: its kernels are not to be compiled again."""
    launches = [launch(0, "mine"), launch(1, "theirs", duration_ns=3e5), launch(2, "mine", duration_ns=5e4)]
    (mine,), theirs = made(issue_slots_busy=80.0, instructions=20.0).combined.tables, gallery("pipe_issue_angles")
    facts = replace(theirs, combined=combine_launches(None, launches, [mine, theirs.combined.tables[0], mine]))
    before = RuleResults(facts, diagnose(facts, RULES), {})
    moves, work = ["MOV R4, R4", "FFMA R4, R4, R5, R6"], ["FFMA R4, R4, R5, R6"] * 1000
    code = LaunchSass.of({0: (moves, [5.0, 15.0], []), 1: (work, [1.0] * 1000, [])}, launches)
    after = as_built(before, code)
    found = {one.finding.rule: one.finding for one in after.diagnosis.findings}
    assert found[debug_build.ID].launches == (0, 2)  # launch 2 was not read, and is of the kernel of launch 0
    assert "25 % of the executed instructions" in found[debug_build.ID].message
    assert found.pop(debug_build.ID).assumed
    assert list(found.values()) == [one.finding for one in before.diagnosis.findings]  # theirs is as it was
    assert found
    own = replace(before, facts=facts.only((2,)))
    assert debug_build.ID in {one.finding.rule for one in as_built(own, code).diagnosis.findings}
    assert as_built(replace(before, facts=facts.only((1,))), code) == replace(before, facts=facts.only((1,)))


def test_of_a_kernel_at_the_ceiling_of_dram_it_is_not_first() -> None:
    facts = gallery("healthy_stencil")
    before = RuleResults(facts, diagnose(facts, RULES), ())
    code = lines(WITH_G)
    after = as_built(before, sass(facts, code, [1.0] * len(code)))
    assert after.diagnosis.findings[0].finding.rule == before.diagnosis.findings[0].finding.rule == "at-dram-roofline"


def test_code_is_looked_at_where_little_of_what_is_executed_is_work() -> None:
    assert debug_build.may_be_unoptimised(made())
    assert debug_build.may_be_unoptimised(made(instructions=1e6, global_load_instructions=1e5))
    assert not debug_build.may_be_unoptimised(made(instructions=1e6, global_load_instructions=4e5))


def test_code_of_a_header_is_replaced_by_another_call_not_rewritten() -> None:
    """A public program: all but 0.01 % of the instructions of a kernel that starts generators are cuRAND's."""
    facts = gallery("pipe_issue_angles")
    before = RuleResults(facts, diagnose(facts, RULES), ())
    code, files = ["LOP3.LUT R4, R4, R5, R6", "STG.E [R2], R4"], ["/usr/local/cuda/include/curand_kernel.h", "own.cu"]
    after = as_built(before, sass(facts, code, [95.0, 5.0], files))
    assert "curandStatePhilox4_32_10_t" in after.diagnosis.findings[0].finding.advice
    assert as_built(after, sass(facts, code, [95.0, 5.0], files)) == after
    rebuilt = as_built(before, sass(facts, ["MOV R4, R4", *code], [1.0, 95.0, 4.0], [files[0], *files]))
    advice = {one.finding.rule: one.finding.advice for one in rebuilt.diagnosis.findings}
    assert advice["pipe-bound"].startswith(
        "compile with optimisation first; if it is still there then, start generators"
    )
    assert "curand" not in advice[debug_build.ID]
    for counts, named in (([74.0, 26.0], files), ([0.0, 0.0], files), ([95.0, 5.0], ["own.cuh", "own.cu"])):
        # it also draws numbers, was not counted, is their own
        assert as_built(before, sass(facts, code, counts, named)) is before


# nvcc 12 for 8.6, without lines: the seed is mixed with cuRAND's number, and the matrix to skip ahead by is read.
STARTS = ["LOP3.LUT R2, R2, 0xaad26b49, RZ, 0x3c, !PT", "LOP3.LUT R8, R2, 0x159a55e5, RZ, 0x3c, !PT"]
SKIPS = [*STARTS, "LDG.E R14, [R10.64]", "LOP3.LUT R5, R5, R14, RZ, 0x3c, !PT", "STG.E [R2.64], R5"]


def test_the_start_of_generators_is_known_by_its_numbers_without_lines() -> None:
    facts = gallery("pipe_issue_angles")
    before = RuleResults(facts, diagnose(facts, RULES), ())
    after = as_built(before, sass(facts, SKIPS))
    assert "curand_init(seed + thread, 0, 0, ...)" in after.diagnosis.findings[0].finding.advice
    draws, own, no_skip = [*SKIPS, "I2F.U32 R5, R5"], SKIPS[1:], STARTS
    for code in (draws, own, no_skip):
        assert as_built(before, sass(facts, code)) is before
    lines = sass(facts, SKIPS, [1.0] * len(SKIPS), ["own.cu"] * len(SKIPS))  # which say whose the code is
    assert as_built(before, lines) is before
