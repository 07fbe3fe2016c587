"""What README.md and docs/ quote of commands is what they print: of those that only read, on the shipped archive."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_folder import write_kernel
from recorded_family import copy_family
from requirements import needs

from ncu_assist.backends import build_versions
from ncu_assist.cli import main
from ncu_assist.spec_file import read_kernel

ROOT = Path(__file__).parents[1]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("guide/*.md")))
CUT = "…"  # alone: lines are left out; at the end of a line: its rest is
PROMPT = "$ ncu-assist "
MEASURES_OR_WRITES = ("profile", "report", "suggest")  # what these print depends on the machine, or on a model


def _quotes(document: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return each quoted command, without the tool's name, and the lines that stand below it."""
    found: list[tuple[str, list[str]]] = []
    is_open = False
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"    {PROMPT}"):
            found.append((line.strip().removeprefix(PROMPT), []))
        elif is_open and (line.startswith("    ") or not line):
            found[-1][1].append(line.removeprefix("    "))
        is_open = (is_open or line.startswith(f"    {PROMPT}")) and (line.startswith("    ") or not line)
    return [(words, tuple(line for line in lines if line)) for words, lines in found]


QUOTES = [
    (path.name, words, lines)
    for path in DOCUMENTS
    for words, lines in _quotes(path)
    if words.split()[0] not in MEASURES_OR_WRITES
]


def _listings(name: str) -> list[str]:
    return re.findall(r"^```c\+\+\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_readme_shows_the_version_of_the_guide() -> None:
    assert len(_listings("README.md")) == 1
    assert _listings("README.md")[0] in _listings("docs/guide/kernels.md")


@pytest.mark.slow
@needs("nvcc", "ninja")
def test_the_version_that_is_shown_compiles_and_has_its_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    kernel = read_kernel(write_kernel(tmp_path, {"v1_naive.cu": _listings("README.md")[0]}))
    built = build_versions(kernel, kernel.versions, tmp_path / "work")["v1_naive"]
    assert built.artifact is not None, built.problem or built.log


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("archive")
    copy_family(root)
    (root / "tests").mkdir()
    (root / "tests" / "data").symlink_to(ROOT / "tests" / "data")  # a report that the README shows
    before = Path.cwd()
    os.chdir(root)
    yield root
    os.chdir(before)


def test_the_commands_worth_quoting_are_quoted() -> None:
    assert {words.split()[0] for _, words, _ in QUOTES} >= {"diff", "explain", "history", "metrics", "show"}
    assert all(len(lines) > 2 for _, _, lines in QUOTES)


@pytest.mark.parametrize(("where", "words", "lines"), QUOTES, ids=[f"{where} {words}" for where, words, _ in QUOTES])
def test_a_quoted_answer_is_what_the_command_prints(
    where: str,
    words: str,
    lines: tuple[str, ...],
    archive: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["ncu-assist", *shlex.split(words)])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr()
    printed = [line.rstrip() for line in (shown.out + shown.err).splitlines() if line.strip()]
    place, may_skip = 0, False
    for line in lines:
        if line.strip() == CUT:
            may_skip = True
            continue
        rest = printed[place:] if may_skip else printed[place : place + 1]
        found = next((i for i, one in enumerate(rest) if _is(line, one)), None)
        assert found is not None, f"{where} quotes {line!r}; {words!r} prints {printed[place : place + 3]}"
        place, may_skip = place + found + 1, False
    assert may_skip or place == len(printed), f"{words!r} prints more: {printed[place]!r}; end the quote with {CUT}"


def _is(quoted: str, printed: str) -> bool:
    if quoted.endswith(CUT) and not printed.endswith(CUT):
        return printed.startswith(quoted.removesuffix(CUT).rstrip())
    return re.sub(r"\s+$", "", quoted) == printed
