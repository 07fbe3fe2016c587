"""What keeps text from outside inert in a page: the policy, embedded JSON, characters that cannot be seen."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING

from ncu_assist.render.escape import plain

if TYPE_CHECKING:
    from markupsafe import Markup

# Everything that may have to be spelled out lies outside printable ASCII: `plain` decides about that little.
_SUSPECT = re.compile(r"[^\n\t -~]+")
# What could end a script element or start a comment in it, and the line ends that JavaScript has and JSON has not.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TRANSLATION = str.maketrans(_IN_SCRIPT)


def visible(page: str) -> str:
    """Return a page with every control character and direction mark in it spelled out, such as ``\\u202e``."""
    return _SUSPECT.sub(lambda match: plain(match[0]), page)


def embedded_json(value: object) -> Markup:
    """Return JSON for ``<script type="application/json">``: nothing in it can end that element. Keys are sorted."""
    from markupsafe import Markup

    return Markup(json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).translate(_TRANSLATION))


def hash_source(text: str) -> str:
    """Return the source expression of the policy that allows exactly this inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of every page: our one style, our one script, a data: icon, nothing else."""
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
