"""What is kept of a draft: what the model claimed, what became of it, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ncu_assist.record import Source

SCHEMA = "ncu-assist.draft/1"

NOT_BUILT = "it does not build"  # the reason of a draft that a compiler rejected
Direction = Literal["up", "down"]
FateWord = Literal["drafted", "kept", "rejected", "unproven"]


@dataclass(frozen=True)
class QuotedEvidence:
    """A piece of evidence that a reply cites, and the number that it quotes of it, None where it quotes none."""

    id: str  # E3
    value: float | None = None


@dataclass(frozen=True)
class MetricPrediction:
    """What a reply says a metric will do; ``metric`` as the evidence names it, ``factor`` after over before."""

    metric: str
    direction: Direction
    factor: float | None = None


@dataclass(frozen=True)
class Claim:
    """What a reply says beside its source: what binds, the one change, and what it will do."""

    bottleneck: str
    change: str
    slug: str  # of the version's file name: lower case, digits, underscores
    evidence: tuple[QuotedEvidence, ...] = ()
    predictions: tuple[MetricPrediction, ...] = ()
    expected_speedup: float | None = None


@dataclass(frozen=True)
class ModelCost:
    """What the replies to one draft cost, repairs included. ``estimated``: tokens are characters over four."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0
    estimated: bool = False

    @classmethod
    def of_all(cls, costs: Iterable[ModelCost]) -> ModelCost:
        """Return what several questions cost together."""
        every = tuple(costs)
        return cls(
            calls=sum(one.calls for one in every),
            prompt_tokens=sum(one.prompt_tokens for one in every),
            reply_tokens=sum(one.reply_tokens for one in every),
            seconds=sum(one.seconds for one in every),
            estimated=any(one.estimated for one in every),
        )


@dataclass(frozen=True)
class Score:
    """A prediction held against what was measured; ``came_true`` is None where the metric could not be compared."""

    prediction: MetricPrediction
    before: float | None
    after: float | None
    came_true: bool | None


@dataclass(frozen=True)
class ProofStage:
    """A step of a proof: build, sanitize, check, bench, profile, diff. ``said`` is why it failed, or what it found."""

    name: str
    passed: bool
    seconds: float
    said: str = ""


@dataclass(frozen=True)
class Proof:
    """What measuring a draft against its parent gave. Times in nanoseconds on ``workload``, the default one.

    ``speedup`` is parent over draft with its interval; ``verdict`` the word of the bench. ``sandbox`` is how the draft
    was run: bwrap, unshare, or none. ``run`` is the reference of the draft's archived run, once it is kept.
    """

    stages: tuple[ProofStage, ...]
    sandbox: str
    workload: str
    verdict: str = ""
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    parent_ns: float | None = None
    draft_ns: float | None = None
    scores: tuple[Score, ...] = ()
    run: str = ""


@dataclass(frozen=True)
class Draft:
    """One draft of a kernel's next version. ``fate`` and ``reason`` say what became of it, in that order.

    ``parent`` is the run that the prompt was built from, ``diagnosis`` the id of its first finding, ``flaws`` what is
    wrong with the reply's citations and predictions in words, ``version`` the file it was written to once accepted.
    """

    id: str
    kernel: str
    parent: str  # kernel/version@run
    created: str  # ISO 8601, UTC
    model: str  # empty for a reply from a file
    origin: str  # model, or file
    round: int
    candidate: int
    diagnosis: str
    claim: Claim | None  # None where no reply could be used
    suffix: str  # .cu or .py
    prompt_sha256: str
    source_sha256: str  # of the draft's bytes; empty where there is none
    fate: FateWord
    reason: str
    flaws: tuple[str, ...] = ()
    cost: ModelCost = ModelCost()
    proof: Proof | None = None
    version: str = ""
    source: Source = "live"  # recorded: measured elsewhere and shipped, as a run's
    prompt: str = ""  # the id of the prompt that it answers; empty for an older draft
    schema: str = SCHEMA
