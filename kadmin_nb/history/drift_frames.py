"""Drift: what differs between two contents, and whether more than the defaults do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import given_frames, schemas
from ..frames.answer import Answer
from ..frames.snapshots import SCOPE, SCOPES, Snapshot, without_secrets
from ..model.quota_keys import text_of
from ..model.resources import Resource, Source
from ..model.rows import Row
from ..secrets import SHOWN
from .contents import difference
from .fallback import Defaults
from .stored_rows import CONFIGS, QUOTAS, content_of, kind_of

COMPARED = {QUOTAS: ("quota",), CONFIGS: ("value", "source", "is_default")}
WORDS = {QUOTAS: "quota", CONFIGS: "config"}
SECRET = "a secret: nobody can see it"
"""The note of a row that has one."""


class Drift(Answer):
    """DRIFT. `only_by_default` has the rows that differ by a default alone, `differing` all others."""

    @property
    def only_by_default(self) -> Answer:
        """The rows that differ by a default alone."""
        return Answer(self._table.filter(pc.equal(self._table["state"], "default")))

    @property
    def differing(self) -> Answer:
        return Answer(self._table.filter(pc.not_equal(self._table["state"], "default")))

    def _failing(self) -> pa.Array | bool:
        return pc.equal(self._table["state"], "unknown")

    def _error(self, row: Row) -> UsageError:
        return UsageError(f"{row['resource']} could not be compared: {row['note']}")


def drift(a: object, b: object) -> Drift:
    """DRIFT from `a` to `b`: two snapshots, or two frames of quotas or of configs, of one cluster or of two.

    What only one of them has read is passed over. A resource that one of them could not read is one row with the state
    unknown. Two secrets are not compared: nobody can see them.

    Parameters
    ----------
    a, b
        Snapshots (`cluster.snapshot()`, `as_of`), or anything with `__arrow_c_stream__` that has the columns of QUOTAS
        or of CONFIGS, such as what `describe` answers.

    Raises
    ------
    UsageError
        Not such frames, or one of quotas and one of configs.
    Invalid
        A row is in one of them twice.
    """
    ours, theirs = _sides(a), _sides(b)
    kinds = [kind for kind in (QUOTAS, CONFIGS) if kind in ours and kind in theirs]
    if not kinds:
        raise UsageError(
            "quotas cannot be compared with configs", hint="Give two frames of one kind, or two snapshots."
        )
    rows = [row for kind in kinds for row in _of_kind(ours[kind], theirs[kind], kind)]
    rows.sort(key=lambda row: (row["kind"], row["resource"], row.get("key") or ""))
    return Drift(schemas.table(schemas.DRIFT, rows))


def _sides(content: object) -> Mapping[str, tuple[pa.Table, frozenset[str]]]:
    """The frames of one side, by kind, each with the scopes that it was read in."""
    if isinstance(content, Snapshot):
        scopes = frozenset(content.scopes)
        both = {QUOTAS: content.quotas.to_arrow(), CONFIGS: content.configs.to_arrow()}
        return {kind: (table, scopes) for kind, table in both.items() if _covers(kind, scopes)}
    table = table_of(content)
    scope = (table.schema.metadata or {}).get(SCOPE.encode())
    kind = kind_of(table)
    table = given_frames.fitted(table, schemas.QUOTAS.schema if kind == QUOTAS else schemas.CONFIGS.schema, "the frame")
    return {kind: (table, frozenset(scope.decode().split() if scope else SCOPES))}


def _covers(kind: str, scopes: Iterable[str]) -> bool:
    return "QUOTAS" in scopes if kind == QUOTAS else bool(set(scopes) - {"QUOTAS"})


def table_of(content: object) -> pa.Table:
    """Anything with `__arrow_c_stream__` as a table."""
    if not hasattr(content, "__arrow_c_stream__"):
        raise UsageError(
            f"a {type(content).__name__} is neither a snapshot nor a frame",
            hint="Pass cluster.snapshot(), an Arrow table, or a pandas or Polars DataFrame.",
        )
    return given_frames.table_of(content, "the frame")


def _of_kind(a: tuple[pa.Table, frozenset[str]], b: tuple[pa.Table, frozenset[str]], kind: str) -> Iterator[Row]:
    unread = {**_unread(a[0]), **_unread(b[0])} if kind == CONFIGS else {}
    whole_resource = {"kind": "config", "state": "unknown", "is_sensitive": False}
    yield from ({**whole_resource, "resource": str(r), "note": note} for r, note in unread.items())
    wholes = [_readable(table, kind) for table, _ in (a, b)]
    ours, theirs = (_read_by_both(whole, kind, a[1] & b[1], unread) for whole in wholes)
    differing = difference(ours, theirs, kind, COMPARED[kind])
    defaults_a, defaults_b = (_defaults(whole, kind, unread) for whole in wholes)
    yield from (_one_sided(row, kind, "a", defaults_b) for row in differing.removed.to_pylist())
    yield from (_one_sided(row, kind, "b", defaults_a) for row in differing.added.to_pylist())
    yield from map(
        _two_sided, differing.before.to_pylist(), differing.after.to_pylist(), [kind] * len(differing.before)
    )


def _unread(table: pa.Table) -> dict[Resource, str]:
    if "error" not in table.column_names:
        return {}
    failed = table.filter(pc.is_valid(table["error"])).to_pylist()
    return {Resource(r["resource_type"], r["resource_name"]): f"{r['error']}: {r['message'] or ''}" for r in failed}


def _readable(table: pa.Table, kind: str) -> pa.Table:
    return content_of(table if kind == QUOTAS else without_secrets(table), kind)


def _read_by_both(whole: pa.Table, kind: str, scopes: frozenset[str], unread: Mapping[Resource, str]) -> pa.Table:
    """The content of one side that the other side was read for as well."""
    content = within(whole, kind, scopes)
    if not unread:
        return content
    pairs = zip(content["resource_type"].to_pylist(), content["resource_name"].to_pylist(), strict=True)
    return content.filter(pa.array([Resource(*pair) not in unread for pair in pairs], pa.bool_()))


def within(content: pa.Table, kind: str, scopes: Collection[str]) -> pa.Table:
    """The rows of a content that are in these scopes, or in none that we know."""
    if kind == QUOTAS:
        return content
    kinds = pc.unique(content["resource_type"]).to_pylist()
    read_kinds = [kind_name for kind_name in kinds if kind_name in scopes or kind_name not in SCOPES]
    return content.filter(pc.is_in(content["resource_type"], value_set=pa.array(read_kinds, pa.string())))


def text(row: Row, kind: str) -> str | None:
    """The value of a content's row, as the broker takes it; a secret shows as `[secure]`."""
    if kind == QUOTAS:
        return None if row["quota"] is None else text_of(row["quota"])
    return SHOWN if row["is_sensitive"] else row["value"]


def resource(row: Row, kind: str) -> str:
    """The entity or resource of a row, in the grammar's words."""
    return row["entity"] if kind == QUOTAS else str(Resource(row["resource_type"], row["resource_name"]))


def _defaults(other: pa.Table, kind: str, unread: Iterable[Resource]) -> Defaults | None:
    """The brokers' configs of the other side; None where one of them could not be read."""
    is_complete = kind == CONFIGS and not any(resource.type == "BROKER" for resource in unread)
    return Defaults(other) if is_complete else None


def _one_sided(row: Row, kind: str, side: str, defaults: Defaults | None) -> Row:
    state = {"a": "removed", "b": "added"}[side]
    by_default = kind == CONFIGS and (_is_default(row) or (defaults is not None and defaults.has_the_same(row)))
    note = f"{'b' if side == 'a' else 'a'} has the same by default" if by_default else None
    return {
        "kind": WORDS[kind],
        "resource": resource(row, kind),
        "key": row["key"],
        "state": "default" if by_default else state,
        side: text(row, kind),
        f"source_{side}": row.get("source"),
        "is_sensitive": _is_secret_row(row),
        "note": SECRET if _is_secret_row(row) else note,
    }


def _is_default(row: Row) -> bool:
    return bool(row["is_default"]) or row["source"] == Source.BUILT_IN


def _is_secret_row(*rows: Row) -> bool:
    return any(row.get("is_sensitive") for row in rows)


def _two_sided(ours: Row, theirs: Row, kind: str) -> Row:
    return {
        "kind": WORDS[kind],
        "resource": resource(ours, kind),
        "key": ours["key"],
        "state": "changed" if kind == QUOTAS else _state(ours, theirs),
        "a": text(ours, kind),
        "b": text(theirs, kind),
        "source_a": ours.get("source"),
        "source_b": theirs.get("source"),
        "is_sensitive": _is_secret_row(ours, theirs),
        "note": SECRET if _is_secret_row(ours, theirs) else None,
    }


def _state(ours: Row, theirs: Row) -> str:
    defaults = bool(ours["is_default"]) + bool(theirs["is_default"])
    if ours["value"] != theirs["value"]:
        return "default" if defaults == 2 else "changed"
    return "default" if defaults == 1 else "source"
