"""Where a ladder leads to: pages of runs and diffs, but only those that exist."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.records import ArchivedRun
from ncu_assist.render.html.links import href_to

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


def diff_name(before: str) -> str:
    """Return the name of the page, in the folder of a version, that compares it with another one."""
    return f"diff-{before}.html"
