"""The quota that binds a client, asked of a cluster: what to fetch, whether it can be known, and the reasons; of very
many clients, where they are resolved."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import DEFAULT_MATCH, EXACT, SPECIFIED, Broker, Component, serving
from ..admin.wire import PATIENCE
from ..client_configs.kafka import LiveKafka
from ..errors import Invalid, NotFound, NotKnowable, UsageError, printable
from ..frames import frame_files, schemas
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.given_frames import arrow_table, column_of, refuse_other_than_text
from ..frames.lazy_answer import SparkAnswer, answered, placed
from ..frames.meanings import general_client
from ..frames.schemas import CLUSTER_ID, NOTES, TAKEN_AT, noted, now, stamped
from ..hints import Hint, Option, sentence
from ..model.config_values import ConfigValue
from ..model.findings import Row
from ..model.grammar import DEFAULT, Selector, format_word, matcher, parts
from ..model.levels import IP, SHARERS
from ..model.quota_keys import CALLBACK, IP_KEYS, on_all_brokers, readable
from ..resolution import kernel
from ..resolution.input_columns import CLUSTER, check_clusters
from ..resolution.kernel import resolve_ip
from ..resolution.rules import Effective, explain, is_host_name, stored_of

if TYPE_CHECKING:
    from ..frames.blocks import Block


BROKERS = "kadmin.brokers"
"""The number of brokers, in an answer's metadata: each limit holds on each of them."""

MANY = sentence("{} takes many.", Option("pairs", "NAME"))
FEW = 8
"""Clients up to which filters are cheaper than describing everything."""


class EffectiveAnswer(Answer):
    """EFFECTIVE, and for a few clients the reasons in words."""

    def __init__(self, table: pa.Table, explanation: tuple[Effective, ...] = ()) -> None:
        super().__init__(table)
        self.explanation = explanation

    def _title(self) -> str:
        """The number of limits that bind, whom, and who draws from the same."""
        if self._client is None:
            return super()._title()
        binding = [reason for reason in self.explanation if reason.level is not None]
        return _finding(binding, self._client)

    @property
    def _client(self) -> str | None:
        """The one client that the answer is about; None for several, and for very many."""
        clients = {general_client(reason.user, reason.client_id) for reason in self.explanation}
        return clients.pop() if len(clients) == 1 else None

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """With the reasons, where they are known; of one client its keys, as the title names the client."""
        if not self.explanation:
            return [self._table]
        shown = self._table.select(["key", "value", "level"]) if self._client else self._table
        why = {(r.user, r.client_id, r.key): r.why if self._client else r.origin for r in self.explanation}
        rows = zip(*(self._table[name].to_pylist() for name in ("user", "client_id", "key")), strict=True)
        return [shown.append_column("why", pa.array([why.get(row, "") for row in rows], pa.string()))]

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The names that a default stands for, and the limits of one client on all brokers together."""
        names = {"user": self._table["user"], "client-id": self._table["client_id"]}
        unnamed = [kind for kind, column in names.items() if column.null_count and self.ok]
        yield from (f"{kind}=<default> means every {kind} that no quota names." for kind in unnamed)
        brokers = int((self._table.schema.metadata or {}).get(BROKERS.encode(), b"1"))
        limits = [
            f"{reason.key} {readable(reason.key, on_all_brokers(reason.key, reason.value, brokers))}"
            for reason in self.explanation
            if reason.value is not None
        ]
        if limits and brokers > 1 and self._client:
            yield f"Limits apply per broker; on all {brokers} together: {', '.join(limits)}."
        yield from self.notes

    def _whose(self, row: dict[str, Any]) -> str:
        return general_client(row["user"], row["client_id"])


def _finding(binding: Sequence[Effective], who: str) -> str:
    """The finding on one client."""
    if not binding:
        return printable(f"nothing limits {who}")
    shared = [reason for reason in binding if reason.is_shared]
    count = "1 limit applies to" if len(binding) == 1 else f"{len(binding)} limits apply to"
    sharing = SHARERS[shared[0].level or ""] if len(shared) == 1 else "shared with other clients"
    also = f"; {len(shared)} {'is' if len(shared) == 1 else 'are'} {sharing}" if shared else "; none is shared"
    return printable(f"{count} {who}{also}")


def reasons(quotas: pa.Table, clients: pa.Table, keys: list[str]) -> tuple[Effective, ...]:
    """The reasons for which each client is bound as it is, key by key; null is each name that no quota names."""
    stored = stored_of(quotas.to_pylist())
    names = zip(clients["user"].to_pylist(), clients["client_id"].to_pylist(), strict=True)
    return tuple(reason for user, client_id in names for reason in explain(stored, user, client_id, keys))


def of_clients(
    kafka: LiveKafka, clients: pa.Table, keys: Sequence[str] | None, overridden: bool, assume_default: bool,
) -> EffectiveAnswer:  # fmt: skip
    """EFFECTIVE for PAIRS in which null is each name that no quota names.

    For a few of them only what could bind them is fetched, and the reasons are the table.
    """
    few = clients.num_rows <= FEW
    ask = partial(quotas_of, kafka, clients) if few else kafka.quotas.describe
    marked, quotas = kafka.together(partial(marks, kafka, assume_default), ask)
    asked = kernel.asked_keys(keys)
    if not few:
        resolved = kernel.resolve_general(quotas, clients, keys=asked, overridden=overridden)
        return EffectiveAnswer(stamped(resolved, kafka.id, marked))
    explanation = reasons(quotas, clients, [*asked])
    of_keys = sorted(explanation, key=lambda reason: asked.index(reason.key))
    schema, names = schemas.effective(overridden), ("user", "client_id", "bucket_user", "bucket_client_id")
    if any(reason.user is None or reason.client_id is None for reason in of_keys):
        schema = pa.schema([field.with_nullable(field.nullable or field.name in names) for field in schema])
    return EffectiveAnswer(stamped(schemas.table(schema, map(row_of, of_keys)), kafka.id, marked), explanation)


def row_of(reason: Effective) -> Row:
    """EFFECTIVE's row of a reason."""
    bucket_user, bucket_client_id = reason.bucket or (None, None)
    return {
        "user": reason.user,
        "client_id": reason.client_id,
        "key": reason.key,
        "value": reason.value,
        "level": reason.level,
        "bucket_user": bucket_user,
        "bucket_client_id": bucket_client_id,
        "overridden": [{"level": lost.level, "value": lost.value} for lost in reason.overridden],
    }


def of_pairs(
    kafka: LiveKafka, pairs: pa.Table, keys: Sequence[str] | None, overridden: bool, assume_default: bool
) -> EffectiveAnswer:
    """EFFECTIVE for given PAIRS. A null client-id is a client that sends none.

    Raises
    ------
    UsageError
        They name clusters, as PAIRS of a fleet do: each cluster has quotas of its own.
    Invalid
        A user is null.
    """
    check_clusters(pairs.column_names, kernel.PAIRS, False)
    if pairs["user"].null_count:
        place = pc.index(pc.is_null(pairs["user"]), True).as_py() + 1
        raise Invalid(f"user is null in row {place} of the pairs")
    client_ids = pc.fill_null(pairs["client_id"].cast(pa.string()), "")
    clients = pa.table({"user": pairs["user"], "client_id": client_ids})
    return of_clients(kafka, clients, keys, overridden, assume_default)


def of_many(
    kafka: LiveKafka, pairs: object, engine: str | None, keys: Sequence[str] | None, overridden: bool,
    assume_default: bool,
) -> Answer:  # fmt: skip
    """EFFECTIVE for PAIRS of any number: by the Arrow kernel here, or by the same kernel on Spark's workers."""
    clients = _pairs(pairs, engine)
    if isinstance(clients, pa.Table):
        return of_pairs(kafka, clients, keys, overridden, assume_default)
    from ..fleets import resolve

    marked = marks(kafka, assume_default)
    resolved = resolve(kafka.quotas.describe(), clients, keys=keys, overridden=overridden)
    return answered(resolved, {CLUSTER_ID: kafka.id, TAKEN_AT: now(), **marked})


def of_ips(kafka: LiveKafka, ip: object, user: object, pairs: object, assume_default: bool) -> Answer:
    """EFFECTIVE_IP for an address or a list of them."""
    if user is not None or pairs is not None:
        raise UsageError("ip quotas are separate from those of users and client-ids", hint="Ask for ip= alone.")
    mark = marks(kafka, assume_default)
    ips = _names(kafka, "ip", ip)
    quotas = kafka.quotas.describe([Component("ip", SPECIFIED)])
    found = resolve_ip(quotas, pa.table({"ip": pa.array(ips, pa.string())}))
    of_addresses = (row for row in quotas.to_pylist() if (row["level"], row["key"]) == (IP, IP_KEYS[0]))
    hosts = [row for row in of_addresses if is_host_name(row["ip"])]
    notes = _notes_on_hosts(found, hosts, assume_default)
    return Answer(noted(stamped(found, kafka.id, mark), notes))


def _notes_on_hosts(found: pa.Table, hosts: Sequence[Row], assume_default: bool) -> list[str]:
    """The sentence on quotas on host names, of which any may be of any of these addresses.

    Raises
    ------
    NotKnowable
        An address has no quota of its own, and may so have that of a host name.
    """
    if not hosts:
        return []
    named = ", ".join(sorted(f"{row['entity']} ({readable(row['key'], row['value'])})" for row in hosts))
    said = f"there are quotas on host names, of which only brokers know the addresses: {named}"
    unsure = (row["ip"] for row in found.to_pylist() if row["level"] != IP)
    if not assume_default and (first := next(unsure, None)) is not None:
        raise NotKnowable(
            f"the limit of {format_word('ip', first)} is not known: {said}",
            hint=Hint(
                "'getent hosts NAME' on a broker shows them.",
                sentence("{} answers as if they were of other addresses.", Option("assume_default")),
            ),
        )
    return [said]


def quotas_of(kafka: LiveKafka, clients: pa.Table) -> pa.Table:
    """QUOTAS that could bind these few clients, asked for with filters; no entity comes twice."""
    quotas = pa.concat_tables(kafka.quotas.describe_each(filters(clients))).unify_dictionaries()
    is_asked = pc.is_in(quotas["client_id"], pa.array({*clients["client_id"].to_pylist()}, pa.string()))
    return quotas.filter(pc.or_(is_asked, pc.is_null(quotas["client_id"])))


def marks(kafka: LiveKafka, assume_default: bool) -> dict[str, str]:
    """The remarks on the answer, the number of brokers among them; refuses when one decides by a class of its own."""
    registered = kafka.brokers()
    brokers = [broker for broker in registered if not broker.is_fenced]
    rows = broker_rows(kafka, brokers, (CALLBACK,), synonyms=False)
    found, missing = marks_of(rows, len(brokers), assume_default), unread(registered, rows)
    notes = [*missing.values(), *own_rules(rows)]
    return {**found, NOTES: "\n".join(map(printable, notes))} if notes else found


def notes_on_callbacks(kafka: LiveKafka) -> list[str]:
    """A sentence for each broker that decides quotas by a class of its own."""
    return own_rules(broker_rows(kafka, serving(kafka), (CALLBACK,), synonyms=False))


def own_rules(rows: Iterable[Row]) -> list[str]:
    """The same, out of rows of CONFIGS."""
    custom = (row for row in rows if row["key"] == CALLBACK and row["value"])
    return [
        f"broker {row['resource_name']} decides quotas by {CALLBACK}={row['value']}: what is stored may not apply"
        for row in custom
    ]


def marks_of(rows: Collection[Row], brokers: int, assume_default: bool) -> dict[str, str]:
    """The same, of so many brokers' rows of CONFIGS."""
    callbacks = own_rules(rows)
    if callbacks and not assume_default:
        how = sentence("{} answers by Kafka's own rules.", Option("assume_default"))
        raise NotKnowable(callbacks[0], hint=Hint("No tool can predict it.", how))
    assumed = {"kadmin.assumed": "Kafka's own rules, although a custom callback decides"} if callbacks else {}
    return {BROKERS: str(brokers), **assumed}


def broker_rows(
    kafka: LiveKafka, brokers: Iterable[Broker], keys: Sequence[str], *, synonyms: bool = True
) -> list[Row]:
    """The rows of CONFIGS of these brokers; a frozen one does not hold up the others'."""
    rows: list[Row] = []
    for broker in brokers:
        rows += kafka.configs.describe([broker.resource], keys, synonyms=synonyms, timeout=PATIENCE).to_pylist()
    return rows


def unread(brokers: Iterable[Broker], rows: Iterable[Row]) -> dict[int, str]:
    """A sentence for each broker of which nothing was read: it is down, or did not answer."""
    down = {one.id: f"broker {one.id} is down (registered, and fenced)" for one in brokers if one.is_fenced}
    failed = {int(row["resource_name"]): row["message"] or row["error"] for row in rows if row["error"]}
    return {**down, **{broker: f"broker {broker} was not read: {why}" for broker, why in sorted(failed.items())}}


def values_of(rows: Iterable[Row]) -> list[ConfigValue]:
    """The values in these rows of CONFIGS; what a broker does not tell is left out."""
    return [ConfigValue.of(row) for row in rows if row["error"] is None and row["key"]]


def filters(clients: pa.Table) -> Iterator[tuple[list[Component], bool]]:
    """The describes that find every entity that could bind these clients: components, and whether strict.

    A broker walks all its entities for each describe, so few and coarse ones beat an exact one for each level:
    all of a user, all of the default user, and each client-id alone.
    """
    users, client_ids = (sorted(set(clients[name].to_pylist()) - {"", None}) for name in ("user", "client_id"))
    yield from (([Component("user", EXACT, user)], False) for user in users)
    yield [Component("user", DEFAULT_MATCH)], False
    yield from (([Component("client-id", EXACT, name)], True) for name in client_ids)
    yield [Component("client-id", DEFAULT_MATCH)], True


def clients_of(kafka: LiveKafka, user: object, client_id: object) -> pa.Table:
    """PAIRS: every one of these users with every one of these client-ids; null is any that no quota names.

    Raises
    ------
    UsageError
        Neither of them, or more clients than are resolved in this process.
    NotFound
        A pattern that no name matches on which a quota is set.
    """
    if user is None and client_id in ("", None):
        raise UsageError("resolve needs a user or client-id", hint=Hint("For example user=alice client-id=app.", MANY))
    users, client_ids = _names(kafka, "user", DEFAULT if user is None else user), _names(kafka, "client-id", client_id)
    if len(users) * len(client_ids) > ARROW_PAIRS:
        clients = f"{len(users):,} users with {len(client_ids):,} client-ids"
        raise UsageError(f"{clients} are more than {ARROW_PAIRS:,} clients", hint=Hint(MANY))
    pairs = [*product(users, client_ids)]
    columns = [pa.array([pair[part] for pair in pairs], pa.string()) for part in (0, 1)]
    return pa.table(columns, ["user", "client_id"])


def _names(kafka: LiveKafka, kind: str, value: object) -> list[str | None]:
    """The names that are asked for. A pattern, and any, stand for those on which quotas are set.

    The default of users and client-ids stands for each that no quota names, and is None here.
    """
    if value is None:
        raise UsageError(f"resolve needs a {kind}", hint=Hint("For example user=alice client-id=app.", MANY))
    chosen = parts(kind, value)
    if DEFAULT in chosen and kind == "ip":
        raise UsageError("ip=<default> is not an address", hint="Ask for one that no quota names.")
    names = [None if part is DEFAULT else str(part) for part in chosen if isinstance(part, str) or part is DEFAULT]
    patterns = tuple(part for part in chosen if part is not DEFAULT)
    return names if len(names) == len(chosen) else list(dict.fromkeys([*names, *_matching(kafka, kind, patterns)]))


def _matching(kafka: LiveKafka, kind: str, chosen: Selector) -> list[str]:
    """The names that match and on which a quota is set, sorted."""
    quotas = kafka.quotas.describe([Component(kind, SPECIFIED)])
    stored = pc.unique(quotas[kind.replace("-", "_")]).drop_null().to_pylist()
    if matching := sorted(filter(matcher(chosen), stored)):
        return matching
    asked = " ".join(format_word(kind, part) for part in chosen if not isinstance(part, str))
    raise NotFound(
        f"no quota matches {asked}", hint=f"A {kind} without quotas of its own is asked for by name: {kind}=NAME."
    )


# --- the pairs of very many clients, and where they are resolved ---

ARROW_PAIRS = 2_000_000
"""Pairs that the Arrow kernel takes in this process, in about two seconds and half a GB; Spark's are more."""

_PAIR_COLUMNS = ("user", "client_id")
_PAIRS = "the pairs"


def _pairs(pairs: object, engine: str | None) -> Any:
    """These pairs where the engine that is asked for wants them, else by their number.

    A Spark DataFrame is asked for one row more than Arrow would take. No session is started unless Spark is asked for.

    Raises
    ------
    UsageError
        There is no such engine, the pairs are none, or a column of them is missing.
    """
    if isinstance(pairs, SparkAnswer):
        pairs = pairs.to_spark()
    if sparks.is_spark(pairs):
        return _of_frame(pairs, engine)
    if isinstance(pairs, str | os.PathLike):
        if not Path(pairs).exists():
            raise NotFound(f"no such file: {pairs}")
        return _of_frame(frame_files.read_table(Path(pairs)), engine)
    return _of_frame(pairs_of(pairs), engine)


def _of_frame(frame: Any, engine: str | None) -> Any:
    columns = frame.column_names if isinstance(frame, pa.Table) else frame.columns
    schemas.require_columns(_PAIRS, _PAIR_COLUMNS, columns)
    read = [name for name in ("cluster_id", *_PAIR_COLUMNS) if name in columns]
    return placed(frame.select(read), engine, ARROW_PAIRS)


def pairs_of(pairs: object) -> pa.Table:
    """PAIRS from a list of (user, client_id), or a frame.

    Raises
    ------
    UsageError
        Neither of them, or the first row that is not a pair of names.
    """
    if hasattr(pairs, "__arrow_c_stream__"):
        table = arrow_table(pairs, (CLUSTER, *_PAIR_COLUMNS), _PAIRS)
        refuse_other_than_text(table, _PAIR_COLUMNS, _PAIRS)
        return table
    if not isinstance(pairs, list | tuple):
        raise UsageError(f"pairs cannot be a {type(pairs).__name__}", hint="A list of (user, client_id), or a frame.")
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise UsageError(f"row {number} of {_PAIRS} is not a pair", hint="For example ('alice', 'app').")
    users, ids = zip(*pairs, strict=True) if pairs else ((), ())
    names = {"user": users, "client_id": ids}
    return pa.table([column_of(names[name], name, _PAIRS) for name in names], schema=schemas.PAIRS.schema)
