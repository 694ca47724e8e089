"""What is read of a cluster to name the brakes of a client, a topic, a broker or a group; and the answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from ..admin.ports import SPECIFIED, Broker, Component
from ..admin.wire import PATIENCE
from ..advice import client_brakes
from ..advice import config_brakes as rules
from ..advice.client_brakes import IO_THREADS, ClientFacts
from ..advice.config_brakes import BITES, BROKER_KEYS, MIN_IN_SYNC, OVERRIDES, PER_ADDRESS, STANDS, ConfigFacts
from ..advice.config_rules import findings
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, NotFound, printable
from ..frames import relational, schemas
from ..frames.answer import Answer, Findings
from ..frames.meanings import client
from ..frames.schema_metadata import noted
from ..frames.views import counted_nouns
from ..model import figures
from ..model.changes import Edit
from ..model.client_configs import ClientEntity
from ..model.config_values import ConfigValue
from ..model.entity import Entity
from ..model.findings import UNKNOWN, Finding, Row
from ..model.grammar import DEFAULT
from ..model.levels import DEFAULT_IP
from ..model.quota_keys import CALLBACK
from ..model.resources import THROTTLES, Partition, Resource
from ..resolution.rules import on_host_names, resolve_ip, stored_of
from ..state.snapshots import UnreadPart
from ..state.taking import client_configs_of
from .audits import is_reassigning
from .groups import bounds_of, group_types
from .observation import notes_left_on
from .resolving import broker_rows, values_of
from .resolving import unread as unread_brokers

if TYPE_CHECKING:
    from ..state import History

NOTHING = "nothing found that slows {}"


class BrakesAnswer(Findings):
    """BRAKES: what slows a client, a topic, a broker or a group; what bites comes first. Its title names the first. A
    brake of which nothing is known is an answer, too: it does not fail. `inactive` names the brakes that were looked
    for in full and do not slow a client; `unread` the parts of the cluster that could not be read."""

    schema = schemas.BRAKES
    failing = ()

    def __init__(
        self,
        whose: str,
        found: Iterable[Finding],
        cluster_id: str | None = None,
        notes: Iterable[str] = (),
        unread: Iterable[UnreadPart] = (),
        inactive: Iterable[str] = (),
    ) -> None:
        self.whose, self.unread, self.inactive = whose, tuple(unread), tuple(inactive)
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
        others = sum(one.evidence["state"] != STANDS for one in self.findings[1:])
        more = f" ({counted_nouns(others, 'more brake', 'more brakes')} below)" if others else ""
        return printable(verdict(self.whose, self.findings[0]) + more)


_VERDICTS = {
    BITES: "is slowed by",
    rules.MAY_BITE: "may be slowed by",
    STANDS: "is not slowed now by",
}


def verdict(whose: str, found: Finding) -> str:
    """A brake in a line, with the change that lifts it."""
    return cause(whose, found) + ("" if found.fix is None else f". {to_lift(found)} {found.fix}")


def to_lift(found: Finding) -> str:
    """The words before the change that lifts a brake, or before the line that shows whether it is one."""
    return "To know it:" if found.severity == UNKNOWN else "To lift it:"


def cause(whose: str, found: Finding, named: str = "") -> str:
    """A brake in a line: what it is, and whose; `named` is how the line is to name that."""
    brake, is_known = rules.BRAKES[found.code], found.severity != UNKNOWN
    if "unseen" in found.evidence:
        return f"{named or whose} {found.evidence['unseen']}"
    if str(found.target) != whose:
        brake += f", {found.target}" + ("" if is_known else ",")
    if not is_known:
        return f"whether {named or whose} is slowed by {brake} is {found.message}"
    return f"{named or whose} {_VERDICTS[found.evidence['state']]} {brake}: {found.message}"


# --- a topic, a broker or a group ---


def of_config(kafka: LiveKafka, resource: Resource, history: History | None = None) -> BrakesAnswer:
    """The brakes of a topic, a broker or a group; see `Configs.why`."""
    notes, keys = list[str](), {"TOPIC": _TOPIC_KEYS, "BROKER": BROKER_KEYS}.get(resource.type)
    values = _values(kafka, resource, keys)
    if resource.type == "GROUP":
        found = rules.of_group(values, group_types(kafka).get(resource.name), bounds_of(kafka))
    elif resource.type == "TOPIC":
        brokers = kafka.brokers()
        rows = broker_rows(kafka, [broker for broker in brokers if not broker.is_fenced], BROKER_KEYS)
        partitions, why_not = _partitions(kafka, resource)
        values += values_of(rows)
        facts, notes = _facts(values, kafka, brokers, rows, partitions=partitions, no_partitions=why_not)
        found, notes = rules.of_topic(resource, facts), [*notes, *filter(None, [why_not])]
    else:  # a config that the others do not have may slow a broker
        brokers = kafka.brokers()
        table = kafka.configs.describe([one.resource for one in brokers if not one.is_fenced], timeout=PATIENCE)
        differing = [one for one in findings(table) if resource.name in one.evidence.get("brokers", ())]
        facts, notes = _facts(values, kafka, brokers, table.to_pylist(), differing=differing)
        found = rules.of_broker(resource, facts)
    dated = found if history is None else [*_dated(found, values, history, kafka.id)]
    return BrakesAnswer(str(resource), dated, kafka.id, [*notes, *notes_left_on(kafka)])


def _partitions(kafka: LiveKafka, topic: Resource) -> tuple[list[Partition] | None, str]:
    """The partitions of a topic; None, and why, where they were not read."""
    not_read = f"the partitions of {topic} were not read"
    try:
        found = kafka.partitions([topic.name])
    except KadminError as error:
        return None, f"{not_read}: {error}"
    return (found, "") if found else (None, f"{not_read}: that needs DESCRIBE on it")


def _facts(
    values: Sequence[ConfigValue], kafka: LiveKafka, brokers: Sequence[Broker], rows: Iterable[Row], **more: Any
) -> tuple[ConfigFacts, list[str]]:
    """The facts, of rows of the brokers' configs; and a sentence for each broker that is down, or was not read."""
    missing, down = unread_brokers(brokers, rows), {broker.id for broker in brokers if broker.is_fenced}
    ids, unread = [broker.id for broker in brokers], {*missing} - down
    facts = ConfigFacts(values, brokers=ids, reassigning=is_reassigning(kafka), down=down, unread=unread, **more)
    return facts, [*missing.values()]


def _dated(
    found: Iterable[Finding], values: Iterable[ConfigValue], history: History, cluster_id: str
) -> Iterator[Finding]:
    """The brakes, each with the first snapshot that has its config as it is now; none where a history lacks it."""
    intervals = history.intervals("configs", cluster_id)
    now = defaultdict[str, set[str | None]](set)
    for value in values:
        now[value.key].add(value.text)
    for one in found:
        since = _since(intervals, cast(Resource, one.target), one.key, now[one.key])
        if since is None:
            yield one
        else:
            yield replace(one, message=f"{one.message}; so since {figures.utc(since)} or before").with_(since=since)


def _since(intervals: relational.Frame, resource: Resource, key: str, now: Collection[str | None]) -> datetime | None:
    """The beginning of the intervals without a gap in which a config was as it is now, up to now."""
    column = relational.words_of(intervals).column
    is_it = (column("resource_type") == resource.type) & (column("resource_name") == resource.name)
    names = ("value", "valid_from", "valid_to")
    own = relational.select(relational.where(intervals, is_it & (column("key") == key)), names)
    rows: list[Row] = relational.in_arrow(own, task="Spark reads the history of a config").to_pylist()
    since, end = None, None
    for row in sorted(rows, key=itemgetter("valid_from"), reverse=True):
        if row["valid_to"] != end or row["value"] not in now:
            break
        since = end = row["valid_from"]
    return since


_TOPIC_KEYS = (*THROTTLES["TOPIC"], "remote.storage.enable", MIN_IN_SYNC)


def _values(kafka: LiveKafka, resource: Resource, keys: Iterable[str] | None) -> list[ConfigValue]:
    """The values of one resource, which has to be there."""
    table = kafka.configs.describe([resource], keys if keys is None else [*keys], timeout=PATIENCE)
    return [ConfigValue.of(row) for row in Answer(table).raise_for_errors()]


# --- a client ---


KEYS_FOR_CLIENTS = (CALLBACK, PER_ADDRESS, OVERRIDES, IO_THREADS)
"""The configs of brokers that may slow a client."""


def of_client(kafka: LiveKafka, facts: ClientFacts) -> BrakesAnswer:
    """The brakes of a client, whose quotas, use and brokers' configs are in the facts; with what else is to be read."""
    unread: list[UnreadPart] = []
    whole = replace(_with_ip_limits(kafka, facts), entries=_entries(kafka, facts.client[0], unread))
    found, notes = client_brakes.of_client(whole), filter(None, [whole.no_ip_limits])
    inactive = client_brakes.inactive(whole, found)
    return BrakesAnswer(client(*facts.client), found, kafka.id, notes, unread, inactive)


def _with_ip_limits(kafka: LiveKafka, facts: ClientFacts) -> ClientFacts:
    """The facts with the limits of new connections of the client's addresses, and the entities that they are set on."""
    if not facts.addresses:
        return facts
    host_limits: dict[Entity, float] = {}
    try:
        stored = stored_of(kafka.quotas.describe([Component("ip", SPECIFIED)]).to_pylist())
        host_limits = on_host_names(stored)
        limits = [resolve_ip(stored, ip) for ip in {one.ip for one in facts.addresses}]
    except KadminError as error:
        return replace(facts, host_limits=host_limits, no_ip_limits=f"quotas of addresses were not read: {error}")
    ip_limits = {
        limit.ip: (Entity.of({"ip": DEFAULT if limit.level == DEFAULT_IP else limit.ip}), limit.value)
        for limit in limits
        if limit.value is not None
    }
    return replace(facts, host_limits=host_limits, ip_limits=ip_limits)


def _entries(kafka: LiveKafka, user: str, unread: list[UnreadPart]) -> dict[tuple[ClientEntity, str], str] | None:
    """The dynamic client configs of a user; None where they cannot be read, and `unread` says so."""
    try:
        table = client_configs_of(kafka, [user]) if user else None
    except KadminError as error:
        unread.append(UnreadPart.of(ClientEntity.scope, error))
        return None
    rows = [] if table is None else table.to_pylist()
    return {(ClientEntity(row["user"], row["client_id"] or None), row["key"]): row["value"] for row in rows}
