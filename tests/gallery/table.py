"""The table of the fault gallery: every case, what it must be called, and the half that it belongs to."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parent
TABLES = (FOLDER / "gallery.toml", FOLDER / "chip.toml", FOLDER / "blind3.toml", FOLDER / "blind4.toml")
MARKER = "// FAULT"
KERNEL = re.compile(r'^extern "C" __global__ void (?:__\w+__\([^)]*\) )*(\w+)\(', re.MULTILINE)
INLINED = re.compile(r"^__device__ .*?(\w+)\(", re.MULTILINE)

Kind = Literal["fault", "near-miss", "healthy", "compound", "fix"]
Half = Literal["tuned", "held-out", "blind", "blind2", "blind3", "blind4", "chip-tuned", "chip-held-out"]
Part = Literal["main", "blind", "blind2", "blind3", "blind4", "chip"]


@dataclass(frozen=True)
class Case:
    """One case. ``of`` is the id that a near miss must not be given, or the case that a fix repairs."""

    name: str
    source: str
    kind: Kind
    expect: str | None = None
    of: str | None = None
    accept: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    line: bool = False
    profile: bool = True
    bytes: int | None = None
    flops: int | None = None
    math: str | None = None
    detail: dict[str, str] = field(default_factory=dict)
    part: Part = "main"

    @property
    def half(self) -> Half:
        if self.part not in ("main", "chip"):
            return self.part
        if self.part == "chip":
            return "chip-held-out" if half(self.name) == "held-out" else "chip-tuned"
        return half(self.name)

    @property
    def id(self) -> str | None:
        """Return the id that the case is about: of a near miss the one that it is not."""
        return self.of if self.kind == "near-miss" else self.expect


def half(name: str) -> Half:
    """Return the half that the name falls into: the lowest bit of its sha256, 0 for tuned."""
    return "held-out" if hashlib.sha256(name.encode()).digest()[-1] & 1 else "tuned"


def cases(part: Part = "main") -> tuple[Case, ...]:
    """Return all cases of a part in the order of the table."""
    rows = [row for table in TABLES for row in tomllib.loads(table.read_text()).items()]
    return tuple(case for case in (_case(name, row) for name, row in rows) if case.part == part)


def pairs(part: Part = "main") -> tuple[tuple[str, str], ...]:
    """Return (case with a fault, case of the same part that does the same work without it)."""
    table = cases(part)
    own = [(case.of, case.name) for case in table if case.kind == "fix" and case.of]
    return tuple(own + [(fault, case.name) for case in table for fault in case.fixes])


def marked_lines(case: Case) -> tuple[int, ...]:
    """Return the lines of the case's source that bear the marker, in its kernels and in the functions they call."""
    text = (FOLDER / case.source).read_text()
    bodies = _bodies(text)
    wanted, todo = set[str](), list(case.kernels)
    while todo:
        name = todo.pop()
        if name in wanted or name not in bodies:
            continue
        wanted.add(name)
        first, last = bodies[name]
        body = "\n".join(text.splitlines()[first:last])
        todo += [other for other in bodies if re.search(rf"\b{other}\b\s*[(<]", body)]
    spans = [bodies[name] for name in wanted]
    lines = text.splitlines()
    return tuple(n + 1 for n, line in enumerate(lines) if MARKER in line and any(a <= n < b for a, b in spans))


def _bodies(text: str) -> dict[str, tuple[int, int]]:
    """Return for every function where it begins and ends: at the next line that is nothing but a closing brace."""
    found = {}
    for match in [*KERNEL.finditer(text), *INLINED.finditer(text)]:
        first = text.count("\n", 0, match.start())
        end = text.index("\n}", match.start()) if "\n}" in text[match.start() :] else len(text)
        found[match.group(1)] = (first, text.count("\n", 0, end) + 2)
    return found


def _case(name: str, row: dict[str, object]) -> Case:
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return Case(name=name, **{"kernels": (name,), **row, **lists})  # type: ignore[arg-type]
