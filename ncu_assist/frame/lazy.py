"""A mapping whose values are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Lazy(Mapping[str, T]):
    """A mapping whose values are computed once, when they are asked for; a key whose value cannot be is not in it."""

    def __init__(self, keys: Sequence[str], compute: Callable[[str], T]) -> None:
        self._keys, self._compute = dict.fromkeys(keys), compute
        self._known: dict[str, T] = {}

    def __getitem__(self, key: str) -> T:
        if key not in self._known:
            if key not in self._keys:
                raise KeyError(key)
            self._known[key] = self._compute(key)
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._keys if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
