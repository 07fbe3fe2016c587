"""The pages of many runs, made in processes beside this one: a page keeps an interpreter busy for half a second.

Run as a child process it makes the pages of a job, and prints the place of each as it is done.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from ncu_assist import process

PAGES_A_CHILD = 2  # at least: to start, a child takes as long as for a page or two


@dataclass(frozen=True)
class WantedPage:
    """The page of a run, to lie in its folder: where its run is in the archive, and which diffs lie around it."""

    kernel: str
    version: str
    run_id: str
    diffs: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageJob:
    """What a child makes: pages by their places in the whole row, each as a text file of that name in ``folder``."""

    reports: str
    redact: bool
    folder: str
    pages: dict[int, WantedPage]


@contextlib.contextmanager
def made_beside(
    reports: Path, redact: bool, wanted: Sequence[WantedPage], makers: Sequence[Callable[[], str]]
) -> Iterator[list[Callable[[], str]]]:
    """Yield for each page a function that returns it, once it is made.

    ``makers`` make the same pages in this process: few of them, on threads, and what a child could not make, so that
    the error is raised here.
    """
    children = min(process.side_by_side(), len(wanted) // PAGES_A_CHILD)
    if children < PAGES_A_CHILD:
        with ThreadPoolExecutor(process.side_by_side()) as pool:  # half of a page's time a child reads
            yield [pool.submit(make).result for make in makers]
        return
    over, done = threading.Event(), [threading.Event() for _ in wanted]
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as name, ThreadPoolExecutor(children) as pool:
        for first in range(children):
            places = range(first, len(wanted), children)
            job = PageJob(str(reports), redact, name, {place: wanted[place] for place in places})
            pool.submit(_run, job, first, done, over)
        try:
            texts = [Path(name) / f"{place}.html" for place in range(len(wanted))]
            yield [partial(_text, *one) for one in zip(texts, done, makers, strict=True)]
        finally:
            over.set()


def _run(job: PageJob, number: int, done: Sequence[threading.Event], over: threading.Event) -> None:
    path = Path(job.folder) / f"job{number}.json"
    path.write_bytes(msgspec.json.encode(job))

    def hear(line: str) -> None:
        if line.isdecimal() and int(line) in job.pages:
            done[int(line)].set()

    try:
        process.run([sys.executable, "-m", __name__, str(path)], on_line=hear, is_stuck=over.is_set)
    finally:
        for place in job.pages:  # those that it left are made here
            done[place].set()


def _text(path: Path, done: threading.Event, make: Callable[[], str]) -> str:
    done.wait()
    if not path.is_file():
        return make()
    text = path.read_text(encoding="utf-8", errors="surrogatepass")
    path.unlink()
    return text


def main(path: Path) -> None:
    """Make the pages of a job. One that cannot be made is left to the parent, which says why."""
    from ncu_assist.pipeline.pages.readable import PageStore
    from ncu_assist.pipeline.pages.run import run_page

    job = msgspec.json.decode(path.read_bytes(), type=PageJob)
    store = PageStore(Path(job.reports))
    for place, page in job.pages.items():
        with contextlib.suppress(Exception):
            heads = store.heads(page.kernel, page.version)
            stored = next(store.opened(one) for one in heads if one.run_id == page.run_id)
            text = run_page(stored, store, True, page.diffs, job.redact)
            unfinished = Path(job.folder) / f"{place}.unfinished"
            unfinished.write_text(text, encoding="utf-8", errors="surrogatepass")
            unfinished.rename(unfinished.with_suffix(".html"))
        sys.stdout.write(f"{place}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
