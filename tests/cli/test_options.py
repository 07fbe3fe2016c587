"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Run, files


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files called like reports: whoever opens one says that it is damaged, with exit code 7."""
    for name in ("a.ncu-rep", "layernorm_dropout_residual.ncu-rep"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("show", "a.ncu-rep"),
        ("diff", "a.ncu-rep", "layernorm_dropout_residual.ncu-rep"),
        ("diff", "a.ncu-rep", "layernorm_dropout_residual.ncu-rep", "--format", "html", "--output", "out.html"),
        ("export", "a.ncu-rep"),
        ("report", "a.ncu-rep"),
        ("report", "a.ncu-rep", "--output", "-"),
        ("gate", "a.ncu-rep", "--against", "layernorm_dropout_residual.ncu-rep"),
    ],
)
def test_kernel_is_refused_where_only_reports_are_named(run: Run, reports: Path, words: tuple[str, ...]) -> None:
    before = files(reports)
    answer = run(*words, "--kernel", "reduce")
    assert (answer.code, answer.out) == (2, "")
    assert "it selects no launches" in answer.err
    assert "try: drop --kernel" in answer.err
    assert files(reports) == before
    assert run(*words).code == 7  # what was refused is --kernel, nothing else


def test_a_report_called_like_a_kernel_is_no_kernel_misspelt(run: Run, recorded: Path) -> None:
    (recorded / "lightning_decode.ncu-rep").write_bytes(b"")
    answer = run("report", "lightning_decode.ncu-rep", "--kernel", "lightning_decode")
    assert answer.code == 2
    assert "it selects no launches" in answer.err


def test_kernel_still_says_what_a_bare_version_beside_a_report_is(run: Run, recorded: Path) -> None:
    (recorded / "a.ncu-rep").write_bytes(b"")
    assert run("diff", "v2", "a.ncu-rep", "--kernel", "lightning_decode").code == 7


@pytest.mark.parametrize(
    "words", [("show", "lightning_decode/v7"), ("diff", "lightning_decode/v3", "lightning_decode/v7")]
)
def test_kernel_does_not_contradict_a_reference_without_a_word(
    run: Run, recorded: Path, words: tuple[str, ...]
) -> None:
    answer = run(*words, "--kernel", "softmax")
    assert (answer.code, answer.out) == (2, "")
    assert "another kernel" in answer.err
    assert run(*words, "--kernel", "lightning_decode").code == 0


def test_all_pages_are_of_all_kernels(run: Run, reports: Path) -> None:
    answer = run("report", "--all", "--kernel", "reduce")
    assert answer.code == 2
    assert "--all writes all pages" in answer.err
