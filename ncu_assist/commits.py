"""What git knows of a project: the commit that is checked out, what is changed beside it, what a commit held."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.record import Commit

NO_BYTECODE = ":(exclude,glob)**/__pycache__/**"  # which measuring leaves behind
GIT_S = 60.0  # a large repository on a slow disk
# A hook that runs us exports where its own repository is: the one that we mean is that of the folder.
OF_A_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


def commit_of(folder: Path) -> Commit | None:
    """Return the commit that is checked out around a folder, and whether the folder differs from it.

    Files that git does not know yet differ, those that it ignores do not. None where there is no git, no repository,
    or no commit in it.
    """
    try:
        head = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
        status = _git(folder, "status", "--porcelain", "--untracked-files=all", "--", ".", NO_BYTECODE)
    except EnvironmentProblem:
        return None
    if head.exit_code or status.exit_code:
        return None
    return Commit(head.stdout.strip(), bool(status.stdout.strip()))


def git(folder: Path, *arguments: str) -> str:
    """Return what git says in a folder.

    Raises UsageProblem with git's own last line where it fails, EnvironmentProblem where there is no git.
    """
    done = _git(folder, *arguments)
    if done.exit_code:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.exit_code}"]
        raise UsageProblem(f"git {arguments[0]}: {said[-1].removeprefix('fatal: ')}", "git status")
    return done.stdout


def resolved(folder: Path, name: str) -> str:
    """Return the whole id of a commit that a branch, a tag or the beginning of an id names.

    Raises UsageProblem where it names none.
    """
    done = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if done.exit_code:
        hint = f"git fetch origin {name.removeprefix('origin/')}" if name.startswith("origin/") else "git log --oneline"
        raise UsageProblem(f"'{name}' is no commit of the repository around {folder.name or folder}", hint)
    return done.stdout.strip()


def is_ancestor(folder: Path, old: str, new: str) -> bool:
    """Tell whether a commit is another or comes before it. False, too, where the repository lacks one of them."""
    return _git(folder, "merge-base", "--is-ancestor", old, new).exit_code == 0


def has_between(folder: Path, old: str, new: str) -> bool:
    """Tell whether a bisection between two commits has something to try; True where the repository lacks one."""
    done = _git(folder, "rev-list", "--count", f"{old}..{new}", "--")
    return done.exit_code != 0 or (int(done.stdout) > 1 and is_ancestor(folder, old, new))


def files_changed(folder: Path, commit: str, below: str, unknown: bool = True) -> set[str]:
    """Return the files below a folder of ours that are not as a commit has them, as paths relative to ``folder``.

    With ``unknown`` those that git does not know yet are among them. Raises as ``git`` does.
    """
    changed = git(folder, "diff", "--name-only", "--relative", "--no-renames", commit, "--", below).splitlines()
    others = git(folder, "ls-files", "--others", "--exclude-standard", "--", below).splitlines() if unknown else []
    return {*changed, *others}


def files_at(folder: Path, commit: str, below: str) -> list[str]:
    """Return the files below a folder of ours that a commit has, as paths relative to ``folder``."""
    return git(folder, "ls-tree", "-r", "--name-only", commit, "--", below).splitlines()


def text_at(folder: Path, commit: str, name: str) -> str | None:
    """Return a file of ours as a commit has it; None where it has none."""
    done = _git(folder, "show", f"{commit}:./{name}")
    return done.stdout if done.exit_code == 0 else None


@contextmanager
def checked_out(folder: Path, commit: str) -> Iterator[Path]:
    """Yield the same folder as a commit has it, in a work tree of its own that is gone afterwards."""
    prefix = git(folder, "rev-parse", "--show-prefix").strip()
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as temporary:
        tree = Path(temporary) / "tree"
        git(folder, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree / prefix
        finally:
            _git(folder, "worktree", "remove", "--force", str(tree))


def _git(folder: Path, *arguments: str) -> process.Completed:
    env = {name: value for name, value in os.environ.items() if name not in OF_A_REPOSITORY}
    argv = ["git", "-c", "core.quotePath=false", "-C", str(folder), *arguments]
    return process.run(argv, env={**env, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}, timeout_s=GIT_S)
