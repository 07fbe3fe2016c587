"""Links lead to known places only."""

from __future__ import annotations

import pytest

from ncu_assist.render.table import href_to, safe_href


@pytest.mark.parametrize(
    "url", ["https://docs.nvidia.com/x?a=1#b", "HTTP://x.org", "../index.html", "#times", "v1/report.html", "./a:b"]
)
def test_known_places_stay(url: str) -> None:
    assert safe_href(url) == url


@pytest.mark.parametrize(
    "url",
    ["", "javascript:alert(1)", "JavaScript:x", "java\tscript:x", " javascript:x", "data:text/html,x", "file:///etc",
     "vbscript:x", "//evil.org", "\\\\evil", "a\u202eb", "x\" onclick=\"y", "blob:x", "mailto:a@b"],
)  # fmt: skip
def test_everything_else_is_no_link(url: str) -> None:
    assert safe_href(url) == ""


def test_names_of_files_are_quoted() -> None:
    assert href_to("..", "v1 <a>", "report.html") == "../v1%20%3Ca%3E/report.html"
    assert href_to("a:b") == "a%3Ab"
    assert safe_href(href_to("javascript:alert(1)")) == "javascript%3Aalert%281%29"
