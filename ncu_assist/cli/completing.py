"""What a shell offers behind a half-typed command: kernels, versions, workloads, launches, metrics, as they are here.

Click asks while the user waits for a key: nothing here reads a table or a report, and nothing here fails aloud.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ncu_assist.errors import NcuAssistError
from ncu_assist.render.escape import one_line

if TYPE_CHECKING:
    from ncu_assist.project import Project
    from ncu_assist.store import Store, StoredRun

VARIABLE = "_NCU_ASSIST_COMPLETE"  # as click makes it of the program's name
OF_REFERENCE = ("reference", "named", "candidate", "baseline", "wanted", "kernel")  # parameters that name a kernel
SPECIAL = ("@last", "@best", "@baseline")
Offers = Iterable[tuple[str, str]]  # each word, and what it is
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@dataclass(frozen=True)
class Typed:
    """What stands before the cursor: parameters by name, words that click left over, and the beginning of the word.

    Click leaves over all arguments where an option at the end has no value yet.
    """

    params: Mapping[str, Any]
    left: tuple[str, ...]
    word: str

    @cached_property
    def project(self) -> Project:
        from ncu_assist.cli.options import current_project

        return current_project()

    @cached_property
    def store(self) -> Store:
        from ncu_assist.store import Store

        return Store(self.project.reports)

    @property
    def kernel(self) -> str | None:
        """The kernel that was named before, by itself or in a reference, else the only one."""
        texts = (one.partition("/")[0].partition("@")[0] for one in self.named())
        known = self.kernels()
        return next((text for text in texts if text in known), known[0] if len(known) == 1 else None)

    def named(self) -> list[str]:
        """Return the words that may name a kernel or a run."""
        words = (*self.left, *(self.params.get(name) for name in OF_REFERENCE), *(self.params.get("words") or ()))
        return [one for one in words if isinstance(one, str)]

    def kernels(self) -> list[str]:
        from ncu_assist.spec_file import kernel_names

        return list(dict.fromkeys([*kernel_names(self.project), *self.store.kernels()]))

    def versions(self, kernel: str) -> tuple[str, ...]:
        from pathlib import Path

        from ncu_assist.store.choosing import Context, versions_of

        return versions_of(self.store, Context(self.project, Path.cwd()), kernel)

    def run(self) -> StoredRun | None:
        """Return the run that the reference before the cursor names, else the last of its kernel."""
        from pathlib import Path

        from ncu_assist.store.choosing import Context
        from ncu_assist.store.references import resolve

        found = resolve(next(iter(self.named()), "@last"), self.store, Context(self.project, Path.cwd()))
        return None if isinstance(found, Path) else found


def offering(find: Callable[[Typed], Offers], files: bool = False) -> Complete:
    """Return what click calls: it offers the words that begin as typed, or ``files`` where there are none."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = [
                CompletionItem(word, help=one_line(what, 60) if what else None)
                for word, what in find(Typed(ctx.params, tuple(ctx.args), incomplete))
                if word.startswith(incomplete)
            ]
        except (NcuAssistError, OSError, ValueError):
            found = []
        return found or ([CompletionItem(incomplete, type="file")] if files else [])

    return complete


def _kernels(typed: Typed) -> Offers:
    return ((kernel, "") for kernel in typed.kernels())


def _versions(typed: Typed) -> Offers:
    kernel = typed.kernel
    taken = typed.params.get("versions") or ()
    return ((name, "") for name in typed.versions(kernel) if name not in taken) if kernel else ()


def _references(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield kernels and special references, behind ``kernel/`` its versions, behind ``@`` the runs of one."""
    named, at, _ = typed.word.partition("@")
    kernel, slash, version = named.partition("/")
    if at and slash:
        for stored in typed.store.runs(kernel):
            if stored.run.version.split("_")[0] == version or stored.run.version == version:
                yield f"{named}@{stored.run.run_id}", f"{stored.run.created}, {stored.run.source}"
    elif slash:
        yield from ((f"{kernel}/{name}", "") for name in typed.versions(kernel))
    else:
        yield from _kernels(typed)
        yield from ((word, "") for word in SPECIAL)
        if (only := typed.kernel) is not None and typed.word:
            yield from ((name, only) for name in typed.versions(only))


def _profiled(typed: Typed) -> Offers:
    """Return kernels for the first word, versions for the others; a program is a file."""
    return _versions(typed) if typed.params.get("words") else _kernels(typed)


def _workloads(typed: Typed) -> Iterator[tuple[str, str]]:
    from ncu_assist.spec_file import kernel_names, load_kernel

    kernel = typed.kernel
    if kernel is None:
        return
    if kernel in kernel_names(typed.project):
        yield from ((one.name, one.dtype) for one in load_kernel(typed.project, kernel).workloads)
    else:
        found = {facts.name for stored in typed.store.runs(kernel) for facts in stored.run.workloads}
        yield from ((name, "") for name in sorted(found))


def _gpu_models(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield for each GPU model of the kernel's runs a word of its name that no other has: shells split names."""
    kernel = typed.kernel
    models = sorted({head.gpu for head in typed.store.heads(kernel) if head.gpu}) if kernel else []
    for model in models:
        words = sorted(model.split(), key=lambda word: not any(map(str.isdigit, word)))  # H100 before NVIDIA
        own = (word for word in words if sum(word.lower() in one.lower() for one in models) == 1)
        yield next(own, model), model


def _launches(typed: Typed) -> Iterator[tuple[str, str]]:
    stored = typed.run()
    yield from ((f"{one.index}", one.kernel) for one in stored.run.launches) if stored else ()


def _functions(typed: Typed) -> Iterator[tuple[str, str]]:
    stored = typed.run()
    names = {one.kernel for one in stored.run.launches} if stored else set()
    yield from ((name, "") for name in sorted(names))


def _metrics(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield keys of the catalogue; of several with commas the last is completed."""
    from ncu_assist.ncu.catalogue.metrics import CATALOGUE

    before, comma, _ = typed.word.rpartition(",")
    yield from ((f"{before}{comma}{key}", metric.label) for key, metric in CATALOGUE.items())


def _explained(typed: Typed) -> Iterator[tuple[str, str]]:
    from ncu_assist.ncu.catalogue.glossary import GLOSSARY
    from ncu_assist.ncu.catalogue.stalls import STALL_REASONS
    from ncu_assist.rules import RULES
    from ncu_assist.rules.model.warnings import WARNINGS

    if typed.params.get("schema"):
        from ncu_assist.render.json.schemas import ANSWERS, FILES

        yield from ((name, "") for name in (*ANSWERS, *FILES))
        return
    for names, what in ((RULES, "rule"), (WARNINGS, "warning"), (STALL_REASONS, "stall reason"), (GLOSSARY, "word")):
        yield from ((name, what) for name in names)
    yield from _metrics(typed)


kernels = offering(_kernels)
versions = offering(_versions)
references = offering(_references, files=True)
profiled = offering(_profiled, files=True)
workloads = offering(_workloads)
gpu_models = offering(_gpu_models)
launches = offering(_launches)
functions = offering(_functions)
metrics = offering(_metrics)
explained = offering(_explained)
