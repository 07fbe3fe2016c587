"""compute-sanitizer's messages: each known one becomes a finding with kernel, line and thread; none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.harness import sanitizer
from ncu_assist.harness.sanitizer import (
    MESSAGES,
    CodePlace,
    find_sanitizer,
    plain_kernel,
    read_findings,
    sanitized_workloads,
    sanitizer_argv,
    summed_up,
    tool_failure,
)
from ncu_assist.render.words.sanitizer import finding_words
from ncu_assist.spec_file import read_kernel

ROOT = Path(__file__).parents[2]
START, END = "========= COMPUTE-SANITIZER\n", "========= ERROR SUMMARY: 1 error\n"
# The forms of NVIDIA's user guide; what the real tool says of planted faults is held in test_sanitizer_recorded.py.
INVALID = """========= Invalid __global__ read of size 4 bytes
=========     at void far<(int)4>(const float *, float *)+0x90 in /proc/self/cwd/kernels/far/v1_far.cu:12
=========     by thread (3,0,0) in block (1,0,0)
=========     Access to 0x7f6e00001000 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f6e00000000 of size 4,096 bytes
"""
FORMS: dict[str, tuple[str, str, str]] = {  # by the id of a message: the tool, what it says, our sentence
    "out-of-bounds": (
        "memcheck",
        INVALID,
        "out of bounds at v1_far.cu:12: read of 4 bytes, global memory, 1 bytes after the nearest allocation of size "
        "4,096 bytes (in far, thread (3, 0, 0), block (1, 0, 0))",
    ),
    "misaligned": (
        "memcheck",
        INVALID.replace("is out of bounds", "is misaligned").replace("size 4 b", "size 16 b"),
        "misaligned access at v1_far.cu:12: read of 16 bytes, global memory, 1 bytes after the nearest allocation of "
        "size 4,096 bytes (in far, thread (3, 0, 0), block (1, 0, 0))",
    ),
    "stack": (
        "memcheck",
        "========= Stack overflow\n=========     at deep(int)+0x10 in v1.cu:3\n"
        "=========     by thread (0,0,0) in block (0,0,0)\n",
        "the hardware stopped the kernel at v1.cu:3 (in deep, thread (0, 0, 0), block (0, 0, 0))",
    ),
    "device-heap": (
        "memcheck",
        "========= Malloc/Free error encountered : Double free\n=========     at twice(void)+0x10 in v1.cu:7\n"
        "=========     by thread (0,0,0) in block (0,0,0)\n",
        "wrong use of malloc or free on the device at v1.cu:7 (in twice, thread (0, 0, 0), block (0, 0, 0))",
    ),
    "race": (
        "racecheck",
        "========= Error: Race reported between Write access at sum(float *)+0x90 in v1.cu:12\n"
        "=========     and Read access at sum(float *)+0x110 in v1.cu:15 [255 hazards]\n",
        "race on shared memory at v1.cu:12 and v1.cu:15: write and read (in sum, 255 times)",
    ),
    "uninitialised": (
        "initcheck",
        "========= Uninitialized __global__ memory read of size 4 bytes\n"
        "=========     at sum(float *)+0x90 in v1.cu:12\n"
        "=========     by thread (31,0,0) in block (0,0,0)\n=========     Access to 0x7f00\n",
        "read of uninitialized memory at v1.cu:12: read of 4 bytes, global memory (in sum, thread (31, 0, 0), "
        "block (0, 0, 0))",
    ),
    "no-wait": (
        "synccheck",
        "========= Barrier error detected. Missing wait.\n=========     at arm(Barrier *)+0x1310 in tma.cuh:31\n"
        "=========     by thread (0,0,0) in block (2,0,0)\n=========     Barrier is located at shared address 0x30400\n"
        "=========         Device Frame: Ring<(int)4>::fetch(int) const+0x1110 in ring.cuh:34\n"
        "=========         Device Frame: product(const float *)+0x10d0 in v1.cu:51\n",
        "mbarrier that is armed again before anybody waited for it at tma.cuh:31 (in product, by way of v1.cu:51, "
        "thread (0, 0, 0), block (2, 0, 0))",
    ),
    "barrier": (
        "synccheck",
        "========= Barrier error detected. Divergent thread(s) in block.\n"
        "=========     at sum(float *)+0x90 in v1.cu:12\n"
        "=========     by thread (32,0,0) in block (0,0,0)\n",
        "barrier that not all threads reach at v1.cu:12 (in sum, thread (32, 0, 0), block (0, 0, 0))",
    ),
}


@pytest.mark.parametrize("id", [one.id for one in MESSAGES])
def test_every_message_of_the_table_is_read_with_kernel_line_and_thread(id: str) -> None:
    tool, text, sentence = FORMS[id]
    (found,) = read_findings(START + text + "=========\n" + END, tool)
    assert (found.id, finding_words(found)) == (id, sentence)
    assert next(one for one in MESSAGES if one.id == id).tool == tool


def test_the_same_fault_of_many_threads_is_one_finding_with_the_first_thread() -> None:
    again = INVALID.replace("(3,0,0)", "(4,0,0)")
    other = INVALID.replace(":12", ":13")
    first, second = read_findings(START + INVALID + "=========\n" + again + "=========\n" + other + END, "memcheck")
    assert (first.count, first.thread, first.place) == (2, (3, 0, 0), CodePlace("far", "v1_far.cu", 12))
    assert (second.count, second.place.line) == (1, 13)


def test_a_hazard_lends_its_threads_to_the_race_that_it_is_part_of() -> None:
    hazard = """========= Error: Potential RAW hazard detected at __shared__ 0x7c in block (1,0,0) :
=========     Write Thread (31,0,0) at sum(float *)+0x90 in v1.cu:12
=========     Read Thread (32,0,0) at sum(float *)+0x110 in v1.cu:15
=========     Current Value : 0
"""
    (found,) = read_findings(START + hazard + "=========\n" + FORMS["race"][1] + END, "racecheck")
    assert (found.count, found.thread, found.block) == (255, (31, 0, 0), (1, 0, 0))
    assert finding_words(found) == (
        "race on shared memory at v1.cu:12 and v1.cu:15: write and read (in sum, thread (31, 0, 0), block (1, 0, 0), "
        "255 times)"
    )


def test_the_older_form_of_a_place() -> None:
    text = "========= Invalid __global__ write of size 4 bytes\n=========     at 0x90 in /home/v1.cu:7:far(float *)\n"
    (found,) = read_findings(START + text + END, "memcheck")
    assert found.place == CodePlace("far", "v1.cu", 7)


def test_without_line_information_the_kernel_is_told() -> None:
    text = "========= Invalid __global__ write of size 4 bytes\n=========     at far(float *)+0x90\n"
    (found,) = read_findings(START + text + END, "memcheck")
    assert finding_words(found) == "out of bounds at far: write of 4 bytes, global memory (in far)"


def test_a_message_that_the_table_lacks_is_a_finding_in_the_tools_own_words() -> None:
    text = "========= Wild thing of a newer release\n=========     at far(float *)+0x90 in v1.cu:3\n"
    (found,) = read_findings(START + text + END, "memcheck")
    assert (found.id, finding_words(found)) == ("other", "Wild thing of a newer release at v1.cu:3 (in far)")


def test_remarks_are_no_findings() -> None:
    text = (
        "========= Program hit cudaErrorPeerAccessAlreadyEnabled (error 704) on CUDA API call to cudaX.\n"
        "=========     Saved host backtrace up to driver entry point at error\n"
        "=========         Host Frame: f [0x1] in x\n"
        "========= Target application returned an error\n"
    )
    assert read_findings(START + text + "========= ERROR SUMMARY: 0 errors\n", "memcheck") == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("========= ERROR SUMMARY: 0 errors\n", 0),
        ("========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n", 2),
        ("========= ERROR SUMMARY: 3 errors\n========= ERROR SUMMARY: 2 errors were not printed. Use …\n", 3),
        ("called small\n", None),
    ],
)
def test_the_summary(text: str, count: int | None) -> None:
    assert summed_up(text) == count


def test_failures_of_the_tool_itself() -> None:
    cause, cure = tool_failure("========= Error: Device not supported. Please refer to the list\n") or ("", "")
    assert (cause, cure) == ("this release does not know this GPU", "use compute-sanitizer from a newer CUDA toolkit")
    assert tool_failure("a kernel prints: Device not supported\n") is None


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("void f<(int)4, float>(const float *, std::pair<int, int>)", "f"),
        ("ns::f(int)", "ns::f"),
        ("(anonymous namespace)::f(int)", "f"),
        ("triton_poi_fused_0", "triton_poi_fused_0"),
    ],
)
def test_the_name_of_a_kernel(signature: str, name: str) -> None:
    assert plain_kernel(signature) == name


def test_small_odd_and_tail_workloads_are_looked_at() -> None:
    kernel = read_kernel(ROOT / "kernels" / "flash_attention")
    version = kernel.version("v11")
    names = [one.name for one in sanitized_workloads(kernel, version, kernel.workloads)]
    assert names == ["odd", "masked", "small"]
    large = [one for one in kernel.workloads if one.name in ("d128", "d64")]
    assert [one.name for one in sanitized_workloads(kernel, version, large)] == ["d64"]


def test_pairs_of_accesses_are_asked_for_unless_threads_are_wanted() -> None:
    """Of single hazards those of one pair reach the limit of what is printed, and other races are not seen."""
    argv = sanitizer_argv(Path("compute-sanitizer"), "racecheck", ["python"])
    assert argv[argv.index("--racecheck-report") + 1] == "analysis"
    assert "--racecheck-report" not in sanitizer_argv(Path("compute-sanitizer"), "memcheck", ["python"])


def test_no_tool_is_the_machines_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    def none() -> None:
        raise EnvironmentProblem("there is no nvcc")

    monkeypatch.setattr(sanitizer, "find_nvcc", none)
    with pytest.raises(EnvironmentProblem, match="there is no compute-sanitizer on PATH or beside nvcc"):
        find_sanitizer()
