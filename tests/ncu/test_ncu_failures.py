"""Every row of the table of failures, with a line as ncu writes it."""

from __future__ import annotations

import pytest
from fakes.fake_ncu import LOG, MESSAGES

from ncu_assist.errors import EnvironmentProblem, StageFailed
from ncu_assist.ncu.failures import ADVICE, FAILURES, Failure, diagnose, profiling_error

SPELLINGS = [
    ("permission", "==ERROR== Failed to initialize the profiler: InsufficientPermissions"),
    ("no-driver", "==ERROR== Failed to connect to the CUDA driver"),
    (
        "version-mismatch",
        "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips",
    ),
    ("clocks", "==ERROR== Failed to lock GPU clocks"),
    (
        "lock-file",
        "==ERROR== Failed to access the temporary directory.\nEnsure that /tmp is writable or set the TMPDIR",
    ),
    ("lock-file", "Error in trying to lock file '/tmp/nsight-compute-lock'"),
    ("kernel-failed", '==ERROR== Failed to profile "k" in MPS client process 7'),
    ("unreadable-report", "==ERROR== Could not open report file '/tmp/nothere.ncu-rep'."),
]


def test_the_fake_ncu_can_fail_in_each_way_of_the_table() -> None:
    assert set(MESSAGES) == {row.id for row in FAILURES}


@pytest.mark.parametrize("row", FAILURES, ids=lambda row: row.id)
def test_each_row_is_recognised_and_explained(row: Failure) -> None:
    exit_code, words = MESSAGES[row.id]
    assert row in diagnose(words, exit_code)
    error = profiling_error(words, exit_code)
    assert row.cause in error.message
    assert error.hint == row.cure
    assert error.exit_code == (6 if row.exit_code == 6 else 5)
    if "==ERROR==" in words:
        assert words.split("==ERROR== ")[1].splitlines()[0] in error.message


@pytest.mark.parametrize(("row_id", "words"), SPELLINGS)
def test_other_spellings_of_the_same_failure(row_id: str, words: str) -> None:
    assert row_id in [row.id for row in diagnose(words, 1)]


def test_a_good_log_and_harmless_warnings_show_no_failure() -> None:
    assert diagnose(LOG.read_text(), 0) == ()
    assert diagnose("==WARNING== PM Sampling is not supported on device 0.", 0) == ()


def test_a_failure_is_named_before_advice() -> None:
    words = MESSAGES["no-source"][1] + MESSAGES["application"][1]
    error = profiling_error(words, 11)
    assert isinstance(error, StageFailed)
    assert "segmentation fault" in error.message
    assert [row.exit_code for row in diagnose(words, 11)] == [5, ADVICE]


def test_no_kernels_names_the_kernels_that_were_seen() -> None:
    assert "transpose_naive, transpose_shared" in profiling_error(MESSAGES["no-kernels"][1], 0).message


def test_ncu_exit_code_9_without_words_is_another_profiler() -> None:
    assert isinstance(profiling_error("", 9), EnvironmentProblem)


def test_unknown_words_are_shown_as_they_are() -> None:
    error = profiling_error("==ERROR== Something new.\n", 4)
    assert isinstance(error, StageFailed)
    assert "exit code 4" in error.message
    assert "Something new." in error.message
    assert len(profiling_error("x" * 10_000, 1).message) < 2000
