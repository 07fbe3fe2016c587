"""What a user can act on: every error that ends a command with words instead of a traceback."""

from __future__ import annotations

import difflib
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

PIP = "pip install "  # how a hint begins that installs something


class NcuAssistError(Exception):
    """An error with a message (what happened and why), a hint (one thing to try) and an exit code."""

    exit_code = 1
    kind = ""  # which of several errors with one exit code, for who acts on it; empty where nobody does

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"try: {_in_python(hint)}")  # which a traceback shows


def for_this_python(hint: str) -> str:
    """Return a hint with the pip of this Python, where ``pip`` alone is another's or none, as without ``activate``."""
    found, python = shutil.which("pip"), Path(sys.executable)
    is_ours = found is not None and Path(found).parent.resolve() == python.parent.resolve()
    return hint if is_ours or not hint.startswith(PIP) else f"{shlex.quote(str(python))} -m {hint}"


def _in_python(hint: str) -> str:
    """Return a hint for who calls this package from Python: in IPython, and so in a notebook, pip is a magic."""
    ipython = sys.modules.get("IPython")
    is_interactive = ipython is not None and ipython.get_ipython() is not None
    return f"%{hint}" if is_interactive and hint.startswith(PIP) else for_this_python(hint)


class UsageProblem(NcuAssistError):
    """The command names something that does not exist or contradicts itself."""

    exit_code = 2


class NoSuchPlace(UsageProblem, IndexError):
    """An index in Python that is out of range. An IndexError too, as Python expects."""


class NoSuchName(UsageProblem, KeyError):
    """A name in Python that fits none of those there. A KeyError too, as pandas' own methods expect."""

    def __str__(self) -> str:
        return self.message  # KeyError would quote it


class StageFailed(NcuAssistError):
    """A build, a check or a profiling run failed."""

    exit_code = 5


class EnvironmentProblem(NcuAssistError):
    """This machine lacks what the command needs: a GPU, ncu, a compiler, a permission, disk space."""

    exit_code = 6


class NoTorch(EnvironmentProblem):
    """torch is missing where kernels are built or measured: nobody has looked for a GPU."""

    kind = "no-torch"


class NoTorchHeaders(EnvironmentProblem):
    """A version includes headers of torch, which is not here: nothing can be built, with a GPU or without."""


class DamagedData(NcuAssistError):
    """A stored run or a report is not what was captured. ``of``: the reference of the run, in front of ``problem``."""

    exit_code = 7

    def __init__(self, problem: str, hint: str = "", of: str = "") -> None:
        super().__init__(f"{of}: {problem}" if of else problem, hint)
        self.problem, self.of = problem, of


class NewerData(DamagedData):
    """A stored file of a schema that a newer version of this tool wrote: whole, but not readable here."""

    exit_code = 6  # what this machine lacks is that version


class ReaderBug(DamagedData):
    """Our own code failed on a file, which may be whole. ``traceback`` is what the child that read it wrote."""

    exit_code = 1

    def __init__(self, problem: str, traceback: str = "") -> None:
        super().__init__(problem, "ncu-assist bug-report")
        self.traceback = traceback


class ModelProblem(NcuAssistError):
    """The language model gave nothing usable: no key, no connection, a refusal, or a reply that cannot be read."""

    exit_code = 8


NUMBER = re.compile(r"v\d+", re.ASCII)  # of a version
MOST_LISTED = 20  # names in a message: two lines of a terminal or three, not a screen


def cut(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters, the last of them ``…`` where more was left out."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the nearest candidate, or the list of candidates when none is near.

    A number such as ``v10`` is near no other: whoever asks for it gets the numbers that there are. So does who asks
    for what is as near to one as to another, as ``n25`` is to ``n26`` and ``n28``, where a screen holds them.
    """
    known = sorted(set(candidates))
    numbers = [one for one in known if NUMBER.fullmatch(one)]
    if NUMBER.fullmatch(name) and numbers:
        return known_names(sorted(numbers, key=lambda one: int(one[1:])))
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    alike = {difflib.SequenceMatcher(None, one, name).ratio() for one in near}
    if not near or (len(near) > len(alike) and len(known) <= MOST_LISTED):
        return known_names(known)
    return f"did you mean '{near[0]}'?"


def known_names(names: Sequence[str]) -> str:
    """Return ``known: a, b``, the first names and how many more there are; ``there are none`` for none."""
    rest = len(names) - MOST_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return f"known: {', '.join(names[:MOST_LISTED])}{more}" if names else "there are none"
