"""Sources of a kernel folder that were meant as versions and are not called so, each with the command that mends it."""

from __future__ import annotations

import ast
import re
import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.spec import LOCAL_INCLUDE, VERSION_FILE, header_comment

SOURCES, HEADERS = (".cu", ".py"), (".cuh", ".h", ".hpp", ".inl")
NUMBERED = re.compile(r"v(?:er(?:sion)?)?[-_. ]?(\d{1,9})(?![a-z])|(\d{1,9})(?=[-_. ]|$)", re.IGNORECASE)
LABEL = re.compile(r"\A[\w ]{1,20}[.:][ \t]+")  # 'Changes: …', 'Baseline. …' at the start of a first comment
IDEA, IDEA_WORDS, IDEA_LENGTH = "idea", 4, 60


@dataclass(frozen=True)
class Misnamed:
    """A file that no reader takes for a version because of its name, and the free name that would make it one."""

    path: Path
    name: str

    @property
    def problem(self) -> str:
        """Say what is wrong with the name."""
        return f"{self.path.name} is no version: it is not called v<number>_<idea>{self.path.suffix.lower()}"

    @property
    def number(self) -> int:
        """Return the number that its own name has; -1 for none."""
        match = NUMBERED.match(self.path.stem)
        return int(match[1] or match[2]) if match else -1

    @property
    def note(self) -> str:
        """Say both in one line."""
        return f"{self.problem}; try: {self.command}"

    @property
    def command(self) -> str:
        """Return the command that renames it, as to be typed in the current folder."""
        return move(self.path, self.path.with_name(self.name))


def move(path: Path, target: Path) -> str:
    """Return the command that moves a file or folder, as to be typed in the current folder."""
    here = Path.cwd()
    shown = [one.relative_to(here) if one.is_relative_to(here) else one for one in (path, target)]
    return f"mv {shlex.quote(str(shown[0]))} {shlex.quote(str(shown[1]))}"


def misnamed(folder: Path) -> tuple[Misnamed, ...]:
    """Return the sources in a kernel folder that were probably meant as versions, by name, each with a free name.

    Those are .cu files that no other file includes or names, and .py files called like versions, or which define the
    function that a version defines, that no other imports. Headers, reference.py and modules of a version are none.
    """
    try:
        texts = {path: text for path in sorted(folder.iterdir()) if (text := _code(path)) is not None}
    except OSError:  # whoever reads the folder says so
        return ()
    found = [path for path in texts if _is_candidate(path)]
    used = {path: set(_used(path, text)) for path, text in texts.items()} if found else {}
    meant = [
        path
        for path in found
        if not any(path.name in names for other, names in used.items() if other != path)
        and (path.suffix.lower() == ".cu" or NUMBERED.match(path.stem) or _defines(texts[path], folder.name))
    ]
    return _named(meant, texts, {int(match[1]) for path in texts if (match := VERSION_FILE.fullmatch(path.name))})


def _is_candidate(path: Path) -> bool:
    return (
        path.suffix.lower() in SOURCES
        and path.name[0] not in "._"
        and path.name not in ("reference.py", "conftest.py")
        and not VERSION_FILE.fullmatch(path.name)
    )


def _code(path: Path) -> str | None:
    """Return the text of a source, a header or a module; None for any other file, and for one that cannot be read."""
    try:
        is_code = path.suffix.lower() in (*SOURCES, *HEADERS) and path.is_file()
        return path.read_text(encoding="utf-8", errors="replace") if is_code else None
    except OSError:
        return None


def _used(path: Path, text: str) -> Iterator[str]:
    """Yield the names of files that a file includes, imports, or has as a text, as for a loader."""
    if path.suffix.lower() != ".py":
        yield from (name.rpartition("/")[2] for name in LOCAL_INCLUDE.findall(text))
        return
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (f"{one.name.partition('.')[0]}.py" for one in names)
            case ast.ImportFrom(module=module, names=names):
                yield from (f"{module.partition('.')[0]}.py",) if module else (f"{one.name}.py" for one in names)
            case ast.Constant(value=str(value)):
                yield value.rpartition("/")[2]


def _defines(text: str, kernel: str) -> bool:
    """Tell whether a Python file defines or imports a function called like the kernel."""
    name = re.escape(kernel)
    return (
        re.search(rf"^(?:def[ \t]+{name}\b|{name}[ \t]*=|(?:from|import)\b.*\b{name}\b)", text, re.MULTILINE)
        is not None
    )


def _named(meant: list[Path], texts: dict[Path, str], taken: set[int]) -> tuple[Misnamed, ...]:
    """Return files with names for them: each keeps its own number where that is free, the others get the next."""
    numbers: dict[Path, int] = {}
    for path in meant:
        match = NUMBERED.match(path.stem)
        if match and (number := int(match[1] or match[2])) not in taken:
            numbers[path] = number
            taken.add(number)
    for path in meant:
        if path not in numbers:
            numbers[path] = max(taken, default=-1) + 1
            taken.add(numbers[path])
    return tuple(Misnamed(one, f"v{numbers[one]}_{_idea(one, texts[one])}{one.suffix.lower()}") for one in meant)


def _idea(path: Path, text: str) -> str:
    """Return the idea that a file's name has, else the first words of its first comment."""
    own = _slug(NUMBERED.sub("", path.stem, count=1) if NUMBERED.match(path.stem) else path.stem)
    if own:
        return own[:IDEA_LENGTH]
    said = LABEL.sub("", header_comment(text.encode(), path.suffix.lower()).partition("\n")[0])
    return "_".join(_slug(said).lower().split("_")[:IDEA_WORDS])[:IDEA_LENGTH] or IDEA


def _slug(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
