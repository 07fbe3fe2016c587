"""The skill: how an engineer works with this tool, as the files that agents read, and where each agent wants them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.errors import UsageProblem

FOLDER = Path(__file__).parent / "skill"
NAME = "ncu-assist"
BEGIN, END = "<!-- ncu-assist: begin -->", "<!-- ncu-assist: end -->"
CURSOR = "---\ndescription: {description}\nglobs: kernels/**,**/*.cu\nalwaysApply: false\n---\n\n"


@dataclass(frozen=True)
class SkillFile:
    """A file to write, below the project. Of a shared file only what stands between the marks is ours."""

    path: str
    text: str
    is_shared: bool = False


def skill_files() -> dict[str, str]:
    """Return the files of the skill by name: SKILL.md first."""
    paths = [FOLDER / "SKILL.md", *sorted((FOLDER / "references").glob("*.md"))]
    return {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def whole_text() -> str:
    """Return the skill as one text, the references behind it in place of links to them."""
    head, mark, _ = skill_files()["SKILL.md"].partition("\n---\n")
    return f"{head}{mark}\n{_body()}"


def _claude() -> list[SkillFile]:
    return [SkillFile(f".claude/skills/{NAME}/{name}", text) for name, text in skill_files().items()]


def _cursor() -> list[SkillFile]:
    return [SkillFile(f".cursor/rules/{NAME}.mdc", CURSOR.format(description=_description()) + _body())]


def _codex() -> list[SkillFile]:
    return [SkillFile("AGENTS.md", f"{BEGIN}\n{_body()}{END}\n", is_shared=True)]


AGENTS: dict[str, Callable[[], list[SkillFile]]] = {"claude": _claude, "cursor": _cursor, "codex": _codex}


def install(agent: str, root: Path, force: bool) -> list[Path]:
    """Write the files of the skill for an agent below ``root`` and return them.

    Raises UsageProblem, before anything is written, for a file that is there with another text, unless ``force``. Of a
    shared file all but the own section stays.
    """
    planned = [(root / one.path, _merged(root / one.path, one)) for one in AGENTS[agent]()]
    for path, text in planned:
        if not force and path.is_file() and path.name != "AGENTS.md" and path.read_text(encoding="utf-8") != text:
            raise UsageProblem(f"{path.relative_to(root)} is there with another text", "--force")
    for path, text in planned:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [path for path, _ in planned]


def _merged(path: Path, file: SkillFile) -> str:
    """Return the text of a file with ours in it."""
    if not file.is_shared or not path.is_file():
        return file.text
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    if not begin:
        return f"{before.rstrip()}\n\n{file.text}".lstrip()
    return before + file.text + rest.partition(END)[2].lstrip("\n")


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
