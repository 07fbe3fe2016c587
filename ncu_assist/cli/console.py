"""Where text goes, data to stdout, chatter and progress to stderr, and the bytes of an export."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from ncu_assist.atomic import is_stream, open_output
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.render.escape import plain

if TYPE_CHECKING:
    from rich.status import Status

    from ncu_assist.analysis.ladder import KernelOutcome
    from ncu_assist.pipeline.new_kernel import NewKernel
    from ncu_assist.project import Project
    from ncu_assist.store import Damage, StoredRun


STDOUT = Path("-")  # as --output
T = TypeVar("T")
MOST_OTHERS = 3  # kernels of a note
FORMS = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}
PLAINER = "ncu-assist-plainer"
SIGNS = dict(zip("▲▼█→≠≈…·•◆✓✗✕×µ°±–", "^v#>!~..**+xxxuo~-", strict=True))  # one for one: columns stay where they are
QUICK_S = 0.5  # what is done in less needs no word of how far it is
STEP_S = 0.1  # between two words of it
QUIET_TERMINAL_STEP_S = 10.0  # without a terminal, a live line would be noise: one line in ten seconds at most


def take_every_text() -> None:
    """Make stdout and stderr take every text: what their encoding lacks is written in plainer signs, not refused."""
    codecs.register_error(PLAINER, _plainer)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # with utf-8 what is left is a file's name of other bytes
            stream.reconfigure(errors="backslashreplace" if _is_unicode(stream) else PLAINER)


def _is_unicode(stream: TextIO) -> bool:
    return str(stream.encoding).lower().startswith("utf")


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the characters that an encoding lacks, as ``codecs.register_error`` wants it."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(SIGNS.get(character, "?") for character in lacking), error.end


QUIET = "ncu_assist.quiet"  # in the context of click: --quiet was given
PAGERS = ("NCU_ASSIST_PAGER", "PAGER")  # environment; the first that is set counts, and empty or cat is none


def is_quiet() -> bool:
    """Tell whether --quiet was given: results and errors only."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(QUIET))


def is_named(argument: str) -> bool:
    """Tell whether an argument of the command that runs was typed, and is not its default."""
    source = click.get_current_context().get_parameter_source(argument)
    return source is not click.core.ParameterSource.DEFAULT


def say(text: str) -> None:
    """Write chatter to stderr, unless it was asked to be quiet."""
    if not is_quiet():
        _to_stderr(text)


def say_piece(text: str) -> None:
    """Write a part of a text that comes bit by bit to stderr, where a person looks; with a live line, line by line."""
    if sys.stderr.isatty() and not is_quiet():
        sys.stderr.write(plain(text))  # stderr is buffered by lines at most, and rich shows whole lines only


def _to_stderr(text: str) -> None:
    """Write a line to stderr, above the live line if there is one.

    Not by ``click.echo``: it writes past the stream that rich puts in the place of stderr, so the text would follow the
    live line on its row.
    """
    sys.stderr.write(f"{plain(text)}\n")
    sys.stderr.flush()


def on_terminal() -> bool:
    """Tell whether a person reads stdout, and not a program."""
    return sys.stdout.isatty()


def write(text: str, paged: bool = False) -> None:
    """Write a result to stdout; on a terminal that it does not fit, through a pager if ``paged``."""
    whole = text.rstrip("\n")
    if paged and on_terminal() and whole.count("\n") + 2 > shutil.get_terminal_size().lines and _pager():
        os.environ["PAGER"] = _pager()
        click.echo_via_pager(f"{whole}\n")
    else:
        with _stdout_taken():
            click.echo(whole)


@contextmanager
def _stdout_taken() -> Iterator[None]:
    """Raise EnvironmentProblem if stdout cannot be written, as on a full disk. A reader that is gone is click's."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        with contextlib.suppress(OSError):  # what is left in the buffer would be refused again as Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise EnvironmentProblem(f"stdout cannot be written: {error.strerror}", "send it to another file") from error


def _pager() -> str:
    """Return the pager to use; empty for none."""
    chosen = next((os.environ[name] for name in PAGERS if name in os.environ), "less")
    return "" if chosen.strip() in ("", "cat") or not shutil.which(chosen.split()[0]) else chosen


def write_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout. NaN and infinity are refused: what is absent is null."""
    text = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=not _is_unicode(sys.stdout))
    with _stdout_taken():
        click.echo(text)


def write_result(
    found: T, as_json: bool, to_json: Callable[[T], dict[str, Any]], to_text: Callable[[T], str], paged: bool = False
) -> None:
    """Write a result to stdout, as one JSON object or as text, that through a pager where it is long and ``paged``."""
    if as_json:
        write_json(to_json(found))
    else:
        write(to_text(found), paged)


def write_outcomes(outcomes: Sequence[KernelOutcome], command: str, as_json: bool) -> int:
    """Write what came of a kernel, on each model of GPU that measured it, and return the exit code."""
    from ncu_assist.render.json.versions import outcome_json, outcomes_json
    from ncu_assist.render.terminal.versions import outcomes_text

    if as_json:
        write_json(outcome_json(outcomes[0], command) if len(outcomes) == 1 else outcomes_json(outcomes, None, command))
    else:
        write(outcomes_text(outcomes))
    return max(outcome.exit_code for outcome in outcomes)


def write_new(made: NewKernel, command: str, as_json: bool, root: Path | None = None) -> None:
    """Write which files were made to stdout, and what is left to do to stderr; ``root`` is where paths begin."""
    from ncu_assist.render.json.archive import new_json

    files, left = made
    if as_json:
        write_json(new_json([path.as_posix() for path in files], left, command))
        return
    for path in files:
        write(plain(os.path.relpath(root / path) if root else str(path)))
    for number, todo in enumerate(left, 1):
        say(f"{number}. {todo}")


class Progress:
    """Reports to stderr: ``note`` leaves a line, ``status`` replaces the live one, ``step`` says how far a row is.

    Without a live line of rich's, ``step`` draws one of its own on the terminal once a row takes a while, and nothing
    is left of it.
    """

    def __init__(self, live: Status | None = None) -> None:
        self._live, self._quiet = live, is_quiet()
        self._last = self._stepped = self._began = time.monotonic()
        self._text = self._far = ""

    def note(self, text: str) -> None:
        if self._quiet:
            return
        if self._live is not None:
            from rich.text import Text

            sys.stderr.flush()
            self._live.console.print(Text(plain(text)), soft_wrap=True)  # a path or a command stays one line to copy
        else:
            _to_stderr(text)

    def status(self, text: str) -> None:
        if self._quiet:
            return
        self._text = text
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(plain(": ".join(filter(None, (self._far, text))))))
        elif time.monotonic() - self._last > QUIET_TERMINAL_STEP_S:
            self._last = time.monotonic()
            self.note(text)

    def step(self, what: str, done: int, total: int) -> None:
        """Show how far a row of steps is, at most ten times a second; stderr is a terminal."""
        now = time.monotonic()
        self._began = self._began if done else now
        if self._quiet or (done < total and now - self._stepped < STEP_S):
            return
        far = f"{what} {100 * done // total} %, {done} of {total}" if done < total else ""
        if self._live is not None:
            self._far, self._stepped = far, now
            self.status(self._text)
        elif far != self._far and (not far or now - self._began >= QUICK_S):
            self._far, self._stepped = far, now
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r{plain(far)[:width]}\x1b[K", err=True, nl=False)


def showing_steps() -> contextlib.AbstractContextManager[None]:
    """Show long rows of steps while the block runs, where stderr is a terminal."""
    from ncu_assist.steps import told_to

    return told_to(Progress().step if sys.stderr.isatty() else None)


def note_damages(damages: Iterable[Damage]) -> None:
    """Write to stderr what of the archive was left out of a result, and how to look at all of it."""
    for damage in damages:
        _to_stderr(damage.note)


def note_misnamed(project: Project, *kernels: str) -> None:
    """Write to stderr which sources of kernels were probably meant as versions, and what makes each one."""
    from ncu_assist.store.choosing import misnamed_of

    for one in misnamed_of(project, *kernels):
        say(one.note)


def note_meant(project: Project, kernel: str | None, chosen: Mapping[str, str]) -> None:
    """Write to stderr which kernel bare versions were taken of, where others have them too; ``chosen`` by word."""
    from ncu_assist.store import Store
    from ncu_assist.store.choosing import Context, also_called

    for text, meant in chosen.items():
        others = also_called(Store(project.reports), Context(project, Path.cwd(), kernel), text, meant)
        if others:
            also = f"{', '.join(others[:MOST_OTHERS])}{' and others' if len(others) > MOST_OTHERS else ''}"
            said = f"note: {text} means {meant}/{text}, of the kernel profiled last; also in {also}"
            say(said)
            return


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on stderr while the block runs; a spinner with one live line where stderr is a terminal."""
    if is_quiet() or not sys.stderr.isatty():
        yield Progress()
        return
    from rich.console import Console

    from ncu_assist.steps import told_to

    with Console(stderr=True, markup=False, highlight=False, emoji=False).status("starting") as live:
        shown = Progress(live)
        try:
            with told_to(shown.step):
                yield shown
        finally:
            sys.stderr.flush()  # what was written there without the end of its line, by then kept by rich


def check_output(path: Path | None, force: bool, binary: bool) -> None:
    """Raise UsageProblem where nothing may be written: to a file that exists, or bytes to a terminal."""
    if path is None:
        if binary and sys.stdout.isatty():
            raise UsageProblem("this format is not text and would garble the terminal", "--output FILE")
        return
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "would be in a folder that does not exist"
        raise UsageProblem(f"{path} {what}", "name another file")
    if path.exists() and not force and not is_stream(path):
        raise UsageProblem(f"{path} already exists", "--force to replace it, or name another file")


def write_bytes(chunks: Iterable[bytes], path: Path | None) -> None:
    """Write all chunks to ``path``, or to stdout if it is None; a link is followed, a FIFO or device written to.

    Raises EnvironmentProblem if it cannot be written.
    """
    if path is None:
        for chunk in chunks:
            with _stdout_taken():
                sys.stdout.buffer.write(chunk)
        with _stdout_taken():
            sys.stdout.buffer.flush()
        return
    try:
        with open_output(path if is_stream(path) else Path(os.path.realpath(path))) as file:
            file.writelines(chunks)
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}", "name another file") from error


def form_of(output: Path | None) -> str:
    """Return the format that a file's name asks for: html, markdown, else text."""
    return FORMS.get(output.suffix.lower(), "text") if output is not None else "text"


def page_target(output: Path | None, force: bool) -> Path | None:
    """Return where a page goes, None for stdout.

    Raises UsageProblem, before the work, where none may go: to a terminal, or over what is no page of ours.
    """
    from ncu_assist.pipeline.pages.writing import check_place

    if output is None or output == STDOUT:
        check_output(None, False, binary=True)
        return None
    check_place(output, force)
    return output


def write_page(text: str, output: Path | None, force: bool) -> None:
    """Write a page to a file and say which, or to stdout without one."""
    from ncu_assist.pipeline.pages import writing
    from ncu_assist.render.words.values import shown_path

    if output is None:
        write_bytes([text.encode("utf-8", "replace")], None)
        return
    writing.write_page(output, text, force)
    write(plain(shown_path(output, Path.cwd())))


def check_text_output(output: Path | None, form: str, force: bool) -> None:
    """Raise UsageProblem where what is no page cannot go to a file: other text than Markdown, or over a file."""
    if output is None or output == STDOUT:
        return
    if form != "markdown":
        raise UsageProblem(
            "--output is for a page or Markdown", "--format html or markdown, or send the text to a file with >"
        )
    check_output(output, force, binary=False)


def write_markdown(text: str, output: Path | None) -> None:
    """Write Markdown to a file and say which, or to stdout without one."""
    if output is None or output == STDOUT:
        write(text)
        return
    write_bytes([text.encode("utf-8", "replace")], output)
    write(plain(str(output)))


def write_pages(project: Project, runs: Sequence[StoredRun]) -> None:
    """Write the pages of runs, of their kernels, and the index; nothing for no runs."""
    from ncu_assist.pipeline.pages.writing import pages_of
    from ncu_assist.render.terminal.archive import report_note

    with progress() as reporter:
        written = pages_of(project, runs, reporter)
        if written is not None:
            reporter.note(report_note(written, Path.cwd()))
