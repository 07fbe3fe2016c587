"""The models that an endpoint offers, for the words about one that it does not know."""

from __future__ import annotations

import difflib
from contextlib import closing
from dataclasses import replace
from typing import Any

from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.suggest.model.clock import Clock
from ncu_assist.suggest.model.events import objects
from ncu_assist.suggest.model.failures import Dropped, Refused, Unreachable
from ncu_assist.suggest.model.line import Line
from ncu_assist.suggest.model.receiving import received

LONGEST_S = 5.0  # for a list that only improves a message
LIST_CHARACTERS = 1_000_000
NEAREST = 5


def offered(line: Line, clock: Clock) -> tuple[str, ...]:
    """Return the names of the models at ``line``, empty where it does not say within a few seconds."""
    brief = Clock(replace(clock.limits, whole_s=min(LONGEST_S, max(0.0, clock.left()))))
    try:
        with closing(received(line, line.models, brief)) as chunks:
            found = next(iter(objects(chunks, LIST_CHARACTERS, line.scrubber.whole)), {})
    except (ModelProblem, Refused, Dropped, Unreachable):
        return ()
    models = found.get("data")
    return tuple(name for entry in models if (name := _name(entry))) if isinstance(models, list) else ()


def unknown_model(model: str, known: tuple[str, ...], said: str) -> ModelProblem:
    """Return what to say of a model that the endpoint does not have, with the nearest of those it has."""
    words = f"the endpoint does not know the model '{one_line(model, 80)}'"
    if not known:
        return ModelProblem(f"{words}: {said}", "a name that the endpoint lists, with --model")
    near = difflib.get_close_matches(model, known, n=NEAREST, cutoff=0.4)
    if near:
        return ModelProblem(words, " or ".join(f"--model {one_line(name, 80)}" for name in near))
    some = ", ".join(one_line(name, 80) for name in sorted(known)[:NEAREST])
    return ModelProblem(f"{words}; it has {len(known)}, such as {some}", f"--model {one_line(sorted(known)[0], 80)}")


def _name(entry: Any) -> str:
    name = entry.get("id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""
