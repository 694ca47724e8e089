"""From rows of DIFF to edits that make one side like the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import index

from ..errors import KadminError, UsageError
from ..hints import Hint, Option, sentence
from ..model.changes import DELETE, SET, Edit
from ..model.grammar import quote
from ..model.rows import Row
from ..model.snapshot_kinds import parsed
from .broker_roles import ANY_BROKER

ALL = "all"
_ROWS_HINT = "Such as 1-3,7, or all."
_WHY = {
    "unknown": "it could not be read",
    "default": "it differs only by default",
    "nature": "it tells one cluster's brokers from another's",
}


def chosen(rows: object, diff_rows: Sequence[Row], like: str) -> list[int]:
    """The numbers of the chosen rows, each once, in order.

    Raises
    ------
    UsageError
        No number, or a row that is not there.
    """
    if isinstance(rows, str) and rows == ALL:
        return [row["row"] for row in diff_rows if refusal(row, like) is None]
    numbers: set[int] = set()
    for bounds in _ranges(rows):
        strange = [n for n in (bounds.start, bounds.stop - 1) if not 1 <= n <= len(diff_rows)]
        if strange:
            raise UsageError(f"no such row: {strange[0]}", hint=f"There are {len(diff_rows):,}, from 1.")
        numbers.update(bounds)
    if not numbers:
        raise UsageError("--rows is required", hint=_ROWS_HINT)
    return sorted(numbers)


def _ranges(rows: object) -> Iterator[range]:
    if isinstance(rows, str):
        yield from (_range(part.strip()) for part in rows.split(","))
        return
    try:
        numbers = [index(n) for n in (rows if isinstance(rows, Iterable) else [rows])]  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{rows!r}: row numbers are required", hint=_ROWS_HINT) from None
    yield from (range(n, n + 1) for n in numbers)


def _range(part: str) -> range:
    first, dash, last = part.partition("-")
    if not all(
        number_text.isascii() and number_text.isdigit() and len(number_text) < 10
        for number_text in (first, last if dash else first)
    ):
        raise UsageError(f"{quote(part)} is not the number of a row", hint=_ROWS_HINT)
    if dash and int(last) < int(first):
        raise UsageError(f"{part} ends before it begins", hint=_ROWS_HINT)
    return range(int(first), int(last or first) + 1)


def edits(diff_rows: Sequence[Row], numbers: Iterable[int], like: str, named: str) -> list[Edit]:
    """The edits that make these rows like that side; each edit notes its row, and the diff, `named`, that it is of.

    Raises
    ------
    UsageError
        A row that cannot be staged.
    """
    rows = [diff_rows[number - 1] for number in numbers]
    for row in rows:
        if why := refusal(row, like):
            key = f" {row['key']}" if row["key"] is not None else ""
            raise UsageError(f"row {row['row']}, {row['resource']}{key}, cannot be staged: {why}", hint=_hint(row))
    return [_edit(row, like, f"row {row['row']} of diff {named}") for row in rows]


def _hint(row: Row) -> str | Hint:
    if _is_of_each_broker(row):
        return "Set it where it belongs: broker=<default>, or a broker by its number."
    return Hint(sentence("Choose others: {}.", Option("rows", "1-3,7")))


def refusal(row: Row, like: str) -> str | None:
    """The reason why a row cannot be staged, None where it can."""
    if row["state"] in _WHY:
        return _WHY[row["state"]]
    if row["is_sensitive"]:
        return "it is a secret, which nobody can see"
    if row["missing"] == _other(like):
        return "no such topic"
    if _is_of_each_broker(row):
        return "it is what all brokers of a cluster have in common"
    try:
        op = _op(row, like)
    except KadminError as exc:
        return str(exc)
    return "it stands in the broker's server.properties" if op is None else None


def _is_of_each_broker(row: Row) -> bool:
    return bool(row["resource"] == ANY_BROKER)


def _edit(row: Row, like: str, note: str) -> Edit:
    op = _op(row, like)
    resource = parsed(row["kind"], row["resource"])
    return Edit(str(op), resource, row["key"], row[like] if op == SET else None, note)


def _op(row: Row, like: str) -> str | None:
    """Set what that side has; take away what it has not, or only from below; None where nothing can be taken away."""
    own_source = parsed(row["kind"], row["resource"]).source
    from_below = row[like] is None or (row["state"] == "source" and row[f"source_{like}"] != own_source)
    if not from_below:
        return SET
    return DELETE if row[f"source_{_other(like)}"] in (own_source, None) else None


def _other(side: str) -> str:
    return "b" if side == "a" else "a"
