"""`cluster.quotas`: what is stored, and what it means for a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import DEFAULT_MATCH, EXACT, SPECIFIED, Component
from ..client_configs.kafka import LiveKafka
from ..errors import UsageError
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, OVERRIDDEN, Aside, Page
from ..frames.schemas import notes_of, stamped
from ..frames.views import MOST_ACROSS
from ..hints import did_you_mean
from ..model.entity import Entity
from ..model.grammar import ANY, DEFAULT, LEFT_OUT, Selector, matcher, selector
from ..model.quota_keys import QUOTA_KEYS, find
from ..resolution.rules import entity_of, stored_of
from ..resolution.shadows import comes_first, tree
from . import near_names

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..state import History
    from ..usage.near_and_top import NearAnswer
    from . import Cluster
    from .audits import QuotaFindings
    from .why import WhyAnswer


class QuotasAnswer(Answer):
    """QUOTAS, shown with a mark on each quota that a more specific one overrides, if they are all of a cluster.

    Such a quota is of clients without a client-id alone, or of none.
    """

    def __init__(self, table: pa.Table, *, is_all: bool = False) -> None:
        super().__init__(table)
        self._is_all = is_all

    @cached_property
    def _standings(self) -> list[str | None]:
        """The words of quotas that others come before; nothing where that is not known, or would not be read."""
        if not self._is_all or len(self) > MOST_ACROSS or len(pc.unique(self._table["entity"])) < 2:
            return []
        rows = self._table.to_pylist()
        stored, entities = stored_of(rows), map(entity_of, rows)
        first = (e and comes_first(stored, e, row["key"]) for e, row in zip(entities, rows, strict=True))
        return ["overridden" if one else None for one in first]

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if not any(self._standings):
            return [self._table]
        return [self._table.append_column("standing", pa.array(self._standings, pa.string()))]

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if any(self._standings):
            yield Aside(f"{OVERRIDDEN}: a more specific quota comes first for clients with a client-id.")
        yield from super()._footer(page)


class Quotas:
    """The client quotas of a cluster (KIP-546)."""

    def __init__(self, kafka: LiveKafka, cluster: Callable[[], Cluster | None] = lambda: None) -> None:
        self._kafka, self._cluster = kafka, cluster

    def describe(
        self,
        *,
        user: object = LEFT_OUT,
        client_id: object = LEFT_OUT,
        ip: object = LEFT_OUT,
        entity: Mapping[str, object] | None = None,
        keys: Sequence[str] | None = None,
        strict: bool = False,
    ) -> Answer:
        """QUOTAS as stored, sorted by entity and key; one call.

        Parameters
        ----------
        user, client_id, ip
            A name, `kn.DEFAULT`, `kn.ANY` (the default included) or `kn.Pattern("team-*")`; a list of them is their
            union.
        entity
            KIP-546's open map, `{"user": "alice", "group": kn.DEFAULT}`.
        keys
            Only these quota keys.
        strict
            Only entities of exactly these parts.

        Raises
        ------
        UsageError
            A key that neither Kafka nor any quota of this cluster has; the hint has the nearest one.
        NotAuthorized
            DESCRIBE_CONFIGS on the cluster is missing.
        """
        self._refuse_unknown(keys)
        chosen = _chosen(user, client_id, ip, entity)
        table = self._kafka.quotas.describe([_component(kind, part) for kind, part in chosen.items()], strict=strict)
        for kind, part in chosen.items():
            table = _filtered(table, kind, part)
        if keys is not None:
            table = table.filter(pc.is_in(table["key"].cast(pa.string()), pa.array(list(keys), pa.string())))
        return QuotasAnswer(stamped(table, self._kafka.id), is_all=not chosen and keys is None)

    def resolve(
        self,
        user: object = None,
        client_id: object = "",
        *,
        pairs: object = None,
        ip: object = None,
        keys: Sequence[str] | None = None,
        overridden: bool = False,
        assume_default: bool = False,
        engine: str | None = None,
    ) -> Answer:
        """EFFECTIVE: which quota applies to each client, key by key, at which level, and who shares it.

        Parameters
        ----------
        user, client_id
            One client, or lists of names (every user with every client-id). `kn.ANY` and `kn.Pattern("team-*")` mean
            the names that quotas are set on; give other clients by name. `kn.DEFAULT`, and a client-id without a user,
            mean each user that no quota names: null in the answer. No quota of client-ids applies to a blank client-id.
        pairs
            Instead: PAIRS as a list of (user, client_id), any Arrow, pandas or polars frame, a Spark DataFrame, or the
            path of a Parquet or CSV file. A row without a user is refused.
        ip
            Instead: an address, a pattern, or a list of them; the answer is EFFECTIVE_IP.
        overridden
            Also list the overridden quotas, most specific first.
        assume_default
            Answer by Kafka's own rules even if a custom callback decides; the answer's metadata says so.
        engine
            "arrow", in this process, or "spark". Default: Arrow up to two million pairs, Spark above that if there is a
            session. An answer of Spark is lazy: it shows its first rows, `to_spark()` has all rows.

        Raises
        ------
        NotKnowable
            A broker sets `client.quota.callback.class`.
        NotFound
            No quota is set on a name that matches a pattern.
        """
        from . import resolving

        self._refuse_unknown(keys)
        if ip is not None:
            return resolving.of_ips(self._kafka, ip, user, pairs, assume_default)
        if pairs is not None:
            return resolving.of_many(self._kafka, pairs, engine, keys, overridden, assume_default)
        if engine is not None:
            raise UsageError("engine is for pairs", hint="Leave it out for one client, or a few.")
        clients = resolving.clients_of(self._kafka, user, client_id)
        return resolving.of_clients(self._kafka, clients, keys, overridden, assume_default)

    def why(
        self,
        user: object,
        client_id: object = "",
        *,
        keys: Sequence[str] | None = None,
        usage: object = None,
    ) -> WhyAnswer:
        """WHY: what slows one client, its limits, who shares them, how much of them is used, and what would lift them.

        `.brakes` is BRAKES: quotas that throttled it, a custom callback, each with its culprit and the change that
        lifts it. Where a broker sets
        `client.quota.callback.class`, the limits are those that Kafka's own rules would give.

        Parameters
        ----------
        user, client_id
            One client; a blank client-id means a client without one.
        keys
            Only these quota keys.
        usage
            USAGE, in Spark or as anything with `__arrow_c_stream__`: adds the use of each limit, how often it
            throttled, and which known clients share it. REQUESTS add for how long.

        Raises
        ------
        UsageError
            No user, or several; a key that is unknown.
        """
        from .why import why

        self._refuse_unknown(keys)
        cluster = self._cluster()
        stage = None if cluster is None else cluster.stage
        return why(self._kafka, user, client_id, keys=keys, usage=usage, stage=stage)

    def audit(
        self, clients: object = None, *, keys: Sequence[str] | None = None, assume_default: bool = False
    ) -> QuotaFindings:
        """FINDINGS of the quotas: what repeats, never applies, or is missing. Nothing is changed.

        `finding` is `shadowed` (another quota always wins), `redundant` (the same limit applies without it),
        `unlimited` (clients without a limit) or `client-ids` (generated ones, by pattern; where `clients` are given).
        `.only("redundant")` chooses, and `stage.add(found.edits())` stages the removals that change no limit and no
        bucket.

        Parameters
        ----------
        clients
            The known clients, PAIRS or USAGE: Kafka keeps no list of them. Default, for `unlimited`: each user that
            quotas name, and any other user, with a client-id that no quota names and without one.
        keys, assume_default
            As of `resolve`.

        Raises
        ------
        NotKnowable
            A broker sets `client.quota.callback.class`.
        """
        from .audits import quota_audit

        self._refuse_unknown(keys)
        return quota_audit(self._kafka, clients, keys, assume_default)

    def near_miss(
        self,
        *,
        user: object = LEFT_OUT,
        client_id: object = LEFT_OUT,
        ip: object = LEFT_OUT,
        entity: Mapping[str, object] | None = None,
    ) -> str | None:
        """A hint if `describe` found nothing: the nearest name that has quotas, or None."""
        return near_names.entities(self._kafka, _chosen(user, client_id, ip, entity))

    def _refuse_unknown(self, keys: Sequence[str] | None) -> None:
        """Refuse a key that we do not know, unless a quota of that key is set here: a Kafka to come may have more."""
        strange = [key for key in keys or () if find(key) is None]
        if not strange:
            return
        known = {key.name for key in QUOTA_KEYS} | set(pc.unique(self._kafka.quotas.describe()["key"]).to_pylist())
        if key := next((key for key in strange if key not in known), None):
            raise UsageError(f"{key} is not a quota key", hint=did_you_mean(key, sorted(known), _ONE_OF))

    def utilisation(
        self,
        usage: object,
        *,
        keys: Sequence[str] | None = None,
        history: History | None = None,
        assume_default: bool = False,
        engine: str | None = None,
    ) -> Answer:
        """UTILISATION of this cluster's current limits, as `kn.usage.utilisation(usage, …)`.

        Parameters
        ----------
        usage
            USAGE, in Spark or as anything with `__arrow_c_stream__`; rows of other clusters are ignored.
        keys, assume_default
            As of `resolve`.
        history
            The result of `open_history`: each window is compared with the limit of its time instead.
        engine
            "arrow", in this process, or "spark". Default: usage in Spark stays there; other usage uses Arrow up to
            `usage.engines.ARROW_ROWS` rows. An answer of Spark is lazy.

        Raises
        ------
        NotKnowable
            A broker sets `client.quota.callback.class`.
        """
        from ..usage.engines import placed_usage, utilisation_answer
        from . import resolving

        marks = resolving.marks(self._kafka, assume_default)
        limits = self._kafka.quotas.describe() if history is None else history
        return utilisation_answer(placed_usage(usage, engine), limits, self._kafka.id, keys, marks)

    def near(
        self,
        usage: object,
        *,
        percent: float = 80.0,
        keys: Sequence[str] | None = None,
        history: History | None = None,
        assume_default: bool = False,
        engine: str | None = None,
    ) -> NearAnswer:
        """NEAR: clients near or over a limit of this cluster, or throttled; the worst first.

        `.coverage` says which of the brokers the usage has, and from when to when: of the others nothing is known.

        Parameters
        ----------
        usage
            USAGE, or REQUESTS such as those of `cluster.observe(20).requests()`.
        keys, history, assume_default, engine
            As of `utilisation`.
        percent
            The share of a limit, in percent, from which a bucket counts as near.

        Raises
        ------
        NotKnowable
            A broker sets `client.quota.callback.class`.

        Examples
        --------
        >>> requests = kn.usage.requests("logs/", broker=1, tz="UTC")  # doctest: +SKIP
        >>> cluster.quotas.near(kn.usage.usage(requests))  # doctest: +SKIP
        """
        from ..usage import near
        from .observation import Observed
        from .why import requests_and_usage

        seen_now, notes = Observed.of(usage) is not None, notes_of(usage) if isinstance(usage, pa.Table) else ()
        _, usage = requests_and_usage(usage)
        used = self.utilisation(usage, keys=keys, history=history, assume_default=assume_default, engine=engine)
        brokers = [broker.id for broker in self._kafka.brokers()]
        quotas = self.describe(keys=keys).to_arrow()
        are_of_now = history is None and not seen_now
        return near(used, percent, brokers=brokers, quotas=quotas, are_of_now=are_of_now, notes=notes)

    def tree(self) -> Answer:
        """TREE: the hierarchy, and which quotas are shadowed; shown as a tree."""
        from .resolving import marks

        marked = marks(self._kafka, assume_default=True)
        return Answer(stamped(tree(self._kafka.quotas.describe()), self._kafka.id, marked))


_ONE_OF = f"One of {', '.join(key.name for key in QUOTA_KEYS)}."
_PART_COLUMNS = {"user": "user", "client-id": "client_id", "ip": "ip"}


def _chosen(user: object, client_id: object, ip: object, entity: Mapping[str, object] | None) -> dict[str, Selector]:
    named = {"user": user, "client-id": client_id, "ip": ip}
    parts = {**(entity or {}), **{kind: value for kind, value in named.items() if value is not LEFT_OUT}}
    return {kind: selector(kind, value) for kind, value in parts.items()}


def _component(kind: str, chosen: Selector) -> Component:
    if chosen == (DEFAULT,):
        return Component(kind, DEFAULT_MATCH)
    if len(chosen) == 1 and isinstance(chosen[0], str):
        return Component(kind, EXACT, chosen[0])
    return Component(kind, SPECIFIED)


def _filtered(table: pa.Table, kind: str, chosen: Selector) -> pa.Table:
    """Selectors that the broker's filter cannot express: lists and patterns."""
    if _component(kind, chosen).match != SPECIFIED or ANY in chosen:
        return table
    if kind in _PART_COLUMNS:
        names = table[_PART_COLUMNS[kind]].to_pylist()
    else:
        parts = (Entity.parse(text).get(kind) for text in table["entity"].to_pylist())
        names = [None if part is DEFAULT else str(part) for part in parts]
    return table.filter(pa.array(map(matcher(chosen), names), pa.bool_()))
