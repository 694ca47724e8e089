"""Widgets of a notebook: tables to edit quotas and configs in, over the same stage that lines and code fill."""

from __future__ import annotations

from .frame_editors import edit_configs, edit_quotas

__all__ = ["edit_configs", "edit_quotas"]
