"""Where an endpoint is: on this machine or elsewhere, and how its address is shown."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from ncu_assist.errors import UsageProblem

OPENAI = "https://api.openai.com/v1"  # the default of the openai package


def resolve(base_url: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the address that is meant: the one given, else OPENAI_BASE_URL, else that of OpenAI.

    Raises UsageProblem for what is no address of a web server.
    """
    address = base_url or environment.get("OPENAI_BASE_URL") or OPENAI
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageProblem(f"{shown(address)} is not the address of an endpoint", "--base-url http://127.0.0.1:8000/v1")
    return address


def is_local(address: str) -> bool:
    """Return whether ``address`` is on this machine, by its name alone: nothing is looked up."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified  # 0.0.0.0, as servers print where they listen


def shown(address: str) -> str:
    """Return ``address`` without what may be secret in it: user, password, query."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "what was given"
    return SplitResult(parts.scheme, host, parts.path.rstrip("/"), "", "").geturl() or "what was given"


def is_open(address: str) -> bool:
    """Return whether what is sent to ``address`` can be read on the way: plain HTTP to another machine."""
    return urlsplit(address).scheme == "http" and not is_local(address)
