"""Write docs/prompt_v6.md: the prompt for v6 of lightning_decode, exactly as `suggest` builds it from the archive."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ncu_assist.project import find_project
from ncu_assist.render.redact import NOBODY
from ncu_assist.suggest.evidence.gathering import evidence
from ncu_assist.suggest.prompting import Prompt, build_prompt

ROOT = Path(__file__).parent.parent
REFERENCE = "lightning_decode/v6"
EXAMPLE = Path("docs") / "prompt_v6.md"


def example_prompt(root: Path) -> Prompt:
    """Return the prompt of the example, the same everywhere and whatever other kernels lie in the archive.

    No name of this machine is looked for, and what answered the diagnosis in other kernels is left out.
    """
    return build_prompt(replace(evidence(find_project(root), REFERENCE, identity=NOBODY), removed=()))


if __name__ == "__main__":
    made = example_prompt(ROOT)
    (ROOT / EXAMPLE).write_text(made.text, encoding="utf-8")
    sys.stdout.write(f"{EXAMPLE}: {made.tokens} tokens, sha256 {made.sha256}\n")
