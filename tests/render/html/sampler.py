"""A page with every macro on it, for tests: what a template of a real page looks like."""

from __future__ import annotations

from ncu_assist.render.html.charts import Axis, Bar, Bars, linear_axis, log_axis
from ncu_assist.render.html.page import Head, PageSection, Provenance, Tips, _environment, visible
from ncu_assist.render.table import Badge, Cell, Column, Link, Table, Term, number
from ncu_assist.render.words.terms import term_of

SAMPLER = """
{% extends "base.html.j2" %}
{% from "section.html.j2" import section, missing, scroll %}
{% from "table.html.j2" import table with context %}
{% from "bars.html.j2" import bars with context %}
{% from "axis.html.j2" import chart, x_axis, y_axis %}
{% from "badge.html.j2" import badge %}
{% from "link.html.j2" import link %}
{% block content %}
{% call section("table", "Table", "An introduction") %}{{ table(model.table) }}{% endcall %}
{% call section("bars", "Bars") %}{{ bars(model.bars) }}{% endcall %}
{% call section("chart", "Chart") %}
{% call chart("roofline", "A chart", "what it shows", 640, 320) %}
{{ y_axis(model.y, 70, 620, "TFLOP/s") }}{{ x_axis(model.x, 30, 270, "FLOP per byte") }}
<path class="curve" d="M{{ model.x.at(0.01) }} {{ model.y.at(0.1) }}L{{ model.x.at(100) }} {{ model.y.at(1) }}"/>
{% endcall %}
{% endcall %}
{% call section("code", "Code") %}
<details><summary>Source</summary>
<pre class="code" tabindex="0" aria-label="Source"><span class="h8">{{ model.code }}</span></pre></details>
{{ missing("No source lines were collected.", "ncu-assist profile add_one --set full") }}
<p>{{ badge(model.badge) }} {{ link(model.bad) }} {{ model.code | one_line }}</p>
<script type="application/json">{{ model.embedded | embedded_json }}</script>
{% endcall %}
{% endblock %}
"""


class Model:
    """What the sampler shows."""

    def __init__(self, text: str) -> None:
        columns = (Column("metric"), Column("value", "right", "number", term_of("dram_throughput")), Column("word"))
        rows = (
            (Cell("b", term=term_of("duration")), number("2.0 k", 2000.0), Cell(text or "n", heat=8)),
            (Cell("a"), number("10", 10.0, "a note"), Cell("m", badge=Badge("▼ 2x slower", "bad", "worse"))),
            (Cell(text or "c"), Cell(), Cell("z", tone="good")),
        )
        self.table = Table("sample", "Sample", columns, rows, filterable=True, note="a legend")
        memory = Bar(term_of("memory_throughput"), 0.83, "83.0 %", ghost=0.4, ceiling=0.92, tone="limit")
        inner = Bar(Term(text or "L2"), 1.7, "170 %", inner=True)
        self.bars = Bars("Speed of light", (memory, inner, Bar(Term("none"), None, "-")), "0 to 100 %")
        self.x: Axis = log_axis([0.02, 70], 70, 620)
        self.y: Axis = linear_axis([0.1, 1.0], 270, 30)
        self.badge = Badge("▲ 1.78x faster", "good")
        self.bad = Link(text or "text", text or "javascript:alert(1)")
        self.embedded = {"text": text}
        self.code = text or "x = 1;"


def sampler_html(text: str = "") -> str:
    """Return the page, this text from outside in every place that takes one."""
    origins = ((Link("add_one/v1@20261121T074500Z-1a2b3c", text or "x.html"), "ab" * 32),)
    sections = tuple(PageSection(name, name, None, "") for name in ("table", "bars", "chart", "code"))
    provenance = Provenance(origins, 1, "cd" * 32)
    crumbs = (Link("All kernels", "../index.html"),)
    head = Head(text or "Sampler", text, crumbs, provenance, text or "on an H200", (text or "odd",))
    template = _environment().from_string(SAMPLER)
    return visible(template.render(head=head, sections=sections, model=Model(text), tip=Tips()))
