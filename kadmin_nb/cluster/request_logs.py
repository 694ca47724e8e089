"""The request logs of a local Kafka's brokers: their files, those that log4j has rolled too; and of the time in which
brokers were observed the requests in them, and who uses most."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from .. import usage
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, NotFound
from ..frames import schemas
from ..frames.schema_metadata import mark
from ..local_runs import all_runs
from ..model.findings import Row
from ..usage.near_and_top import TopAnswer
from ..usage.request_log import sizes_of
from .groups import group_types

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
        before, files = None, _look(self._place)
        while files != before:  # nothing may be rolled in between
            before, files = files, _look(self._place)
        names, inodes = [str(file) for _, file in files], [inode for inode, _ in files]
        if self._first in inodes:
            return names[inodes.index(self._first) :], True, None
        if not files:
            return names, False, "the log was deleted during the observation"
        first_time = _first_time(files[0][1])
        return names, False, f"log4j deleted rolled files: requests are missing before {first_time}"


@contextmanager
def request_logs(cluster_id: str) -> Iterator[dict[int, RequestLog]]:
    """The request logs of a local Kafka's brokers by their ids, followed until the block ends; none of any other."""
    places = {broker: place for broker, place in log_places(cluster_id).items() if place.exists()}
    with ExitStack() as stack:
        yield {broker: RequestLog(stack.enter_context(place.open("rb")), place) for broker, place in places.items()}


def log_places(cluster_id: str) -> dict[int, Path]:
    """Where each broker of a local Kafka writes its log; empty for any other cluster."""
    runs = ((folder, run) for folder, run in all_runs() if run.cluster_id == cluster_id)
    return {node: folder / f"node-{node}" / NAME for folder, run in runs for node in range(1, len(run.ports) + 1)}


def _look(place: Path) -> list[tuple[int, Path]]:
    """Inode and path of the log and of what was rolled, in the order of their last write; the one that is written to is
    the last."""
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


# --- the requests in them ---


def top_of(
    observed: Sequence[Row], keys: Sequence[str] | None, most: int, record_sizes: pa.Table | None = None
) -> TopAnswer:
    """TOP of the time that was observed, OBSERVED's rows, as far as the logs of all brokers have it."""
    requests = requests_of(observed, record_sizes)
    seen = Observed.of(requests)
    assert seen is not None
    of_brokers = {"brokers": [row["broker"] for row in observed], "watched": seen.brokers}
    return usage.top(usage.usage(requests), keys=keys, most=most, time=(seen.since, seen.until), **of_brokers)


def requests_of(observed: Sequence[Row], record_sizes: pa.Table | None = None) -> pa.Table:
    """REQUESTS of the time that was observed, OBSERVED's rows, as far as the logs of all brokers have it."""
    rows = [row for row in observed if row["logs"] is not None]
    since, until = max(map(_logged_since, rows)), max(row["until"] for row in rows)
    offset = datetime.now().astimezone().strftime("%z")  # a local Kafka's log4j writes the time of this machine
    zone = f"{offset[:3]}:{offset[3:]}"
    parts, followers = [schemas.REQUESTS.empty()], dict[tuple[int, int], float]()
    for row in (row for row in rows if row["logs"]):
        with suppress(NotFound):  # nobody asked for anything, so there is no line
            log = usage.requests(row["logs"], broker=row["broker"], tz=zone, record_sizes=record_sizes)
            parts.append(_in_time(log.frame, row, since))
            followers.update(_followers(_in_time(log.left_out, row, since), (since, until)))
    seen = Observed(frozenset(row["broker"] for row in rows), since, until, followers)
    return seen.marked(pa.concat_tables(parts))


def _logged_since(row: Mapping[str, Any]) -> datetime:
    """The moment from which on a broker's log has all requests: later than its level was set where files were lost."""
    since, until = cast("tuple[datetime, datetime]", (row["since"], row["until"]))
    if row["complete"]:
        return since
    return max(since, beginning(Path(row["logs"][0]))) if row["logs"] else until


OBSERVED = "kadmin.observed"
"""Metadata of REQUESTS: the brokers and the time that were observed, and how long followers did not fetch."""


@dataclass(frozen=True)
class Observed:
    """The brokers that were observed, from when to when, and the longest time in milliseconds that passed between an
    answer of a leader and the next fetch of a follower, by both."""

    brokers: frozenset[int]
    since: datetime
    until: datetime
    followers: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def marked(self, requests: pa.Table) -> pa.Table:
        """The requests with all this in their metadata."""
        followers = [[*place, pause] for place, pause in self.followers.items()]
        times = [self.since.isoformat(), self.until.isoformat()]
        text = json.dumps({"brokers": sorted(self.brokers), "times": times, "followers": followers})
        return schemas.marked(requests, {**(requests.schema.metadata or {}), OBSERVED: text})

    @classmethod
    def of(cls, requests: object) -> Observed | None:
        """What the metadata of requests say; None of requests that were not observed from here."""
        text = mark(requests, OBSERVED) if isinstance(requests, pa.Table) else None
        if text is None:
            return None
        found = json.loads(text)
        followers = {(leader, follower): pause for leader, follower, pause in found["followers"]}
        since, until = map(datetime.fromisoformat, found["times"])
        return cls(frozenset(found["brokers"]), since, until, followers)


_FETCHER = r"^broker-(?P<broker>\d+)-fetcher-\d+$"


def _followers(requests: pa.Table, span: tuple[datetime, datetime]) -> Iterator[tuple[tuple[int, int], float]]:
    """The longest time between the answer to a fetch and the next fetch of each follower of a leader, whose requests of
    brokers these are."""
    fetches = requests.filter(pc.equal(requests["api"], "FETCH"))
    ids = pc.struct_field(pc.extract_regex(fetches["client_id"], _FETCHER), "broker")
    rows = fetches.select(["broker", "time", "total_ms"]).append_column("follower", ids).to_pylist()
    asked = defaultdict[tuple[int, int], list[tuple[datetime, datetime]]](list)
    for row in (row for row in rows if row["follower"] is not None):
        begin = row["time"] - timedelta(milliseconds=row["total_ms"] or 0.0)
        asked[row["broker"], int(row["follower"])].append((begin, row["time"]))
    for (leader, follower), times in asked.items():
        those = sorted([(span[0], span[0]), *times, (span[1], span[1])])
        pauses = (later - answered for (_, answered), (later, _) in pairwise(those))
        yield (leader, follower), max(pauses) / timedelta(milliseconds=1)


def _in_time(frame: pa.Table, row: Row, since: datetime) -> pa.Table:
    """REQUESTS of one broker in the time that was observed."""
    is_observed = pc.and_(pc.greater_equal(frame["time"], since), pc.less_equal(frame["time"], row["until"]))
    return frame.filter(is_observed).select(schemas.REQUESTS.names).cast(schemas.REQUESTS.schema)


def for_share_groups(kafka: LiveKafka) -> pa.Table | None:
    """RECORD_SIZES of all topics; None without a share group, or where the sizes may not be read."""
    if "share" not in group_types(kafka).values():
        return None
    try:
        return sizes_of(kafka, kafka.topics())
    except KadminError:
        return None
