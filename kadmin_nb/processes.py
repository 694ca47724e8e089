"""Processes by a name that no other has: this one, and whether one that left its name somewhere is gone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Process:
    """A process: where its id counts, the id, and when it began, in ticks since the boot.

    `machine` is the boot and the namespace of process ids, outside of which an id says nothing. What the system does
    not tell is "" or 0.
    """

    machine: str = ""
    pid: int = 0
    began: int = 0

    @classmethod
    def this(cls) -> Self:
        """The process that asks."""
        pid = os.getpid()
        return cls(_machine(), pid, _stat(pid)[1])

    @property
    def is_gone(self) -> bool:
        """True if it certainly runs no more: it is of this boot, and no process or a later one has its id."""
        if not self.machine or self.machine != _machine() or self.pid <= 0:
            return False
        state, began = _stat(self.pid)
        return not _is_there(self.pid) or state in _ENDED or (self.began > 0 and began > 0 and began != self.began)


_ENDED = ("Z", "X")
"""The letters of processes that have ended, and that their parents have yet to hear of."""


def _machine() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + " " + os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _stat(pid: int) -> tuple[str, int]:
    """The letter of its state, and when it began."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, IndexError, ValueError):
        return "", 0
