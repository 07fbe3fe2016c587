"""The pages of many runs, made in processes beside this one: a page keeps an interpreter busy for half a second.

Run as a child process it makes the pages of a job, and prints the place of each as it is done. Where it is known that
pages will follow a measurement, such children start during it.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from ncu_assist import process
from ncu_assist.ncu.child import end_ready, get_ready, handed, ready_count, run_module
from ncu_assist.ncu.report import READER

PAGES_A_CHILD = 2  # at least: to start, a child takes as long as for a page or two


@dataclass(frozen=True)
class WantedPage:
    """The page of a run, to lie in its folder: where its run is in the archive, and which diffs lie around it."""

    kernel: str
    version: str
    run_id: str
    diffs: tuple[str, ...] = ()


_FOLLOW: list[bool] = []


@contextlib.contextmanager
def pages_follow() -> Iterator[None]:
    """In this block pages of new runs are made after they are measured: what makes them gets ready meanwhile."""
    _FOLLOW.append(True)
    try:
        yield
    finally:
        _FOLLOW.pop()
        end_ready(__name__)


def get_makers_ready(reports: Path, kernel: str, count: int) -> None:
    """In a block of ``pages_follow``, start a maker for each of so many pages, on at most half of the cores."""
    if _FOLLOW:
        get_ready(__name__, min(count, process.side_by_side() // 2), str(reports), kernel)


def _prepare(reports: str, kernel: str) -> None:
    """Make the page of an earlier run, for all that the next one takes to be there; get its reader ready, too."""
    from ncu_assist.pipeline.pages.readable import PageStore
    from ncu_assist.pipeline.pages.run import run_page

    store = PageStore(Path(reports))
    run_page(next(store.opened(one) for one in store.heads(kernel)), store)
    get_ready(READER, 1)


@contextlib.contextmanager
def made_beside(
    reports: Path, redact: bool, wanted: Sequence[WantedPage], makers: Sequence[Callable[[], str]]
) -> Iterator[Sequence[Callable[[], str]]]:
    """Yield for each page a function that returns it, once it is made.

    ``makers`` make the same pages in this process: few of them, on threads, and what a child could not make, so that
    the error is raised here.
    """
    at_once, ready = process.side_by_side(), ready_count(__name__)
    children = min(at_once, max(len(wanted) // PAGES_A_CHILD, min(len(wanted), ready)))
    if not ready and (at_once == 1 or len(wanted) == 1):
        yield makers
        return
    over, done = threading.Event(), [threading.Event() for _ in wanted]
    with contextlib.ExitStack() as stack:
        folder = _folder(stack) if children > 1 or ready else None
        pool = ThreadPoolExecutor(at_once)
        stack.callback(pool.shutdown, cancel_futures=True)
        stack.callback(over.set)
        if folder is None:
            yield [pool.submit(make).result for make in makers]  # half of a page's time a child reads
            return
        for first in range(children):
            pages = {place: wanted[place] for place in range(first, len(wanted), children)}
            pool.submit(_run, reports, redact, folder, pages, done, over)
        texts = [folder / f"{place}.html" for place in range(len(wanted))]
        yield [partial(_text, *one) for one in zip(texts, done, makers, strict=True)]


def _folder(stack: contextlib.ExitStack) -> Path | None:
    """Return a folder that goes with the stack, None where there is no room for one."""
    try:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ncu-assist-")))
    except OSError:
        return None


def _run(
    reports: Path,
    redact: bool,
    folder: Path,
    pages: Mapping[int, WantedPage],
    done: Sequence[threading.Event],
    over: threading.Event,
) -> None:
    """Let a child make these pages, by their places in the whole row."""

    def hear(line: str) -> None:
        if line.isdecimal() and int(line) in pages:
            done[int(line)].set()

    try:
        job = folder / f"job{min(pages)}.json"
        job.write_bytes(msgspec.json.encode(pages))
        argv = [__name__, str(reports), str(folder), job.name, "redact" if redact else ""]
        run_module(argv, is_stuck=over.is_set, on_line=hear)
    finally:
        for place in pages:  # those that it left are made here
            done[place].set()


def _text(path: Path, done: threading.Event, make: Callable[[], str]) -> str:
    done.wait()
    if not path.is_file():
        return make()
    text = path.read_text(encoding="utf-8", errors="surrogatepass")
    path.unlink()
    return text


def main(reports: str, folder: str, job: str, redact: str) -> None:
    """Make the pages of a job. One that cannot be made is left to the parent, which says why."""
    from ncu_assist.pipeline.pages.readable import PageStore
    from ncu_assist.pipeline.pages.run import run_page

    store, place_of = PageStore(Path(reports)), Path(folder)
    for place, page in msgspec.json.decode((place_of / job).read_bytes(), type=dict[int, WantedPage]).items():
        with contextlib.suppress(Exception):
            heads = store.heads(page.kernel, page.version)
            stored = next(store.opened(one) for one in heads if one.run_id == page.run_id)
            text = run_page(stored, store, True, page.diffs, bool(redact))
            unfinished = place_of / f"{place}.unfinished"
            unfinished.write_text(text, encoding="utf-8", errors="surrogatepass")
            unfinished.rename(unfinished.with_suffix(".html"))
        sys.stdout.write(f"{place}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(*handed(sys.argv[1:], _prepare))
    finally:
        end_ready(READER)  # of a run without a report
