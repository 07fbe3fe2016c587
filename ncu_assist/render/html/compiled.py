"""Compiled templates, kept between two calls of the program: to compile them takes longer than to fill them."""

from __future__ import annotations

import contextlib

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

PATTERN = "ncu-assist-%s.cache"


class CompiledTemplates(FileSystemBytecodeCache):
    """Keeps compiled templates in jinja's own folder, which nobody else may write to; a full disk is no failure."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def compiled_templates(folder: str | None = None) -> CompiledTemplates | None:
    """Return where compiled templates are kept; None where this machine has no safe folder for them."""
    try:
        return CompiledTemplates(folder, PATTERN)
    except (RuntimeError, OSError):
        return None
