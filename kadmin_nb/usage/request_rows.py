"""Requests out of the lines of a request log, a batch at a time: who asked, when, for how much, and of which broker.

Spark's workers run it (`spark_lines.py`), and so does this process (`request_log.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, NotFound, UsageError, printable
from ..frames import schemas
from ..resolution.input_columns import CLUSTER
from .arithmetic import SHARE_FETCH
from .log_lines import is_part, parsed_columns
from .written_times import READ_FORMATS, Times, times, zone_of

INTER_BROKER = r"(?i)^(CONTROLLER|CONTROLPLANE|REPLICATION|INTER[-_]?BROKER)"
"""The listeners that are not for clients, unless somebody says which: a regular expression of their names."""

BROKERS_ONLY = (
    "ALLOCATE_PRODUCER_IDS", "ALTER_PARTITION", "ASSIGN_REPLICAS_TO_DIRS", "BEGIN_QUORUM_EPOCH", "BROKER_HEARTBEAT",
    "BROKER_REGISTRATION", "CONTROLLED_SHUTDOWN", "CONTROLLER_REGISTRATION", "DELETE_SHARE_GROUP_STATE",
    "END_QUORUM_EPOCH", "FETCH_SNAPSHOT", "INITIALIZE_SHARE_GROUP_STATE", "LEADER_AND_ISR", "READ_SHARE_GROUP_STATE",
    "READ_SHARE_GROUP_STATE_SUMMARY", "STOP_REPLICA", "UPDATE_METADATA", "UPDATE_RAFT_VOTER", "VOTE",
    "WRITE_SHARE_GROUP_STATE", "WRITE_TXN_MARKERS",
)  # fmt: skip
"""Requests that only brokers and controllers send, on any listener."""

LOWEST_VERSIONS = {
    "ALTER_REPLICA_LOG_DIRS": 1, "CREATE_ACLS": 1, "CREATE_DELEGATION_TOKEN": 1, "CREATE_TOPICS": 2, "DELETE_ACLS": 1,
    "DELETE_TOPICS": 1, "DESCRIBE_ACLS": 1, "DESCRIBE_CONFIGS": 1, "DESCRIBE_DELEGATION_TOKEN": 1,
    "DESCRIBE_LOG_DIRS": 1, "EXPIRE_DELEGATION_TOKEN": 1, "FETCH": 4, "LIST_OFFSETS": 1, "OFFSET_COMMIT": 2,
    "OFFSET_FETCH": 1, "OFFSET_FOR_LEADER_EPOCH": 2, "PRODUCE": 3, "RENEW_DELEGATION_TOKEN": 1,
}  # fmt: skip
"""The lowest version that Kafka 4.0 takes, of each request of clients of which it removed some: `validVersions` of its
messages, and `deprecatedVersions` of those of 3.9. KIP-896 names more, JOIN_GROUP among them, that were kept. That a
broker of 4.0 offers PRODUCE from 0 on is for librdkafka, which looks for it: it refuses 0 to 2 (KAFKA-18659)."""

NOT_KAFKA = "not a line of Kafka's request log"
OLD_KAFKA = "Kafka before 2.8 writes no JSON"
CUT = "cut by the container runtime"
BROKEN = "the JSON is broken, or not Kafka's"
NO_TIME = "no date and time in front that can be read, or that this tz has"
NO_ZONE = "the time has no offset, and no tz was given"
OTHER_ZONE = "the word behind the time is not a name of the zone tz"
NO_BROKER = "its path names no broker"

FORWARDED, OF_BROKERS, OF_FOLLOWERS = "forwarded", "inter-broker", "follower"
"""The reasons for which a request is not a client's."""

IDENTITY = ("broker", "time", "connection", "correlation_id", "api")
"""The columns that identify a request; a line that is read twice is one request."""

REMARKS = ("unsized", "ambiguous")
"""The columns that say what is to be known of a request."""

SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("line", pa.string()),
        ("fault", pa.string()),
        ("reason", pa.string()),
        *((name, pa.bool_()) for name in REMARKS),
        (CLUSTER, pa.string()),
        *((field.name, field.type) for field in schemas.REQUESTS.schema),
    ]
)
"""The columns of lines that were read. `fault`: why it is not a usable request, null where it is one. `reason`: why it
is none of a client's, null where it is one."""

ALL, OF_CLIENTS, FAULTY = "all", "of clients", "faulty"
"""The lines that may be meant."""

SAMPLE = 20
"""Requests that are looked at before anything else is read."""

_FETCHER = r"^broker-\d+-fetcher-\d+$"
_SIZED = pa.array(["PRODUCE", "FETCH", SHARE_FETCH], pa.string())

BROKER_HINT = r"Pass broker=3, or a pattern of the paths such as r'broker-(\d+)/'."
_BROKER = pa.int32()


def check_paths(broker: int | str, paths: Iterable[str]) -> None:
    """Refuse a path without a broker, where it should name it.

    Raises
    ------
    UsageError
    """
    for path in paths if isinstance(broker, str) else ():
        if _id_in(path, str(broker)) is None:
            problem = f"the path {path} does not match {broker}, which should name its broker"
            raise UsageError(problem, hint=BROKER_HINT)


def _id_in(path: str | None, pattern: str) -> int | None:
    """The broker's id, which is the first group of the pattern."""
    found = re.search(pattern, path or "", re.ASCII)
    digits = found[1] if found else None
    return int(digits) if digits and digits.isdecimal() and int(digits) < 1 << 31 else None


def _check_broker(broker: object) -> None:
    """Refuse what is neither an id nor a pattern that can find one.

    Raises
    ------
    UsageError
    """
    if broker is None:
        raise UsageError("the broker that wrote the log is not named", hint=BROKER_HINT)
    if isinstance(broker, int):
        return
    try:
        groups = re.compile(str(broker)).groups
    except re.error:
        groups = 0
    if not groups:
        raise UsageError(f"{broker} is not a regular expression with a group", hint=BROKER_HINT)


@dataclass(frozen=True)
class LogReader:
    """Lines into requests: whose broker's they are, its time zone, and the listeners that are not for clients."""

    broker: int | str
    tz: str | None
    inter_broker: str
    cluster_id: str | None = None

    @classmethod
    def of(cls, broker: Any, tz: str | None, cluster_id: str | None, inter_broker: str | Iterable[str]) -> LogReader:
        """The reader that the options of `requests` ask for; `inter_broker` names listeners, or is a pattern of theirs.

        Raises
        ------
        UsageError
            Not a time zone; no broker is named, or no pattern that finds one.
        """
        zone_of(tz)  # refuses what is none
        _check_broker(broker)
        if not isinstance(inter_broker, str):
            inter_broker = "^(" + "|".join(map(re.escape, inter_broker)) + ")$"
        return cls(broker, tz, inter_broker, cluster_id)

    @property
    def columns(self) -> list[str]:
        """The names of the columns that it gives, in their order."""
        return [name for name in SCHEMA.names if name != CLUSTER or self.cluster_id is not None]

    @property
    def request_schema(self) -> pa.Schema:
        """The columns without the line's path and text."""
        return pa.schema([SCHEMA.field(name) for name in self.columns if name not in ("path", "line")])

    def rows(self, paths: pa.Array, lines: pa.Array) -> pa.RecordBatch:
        """The lines as SCHEMA has them; the cluster's id only where it is known."""
        texts, parsed = parsed_columns(lines)
        columns = {"path": paths, "line": texts, **self._request_columns(paths, parsed)}
        is_broken = pc.fill_null(pc.equal(columns["fault"], BROKEN), False)
        if pc.any(is_broken).as_py():
            of_parts = pc.if_else(is_part(texts.filter(is_broken)), CUT, BROKEN)
            columns["fault"] = pc.replace_with_mask(columns["fault"], is_broken, of_parts)
        schema = pa.schema([SCHEMA.field(name) for name in self.columns])
        return pa.RecordBatch.from_arrays([columns[name] for name in self.columns], schema=schema)

    def _brokers(self, paths: pa.Array) -> pa.Array:
        """The broker of each line; null where its path has none."""
        if isinstance(self.broker, int):
            return pa.repeat(pa.scalar(self.broker, _BROKER), len(paths))
        each = paths.dictionary_encode()
        return pa.array([_id_in(path, self.broker) for path in each.dictionary.to_pylist()], _BROKER).take(each.indices)

    def _request_columns(self, paths: pa.Array, parsed: dict[str, pa.Array]) -> dict[str, pa.Array]:
        client_id, api = pc.fill_null(parsed["client_id"], ""), parsed["api"]
        clock = times(parsed["written"], self.tz)
        columns = {
            **parsed,
            "time": clock.instants,
            "broker": self._brokers(paths),
            "user": pc.replace_substring_regex(parsed["principal"], "^[^:]*:", ""),
            "client_id": client_id,
            "deprecated": pc.fill_null(parsed["deprecated"], False),
            "bytes_in": pc.if_else(pc.equal(api, "PRODUCE"), parsed["produced"], None),
            "bytes_out": pc.if_else(pc.equal(api, "FETCH"), parsed["fetched"], None),
            "ambiguous": clock.is_ambiguous,
        }
        columns["reason"] = self._reasons(columns)
        columns["fault"] = _faults(columns, clock, self.tz)
        columns["unsized"] = _all(
            columns["bytes_in"].is_null(), columns["bytes_out"].is_null(), pc.is_in(api, value_set=_SIZED)
        )
        return {**columns, CLUSTER: pa.repeat(self.cluster_id or "", len(paths))}

    def _reasons(self, columns: dict[str, pa.Array]) -> pa.Array:
        """Why each is none of a client's; null where it is one."""
        api, listeners = columns["api"], columns["listener"].dictionary_encode()
        between_brokers = [re.search(self.inter_broker, name) is not None for name in listeners.dictionary.to_pylist()]
        by_replica = pc.greater_equal(pc.coalesce(columns["replica"], columns["old_replica"]), 0)
        is_fetcher = pc.coalesce(by_replica, pc.match_substring_regex(columns["client_id"], _FETCHER))
        cases = {
            FORWARDED: _any(columns["forwarded"], pc.equal(api, "ENVELOPE")),
            OF_BROKERS: _any(
                pa.array(between_brokers, pa.bool_()).take(listeners.indices), pc.is_in(api, value_set=_ONLY)
            ),
            OF_FOLLOWERS: _all(pc.equal(api, "FETCH"), is_fetcher),
        }
        return _first_case(cases)


_ONLY = pa.array(BROKERS_ONLY, pa.string())


def is_chosen(fault: pa.Array, reason: pa.Array, which: str) -> pa.Array:
    """Is the line one that is meant?"""
    return fault.is_valid() if which == FAULTY else pc.and_(fault.is_null(), reason.is_null())


def _faults(columns: dict[str, pa.Array], clock: Times, tz: str | None) -> pa.Array:
    """The fault of each line; null where it is a usable request."""
    written, is_timeless = columns["written"], columns["time"].is_null()
    missing = (columns[name].is_null() for name in ("api", "user", "connection", "correlation_id"))
    cases = {
        NOT_KAFKA: written.is_null(),
        OLD_KAFKA: columns["is_old"],
        BROKEN: _any(*missing),
        **({NO_ZONE: _all(is_timeless, clock.has_no_zone)} if tz is None else {}),
        OTHER_ZONE: clock.has_other_zone,
        NO_TIME: is_timeless,
        NO_BROKER: _all(columns["broker"].is_null(), columns["reason"].is_null()),  # a controller has its own ports
    }
    return _first_case(cases)


def _first_case(cases: dict[str, pa.Array]) -> pa.Array:
    """The name of the first case that holds, null where none does."""
    conditions = pa.StructArray.from_arrays(list(cases.values()), names=[str(number) for number in range(len(cases))])
    return pc.case_when(conditions, *(pa.scalar(name) for name in cases), pa.scalar(None, pa.string()))


def _any(*conditions: pa.Array) -> pa.Array:
    """Does one of them hold? What is unknown does not."""
    return reduce(pc.or_, (pc.fill_null(condition, False) for condition in conditions))


def _all(*conditions: pa.Array) -> pa.Array:
    """Do all of them hold? What is unknown does not."""
    return reduce(pc.and_, (pc.fill_null(condition, False) for condition in conditions))


def refuse_sample(sampled: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a log of whose first requests none can be read; `path` and `fault` of each.

    Raises
    ------
    UsageError
        The times need a zone.
    Invalid
        None can be read.
    """
    faults = {row["fault"]: row for row in reversed(sampled)}
    if NO_ZONE in faults:
        problem = f"the times in {faults[NO_ZONE]['path']} have no offset"
        raise UsageError(problem, hint="Pass tz='Europe/Berlin', or tz='UTC'.")
    if None not in faults:
        fault = sampled[0]["fault"]
        raise Invalid(f"no request in {sampled[0]['path']} can be read: {fault}", hint=_FAULT_HINTS.get(fault))


_FAULT_HINTS = {
    OLD_KAFKA: "Its metrics tell the usage, from a Prometheus for example; since 2.8 the log is JSON.",
    CUT: "`kubectl logs`, `docker logs` and collectors of logs put the parts together.",
    NO_BROKER: BROKER_HINT,
    BROKEN: "A line is log4j's prefix, Completed request:, and Kafka's JSON, or that in a string of a JSON object.",
    NO_TIME: READ_FORMATS,
    OTHER_ZONE: "Pass the brokers' zone as tz, one that has that name.",
}


_WRITTEN_AT = (
    "kafka.request.logger writes all requests at DEBUG or TRACE; from Kafka 3.9.1 on, at INFO, those of deprecated"
    " versions only."
)


def refuse_without_requests(sampled: Sequence[Mapping[str, Any]], first: Mapping[str, Any] | None, source: str) -> None:
    """Refuse a log without a request that can be read, by its first requests and its first line.

    Raises
    ------
    UsageError, Invalid
        As `refuse_sample`; the `path` and `line` of its first line are not of a request log.
    NotFound
        It has no line.
    """
    if sampled:
        refuse_sample(sampled)
    elif first is not None:
        problem = f"{first['path']} is not a request log of Kafka: {printable(first['line'][:80])}"
        raise Invalid(problem, hint="kafka.request.logger writes it.")
    else:
        raise NotFound(f"no line in {source}", hint=_WRITTEN_AT)
