"""What is read of a cluster to name the brakes of a client, a topic or a broker; and the answer. Of a client its use,
the use of its buckets, and the known clients that share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ..admin.wire import PATIENCE
from ..advice import brake_rules as rules
from ..advice.brake_rules import BITES, BROKER_KEYS, STANDS, ClientFacts, ConfigFacts
from ..client_configs.kafka import LiveKafka
from ..errors import NotAuthorized, NotFound, printable
from ..frames import relational, schemas
from ..frames.answer import Answer, Findings
from ..frames.relational import Frame, Measure, added_up, in_arrow, where, words_of
from ..frames.schemas import noted
from ..frames.views import counted_nouns
from ..model import rights
from ..model.changes import Edit
from ..model.config_values import ConfigValue
from ..model.findings import UNKNOWN as NOT_KNOWN
from ..model.findings import Coverage, Finding, Row
from ..model.resources import THROTTLES, Resource
from ..resolution import kernel
from ..resolution.rules import Effective
from ..usage.arithmetic import throttle_conditions
from ..usage.client_use import ClientUse, client_use
from ..usage.engines import placed_usage, utilisation_answer
from ..usage.limits_used import known_clients
from .audits import is_reassigning
from .observation import Observed, notes_left_on
from .resolving import broker_rows, unread, values_of

NOTHING = "nothing found that slows {}"


class BrakesAnswer(Findings):
    """BRAKES: what slows a client, a topic or a broker; what bites comes first. Its title names the first. A brake of
    which nothing is known is an answer, too: it does not fail. `inactive` names the brakes that were looked for in full
    and do not slow a client."""

    schema = schemas.BRAKES
    failing = ()

    def __init__(
        self,
        whose: str,
        found: Iterable[Finding],
        cluster_id: str | None = None,
        notes: Iterable[str] = (),
        inactive: Iterable[str] = (),
    ) -> None:
        self.whose, self.inactive = whose, tuple(inactive)
        super().__init__((one.with_(number=number) for number, one in enumerate(found, 1)), cluster_id)
        self._table = noted(self._table, notes)

    def edit(self, number: int) -> Edit:
        """The change that lifts the brake of that number, from 1.

        Raises
        ------
        NotFound
            There is no such brake, or no change of ours lifts it.
        """
        if not 1 <= number <= len(self.findings):
            raise NotFound(f"no brake {number} here", hint=f"There are {len(self.findings)}.")
        found = self.findings[number - 1]
        if found.edit is None:
            raise NotFound(f"no change of a quota or config lifts brake {number}", hint=found.fix)
        return found.edit

    def _title(self) -> str:
        """The first brake in a line: what it is, the culprit, and the change that lifts it."""
        if not self.findings:
            return printable(NOTHING.format(self.whose))
        first = self.findings[0]
        others = sum(one.evidence["state"] != STANDS for one in self.findings[1:])
        more = f" ({counted_nouns(others, 'more brake', 'more brakes')} below)" if others else ""
        fix = "" if first.fix is None else f". {to_lift(first)} {first.fix}"
        return printable(f"{cause(self.whose, first)}{fix}{more}")


_VERDICTS = {
    BITES: "is slowed by",
    rules.MAY_BITE: "may be slowed by",
    STANDS: "is not slowed now by",
}


def to_lift(found: Finding) -> str:
    """The words before the change that lifts a brake, or before the line that shows whether it is one."""
    return "To know it:" if found.severity == NOT_KNOWN else "To lift it:"


def cause(whose: str, found: Finding, named: str = "") -> str:
    """A brake in a line: what it is, and whose; `named` is how the line is to name that."""
    brake, is_known = rules.BRAKES[found.code], found.severity != NOT_KNOWN
    if "unseen" in found.evidence:
        return f"{named or whose} {found.evidence['unseen']}"
    if str(found.target) != whose:
        brake += f", {found.target}" + ("" if is_known else ",")
    if not is_known:
        return f"whether {named or whose} is slowed by {brake} is {found.message}"
    return f"{named or whose} {_VERDICTS[found.evidence['state']]} {brake}: {found.message}"


# --- a topic, or a broker ---


def of_config(kafka: LiveKafka, resource: Resource) -> BrakesAnswer:
    """The brakes of a topic or a broker; see `Configs.why`."""
    is_topic = resource.type == "TOPIC"
    table = kafka.configs.describe([resource], [*THROTTLES["TOPIC"]] if is_topic else BROKER_KEYS, timeout=PATIENCE)
    values = [ConfigValue.of(row) for row in Answer(table).raise_for_errors()]  # it has to be there
    facts, missing = ConfigFacts(values, reassigning=is_reassigning(kafka)), dict[int, str]()
    if is_topic:
        brokers = kafka.brokers()
        rows = broker_rows(kafka, [broker for broker in brokers if not broker.is_fenced], BROKER_KEYS)
        missing, down = unread(brokers, rows), {broker.id for broker in brokers if broker.is_fenced}
        partitions = kafka.partitions([resource.name])
        if not partitions:
            needed = f"It needs {rights.on_topic('DESCRIBE', resource.name)}."
            raise NotAuthorized(f"the partitions of {resource} cannot be seen", hint=needed)
        facts = replace(
            facts, configs=[*values, *values_of(rows)], partitions=partitions, brokers=[one.id for one in brokers],
            down=down, unread={*missing} - down,
        )  # fmt: skip
    found = rules.of_topic(resource, facts) if is_topic else rules.of_broker(facts)
    return BrakesAnswer(str(resource), found, kafka.id, [*missing.values(), *notes_left_on(kafka)])


# --- a client ---


_BUCKET = ("key", "level", "bucket_user", "bucket_client_id")


@dataclass(frozen=True)
class BucketUsage:
    """The use of the buckets of a client, by quota key: UTILISATION's rows, and who shares them.

    `use` is the client's own.
    """

    utilisation: Mapping[str, list[Row]]
    sharing: dict[str, list[tuple[str, str]]]
    use: ClientUse

    def columns(self, key: str) -> dict[str, Any]:
        """WHY's columns of one key."""
        rows = self.utilisation.get(key)
        clients = len(self.sharing[key]) if key in self.sharing else None
        if not rows:
            return {"clients": clients}
        highest = max(rows, key=lambda row: -1.0 if row["peak"] is None else row["peak"])
        throttles = [row["throttle_ms"] for row in rows if row["throttle_ms"] is not None]
        shares = [row["share_throttled"] for row in rows if row["share_throttled"] is not None]
        return {
            "clients": clients,
            "windows_unknown": sum(row["windows_unknown"] for row in rows),
            "peak": highest["peak"],
            "busiest": highest["broker"],
            "utilisation": highest["utilisation"],
            "throttle_ms": max(throttles, default=None),
            "share_throttled": max(shares, default=None),
        }


def bucket_usage(kafka: LiveKafka, usage: object, limits: Sequence[Effective]) -> BucketUsage:
    """The use of the buckets that one client draws from, whose limits these are, a key each; of USAGE, in Spark or as
    anything with `__arrow_c_stream__`."""
    used, quotas, keys = placed_usage(usage), kafka.quotas.describe(), [limit.key for limit in limits]
    used = relational.of_cluster(used, kafka.id)
    rows: list[Row] = utilisation_answer(used, quotas, kafka.id, keys, {}).to_arrow().to_pylist()
    by_key = {limit.key: [row for row in rows if _is_of(row, limit)] for limit in limits}
    known = known_clients(used)
    column = words_of(known).column  # no client of another user and client-id can share a bucket
    near = where(known, (column("user") == limits[0].user) | (column("client_id") == limits[0].client_id))
    sharing = _sharing(quotas, in_arrow(near), limits)
    return BucketUsage(by_key, sharing, client_use(used, quotas, limits))


def _is_of(row: Row, limit: Effective) -> bool:
    """True of a row of UTILISATION of the bucket of this limit, under this value; of a key that is not limited, of the
    client's own."""
    names = ("user", "client_id") if limit.bucket is None else ("bucket_user", "bucket_client_id")
    whose = (limit.user, limit.client_id) if limit.bucket is None else limit.bucket
    is_limit = (row["key"], row["level"], row["limit"]) == (limit.key, limit.level, limit.value)
    return is_limit and tuple(row[name] for name in names) == whose


def _sharing(quotas: pa.Table, neighbours: pa.Table, limits: Iterable[Effective]) -> dict[str, list[tuple[str, str]]]:
    """The known clients of each bucket, sorted."""
    buckets = {limit.key: (limit.key, limit.level, *limit.bucket) for limit in limits if limit.bucket is not None}
    found: dict[str, list[tuple[str, str]]] = {key: [] for key in buckets}
    for row in kernel.resolve(quotas, neighbours, keys=[*buckets]).to_pylist():
        if tuple(row[name] for name in _BUCKET) == buckets[row["key"]]:
            found[row["key"]].append((row["user"], row["client_id"]))
    return {key: sorted(clients) for key, clients in found.items()}


def with_usage(facts: ClientFacts, used: BucketUsage, brokers: Iterable[int], observed: Observed | None) -> ClientFacts:
    """The facts with the use of the client and of its buckets.

    Parameters
    ----------
    brokers
        The brokers of the cluster: usage of all of them is the whole.
    observed
        The brokers and the time that were observed, whether or not a client asked for anything.
    """
    use = used.use
    since, until = (observed.since, observed.until) if observed else (use.since, use.until)
    seen = use.brokers | (observed.brokers if observed else frozenset())
    shares = {key: used.columns(key).get("share_throttled") for key in use.throttled}
    return replace(
        facts,
        coverage=Coverage(seen, frozenset(brokers), since, until, use.rows),
        is_measured=use.is_measured,
        request_use=used.columns("request_percentage").get("utilisation"),
        throttles={key: replace(one, share=shares[key]) for key, one in use.throttled.items()},
        sharing=used.sharing,
    )


_THROTTLES = {
    "producer_byte_rate": ("produce_ms",),
    "consumer_byte_rate": ("fetch_ms", "share_ms"),
    "request_percentage": ("other_ms",),
}
"""The sums of a connection that are throttles of each key."""


def throttled_seconds(requests: Frame, client: tuple[str, str]) -> dict[tuple[str, int], float]:
    """How long the connection of a client was throttled that was throttled longest, by key and broker. A broker reads
    nothing of it until a throttle ends, so that throttles do not overlap."""
    words = words_of(requests)
    own = where(requests, (words.column("user") == client[0]) & (words.column("client_id") == client[1]))
    kinds = throttle_conditions(words.column("api"))
    columns = {name: words.when(is_it, words.column("throttle_ms")) for name, is_it in kinds.items()}
    sums: dict[str, Measure] = {name: ("sum", name) for name in kinds}
    connections = added_up(relational.with_columns(own, columns), ["broker", "connection"], sums)
    longest: dict[tuple[str, int], float] = {}
    for row in in_arrow(connections).to_pylist():
        for key, names in _THROTTLES.items():
            lasted = sum(row[name] or 0.0 for name in names) / 1000
            longest[key, row["broker"]] = max(lasted, longest.get((key, row["broker"]), 0.0))
    return longest
