"""--version names the commit: of the build, else of the checkout, else nobody's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ncu_assist import __version__, process
from ncu_assist.cli.version import BUILT, CHECKOUT, version_text
from ncu_assist.errors import EnvironmentProblem


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A package in a repository with one commit."""
    package = tmp_path / "ncu_assist"
    package.mkdir()
    (tmp_path / CHECKOUT[1]).touch()
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return package


def test_a_checkout_is_at_a_commit(checkout: Path) -> None:
    asked = ["git", "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(asked, cwd=checkout, capture_output=True, text=True, check=True).stdout.strip()
    assert version_text(checkout) == f"{__version__} ({commit})"


def test_a_build_names_its_commit_wherever_it_lies(checkout: Path) -> None:
    (checkout / BUILT).write_text("0123456789ab\n")
    assert version_text(checkout) == f"{__version__} (0123456789ab)"


def test_an_environment_inside_another_repository_is_no_checkout(checkout: Path) -> None:
    (checkout.parent / CHECKOUT[1]).unlink()
    assert version_text(checkout) == __version__


def test_without_git_it_is_the_version_alone(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise EnvironmentProblem("git is not installed")

    monkeypatch.setattr(process, "run", refuse)
    assert version_text(checkout) == __version__
