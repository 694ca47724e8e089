"""Requests out of the lines of a request log, a batch at a time: who asked, when, for how much, and of which broker.

Spark's workers run it (`spark_lines.py`), and so does this process (`request_log.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas
from ..frames.arrays import flag_array, text_array
from ..resolution.input_columns import CLUSTER
from .broker_names import BrokerNames
from .log_lines import parsed_columns
from .log_times import has_offset, times

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

NOT_KAFKA = "not a line of Kafka's request log"
OLD_KAFKA = "not JSON: an old Kafka wrote it"
BROKEN = "the JSON is broken, or not Kafka's"
NO_TIME = "no time in front that can be read"
NO_ZONE = "the time has no offset, and no tz was given"
NO_SUCH_TIME = "the time does not exist in this tz: the clocks skipped it"
NO_BROKER = "no broker has the local address of its connection"
DAMAGED = "the rest of the file cannot be read"

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

ALL, OF_CLIENTS, OF_OTHERS, FAULTY = "all", "of clients", "of others", "faulty"
"""The lines that may be meant."""

_FETCHER = r"^broker-\d+-fetcher-\d+$"
_SIZED = text_array(["PRODUCE", "FETCH", "SHARE_FETCH"])


@dataclass(frozen=True)
class LogReader:
    """Lines into requests: whose broker's they are, its time zone, and the listeners that are not for clients."""

    broker: BrokerNames
    tz: str | None
    inter_broker: str
    cluster_id: str | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns that it gives, in their order."""
        return [name for name in SCHEMA.names if name != CLUSTER or self.cluster_id is not None]

    def rows(self, paths: pa.Array, lines: pa.Array) -> pa.RecordBatch:
        """The lines as SCHEMA has them; the cluster's id only where there is one."""
        texts, parsed = parsed_columns(lines)
        columns = {"path": paths, "line": texts, **self._request_columns(paths, parsed)}
        return pa.RecordBatch.from_arrays(
            [columns[name] for name in self.columns], schema=pa.schema([SCHEMA.field(name) for name in self.columns])
        )

    def _request_columns(self, paths: pa.Array, parsed: dict[str, pa.Array]) -> dict[str, pa.Array]:
        client_id, api = pc.fill_null(parsed["client_id"], ""), parsed["api"]
        clock = times(parsed["written"], self.tz)
        columns = {
            **parsed,
            "time": clock.instants,
            "broker": self.broker.brokers(paths, parsed["connection"]),
            "user": pc.replace_substring_regex(parsed["principal"], "^[^:]*:", ""),
            "client_id": client_id,
            "bytes_in": pc.if_else(pc.equal(api, "PRODUCE"), parsed["produced"], None),
            "bytes_out": pc.if_else(pc.equal(api, "FETCH"), parsed["fetched"], None),
            "ambiguous": clock.is_ambiguous,
        }
        columns["reason"] = self._reasons(columns)
        columns["fault"] = _faults(columns, clock.is_skipped, self.tz)
        columns["unsized"] = _all(
            columns["bytes_in"].is_null(), columns["bytes_out"].is_null(), pc.is_in(api, value_set=_SIZED)
        )
        return {**columns, CLUSTER: pa.repeat(self.cluster_id or "", len(paths))}

    def _reasons(self, columns: dict[str, pa.Array]) -> pa.Array:
        api = columns["api"]
        by_replica = pc.greater_equal(pc.coalesce(columns["replica"], columns["old_replica"]), 0)
        is_fetcher = pc.coalesce(by_replica, pc.match_substring_regex(columns["client_id"], _FETCHER))
        cases = {
            FORWARDED: _any(columns["forwarded"], pc.equal(api, "ENVELOPE")),
            OF_BROKERS: _any(self._is_inter_broker(columns["listener"]), pc.is_in(api, value_set=_ONLY)),
            OF_FOLLOWERS: _all(pc.equal(api, "FETCH"), is_fetcher),
        }
        return _first_case(cases)

    def _is_inter_broker(self, listeners: pa.Array) -> pa.Array:
        each, pattern = listeners.dictionary_encode(), re.compile(self.inter_broker)
        answers = [pattern.search(name) is not None for name in each.dictionary.to_pylist()]
        return flag_array(answers).take(each.indices)


_ONLY = text_array(BROKERS_ONLY)


def is_chosen(fault: pa.Array, reason: pa.Array, which: str) -> pa.Array:
    """Is the line one of those that are meant?"""
    if which == FAULTY:
        return fault.is_valid()
    return pc.and_(fault.is_null(), reason.is_null() if which == OF_CLIENTS else reason.is_valid())


def listeners_pattern(inter_broker: str | Iterable[str]) -> str:
    """One regular expression for the names of listeners, or the one that there is."""
    if isinstance(inter_broker, str):
        return inter_broker
    return "^(" + "|".join(map(re.escape, inter_broker)) + ")$"


def _faults(columns: dict[str, pa.Array], is_skipped: pa.Array, tz: str | None) -> pa.Array:
    """The fault of each line; null where it is a usable request."""
    written, is_timeless = columns["written"], columns["time"].is_null()
    needs_zone = _all(pc.not_equal(written, ""), pc.invert(has_offset(written)))
    missing = (columns[name].is_null() for name in ("api", "user", "connection", "correlation_id"))
    cases = {
        NOT_KAFKA: written.is_null(),
        OLD_KAFKA: columns["is_old"],
        BROKEN: _any(*missing),
        **({NO_ZONE: _all(is_timeless, needs_zone)} if tz is None else {}),
        NO_TIME: is_timeless,
        NO_SUCH_TIME: is_skipped,
        NO_BROKER: _all(columns["broker"].is_null(), columns["reason"].is_null()),  # a controller has its own ports
    }
    return _first_case(cases)


def _first_case(cases: dict[str, pa.Array]) -> pa.Array:
    """The name of the first case that holds, null where none does."""
    conditions = pa.StructArray.from_arrays(list(cases.values()), names=[str(number) for number in range(len(cases))])
    return pc.case_when(conditions, *(pa.scalar(name) for name in cases), pa.scalar(None, pa.string()))


def _any(*conditions: pa.Array) -> pa.Array:
    """Does one of them hold? What is unknown does not."""
    first, *more = (pc.fill_null(condition, False) for condition in conditions)
    for condition in more:
        first = pc.or_(first, condition)
    return first


def _all(*conditions: pa.Array) -> pa.Array:
    """Do all of them hold? What is unknown does not."""
    first, *more = (pc.fill_null(condition, False) for condition in conditions)
    for condition in more:
        first = pc.and_(first, condition)
    return first
