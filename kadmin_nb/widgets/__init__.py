"""Widgets of a notebook: tables to edit quotas and configs in, over the same stage that lines and code fill."""

from __future__ import annotations

__all__: list[str] = []
