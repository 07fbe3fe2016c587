"""What is asked of a suggestion: from which run to go on, how many drafts, who answers, how they are proved."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.suggest.evidence.gathering import BEST
from ncu_assist.suggest.prompting.building import MAX_TOKENS


@dataclass(frozen=True)
class Budget:
    """How much may be spent in all; None is without an end. Tokens are those of prompts and replies together."""

    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ProofOptions:
    """How drafts are proved. Without ``sandboxed`` they run with all rights of the user."""

    sandboxed: bool = True
    rounds: int | None = None  # of the bench; None as the project says
    device: str = "cuda"  # cpu serves tests


@dataclass(frozen=True)
class SuggestRequest:
    """From which run to go on and how: ``candidates`` drafts of each of ``rounds`` prompts.

    ``libraries`` may do the work. ``proving`` None: drafts are kept in the archive, nothing of them is run; with
    ``compiled`` they are compiled.
    """

    reference: str = BEST
    kernel: str | None = None
    workload: str | None = None
    candidates: int = 1
    rounds: int = 1
    prompt_tokens: int = MAX_TOKENS
    budget: Budget = Budget()
    libraries: bool = False
    proving: ProofOptions | None = None
    compiled: bool = False
