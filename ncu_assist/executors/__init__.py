"""The places where GPU work can run."""

from __future__ import annotations

from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local

EXECUTORS: dict[str, Executor] = {"local": Local()}
