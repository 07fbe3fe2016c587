"""From evidence to text: templates that anybody may edit, fences that nothing gets out of, a budget that is kept."""

from __future__ import annotations

from ncu_assist.suggest.prompting.building import FORMS, MAX_TOKENS, Prompt, build_prompt

__all__ = ["FORMS", "MAX_TOKENS", "Prompt", "build_prompt"]
