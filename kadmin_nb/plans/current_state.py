"""A picture: what the cluster says now of the targets of some changes, one call for each kind of thing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.ports import DEFAULT_MATCH, EXACT, Component, Kafka
from ..errors import kind_of
from ..model import rights
from ..model.changes import Target
from ..model.config_values import ConfigValue
from ..model.entity import Entity
from ..model.quota_keys import text_of
from ..model.refusal import Refusal
from ..model.resources import Resource, Source

FEW = 8
"""Entities up to which exact filters are cheaper than describing everything."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a target holds. `value` is what was set on it itself, None when nothing was.

    `is_known` is False for sensitive values, which brokers never tell. `inherited` is the value below it,
    `base` what APPEND and SUBTRACT start from where nothing is set, `type` Kafka's type of the key. `is_sensitive` is
    the broker's own word: the type PASSWORD, or a key that it does not know.
    """

    value: str | None = None
    is_known: bool = True
    inherited: str | None = None
    inherited_from: Source | None = None
    base: str | None = None
    type: str | None = None
    is_read_only: bool = False
    is_sensitive: bool = False


ABSENT = Observed()


@dataclass
class Picture:
    """The values of targets, the errors of resources that could not be read, and the keys each resource listed."""

    values: dict[Target, Observed] = field(default_factory=dict)
    errors: dict[Resource, Refusal] = field(default_factory=dict)
    quotas: pa.Table | None = None
    listed: dict[Resource, set[str]] = field(default_factory=dict)

    def of(self, target: Target) -> Observed:
        """What that target holds."""
        return self.values.get(target, ABSENT)

    def refuse_unreadable(self, targets: Iterable[Target]) -> None:
        """Raise for the first target that could not be read: nobody can say what it holds.

        Raises
        ------
        NotAuthorized, NotFound, TimedOut, ConnectionFailed
            As its resource's own error says.
        """
        for resource, key in targets:
            if isinstance(resource, Resource) and (failed := self.errors.get(resource)):
                needed = rights.hint(failed.code, rights.to_describe(resource))
                raise kind_of(failed.code)(
                    f"{resource} cannot be read: {failed}",
                    code=failed.code,
                    hint=" ".join(filter(None, [needed, "Nothing was sent."])),
                    targets=[(resource, key)],
                )


def take(
    kafka: Kafka,
    targets: Iterable[Target],
    *,
    node: int | None = None,
    whole: bool = False,
    within: float | None = None,
) -> Picture:
    """A picture of these targets from one broker's metadata, or from any broker.

    Parameters
    ----------
    whole
        Keep the table of all quotas and list every key of the resources, as planning needs it.
    within
        Seconds that it may take; each call takes its own time unless said.
    """
    targets = list(targets)
    picture, time_left = Picture(), _clock(kafka, within)
    entities = {r for r, _ in targets if isinstance(r, Entity)}
    if entities:
        _take_quotas(kafka, entities, picture, node, whole, time_left)
    resources = _keys_of_resources(targets)
    if resources:
        _take_configs(kafka, resources, picture, node, whole, time_left)
    return picture


def _clock(kafka: Kafka, within: float | None) -> Callable[[], float | None]:
    """How many seconds are left, None where they are not counted."""
    if within is None:
        return lambda: None
    deadline = kafka.monotonic() + within
    return lambda: max(0.05, deadline - kafka.monotonic())


def _take_quotas(
    kafka: Kafka,
    entities: Collection[Entity],
    picture: Picture,
    node: int | None,
    whole: bool,
    time_left: Callable[[], float | None],
) -> None:
    if whole or len(entities) > FEW:
        table = kafka.quotas.describe(node=node, timeout=time_left())
        picture.quotas = table
    else:
        table = pa.concat_tables(
            kafka.quotas.describe(exactly(e), strict=True, node=node, timeout=time_left()) for e in entities
        )
    picture.values.update(quota_values(table, entities))


def exactly(entity: Entity) -> list[Component]:
    """The filter that matches this entity and, used strictly, no other."""
    return [Component(kind, DEFAULT_MATCH if name is None else EXACT, name) for kind, name in entity.wire()]


def quota_values(table: pa.Table, entities: Collection[Entity]) -> dict[Target, Observed]:
    """What a QUOTAS table says of these entities."""
    by_text = {str(entity): entity for entity in entities}
    rows = table.filter(pc.is_in(table["entity"], pa.array(list(by_text), pa.string())))
    columns = (rows[name].to_pylist() for name in ("entity", "key", "value"))
    return {(by_text[entity], key): Observed(text_of(value)) for entity, key, value in zip(*columns, strict=True)}


def _keys_of_resources(targets: Iterable[Target]) -> dict[Resource, list[str]]:
    keys: dict[Resource, list[str]] = {}
    for resource, key in targets:
        if isinstance(resource, Resource):
            keys.setdefault(resource, []).append(key)
    return keys


def _take_configs(
    kafka: Kafka,
    resources: Mapping[Resource, Sequence[str]],
    picture: Picture,
    node: int | None,
    whole: bool,
    time_left: Callable[[], float | None],
) -> None:
    keys_asked = None if whole else sorted({key for keys in resources.values() for key in keys})
    if whole and any(resource.is_default_broker for resource in resources):
        _list_broker_keys(kafka, picture)
    table = kafka.configs.describe(resources, keys_asked, node=node, timeout=time_left())
    for row in table.to_pylist():
        resource = Resource(row["resource_type"], row["resource_name"])
        if row["key"] is None:
            picture.errors[resource] = Refusal(row["error"], row["message"])
        elif resource in resources:
            picture.listed.setdefault(resource, set()).add(row["key"])
            picture.values[resource, row["key"]] = observed(ConfigValue.of(row))


def _list_broker_keys(kafka: Kafka, picture: Picture) -> None:
    """The cluster-wide default lists only what is set on it: its keys, types and defaults are any broker's."""
    everyone = Resource("BROKER", "")
    broker = next((b for b in kafka.brokers() if not b.is_fenced), None)
    rows = kafka.configs.describe([Resource("BROKER", str(broker.id))]).to_pylist() if broker else []
    for row in rows:
        if row["key"] is not None:
            config = ConfigValue.of(row)
            picture.listed.setdefault(everyone, set()).add(config.key)
            picture.values[everyone, config.key] = Observed(
                base=config.built_in,
                type=config.type,
                is_read_only=bool(config.is_read_only),
                is_sensitive=config.is_sensitive,
            )


def observed(config: ConfigValue) -> Observed:
    """A config as plans compare it: its own value apart from what it inherits."""
    below = config.inherited
    return Observed(
        value=config.own,
        is_known=not (config.is_own and config.is_sensitive),
        inherited=below.text if below else None,
        inherited_from=below.source if below else None,
        base=config.built_in,
        type=config.type,
        is_read_only=bool(config.is_read_only),
        is_sensitive=config.is_sensitive,
    )
