"""Widgets for notebooks: tables to edit quotas and configs, with the same stage as lines and code."""

from __future__ import annotations

from .editor import edit_configs, edit_quotas

__all__ = ["edit_configs", "edit_quotas"]
