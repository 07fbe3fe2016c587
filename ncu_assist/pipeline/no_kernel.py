"""What to say of a word that is no kernel's name: most often it is a file, and what can be done with one is known."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from pathlib import Path

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.pipeline.foreign_run import fit_name
from ncu_assist.project import Project
from ncu_assist.sources import VERSION_FILE
from ncu_assist.spec_file import kernel_names
from ncu_assist.store.references import REPORT_ENDINGS

A_KERNEL = "a kernel is a folder kernels/NAME with kernel.toml, reference.py and v0_<idea>.cu or .py"
COMPILED = {".cu": "nvcc -lineinfo", ".cc": "nvcc", ".cpp": "nvcc", ".c": "nvcc"}
MAIN = re.compile(r"\bint\s+main\s*\(")
LONGEST_SOURCE = 1_000_000  # bytes that are looked at
NEAR = 0.5


def no_kernel(project: Project, word: str, folder: Path) -> UsageProblem:
    """Return the error for a word that names no kernel; ``folder`` is where the user stands.

    Of a file or a folder it says what can be done with it today, of what looks like a path that it is not there.
    """
    path, names = folder / word, kernel_names(project)
    kernel, version = _inside(project, path)
    if kernel in names:
        hint = f"ncu-assist profile {kernel} {version}".rstrip()
        return UsageProblem(f"{word} belongs to the kernel {kernel}, which is named without a path", hint)
    if _exists(path):
        return UsageProblem(*(_of_folder(word) if path.is_dir() else _of_file(word, path)))
    if path.suffix in {*COMPILED, ".py"} or os.sep in word:
        for kernel in names:
            if (project.kernels / kernel / path.name).is_file():
                said = f"{word} lies in {project.kernels.name}/{kernel}, a kernel, which is named without a path"
                return UsageProblem(said, f"ncu-assist profile {kernel}")
        near = difflib.get_close_matches(path.name, _sources_beside(path), n=1, cutoff=NEAR)
        meant = f"; did you mean '{Path(word).parent / near[0]}'?" if near else ""
        return UsageProblem(f"there is no file {word}, and no kernel is called so{meant}", "ncu-assist list")
    return UsageProblem(f"there is no kernel '{word}'; {did_you_mean(word, names)}", "ncu-assist list")


def _of_file(word: str, path: Path) -> tuple[str, str]:
    """Return what a file is, and the command that does with it what can be done."""
    name, quoted = fit_name(path.stem).strip("_") or "program", shlex.quote(word)
    if word.endswith(REPORT_ENDINGS):
        return f"{word} is a report, in which a kernel was profiled already", f"ncu-assist show {quoted}"
    archived = f"ncu-assist profile --kernel {name} --version v0 --"
    if path.suffix == ".py":
        return f"{word} is a file; {A_KERNEL}; a script is profiled as a program", f"{archived} python {quoted}"
    if path.suffix not in COMPILED:
        program = quoted if os.sep in word else f"./{quoted}"
        return (
            f"{word} is a file, not a kernel: a program is profiled under a name for its run",
            f"{archived} {program}",
        )
    if not MAIN.search(path.read_bytes()[:LONGEST_SOURCE].decode("utf-8", "replace")):
        alone = f"{word} is a file without main(), and cannot be run alone; {A_KERNEL}"
        return f"{alone}; or call it from a program, and profile that", f"{archived} PROGRAM"
    built = f"{COMPILED[path.suffix]} -o {name} {quoted}"
    return f"{word} is a file; {A_KERNEL}; a program is profiled once it is built", f"{built} && {archived} ./{name}"


def _of_folder(word: str) -> tuple[str, str]:
    return f"{word} is a folder, and no kernel's: {A_KERNEL}", "ncu-assist list"


def _inside(project: Project, path: Path) -> tuple[str, str]:
    """Return the kernel whose folder a path leads to or into, and the short name of the version that it is."""
    if not _exists(path):
        return "", ""
    whole, kernels = path.resolve(), project.kernels.resolve()
    if kernels not in whole.parents:
        return "", ""
    version = VERSION_FILE.fullmatch(whole.name)
    return whole.relative_to(kernels).parts[0], f"v{int(version[1])}" if version else ""


def _sources_beside(path: Path) -> list[str]:
    try:
        return sorted(one.name for one in path.parent.iterdir() if one.suffix in {*COMPILED, ".py"})
    except (OSError, ValueError):
        return []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, or holds a NUL
        return False
