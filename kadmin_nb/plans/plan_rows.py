"""Changes as rows: of PLAN, and of a plan's file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any

from ..errors import Invalid, KadminError
from ..model.changes import NOT_POSSIBLE, OK, Change, Target, Verdict, refuse_long
from ..model.configurable import Configurable
from ..model.refusal import Refusal
from .kinds.registry import KINDS

_CHANGE_COLUMNS = ("row", "op", "key", "old", "wanted", "after", "old_known", "level", "validated", "note")
_AS_TEXT = ("resource", "validated")
"""The columns that are objects until a plan is written or shown."""

WHERE_SET = {2: ("is_secret",), 3: ("is_secret", "is_let_through", "meant", "topic_id", "until")}
"""The fields that a row of a plan's file has only where they are set, by the formats that are read."""

FORMAT = max(WHERE_SET)
"""The format of new plans."""


def columns_of(changes: Sequence[Change]) -> dict[str, list[Any]]:
    """Changes as the columns of PLAN."""
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), changes)) for name in (*_CHANGE_COLUMNS, "kind")}
    texts = {name: [str(getattr(change, name)) for change in changes] for name in _AS_TEXT}
    return columns | texts


def row_of(change: Change, format: int = FORMAT) -> dict[str, Any]:
    """A change as a row of a plan's file, its columns in the order of their names, as canonical JSON has them."""
    row = {
        "after": change.after,
        "key": change.key,
        "kind": change.resource.kind,
        "level": change.level,
        "note": change.note,
        "old": change.old,
        "old_known": change.old_known,
        "op": change.op,
        "resource": str(change.resource),
        "row": change.row,
        "validated": str(change.validated),
        "wanted": change.wanted,
    }
    return row | {name: value for name in WHERE_SET[format] if (value := getattr(change, name))}


def changes_of_rows(rows: Iterable[dict[str, Any]], format: int = FORMAT) -> tuple[Change, ...]:
    """The changes that the rows of a plan's file are, of which several may name one entity or resource.

    Raises
    ------
    Invalid
        The first row that is none, by its number; two rows of one key.
    """
    parse = cache(_parsed)
    changes = tuple(_change_or_refusal(row, parse) for row in rows)
    if format == 2:
        changes = tuple(c.with_(is_let_through=True) if _was_let_through(c) else c for c in changes)
    _refuse_doubles(changes)
    return changes


def _was_let_through(change: Change) -> bool:
    """Format 2 said it in the note alone, in these words. Nothing else may look for a fact there."""
    return "unknown key, let through by --allow-unknown" in (change.note or "")


def _change_or_refusal(row: dict[str, Any], parse: Callable[[str, str], Configurable]) -> Change:
    try:
        return _change_of_row(row, parse)
    except (KadminError, ValueError) as exc:
        raise Invalid(f"its row {row['row']}: {exc}") from None


def _refuse_doubles(changes: Iterable[Change]) -> None:
    """Refuse two changes of one key: no stage and no rollback has them, and nobody could say which holds."""
    first: dict[Target, int] = {}
    for change in changes:
        row = first.setdefault(change.target, change.row)
        if row != change.row:
            raise Invalid(f"its rows {row} and {change.row} both change {change.key} of {change.resource}")


def _parsed(kind: str, text: str) -> Configurable:
    return KINDS[kind].resources.parse(text)


def _change_of_row(row: dict[str, Any], parse: Callable[[str, str], Configurable]) -> Change:
    kind = KINDS[row["kind"]]
    if row["op"] not in kind.verbs:
        raise Invalid(f"{row['op']} is nothing that can be done to a {row['kind']}")
    if row["after"] is not None:
        kind.read_value(row["after"])
    columns = {**row, "resource": parse(row["kind"], row["resource"]), "validated": _verdict(row["validated"])}
    del columns["kind"]
    change = Change(**columns)
    _ = change.resource.broker  # refuses a broker that is not a number
    change.refuse_long_names()
    refuse_long("the value", change.wanted or "")
    if change.until is not None:
        datetime.fromisoformat(change.until)
    return change


_VERDICTS: dict[str, Verdict] = {OK: OK, NOT_POSSIBLE: NOT_POSSIBLE}


def _verdict(text: str) -> Refusal | Verdict:
    """The validation of a row, as a plan's file has it."""
    return _VERDICTS.get(text) or Refusal.parse(text)
