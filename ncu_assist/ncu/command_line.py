"""How counters were taken, from the command line of ncu that a report keeps."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

from ncu_assist.ncu.command import ProfileOptions

PROGRAMS = re.compile(r"(ncu|nv-nsight-cu-cli)(\.exe)?")
UNKNOWN = "unknown"
# What ncu does unless told (Nsight Compute CLI, Command Line Options): its clocks are the base clocks.
DEFAULTS = {"--set": "basic", "--clock-control": "base", "--cache-control": "all", "--replay-mode": "kernel"}
CHOOSES_SECTIONS = ("--section", "--metrics", "--section-folder")


def options_in(command: str | None) -> ProfileOptions | None:
    """Return what a command line of ncu asked for; None where there is none, or its texts were blanked."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return None
    if not words or not PROGRAMS.fullmatch(PurePath(words[0]).name):
        return None
    own = words[1 : words.index("--")] if "--" in words else words[1:]
    given = _given(own)
    if "--set" not in given and any(word.partition("=")[0] in CHOOSES_SECTIONS for word in own):
        given["--set"] = UNKNOWN
    said = DEFAULTS | given
    return ProfileOptions(said["--set"], said["--clock-control"], said["--cache-control"], said["--replay-mode"])


def _given(words: list[str]) -> dict[str, str]:
    """Return the options that were given, as ``--name value`` or ``--name=value``; the last of several counts."""
    found = {}
    for word, after in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in DEFAULTS and (equals or after):
            found[name] = value if equals else after
    return found
