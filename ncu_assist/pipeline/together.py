"""Work on both sides of a diff at the same time, each with child processes of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
Stopped = Callable[[], bool]


def together(jobs: Sequence[Callable[[Stopped], T]]) -> list[T]:
    """Return what each job returns; a job is given a function to ask whether it is to end.

    Raises what the first that fails raises; the others are then told to end, as by Ctrl-C.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(max(1, len(jobs))) as pool:
        working = [pool.submit(job, stop.is_set) for job in jobs]
        try:
            ended, _ = wait(working, return_when=FIRST_EXCEPTION)
            problems = [one.exception() for one in working if one in ended]
            for problem in filter(None, problems):
                raise problem
            return [one.result() for one in working]
        except BaseException:
            stop.set()
            raise
