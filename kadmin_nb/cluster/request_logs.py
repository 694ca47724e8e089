"""The request log of a local Kafka's brokers: its files, those that log4j has rolled too, from one moment on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from ..local_runs import all_runs

NAME = "request.log"


class RequestLog:
    """One broker's request log, from the moment that this is made.

    log4j rolls the log at a size: the file that is written to gets another name, and the oldest is deleted.
    The file that is written to at that moment stays open, so that no later file gets its inode.
    """

    def __init__(self, first: IO[bytes], place: Path) -> None:
        self._first, self._place = os.fstat(first.fileno()).st_ino, place

    def found(self) -> tuple[list[str], bool, str | None]:
        """The files with all that was written since, the oldest first; whether none of them was deleted, and a sentence
        where one was."""
        files = _rolled(self._place)
        names, inodes = [str(file) for _, file in files], [inode for inode, _ in files]
        if self._first in inodes:
            return names[inodes.index(self._first) :], True, None
        if not files:
            return names, False, "the log was deleted during the observation"
        first_time = _first_time(files[0][1])
        return names, False, f"log4j deleted rolled files: requests are missing before {first_time}"


@contextmanager
def request_logs(cluster_id: str) -> Iterator[dict[int, RequestLog]]:
    """Those of a local Kafka's brokers by their ids, followed until the block ends; of others nobody can know."""
    places = {broker: place for broker, place in log_places(cluster_id).items() if place.exists()}
    with ExitStack() as stack:
        yield {broker: RequestLog(stack.enter_context(place.open("rb")), place) for broker, place in places.items()}


def log_places(cluster_id: str) -> dict[int, Path]:
    """Where each broker of a local Kafka writes its log; empty for any other cluster."""
    runs = ((folder, run) for folder, run in all_runs() if run.cluster_id == cluster_id)
    return {node: folder / f"node-{node}" / NAME for folder, run in runs for node in range(1, len(run.ports) + 1)}


def _rolled(place: Path) -> list[tuple[int, Path]]:
    """Inode and path of the log and of what was rolled, oldest first; looked at until nothing moved in between."""
    before, now = None, _look(place)
    while now != before:
        before, now = now, _look(place)
    return now


def _look(place: Path) -> list[tuple[int, Path]]:
    """In the order of their last write; the one that is written to is the last."""
    files = []
    for file in place.parent.glob(f"{place.name}*"):
        with suppress(FileNotFoundError):  # it has another name by now
            status = file.stat()
            files.append((file == place, status.st_mtime_ns, status.st_ino, file))
    return [(inode, file) for _, _, inode, file in sorted(files)]


def beginning(file: Path) -> datetime:
    """The moment at which a log begins, by its first line: a local Kafka's log4j writes the time of this machine.

    Of a file that begins otherwise, the moment of its last write: nothing in it counts.
    """
    try:
        return datetime.fromisoformat(_first_time(file).replace(",", ".")).astimezone(UTC)
    except ValueError:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def _first_time(file: Path) -> str:
    """The time in front of the first line, as log4j writes it: the place where the log begins."""
    with file.open(errors="replace") as log:
        return log.read(40).partition("]")[0].lstrip("[")
