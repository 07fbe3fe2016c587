"""What stands in place of a page that showed a damaged run: links to it stay right, and nobody takes it for valid."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.render.escape import one_line
from ncu_assist.render.html.head import Head, Link, provenance
from ncu_assist.render.html.page import page


@dataclass(frozen=True)
class DamagedPage:
    """Which run is damaged, and what is wrong with it."""

    name: str
    problem: str


def damaged_html(name: str, problem: str, kernel: str, up: int) -> str:
    """Return the page; it lies ``up`` folders below that of its kernel. The same damage gives the same bytes."""
    above = (("All kernels", "../" * (up + 1)), (one_line(kernel), "../" * up))
    head = Head(
        title="Damaged",
        subtitle="what this page showed is not what was measured any more",
        crumbs=tuple(Link(text, f"{folder}index.html") for text, folder in above),
        sections=(),
        provenance=provenance(()),
    )
    return page("damaged.html.j2", head=head, damaged=DamagedPage(one_line(name), one_line(problem, 500)))
