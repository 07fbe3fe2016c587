"""The names of versions and their order, and which each one builds on, and so is compared with."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

VERSION_NUMBER = re.compile(r"v(\d+)(?:_.*)?")


def is_called(version: str, name: str) -> bool:
    """Return whether ``name`` means this version: its full name, or ``v3`` for ``v3_global_memory``."""
    return name == version or (VERSION_NUMBER.fullmatch(name) is not None and version.startswith(f"{name}_"))


def short_name(version: str) -> str:
    """Return ``v3`` for ``v3_global_memory``; a name without a number stays as it is."""
    match = VERSION_NUMBER.fullmatch(version)
    return f"v{match.group(1)}" if match else version


def with_short_names(versions: Iterable[str]) -> list[str]:
    """Return full names and, of numbered versions, their short ones, to offer the nearest of both."""
    full = list(versions)
    return list(dict.fromkeys([*full, *(short_name(version) for version in full if VERSION_NUMBER.fullmatch(version))]))


@functools.lru_cache(maxsize=4096)
def version_order(version: str) -> tuple[int, str]:
    """Return a sort key that puts v10 after v9 and names without a number first."""
    match = VERSION_NUMBER.fullmatch(version)
    return (int(match.group(1)) if match else -1, version)


IMPORTED = "imported"  # the kernel that reports without another name belong to: they have no order
NONE = "none"  # builds on no version, and is compared with none
PEER = "Baseline"  # what the first comment of a version starts with that is a library's or a framework's
PARENT_LINE = re.compile(r"^[ \t]*parent:[ \t]*(.+)$", re.MULTILINE)  # within a line


@dataclass(frozen=True)
class Descent:
    """What a version says of itself: ``parents`` are names as written, none for ``none``, None where it says nothing.

    ``is_peer``: it is a library's or a framework's, which builds on nothing, and nothing on it, unless one says so.
    """

    parents: tuple[str, ...] | None = None
    is_peer: bool = False


def descent(comment: str) -> Descent:
    """Return what the comment at the top of a version says of what it builds on: ``parent: v7``, ``parent: none``.

    Of several, as ``parent: v9, v4``, the first that has a time on a workload is compared with there.
    """
    match = PARENT_LINE.search(comment)
    names = tuple(match.group(1).replace(",", " ").split()) if match else None
    return Descent(() if names == (NONE,) else names, comment.startswith(PEER))


@dataclass(frozen=True)
class Lineage:
    """The versions of a kernel in their order; ``said`` returns what one says of itself, and is asked when needed."""

    names: Sequence[str]
    said: Callable[[str], Descent]

    def parents(self, version: str) -> tuple[str, ...]:
        """Return what a version builds on; names that are no version are left out.

        Where it says nothing that is the last version before it that is no library's; of the first such version it is
        the first of all, the number to beat. A library's builds on none: it is what others are held against, no step.
        """
        said, earlier = self.said(version), self.names[: self.names.index(version)]
        if said.parents is not None:
            return tuple(name for written in said.parents if (name := self.meant(written)) is not None)
        if said.is_peer or not earlier:
            return ()
        return (next((name for name in reversed(earlier) if not self.said(name).is_peer), earlier[0]),)

    def ancestors(self, version: str) -> Iterator[str]:
        """Yield all that a version builds on, the nearest first, each once."""
        seen, waiting = {version}, [version]
        while waiting:
            for parent in self.parents(waiting.pop(0)):
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
                    yield parent

    def meant(self, name: str) -> str | None:
        """Return the version called ``v3`` or ``v3_global_memory``; None where there is none."""
        return next((one for one in self.names if name in (one, one.partition("_")[0])), None)

    def circle(self) -> tuple[str, ...]:
        """Return versions that build on each other in a circle, the first one again at the end; none where none do."""
        for version in self.names:
            seen: set[str] = {version}
            waiting: list[tuple[str, ...]] = [(version,)]
            while waiting:
                path = waiting.pop(0)
                for parent in self.parents(path[-1]):
                    if parent == version:
                        return (*path, parent)
                    if parent not in seen:
                        seen.add(parent)
                        waiting.append((*path, parent))
        return ()
