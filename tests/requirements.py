"""What a test needs beyond Python: skips with a reason where it is absent, fails where it was promised."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections.abc import Callable

import pytest


def promised() -> bool:
    """NCU_ASSIST_REQUIRE=all: this environment promises every tool that works without a GPU."""
    return os.environ.get("NCU_ASSIST_REQUIRE") == "all"


def _module(name: str) -> Callable[[], bool]:
    def is_there() -> bool:
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:  # of the package around it
            return False

    return is_there


def _program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def _nvcc() -> bool:
    from ncu_assist.backends.nvcc import find_nvcc
    from ncu_assist.errors import NcuAssistError

    try:
        return bool(find_nvcc())
    except NcuAssistError:
        return False


def _sandbox(name: str) -> Callable[[], bool]:
    def works() -> bool:
        from ncu_assist.executors.sandbox.plan import why_not

        return not why_not(name)

    return works


NEEDS: dict[str, Callable[[], bool]] = {
    "bwrap": _sandbox("bwrap"),
    "unshare": _sandbox("unshare"),
    "torch": _module("torch"),
    "ninja": _module("ninja"),
    "nvcc": _nvcc,
    "g++": _program("g++"),
    "git": _program("git"),
    "zsh": _program("zsh"),
    "fish": _program("fish"),
    "man": _program("man"),
    "cuda-bench": _module("cuda.bench"),
    "chromium": lambda: bool(shutil.which("chromium") or shutil.which("chromium-browser")),
    "playwright": _module("playwright"),
    "axe": _module("axe_playwright_python"),
    "mkdocs": _module("material"),
    "cloudpickle": _module("cloudpickle"),
    "matplotlib": _module("matplotlib"),
}


def needs(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Mark a test that needs these tools. Missing ones skip it; under NCU_ASSIST_REQUIRE=all they fail it."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def guarded(*args: object, **kwargs: object) -> None:
            require(*names)
            test(*args, **kwargs)

        return guarded

    return decorate


def require(*names: str) -> None:
    """Skip or fail the running test when one of these tools is missing."""
    for name in names:
        if not NEEDS[name]():
            if promised():
                pytest.fail(f"{name} was promised by NCU_ASSIST_REQUIRE=all and is not here")
            pytest.skip(f"needs {name}, which is not installed")
