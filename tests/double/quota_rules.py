"""What Kafka says to quotas: the filter of KIP-546, and the checks of the controller in its order."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from kadmin_nb.admin import error_codes
from kadmin_nb.admin.ports import DEFAULT_MATCH, EXACT, SPECIFIED, Component
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Refusal
from kadmin_nb.model.entity import TYPES, Entity
from kadmin_nb.model.grammar import DEFAULT

from .metadata import Value

KEYS = {
    "producer_byte_rate": ("LONG", 2.0**63),
    "consumer_byte_rate": ("LONG", 2.0**63),
    "request_percentage": ("DOUBLE", math.inf),
    "controller_mutation_rate": ("DOUBLE", math.inf),
}
IP_KEYS = {"connection_creation_rate": ("INT", 2.0**31 - 1)}

Quotas = Mapping[Entity, Mapping[str, Value]]


def described(quotas: Quotas, components: Sequence[Component], strict: bool) -> pa.Table:
    """QUOTAS of the entities that match."""
    _refuse_filter(components)
    rows = [
        _row(e, key, value)
        for e, held in quotas.items()
        if _matches(e, components, strict)
        for key, value in held.items()
    ]
    rows.sort(key=lambda row: (row["entity"], row["key"]))
    return schemas.table(schemas.QUOTAS, rows)


def _row(entity: Entity, key: str, value: Value) -> dict[str, object]:
    names = {kind.replace("-", "_"): None if name is DEFAULT else name for kind, name in entity.parts}
    return {"entity": str(entity), "level": entity.level, **names, "key": key, "value": value}


def _matches(entity: Entity, components: Sequence[Component], strict: bool) -> bool:
    parts = dict(entity.wire())
    if strict and set(parts) != {c.entity_type for c in components}:
        return False
    return all(c.entity_type in parts and _fits(parts[c.entity_type], c) for c in components)


def _fits(name: str | None, component: Component) -> bool:
    if component.match == SPECIFIED:
        return True
    return name == (component.name if component.match == EXACT else None)


def _refuse_filter(components: Sequence[Component]) -> None:
    kinds = [c.entity_type for c in components]
    for component in components:
        if component.entity_type not in TYPES:
            _refuse("UNSUPPORTED_VERSION", f"Custom entity type '{component.entity_type}' not supported")
        if component.match not in (EXACT, DEFAULT_MATCH, SPECIFIED):
            _refuse("INVALID_REQUEST", f"Unexpected match type: {component.match}")
        if component.match == EXACT and component.name is None:
            _refuse("INVALID_REQUEST", "Unexpected null match for an exact filter component")
        if kinds.count(component.entity_type) > 1:
            _refuse(
                "INVALID_REQUEST", f"Entity type '{component.entity_type}' cannot appear more than once in the filter."
            )
    if "ip" in kinds and len(kinds) > 1:
        wrong = "Invalid entity filter component combination"
        _refuse("INVALID_REQUEST", f"{wrong}, IP filter component should not be used with user or clientId.")


def _refuse(code: str, message: str) -> None:
    raise error_codes.error(Refusal(code, message), "describing quotas")


def complaint(entity: Entity, values: Mapping[str, float | None]) -> str | None:
    """Why the controller refuses this alteration, None when it does not."""
    return _about_entity(entity) or next(filter(None, _about_values(entity, values)), None)


def _about_entity(entity: Entity) -> str | None:
    parts = dict(entity.wire())
    if not parts:
        return "Invalid empty client quota entity"
    for kind, name in parts.items():
        if kind not in TYPES:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
    if "ip" not in parts:
        return None
    if len(parts) > 1:
        return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
    return (
        None
        if parts["ip"] in (None, "localhost") or _is_address(parts["ip"])
        else f"{parts['ip']} is not a valid IP or resolvable host."
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _about_values(entity: Entity, values: Mapping[str, float | None]) -> Iterable[str | None]:
    known = IP_KEYS if entity.get("ip") is not None else KEYS
    return (_about_value(key, value, known) for key, value in values.items() if value is not None)


def _about_value(key: str, value: float, known: Mapping[str, tuple[str, float]]) -> str | None:
    """NaN passes every comparison, as it does in Kafka."""
    if key not in known:
        return f"Invalid configuration key {key}"
    kind, largest = known[key]
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    if kind != "DOUBLE" and value > largest:
        return f"Proposed value for {key} is too large for {'an INT' if kind == 'INT' else 'a LONG'}."
    if kind != "DOUBLE" and math.isfinite(value) and value % 1 > 1e-6:
        return f"{key} cannot be a fractional value."
    return None
