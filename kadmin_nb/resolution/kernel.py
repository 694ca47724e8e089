"""Quotas made ready for look-ups, and the frames that come out of them.

`Index.of(quotas, keys)` reads and checks the quotas once; `index.resolve(pairs)` may then be called for any
number of pairs. `index.tables` and the functions of `lookup` are all that a Spark worker needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, NotKnowable, UsageError
from ..frames import schemas
from ..frames.given_frames import text_column
from ..model.findings import Row
from ..model.grammar import DEFAULT, format_word
from ..model.levels import DEFAULT_IP, IP
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS
from . import input_columns, lookup
from .input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL
from .lookup import Tables
from .quota_tables import StoredRows, tables_of
from .rules import address

__all__ = ["Index", "resolve", "resolve_general", "resolve_ip"]

Shape = Literal["long", "wide"]

PAIRS = "the pairs"
Names = dict[str, pa.ChunkedArray]
Found = list[tuple[pa.Array, ...]]


@dataclass(frozen=True)
class Index:
    """Quotas of one or many clusters, ready for `resolve`. `stamp` is where and when they were taken."""

    tables: Tables
    stamp: dict[bytes, bytes] | None = None

    @classmethod
    def of(cls, quotas: Any, keys: str | Iterable[str] | None = None, *, overridden: bool = False) -> Index:
        """Read QUOTAS rows of the eight user and client levels; ip quotas and unknown entities are passed over.

        Parameters
        ----------
        quotas
            Anything with `__arrow_c_stream__` that has `level`, `user`, `client_id`, `key`, `value`.
        keys
            The keys to resolve, any name; default: the four of users and clients.
        overridden
            Keep what is needed to list overridden quotas too.

        Raises
        ------
        UsageError
            Not a frame, a column is missing or of another type, or a key is named twice.
        Invalid
            An entity and key appear twice, a level is unknown or does not fit its row's names, or a null value.
        """
        table = input_columns.read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL)
        return cls(tables_of(StoredRows.of(table), asked_keys(keys), overridden), input_columns.stamp(table))

    def resolve(self, pairs: Any, *, shape: Shape = "long", threads: int | None = None) -> pa.Table:
        """The effective quotas of each pair, in their order; see `resolve`. `threads` is all cores by default."""
        return self.of_names(pair_columns(pairs, self.tables.clusters is not None), shape, threads)

    def of_names(self, clients: Names, shape: Shape = "long", threads: int | None = None) -> pa.Table:
        """The same of names that were read; null is each that no quota names."""
        check_shape(shape, self.tables.chains is not None)
        names = clients["user"], clients["client_id"], clients.get(CLUSTER)
        resolved = lookup.resolve(self.tables, *names, threads=threads or pa.cpu_count())
        frame = (self._wide if shape == "wide" else self._long)(clients, resolved)
        return schemas.marked(frame, self.stamp)

    def _wide(self, clients: Names, resolved: Found) -> pa.Table:
        schema = input_columns.led(schemas.effective_wide(self.tables.keys), clients)
        kinds = [list(schema.field(key).type) for key in self.tables.keys]
        structs = [pa.StructArray.from_arrays(parts, fields=kind) for parts, kind in zip(resolved, kinds, strict=True)]
        return pa.Table.from_arrays([*clients.values(), *structs], schema=schema)

    def _long(self, clients: Names, resolved: Found) -> pa.Table:
        """The keys one below the other: chunks over the same names, nothing is copied."""
        schema = input_columns.led(schemas.effective(self.tables.chains is not None), clients)
        keys, count = pa.array(self.tables.keys, pa.string()), len(clients["user"])
        words = [_word(keys, number, count) for number in range(len(keys))]
        names = [pa.chunked_array(column.chunks * len(keys), pa.string()) for column in clients.values()]
        answers = [[word, *parts] for word, parts in zip(words, resolved, strict=True)]
        parts = [[row[i] for row in answers] for i in range(len(schema) - len(names))]
        kinds = list(schema)[len(names) :]
        return pa.Table.from_arrays(
            [*names, *(pa.chunked_array(p, f.type) for p, f in zip(parts, kinds, strict=True))], schema=schema
        )


def resolve(
    quotas: Any,
    pairs: Any,
    *,
    keys: str | Iterable[str] | None = None,
    overridden: bool = False,
    shape: Shape = "long",
) -> pa.Table:
    """The quota that applies to each client, key by key, as EFFECTIVE; no broker is asked.

    Parameters
    ----------
    quotas
        QUOTAS, as anything with `__arrow_c_stream__` (Arrow, pandas, Polars, an Answer). The columns `level`, `user`,
        `client_id`, `key`, `value` and `cluster_id` are read; ip quotas and unknown entities are ignored.
    pairs
        PAIRS: `user`, and `client_id` (null or "" = the client sends none, so no quota of client-ids applies). Order
        and duplicates are kept. A `cluster_id` on both sides is part of the match.
    keys
        The keys to resolve, any name; default: the four of users and clients.
    overridden
        Also the column `overridden`: the quotas that match but lost, most specific first.
    shape
        "long": a row for each key and pair, key by key. "wide": a row for each pair, a struct for each key.

    Returns
    -------
    pyarrow.Table
        `user`, `client_id`, `key`, then: `value` in the key's unit, per broker, null = unlimited; `level` that won;
        `bucket_user` and `bucket_client_id`, the bucket that shares the limit, "" if that part is not in it.

    Raises
    ------
    UsageError
        Not a frame, a missing column or one of another type, `cluster_id` on one side only.
    Invalid
        A null user, an entity and key twice in the quotas, a level that is unknown or does not fit its names.

    Examples
    --------
    >>> quotas = pa.table({"level": ["USER"], "user": ["alice"], "client_id": pa.array([None], pa.string()),
    ...                    "key": ["producer_byte_rate"], "value": [1e6]})
    >>> pairs = pa.table({"user": ["alice", "bob"], "client_id": ["app", "app"]})
    >>> resolve(quotas, pairs, keys="producer_byte_rate").select(["user", "value", "level"]).to_pylist()
    [{'user': 'alice', 'value': 1000000.0, 'level': 'USER'}, {'user': 'bob', 'value': None, 'level': None}]
    """
    return Index.of(quotas, keys, overridden=overridden).resolve(pairs, shape=shape)


def resolve_general(
    quotas: pa.Table, pairs: pa.Table, *, keys: str | Iterable[str] | None = None, overridden: bool = False
) -> pa.Table:
    """`resolve` of PAIRS in which null is each name that no quota names; in its answer it is null, too.

    A client without a client-id has "" here.
    """
    clients = {name: pairs[name].cast(pa.string()) for name in ("user", "client_id")}
    resolved = Index.of(quotas, keys, overridden=overridden).of_names(clients)
    if not any(column.null_count for column in clients.values()):
        return resolved
    for name in (*clients, "bucket_user", "bucket_client_id"):
        field = resolved.schema.field(name).with_nullable(True)
        texts = resolved[name].cast(pa.string())
        values = texts.dictionary_encode() if pa.types.is_dictionary(field.type) else texts
        resolved = resolved.set_column(resolved.schema.get_field_index(name), field, values)
    return resolved


def check_shape(shape: Shape, overridden: bool) -> None:
    """Refuse a form that is not known, and the wide one where overridden quotas are asked for.

    Raises
    ------
    UsageError
    """
    if shape not in ("long", "wide"):
        raise UsageError(f"shape={shape!r} is not known", hint='It is "long" or "wide".')
    if shape == "wide" and overridden:
        raise UsageError("overridden quotas come in the long form only", hint='Leave shape="wide" out.')


def asked_keys(keys: str | Iterable[str] | None) -> tuple[str, ...]:
    """The keys to resolve: those given, or the four of users and clients."""
    keys_asked = USER_CLIENT_KEYS if keys is None else (keys,) if isinstance(keys, str) else tuple(keys)
    twice = sorted({key for key in keys_asked if keys_asked.count(key) > 1})
    if twice:
        raise UsageError(f"{', '.join(twice)} is named twice")
    return keys_asked


def pair_columns(pairs: Any, by_cluster: bool) -> Names:
    """`user` and `client_id` of the pairs, and first `cluster_id` where the quotas have it, as strings without nulls.

    Raises
    ------
    UsageError, Invalid
        A column is missing, or `cluster_id` on one side only; a null user.
    """
    table = input_columns.read_columns(pairs, ("user", "client_id"), PAIRS)
    input_columns.check_clusters(table.column_names, PAIRS, by_cluster)
    texts = {name: text_column(table, name, PAIRS) for name in table.column_names}
    client_ids = texts["client_id"]
    texts["client_id"] = pc.fill_null(client_ids, "") if client_ids.null_count else client_ids
    return {name: input_columns.non_null_column(text, name, PAIRS) for name, text in texts.items()}


def _word(dictionary: pa.Array, code: int, count: int) -> pa.Array:
    """The same word `count` times."""
    return pa.DictionaryArray.from_arrays(pa.array(np.full(count, code, np.int32)), dictionary)


# --- the ip quota that binds new connections, for many addresses ---

IPS = "the ips"
OfAddresses = dict[tuple[str | None, str | None], list[Row]]
"""The ip quotas by cluster (None of the only one) and address (None of the default ip), one for each spelling."""


def resolve_ip(quotas: Any, ips: Any) -> pa.Table:
    """The quota that applies to new connections from each address, as EFFECTIVE_IP; no broker is asked.

    Parameters
    ----------
    quotas
        QUOTAS, as anything with `__arrow_c_stream__`; `level`, `ip`, `key`, `value` and `cluster_id` are read.
    ips
        A list of addresses, or a frame with the column `ip`. Order and duplicates are kept.

    Returns
    -------
    pyarrow.Table
        `ip`, `key` (connection_creation_rate), `value` in connections per second on a broker, null = unlimited,
        `level`: `IP`, `DEFAULT_IP` or null. Addresses are compared as addresses; a quota on a host name is found by
        that name only, since only brokers know its address.

    Raises
    ------
    UsageError
        Not a frame, a missing column or one of another type, `cluster_id` on one side only.
    Invalid
        A null address, or an entity and key twice in the quotas.
    NotKnowable
        An address has quotas under two spellings; Kafka uses whichever was written last.
    """
    stored = input_columns.read_columns(quotas, ("level", "ip", "key", "value"), QUOTAS_LABEL)
    addresses = input_columns.read_columns(
        pa.table({"ip": pa.array(ips, pa.string())}) if isinstance(ips, list) else ips, ("ip",), IPS
    )
    input_columns.check_clusters(addresses.column_names, IPS, CLUSTER in stored.column_names)
    input_columns.non_null_column(text_column(addresses, "ip", IPS), "ip", IPS)
    by_address = _by_address(stored)
    rows = [{**row, **_bound(row.get(CLUSTER), row["ip"], by_address)} for row in addresses.to_pylist()]
    schema = input_columns.led(schemas.EFFECTIVE_IP.schema, addresses.column_names)
    return schemas.marked(schemas.table(schema, rows), input_columns.stamp(stored))


def _by_address(stored: pa.Table) -> OfAddresses:
    found: OfAddresses = defaultdict(list)
    for row in stored.to_pylist():
        if row["level"] in (IP, DEFAULT_IP) and row["key"] == IP_KEYS[0]:
            same = found[row.get(CLUSTER), address(row["ip"]) if row["level"] == IP else None]
            if any(other["ip"] == row["ip"] for other in same):
                entity = format_word("ip", row["ip"] if row["level"] == IP else DEFAULT)
                raise Invalid(f"{row['key']} of {entity} is twice in {QUOTAS_LABEL}")
            same.append(row)
    return found


def _bound(cluster: str | None, ip: str, by_address: OfAddresses) -> Row:
    """The key, the value and the level of one row of the answer."""
    own, default = (by_address.get((cluster, name), []) for name in (address(ip), None))
    if len(own) > 1:
        entities = " and ".join(sorted(format_word("ip", row["ip"]) for row in own))
        raise NotKnowable(
            f"{entities} are one address ({address(ip)}): brokers use whichever was written last",
            hint="Remove one of them.",
        )
    first = next(iter((*own, *default)), {"value": None, "level": None})
    return {"key": IP_KEYS[0], "value": first["value"], "level": first["level"]}
