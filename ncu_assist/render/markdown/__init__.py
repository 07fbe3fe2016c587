"""Results as GitHub's Markdown, for the comment of a pull request: details folded, text from outside escaped."""

from __future__ import annotations

from ncu_assist.render.markdown.diff import diff_markdown

__all__ = ["diff_markdown"]
