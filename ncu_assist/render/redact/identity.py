"""The names of hosts and users that a report gives away, so that they are found wherever else they stand."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ncu_assist.ncu.catalogue.recorded_names import recorded_names

MIN_WORD = 3  # letters; a shorter name names nobody and stands in every second identifier
FILLER = "x"  # what a report says of its host once ncu-assist has blanked it
_SHARED = (
    "admin administrator all anonymous build container default developer docker guest home host jovyan localhost "
    "nobody node nvidia public root runner server shared test ubuntu user username users vscode worker workspace "
)
_WORDS = (
    "auto bool char class const double float half inline int int8 int16 int32 int64 long short signed static struct "
)
_WORDS += "template typename uint8 uint32 uint64 unsigned void volatile bfloat16 float2 float4 global shared device"
SHARED = frozenset((_SHARED + _WORDS).split())  # names of many machines, and words of the language in signatures
HOME = re.compile(
    r"(?<![\w.])(?:/[\w.+-]+)*/(?:home|Users)/(?P<posix>[^\s/\\\"'<>|:;,]+)"
    r"|(?i:(?<![a-z0-9])[a-z]:[\\/]+(?:Users|Documents and Settings)[\\/]+)"
    r"(?:(?P<spaced>[^\\/:*?\"<>|\r\n]+)(?=[\\/])|(?P<last>[^\\/:*?\"<>|\s]+))"
)
USER_VARIABLE = re.compile(r"(?<![\w-])(?:USER|LOGNAME|USERNAME|SUDO_USER)=[\"']?([^\s;\"']+)")
HOST_VARIABLE = re.compile(r"(?<![\w-])(?:HOSTNAME|HOST|COMPUTERNAME|SLURMD_NODENAME)=[\"']?([^\s;\"']+)")
LOGIN = re.compile(r"(?<![\w.+-])([A-Za-z_][\w.-]{0,63})@([A-Za-z0-9][A-Za-z0-9.-]{0,252})")


@dataclass(frozen=True)
class Identity:
    """Names of hosts and of users, longest first."""

    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()

    @classmethod
    def of(cls, hosts: Iterable[str] = (), commands: Iterable[str] = (), texts: Iterable[str] = ()) -> Identity:
        """Return the names in what a report says.

        ``commands`` are command lines and environments, where ``USER=name`` and ``name@host`` name somebody; in any
        text a home folder does. Names that many machines share (root, localhost), and words of ncu's own metric names,
        are none: they would be replaced all over, and identify nobody.
        """
        commands = list(commands)
        found_hosts = [*hosts, *_all(HOST_VARIABLE, commands, 1), *_all(LOGIN, commands, 2)]
        found_users = [*_all(USER_VARIABLE, commands, 1), *_all(LOGIN, commands, 1), *_homes([*commands, *texts])]
        short = [host.partition(".")[0] for host in found_hosts]
        return cls(_names([*found_hosts, *short]), _names(found_users))


NOBODY = Identity()


@functools.cache
def pattern(names: tuple[str, ...], inside_words: bool, any_case: bool) -> re.Pattern[str] | None:
    """Return what finds any of ``names``: as words of their own, where _ parts words, or also inside longer ones."""
    if not names:
        return None
    listed = "|".join(re.escape(name) for name in names)
    bounded = listed if inside_words else rf"(?<![A-Za-z0-9])(?:{listed})(?![A-Za-z0-9])"
    return re.compile(bounded, re.IGNORECASE if any_case else 0)


def _all(what: re.Pattern[str], texts: Iterable[str], group: int) -> Iterator[str]:
    for text in texts:
        yield from (match[group] for match in what.finditer(text))


def _homes(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (match["posix"] or match["spaced"] or match["last"] for match in HOME.finditer(text))


def _names(found: Iterable[str]) -> tuple[str, ...]:
    words = {name.strip(" .") for name in found}
    kept = {word for word in words if len(word) >= MIN_WORD and word.strip(FILLER) and not _is_shared(word)}
    return tuple(sorted(kept, key=lambda word: (-len(word), word)))


def _is_shared(word: str) -> bool:
    return word.lower() in SHARED or word.lower() in _vocabulary() or word.replace(".", "").isdigit()


@functools.cache
def _vocabulary() -> frozenset[str]:
    """Return the words that ncu's metric names are made of, such as max."""
    return frozenset(part for name in recorded_names() for part in re.split(r"[_.:]+", name.lower()))
