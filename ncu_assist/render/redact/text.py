"""One text without what identifies: addresses, absolute paths, logins, and the names that an Identity holds."""

from __future__ import annotations

import ipaddress
import re

from ncu_assist.render.redact.identity import LOGIN, NOBODY, Identity, pattern
from ncu_assist.render.redact.paths import file_name, without_places

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
LONGEST_TAIL = r"(?:\.[A-Za-z0-9-]{1,63}){0,8}"  # of a host's full name


def redact_text(text: str, identity: Identity = NOBODY) -> str:
    """Return ``text`` with ``<path>``, ``<user>``, ``<host>`` and ``<address>`` for what identifies.

    Of a path the file's own name stays. Links to NVIDIA's documentation, loopback addresses and relative paths stay.
    """
    pieces, at = [], 0
    for match in URL.finditer(text):
        pieces += [_plain(text[at : match.start()], identity), _url(match, identity)]
        at = match.end()
    return "".join([*pieces, _plain(text[at:], identity)])


def redact_command(text: str, identity: Identity = NOBODY) -> str:
    """Return a command line as ``redact_text`` does, also without values of variables, logins and secrets."""
    text = VARIABLE.sub(rf"\1={VALUE}", text)
    text = SECRET.sub(rf"\1\2{VALUE}", text)
    return redact_text(LOGIN.sub(f"{USER}@{HOST}", text), identity)


def redact_file(path: str, identity: Identity = NOBODY) -> str:
    """Return the path of a source file: its own name behind ``<path>/``, a relative path with its folders."""
    return _names(file_name(path), identity)


def redact_mangled(name: str, identity: Identity = NOBODY) -> str:
    """Return a mangled name without known users and hosts: letters stand on either side of its parts."""
    return redact_text(_names(name, identity, inside_words=True), identity)


def _url(match: re.Match[str], identity: Identity) -> str:
    if PUBLIC.match(match[0]):
        return match[0]
    scheme, _, rest = match[0].partition("://")
    return _plain(rest, identity) if scheme == "file" else f"{scheme}://{HOST}"


def _plain(text: str, identity: Identity) -> str:
    text = without_places(MAIL.sub(f"{USER}@{HOST}", text))
    text = IPV4.sub(_address, IPV6.sub(_address, MAC.sub(ADDRESS, text)))
    return _names(LOCAL_HOST.sub(HOST, text), identity)


def _address(match: re.Match[str]) -> str:
    text = match[0].partition("%")[0].rstrip(".")
    try:
        loopback = ipaddress.ip_address(text).is_loopback
    except ValueError:
        return match[0]
    return match[0] if loopback else ADDRESS


def _names(text: str, identity: Identity, inside_words: bool = False) -> str:
    hosts = pattern(identity.hosts, inside_words, any_case=True)
    users = pattern(identity.users, inside_words, any_case=False)
    if hosts:
        text = re.sub(f"{hosts.pattern}{LONGEST_TAIL}", HOST, text, flags=hosts.flags)
    return users.sub(USER, text) if users else text
