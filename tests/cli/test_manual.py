"""The man page has every command and option, and man shows it without a warning."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from requirements import needs

from ncu_assist.cli import COMMANDS, cli

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))
from man_page import ENVIRONMENT, EXIT_CODES, man_page  # noqa: E402

# What building a wheel brings: without the rest the page is made all the same.
AT_BUILD = ("click", "msgspec")
OTHERS = ("pandas", "numpy", "rich", "jinja2", "pyarrow", "openai", "google", "pygments", "zstandard", "pynvml", "mcp")


def test_every_command_and_option_is_in_it() -> None:
    page = man_page().replace("\\-", "-")
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        assert re.search(rf"^\.SS {name}\b", page, re.MULTILINE), name
        for option in (one for one in command.params if isinstance(one, click.Option)):
            assert option.opts[0] in page


def test_exit_codes_are_those_of_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "exit_codes.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(EXIT_CODES)


def test_the_environment_is_what_is_read() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "ncu_assist").rglob("*.py"))
    for names in ENVIRONMENT:
        assert [name for name in names.split(", ") if f'"{name}"' not in code] == []


@pytest.mark.slow
@needs("man")
def test_man_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "ncu-assist.1"
    path.write_text(man_page())
    env = {**os.environ, "MANWIDTH": "100", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["man", "--warnings=w", "-l", path], env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    shown = re.sub(r".\x08", "", done.stdout)
    assert "ncu-assist - Which version of my GPU kernel is faster, and why" in shown
    assert "--profile-top" in shown


@pytest.mark.slow
def test_it_is_made_with_what_a_build_brings() -> None:
    block = f"import sys\nfor name in {OTHERS!r}: sys.modules[name] = None\n"
    code = block + "from man_page import man_page\nassert '.SS verify' in man_page()"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "docs")))}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
    requires = (ROOT / "pyproject.toml").read_text().partition("requires = ")[2].partition("]")[0]
    assert all(f'"{name}>=' in requires for name in AT_BUILD)
