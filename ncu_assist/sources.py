"""The source files of a kernel folder: which are versions, what their first comments say, their hashes.

Files that were probably meant as versions and are not called so are told too.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import re
import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.errors import UsageProblem
from ncu_assist.spec import Version, python_tree
from ncu_assist.versions import descent

# The languages that versions are written in: by the end of a file's name, the sign of a comment.
COMMENT_SIGNS = {".cu": "//", ".py": "#"}
SOURCES, HEADERS = tuple(COMMENT_SIGNS), (".cuh", ".h", ".hpp", ".inl")
_ENDS = "|".join(suffix.removeprefix(".") for suffix in SOURCES)
VERSION_FILE = re.compile(rf"v(\d+)_(\w+)\.({_ENDS})", re.ASCII)  # which names a folder of the archive too
# Within a line: \s would take the square of a file of blank lines, and a draft may be one.
DTYPES_LINE = re.compile(r"^[ \t]*(?://|#|\*)?[ \t]*dtypes:[ \t]*(.+)$", re.MULTILINE)
# In the first comment only, where prose may stand before and after.
PACKAGES_LINE = re.compile(r"^[ \t]*packages:[ \t]*(.+)$", re.MULTILINE)
DRAWS_LINE = re.compile(r"^[ \t]*draws: its own[ \t]*$", re.MULTILINE)
HEADER_COMMENT = {
    suffix: re.compile(rb"\A(?:[ \t]*(?:%s[^\n]*)?\r?\n)*" % re.escape(sign).encode())
    for suffix, sign in COMMENT_SIGNS.items()
}
LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
REFERENCE = "reference.py"
NUMBERED = re.compile(r"v(?:er(?:sion)?)?[-_. ]?(\d{1,9})(?![a-z])|(\d{1,9})(?=[-_. ]|$)", re.IGNORECASE)
LABEL = re.compile(r"\A[\w ]{1,20}[.:][ \t]+")  # 'Changes: …', 'Baseline. …' at the start of a first comment
IDEA, IDEA_WORDS, IDEA_LENGTH = "idea", 4, 60


def source_sha256(path: Path) -> str:
    """Return a hash over a version's code and the files beside it that it includes with ``#include "…"`` or imports.

    The comment at the top of a file does not count: there the author writes down what was measured, afterwards.
    """
    digest = hashlib.sha256()
    for file in source_files(path):
        digest.update(name_beside(path, file).encode() + b"\0" + code_of(file.read_bytes(), path) + b"\0")
    return digest.hexdigest()


def name_beside(path: Path, file: Path) -> str:
    """Return what one of the ``source_files`` of ``path`` is called: for a module of a package also by its folders.

    Every package has an ``__init__.py``. Headers go by their names alone, as in archives that are older.
    """
    is_module = file.suffix == ".py" and file.is_relative_to(path.parent)
    return file.relative_to(path.parent).as_posix() if is_module else file.name


def code_of(source: bytes, version: Path) -> bytes:
    """Return what counts of a file of a version: all but the comment at its top."""
    return HEADER_COMMENT[version.suffix].sub(b"", source, count=1)


def header_comment(code: bytes, suffix: str) -> str:
    """Return what the comment at the top of a source says, without its signs; empty where it has none.

    ``suffix`` is that of the file. It is the same comment that ``source_sha256`` leaves out.
    """
    found = HEADER_COMMENT[suffix].match(code) if suffix in HEADER_COMMENT else None
    lines = found[0].decode("utf-8", "replace").splitlines() if found else []
    sign = COMMENT_SIGNS.get(suffix, "")
    said = [line.strip().removeprefix(sign).rstrip() for line in lines if not line.startswith("#!")]
    return "\n".join(line.removeprefix(" ") for line in said).strip("\n")


def source_files(path: Path) -> tuple[Path, ...]:
    """Return a version's file followed by the local files it includes, directly or through another, sorted by name.

    Of Python that is what it imports and lies beside it; but never the reference, which is the kernel's, and not for
    drafts to see. Raises UsageProblem for one that cannot be read.
    """
    found = {path.resolve(): path}  # a file may be included by several ways, also through ../
    reference = path.parent / REFERENCE
    waiting = [path]
    while waiting:
        file = waiting.pop()
        try:
            code = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise _unreadable_file(file, error) from error
        for included in _imported(code, file, path.parent) if file.suffix == ".py" else _included(code, file):
            if included == reference or not included.is_file():
                continue
            whole = included.resolve()
            if whole not in found:
                found[whole] = included
                waiting.append(included)
    return (path, *sorted(f for f in found.values() if f != path))


def _included(code: str, file: Path) -> Iterator[Path]:
    yield from (file.parent / name for name in LOCAL_INCLUDE.findall(code))


def _imported(code: str, file: Path, root: Path) -> Iterator[Path]:
    """Yield where the modules and packages that a Python file imports would lie if they were below ``root``."""
    for node in _nodes(code):
        match node:
            case ast.Import(names=names):
                for one in names:
                    yield from _on_the_way(root, one.name)
            case ast.ImportFrom(module=module, names=names, level=level):
                folder = (root, *file.parents)[min(level, len(file.parents))]
                folder = folder if folder.is_relative_to(root) else root
                for one in names:
                    yield from _on_the_way(folder, ".".join(filter(None, (module, one.name))))


def _on_the_way(folder: Path, dotted: str) -> Iterator[Path]:
    """Yield the files that an import of ``a.b`` below a folder may run: those of ``a``, then those of ``b`` in it.

    Of ``a.*`` it is every module of ``a``, as ``__all__`` may name any.
    """
    for part in dotted.split("."):
        if part == "*":
            yield from sorted(folder.glob("*.py")) if (folder / "__init__.py").is_file() else ()
            return
        yield folder / f"{part}.py"
        folder /= part
        yield folder / "__init__.py"


def _nodes(code: str) -> Iterator[ast.AST]:
    """Yield the parts of Python code; none of code that is no Python."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        yield from ast.walk(python_tree(code))


def discover_versions(folder: Path) -> tuple[Version, ...]:
    """Return the versions in a kernel folder, sorted as numbers.

    Raises UsageProblem, with all that is wrong, for two files with one number, for files that cannot be read and for
    the folder itself.
    """
    try:
        versions, wrong = versions_and_mistakes(folder)
    except OSError as error:
        raise unreadable_folder(folder, error) from error
    if wrong:
        raise told_together(folder.name, wrong)
    return versions


def unreadable_folder(folder: Path, error: OSError) -> UsageProblem:
    """Return the error for a kernel's folder that may not be looked into."""
    return UsageProblem(f"{folder.name}: the folder cannot be read ({error.strerror})", "make it readable")


def versions_and_mistakes(folder: Path) -> tuple[tuple[Version, ...], list[UsageProblem]]:
    """Return the versions in a kernel folder, sorted as numbers, and what is wrong with others."""
    matches = [(path, match) for path in sorted(folder.iterdir()) if (match := VERSION_FILE.fullmatch(path.name))]
    free = 1 + max((int(match[1]) for _, match in matches), default=-1)
    found: dict[int, Version] = {}
    wrong: list[UsageProblem] = []
    for path, match in matches:
        number = int(match[1])
        if number in found:
            message = f"{folder.name}: {found[number].path.name} and {path.name} have the same number {number}"
            wrong.append(UsageProblem(message, f"rename one of them, e.g. to v{free}_{match[2]}.{match[3]}"))
            free += 1
            continue
        try:
            found[number] = _version(number, path)
        except OSError as error:
            wrong.append(_unreadable_file(path, error))
        except UsageProblem as error:
            wrong.append(error)
    return tuple(found[number] for number in sorted(found)), wrong


def _unreadable_file(path: Path, error: OSError) -> UsageProblem:
    message = f"{path.parent.name}: {path.name} cannot be read ({error.strerror})"
    return UsageProblem(message, f"make {path.name} a readable file, or remove it")


def told_together(name: str, wrong: Sequence[UsageProblem]) -> UsageProblem:
    """Return one error for all mistakes of a kernel folder, each with what to write."""
    if len(wrong) == 1:
        return wrong[0]
    own = [(one.message.removeprefix(f"{name}: "), one.hint) for one in wrong]
    lines = [f"  {message}" + (f"; try: {hint}" if hint else "") for message, hint in own]
    return UsageProblem(
        "\n".join([f"{name} has {len(wrong)} mistakes:", *lines]), "fix each of them; every line says how"
    )


def _version(number: int, path: Path) -> Version:
    said = header_comment(path.read_bytes(), path.suffix)
    draws_own = bool(DRAWS_LINE.search(said))
    return Version(number, path.stem, path, _dtypes(path), _packages(path, said), draws_own, descent(said))


def _dtypes(path: Path) -> tuple[str, ...]:
    match = DTYPES_LINE.search(path.read_text(encoding="utf-8", errors="replace"))
    return tuple(match.group(1).replace(",", " ").split()) if match else ()


def _packages(path: Path, said: str) -> tuple[str, ...]:
    match = PACKAGES_LINE.search(said)
    names = tuple(match.group(1).replace(",", " ").split()) if match else ()
    for name in names:
        if not name.isidentifier():
            raise UsageProblem(
                f"{path.parent.name}: {path.name} names the package '{name}', which Python cannot import",
                "write it as in an import, e.g. packages: liger_kernel",
            )
    return names


def reference_problem(folder: Path, inputs: Sequence[str] | None = None) -> str:
    """Say what keeps reference.py from being used, with ``inputs`` if known, as far as is told without running it."""
    try:
        tree = python_tree((folder / REFERENCE).read_text(encoding="utf-8"))
    except SyntaxError as error:
        return f"reference.py:{error.lineno}: {error.msg}"
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return f"reference.py cannot be read: {getattr(error, 'strerror', '') or error}"
    defined = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    imported = any(isinstance(one, ast.ImportFrom | ast.Assign | ast.If | ast.Try) for one in tree.body)
    missing = [name for name in ("make_inputs", "reference") if name not in defined]
    if missing and not imported:
        return f"reference.py does not define {' and '.join(missing)}"
    for name, function in defined.items():
        if name in ("make_inputs", "reference") and "raise NotImplementedError" in ast.unparse(function.body[-1]):
            return f"reference.py:{function.lineno}: {name} is not written yet"
    if inputs is None or "reference" not in defined:
        return ""
    line, taken = defined["reference"].lineno, defined["reference"].args
    names = [one.arg for one in (*taken.posonlyargs, *taken.args)]
    if taken.vararg or taken.defaults or len(names) == len(inputs):
        return ""
    given, needed = ", ".join(names), ", ".join(inputs)
    return f"reference.py:{line}: reference takes ({given}), but inputs in kernel.toml are {needed}"


@dataclass(frozen=True)
class Misnamed:
    """A file that no reader takes for a version because of its name, and the free name that would make it one."""

    path: Path
    name: str

    @property
    def problem(self) -> str:
        """Say what is wrong with the name."""
        return f"{self.path.name} is not a version: its name is not v<number>_<idea>{self.path.suffix.lower()}"

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
        and path.name not in (REFERENCE, "conftest.py")
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
    yield from (one.name for one in _imported(text, path, path.parent) if one.parent == path.parent)
    for node in _nodes(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.rpartition("/")[2]


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
            numbers[path] = max(taken, default=0) + 1  # v0 is the library, which nobody names by chance
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
