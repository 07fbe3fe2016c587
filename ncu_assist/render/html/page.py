"""The one place that fills a template: strict, escaped, the same bytes for the same models; the frame of every page."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist import __version__
from ncu_assist.analysis.records import TracedRun
from ncu_assist.ncu.catalogue.glossary import GLOSSARY
from ncu_assist.ncu.catalogue.stalls import ISSUED, STALL_REASONS, TOLD_APART, in_ncu
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.table import Link, Table, Term, safe_href

if TYPE_CHECKING:
    from jinja2 import Environment, FileSystemBytecodeCache
    from jinja2.bccache import Bucket
    from markupsafe import Markup

# Everything that may have to be spelled out lies outside printable ASCII: `plain` decides about that little.
_SUSPECT = re.compile(r"[^\n\t -~]+")
# What could end a script element or start a comment in it, and the line ends that JavaScript has and JSON has not.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TRANSLATION = str.maketrans(_IN_SCRIPT)


# Places in drawings: no text has it, as quotes are escaped there.
_WHOLE = re.compile(r'(?<==")(-?\d+)\.0(?=")')


def visible(page: str) -> str:
    """Return a page with every control character and direction mark in it spelled out, such as ``\\u202e``.

    Numbers of drawings lose a decimal that is none.
    """
    return _WHOLE.sub(r"\1", _SUSPECT.sub(lambda match: plain(match[0]), page))


def embedded_json(value: object) -> Markup:
    """Return JSON for ``<script type="application/json">``: nothing in it can end that element. Keys are sorted."""
    from markupsafe import Markup

    return Markup(json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).translate(_TRANSLATION))


_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|[nµm]?s\b|[kMGT]?(?:B|Hz)\b)")
# Attributes that name ids of the page; no text holds them, as quotes are escaped there.
_IDS = re.compile(r' (id|for|aria-labelledby|data-filter|popovertarget)="([^"]+)"| href="#([^"]+)"')


def scoped(html: str, prefix: str, shared: str = "", leads_out: bool = False) -> Markup:
    """Return a part of a page, rendered, with a prefix before its ids and what leads to them: it may stand there twice.

    An attribute that is ``shared`` keeps its ids. Of a part that ``leads_out`` links to what is not in it stay.
    """
    from markupsafe import Markup

    own = {found[2] for found in _IDS.finditer(html) if found[1] == "id"} if leads_out else set[str]()

    def renamed(found: re.Match[str]) -> str:
        if found[1] == shared or (leads_out and found[3] and found[3] not in own):
            return found[0]
        if found[3]:
            return f' href="#{prefix}{found[3]}"'
        return f' {found[1]}="{" ".join(prefix + id for id in found[2].split(" "))}"'

    return Markup(_IDS.sub(renamed, html))


def _kept(text: str) -> str:
    """Return words in which no line ends between a number and its unit; a number alone stays as it is."""
    return text if text[:1].isdigit() else _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


_STRESSED = re.compile(r"(?<![\w*])\*(\w[\w /]{0,40}\w|\w)\*(?![\w*])")


def _spoken(text: str) -> Markup:
    """Return prose, escaped, with ``*words*`` as they are meant: stressed."""
    from markupsafe import Markup, escape

    return Markup(_STRESSED.sub(r"<em>\1</em>", str(escape(_kept(text)))))


def hash_source(text: str) -> str:
    """Return the source expression of the policy that allows exactly this inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of every page: our one style, our one script, a data: icon, nothing else."""
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


@dataclass(frozen=True)
class Provenance:
    """What a page was made of and by what; ``digest`` is over the digests of ``count`` runs, listed or not.

    ``origins`` are stored runs, each with the digest of its record, which holds the hashes of its files.
    """

    origins: tuple[tuple[Link, str], ...]
    count: int
    digest: str
    tool: str = __version__


SHORT = {
    "Memory chart": "Memory", "Warp stall reasons": "Stalls", "Warp states and occupancy": "Warps",
    "Instructions and pipes": "Instructions", "Facts to reproduce it": "Facts", "Command and logs": "Logs",
    "How the counters were taken": "Commands", "Own against library": "Library", "Against floor and peers": "Floors",
    "On other GPUs": "Other GPUs", "Launches and traffic": "Traffic", "What each version tried": "Tried",
    "Estimated and achieved": "Estimates", "All workloads": "Workloads",
}  # fmt: skip


@dataclass(frozen=True)
class PageSection:
    """A section of a page: anchor and title, which the navigation has in short, what it shows, and the template for it.

    In the template it is called ``section``. ``model`` is one thing, or several by the names that the template has for
    them. ``intro`` is a sentence below the title.
    """

    id: str
    title: str
    model: object
    template: str
    intro: str = ""

    @property
    def short(self) -> str:
        """Its title as the navigation has it, which is to fit a line."""
        return SHORT.get(self.title, self.title)


def table_section(
    id: str, title: str, made: Table | None, intro: str = "", legend: tuple[str, ...] = ()
) -> PageSection:
    """Return a section of a table with lines below it; one without a model where the table has no rows."""
    model = {"table": made, "legend": legend} if made and made.rows else None
    return PageSection(id, title, model, "table_section.html.j2", intro)


@dataclass(frozen=True)
class Head:
    """The frame of a page.

    ``recorded`` is a sentence for the banner of what was not measured on this machine; empty for none.
    """

    title: str
    subtitle: str
    crumbs: tuple[Link, ...]
    provenance: Provenance
    recorded: str = ""
    warnings: tuple[str, ...] = ()


def provenance(shown: Iterable[TracedRun], of: Iterable[TracedRun] | None = None) -> Provenance:
    """Return the provenance of a page that shows some runs, each listed once, in the order of their references.

    ``of`` are all runs that the page depends on, where those are more than can be listed.
    """
    named = {stored.reference: stored for stored in shown}
    origins = tuple((Link(name, ""), stored.run.digest) for name, stored in sorted(named.items()))
    every = sorted({stored.run.digest for stored in (named.values() if of is None else of)})
    return Provenance(origins, len(every), hashlib.sha256("\n".join(every).encode()).hexdigest())


TEMPLATES = Path(__file__).parents[1] / "templates"


def page(head: Head, sections: Iterable[PageSection]) -> str:
    """Return the page with the sections that have a model.

    A name that the template uses and nobody gave is an error. Characters that cannot be seen, such as direction
    overrides, are spelled out in the whole page, wherever they came from.
    """
    shown = [section for section in sections if section.model]
    return visible(_environment().get_template("page.html.j2").render(head=head, sections=shown, tip=Tips()))


def fragment(template: str, **models: object) -> str:
    """Return a piece of HTML without a page around it; as ``page`` in all else."""
    return visible(_environment().get_template(template).render(**models))


class Tips:
    """What the terms of a page mean: each said once, at the end, whatever number of terms leads there."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], tuple[str, Term]] = {}

    def __call__(self, term: Term) -> str:
        """Return the id of what explains a term."""
        return self._ids.setdefault((term.name, term.meaning), (f"t{len(self._ids) + 1}", term))[0]

    def shown(self) -> Collection[tuple[str, Term]]:
        """Return the ids and terms that were asked for so far."""
        return self._ids.values()


# What somebody who has never seen a profile asks first, in the help of every page.
HELP_WORDS = (
    "assumed", "bank conflict", "bound by", "changed", "coalesced", "dram", "estimated", "excess", "finding", "floor",
    "geomean", "issue slots", "l1", "l2", "latency bound", "launch", "mbarrier", "mio", "noise", "occupancy", "own",
    "parent", "pipe", "replay", "sass", "sector", "severity", "side effect", "sm", "spill", "stage", "tensor core",
    "tile", "tma", "to floor", "unclear", "undecided", "warp", "warp stall reason", "wave", "wavefront", "wgmma",
)  # fmt: skip


def help_words() -> tuple[tuple[str, list[tuple[str, str]]], ...]:
    """Return the lists of the help: a title, then words with what they mean."""
    entries = sorted({GLOSSARY[word] for word in HELP_WORDS}, key=lambda one: one.name.lower())
    reasons = (STALL_REASONS[name] for name in sorted(STALL_REASONS) if name != ISSUED)
    waits = [(in_ncu(one.name), one.waits_for) for one in (*reasons, *TOLD_APART.values())]
    return ("Words", [(one.name, one.text) for one in entries]), (
        "What a warp waits for, by stall reason",
        sorted(waits),
    )


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=compiled_templates(),
    )
    style, script = _asset("style.css"), _asset("script.js")
    made.globals |= {"style": Markup(style), "script": Markup(script)}
    made.globals["glossary"] = help_words()
    made.globals["policy"] = policy(hash_source(style), hash_source(script))
    made.filters |= {"safe_href": safe_href, "one_line": one_line, "embedded_json": embedded_json}
    made.filters |= {"kept": _kept, "spoken": _spoken}
    made.filters["scoped"] = functools.partial(scoped, shared="popovertarget")
    return made


def _asset(name: str) -> str:
    """Return a file of ours without indents and what is for its readers; it must not be able to end its element."""
    text = _FOR_READERS.sub("", (TEMPLATES / name).read_text(encoding="utf-8"))
    if "</" in text:
        raise ValueError(f"{name} holds '</', which could end its element")
    lines = "\n".join(filter(None, (line.strip() for line in text.splitlines())))
    return _AROUND.sub(r"\1", lines) if name.endswith(".css") else lines


_AROUND = re.compile(r"\s*([{};])\s*")  # of a style sheet: nothing there means anything
_FOR_READERS = re.compile(r"/\*[\s\S]*?\*/|^\s*//.*$", re.MULTILINE)  # comments, in lines of their own


COMPILED = "ncu-assist-%s.cache"


def compiled_templates(folder: str | None = None) -> FileSystemBytecodeCache | None:
    """Return where compiled templates are kept between two calls: to compile them takes longer than to fill them.

    In jinja's own folder, which nobody else may write to; None where this machine has no safe folder for them.
    """
    from jinja2 import FileSystemBytecodeCache

    class Kept(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Bucket) -> None:
            with contextlib.suppress(OSError):  # a full disk is no failure
                super().dump_bytecode(bucket)

    try:
        return Kept(folder, COMPILED)
    except (RuntimeError, OSError):
        return None


def damaged_html(name: str, problem: str, kernel: str, up: int) -> str:
    """Return the page; it lies ``up`` folders below that of its kernel. The same damage gives the same bytes."""
    above = (("All kernels", "../" * (up + 1)), (one_line(kernel), "../" * up))
    head = Head(
        title="Damaged",
        subtitle="this page no longer shows what was measured",
        crumbs=tuple(Link(text, f"{folder}index.html") for text, folder in above),
        provenance=provenance(()),
    )
    damaged = {"name": one_line(name), "problem": one_line(problem, 500)}
    return page(head, (PageSection("damaged", "Damaged", damaged, "damaged.html.j2"),))
