"""What a model answers, read and held to the rules: it is only ever a file and what is claimed of that file."""

from __future__ import annotations

from ncu_assist.suggest.reply.applying import apply
from ncu_assist.suggest.reply.citing import flaws, item_of
from ncu_assist.suggest.reply.form import REPLY_SCHEMA, Edit, MismatchedEdit, ParsedReply, UnusableReply
from ncu_assist.suggest.reply.reading import read_reply

__all__ = [
    "REPLY_SCHEMA",
    "Edit",
    "MismatchedEdit",
    "ParsedReply",
    "UnusableReply",
    "apply",
    "flaws",
    "item_of",
    "read_reply",
]
