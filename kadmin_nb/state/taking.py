"""`cluster.snapshot()`: everything that is set on a cluster, read once, part by part.

A part that cannot be read is named with its reason, and the rest is read: a topic of another program that is called as
ours, or a right that is missing, ends nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.wire_kinds import RESOURCES_A_CALL, chunks
from ..client_configs.kafka import LiveKafka
from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, NotAuthorized, Unsupported
from ..frames import schemas
from ..model.changes import AppliedRow, Target
from ..model.client_configs import CONFIGS_TOPIC
from ..model.resources import THROTTLE_KEYS, Resource, Source, is_throttle
from ..model.scram import ScramUser
from .snapshot_kinds import CLIENT_CONFIGS, CONFIGS, CREDENTIALS, QUOTAS, SCOPES, SnapshotKind
from .snapshots import Snapshot, UnreadPart, snapshot

_OWN = (Source.TOPIC, Source.GROUP, Source.CLIENT_METRICS)
_GONE = ("UNKNOWN_TOPIC_OR_PARTITION", "RESOURCE_NOT_FOUND", "GROUP_ID_NOT_FOUND")


def snapshot_of(
    kafka: LiveKafka,
    scopes: Collection[str] = SCOPES,
    applied_since: Callable[[datetime], Iterable[AppliedRow]] | None = None,
) -> Snapshot:
    """All quotas, every config that is set somewhere, at the place where it is set, all dynamic client configs, and the
    mechanisms and iterations of all SCRAM users.

    Parameters
    ----------
    scopes
        The parts to read; nothing is asked about the others.
    applied_since
        The rows that plans have changed on this cluster since a time.

    Returns
    -------
    Snapshot
        A part that could not be read is in `unread`, and not in `scopes`.

    Raises
    ------
    KadminError
        The error of the first part, if nothing could be read.
    """
    began = kafka.now()
    done: list[str] = []
    failed: dict[str, KadminError] = {}
    tables: dict[SnapshotKind, list[pa.Table]] = {}
    for kind, scope, read in _parts(kafka):
        if scope not in scopes:
            continue
        try:
            table = read()
        except KadminError as error:
            if isinstance(error, ConnectionFailed | AuthenticationFailed) and not done:
                raise  # no broker answers at all
            failed[scope] = error
            continue
        if table is not None:
            done.append(scope)
            tables.setdefault(kind, []).append(table)
    if failed and all(map(_has_failed, chain(*tables.values()))):
        raise next(iter(failed.values()))
    frames = {kind.name: pa.concat_tables(parts) for kind, parts in tables.items()}
    configs = _sorted(frames.get(CONFIGS.name, schemas.CONFIGS.empty()))
    return snapshot(
        {**frames, CONFIGS.name: configs} if CONFIGS in tables else frames,
        cluster_id=kafka.id,
        taken_at=began,
        scopes=done,
        unread=[UnreadPart.of(scope, error) for scope, error in failed.items()],
        throttling=kafka.throttling(_throttles(configs)),
        applied_since=applied_since,
    )


def _parts(kafka: LiveKafka) -> Iterator[tuple[SnapshotKind, str, Callable[[], pa.Table | None]]]:
    """Each part, and what reads it: None of one that the broker cannot tell."""
    (of_clients,), (of_users,) = CLIENT_CONFIGS.scopes, CREDENTIALS.scopes
    yield QUOTAS, "QUOTAS", kafka.quotas.describe
    for scope in CONFIGS.scopes:
        yield CONFIGS, scope, partial(_configs_of_type, kafka, scope)
    yield CLIENT_CONFIGS, of_clients, partial(client_configs_of, kafka)
    yield CREDENTIALS, of_users, partial(_credentials_of, kafka)


def _configs_of_type(kafka: LiveKafka, scope: str) -> pa.Table | None:
    resources = _resources(kafka, scope)
    return None if resources is None else configs_of(kafka, resources, _own)


def _throttles(configs: pa.Table) -> list[Target]:
    """The throttles that are set; most clusters have none, and are not asked what is copied."""
    rows = configs.filter(pc.is_in(configs["key"].cast(pa.string()), pa.array(THROTTLE_KEYS, pa.string()))).to_pylist()
    targets: list[Target] = [(Resource(row["resource_type"], row["resource_name"]), row["key"]) for row in rows]
    return [target for target in targets if is_throttle(target)]


def _has_failed(table: pa.Table) -> bool:
    """True of configs of which none could be read."""
    return "error" in table.column_names and len(table) > 0 and table["error"].null_count == 0


def client_configs_of(kafka: LiveKafka) -> pa.Table | None:
    """CLIENT_CONFIGS; None where their topic may not be seen and may not exist: who has none needs no right on it.

    Raises
    ------
    NotAuthorized, Invalid, TimedOut
        The topic is there, and cannot be read.
    """
    try:
        return kafka.client_configs.describe()
    except NotAuthorized:
        if (is_there := _is_listed(kafka, CONFIGS_TOPIC)) is None:
            return None
        if is_there:
            raise
        return schemas.CLIENT_CONFIGS.empty()


def _is_listed(kafka: LiveKafka, topic: str) -> bool | None:
    """True if the topic exists, as the list with forbidden topics says; None where that list cannot be had."""
    try:
        return Resource("TOPIC", topic) in kafka.configs.resources(["TOPIC"])
    except (NotAuthorized, Unsupported):
        return None


def _credentials_of(kafka: LiveKafka) -> pa.Table:
    """The iterations of every user's mechanisms."""
    rows = kafka.scram.describe().to_pylist()
    return CREDENTIALS.sorted_rows(
        CREDENTIALS.row(ScramUser(row["user"]), row["mechanism"], row["iterations"]) for row in rows
    )


# --- configs ---


def _resources(kafka: LiveKafka, scope: str) -> Sequence[Resource] | None:
    """The resources of a type; None of groups before Kafka 4.1, which cannot list them.

    Topics are config resources where that is possible: a list from metadata leaves out the topics that we may not see,
    and a right that was lost would look like topics that were deleted.
    """
    if scope == "BROKER":
        return [Resource("BROKER", ""), *(Resource("BROKER", str(broker.id)) for broker in kafka.brokers())]
    try:
        return kafka.configs.resources([scope])
    except Unsupported:
        return [Resource("TOPIC", name) for name in kafka.topics()] if scope == "TOPIC" else None


def listed_resources(kafka: LiveKafka) -> list[Resource]:
    """All resources that this broker can list."""
    return [resource for scope in CONFIGS.scopes for resource in _resources(kafka, scope) or ()]


def configs_of(
    kafka: LiveKafka,
    resources: Iterable[Resource],
    kept: Callable[[pa.Table], pa.Table] = lambda configs: configs,
    keys: Sequence[str] | None = None,
) -> pa.Table:
    """CONFIGS of many resources, all or these keys, of each answer what is `kept`."""
    answers = (kafka.configs.describe(part, keys) for part in chunks(resources, RESOURCES_A_CALL))
    return pa.concat_tables([schemas.CONFIGS.empty(), *map(kept, answers)])


def _own(configs: pa.Table) -> pa.Table:
    """The configs set on each resource itself, a broker's static values included, and the unreadable ones."""
    source, error = pc.field("source").cast(pa.string()), pc.field("error")
    is_broker = pc.field("resource_type").cast(pa.string()) == "BROKER"
    of_one = source.isin([Source.BROKER, Source.FILE])
    of_all = (pc.field("resource_name") == "") & (source == Source.ALL_BROKERS)
    failed = error.is_valid() & ~error.isin(_GONE)
    return configs.filter(source.isin(_OWN) | (is_broker & (of_one | of_all)) | failed)


def _sorted(configs: pa.Table) -> pa.Table:
    order = pa.table({n: configs[n].cast(pa.string()) for n in ("resource_type", "resource_name", "key")})
    return configs.take(pc.sort_indices(order, sort_keys=[(n, "ascending") for n in order.column_names]))
