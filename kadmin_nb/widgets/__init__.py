"""Widgets of a notebook: tables to edit quotas and configs in, over the same stage that lines and code fill."""

from __future__ import annotations

from .quota_frames import edit_quotas

__all__ = ["edit_quotas"]
