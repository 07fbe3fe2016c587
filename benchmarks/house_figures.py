"""Count the modules, lines, functions and dataclasses of the package, and the modules that only one other imports.

Usage: ``python benchmarks/house_figures.py [FOLDER]``. A module that a table of plug-ins names (the ``__init__`` of
``backends``, ``executors``, ``rules``, ``cli`` and the like lists it) has one importer by design: it is counted apart.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

TABLES = ("backends", "executors", "rules", "cli", "render.export", "ncu.catalogue", "ceilings")


def main(package: Path) -> None:
    """Print the figures, one a line, then the names behind those that should be few."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(package.rglob("*.py"))}
    names = {path: _dotted(path, package.parent) for path in trees}
    importers = _importers(trees, names)
    lines = sum(path.read_text().count("\n") for path in trees)
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    public: dict[str, int] = defaultdict(int)
    for node in classes:
        public[node.name] += not node.name.startswith("_")
    tables = {f"{package.name}.{table}" for table in TABLES}
    single = sorted(name for name in names.values() if len(importers[name]) == 1)
    entries = {name for name in single if name.rpartition(".")[0] in tables and importers[name] <= tables}
    twice = sorted(name for name, count in public.items() if count > 1)
    say(f"modules                          {len(trees)}")
    say(f"lines                            {lines}")
    say(f"functions                        {sum(isinstance(n, ast.FunctionDef) for n in nodes)}")
    say(f"dataclasses                      {sum(_is_dataclass(node) for node in classes)}")
    say(f"imported by one other only       {len(single) - len(entries)} and {len(entries)} entries of tables")
    say(f"public class names twice         {len(twice)}")
    say("\nimported by one other only:\n  " + "\n  ".join(sorted(set(single) - entries)))
    say("\nclass names twice: " + (", ".join(twice) or "none"))


def say(line: str) -> None:
    """Write one line."""
    sys.stdout.write(line + "\n")


def _dotted(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _importers(trees: dict[Path, ast.Module], names: dict[Path, str]) -> dict[str, set[str]]:
    known, importers = set(names.values()), defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            for found in _imported(node, known) - {names[path]}:
                importers[found].add(names[path])
    return importers


def _imported(node: ast.AST, known: set[str]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & known
    if isinstance(node, ast.ImportFrom) and node.module:
        inner = {f"{node.module}.{alias.name}" for alias in node.names}
        return (inner & known) or ({node.module} & known)
    return set()


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.dump(decorator) for decorator in node.decorator_list)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "ncu_assist"))
