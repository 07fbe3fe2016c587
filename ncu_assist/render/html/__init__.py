"""Pages of HTML: each one file that needs nothing beside it, made of frozen page models by the templates."""

from __future__ import annotations

from ncu_assist.render.html.page import page

__all__ = ["page"]
