"""The clients that a quota reaches, and changes that lift a limit.

Where `user=… client-id=<default>` has a quota, that of `user=…` reaches its clients without a client-id alone. A
quota of `client-id=…` has no such clients: everybody has a user, so where the default user, or one of its client-ids,
comes first for all who send one, it can never apply. It is shadowed. The empty user, who escapes the user levels (see
`rules`), does not count here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from ..errors import UsageError
from ..frames import schemas
from ..model.changes import DELETE, SET, Edit
from ..model.entity import Entity
from ..model.findings import Row
from ..model.grammar import DEFAULT, format_word
from ..model.levels import LEVELS, LEVELS_BY_NAME
from ..model.quota_keys import readable, text_of, typed
from . import input_columns
from .input_columns import QUOTAS_LABEL
from .rules import Effective, Stored, entity_at, reaches, resolve_client, stored_of

COMES_FIRST = {
    "USER": ("DEFAULT_CLIENT_OF_USER",),
    "DEFAULT_USER": ("DEFAULT_CLIENT_OF_DEFAULT_USER",),
    "CLIENT": ("CLIENT_OF_DEFAULT_USER", "DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_USER"),
    "DEFAULT_CLIENT": ("DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_USER"),
}
"""The more specific levels that fit every client with a client-id that a level fits; most specific first."""

COMES_BEFORE = {name: levels for name, levels in COMES_FIRST.items() if LEVELS_BY_NAME[name].client_id}
"""Those of the levels whose clients all have a client-id: the more specific levels that fit every client of them."""


def firsts(entity: Entity) -> tuple[Entity, ...]:
    """The entities whose quota comes first for every client of this entity with a client-id, most specific first."""
    parts = (entity.get(kind) for kind in ("user", "client-id"))
    user, client_id = ("" if part is None or part is DEFAULT else str(part) for part in parts)
    return tuple(entity_at(LEVELS_BY_NAME[level], user, client_id) for level in COMES_FIRST.get(entity.level, ()))


def comes_first(stored: Stored, entity: Entity, key: str) -> Entity | None:
    """The quota that this one's clients with a client-id have instead, unless a more specific one names them.

    None where this quota can bind some of them.
    """
    return next((other for other in firsts(entity) if (other, key) in stored), None)


class Quota(NamedTuple):
    """One quota, which shows itself as `user=bob client-id=<default> (256 KiB/s)`."""

    entity: Entity
    key: str
    value: float

    def __str__(self) -> str:
        return f"{self.entity} ({readable(self.key, self.value)})"


def only_without(limits: object) -> str:
    """The clients that a quota of a user reaches where these limits come first, in words."""
    return f"only clients without a client-id; all others keep {limits}"


def shadowed_by(stored: Stored, entity: Entity, key: str) -> Entity | None:
    """The quota that always wins over this one; None when this one can still bind someone."""
    return comes_first(stored, entity, key) if entity.level in COMES_BEFORE else None


def shadows_of_added(before: Stored, after: Stored) -> dict[tuple[Entity, str], tuple[Entity, ...]]:
    """The quotas that each added quota newly shadows.

    Quotas that were shadowed before, or that the changes remove, are not listed; a change of a value shadows
    nothing. Several added quotas may shadow the same one; each lists it.
    """
    could_shadow = {level for levels in COMES_BEFORE.values() for level in levels}
    added = {(e, k) for e, k in after if e.level in could_shadow and (e, k) not in before}
    if not added:
        return {}
    shadowed: dict[tuple[Entity, str], list[Entity]] = {}
    for entity, key in after:
        if entity.level in COMES_BEFORE and shadowed_by(before, entity, key) is None:
            for other in firsts(entity):
                if (other, key) in added:
                    shadowed.setdefault((other, key), []).append(entity)
    return {change: tuple(sorted(entities, key=str)) for change, entities in shadowed.items()}


# --- changes that would lift the limit of one client, and whom else each of them reaches ---

# Values never combine (KIP-55): a limit is lifted by a quota on a more specific entity, by a higher one on the entity
# that binds, or by its removal where what comes next is higher. Each is proven by resolving the client again.

TIMES = 2.0
"""The factor by which a limit is lifted, unless a value is asked for."""

REACH = {
    "CLIENT_OF_USER": "only this client",
    "DEFAULT_CLIENT_OF_USER": "every client-id of this user without a quota of its own",
    "USER": "the client-ids of this user that have no quota of their own, together",
    "CLIENT_OF_DEFAULT_USER": "this client-id of every user without a quota of its own",
    "DEFAULT_CLIENT_OF_DEFAULT_USER": "every client of every user without a quota of its own",
    "DEFAULT_USER": "every user without a quota of its own",
    "CLIENT": "this client-id, all its users together, where no quota of the user applies",
    "DEFAULT_CLIENT": "every client-id without a quota of its own, where no quota of the user applies",
}
"""The clients that a quota of a level binds, in words."""


@dataclass(frozen=True, slots=True)
class Lift:
    """One change that lifts a limit; `after` is the client's limit then, None without one.

    `reach` says whom the change binds, `consequence` what else comes of it.
    """

    edit: Edit
    after: float | None
    reach: str
    consequence: str


def setting(entity: Entity, key: str, value: float | None) -> Edit:
    """The change that sets a quota; None removes it."""
    return Edit(DELETE, entity, key) if value is None else Edit(SET, entity, key, text_of(value))


def words_of(edit: Edit) -> str:
    """The change of a quota as a line of the grammar, after `quota`."""
    if edit.text is None:
        return f"remove {edit.key} {edit.resource}"
    return f"set {format_word(edit.key, typed(edit.key, float(edit.text)))} {edit.resource}"


def lifts(stored: Stored, now: Effective) -> tuple[Lift, ...]:
    """The changes that at least double this limit, the fewest clients reached first; none where nothing binds.

    `stored` are the quotas that could bind the client.
    """
    if now.value is None or now.entity is None:
        return ()
    wanted = TIMES * now.value
    found = []
    for entity, value in dict.fromkeys([(closest(now), wanted), (now.entity, wanted), (now.entity, None)]):
        then = _after(stored, now, entity, value)
        if then.value is None or (then.value > now.value and then.value >= wanted):
            # a quota that comes first for some of its clients leaves it the others, one at least
            first = comes_first(stored, entity, now.key)
            reach = (
                REACH[entity.level] if first is None else only_without(Quota(first, now.key, stored[first, now.key]))
            )
            consequence = "; ".join(_consequences(value, now, then))
            found.append(Lift(setting(entity, now.key, value), then.value, reach, consequence))
    return tuple(found)


def closest(now: Effective) -> Entity:
    """The most specific entity that can bind the client."""
    level = next(level for level in LEVELS if reaches(level, now.user, now.client_id))
    return entity_at(level, now.user or "", now.client_id or "")


def _after(stored: Stored, now: Effective, entity: Entity, value: float | None) -> Effective:
    """The limit of the client once this value is set there, or none."""
    changed = {target: stored[target] for target in stored if target != (entity, now.key)}
    if value is not None:
        changed[entity, now.key] = value
    return resolve_client(changed, now.user, now.client_id, now.key)


def _consequences(value: float | None, now: Effective, then: Effective) -> Iterator[str]:
    if then.value is None:
        yield "no other limit applies, so unlimited"
    elif value is None:
        yield f"then {readable(now.key, then.value)} ({then.entity})"
    if now.is_shared and then.bucket not in (now.bucket, None):
        yield "gets a limit of its own; the others still share the old one"


# --- the hierarchy of quotas as stored: who hangs below whom, and what can never apply ---

QUOTA_COLUMNS = ("entity", "level", "user", "client_id", "key", "value")
ORDER = {
    "USER": (0, 0),
    "CLIENT_OF_USER": (0, 1),
    "DEFAULT_CLIENT_OF_USER": (0, 2),
    "DEFAULT_USER": (1, 0),
    "CLIENT_OF_DEFAULT_USER": (1, 1),
    "DEFAULT_CLIENT_OF_DEFAULT_USER": (1, 2),
    "CLIENT": (2, 0),
    "DEFAULT_CLIENT": (3, 0),
    "IP": (4, 0),
    "DEFAULT_IP": (5, 0),
    "OTHER": (6, 0),
}
"""Each level's group of roots, and its place below a root."""
_SHADOWY = {*COMES_BEFORE, *(level for levels in COMES_BEFORE.values() for level in levels)}


def tree(quotas: Any) -> pa.Table:
    """The hierarchy as TREE: every stored quota, children after their parents.

    Parameters
    ----------
    quotas
        QUOTAS of one cluster, as anything with `__arrow_c_stream__`.

    Returns
    -------
    pyarrow.Table
        `entity`; `parent`, `user=alice` for `user=alice client-id=app`, null for a root; `level`; `key` and
        `value` in the key's unit, both null where a parent has no quota of its own; `shadowed_by`, the entity
        that always wins over this quota, null while it can bind anyone (a client without a client-id counts).

    Raises
    ------
    UsageError
        Not a frame, a column is missing, or it is of several clusters.
    """
    table = input_columns.read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL)
    if input_columns.CLUSTER in table.column_names and len(table.column(input_columns.CLUSTER).unique()) > 1:
        raise UsageError("a tree shows one cluster", hint="Filter the quotas by cluster_id first.")
    rows: list[Row] = table.select(QUOTA_COLUMNS).to_pylist()
    stored = stored_of(row for row in rows if row["level"] in _SHADOWY)
    for row in rows:
        group, depth = ORDER.get(row["level"], ORDER["OTHER"])
        row["parent"] = format_word("user", row["user"] if group == 0 else DEFAULT) if depth else None
        if row["level"] in COMES_BEFORE:
            other = shadowed_by(stored, entity_at(LEVELS_BY_NAME[row["level"]], "", row["client_id"] or ""), row["key"])
            row["shadowed_by"] = None if other is None else str(other)
    present = {row["entity"] for row in rows}
    absent = {row["parent"]: row["user"] for row in rows if row["parent"] and row["parent"] not in present}
    rows += [
        {"entity": parent, "user": user, "level": "DEFAULT_USER" if user is None else "USER"}
        for parent, user in absent.items()  # those that have no quota of their own
    ]
    answer = schemas.table(schemas.TREE, sorted(rows, key=_sort_key))
    return schemas.marked(answer, input_columns.stamp(table))


def _sort_key(row: Row) -> tuple[object, ...]:
    """Roots by kind and name, their children below, named ones first, then keys."""
    group, depth = ORDER.get(row["level"], ORDER["OTHER"])
    root = (row["user"] or "") if group == 0 else row["entity"] if group > 1 else ""
    return group, root, depth, row.get("client_id") or "", row.get("key") or ""
