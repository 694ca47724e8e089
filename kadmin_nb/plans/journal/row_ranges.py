"""Numbers of rows as a short text: `1-5000,5002`."""

from __future__ import annotations

from collections.abc import Iterable


def written(rows: Iterable[int]) -> str:
    """The rows, sorted, runs of neighbours as `first-last`."""
    runs: list[list[int]] = []
    for row in sorted(rows):
        if runs and row == runs[-1][1] + 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def parse_ranges(text: str) -> list[int]:
    """The rows that `written` wrote."""
    return [row for part in text.split(",") if part for row in _run(part)]


def _run(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)
