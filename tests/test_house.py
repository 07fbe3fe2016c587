"""The house rules that no tool checks: tables keep their Protocols and have tests, commands stand in the README."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from fakes.fake_ncu import MESSAGES

from ncu_assist import __version__
from ncu_assist.backends import BACKENDS
from ncu_assist.backends.base import Backend
from ncu_assist.cli import COMMANDS
from ncu_assist.executors import EXECUTORS
from ncu_assist.executors.base import Executor
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED
from ncu_assist.ncu.failures import ADVICE, ENVIRONMENT, FAILED, FAILURES

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ncu_assist"
FILES = sorted(PACKAGE.rglob("*.py"))
BANNED_NAMES = {"utils", "helpers", "common", "manager", "core", "misc"}
MOST_WORDS = 1800  # of README.md: the rest is a page of docs/
EXIT_CODES = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "130")
PLUGINS: list[tuple[str, Any, type]] = [
    *((f"backend {name}", entry, Backend) for name, entry in BACKENDS.items()),
    *((f"executor {name}", entry, Executor) for name, entry in EXECUTORS.items()),
]


def members(protocol: type) -> Iterator[tuple[str, object]]:
    """Yield what a Protocol asks for: annotated attributes, properties and methods."""
    yield from dict.fromkeys(inspect.get_annotations(protocol)).items()
    yield from ((name, value) for name, value in vars(protocol).items() if not name.startswith("_"))


@pytest.mark.parametrize(("entry", "protocol"), [pytest.param(e, p, id=name) for name, e, p in PLUGINS])
def test_a_plug_in_satisfies_its_protocol(entry: object, protocol: type) -> None:
    for name, asked in members(protocol):
        assert hasattr(entry, name), name
        if isinstance(asked, FunctionType):
            wanted = list(inspect.signature(asked).parameters.values())[1:]
            offered = list(inspect.signature(getattr(entry, name)).parameters.values())
            assert [(p.name, p.kind) for p in offered] == [(p.name, p.kind) for p in wanted], name


@pytest.mark.parametrize("table", [BACKENDS, EXECUTORS])
def test_a_plug_in_is_called_what_its_table_says(table: dict[str, Any]) -> None:
    assert {name: entry.name for name, entry in table.items()} == {name: name for name in table}


def test_every_plug_in_has_a_test() -> None:
    backends = "\n".join(path.read_text() for path in (ROOT / "tests" / "backends").glob("test_*.py"))
    assert [name for name in BACKENDS if f'"{name}"' not in backends] == []
    assert [name for name in EXECUTORS if not (ROOT / f"tests/executors/test_{name}.py").is_file()] == []


def test_every_failure_is_explained_and_can_be_played() -> None:
    ids = [row.id for row in FAILURES]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= set(MESSAGES)
    for row in FAILURES:
        assert row.fragments
        assert row.cause
        assert row.cure
        assert row.exit_code in (FAILED, ENVIRONMENT, ADVICE)


@pytest.mark.parametrize("table", [CATALOGUE, ALL_DERIVED])
def test_every_metric_says_what_it_is(table: dict[str, Any]) -> None:
    for key, metric in table.items():
        assert metric.key == key
        assert metric.label
        assert metric.meaning
        assert metric.better in ("higher", "lower", None)
        assert re.fullmatch(r"[a-z][a-z0-9_]*", key)
    assert not set(CATALOGUE) & set(ALL_DERIVED)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module_help_a_test_and_a_line_in_the_readme(name: str) -> None:
    module = name.replace("-", "_")
    path = PACKAGE / "cli" / f"{module}_command.py"
    assert path.is_file()
    assert (ast.get_docstring(ast.parse(path.read_text())) or "").startswith(f"``ncu-assist {name}``: ")
    assert COMMANDS[name].endswith(".")
    assert (ROOT / "tests" / "cli" / f"test_{module}_command.py").is_file()
    readme = (ROOT / "README.md").read_text()
    assert re.search(rf"^\| `{name}\b[^|]*` \| .+ \|$", readme, re.MULTILINE), "its line in the table of commands"


def test_every_command_module_is_a_command() -> None:
    modules = {path.stem.removesuffix("_command").replace("_", "-") for path in PACKAGE.glob("cli/*_command.py")}
    assert modules == set(COMMANDS)


def test_every_option_has_help() -> None:
    import importlib

    import click

    for name in COMMANDS:
        command = importlib.import_module(f"ncu_assist.cli.{name.replace('-', '_')}_command").command
        for one in (command, *getattr(command, "commands", {}).values()):
            assert one.help
            assert [p.name for p in one.params if isinstance(p, click.Option) and not p.help] == [], (name, one.name)


def test_readme_and_changelog_are_of_this_version() -> None:
    readme, codes = (ROOT / "README.md").read_text(), (ROOT / "docs" / "reference" / "exit_codes.md").read_text()
    assert [code for code in EXIT_CODES if f"| {code} |" not in codes] == []
    assert len(readme.split()) <= MOST_WORDS
    assert readme.index("make demo") < readme.index("make test") < readme.index("## ")
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_merge_was_left_half_done() -> None:
    texts = [path for path in ROOT.glob("*") if path.is_file()]
    texts += [*FILES, *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.py"), *(ROOT / ".ci").iterdir()]
    marks = re.compile(rb"^(<{7} |={7}$|>{7} )", re.MULTILINE)
    assert [path.name for path in texts if marks.search(path.read_bytes())] == []


def test_contributing_names_what_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:ncu_assist|tests|kernels|prompts|benchmarks)/[\w./]+)`", text))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_architecture_names_what_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`([\w/]+\.py)(?::(\w+))?`", text))
    assert len(named) > 40
    assert [path for path, _ in sorted(named) if not (PACKAGE / path).is_file()] == []
    lacking = [(path, name) for path, name in sorted(named) if name not in _names_of(PACKAGE / path)]
    assert lacking == []
    rows = "\n".join(line for line in text.splitlines() if re.match(r"\| \d+ \|", line))
    parts = [one for one in PACKAGE.iterdir() if not one.name.startswith("_") and (one.is_dir() or one.suffix == ".py")]
    assert len(parts) > 20
    assert [one.name for one in parts if f"`{one.name}{'/' if one.is_dir() else ''}`" not in rows] == []


def _names_of(path: Path) -> set[str]:
    """Return what a module defines or imports, and the empty name for the module itself."""
    found = {""}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name for one in node.names}
    return found


def test_scripts_and_gpu_tests_import_what_is_there() -> None:
    """No run of the tests starts a benchmark, nor a test that needs a GPU."""
    lacking, known = [], dict[Path, set[str]]()
    for script in [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "tests").rglob("test_*gpu*.py")]:
        for node in ast.walk(ast.parse(script.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ncu_assist."):
                continue
            place = ROOT / str(node.module).replace(".", "/")
            path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            if path not in known:
                words = ast.walk(ast.parse(path.read_text()))
                assigned = {one.id for one in words if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
                known[path] = assigned | _names_of(path) | {one.stem for one in place.glob("*")}
            lacking += [(script.name, node.module, one.name) for one in node.names if one.name not in known[path]]
    assert known
    assert lacking == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_says_what_it_is_for(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert path.stem not in BANNED_NAMES
    assert (ast.get_docstring(tree) or "").strip()
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Global | ast.Nonlocal), f"line {node.lineno}"  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"line {node.lineno}"


@pytest.mark.slow
def test_a_public_class_name_exists_once() -> None:
    nodes = [node for path in FILES for node in ast.walk(ast.parse(path.read_text()))]
    names = Counter(one.name for one in nodes if isinstance(one, ast.ClassDef) and not one.name.startswith("_"))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_works_at_import() -> None:
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Expr):
                assert isinstance(node.value, ast.Constant), f"{path.name}:{node.lineno}"
