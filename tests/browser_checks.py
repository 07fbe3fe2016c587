"""What every page must pass in a real browser; each check takes a browser and the path of a page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from patience import CEILING_S, soon

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

WIDTHS = (1280, 390)
HEIGHT = 900
SERIOUS = ("serious", "critical")
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

# What sticks out to the right of the page and is not inside a box that scrolls. `hidden` would cut text unseen: no box.
_STICKS_OUT = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (one) => {
    for (let up = one.parentElement; up; up = up.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
    return false;
  };
  const found = [...document.body.querySelectorAll("*")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width > 1 && box.height > 0 && box.right > width + 1 && !scrolls(one);
  });
  const names = found.slice(0, 8).map((one) => `${one.tagName}.${one.className.baseVal ?? one.className}`);
  const whole = document.documentElement.scrollWidth;
  if (whole > width) names.push(`the page has ${whole}`);
  return names;
}"""
# A box that scrolls must be reached by the keyboard, and say what it is.
_UNREACHABLE = """() => [...document.querySelectorAll("*")].filter((one) => {
  const style = getComputedStyle(one);
  return ["auto", "scroll"].includes(style.overflowX) && one.scrollWidth > one.clientWidth + 1
    && (one.tabIndex < 0 || !one.getAttribute("aria-label")) && one.tagName !== "INPUT";
}).map((one) => one.outerHTML.slice(0, 120))"""
# Texts of a drawing that cover each other, are cut by its edge, or reach into a band from its left.
_OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].filter((one) => one.textContent.trim());
    const boxes = texts.map((one) => one.getBoundingClientRect()), edge = svg.getBoundingClientRect();
    const bands = [...svg.querySelectorAll("rect.band")].map((one) => one.getBoundingClientRect());
    boxes.forEach((a, i) => {
      if (bands.some((band) => a.left < band.left && a.right > band.left && a.top < band.bottom && a.bottom > band.top))
        found.push(`reaches into a band: ${texts[i].textContent}`);
      if (a.left < edge.left - 1 || a.right > edge.right + 1 || a.top < edge.top - 1 || a.bottom > edge.bottom + 1)
        found.push(`cut: ${texts[i].textContent}`);
      boxes.slice(i + 1).forEach((b, k) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 2) found.push(`${texts[i].textContent} / ${texts[i + 1 + k].textContent}`);
      });
    });
  }
  return found;
}"""

# Axe takes a minute for thousands of elements that are all made alike. The first rows of each table, and those with an
# element of a kind (name, classes, attributes, colours) that few rows before had, stand for the others, and for
# contrast, which is most of that minute, two elements of each look: colours, letters, opacity; of pages of one kind,
# two on all of them together. Axe judges no contrast of a single sign.
_FIRST_ROWS = """() => document.querySelectorAll("table").forEach((table) => {
  const seen = new Map();
  [...table.tBodies].flatMap((body) => [...body.rows]).forEach((row, place) => {
    const kindOf = (one) => {
      const { color, backgroundColor } = getComputedStyle(one);
      return [one.tagName, one.className, color, backgroundColor, ...one.getAttributeNames()].join(" ");
    };
    const kinds = new Set([row, ...row.querySelectorAll("*")].map(kindOf));
    const isNew = [...kinds].some((kind) => (seen.get(kind) ?? 0) < 2);
    if (place >= 6 && !isNew) row.remove();
    else kinds.forEach((kind) => seen.set(kind, (seen.get(kind) ?? 0) + 1));
  });
})"""
_LOOKS = """(within, judged) => {
  const found = [];
  for (const one of document.querySelectorAll(`${within} *`)) {
    const isText = (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim().length > 1;
    if (![...one.childNodes].some(isText)) continue;
    const own = getComputedStyle(one), look = [own.color, own.fill, own.fontSize, own.fontWeight];
    for (let up = one; up; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.backgroundColor !== "rgba(0, 0, 0, 0)") look.push(style.backgroundColor);
      if (style.backgroundImage !== "none") look.push(style.backgroundImage);
      if (style.opacity !== "1") look.push(style.opacity);
    }
    const key = look.join("|"), before = judged[key] ?? 0;
    if (before < 2) { judged[key] = before + 1; found.push(one); }
  }
  return found;
}"""
_AXE = """async ({ within, judged, runOnly }) => {
  const looks = (LOOKS)(within, judged);
  if (runOnly && !looks.length) return { found: [], judged };
  looks.forEach((one) => one.setAttribute("data-look", ""));
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
  const options = { resultTypes: ["violations"], selectors: false, preload: false, ...(runOnly && { runOnly }) };
  const all = await axe.run(document, options);
  looks.forEach((one) => one.removeAttribute("data-look"));
  const told = (node) => [node.html.slice(0, 160), node.failureSummary];
  return { found: all.violations.map((one) => [one.impact, one.id, ...told(one.nodes[0])]), judged };
}""".replace("LOOKS", _LOOKS)
Looks = dict[str, int]  # how many elements of each look were judged

# Launches of a report and pages of a bundle, of which one is seen at a time: all but the first are taken out of the
# page, which is quick then, and put in its place one by one; of a bundle, whose pages are checked alone, the first few.
_PARTS = """() => {
  const parts = [...document.querySelectorAll(".launch, .leaf")];
  parts.forEach((one, place) => { one.classList.add("shown"); if (place) one.remove(); });
  window.parts = parts.filter((one, place) => place < 4 || one.matches(".launch"));
  return window.parts.length;
}"""
_NEXT_PART = "(place) => window.parts[place - 1].replaceWith(window.parts[place])"

_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"

_PROBLEMS = {
    _STICKS_OUT: "wider than the page",
    _UNREACHABLE: "scrolls, but not by keyboard",
    _OVERLAPS: "texts cover each other or are cut",
}


# A window takes longer to open than most pages: one is kept for all pages that want nothing special, with its first tab
# open, and thrown away when a page has stored anything in it or a test has failed.
_WINDOWS: WeakKeyDictionary[Browser, dict[bool, list[BrowserContext]]] = WeakKeyDictionary()


@contextlib.contextmanager
def _window(browser: Browser, scripts: bool, options: dict[str, Any]) -> Iterator[Page]:
    """A new tab that knows nothing of those before it."""
    kept = [] if options else _WINDOWS.setdefault(browser, {}).setdefault(scripts, [])
    if kept:
        context = kept.pop()
    else:
        context = browser.new_context(java_script_enabled=scripts, offline=True, **options)
        context.set_default_timeout(CEILING_S * 1000)
        if not options:
            context.new_page()
    page = context.new_page()
    is_clean = False
    try:
        yield page
        is_clean = not page.evaluate("localStorage.length + sessionStorage.length")
    finally:
        if options or not is_clean:
            context.close()
        else:
            for one in context.pages[1:]:
                one.close()
            kept.append(context)


@contextlib.contextmanager
def opened(browser: Browser, path: Path, width: int = 1280, scripts: bool = True, **options: Any) -> Iterator[Page]:
    """Open a page from file://; fails at the end if anything was written to the console or requested."""
    said: list[str] = []
    asked: list[str] = []
    with _window(browser, scripts, options) as page:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.resolve().as_uri())
        yield page
        settle(page, scripts)  # an icon or a violation of the policy comes a moment after the page
    own = path.resolve().as_uri()
    assert said == []
    assert [url for url in asked if url.partition("#")[0] != own and not url.startswith("data:")] == []


def settle(page: Page, scripts: bool = True) -> None:
    """Wait until the page has been drawn and what it asked for, or complained of, has been told."""
    page.evaluate(_DRAWN if scripts else "0")


def check_page(browser: Browser, path: Path) -> None:
    """Hold a page against everything that needs no knowledge of its content."""
    with opened(browser, path) as page:
        words = _words(page)
        _check_frame(page)
        _check_widths(page)
        check_axe_of(page)
        check_theme(page)
    _check_words_without_scripts(browser, path, words)


def check_fits(browser: Browser, path: Path) -> None:
    """Nothing is wider than the page at 1280 and 390 pixels, with everything unfolded; no text of a drawing is cut."""
    with opened(browser, path) as page:
        _check_widths(page)


def check_phone_and_axe(browser: Browser, path: Path, judged: Looks | None = None) -> None:
    """A page opens without a message or a request, has a heading, unfolded is no wider than a phone's screen, and axe
    finds nothing at 1280 pixels. ``judged``: the looks whose contrast pages of this kind were held against before."""
    with opened(browser, path, width=WIDTHS[1]) as page:
        assert page.inner_text("h1:visible")
        _unfold(page)
        assert page.evaluate(_STICKS_OUT) == []
        page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
        check_axe_of(page, judged)


def check_axe(browser: Browser, path: Path) -> None:
    """axe-core finds nothing serious, nor too little contrast in light or in dark, with everything unfolded."""
    with opened(browser, path) as page:
        check_axe_of(page)


def check_without_scripts(browser: Browser, path: Path) -> None:
    """Without scripts the content is the same, and nothing that needs them is shown."""
    with opened(browser, path) as page:
        words = _words(page)
    _check_words_without_scripts(browser, path, words)


def check_frame(browser: Browser, path: Path) -> None:
    """The frame works: navigation leads somewhere, ids are unique, the theme changes and is remembered, help opens."""
    with opened(browser, path) as page:
        _check_frame(page)
        check_theme(page)


def _check_widths(page: Page) -> None:
    _unfold(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for script, problem in _PROBLEMS.items():
            found = page.evaluate(script)
            assert not found, f"{problem} at {width} pixels: {found}"
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})


def _unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def check_axe_of(page: Page, judged: Looks | None = None) -> None:
    from axe_playwright_python.base import AXE_SCRIPT

    _unfold(page)
    page.evaluate(_FIRST_ROWS)
    parts = page.evaluate(_PARTS)
    page.evaluate(AXE_SCRIPT)
    found = _axe_finds(page, "body", {} if judged is None else judged)
    for place in range(1, parts):
        page.evaluate(_NEXT_PART, place)
        found += _axe_finds(page, ":is(.launch, .leaf)", {} if judged is None else judged)
    serious = [one for one in found if one[0] in SERIOUS or one[1] == "landmark-unique"]
    assert not serious, serious


def _axe_finds(page: Page, within: str, judged: Looks) -> list[list[str]]:
    """Return what axe finds of what is shown, of contrast only ``within`` a part of the page, in both themes."""
    found: list[list[str]] = []
    for scheme, rules in zip(SCHEMES, (None, ["color-contrast"]), strict=True):  # all but contrast has no theme
        page.emulate_media(color_scheme=scheme)
        told = page.evaluate(_AXE, {"within": within, "judged": judged, "runOnly": rules})
        judged.update(told["judged"])
        found += [[*one, scheme] for one in told["found"]]
    return found


def _check_words_without_scripts(browser: Browser, path: Path, words: list[str]) -> None:
    with opened(browser, path, scripts=False) as page:
        assert page.locator(".js-only:visible").count() == 0
        without = _words(page)
    assert without
    assert without == words


def _words(page: Page) -> list[str]:
    """Return all that the sections say, folded or not; arrows and counts that a script adds are no words."""
    return [text.strip() for text in page.locator("main section").all_text_contents()]


def _check_frame(page: Page) -> None:
    ids: list[str] = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    links: list[str] = page.evaluate("[...document.querySelectorAll('a[href^=\"#\"]')].map((one) => one.hash)")
    assert [link for link in links if link.removeprefix("#") not in ids] == []
    page.keyboard.press("?")
    assert page.locator("dialog[data-help]").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog[data-help]").is_visible()


def check_theme(page: Page) -> None:
    """The key and the button go from auto to light to dark, which is remembered and seen."""
    ground = "getComputedStyle(document.body).backgroundColor"
    page.keyboard.press("t")
    light = page.evaluate(ground)
    page.locator("[data-theme-button]").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(ground) != light
    assert soon(lambda: _remembers_dark(page))
    assert "dark" in (page.locator("[data-theme-button]").text_content() or "")


def _remembers_dark(page: Page) -> bool:
    """What is kept is written by another process, a moment later: a page that goes before has kept nothing."""
    if _reloaded(page) == "dark":
        return True
    while page.evaluate("document.documentElement.dataset.theme") != "dark":
        page.locator("[data-theme-button]").click()
    page.wait_for_timeout(100)
    return False


def _reloaded(page: Page) -> Any:
    page.reload()
    return page.evaluate("document.documentElement.dataset.theme")


def check_sorts(page: Page, table: str, column: str, expected: list[str]) -> None:
    """Sort the table with this id by a column, by keyboard, and compare its first column; then the other way round."""
    header = page.locator(f"#{table} thead th").filter(has_text=column).first
    button = header.locator("button.sort")
    button.focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert first_column(page, table) == expected
    assert column in (page.locator("[data-announce]").text_content() or "")
    button.click()
    assert header.get_attribute("aria-sort") == "descending"


def check_filters(page: Page, table: str, words: str, expected: list[str]) -> None:
    """Filter the table with this id, reached by ``/``, and compare its first column; Esc shows all rows again."""
    before = first_column(page, table)
    page.keyboard.press("/")
    page.keyboard.type(words)
    assert first_column(page, table) == expected
    page.keyboard.press("Escape")
    assert first_column(page, table) == before


def check_tooltip(page: Page, label: str) -> None:
    """The name of a metric explains itself by hover and focus; Esc closes it; a reader finds the description."""
    button = page.locator(".term", has_text=label).first
    tip = page.locator(f"#{button.get_attribute('aria-describedby')}")
    assert not tip.is_visible()
    button.focus()
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    button.hover()
    assert tip.is_visible()
    box, view = tip.bounding_box(), page.viewport_size
    assert box is not None
    assert view is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= view["width"]


def first_column(page: Page, table: str) -> list[str]:
    """Return the texts of the row headers that can be seen, without their notes."""
    script = """(id) => [...document.getElementById(id).tBodies[0].rows].filter((row) => !row.hidden).map((row) => {
      const copy = row.cells[0].cloneNode(true);
      copy.querySelectorAll('.note').forEach((note) => note.remove());
      return copy.textContent.trim();
    })"""
    found: list[str] = page.evaluate(script, table)
    return found
