"""Several pages as one file that can be sent: the first is shown, and links between them lead within the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import dirname, join, normpath

from ncu_assist.render.html.page import scoped

MAIN = re.compile(r'(<main class="wide" id="content">)(.*?)(</main>)', re.DOTALL)
TIPS = re.compile(r'<div popover id="[^"]+">.*?</div>\n?', re.DOTALL)
# What others read in `export`, and would be most of the file.
LEFT_OUT = re.compile(r'<section class="card" id="(?:metrics|raw)".*?</section>', re.DOTALL)
ITS_CONTENTS = re.compile(r'\s*<li><a href="#(?:metrics|raw)">.*?</li>', re.DOTALL)
HREF = re.compile(r' href="(?!#|data:|https?:)([^"#]*)(?:#([^"]*))?"')


def bundle_html(pages: Mapping[str, str]) -> str:
    """Return pages as one; keys are where they lie, as links name it, the first being that which is shown.

    Links to pages that are none of these lead nowhere. All metrics and logs are left out of all but the first.
    """
    names = {normpath(path): f"p{place}-" for place, path in enumerate(pages)}
    found = {path: _split(text) for path, text in pages.items()}
    (first, (head, _, tail)), *_ = found.items()
    leaves, tips = [], []
    for path, (_, inside, _) in found.items():
        prefix = names[normpath(path)]
        back = f'<p class="back"><a href="{"../" * path.count("/")}{first}">← All versions</a></p>'
        kept = inside if path == first else back + ITS_CONTENTS.sub("", LEFT_OUT.sub("", inside))
        leaf = f'<div class="leaf{" shown" if path == first else ""}" id="content">{kept}</div>'
        leaves.append(_linked(scoped(leaf, prefix), path, names))
        tips.append(scoped("".join(TIPS.findall(pages[path])), prefix))
    return head + "\n".join(leaves) + TIPS.sub("", tail).replace("</body>", f"{''.join(tips)}</body>")


def _split(text: str) -> tuple[str, str, str]:
    """Return what stands before the content of a page, the content, and what stands behind it."""
    found = MAIN.search(text)
    if found is None:
        raise ValueError("what is bundled is no page of ours")
    head = text[: found.end(1)].replace('id="content"', 'id="leaves"').replace('"#content"', '"#leaves"')
    return head, found[2], text[found.start(3) :]


def _linked(text: str, path: str, names: Mapping[str, str]) -> str:
    """Return a part of the file with links to other pages as links within it."""

    def renamed(found: re.Match[str]) -> str:
        prefix = names.get(normpath(join(dirname(path), found[1])))
        return f' href="#{prefix}{found[2] or "content"}"' if prefix else ""

    return HREF.sub(renamed, text)
