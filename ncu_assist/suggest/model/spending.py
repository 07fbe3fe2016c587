"""What replies cost: tokens as the endpoint counts them, else estimated from characters."""

from __future__ import annotations

import math
from dataclasses import replace

from ncu_assist.drafts.records import Cost
from ncu_assist.suggest.model.gathering import Gathered
from ncu_assist.suggest.model.records import CHARACTERS_PER_TOKEN


def with_reply(cost: Cost, gathered: Gathered, prompt_characters: int, seconds: float) -> Cost:
    """Return ``cost`` with a reply added, whole or broken off; ``seconds`` since the question was put.

    A request that brought nothing back is not counted: endpoints do not charge for it.
    """
    if not gathered.characters and not gathered.finish:
        return replace(cost, seconds=seconds)
    prompt, reply = gathered.prompt_tokens, gathered.reply_tokens
    return Cost(
        calls=cost.calls + 1,
        prompt_tokens=cost.prompt_tokens + (_estimate(prompt_characters) if prompt is None else prompt),
        reply_tokens=cost.reply_tokens + (_estimate(gathered.characters) if reply is None else reply),
        seconds=seconds,
        estimated=cost.estimated or prompt is None or reply is None,
    )


def _estimate(characters: int) -> int:
    return math.ceil(characters / CHARACTERS_PER_TOKEN)
