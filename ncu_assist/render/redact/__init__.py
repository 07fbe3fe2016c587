"""Text without what names a machine or a person: for anything that is meant to leave the machine.

Host names, addresses, user names, absolute paths (a file's own name stays) and the environment become placeholders, the
same for the same input. Code, kernel names and NVTX ranges stay, with what identifies taken out of them.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ncu_assist.ncu.catalogue.chips import words_of_names

PLACE = "<path>"
# File names that stay: those with an ending of code, data or a program, since any other last part may be a folder that
# is named after somebody.
_ENDINGS = (
    "c cc cpp cu cuh cxx f90 h hh hpp hxx inc inl ipp jl py pyi pyx rs "  # code
    "cubin fatbin ll mlir o ptx sass so ttgir ttir a dll exe lib bat ps1 sh "  # programs
    "bin cfg csv gz ini json log ncu-rep ncu-repz nsys-rep parquet pt pth safetensors toml txt xz yaml yml zst"
)
_PROGRAMS = "ncu nsys nvcc python python3 bash sh mpirun mpiexec srun torchrun env"
ENDINGS, PROGRAMS = frozenset(_ENDINGS.split()), frozenset(_PROGRAMS.split())
HOMES = frozenset(("home", "users", "documents and settings"))

_POSIX_PART = r"[^\s/\\\"'`<>|:;,*?(){}\[\]]+"
_WINDOWS_PART = r"[^\\/:*?\"'<>|\s]+"
_SPACED_PART = r"[^\\/:*?\"'<>|\r\n]+"
PATHS = re.compile(
    r"(?<=\")/(?:[^\"/\r\n]+/)+[^\"/\r\n]*(?=\")|(?<=')/(?:[^'/\r\n]+/)+[^'/\r\n]*(?=')"  # quoted: spaces belong to it
    rf"|(?<![\w.~/)\]])/+(?:{_POSIX_PART}/+)+(?:{_POSIX_PART})?"
    rf"|(?<![\w)\]])~(?:/+(?:{_POSIX_PART}/+)*{_POSIX_PART}|[\w.-]+/+(?:{_POSIX_PART}/+)+(?:{_POSIX_PART})?)"
    rf"|(?<![A-Za-z0-9_])[A-Za-z]:/+(?:Users/+{_SPACED_PART}/+)?(?:{_WINDOWS_PART}/+)*(?:{_WINDOWS_PART})?"
    rf"|(?<![A-Za-z0-9_])[A-Za-z]:\\+(?:{_SPACED_PART}\\+)*(?:{_WINDOWS_PART})?"
    rf"|(?<!\\)\\\\+[A-Za-z0-9_.$?-]+(?:\\+{_SPACED_PART}(?=\\))*\\+(?:{_WINDOWS_PART})?"
)
WHOLE = re.compile(r"/|~|[A-Za-z]:[\\/]|\\\\")


def file_name(path: str) -> str:
    """Return a path that is known to be that of a file, whatever its ending; a relative one stays as it is."""
    if not WHOLE.match(path):
        return path
    return f"{PLACE}/{_parts(path)[-1]}"


def _shortened(match: re.Match[str]) -> str:
    path = match[0]
    end = path[len(path.rstrip(".,!")) :]  # of the sentence, not of the path
    parts = _parts(path[: len(path) - len(end)])
    is_home = len(parts) > 1 and parts[-2].lower() in HOMES
    return (PLACE if is_home or not _is_file(parts[-1]) else f"{PLACE}/{parts[-1]}") + end


def _parts(path: str) -> list[str]:
    return re.split(r"[\\/]+", path)


def _is_file(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    return name in PROGRAMS or bool(stem and dot and ending.lower() in ENDINGS)


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
        found_hosts = [*hosts, *_matches(HOST_VARIABLE, commands, 1), *_matches(LOGIN, commands, 2)]
        found_users = [
            *_matches(USER_VARIABLE, commands, 1),
            *_matches(LOGIN, commands, 1),
            *_homes([*commands, *texts]),
        ]
        short = [host.partition(".")[0] for host in found_hosts]
        return cls(_long_enough([*found_hosts, *short]), _long_enough(found_users))


NOBODY = Identity()


@functools.cache
def pattern(names: tuple[str, ...], inside_words: bool, any_case: bool) -> re.Pattern[str] | None:
    """Return what finds any of ``names``: as words of their own, where _ parts words, or also inside longer ones."""
    if not names:
        return None
    listed = "|".join(re.escape(name) for name in names)
    bounded = listed if inside_words else rf"(?<![A-Za-z0-9])(?:{listed})(?![A-Za-z0-9])"
    return re.compile(bounded, re.IGNORECASE if any_case else 0)


def _matches(what: re.Pattern[str], texts: Iterable[str], group: int) -> Iterator[str]:
    for text in texts:
        yield from (match[group] for match in what.finditer(text))


def _homes(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (match["posix"] or match["spaced"] or match["last"] for match in HOME.finditer(text))


def _long_enough(found: Iterable[str]) -> tuple[str, ...]:
    words = {name.strip(" .") for name in found}
    kept = {word for word in words if len(word) >= MIN_WORD and word.strip(FILLER) and not _is_shared(word)}
    return tuple(sorted(kept, key=lambda word: (-len(word), word)))


def _is_shared(word: str) -> bool:
    return word.lower() in SHARED or word.lower() in words_of_names() or word.replace(".", "").isdigit()


HOST, USER, ADDRESS, VALUE = "<host>", "<user>", "<address>", "<value>"
URL = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]{1,15})://[^\s\"'<>@]+(?:@[^\s\"'<>@]+)?")
PUBLIC = re.compile(r"https?://(?:[\w-]+\.)*nvidia\.com(?:[/:?#]|$)")  # the links in messages of ncu's rules
MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63}")
IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
# How global, unique local and link-local addresses start (RFC 4291, 4193); other starts are namespaces: fa::add.
IPV6 = re.compile(
    r"(?<![\w:.])(?i:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):[0-9A-Fa-f:.]{2,45}(?:%\w{1,16})?(?![\w:])"
)
MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])")
LOCAL_HOST = re.compile(
    r"(?<![\w.-])(?:[A-Za-z0-9-]{1,63}\.){2,8}(?:local|localdomain|lan|internal|intra|corp)(?![\w.(\[=])"
)
VARIABLE = re.compile(r"(?<![\w-])([A-Z_][A-Z0-9_]{2,})=(?:\"[^\"]*\"|'[^']*'|\S+)")
SECRET = re.compile(
    r"(?i)(?<![\w-])(--?[\w-]*(?:token|password|passwd|secret|api-?key|user|username|login|host|hostname|host-?list"
    r"|nodelist|addr|address))([= ])(?:\"[^\"]*\"|'[^']*'|(?!-)\S+)"
)
# What stands in every line that one of these patterns changes, and in few others: whole source files pass through here.
# None of them reaches over the end of a line. Each begins with a character, for which Python searches ten times faster.
SUSPECT = re.compile(
    r"@|~|\\\\|:[\\/]|/[^\s/]+/|\"/|'/"  # logins, paths, links
    r"|:[0-9A-Fa-f]{2}:|-[0-9A-Fa-f]{2}-|:(?<=[0-9A-Fa-f]{4}:)[0-9A-Fa-f:.]|\.(?<=\d\.)\d{1,3}\.\d"  # addresses
    r"|\.(?:local|lan|internal|intra|corp)"
)
LONGEST_TAIL = r"(?:\.[A-Za-z0-9-]{1,63}){0,8}"  # of a host's full name


def redact_text(text: str, identity: Identity = NOBODY) -> str:
    """Return ``text`` with ``<path>``, ``<user>``, ``<host>`` and ``<address>`` for what identifies.

    Of a path the file's own name stays. Links to NVIDIA's documentation, loopback addresses and relative paths stay.
    """
    pieces, at = [], 0
    while found := SUSPECT.search(text, at):
        start, end = text.rfind("\n", at, found.start()) + 1 or at, text.find("\n", found.start())
        end = len(text) if end < 0 else end
        pieces += [_without_names(text[at:start], identity), _line(text[start:end], identity)]
        at = end
    return "".join([*pieces, _without_names(text[at:], identity)])


def redact_command(text: str, identity: Identity = NOBODY) -> str:
    """Return a command line as ``redact_text`` does, also without values of variables, logins and secrets."""
    text = VARIABLE.sub(rf"\1={VALUE}", text)
    text = SECRET.sub(rf"\1\2{VALUE}", text)
    return redact_text(LOGIN.sub(f"{USER}@{HOST}", text), identity)


def redact_file(path: str, identity: Identity = NOBODY) -> str:
    """Return the path of a source file: its own name behind ``<path>/``, a relative path with its folders."""
    return _without_names(file_name(path), identity)


def redact_mangled(name: str, identity: Identity = NOBODY) -> str:
    """Return a mangled name without known users and hosts: letters stand on either side of its parts."""
    return redact_text(_without_names(name, identity, inside_words=True), identity)


def _line(text: str, identity: Identity) -> str:
    pieces, at = [], 0
    for match in URL.finditer(text):
        pieces += [_plain(text[at : match.start()], identity), _url(match, identity)]
        at = match.end()
    return "".join([*pieces, _plain(text[at:], identity)])


def _url(match: re.Match[str], identity: Identity) -> str:
    if PUBLIC.match(match[0]):
        return match[0]
    scheme, _, rest = match[0].partition("://")
    return _plain(rest, identity) if scheme == "file" else f"{scheme}://{HOST}"


def _plain(text: str, identity: Identity) -> str:
    text = PATHS.sub(_shortened, MAIL.sub(f"{USER}@{HOST}", text))
    text = IPV4.sub(_address, IPV6.sub(_address, MAC.sub(ADDRESS, text)))
    return _without_names(LOCAL_HOST.sub(HOST, text), identity)


def _address(match: re.Match[str]) -> str:
    text = match[0].partition("%")[0].rstrip(".")
    try:
        loopback = ipaddress.ip_address(text).is_loopback
    except ValueError:
        return match[0]
    return match[0] if loopback else ADDRESS


def _without_names(text: str, identity: Identity, inside_words: bool = False) -> str:
    hosts = pattern(identity.hosts, inside_words, any_case=True)
    users = pattern(identity.users, inside_words, any_case=False)
    if hosts:
        text = re.sub(f"{hosts.pattern}{LONGEST_TAIL}", HOST, text, flags=hosts.flags)
    return users.sub(USER, text) if users else text
