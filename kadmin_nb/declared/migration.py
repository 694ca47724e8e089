"""From one cluster to another: limits keep their totals over another number of brokers, principals have other names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ..documents import read_toml
from ..errors import Invalid, UsageError
from ..frames import schemas
from ..frames.snapshot_kinds import KINDS, SnapshotKind, parsed
from ..frames.snapshots import Snapshot
from ..model.quota_keys import on_all_brokers

MOST_BYTES = 16 << 20
"""Of a file of names."""

_TABLES = ("users", "client-ids")


@dataclass(frozen=True)
class Migration:
    """The differences between the cluster that limits come from and the one that they go to.

    `brokers` are the numbers of brokers of both: a limit that holds on each broker is scaled, so that all brokers
    together have the total from before. `users` and `client_ids` are the new names by the old ones.
    """

    brokers: tuple[int, int] = (1, 1)
    users: Mapping[str, str] = field(default_factory=dict)
    client_ids: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, scale: str | None = None, mapping: str | None = None) -> Migration:
        """The migration of `--scale 6:12`, and of a TOML file with the tables `users` and `client-ids`.

        Raises
        ------
        UsageError, NotFound, Invalid
            Two numbers of brokers that are none; no such file; it has something else, or two old names of one new one.
        """
        users, client_ids = ({}, {}) if mapping is None else _read_names(mapping)
        return cls((1, 1) if scale is None else _brokers(scale), users, client_ids)

    def value(self, key: str, value: float) -> float:
        """The limit on each broker there that comes to the same total."""
        before, after = self.brokers
        return on_all_brokers(key, value, before) / on_all_brokers(key, 1.0, after)

    def user(self, name: str) -> str:
        """The new name of a user."""
        return self.users.get(name, name)

    def client_id(self, name: str) -> str:
        """The new name of a client-id."""
        return self.client_ids.get(name, name)

    def client(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of PAIRS by its new names."""
        client_id = row["client_id"]
        return {"user": self.user(row["user"]), "client_id": client_id and self.client_id(client_id)}

    def snapshot(self, snapshot: Snapshot) -> Snapshot:
        """The quotas and client configs of a snapshot as they are to be there; configs as they are.

        Raises
        ------
        Invalid
            Two entities have one name there.
        """
        moved = snapshot
        for kind in KINDS.values():
            if kind.is_of_clients:
                moved = moved.with_frame(kind, self._table(kind, snapshot.frames[kind.name].to_arrow()))
        return moved

    def _table(self, kind: SnapshotKind, table: pa.Table) -> pa.Table:
        rows = [self._row(kind, row) for row in table.to_pylist()]
        refuse_twice((row["entity"], row["key"]) for row in rows)
        return kind.sorted_rows(rows)

    def _row(self, kind: SnapshotKind, row: dict[str, Any]) -> dict[str, Any]:
        resource, text = kind.migrated(parsed(kind.kind, row["entity"]), row["key"], str(row["value"]), self)
        return {**row, **kind.row(resource, row["key"], text)}


def refuse_twice(targets: Iterable[tuple[object, str]]) -> None:
    """Refuse a migration that gives two entities one name: nobody could say which limit is meant."""
    twice = next((target for target, times in Counter(targets).items() if times > 1), None)
    if twice is not None:
        raise Invalid(f"two entities become {twice[0]}, and both have {twice[1]}", hint="Map them to two names.")


def _brokers(scale: str) -> tuple[int, int]:
    """`6:12`."""
    before, _, after = scale.partition(":")
    if not (before.isdecimal() and after.isdecimal() and int(before) and int(after)):
        raise UsageError(f"{scale} are not two numbers of brokers", hint="For example 6:12, from 6 to 12 brokers.")
    return int(before), int(after)


def _read_names(path: str) -> tuple[dict[str, str], dict[str, str]]:
    """The new names of users and of client-ids by the old ones."""
    document, _ = read_toml(path, "a mapping of names", MOST_BYTES)
    for table, names in document.items():
        if table not in _TABLES or not isinstance(names, dict):
            raise UsageError(
                f"{path} is not a mapping of names: {table}", hint="It has the tables [users] and [client-ids]."
            )
        if wrong := next((old for old, new in names.items() if not isinstance(new, str) or not new), None):
            raise UsageError(f"{path} is not a mapping of names: the new name of {wrong} is not a text")
    users, client_ids = (document.get(table, {}) for table in _TABLES)
    return users, client_ids


def totals(before: pa.Table, after: pa.Table, migration: Migration) -> pa.Table:
    """TOTALS: what each client could get from all brokers before the migration, and what it can get after it.

    Parameters
    ----------
    before, after
        EFFECTIVE of the same clients in the same order, by their old names and by their new ones.
    """
    rows = [_total_row(*both, migration) for both in zip(before.to_pylist(), after.to_pylist(), strict=True)]
    return schemas.table(schemas.TOTALS, rows)


def _total_row(old: Mapping[str, Any], new: Mapping[str, Any], migration: Migration) -> dict[str, Any]:
    totals = [
        None if row["value"] is None else on_all_brokers(row["key"], row["value"], brokers)
        for row, brokers in zip((old, new), migration.brokers, strict=True)
    ]
    return {
        "user": old["user"],
        "client_id": old["client_id"],
        "new_user": new["user"],
        "new_client_id": new["client_id"],
        "key": old["key"],
        "total_before": totals[0],
        "total_after": totals[1],
        "state": _state(*totals),
    }


def _state(before: float | None, after: float | None) -> str:
    """TOTALS' state; no limit is more than any."""
    first, second = (math.inf if total is None else total for total in (before, after))
    if first == second or math.isclose(first, second, rel_tol=1e-9):
        return "same"
    return "lower" if second < first else "higher"
