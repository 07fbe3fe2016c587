"""The pages that were written as JSON, schema ncu-assist.report/1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ncu_assist.analysis.archive import Written, WrittenPage
from ncu_assist.render.json.values import answer
from ncu_assist.render.pages_words import shown_path


def report_json(written: Written, folder: Path) -> dict[str, Any]:
    """Return the pages in the order in which they were written; paths are relative to ``folder`` where below it.

    ``of`` is a reference, two references with a blank between, or a kernel; null for the index.
    """
    pages = [_page(one, folder) for one in written.pages]
    asked = shown_path(written.asked.path, folder)
    return answer("report", {"asked": asked, "pages": pages, "problems": list(written.problems)})


def _page(one: WrittenPage, folder: Path) -> dict[str, Any]:
    return {"kind": one.kind, "of": one.of or None, "path": shown_path(one.path, folder)}
