"""The one place that fills a template: strict, escaped, the same bytes for the same models."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.render.escape import one_line
from ncu_assist.render.html.links import safe_href
from ncu_assist.render.html.safety import embedded_json, hash_source, policy, visible

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parents[1] / "templates"


def page(template: str, **models: object) -> str:
    """Return the page that a template makes of its models, which are frozen dataclasses, strings and numbers.

    A name that the template uses and nobody gave is an error. Characters that cannot be seen, such as direction
    overrides, are spelled out in the whole page, wherever they came from.
    """
    ids = itertools.count(1)
    text = _environment().get_template(template).render(**models, next_id=lambda: f"i{next(ids)}")
    return visible(text)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from ncu_assist.render.html.compiled import compiled_templates

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
    made.globals["policy"] = policy(hash_source(style), hash_source(script))
    made.filters |= {"safe_href": safe_href, "one_line": one_line, "embedded_json": embedded_json}
    return made


def _asset(name: str) -> str:
    """Return a file of ours, which must not be able to end the element that it stands in."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    if "</" in text:
        raise ValueError(f"{name} holds '</', which could end its element")
    return text
