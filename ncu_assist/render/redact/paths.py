"""Absolute paths in text: where they are, and what stays of them."""

from __future__ import annotations

import re

PLACE = "<path>"
# File names that stay: those with an ending of code, data or a program, since any other last part may be a folder that
# is named after somebody.
_ENDINGS = (
    "c cc cpp cu cuh cxx f90 h hh hpp hxx inc inl ipp jl py pyi pyx rs "  # code
    "cubin fatbin ll mlir o ptx sass so ttgir ttir a dll exe lib bat ps1 sh "  # programs
    "bin cfg csv gz ini json log ncu-rep ncu-repz nsys-rep parquet pt pth safetensors toml txt xz yaml yml zst"
)
_PROGRAMS = "ncu nsys nvcc python python3 bash sh mpirun mpiexec srun torchrun env"
ENDINGS, PROGRAMS = frozenset(_ENDINGS.split()), frozenset(_PROGRAMS.split())
HOMES = frozenset(("home", "users", "documents and settings"))

_POSIX_PART = r"[^\s/\\\"'`<>|:;,*?(){}\[\]]+"
_WINDOWS_PART = r"[^\\/:*?\"'<>|\s]+"
_SPACED_PART = r"[^\\/:*?\"'<>|\r\n]+"
PATHS = re.compile(
    r"(?<=\")/(?:[^\"/\r\n]+/)+[^\"/\r\n]*(?=\")|(?<=')/(?:[^'/\r\n]+/)+[^'/\r\n]*(?=')"  # quoted: spaces belong to it
    rf"|(?<![\w.~/)\]])/+(?:{_POSIX_PART}/+)+(?:{_POSIX_PART})?"
    rf"|(?<![\w)\]])~(?:/+(?:{_POSIX_PART}/+)*{_POSIX_PART}|[\w.-]+/+(?:{_POSIX_PART}/+)+(?:{_POSIX_PART})?)"
    rf"|(?<![A-Za-z0-9_])[A-Za-z]:/+(?:Users/+{_SPACED_PART}/+)?(?:{_WINDOWS_PART}/+)*(?:{_WINDOWS_PART})?"
    rf"|(?<![A-Za-z0-9_])[A-Za-z]:\\+(?:{_SPACED_PART}\\+)*(?:{_WINDOWS_PART})?"
    rf"|(?<!\\)\\\\+[A-Za-z0-9_.$?-]+(?:\\+{_SPACED_PART}(?=\\))*\\+(?:{_WINDOWS_PART})?"
)
WHOLE = re.compile(r"/|~|[A-Za-z]:[\\/]|\\\\")


def without_places(text: str) -> str:
    """Return ``text`` with absolute paths replaced; of a file its own name stays: ``<path>/k.cu``."""
    return PATHS.sub(_place, text)


def file_name(path: str) -> str:
    """Return a path that is known to be that of a file, whatever its ending; a relative one stays as it is."""
    if not WHOLE.match(path):
        return path
    return f"{PLACE}/{_parts(path)[-1]}"


def _place(match: re.Match[str]) -> str:
    path = match[0]
    end = path[len(path.rstrip(".,!")) :]  # of the sentence, not of the path
    parts = _parts(path[: len(path) - len(end)])
    is_home = len(parts) > 1 and parts[-2].lower() in HOMES
    return (PLACE if is_home or not _is_file(parts[-1]) else f"{PLACE}/{parts[-1]}") + end


def _parts(path: str) -> list[str]:
    return re.split(r"[\\/]+", path)


def _is_file(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    return name in PROGRAMS or bool(stem and dot and ending.lower() in ENDINGS)
