"""The skill: how an engineer works with this tool, as the files that agents read, and where each agent wants them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem, UsageProblem

FOLDER = Path(__file__).parent / "skill"
NAME = "ncu-assist"
BEGIN, END = "<!-- ncu-assist: begin -->", "<!-- ncu-assist: end -->"
CURSOR = "---\ndescription: {description}\nglobs: kernels/**,**/*.cu\nalwaysApply: false\n---\n\n"


def skill_files() -> dict[str, str]:
    """Return the files of the skill by name: SKILL.md first."""
    paths = [FOLDER / "SKILL.md", *sorted((FOLDER / "references").glob("*.md"))]
    return {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def whole_text() -> str:
    """Return the skill as one text, the references behind it in place of links to them."""
    head, mark, _ = skill_files()["SKILL.md"].partition("\n---\n")
    return f"{head}{mark}\n{_body()}"


def _claude() -> dict[str, str]:
    return {f".claude/skills/{NAME}/{name}": text for name, text in skill_files().items()}


def _cursor() -> dict[str, str]:
    return {f".cursor/rules/{NAME}.mdc": CURSOR.format(description=_description()) + _body()}


def _codex() -> dict[str, str]:
    return {SHARED: f"{BEGIN}\n{_body()}{END}\n"}


SHARED = "AGENTS.md"  # of which only what stands between the marks is ours
# Files to write below the project, with their texts.
AGENTS: dict[str, Callable[[], dict[str, str]]] = {"claude": _claude, "cursor": _cursor, "codex": _codex}


def install(agent: str, root: Path, force: bool) -> list[Path]:
    """Write the files of the skill for an agent below ``root`` and return them.

    Raises UsageProblem, before anything is written, for a file that is there with another text, unless ``force``.
    Raises EnvironmentProblem if a file cannot be written. Of a shared file all but the own section stays.
    """
    try:
        planned = [(root / path, _merged(root / path, text)) for path, text in AGENTS[agent]().items()]
        for path, text in planned:
            if not force and path.is_file() and path.name != SHARED and path.read_bytes() != text.encode():
                raise UsageProblem(f"{path.relative_to(root)} already exists with other text", "--force")
        for path, text in planned:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    except OSError as error:
        said = f"the skill cannot be written: {error.filename}: {error.strerror}"
        raise EnvironmentProblem(said, "ncu-assist skill --print") from error
    return [path for path, _ in planned]


def _merged(path: Path, text: str) -> str:
    """Return the text of a file with ours in it."""
    if path.name != SHARED or not path.is_file():
        return text
    before, begin, rest = _read(path).partition(BEGIN)
    if not begin:
        return f"{before.rstrip()}\n\n{text}".lstrip()
    return before + text + rest.partition(END)[2].lstrip("\r\n")


def _read(path: Path) -> str:
    """Return the text of a file, its line ends as they are."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        hint = f"save {path.name} as UTF-8, or ncu-assist skill --print"
        raise UsageProblem(f"{path.name} is not UTF-8, and was not changed", hint) from error


def _description() -> str:
    return next(line for line in skill_files()["SKILL.md"].splitlines() if line.startswith("description: ")).partition(
        ": "
    )[2]


def _body() -> str:
    """Return the skill without its head, the references behind it in place of links to them."""
    head, *rest = (
        text.partition("\n---\n")[2] if text.startswith("---\n") else text for text in skill_files().values()
    )
    kept = [part for part in head.strip().split("\n\n") if "references/" not in part]
    return "\n\n".join([*kept, *(text.strip().replace("# ", "## ", 1) for text in rest)]) + "\n"
