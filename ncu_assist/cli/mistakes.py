"""A mistake in what was typed: what it was, and the command to type instead."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Sequence

import click

from ncu_assist.errors import did_you_mean

MEANT = re.compile(r"'(?P<wrong>[^']+)'(?:(?!').)*did you mean '(?P<right>[^']+)'\?")  # in a message, at its end
VALUE = re.compile(r"'(?P<wrong>[^']*)' is not |: (?P<number>\S+) is not in the range")  # in a message of click
EXTRA = re.compile(r"unexpected extra arguments? \((?P<words>.*)\)")
NO_COMMAND = re.compile(r"No such command '(?P<word>[^']*)'")
PLAIN = re.compile(r"[\w@%+:/.,=…-]+")  # what no shell takes for more than itself
WANTS = {"new": ("--from", "FILE.cu")}  # what a command cannot do without, though no argument says so


def typed_again(message: str, hint: str, typed: Sequence[str]) -> str:
    """Return the command as it was typed with the name that a message means in the place of the wrong one.

    It is the hint of the error where the message names nothing that was meant, or where that was not typed.
    """
    found = [one for one in MEANT.finditer(message) if one["wrong"] != one["right"]]
    return (_with(typed, found[-1]["wrong"], found[-1]["right"]) if found else "") or hint


def refused(error: click.ClickException, typed: Sequence[str]) -> tuple[str, str]:
    """Return what click refuses of the words that were typed, and the command to type instead."""
    said = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return said, _help_of(typed[0] if typed else "")
    if MEANT.search(said):
        return said, typed_again(said, "", typed)
    asked = context.command_path
    if isinstance(error, click.NoSuchOption):
        return _no_option(error, asked, typed)
    if found := NO_COMMAND.search(said):
        assert isinstance(context.command, click.Group)
        message = f"{asked} has no command '{found['word']}'; {did_you_mean(found['word'], context.command.commands)}"
        return message, typed_again(message, f"{asked} --help", typed)
    if found := EXTRA.search(said):
        return _too_many(said, found["words"], context, typed)
    if isinstance(error, click.MissingParameter):
        lacking = _as_typed(error.param) if error.param is not None else []
        return f"{said}; usage: {_takes(context)}", f"{_line([*typed, *lacking])}, or {asked} --help"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _bad_value(said, error.param, asked, typed)
    return said, f"{asked} --help"


def _no_option(error: click.NoSuchOption, asked: str, typed: Sequence[str]) -> tuple[str, str]:
    message = f"No such option '{error.option_name}' of {asked}"
    if not error.possibilities:
        return message, f"{asked} --help"
    near = difflib.get_close_matches(error.option_name, error.possibilities, n=1, cutoff=0.0)[0]
    return f"{message}; did you mean '{near}'?", _with(typed, error.option_name, near) or f"{asked} --help"


def _too_many(said: str, words: str, context: click.Context, typed: Sequence[str]) -> tuple[str, str]:
    extra, name = words.split(" "), context.info_name or ""
    left = list(typed)
    for word in extra:
        if word in left:
            del left[len(left) - 1 - left[::-1].index(word)]
    option, value = WANTS.get(name, ("", ""))
    if option and option not in left:
        left += [option, extra[0] if extra[0].endswith(".cu") else value]
    return f"{said}; usage: {_takes(context)}", _line(left)


def _bad_value(said: str, param: click.Parameter, asked: str, typed: Sequence[str]) -> tuple[str, str]:
    found, kind = VALUE.search(said), param.type
    wrong = (found["wrong"] or found["number"] or "") if found else ""
    if isinstance(kind, click.Choice):
        known = [str(one) for one in kind.choices]
        near = difflib.get_close_matches(wrong, known, n=1, cutoff=0.6)
        meant = f"; did you mean '{near[0]}'?" if near else ""
        return f"{said}{meant}", _with(typed, wrong, near[0] if near else known[0]) or f"{asked} --help"
    said = said.replace("integer range", "whole number").replace("integer", "whole number")
    lowest = getattr(kind, "min", None)
    fitting = param.default if isinstance(param.default, int | float) else lowest
    names = param.opts if isinstance(param, click.Option) else []
    at = next((place for place, word in enumerate(typed[:-1]) if word in names and typed[place + 1] == wrong), None)
    if at is None or fitting is None:
        return said, f"{asked} --help"
    return said, _line([*typed[: at + 1], f"{fitting:g}", *typed[at + 2 :]])


def _as_typed(param: click.Parameter) -> list[str]:
    name = param.human_readable_name if isinstance(param, click.Argument) else (param.metavar or param.name or "")
    return [name] if isinstance(param, click.Argument) else [max(param.opts, key=len), name.upper()]


def _takes(context: click.Context) -> str:
    pieces = context.command.collect_usage_pieces(context)
    return " ".join([context.command_path, *pieces])


def _with(typed: Sequence[str], wrong: str, right: str) -> str:
    """Return the line with ``right`` for the last ``wrong``: a whole word, else a part of one; empty without any."""
    part = re.compile(rf"(?<![\w.-]){re.escape(wrong)}(?![\w.-])")
    whole = [place for place, word in enumerate(typed) if word == wrong]
    places = whole or [place for place, word in enumerate(typed) if part.search(word)]
    if places:
        at = places[-1]
        new = right if whole else part.sub(lambda _: right, typed[at], count=1)
        return _line([*typed[:at], new, *typed[at + 1 :]])
    if len(words := wrong.split()) > 1 and list(typed[-len(words) :]) == words:  # as `explain` joins them
        return _line([*typed[: -len(words)], right])
    return ""


def _line(words: Sequence[str]) -> str:
    return " ".join(["ncu-assist", *(word if PLAIN.fullmatch(word) else shlex.quote(word) for word in words)])


def _help_of(name: str) -> str:
    from ncu_assist.cli import COMMANDS

    return f"ncu-assist {name} --help" if name in COMMANDS else "ncu-assist --help"
