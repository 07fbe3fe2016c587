"""How the values of several launches make one, each metric in its own way (`ncu.catalogue.combining`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite, prod

from ncu_assist.ncu.catalogue.combining import Combining, combining_of
from ncu_assist.ncu.catalogue.metrics import CATALOGUE

Numbers = Sequence[float | None]  # one a launch, None where it has none
ISSUED = "selected"  # the state of a warp that issues: part of all warp states, but no stall
BY_NAME = {name: metric for metric in CATALOGUE.values() for name in metric.names}


def combining(name: str) -> Combining:
    """Return how a metric is put together over launches, by ncu's name."""
    return BY_NAME[name].combine if name in BY_NAME else combining_of(name)


def number(value: float | None) -> float | None:
    """Return a value; None for one that says nothing: NaN, or infinite, as a ratio over nothing is."""
    return None if value is None or not isfinite(value) else value


def made_one(how: Combining, values: Numbers, of: Callable[[str], Numbers]) -> float | None:
    """Return the value of all launches together; ``of`` gives the values of a key of the catalogue.

    None where that says nothing: where a part of a sum is missing, where what a ratio is a ratio over is not known, or
    where launches that cannot be combined differ.
    """
    known = [value for value in values if value is not None]
    if how.how == "sum":
        return total(values)
    if len(set(known)) < 2:
        return known[0] if known else None
    if how.how == "max":
        return max(known)
    return next(_means(values, how.weights, of), None)


def total(values: Numbers) -> float | None:
    """Return the sum; None when one part is missing, for the rest of a sum is no sum."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def shares(states: Mapping[str, float | None]) -> dict[str, float]:
    """Return the share of each stall reason in the warp states of all reasons, in percent, the largest first."""
    known = {reason: value for reason, value in states.items() if value is not None}
    whole = sum(known.values())
    return ranked({one: 100.0 * value / whole for one, value in known.items() if one != ISSUED and whole > 0})


def ranked(some: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(some.items(), key=lambda item: (-item[1], item[0])))


def keys_of(weight: str) -> list[str]:
    """Return the keys of the catalogue that a weight is made of."""
    return [key for term in weight.split(" + ") for key in term.split(" * ")]


def _means(values: Numbers, weights: tuple[str, ...], of: Callable[[str], Numbers]) -> Iterator[float]:
    """Yield the mean of the launches that have a value by each weight that all of these have."""
    for weight in weights:
        parts = {key: of(key) for key in keys_of(weight)}
        pairs = [(value, _weight(weight, parts, i)) for i, value in enumerate(values) if value is not None]
        known = [(value, by) for value, by in pairs if by is not None]
        whole = sum(by for _, by in known)
        if len(known) == len(pairs) and whole > 0:
            yield sum(value * by for value, by in known) / whole


def _weight(weight: str, parts: dict[str, Numbers], launch: int) -> float | None:
    terms = [[parts[key][launch] for key in term.split(" * ")] for term in weight.split(" + ")]
    known = [[one for one in term if one is not None and one >= 0] for term in terms]
    is_known = all(len(own) == len(term) for own, term in zip(known, terms, strict=True))
    return sum(prod(term) for term in known) if is_known else None
