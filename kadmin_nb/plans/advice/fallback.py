"""What holds where nothing is set on a resource itself, as the cluster says now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...admin.ports import Kafka
from ...model.changes import Change, Target
from ...model.resources import Resource
from .config_dangers import behind_listener

Values = Mapping[Target, Collection[str | None]]
"""What may hold for a target without its own value: several where brokers differ, none where nobody can say."""

_UNITS = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_MILLISECONDS = {"minutes": 60_000, "hours": 3_600_000}
_OF_BROKERS = {"retention.ms": _UNITS[0]}
"""Keys of topics for which Kafka names no synonym where brokers set nothing either."""

_EVERYONE = Resource("BROKER", "")
_ON_BROKERS = ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG")


def values_below(kafka: Kafka, changes: Iterable[Change]) -> Values:
    """What holds below these configs, asked of the cluster: of the default for all brokers, every one that serves."""
    targets = [(c.resource, c.key) for c in changes if isinstance(c.resource, Resource)]
    everyone = [key for resource, key in targets if resource.is_default_broker]
    of_resources = [(resource, key) for resource, key in targets if not resource.is_default_broker]
    values = {**_below_all(kafka, everyone, _ON_BROKERS), **_below_each(kafka, of_resources)}
    return {
        **values,
        **_from_brokers(kafka, [(r, key) for r, key in of_resources if r.type == "TOPIC" and not values[r, key]]),
    }


def _from_brokers(kafka: Kafka, topics: Sequence[tuple[Resource, str]]) -> Values:
    """What topics inherit where only the brokers can say it."""
    values = _below_all(kafka, sorted({_OF_BROKERS[key] for _, key in topics if key in _OF_BROKERS}), ())
    return {(r, key): values[_EVERYONE, _OF_BROKERS[key]] for r, key in topics if key in _OF_BROKERS}


def _below_each(kafka: Kafka, targets: Sequence[tuple[Resource, str]]) -> dict[Target, Collection[str | None]]:
    rows = _config_rows(kafka, {resource for resource, _ in targets}, [key for _, key in targets])
    return {(r, key): {*_below(rows.get(r, {}), key, (r.source,))} for r, key in targets}


def _below_all(kafka: Kafka, keys: Sequence[str], sources_above: Sequence[str]) -> dict[Target, Collection[str | None]]:
    """What brokers go by without what these sources say, on the default for all of them."""
    brokers = [Resource("BROKER", str(b.id)) for b in kafka.brokers() if not b.is_fenced] if keys else []
    rows = _config_rows(kafka, brokers, keys)
    return {
        (_EVERYONE, key): {value for of in rows.values() for value in _below(of, key, sources_above)} for key in keys
    }


def _config_rows(kafka: Kafka, resources: Collection[Resource], keys: Sequence[str]) -> dict[Resource, dict[str, Any]]:
    """The rows of CONFIGS by resource and key; what cannot be read is not among them."""
    names = sorted({name for key in keys for name in (key, *_instead(key))})
    rows: dict[Resource, dict[str, Any]] = {}
    for row in kafka.configs.describe(resources, names).to_pylist() if resources else ():
        if row["key"] is not None:
            rows.setdefault(Resource(row["resource_type"], row["resource_name"]), {})[row["key"]] = row
    return rows


def _instead(key: str) -> tuple[str, ...]:
    """Keys that say it where this one is not set: in another unit, or for all listeners."""
    return _UNITS[1:] if key == _UNITS[0] else tuple(filter(None, behind_listener(key)))


def _below(rows: Mapping[str, Any], key: str, sources_above: Sequence[str]) -> Sequence[str | None]:
    """What a resource goes by without its own value, in the unit of the key; nothing where that cannot be seen."""
    candidates = [rows[name] for name in (key, *_instead(key)) if name in rows]
    values = [value for row in candidates for value in _values(row, key, sources_above)]
    return values[:1] or ([None] if candidates and key != _UNITS[0] and all(map(_is_nothing, candidates)) else [])


def _is_nothing(row: Mapping[str, Any]) -> bool:
    """Whether Kafka has no default for the key, and nobody sets it."""
    return row["value"] is None and not row["is_sensitive"]


def _values(row: Mapping[str, Any], key: str, sources_above: Sequence[str]) -> Iterable[str]:
    """What a row says of it, the closest first: its own value only where it is of another key."""
    chain = [s for s in row["synonyms"] or () if s["value"] is not None]
    below = [s for s in chain if s["source"] not in sources_above or s["key"] != key]
    yield from (_in_its_unit(s["key"], s["value"]) for s in below)
    if not chain and row["value"] is not None and not row["is_sensitive"]:
        yield _in_its_unit(row["key"], row["value"])


def _in_its_unit(key: str, value: str) -> str:
    """Minutes and hours as milliseconds."""
    factor = _MILLISECONDS.get(key.rpartition(".")[2], 1)
    return str(int(value) * factor) if factor > 1 and value.isdigit() else value
