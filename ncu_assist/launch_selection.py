"""Which launches are meant: by number, by the name of a kernel, by an NVTX range; what cannot be is told."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ncu_assist.errors import NoSuchName, NoSuchPlace, UsageProblem, cut, did_you_mean
from ncu_assist.quantity import number_of
from ncu_assist.record import Launch

NUMBERS = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
REGEX, NVTX = "regex:", "nvtx:"
MOST_LISTED = 8  # kernels or ranges in a message, those of most launches
NAME = 60  # letters of one of them
FILTERS = "--filter NAME|regex:…|nvtx:…"
HOW = f"--launch 3, --launch 0-4, or {FILTERS}"
IN_PYTHON = "index by 3, 0:5, 'NAME', 'regex:…' or 'nvtx:…', or by a list of them"

Fits = Callable[[Launch], bool]


@dataclass(frozen=True)
class LaunchSelection:
    """The launches that a command is about; without anything all.

    ``numbers`` are the first and last, ``kernels`` tell a kernel by a filter, ``ranges`` an NVTX range by one; the text
    of a filter is without ``nvtx:``. A launch is meant that fits the numbers, any of the kernels and any of the ranges,
    and is one of ``only``, which Python chose.
    """

    numbers: tuple[int, int] | None = None
    kernels: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    only: tuple[int, ...] | None = None

    @property
    def is_of_all(self) -> bool:
        return self.numbers is None and self.only is None and not self.kernels and not self.ranges

    @property
    def options(self) -> tuple[str, ...]:
        """What asks for it on a command line."""
        numbers = () if self.numbers is None else ("--launch", "-".join(map(str, dict.fromkeys(self.numbers))))
        filters = (*self.kernels, *(f"{NVTX}{one}" for one in self.ranges))
        return *numbers, *(word for one in filters for word in ("--filter", one))

    def of(self, launches: Sequence[Launch]) -> tuple[Launch, ...]:
        """Return the launches that are meant, in their order.

        Raises UsageProblem where that is none, or a number is of none: it names what there is.
        """
        if self.numbers is not None:
            _check_numbers(self.numbers, launches)
        found = [one for one in launches if self.numbers is None or self.numbers[0] <= one.index <= self.numbers[1]]
        found = [one for one in found if self.only is None or one.index in self.only]
        found = _fitting(found, self.kernels, _kernel_fits, "is of a kernel that matches", _kernel)
        return tuple(_fitting(found, self.ranges, _range_fits, "is in an NVTX range that matches", _path))


EVERY_LAUNCH = LaunchSelection()


def selection_of(numbers: str | None, filters: Iterable[str] = ()) -> LaunchSelection:
    """Return what ``--launch`` and ``--filter`` ask for; raises UsageProblem for what is neither number nor filter.

    As with ncu's ``--kernel-name``, a name is a whole one, without template arguments and parameters, and ``regex:``
    finds a part of it. ``nvtx:A/B`` is a push/pop range B right within A, as with ncu's ``--nvtx-include``.
    """
    every = tuple(filters)
    ranges = tuple(one.removeprefix(NVTX) for one in every if one.startswith(NVTX))
    kernels = tuple(one for one in every if not one.startswith(NVTX))
    for text in (*kernels, *ranges):
        if not text.removeprefix(REGEX).strip("/ "):
            raise UsageProblem("a filter is empty", FILTERS)
        if text.startswith(REGEX):
            _compiled(text)
    return LaunchSelection(_numbers(numbers), kernels, ranges)


def chosen(which: object, launches: Sequence[Launch]) -> list[Launch]:
    """Return the launches that an index in Python chooses: a place, a slice, a name, a list of these, or a mask.

    Raises TypeError for anything else, NoSuchPlace (an IndexError) if there is no such launch, NoSuchName (a KeyError)
    for a name that fits none, UsageProblem for a bad expression.
    """
    if isinstance(which, str):
        return _named(which, launches)
    if isinstance(which, slice):
        if (which.step or 1) < 1:
            raise NoSuchPlace(
                f"a selection keeps the order of its launches: a step of {which.step} is none to choose by"
            )
        found = list(launches[which])
        if not found:
            parts = (which.start, which.stop, *([which.step] if which.step else []))
            text = ":".join("" if one is None else str(one) for one in parts)
            raise NoSuchPlace(f"[{text}] holds none of {_count(launches)}")
        return found
    if isinstance(which, Iterable):
        return _listed_ones(list(which), launches)
    place = _place(which)
    if not -len(launches) <= place < len(launches):
        there = f", whose places are 0 to {len(launches) - 1}" if len(launches) > 1 else ""
        raise NoSuchPlace(f"{which} is no place among {_count(launches)}{there}")
    return [launches[place]]


def can_choose(which: object, launches: Sequence[Launch]) -> bool:
    """Tell whether ``chosen`` finds something."""
    try:
        return bool(chosen(which, launches))
    except (TypeError, UsageProblem):
        return False


def _named(text: str, launches: Sequence[Launch]) -> list[Launch]:
    try:
        return list(selection_of(None, [text]).of(launches))
    except UsageProblem as error:
        hint = IN_PYTHON if FILTERS in error.hint else re.sub(r"^--filter (.*)$", r"index by '\1'", error.hint)
        raise type(error)(error.message, hint) from error


def _listed_ones(some: list[object], launches: Sequence[Launch]) -> list[Launch]:
    if some and all(str(one) in ("True", "False") for one in some):  # of Python, numpy or pandas
        if len(some) != len(launches):
            raise NoSuchPlace(f"a mask of {len(some)} truths does not fit {_count(launches)}")
        found = [one for one, is_meant in zip(launches, some, strict=True) if is_meant]
        if not found:
            raise NoSuchPlace(f"the mask is true for none of {_count(launches)}")
        return found
    found = list({one.index: one for each in some for one in chosen(each, launches)}.values())
    if not found:
        raise NoSuchPlace(f"an empty list holds none of {_count(launches)}")
    return found


def _place(which: object) -> int:
    if not hasattr(which, "__index__") or isinstance(which, bool):
        how = "its place, a slice, the name of its kernel, 'regex:…', 'nvtx:…', a list of these or a mask"
        raise TypeError(f"a launch is chosen by {how}, not by {which!r}")
    return operator.index(which)


def _count(launches: Sequence[Launch]) -> str:
    return number_of(len(launches), "launch")


def _numbers(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = NUMBERS.fullmatch(text.strip())
    if match is None:
        raise UsageProblem(f"--launch takes a number or a range such as 0-4, and not '{text}'", HOW)
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageProblem(f"--launch {text} ends before it starts", f"--launch {last}-{first}")
    return first, last


def _check_numbers(numbers: tuple[int, int], launches: Sequence[Launch]) -> None:
    if not launches:
        raise UsageProblem("there are no launches to choose from: nothing was profiled", "drop --launch")
    known = [one.index for one in launches]
    least, most = min(known), max(known)
    outside = [one for one in dict.fromkeys(numbers) if not least <= one <= most]
    if not outside:
        return
    first, last = (min(max(one, least), most) for one in numbers)
    nearest = str(first) if first == last else f"{first}-{last}"
    there = f"launches are numbered {least} to {most}" if most > least else f"there is only launch {least}"
    missing = " and ".join(map(str, outside))
    raise UsageProblem(f"there is no launch {missing}: {there}; the nearest is {nearest}", f"--launch {nearest}")


def _fitting(
    launches: Sequence[Launch],
    filters: Sequence[str],
    fit: Callable[[str], Fits],
    what: str,
    name: Callable[[Launch], str],
) -> list[Launch]:
    """Return the launches that any filter fits, all without one; raises UsageProblem where none does."""
    fits = [fit(text) for text in filters]
    found = [one for one in launches if not fits or any(fitting(one) for fitting in fits)]
    if found or not fits:
        return found
    known = Counter(name(one) for one in launches)
    part = filters[0].strip("*/ ")
    prefix = NVTX if fit is _range_fits else ""
    is_part = len(filters) == 1 and part and any(part in one for one in known)
    raise NoSuchName(
        f"none of {number_of(len(launches), 'launch')} {what} '{', '.join(filters)}'; {_listed(filters, known)}",
        f"--filter {prefix}{REGEX}{re.escape(part)}" if is_part else _how(launches),
    )


def _how(launches: Sequence[Launch]) -> str:
    """Return what may be asked for, with numbers that some of these launches have."""
    numbers = [one.index for one in launches]
    several = f", --launch {numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else ""
    return f"--launch {numbers[-1]}{several}, or {FILTERS}"


def _listed(filters: Sequence[str], known: Counter[str]) -> str:
    """Return what may have been meant, else the names that most launches have."""
    names = {part for name in known for part in name.split("/") if part}
    if not names:
        return "there are none"
    text = filters[0].strip("/")
    near = "" if text.startswith(REGEX) or "/" in text else did_you_mean(text, names)
    if near.startswith("did you mean"):
        return near
    shown = [f"{cut(name, NAME)} ({count})" for name, count in known.most_common() if name]
    more = f" and {len(shown) - MOST_LISTED} more" if len(shown) > MOST_LISTED else ""
    return f"there are {', '.join(shown[:MOST_LISTED])}{more}"


def _kernel(launch: Launch) -> str:
    return launch.kernel


def _path(launch: Launch) -> str:
    return "/".join(launch.ranges)


def _kernel_fits(text: str) -> Fits:
    if text.startswith(REGEX):
        pattern = _compiled(text)
        return lambda one: bool(pattern.search(one.kernel) or pattern.search(one.signature))
    return lambda one: text in (one.kernel, one.signature)


def _range_fits(text: str) -> Fits:
    """Return whether ranges follow one another within the ranges of a launch; a trailing ``/`` is as with ncu."""
    if text.startswith(REGEX):
        pattern = _compiled(text)
        return lambda one: any(pattern.search(name) for name in one.ranges)
    wanted = tuple(part for part in text.split("/") if part)
    return lambda one: text in one.ranges or wanted in _runs(one.ranges, len(wanted))


def _runs(ranges: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(ranges[place : place + length]) for place in range(len(ranges) - length + 1))


def _compiled(text: str) -> re.Pattern[str]:
    """Return what follows ``regex:``; raises UsageProblem that says where it is none."""
    expression = text.removeprefix(REGEX)
    try:
        return re.compile(expression)
    except re.error as error:
        place = error.pos or 0
        where = f"at letter {place + 1}, before '{expression[place : place + 12]}'"
        where = where if expression[place:] else "at its end"
        raise UsageProblem(
            f"'{expression}' is no regular expression: {error.msg} {where}", r"write \( for a parenthesis in a name"
        ) from error
