"""Text and frames without what names a machine or a person: for anything that is meant to leave the machine.

Host names, addresses, user names, absolute paths (a file's own name stays) and the environment become placeholders, the
same for the same input. Code, kernel names and NVTX ranges stay, with what identifies taken out of them.
"""

from __future__ import annotations

from ncu_assist.render.redact.frames import redact_frame
from ncu_assist.render.redact.text import NOBODY, Identity, redact_command, redact_text

__all__ = ["NOBODY", "Identity", "redact_command", "redact_frame", "redact_text"]
