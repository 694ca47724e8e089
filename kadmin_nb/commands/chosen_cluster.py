"""The cluster that lines of the terminal work with when they name none: a file, which `use` and `local` write.

A notebook, a runbook, a job and `kn.connect()` never read it. `$KADMIN_PROFILE` comes before it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .. import files
from ..documents import from_json, to_json
from ..errors import KadminError
from ..paths import state_dir

_MOST_BYTES = 1 << 16


class ChosenCluster(NamedTuple):
    """A target, and the name of the local Kafka that it was written for; none where `use` wrote it."""

    target: str
    local: str | None = None


def chosen_cluster() -> ChosenCluster | None:
    """The content of the file; None if it is missing or cannot be read."""
    with suppress(KadminError, TypeError, ValueError):
        return ChosenCluster(**from_json(files.read(_file(), "the chosen cluster", _MOST_BYTES).decode()))
    return None


def default_target() -> str | None:
    """The target of a line that names none, as far as the file says it; None leaves it to the profiles."""
    chosen = None if os.environ.get("KADMIN_PROFILE") else chosen_cluster()
    return chosen.target if chosen else None


def choose(target: str, local: str | None = None) -> ChosenCluster:
    """Write the file; what it says now.

    Raises
    ------
    KadminError
        It cannot be written.
    """
    chosen = ChosenCluster(target, local)
    files.make_folder(_file().parent, mode=0o700)
    files.write(_file(), to_json(chosen._asdict()), mode=0o600)
    return chosen


def choose_local(name: str, target: str) -> ChosenCluster:
    """Choose a local Kafka, unless `use` has chosen a cluster; the one that is chosen now."""
    chosen = chosen_cluster()
    return chosen if chosen is not None and chosen.local is None else choose(target, name)


def forget_local(name: str) -> None:
    """Take away what was written for this local Kafka, and nothing else."""
    chosen = chosen_cluster()
    if chosen is not None and chosen.local == name:
        _file().unlink(missing_ok=True)


def _file() -> Path:
    return state_dir() / "current_cluster.json"
