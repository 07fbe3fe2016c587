"""The project around a command: its root, its folders, its settings in ``[tool.ncu-assist]``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from math import inf
from pathlib import Path
from typing import Any

from ncu_assist.errors import UsageProblem, did_you_mean


@dataclass(frozen=True)
class Settings:
    """What ``[tool.ncu-assist]`` in pyproject.toml may set; a command-line option overrides it."""

    rounds: int = 100  # bench rounds per version and workload
    check_trials: int = 3  # seeds per version and workload
    version_timeout_s: float = 120.0  # longest silence of one version before it counts as hanging
    profile_timeout_s: float = 1800.0  # longest ncu process
    max_launches: int = 20  # launches of one version call above which profiling stops


@dataclass(frozen=True)
class Project:
    """Where things are. ``root`` holds ``kernels/`` and ``reports/``; ``work`` is a cache that may be deleted."""

    root: Path
    settings: Settings = field(default_factory=Settings)

    @property
    def kernels(self) -> Path:
        return self.root / "kernels"

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def prompts(self) -> Path:
        return self.root / "prompts"

    @property
    def work(self) -> Path:
        return self.root / ".ncu-assist"


def find_project(start: Path) -> Project:
    """Return the project that ``start`` stands in: the nearest folder above with ``[tool.ncu-assist]`` or ``kernels/``.

    Without one, ``start`` itself is the root, so that `import` and `show` work in any folder.
    Raises UsageProblem for a pyproject.toml that is not TOML or sets a key that does not exist.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        table = _settings_table(folder / "pyproject.toml")
        if table is not None:
            return Project(folder, _settings(table, folder / "pyproject.toml"))
        if (folder / "kernels").is_dir():
            return Project(folder)
    return Project(start.resolve())


def _settings_table(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{path.name} is not valid TOML: {error}") from error
    tool = document.get("tool", {})
    table = tool.get("ncu-assist") if isinstance(tool, dict) else tool
    if table is not None and not isinstance(table, dict):
        raise UsageProblem(f"{path.name}: [tool.ncu-assist] must be a table, not {table!r}")
    return table


def _settings(table: dict[str, Any], path: Path) -> Settings:
    known = {f.name.replace("_", "-"): f for f in fields(Settings)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise UsageProblem(f"{path.name}: [tool.ncu-assist] has no key '{key}'; {did_you_mean(key, known)}")
        kind, wanted = (int, "a whole number") if known[key].type == "int" else (int | float, "a number")
        if isinstance(value, bool) or not isinstance(value, kind) or not 0 < value < inf:
            raise UsageProblem(f"{path.name}: [tool.ncu-assist] {key} must be {wanted} above 0, not {value!r}")
        values[known[key].name] = value if kind is int else float(value)
    return Settings(**values)
