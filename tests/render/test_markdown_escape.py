"""Text from outside in Markdown: it shows as it is and does nothing, as a reader of CommonMark sees it."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ncu_assist.render.escape import one_line
from ncu_assist.render.markdown import escaped, folded, in_html, paragraph, table

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
WITHOUT_WIDTH = "\u200b"
HOSTILE = (
    "a | b",
    "`code` and ``more``",
    "<script>alert(1)</script> &lt;",
    "**bold** __init__ *x* _y_ ~~z~~",
    "[link](http://evil.example) ![image](x)",
    "# heading",
    "- item",
    "+ item",
    "1. item",
    "12) item",
    "> quote",
    "===",
    "---",
    "a\\",
    "a\\|b \\` \\<",
    "kernel<float, 4>(float*, int)",
    "&amp; &#124;",
)


def seen(markdown: str) -> str:
    """Return the text that a reader sees; the tags that Markdown made stay in it."""
    inside = READER.render(markdown).strip().removeprefix("<p>").removesuffix("</p>")
    return html.unescape(re.sub(r"&(lt|gt);", lambda found: {"lt": "‹", "gt": "›"}[found.group(1)], inside))


def wanted(text: str) -> str:
    return one_line(text).replace("<", "‹").replace(">", "›")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_shows_as_it_is(text: str) -> None:
    assert seen(paragraph(text)).replace(WITHOUT_WIDTH, "") == wanted(text)


@pytest.mark.slow
@given(st.text(st.sampled_from("ab1 |`*_[]()<>#@~!$&\\-+=.:/\"'{}\n\t"), max_size=30))
def test_any_text_shows_as_it_is(text: str) -> None:
    if one_line(text):
        assert seen(paragraph(text)).replace(WITHOUT_WIDTH, "") == wanted(text)


@given(st.lists(st.text(st.sampled_from("ab |`*_<>\\~&"), max_size=12), min_size=2, max_size=2))
def test_a_cell_stays_a_cell(cells: list[str]) -> None:
    rendered = READER.render("\n".join(table([("one", "left"), ("two", "right")], [cells])))
    found = re.findall(r"<td[^>]*>(.*?)</td>", rendered)
    assert [html.unescape(one) for one in found] == [one_line(cell) for cell in cells]


def test_nobody_is_mentioned_and_nothing_linked() -> None:
    for text in ("@octocat", "(@org/team)", "mail me@host.org", "see #12", "GH-12", "https://x.org", "www.x.org"):
        assert "&#8203;" in escaped(text), text
        assert "&#8203;" in in_html(text), text
    reference = "lightning_decode/v7_registers_128bit@20261121T085456Z-826702"
    assert escaped(reference) == reference  # to be copied


def test_what_steers_is_spelled_out_and_long_text_cut() -> None:
    assert escaped("a\x1b[31m\u202eb\nc") == "a\\\\x1b\\[31m\\\\u202eb c"
    assert escaped("$x$") == "&#36;x&#36;"
    assert len(escaped("x" * 1000, 10)) == 10


def test_a_summary_is_html() -> None:
    lines = folded("a_b <i> *c*", ["x"])
    assert lines == ["<details>", "<summary>a_b &lt;i&gt; *c*</summary>", "", "x", "", "</details>"]
