"""The version of this program, and the commit that it was built of or lies checked out at."""

from __future__ import annotations

from pathlib import Path

import ncu_assist
from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem

PACKAGE = Path(ncu_assist.__file__).parent
BUILT = "commit.txt"  # in a wheel and an sdist: hatch_build.py writes it
CHECKOUT = (".git", "hatch_build.py")  # lie beside the package in a checkout, and in no environment
GIT_S = 5.0
DIGITS = 12  # of a commit, as hatch_build.py writes them


def version_text(package: Path = PACKAGE) -> str:
    """Return version and commit; the version alone where neither a build nor git knows a commit."""
    commit = _built(package) or _checked_out(package.parent)
    return ncu_assist.__version__ + (f" ({commit})" if commit else "")


def _built(package: Path) -> str:
    file = package / BUILT
    return file.read_text(encoding="ascii").strip() if file.is_file() else ""


def _checked_out(root: Path) -> str:
    if not all((root / name).exists() for name in CHECKOUT):
        return ""
    try:
        said = process.run(["git", "-C", str(root), "rev-parse", "HEAD"], timeout_s=GIT_S)
    except EnvironmentProblem:  # there is no git
        return ""
    return said.stdout.strip()[:DIGITS] if said.exit_code == 0 else ""
