"""What a model answers, read and held to the rules: it is only ever a file and what is claimed of that file."""

from __future__ import annotations

from ncu_assist.suggest.reply.applying import apply
from ncu_assist.suggest.reply.citing import flaws, item_of
from ncu_assist.suggest.reply.reading import read_reply
from ncu_assist.suggest.reply.records import Edit, MismatchedEdit, Reply, UnusableReply
from ncu_assist.suggest.reply.schema import SCHEMA

__all__ = [
    "SCHEMA",
    "Edit",
    "MismatchedEdit",
    "Reply",
    "UnusableReply",
    "apply",
    "flaws",
    "item_of",
    "read_reply",
]
