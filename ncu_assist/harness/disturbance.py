"""Other work on the device beside a call, so that a race has a chance to show. Runs in the child."""

from __future__ import annotations

from typing import Any

import torch

ELEMENTS = 1 << 23  # 32 MB: a few passes take as long as the kernels that are checked


class Disturbance:
    """Runs memory traffic on a stream of its own; on a CPU it does nothing."""

    def __init__(self, device: str) -> None:
        self._stream: Any = torch.cuda.Stream() if device == "cuda" else None
        self._noise: Any = torch.zeros(ELEMENTS, device=device) if device == "cuda" else None

    def start(self, turn: int) -> None:
        """Start ``turn`` passes over the buffer and return at once."""
        if self._stream is None:
            return
        with torch.cuda.stream(self._stream):
            for _ in range(turn):
                self._noise.add_(1.0)
