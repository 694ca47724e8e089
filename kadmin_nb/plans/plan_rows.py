"""Changes as rows: of PLAN, and of a plan's file."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from ..errors import Invalid
from ..model.changes import NOT_POSSIBLE, OK, Change, Verdict
from ..model.refusal import Refusal
from .kinds.registry import KINDS

_CHANGE_COLUMNS = ("row", "op", "key", "old", "wanted", "after", "old_known", "level", "validated", "note")
_AS_TEXT = ("resource", "validated")
"""The columns that are objects until a plan is written or shown."""
_values = attrgetter(*_CHANGE_COLUMNS)


def columns_of(changes: Sequence[Change]) -> dict[str, list[Any]]:
    """Changes as the columns of PLAN."""
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), changes)) for name in (*_CHANGE_COLUMNS, "kind")}
    texts = {name: [str(getattr(change, name)) for change in changes] for name in _AS_TEXT}
    return columns | texts


def row_of(change: Change) -> dict[str, Any]:
    """A change as a row of PLAN."""
    row = dict(zip(_CHANGE_COLUMNS, _values(change), strict=True))
    secret = {"is_secret": True} if change.is_secret else {}
    return {**row, "kind": change.kind, **{name: str(getattr(change, name)) for name in _AS_TEXT}, **secret}


def change_of_row(row: dict[str, Any]) -> Change:
    """The change that a row of a plan's file is. Raises Invalid, KeyError or ValueError where it is none."""
    kind = KINDS[row["kind"]]
    if row["op"] not in kind.verbs:
        raise Invalid(f"row {row['row']}: {row['op']} is nothing that can be done to a {row['kind']}")
    if row["after"] is not None:
        kind.read_value(row["after"])
    columns = {name: row[name] for name in _CHANGE_COLUMNS}
    columns |= {"resource": kind.parse(row["resource"]), "validated": _verdict(row["validated"])}
    return Change(is_secret=row.get("is_secret", False), **columns)


def _verdict(text: str) -> Refusal | Verdict:
    """The validation of a row, as a plan's file has it."""
    return next((verdict for verdict in (OK, NOT_POSSIBLE) if text == verdict), Refusal.parse(text))
