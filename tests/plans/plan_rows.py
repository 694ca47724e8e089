"""Frames as literal rows."""

from __future__ import annotations


def rows(frame, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[c] for c in columns) for row in frame.to_arrow().to_pylist()]
