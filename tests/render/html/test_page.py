"""The environment of all pages: strict, escaped, the same bytes, a policy that fits what stands in the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import jinja2
import pytest
from render.html.sampler import sampler_html

from ncu_assist.render.html.page import TEMPLATES, Head, PageSection, Provenance, embedded_json, page, visible

STYLE, SCRIPT = (re.compile(rf"<{name}>(.*?)</{name}>", re.DOTALL) for name in ("style", "script"))


HEAD = Head("T", "", (), Provenance((), 0, ""))


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_name_that_nobody_gave_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        page(HEAD, (PageSection("kernels", "Kernels", "no table", "index_kernels.html.j2"),))


def test_the_same_models_give_the_same_bytes() -> None:
    assert sampler_html() == sampler_html()


def test_the_policy_allows_our_style_and_script_and_nothing_else() -> None:
    text = sampler_html()
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found
    said = found[1].replace("&#39;", "'")
    assert said.startswith("default-src 'none'; ")
    assert "unsafe" not in said
    assert [hash_of(style) in said for style in STYLE.findall(text)] == [True]
    assert [hash_of(script) in said for script in SCRIPT.findall(text)] == [True]


# What a notebook shows is part of a page of others, and brings its looks with it.
PAGES = sorted(path for path in TEMPLATES.glob("*.j2") if path.name != "notebook.html.j2")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_template_has_no_inline_style_no_handler_and_marks_nothing_safe(path: object) -> None:
    text = path.read_text()  # type: ignore[attr-defined]
    assert re.search(r"""\s(?:style|on\w+)=["']""", text) is None
    assert re.search(r"\|\s*safe\b", text) is None
    assert "autoescape" not in text


def test_what_cannot_be_seen_is_spelled_out_wherever_it_stands() -> None:
    assert visible("a\u202eb\x1b[0m\x00\tc\n▲ µ") == "a\\u202eb\\x1b[0m\\x00\tc\n▲ µ"
    assert "\\u202e" in sampler_html("\u202e")
    assert "\u202e" not in sampler_html("\u202e")


def test_embedded_json_cannot_end_its_element() -> None:
    text = str(embedded_json({"b": "</script><!--\u2028&", "a": 1}))
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == {"b": "</script><!--\u2028&", "a": 1}
    with pytest.raises(ValueError, match="Out of range"):
        embedded_json(float("nan"))
