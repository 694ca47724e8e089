"""CLIENTS: who uses which versions of Kafka's API, out of REQUESTS, and whom Kafka 4.0 would refuse for it (KIP-896).

On Spark the requests are added up by client and version first; a client's few rows are put together by workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..fleets.workers import of_whole_groups
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.frame import COUNT, MOMENT
from ..frames.relational import (
    Frame,
    Measure,
    added_up,
    checked,
    cluster_of,
    framed,
    in_arrow,
    names_of,
    taken,
    where,
    words_of,
)
from ..frames.schema_metadata import ENGINE
from ..frames.spark import is_spark, is_stream
from ..frames.views import counted_nouns
from ..resolution.input_columns import CLUSTER, led
from .bucket_figures import Groups
from .request_log import Requests

KAFKA = "Kafka 4.0"

LOWEST = {
    "ALTER_REPLICA_LOG_DIRS": 1, "CREATE_ACLS": 1, "CREATE_DELEGATION_TOKEN": 1, "CREATE_TOPICS": 2, "DELETE_ACLS": 1,
    "DELETE_TOPICS": 1, "DESCRIBE_ACLS": 1, "DESCRIBE_CONFIGS": 1, "DESCRIBE_DELEGATION_TOKEN": 1,
    "DESCRIBE_LOG_DIRS": 1, "EXPIRE_DELEGATION_TOKEN": 1, "FETCH": 4, "LIST_OFFSETS": 1, "OFFSET_COMMIT": 2,
    "OFFSET_FETCH": 1, "OFFSET_FOR_LEADER_EPOCH": 2, "PRODUCE": 3, "RENEW_DELEGATION_TOKEN": 1,
}  # fmt: skip
"""The lowest version that Kafka 4.0 takes, of each request of clients of which it removed some: `validVersions` of its
messages, and `deprecatedVersions` of those of 3.9. KIP-896 names more, JOIN_GROUP among them, that were kept. That a
broker of 4.0 offers PRODUCE from 0 on is for librdkafka, which looks for it: it refuses 0 to 2 (KAFKA-18659)."""

REFUSED, UNKNOWN, ACCEPTED = "refused", "unknown", "accepted"

_COLUMNS = (
    *("time", "user", "client_id", "api", "api_version", "deprecated", "software_name", "software_version"),
    "connection",
)
_SOFTWARE = ("user", "client_id", "software_name", "software_version")
_LABEL = "the requests"
_ASKS = "API_VERSIONS"
"""The request by which a client asks for versions, before the broker knows its software; all of them are taken."""

_REMOTE = r"-(?P<address>[^-]+):\d+-\d+(?:-\d+)?$"
"""The client's end of a connection, as Kafka writes it: `10.0.0.1:9092-10.0.4.7:49034-1`."""

_OF_VERSIONS: dict[str, Measure] = {
    "requests": ("count_rows", ""),
    "deprecated": ("count_true", "deprecated"),
    "last_seen": ("max", "time"),
    "connection": ("first", "connection"),
}


def clients(requests: Requests | Any) -> Frame:
    """CLIENTS: the software and the API versions of each client, and whether Kafka 4.0 would refuse it.

    Parameters
    ----------
    requests
        The result of `requests(…)`, or any frame with the columns of REQUESTS.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        Where the requests are; on Spark it is lazy. A row for each software and version that a user and client-id came
        with; an old client does not name its software, and is `unknown`, as the broker writes it. `state` is *refused*
        where Kafka 4.0 lacks a version that was used, *unknown* where the log lacks a version on which that depends,
        else *accepted*. Requests of brokers do not count, nor API_VERSIONS, by which clients ask. A broker of 4.0 or
        newer writes no line about what it refuses. `cluster_id` is the first column if the requests have one.

    Raises
    ------
    UsageError
        Not a frame, a column is missing or of another kind, or it is a stream.

    Examples
    --------
    >>> clients(requests("kafka-request.log", broker=1, tz="UTC"))  # doctest: +SKIP
    """
    rows = _rows(requests)
    by, words = [*cluster_of(rows), *_SOFTWARE], words_of(rows)
    asked = where(rows, words.column("api") != _ASKS)
    versions = added_up(asked, [*by, "api", "api_version"], _OF_VERSIONS, in_order=True)
    schema = led(schemas.CLIENTS.schema, by)
    found = framed(of_whole_groups(versions, by, put_together, (tuple(by),), schema), schema)
    return found if is_spark(found) else _in_order(found, by)


class ClientsAnswer(Answer):
    """CLIENTS: those that Kafka 4.0 would refuse first, then those of which it is unknown."""

    def _title(self) -> str:
        """How many of the clients would be refused, of how many it is unknown, and what the log cannot tell."""
        counts = self._counts()
        known = sum(counts.values())
        if not known:
            return "No client sent a request."
        refused, unknown = counts[REFUSED], counts[UNKNOWN]
        if refused == known and self._has_deprecated_alone():
            return f"{counted_nouns(refused, 'client', 'clients')} would be refused by {KAFKA}{_OTHERS}"
        share = f"{refused:,}" if refused else "None"
        found = f"{share} of {counted_nouns(known, 'client', 'clients')} would be refused by {KAFKA}"
        lacking = f"; of {unknown:,} it is unknown, as the log lacks versions of their requests" if unknown else ""
        return f"{found}{lacking}"

    def made_by(self, why: str) -> ClientsAnswer:
        """The same, which says by which engine."""
        return ClientsAnswer(schemas.marked(self._table, {ENGINE: why}))

    @property
    def differing(self) -> Answer:
        """The rows of clients that would be refused."""
        return Answer(self._table.filter(pc.equal(self._table["state"], REFUSED)))

    def _counts(self) -> Mapping[str, int]:
        """The number of clients by their state: the worst of their rows."""
        clients = [name for name in (CLUSTER, "user", "client_id") if name in self.columns]
        worst = pc.index_in(self._table["state"], pa.array(_WORST_FIRST))
        ranks = self._table.select(clients).append_column("rank", worst).group_by(clients).aggregate([("rank", "min")])
        found = ranks["rank_min"].to_pylist()
        return {state: found.count(rank) for rank, state in enumerate(_WORST_FIRST)}

    def _has_deprecated_alone(self) -> bool:
        """True where the broker calls each version deprecated: its logger wrote no others."""
        return bool(self._table["api_versions"].equals(self._table["deprecated_versions"]))


_WORST_FIRST = (REFUSED, UNKNOWN, ACCEPTED)
_OTHERS = "; the log has deprecated requests alone, so how many others there are is unknown"


def upgrade_check(requests: Requests | Any) -> ClientsAnswer:
    """CLIENTS for people to read: the same, brought here, with a title that says how many Kafka 4.0 would refuse.

    Parameters
    ----------
    requests
        As of `clients`.

    Raises
    ------
    UsageError
        As of `clients`.
    """
    found = in_arrow(clients(requests), task="Spark looks for the clients")
    by = [name for name in (CLUSTER, *_SOFTWARE) if name in names_of(found)]
    schema = led(schemas.CLIENTS.schema, by)
    return ClientsAnswer(_in_order(found.cast(schema), by))


def _rows(requests: Requests | Any) -> Frame:
    """The columns that are read, each request once."""
    if isinstance(requests, Requests):
        rows = requests.of_clients(_COLUMNS)
        _refuse_stream(rows)
        return requests.once(rows)
    frame = taken(requests, (*_COLUMNS, CLUSTER), _LABEL)
    _refuse_stream(frame)
    names = [*cluster_of(frame), *_COLUMNS]
    return checked(frame, led(schemas.REQUESTS.schema, names), names, _LABEL)


def _refuse_stream(rows: Frame) -> None:
    if is_stream(rows):
        raise UsageError("a stream has no end to list its clients at", hint="Of a table that it writes, or a batch.")


def put_together(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """CLIENTS, out of a row a client's software, API and version; both engines run it, with all rows of each client."""
    in_order = rows.sort_by([("api", "ascending"), ("api_version", "ascending")])
    rows, groups = Groups.sorted(in_order, by, [])
    lowest = pa.array(LOWEST.values(), pa.int32()).take(pc.index_in(rows["api"], pa.array(LOWEST, pa.string())))
    is_unknown = _flags(pc.and_(lowest.is_valid(), rows["api_version"].is_null()))
    is_refused = _flags(pc.less(rows["api_version"], lowest))
    is_deprecated = _flags(pc.greater(rows["deprecated"], 0))
    worst = np.where(is_refused, 0, np.where(is_unknown, 1, 2))
    last_seen = np.asarray(rows["last_seen"].cast(MOMENT).cast(pa.int64()))
    return pa.table({
        **{name: rows[name].take(groups.firsts) for name in by},
        "address": pc.struct_field(pc.extract_regex(rows["connection"], _REMOTE), "address").take(groups.firsts),
        "state": pa.array(_WORST_FIRST).take(groups.reduced(np.minimum, worst)),
        "refused_versions": _versions(rows, groups, is_refused),
        "deprecated_versions": _versions(rows, groups, is_deprecated),
        "api_versions": _versions(rows, groups, np.ones(len(rows), np.bool_)),
        "requests": pa.array(groups.reduced(np.add, np.asarray(rows["requests"])), COUNT),
        "last_seen": pa.array(groups.reduced(np.maximum, last_seen)).cast(MOMENT),
    })  # fmt: skip


def _flags(condition: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(condition, False))


def _versions(rows: pa.Table, groups: Groups, is_meant: npt.NDArray[np.bool_]) -> pa.Array:
    """The APIs and versions of each group's rows that are meant, as a list."""
    ends = np.cumsum(groups.reduced(np.add, is_meant.astype(np.int64)))
    meant = rows.select(["api", "api_version"]).filter(pa.array(is_meant)).combine_chunks()
    columns = [meant["api"].combine_chunks().cast(pa.string()), meant["api_version"].combine_chunks()]
    structs = pa.StructArray.from_arrays(columns, ["api", "version"])
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int32()), structs)


def _in_order(found: pa.Table, by: Sequence[str]) -> pa.Table:
    """Those that are refused first."""
    ranked = found.append_column("rank", pc.index_in(found["state"], pa.array(_WORST_FIRST)))
    return found.take(pc.sort_indices(ranked, [(name, "ascending") for name in ("rank", *by)]))
