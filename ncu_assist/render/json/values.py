"""Parts that several JSON answers share, and how an answer is filled: the class of its keys says which it has.

A key that is a record of the rows below names its class; the keys of such a record are its fields. What a key means is
in ``keys.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, TypedDict

from ncu_assist.record import Source

if TYPE_CHECKING:
    from ncu_assist.record import Device, Run


class AnswerKeys(TypedDict):
    """Every answer."""

    schema: str


class DeviceKeys(TypedDict):
    """A GPU, without what tells it apart from others of its model."""

    name: str
    compute_capability: str
    sm_count: int | None
    l2_bytes: int | None
    memory_bytes: int | None
    driver: str | None


class RunKeys(TypedDict):
    """What names a run, and where and when it was measured."""

    reference: str
    kernel: str
    version: str
    run_id: str | None
    source: Source
    created: str | None
    verified: bool
    device: DeviceKeys | None


class TimingKeys(TypedDict):
    """The times of one version on one workload."""

    bench_id: str
    samples: int
    dropped: int
    median_ns: float
    q1_ns: float
    q3_ns: float
    min_ns: float
    sm_clock_mhz: float | None
    empty_ns: float | None
    copy_ns: float | None
    link_ns: float | None
    gpu: str | None


_ABSENT = object()  # None is a value


def filled(shape: type, /, *sources: object, **given: Any) -> dict[str, Any]:
    """Return the keys of ``shape``, a TypedDict, in its order.

    The value of a key is what is given by its name, else the attribute of that name of the first source that has one.
    """
    keys = shape.__annotations__
    if unknown := given.keys() - keys.keys():
        raise TypeError(f"{shape.__name__} has no {', '.join(sorted(unknown))}")
    return {key: given[key] if key in given else _of_first(sources, key) for key in keys}


def _of_first(sources: Sequence[object], key: str) -> Any:
    for one in sources:
        if (value := getattr(one, key, _ABSENT)) is not _ABSENT:
            return value
    raise AttributeError(f"nothing says what '{key}' is")


def answer(command: str, shape: type, /, *sources: object, **given: Any) -> dict[str, Any]:
    """Return the one object that a command prints, ``filled`` and ``clean``."""
    cleaned: dict[str, Any] = clean(filled(shape, *sources, schema=f"ncu-assist.{command}/1", **given))
    return cleaned


def clean(value: Any) -> Any:
    """Return ``value`` with tuples as lists, records as objects, and null for NaN and infinity, which JSON has not."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    if is_dataclass(value):
        return {field.name: clean(getattr(value, field.name)) for field in fields(value)}
    return value


def run_facts(run: Run, reference: str, source: Source) -> dict[str, Any]:
    """Return what names a run, and where and when it was measured."""
    named = {"reference": reference, "source": source, "device": device(run.device)}
    return filled(RunKeys, run, **named, run_id=run.run_id or None, created=run.created or None)


def device(of: Device | None) -> dict[str, Any] | None:
    """Return a GPU without what tells it apart from others of its model."""
    return filled(DeviceKeys, of) if of else None
