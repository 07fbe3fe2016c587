"""The site: every command, rule and metric has a page, every link leads somewhere, and it can be read."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from browser_checks import check_axe_of
from patience import CEILING_S
from requirements import require

from ncu_assist import errors, process
from ncu_assist.cli import COMMANDS
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED
from ncu_assist.ncu.failures import FAILURES
from ncu_assist.rules import RULES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ncu_assist"
OF_CLICK = (
    "requires an argument",
    "No such option",
    "Missing argument",
    "Missing option",
    "Invalid value for",
    "unexpected extra argument",
)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """The pages that are made from the program."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "site_pages.py")
    assert spec
    assert spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[str, str] = module.made_pages()
    pages["messages"] = module.messages_table()
    return pages


def test_every_command_rule_and_metric_has_a_page(made: dict[str, str]) -> None:
    for folder, names in (("commands", COMMANDS), ("rules", RULES), ("metrics", {**CATALOGUE, **ALL_DERIVED})):
        assert [name for name in names if f"reference/{folder}/{name}.md" not in made] == []


def test_every_rule_shows_a_recorded_case_and_says_what_to_try(made: dict[str, str]) -> None:
    pages = {name: made[f"reference/rules/{name}.md"] for name in RULES}
    assert [name for name, text in pages.items() if "## A recorded case" not in text] == ["debug-build"]
    assert "## No recorded case" in pages["debug-build"]  # every program of ours is built with optimisation
    done = ("at-", "near-", "unexplained")
    assert [name for name, text in pages.items() if "What to try" not in text and not name.startswith(done)] == []


def test_every_rule_says_how_near_its_estimates_came(made: dict[str, str]) -> None:
    pages = {name: made[f"reference/rules/{name}.md"].partition("## How near its estimates came")[2] for name in RULES}
    assert "No pair" in pages["at-dram-roofline"]
    assert "| `attention_query_a_block` | " in pages["grid-underfill"]
    assert "| 1.78x | 3.02x | 0.53 |" in pages["grid-underfill"]
    assert [name for name, text in pages.items() if text.count("accuracy.md#by-rule") != 1] == []


def test_a_rule_names_recorded_steps_that_cured_its_fault(made: dict[str, str]) -> None:
    text = made["reference/rules/uncoalesced-global-store.md"].partition("## Where it was cured")[2]
    step = "| [lightning_decode](../../kernels/lightning_decode.md) | `v5_shared_padded` | `v6_coalesced_store` "
    assert f"{step}| 3.10x | 2.76x | nothing else |" in text
    assert "## Where it was cured" not in made["reference/rules/unexplained.md"]


def test_each_message_has_an_address_of_its_own(made: dict[str, str]) -> None:
    page = made["reference/messages.md"]
    names = re.findall(r'id="([a-z0-9-]+)" href="#([a-z0-9-]+)"', page)
    rows = [line for line in page.splitlines() if line.startswith("| <a ")]
    assert len(rows) == len(names) == len({name for name, _ in names}) > 300
    assert all(name == target for name, target in names)
    assert 'id="there-is-no-kernel"' in page


def test_every_message_of_ncu_is_explained(made: dict[str, str]) -> None:
    assert [row.id for row in FAILURES if row.fragments[0] not in made["messages"]] == []


def test_every_kind_of_error_is_among_the_messages(made: dict[str, str]) -> None:
    import site_messages  # beside site_pages, which put its folder on the path

    kinds = {
        name: one for name, one in vars(errors).items() if isinstance(one, type) and one.__module__ == errors.__name__
    }
    assert {n: one.exit_code for n, one in kinds.items() if one is not errors.NcuAssistError} == site_messages.KINDS
    told = site_messages.messages()
    assert {one.exit_code for one in told} == {1, 2, 5, 6, 7, 8}
    raised = len(
        re.findall(rf"\b(?:{'|'.join(kinds)})\(", "\n".join(path.read_text() for path in PACKAGE.rglob("*.py")))
    )
    assert len({(one.module, one.hint, one.text) for one in told}) > 0.9 * raised > 400
    page = made["reference/messages.md"]
    assert [one.text for one in told if site_messages.cell(one.text) not in page] == []


def test_what_the_page_on_messages_quotes_is_said(made: dict[str, str]) -> None:
    said = "\n".join(
        node.value
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    import site_messages

    said += "\n".join(one.text for one in site_messages.messages())
    rows = re.findall(r"^\| (`[^|]+) \|", (ROOT / "docs" / "troubleshooting.md").read_text(), re.MULTILINE)
    quoted = [one for row in rows for one in re.findall(r"`([^`]+)`", row)]
    assert len(quoted) > 70
    lacking = [one for one in quoted if one not in said and not one.startswith(OF_CLICK)]
    assert lacking == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built with every warning an error: a link that leads nowhere is one."""
    require("mkdocs")
    target = tmp_path_factory.mktemp("site")
    made = process.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)],
        cwd=ROOT, timeout_s=CEILING_S,
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    return target


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(built))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Silent(SimpleHTTPRequestHandler):
    """Serves a folder without a word about it."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Callable[[int, str], BrowserContext]:
    """A window of each width and scheme, with a first tab that keeps it open: it takes longer to open than a page."""

    @functools.cache
    def window(width: int, scheme: Literal["light", "dark"]) -> BrowserContext:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(CEILING_S * 1000)
        context.new_page()
        return context

    return window


@pytest.fixture
def page(windows: Callable[[int, str], BrowserContext], site: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    page = windows(*request.param).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    page.close()
    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []


# Of pages that are made alike one stands for all: a rule, a command, a metric, the worklog of a kernel.
MADE_ALIKE = ("reference/rules/l2-bound", "reference/commands/show", "reference/metrics/dram_bytes", "kernels/softmax")


def _written() -> list[str]:
    """The pages that were written by hand, and those that list the made ones."""
    docs = ROOT / "docs"
    by_hand = [path.relative_to(docs).with_suffix("").as_posix() for path in sorted(docs.rglob("*.md"))]
    return [*by_hand, "index", "404", "kernels", *(f"reference/{name}" for name in ("commands", "rules", "metrics"))]


FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.mark.parametrize("page", [(390, "dark")], indirect=True)
@pytest.mark.parametrize("name", [*_written(), *MADE_ALIKE])
def test_a_page_is_read_by_everybody(page: Page, site: str, name: str) -> None:
    page.goto(f"{site}/{name}.html")
    page.wait_for_function(FITS)  # the theme wraps a table after the page has loaded
    check_axe_of(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function(FITS)


@pytest.mark.parametrize("page", [(1280, "light")], indirect=True)
def test_search_finds_a_rule(page: Page, site: str) -> None:
    page.goto(f"{site}/index.html")
    page.keyboard.press("/")
    page.keyboard.type("bank conflict")
    page.locator(".md-search-result__link[href*='rules/shared-bank-conflict']").first.wait_for(state="attached")


def test_search_works_where_the_site_is_opened_from_a_disk(browser: Browser, built: Path) -> None:
    page = browser.new_page()
    page.set_default_timeout(CEILING_S * 1000)
    page.goto(f"{built.as_uri()}/guide/gate.html")
    page.keyboard.press("/")
    page.keyboard.type("bank conflict")
    page.locator(".md-search-result__link[href*='rules/shared-bank-conflict']").first.wait_for(state="attached")
    page.close()


FIRST = {
    "median of the paired ratios": "method",
    "two ticks of the timer": "glossary",
    "bytes in flight": "rules/low-bytes-in-flight",
    "spills a register": "rules/register-spill",
    "late": "glossary",
    "time under its floor": "glossary",
    "@best": "reference/references",
    "exit code 4": "reference/exit_codes",
    "profile my own program": "guide/programs",
    "the lines of a diff": "guide/diff",
}


@pytest.mark.parametrize("page", [(1280, "light")], indirect=True)
@pytest.mark.parametrize("words", FIRST)
def test_search_goes_by_the_words_that_tell_something(page: Page, site: str, words: str) -> None:
    page.goto(f"{site}/index.html")
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.locator(f".md-search-result__item:first-child > a[href*='{FIRST[words]}.html']").first.wait_for(
        state="attached"
    )


@pytest.mark.parametrize("page", [(1280, "light")], indirect=True)
@pytest.mark.parametrize(
    "words",
    ["there is no kernel", "the report is damaged", "unexpected extra argument", "No such option: --workloads"],
)
def test_search_finds_a_message_before_anything_else(page: Page, site: str, words: str) -> None:
    page.goto(f"{site}/index.html")
    page.keyboard.press("/")
    page.keyboard.type(words)
    first = ".md-search-result__item:first-child > a:is([href*='messages.html'], [href*='troubleshooting.html'])"
    page.locator(first).first.wait_for(state="attached")
