"""Where a page may link to: other pages of the archive, places in itself, the web."""

from __future__ import annotations

import re
from pathlib import PurePath
from urllib.parse import quote

SCHEMES = ("http", "https")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_UNSAFE = re.compile(r"[^!-~]|[\\\"'<>`]")  # blanks and controls, which browsers drop, and what is never in a URL


def safe_href(url: str) -> str:
    """Return ``url`` if it is relative, a place in the page or of a known scheme, else an empty text: no link."""
    if not url or _UNSAFE.search(url) or url.startswith("//"):
        return ""
    scheme = _SCHEME.match(url)
    return url if scheme is None or scheme[1].lower() in SCHEMES else ""


def href_to(*parts: str | PurePath) -> str:
    """Return the relative link to a file, its names quoted: ``href_to("..", "v1 a", "report.html")``."""
    return quote(PurePath(*parts).as_posix(), errors="replace")
