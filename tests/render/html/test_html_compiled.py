"""Templates are compiled once and then kept; where they cannot be, pages are made all the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from ncu_assist.render.html.page import compiled_templates


def environment(folder: Path) -> Environment:
    templates = DictLoader({"t": "a {{ word }}"})
    return Environment(loader=templates, bytecode_cache=compiled_templates(str(folder)), autoescape=True)


def test_a_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment(tmp_path).get_template("t").render(word="b") == "a b"
    monkeypatch.setattr(Environment, "compile", lambda *_, **__: pytest.fail("compiled again"))
    assert environment(tmp_path).get_template("t").render(word="c") == "a c"


def test_a_folder_that_cannot_be_written_to_is_no_failure(tmp_path: Path) -> None:
    assert environment(tmp_path / "absent").get_template("t").render(word="b") == "a b"


def test_without_a_safe_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "absent"))
    assert compiled_templates() is None
