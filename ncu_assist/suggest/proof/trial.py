"""What a proof is about: a kernel folder with two versions, the parent as it was measured and the draft."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.drafts import StoredDraft, source_name
from ncu_assist.spec import Kernel, Version
from ncu_assist.spec_file import FILE, read_kernel
from ncu_assist.suggest.drafting import Brief


@dataclass(frozen=True)
class Trial:
    """The kernel of a proof in a folder of its own; ``draft`` is named as it would be among the kernel's versions."""

    kernel: Kernel
    parent: Version
    draft: Version


def make_trial(brief: Brief, stored: StoredDraft, root: Path) -> Trial:
    """Write ``root``/kernels/<kernel> and return it: kernel.toml and reference as they are, the parent as it was.

    Raises DamagedData for a draft or a run whose files were changed, OSError where the disk refuses.
    """
    folder = root / "kernels" / brief.kernel.name
    folder.mkdir(parents=True)
    for name in (FILE, brief.kernel.reference.name):
        shutil.copyfile(brief.kernel.folder / name, folder / name)
    for name, text in brief.parent.source_texts().items():
        if name not in (FILE, brief.kernel.reference.name):
            (folder / name).write_text(text, encoding="utf-8", newline="")
    name = draft_name(brief, stored)
    (folder / f"{name}{stored.draft.suffix}").write_bytes(stored.read(source_name(stored.draft.suffix)))
    kernel = read_kernel(folder)
    return Trial(kernel, kernel.version(brief.parent.run.version), kernel.version(name))


def draft_name(brief: Brief, stored: StoredDraft) -> str:
    """Return what the draft would be called as the next version."""
    number = max(version.number for version in brief.kernel.versions) + 1
    assert stored.draft.claim is not None
    return f"v{number}_{stored.draft.claim.slug}"
