"""Plan: reviewed changes with what was seen before them, as canonical JSON under a hash."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import Invalid, NotFound, UsageError
from ..frames import schemas
from ..frames.stamps import stamped
from ..model.changes import CONFIG, QUOTA, Change
from ..model.entity import Entity
from ..model.resources import Resource

if TYPE_CHECKING:
    import pandas

    from .outcomes import Outcomes

FORMAT = 1
_COLUMNS = ("row", "op", "key", "old", "wanted", "after", "old_known", "level", "validated", "note")
_CHANGED = ("kind", "op", "resource", "key", "wanted")


@dataclass(frozen=True)
class Plan:
    """Changes to one cluster, each with the value seen before. `id` is the SHA-256 of all it says.

    `created` is ISO 8601, UTC. Bound to a cluster, by `stage.plan()`, it can be applied; loaded from a file it
    is readable and comparable.
    """

    cluster_id: str
    created: str
    changes: tuple[Change, ...]
    reason: str | None = None
    _apply: Callable[..., Outcomes] | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        """The SHA-256 of the canonical body, in hexadecimal."""
        return _hash(self._body())

    @property
    def changes_id(self) -> str:
        """The SHA-256 of the changes alone: two plans that want the same have the same."""
        return _hash([{name: row[name] for name in _CHANGED} for row in self._rows()])

    @property
    def refused(self) -> tuple[Change, ...]:
        """The rows that the broker's validation refused."""
        return tuple(c for c in self.changes if c.validated not in ("ok", "not possible"))

    def apply(self, **options: Any) -> Outcomes:
        """Carry it out on its cluster; see `Cluster.apply`."""
        if self._apply is None:
            raise UsageError("this plan is bound to no cluster", hint="cluster.apply(plan) applies it.")
        return self._apply(self, **options)

    def to_arrow(self) -> pa.Table:
        """PLAN."""
        return stamped(schemas.from_columns(schemas.PLAN, columns_of(self.changes)), self.cluster_id, at=self.created)

    def to_pandas(self) -> pandas.DataFrame:
        """PLAN as pandas."""
        from ..frames.to_pandas import frame_of

        return frame_of(self.to_arrow())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as canonical JSON, its id beside the body."""
        place = Path(path)
        place.write_text(_canonical({"body": self._body(), "id": self.id}) + "\n", encoding="utf-8")
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a saved plan, unbound.

        Raises
        ------
        NotFound, Invalid
            No such file; a file that is no plan, or one in which a byte was changed.
        """
        document = _read(Path(path))
        body = document["body"]
        if _hash(body) != document["id"]:
            raise Invalid(f"{path} was changed after it was saved: its id does not fit", code="CORRUPT_PLAN")
        changes = tuple(_change(row) for row in body["changes"])
        return cls(body["cluster_id"], body["created"], changes, body["reason"])

    def _body(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "cluster_id": self.cluster_id,
            "created": self.created,
            "reason": self.reason,
            "changes": self._rows(),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [row_of(change) for change in self.changes]

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        from ..frames.render import text

        return f"{self._title()}\n{text(_brief(self.to_arrow()))}"

    def _repr_html_(self) -> str:
        from ..frames.render import document, tree

        return tree(self._title()) + document(_brief(self.to_arrow()))

    def _title(self) -> str:
        reason = f" because {self.reason}" if self.reason else ""
        return f"plan {self.id[:12]} for cluster {self.cluster_id}, {len(self)} change{'s' * (len(self) != 1)}{reason}"


def columns_of(changes: Sequence[Change]) -> dict[str, list[Any]]:
    """Changes as the columns of PLAN."""
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), changes)) for name in (*_COLUMNS, "kind")}
    return columns | {"resource": [str(change.resource) for change in changes]}


def row_of(change: Change) -> dict[str, Any]:
    """A change as a row of PLAN."""
    row = {name: getattr(change, name) for name in _COLUMNS}
    return {**row, "kind": change.kind, "resource": str(change.resource)}


def _change(row: dict[str, Any]) -> Change:
    parse: dict[str, Callable[[str], Entity | Resource]] = {QUOTA: Entity.parse, CONFIG: Resource.parse}
    if row["kind"] not in parse:
        raise Invalid(f"row {row['row']}: this version does not know changes of kind {row['kind']}")
    return Change(resource=parse[row["kind"]](row["resource"]), **{name: row[name] for name in _COLUMNS})


def _read(place: Path) -> dict[str, Any]:
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"there is no plan file {place}") from None
    except (OSError, ValueError) as exc:
        raise Invalid(f"{place} is no plan file: {exc}") from None
    body = document.get("body") if isinstance(document, dict) else None
    if not isinstance(body, dict) or "id" not in document or body.get("format") != FORMAT:
        raise Invalid(f"{place} is no plan file of format {FORMAT}")
    return {"body": body, "id": document["id"]}


def _canonical(body: object) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _hash(body: object) -> str:
    return hashlib.sha256(_canonical(body).encode()).hexdigest()


def _brief(table: pa.Table) -> pa.Table:
    return table.select(["row", "op", "resource", "key", "old", "after", "validated", "note"])


def bound(plan: Plan, apply: Callable[..., Outcomes]) -> Plan:
    """The same plan, tied to a cluster."""
    return Plan(plan.cluster_id, plan.created, plan.changes, plan.reason, apply)
