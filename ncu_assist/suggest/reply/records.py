"""What a usable reply consists of, and the errors of one that is not."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.drafts.records import Claim
from ncu_assist.errors import NcuAssistError


@dataclass(frozen=True)
class Edit:
    """One replacement: ``search`` stands exactly once in the parent's source."""

    search: str
    replace: str


@dataclass(frozen=True)
class Reply:
    """A reply as it was read: either ``source``, the whole new file, or ``edits`` of the parent's, never both."""

    claim: Claim
    source: str | None
    edits: tuple[Edit, ...]


class UnusableReply(NcuAssistError):
    """A reply of which no draft can be made. ``reason`` is for people, ``to_model`` what to answer the model.

    ``said`` is what the model is told beyond the reason. Both may hold text of the reply: escape them where shown.
    """

    exit_code = 3  # that of drafts that were all rejected

    def __init__(self, reason: str, said: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.to_model = f"Your reply could not be used: {reason}." + (f"\n{said}" if said else "")


class MismatchedEdit(UnusableReply):
    """An edit that does not apply: nothing of the reply was applied. ``to_model`` has the nearest lines."""
