"""Where a page may link to: other pages of the archive that exist, places in itself, the web."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import quote

from ncu_assist.analysis.records import ArchivedRun

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


RUN_PAGE = "report.html"


@dataclass(frozen=True)
class RunLinks:
    """Links of a page in ``reports/<kernel>/``; ``pages`` are the files that exist, relative to there."""

    pages: frozenset[str]

    def to(self, *parts: str) -> str:
        """Return the link to a page, empty where it does not exist."""
        return href_to(*parts) if "/".join(parts) in self.pages else ""

    def of(self, stored: ArchivedRun) -> str:
        """Return the link to the page of a run."""
        return self.to(stored.run.version, stored.run.run_id, RUN_PAGE)

    def diff(self, before: str, version: str) -> str:
        """Return the link to the page that compares two versions."""
        return self.to(version, diff_name(before))


NO_LINKS = RunLinks(frozenset())


def diff_name(before: str) -> str:
    """Return the name of the page, in the folder of a version, that compares it with another one."""
    return f"diff-{before}.html"
