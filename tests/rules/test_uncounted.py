"""What the code says of local memory and atomics where nobody counted them: certain, and said beside the finding."""

from __future__ import annotations

import pytest
from factories import launch
from made_facts import made

from ncu_assist.rules import RULES, diagnose
from ncu_assist.rules.model.of_run import LaunchSass, RuleResults, as_built
from ncu_assist.rules.model.uncounted import uncounted_words

# A public program for 7.5: threads alone in their blocks clear an array of 4 KB, count in it, and add it up in the end.
CLEAR = [f"STL.128 [R1+{hex(16 * place)}], RZ" for place in range(256)]
COUNT = ["LDL R12, [R11]", "IADD3 R12, R12, 0x1, RZ", "STL [R11], R12"]
ADD = [f"@P0  RED.E.ADD.STRONG.GPU [UR4+{hex(4 * place)}], R32" for place in range(32)]
OTHERS = ["IMAD R4, R4, R5, R6", "ISETP.NE.AND P0, PT, R4, RZ, PT"] * 100
BASIC = {"block_size": 1.0, "grid_size": 1e6, "waves_per_sm": 100.0, "sm_throughput": 14.8, "dram_throughput": 53.3}
COUNTED = {"local_load_requests": 9.0, "local_store_requests": 9.0}


def test_an_array_and_atomics_are_named_with_what_a_lone_thread_moves() -> None:
    words = uncounted_words([*CLEAR, *COUNT, *OTHERS, *ADD], made(**BASIC))
    assert words == (
        "; its code has an array that is indexed at run time in local memory (257 stores, 1 load) and 32 atomics: how "
        "often they run was not counted; a thread alone in its warp moves 32 bytes for each 4 of local memory"
    )
    assert "alone" not in uncounted_words([*CLEAR, *COUNT], made(**BASIC | {"block_size": 32.0}))


def test_accesses_at_fixed_places_of_the_stack_may_be_spills() -> None:
    stores, loads = ["STL [R1+0x4], R2"] * 3, ["LDL R2, [R1+0x4]"] * 3
    spills = uncounted_words([*stores, *loads], made(**BASIC))
    assert "has spills, an array or arguments of a call in local memory (3 stores, 3 loads):" in spills
    assert "has an array or arguments of a call in local memory (3 stores, 0 loads):" in uncounted_words(
        stores, made(**BASIC)
    )


@pytest.mark.parametrize("few", [COUNT, ADD[:3], ["REDUX.SUM UR4, R2", "ATOMS.ADD R2, [R3], R4"] * 50])
def test_a_few_accesses_and_those_within_an_sm_are_not_said(few: list[str]) -> None:
    assert uncounted_words([*few, *OTHERS], made(**BASIC)) == ""


def test_what_was_counted_is_not_said() -> None:
    counted = made(**BASIC, **COUNTED, global_atomic_requests=0.0, global_reduction_requests=0.0)
    assert uncounted_words([*CLEAR, *COUNT, *ADD], counted) == ""
    assert uncounted_words(CLEAR, made(**BASIC), [0.0] * 255 + [7.0]) == ""  # by instruction: lines have it
    assert uncounted_words(CLEAR, made(**BASIC), [0.0] * 256)


def test_the_first_finding_says_it_once_and_not_of_a_build_without_optimisation() -> None:
    facts = made(**BASIC)
    own = launch(0)
    before = RuleResults(facts, diagnose(facts, RULES), {})
    code = LaunchSass.of({0: ([*CLEAR, *COUNT, *ADD], [], [])}, [own])
    after = as_built(before, code)
    assert after.diagnosis.first
    assert "32 atomics" in after.diagnosis.first.finding.message
    assert as_built(after, code) == after
    slow = LaunchSass.of({0: ([*CLEAR, *["MOV R4, R4"] * 300], [], [])}, [own])
    assert all("local memory" not in one.finding.message for one in as_built(before, slow).diagnosis.findings)
