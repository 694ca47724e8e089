"""A row of a frame as Python has it."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
"""Column names with their values."""
