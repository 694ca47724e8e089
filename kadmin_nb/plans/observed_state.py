"""The observed state: the current values of some targets, as one look at the cluster shows them; how they are read.

Also QUOTAS as they are when changes are done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import DEFAULT_MATCH, EXACT, Component, Kafka, serving
from ..errors import NotFound, kind_of
from ..frames import schemas
from ..frames.given_frames import plain
from ..model import config_values, rights
from ..model.changes import Change, Refusal, Target
from ..model.config_units import decimal_of
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.quota_keys import text_of
from ..model.resources import Resource, Source


@dataclass(frozen=True, slots=True)
class LookOptions:
    """Options of a look at the cluster: where and how the state is observed.

    `node` is the broker whose metadata is read, or any. A `whole` state, as planning needs it, keeps the table of all
    quotas, and lists every key of brokers and of resources that lack one of the targets' keys. `time_left` is the
    seconds that a call may take, None for its own time.
    """

    node: int | None = None
    whole: bool = False
    time_left: Callable[[], float | None] = lambda: None


class ObservedValue(NamedTuple):
    """The current state of a target. `value` is set on the target itself, None when it is not set.

    `is_known` is False for sensitive values, which brokers never tell. `inherited` is the value below it,
    `base` what APPEND and SUBTRACT start from where nothing is set, `type` Kafka's type of the key. `is_sensitive` is
    the broker's own word: the type PASSWORD, or a key that it does not know. `shown` is what brokers do tell of a
    sensitive value: the iterations of a credential.
    """

    value: str | None = None
    is_known: bool = True
    inherited: str | None = None
    inherited_from: Source | None = None
    base: str | None = None
    type: str | None = None
    is_sensitive: bool = False
    shown: str | None = None


ABSENT = ObservedValue()


@dataclass
class ObservedState:
    """The values of targets, the errors of resources that could not be read, and the keys each resource listed.

    `unread` are targets that nobody has looked at.

    The others are what dangers and warnings go by beside the values. `quotas` are all QUOTAS. `below` has the texts
    that may apply to a config without its own value: several where brokers differ, none where nobody can say.
    `brokers` is their number, 0 where nobody asked. `lacks_client_configs` says that the topic of client configs is
    missing. `throttling` has the throttles that hold back copies now, or of which that is not known, with the reason.
    """

    values: dict[Target, ObservedValue] = field(default_factory=dict)
    errors: dict[Configurable, Refusal] = field(default_factory=dict)
    quotas: pa.Table | None = None
    listed: dict[Configurable, set[str]] = field(default_factory=dict)
    unread: Collection[Target] = ()
    below: dict[Target, Collection[str | None]] = field(default_factory=dict)
    brokers: int = 0
    lacks_client_configs: bool = False
    throttling: dict[Target, str] = field(default_factory=dict)

    def of(self, target: Target) -> ObservedValue:
        """The current state of that target."""
        return self.values.get(target, ABSENT)

    def absence(self, resource: Configurable) -> Refusal | None:
        """The refusal of a resource that does not exist; None of one that exists, or that could not be read."""
        failed = self.errors.get(resource) if self.errors else None
        return failed if failed and kind_of(failed.code) is NotFound else None

    def refuse_unreadable(self, targets: Iterable[Target]) -> None:
        """Raise for the first target that could not be read: its value is not known.

        Raises
        ------
        NotAuthorized, NotFound, TimedOut, ConnectionFailed
            As its resource's own error says.
        """
        for resource, key in targets if self.errors else ():
            if failed := self.errors.get(resource):
                needed = rights.hint(failed.code, rights.to_describe(resource))
                raise kind_of(failed.code)(
                    f"{resource} cannot be read: {failed}",
                    code=failed.code,
                    hint=" ".join(filter(None, [needed, "Nothing was sent."])),
                    targets=[(resource, key)],
                )


FEW = 8
"""Entities up to which exact filters are cheaper than describing everything."""


def add_quotas(state: ObservedState, kafka: Kafka, entities: Iterable[Entity], look: LookOptions) -> None:
    """Add the current quotas of these entities to an observed state."""
    by_text = {str(entity): entity for entity in entities}
    if look.whole or len(by_text) > FEW:
        state.quotas = table = kafka.quotas.describe(node=look.node, timeout=look.time_left())
    else:
        table = pa.concat_tables(
            kafka.quotas.describe(exactly(e), strict=True, node=look.node, timeout=look.time_left())
            for e in by_text.values()
        )
    state.values.update(quota_values(table, by_text))


def exactly(entity: Entity) -> list[Component]:
    """The filter that matches this entity and, used strictly, no other."""
    return [Component(kind, DEFAULT_MATCH if name is None else EXACT, name) for kind, name in entity.wire()]


def quota_values(table: pa.Table, by_text: Mapping[str, Entity]) -> dict[Target, ObservedValue]:
    """The rows of a QUOTAS table for these entities, each by its text."""
    table = table.filter(pc.is_in(table["entity"], pa.array(by_text, pa.string())))
    found = map(by_text.__getitem__, table["entity"].to_pylist())
    keys = table["key"].cast(pa.string())  # read as the dictionary that it is, it takes forty times as long
    targets = zip(found, keys.to_pylist(), strict=True)
    texts = map(text_of, table["value"].to_pylist())
    return dict(zip(targets, map(ObservedValue, texts), strict=True))


def of_place(quotas: pa.Table, level: str, key: str) -> pa.Table:
    """The rows of a QUOTAS table at this level and of this key."""
    columns = (("level", level), ("key", key))
    is_there = (pc.is_in(quotas[name].cast(pa.string()), pa.array([word], pa.string())) for name, word in columns)
    return quotas.filter(pc.and_(*is_there))


def table_after(quotas: pa.Table, changes: Sequence[Change]) -> pa.Table:
    """QUOTAS after these changes; unsorted."""
    rows = [change for change in changes if change.resource.kind == Entity.kind]
    identities = pc.binary_join_element_wise(quotas["entity"], quotas["key"].cast(pa.string()), "\n")
    gone = pc.is_in(identities, pa.array([f"{change.resource}\n{change.key}" for change in rows], pa.string()))
    quotas_set: Iterable[dict[str, object]] = (
        {**cast(Entity, change.resource).columns(), "key": change.key, "value": float(change.after)}
        for change in rows
        if change.after is not None
    )
    new = schemas.table(schemas.QUOTAS, quotas_set)
    unchanged = quotas.filter(pc.invert(gone)).select(schemas.QUOTAS.names).cast(schemas.QUOTAS.schema)
    return pa.concat_tables([unchanged.replace_schema_metadata(), new]).unify_dictionaries()


def add_configs(
    state: ObservedState, kafka: Kafka, targets: Collection[tuple[Resource, str]], look: LookOptions
) -> None:
    """Add the current configs of these targets to a state, and the errors of resources that cannot be read."""
    resources = dict.fromkeys(resource for resource, _ in targets)
    of_brokers = {resource for resource in resources if look.whole and resource.type in _JUDGED_BY_OTHER_KEYS}
    _add_rows(state, kafka, resources.keys() - of_brokers, sorted({key for _, key in targets}), look)
    if look.whole:
        unlisted = {r for r, key in targets if (r, key) not in state.values and r not in state.errors}
        _add_rows(state, kafka, of_brokers | unlisted, None, look)
        _list_broker_keys(kafka, state, resources)


_JUDGED_BY_OTHER_KEYS = ("BROKER", "BROKER_LOGGER")
"""Types of which a key is judged by others too: by the key without its listener, by the root logger."""


def _add_rows(
    state: ObservedState, kafka: Kafka, resources: Collection[Resource], keys: Sequence[str] | None, look: LookOptions
) -> None:
    """Add these configs of the resources, or all of them."""
    if not resources:
        return
    table = kafka.configs.describe(resources, keys, node=look.node, timeout=look.time_left())
    for row in plain(table).to_pylist():
        resource = Resource(row["resource_type"], row["resource_name"])
        if row["key"] is None:
            state.errors[resource] = Refusal(row["error"], row["message"])
        elif resource in resources:
            state.listed.setdefault(resource, set()).add(row["key"])
            state.values[resource, row["key"]] = observed(ConfigValue.of(row))


def _list_broker_keys(kafka: Kafka, state: ObservedState, resources: Iterable[Resource]) -> None:
    """Add the keys, types and defaults of any broker.

    The cluster-wide default lists only what is set on it, and a broker that does not exist lists nothing.
    """
    unlisted = [r for r in resources if r.is_default_broker or (r.type == "BROKER" and state.absence(r))]
    broker = next(iter(serving(kafka)), None) if unlisted else None
    rows = kafka.configs.describe([broker.resource]).to_pylist() if broker else []
    for config in (ConfigValue.of(row) for row in rows if row["key"] is not None):
        for resource in unlisted:
            state.listed.setdefault(resource, set()).add(config.key)
            state.values.setdefault((resource, config.key), _unset(config))


def observed(config: ConfigValue) -> ObservedValue:
    """A config as plans compare it: its own value apart from what it inherits."""
    below = config.inherited
    return _unset(config)._replace(
        value=config.own,
        is_known=not (config.is_own and config.is_sensitive),
        inherited=config_values.in_unit_of(config.key, below) if below else None,
        inherited_from=below.source if below else None,
    )


def _unset(config: ConfigValue) -> ObservedValue:
    """The key as it is where it is not set: its type and Kafka's default."""
    return ObservedValue(base=config.built_in, type=config.type, is_sensitive=config.is_sensitive)


def append(stored: str | None, items: str) -> str:
    """The stored list with the items that it lacks at its end."""
    result = _items(stored)
    for item in _split(items):
        if item not in result:
            result.append(item)
    return ",".join(result)


def subtract(stored: str | None, items: str) -> str:
    """The stored list without the first copy of each item."""
    result = _items(stored)
    for item in _split(items):
        if item in result:
            result.remove(item)
    return ",".join(result)


def _split(items: str) -> list[str]:
    """Java's `split(",")`: a text without a comma is one item, even an empty one."""
    return items.rstrip(",").split(",") if items.strip(",") or not items else []


def _items(stored: str | None) -> list[str]:
    return [item for item in (stored or "").split(",") if item]


def same(left: str | None, right: str | None, kind: str | None) -> bool:
    """True if both are one value of Kafka's type `kind`; None is only the same as None.

    A broker stores a value as it was sent and describes it as it was read: ` 0100` is described as `100`,
    `compact, delete` as `compact,delete`, `TRUE` as `true`.
    """
    if left == right or left is None or right is None:
        return left == right
    read = _READERS.get(kind or "", str)
    return read(left) == read(right)


_READERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(
        ("INT", "SHORT", "LONG", "DOUBLE"), lambda text: text if (number := decimal_of(text)) is None else number
    ),
    "LIST": lambda text: [item.strip() for item in text.split(",")],
    "BOOLEAN": lambda text: text.strip().lower(),
    **dict.fromkeys(("STRING", "CLASS"), str.strip),
}
