"""The demo: a kernel and its recorded runs, which the wheel carries, copied to where they can be played with."""

from __future__ import annotations

import shutil
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.project import Project

KERNEL = "softmax"  # `hatch_build.py` puts its folder and its runs into the wheel
PACKAGED = Path(__file__).parents[1] / "demo"  # in a wheel; a checkout has them where they lie
NO_PAGES = shutil.ignore_patterns("*.html", "__pycache__")
COMMANDS = (
    ("profile", KERNEL),
    ("diff", f"{KERNEL}/v3", f"{KERNEL}/v6"),
    ("report", KERNEL),
    ("suggest", KERNEL, "--dry-run"),
)


def shipped() -> Project:
    """Return the project that comes with the tool: the demo, and the form of each kernel of the repository."""
    return Project(PACKAGED if PACKAGED.is_dir() else Path(__file__).parents[2])


def copy_demo(to: Path) -> Project:
    """Write the demo into a new folder and return it as a project.

    Raises UsageProblem for a folder that is there already, EnvironmentProblem where it cannot be written or where this
    package was made without a demo.
    """
    source = shipped().root
    parts = ("kernels", KERNEL), ("reports", KERNEL)
    if not all(source.joinpath(*part).is_dir() for part in parts):
        raise EnvironmentProblem("this package was made without the demo", "install a wheel that `make dist` made")
    if to.exists():
        raise UsageProblem(f"{to} is there already, and nothing is overwritten", f"ncu-assist demo {to}_2")
    try:
        for part in parts:
            shutil.copytree(source.joinpath(*part), to.joinpath(*part), ignore=NO_PAGES)
    except OSError as error:
        shutil.rmtree(to, ignore_errors=True)
        raise EnvironmentProblem(f"cannot write {to}: {error.strerror}", "stand in another folder") from error
    return Project(to)
