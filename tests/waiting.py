"""Reads come from a broker's image, which follows the ack by some milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def eventually(look: Callable[[], object], wanted: object, seconds: float = 60.0) -> None:
    """`look()` gives `wanted` within a minute, which a busy machine may take; a failure shows what it gave last."""
    until = time.monotonic() + seconds
    while (seen := look()) != wanted and time.monotonic() < until:
        time.sleep(0.01)
    assert seen == wanted


def state_of_process(pid: int) -> str:
    """The letter that Linux has for it: Z is one that has ended, and that its parent has yet to hear of."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
