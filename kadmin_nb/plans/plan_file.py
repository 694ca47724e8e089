"""The file of a plan: its shape, its rows, and the canonical JSON under its hash, with notes beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, structs

from .. import documents
from ..errors import Invalid, KadminError, printable
from ..model.changes import DELETE, Change, Fallback, Refusal, Target, Verdict
from ..model.configurable import Configurable
from ..model.findings import DANGER, WARNING
from ..version import TOOL
from . import advice
from .advice import Advice
from .journal.replay import parse_ranges, ranges_text
from .kinds import KINDS

# -- the shape of a file; docs/plan.schema.json is the same for programs in other languages

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)\Z")]
Value = Annotated[str, Meta(max_length=32_767)]
Note = dict[str, str]

FORMAT = 3
"""The format of new plans."""


class PlanHead(Struct, frozen=True, forbid_unknown_fields=True):
    """What a plan is beside its changes. `created` and `expires` are ISO 8601, UTC; `undoes` is the id of the plan
    that it rolls back; `format` is that of its file, which `tool` wrote.
    """

    cluster_id: Annotated[str, Meta(min_length=1)]
    created: Time
    reason: str | None = None
    author: str = ""
    expires: Time | None = None
    undoes: str | None = None
    tool: str = TOOL
    format: int = FORMAT

    def has_expired(self, now: datetime | None = None) -> bool:
        """True if it has expired, now or at that time: `apply` then refuses to start it."""
        return self.expires is not None and (now or datetime.now(UTC)) > datetime.fromisoformat(self.expires)


class Row(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of a plan's file. A field with a default is written only where it is set.

    `topic_id` and `until` are no longer set; a plan that has them keeps its id.
    """

    row: Annotated[int, Meta(ge=1)]
    kind: str
    op: Literal["set", "delete", "append", "subtract"]
    resource: Annotated[str, Meta(max_length=200_000)]
    key: Annotated[str, Meta(min_length=1, max_length=32_767)]
    old: Value | None
    wanted: Value | None
    after: Annotated[str, Meta(max_length=65_535)] | None
    old_known: bool
    level: str | None
    validated: str
    note: str | None
    is_secret: bool = False
    is_let_through: bool = False
    meant: Annotated[str, Meta(min_length=1)] | None = None
    topic_id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{22}\Z")] | None = None
    until: Time | None = None
    is_again: bool = False


_T = TypeVar("_T")
_ROW = re.compile(r"\[(\d+)\](?:\.|: )(.*)", re.DOTALL)


def _read(kind: type[_T], value: object, place: str) -> _T:
    """A part of a file as that type.

    Raises
    ------
    Invalid
        The first thing that is wrong, with its path; `place` names the part.
    """
    try:
        return documents.as_type(value, kind)
    except ValueError as exc:
        problem = str(exc)
        if of_row := _ROW.fullmatch(problem):
            place, problem = f"its row {int(of_row[1]) + 1}", of_row[2]
        raise Invalid(printable(": ".join(filter(None, [place, problem])))[:500]) from None


# -- changes as rows

_CHANGE_COLUMNS = (
    *("row", "op", "key", "old", "wanted", "after", "old_known", "level", "validated", "note"),
    *("change", "applies_before", "applies_after"),
)
_WHERE_SET = [field.name for field in structs.fields(Row) if not field.required]
_REQUIRED = sorted(field.name for field in structs.fields(Row) if field.required)
_values_of = attrgetter(*_REQUIRED)


def columns_of(changes: Sequence[Change]) -> dict[str, list[Any]]:
    """Changes as the columns of PLAN."""
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), changes)) for name in (*_CHANGE_COLUMNS, "kind")}
    texts = {name: [str(getattr(change, name)) for change in changes] for name in ("resource", "validated")}
    falls_back_to = [c.falls_back.set_on or None if c.falls_back else None for c in changes]
    return columns | texts | {"falls_back_to": falls_back_to, "clients": [None] * len(changes)}


def row_of(change: Change) -> dict[str, Any]:
    """A change as a row of a plan's file, its columns in the order of their names, as canonical JSON has them."""
    row = dict(zip(_REQUIRED, _values_of(change), strict=True))
    row["resource"], row["validated"] = str(change.resource), str(change.validated)
    return row | {name: value for name in _WHERE_SET if (value := getattr(change, name))}


def _changes_of(rows: Iterable[Row], fallbacks: Mapping[int, Fallback]) -> tuple[Change, ...]:
    """The changes that the rows of a plan's file are, of which several may name one entity or resource.

    Raises
    ------
    Invalid
        The first row that is none, by its number; two rows of one key.
    """
    parse, changes = cache(lambda kind, text: KINDS[kind].resources.parse(text)), []
    for number, row in enumerate(rows, 1):
        try:
            changes.append(_change_of(row, number, parse, fallbacks.get(number)))
        except (KadminError, ValueError) as exc:
            raise Invalid(f"its row {number}: {exc}") from None
    first: dict[Target, int] = {}
    for change in changes:  # no stage and no rollback changes a key twice, and nobody could say which holds
        earlier = first.setdefault(change.target, change.row)
        if earlier != change.row:
            raise Invalid(f"its rows {earlier} and {change.row} both change {change.key} of {change.resource}")
    return tuple(changes)


def _change_of(row: Row, number: int, parse: Callable[[str, str], Configurable], fallback: Fallback | None) -> Change:
    """The change that a row is. Rows are named by their numbers, in a journal too, so they count from 1."""
    kind = KINDS.get(row.kind)
    if kind is None:
        raise Invalid(f"this version does not know changes of kind {row.kind[:100]}")
    if row.row != number:
        raise Invalid(f"its number is {row.row}")
    if row.op not in kind.verbs:
        raise Invalid(f"{row.op} cannot be done to a {row.kind}")
    if (row.wanted is None) != (row.op == DELETE) or (row.after is None and row.op != DELETE):
        raise Invalid(f"{row.op} has {'a' if row.op == DELETE else 'no'} value")
    columns = {name: getattr(row, name) for name in row.__struct_fields__ if name != "kind"}
    verdict = _VERDICTS.get(row.validated) or Refusal.parse(row.validated)
    columns |= {"resource": parse(row.kind, row.resource), "validated": verdict, "falls_back": fallback}
    change = Change(**columns)
    _ = change.resource.broker  # refuses a broker that is not a number
    kind.check_values(change)
    change.refuse_long(change.wanted)
    if change.until is not None:
        datetime.fromisoformat(change.until)
    return change


_VERDICTS = {verdict.value: verdict for verdict in Verdict}


# -- the file


Content = tuple[str, PlanHead, tuple[Change, ...], tuple[Note, ...], Advice]
"""What a plan's file has: the id that is written in it, its head, its changes, the notes of people, the advice."""


def body(head: PlanHead, rows: Sequence[Mapping[str, Any]]) -> str:
    """All that a plan's id is the hash of, as canonical JSON."""
    return documents.texts_to_json({**structs.asdict(head), "changes": rows})


def document(body: str, plan_id: str, notes: Sequence[Mapping[str, str]]) -> str:
    """The text of a plan's file."""
    return f'{{"body":{body},"id":"{plan_id}","notes":{documents.to_json(notes)}}}'


class _Document(Struct, forbid_unknown_fields=True):
    """The whole file, with its body still unread."""

    body: dict[str, Any]
    id: Id
    notes: list[Note]


AtHand = Callable[[str], tuple[Change, ...] | None]
"""The changes of the plan of an id, where somebody in this process still has it."""


def nothing_at_hand(plan_id: str) -> None:
    """Every plan is read."""


def content_of(text: str, where: str, at_hand: AtHand) -> Content:
    """The content of a plan's file; `where` names it in errors. Changes that are at hand are not read again, where the
    hash of what is written is their plan's id.

    Raises
    ------
    Invalid
        Another shape, a row that is not a change, two rows of one key, or a note about another plan.
    """
    try:
        return _content(_read(_Document, documents.from_json(text), ""), at_hand)
    except Invalid as exc:
        raise exc.reworded(f"{where} is not a plan file: {exc}") from None
    except KeyError as exc:
        raise Invalid(f"{where} is not a plan file: a note of it has no {exc.args[0]}") from None
    except ValueError as exc:
        raise Invalid(printable(f"{where} is not a plan file: {exc}")) from None


def _content(whole: _Document, at_hand: AtHand) -> Content:
    if missing := {"changes", *PlanHead.__struct_fields__} - whole.body.keys():
        raise Invalid(f"its body has no {min(missing)}")
    if (format := whole.body["format"]) != FORMAT:
        raise Invalid(printable(f"its format is {format}, and this version reads {FORMAT}")[:500])
    changes = at_hand(whole.id)
    if changes is not None and documents.digest(documents.texts_to_json(whole.body)) != whole.id:
        changes = None
    rows = whole.body.pop("changes")
    head = _read(PlanHead, whole.body, "its body")
    for time in filter(None, (head.created, head.expires)):
        datetime.fromisoformat(time)
    if changes is None:
        changes = _changes_of(_read(list[Row], rows, "its changes"), _fallbacks_of(whole.notes, len(rows)))
    if any(note["plan_id"] != whole.id for note in whole.notes):
        raise Invalid("it has a note about another plan", code="CORRUPT_PLAN")
    told = advice.advice_of_notes(note for note in whole.notes if note["kind"] in (DANGER, WARNING))
    of_people = tuple(note for note in whole.notes if note["kind"] not in (DANGER, WARNING, FALLBACK))
    return whole.id, head, changes, of_people, told


FALLBACK = "fallback"
"""The notes of what applies where a key is not set: the rows that have it, as ranges of their numbers."""


def fallback_notes(changes: Iterable[Change]) -> list[Note]:
    """What the changes fall back to, a note for each value."""
    rows: dict[Fallback, list[int]] = {}
    for change in changes:
        if change.falls_back is not None:
            rows.setdefault(change.falls_back, []).append(change.row)
    return [{"kind": FALLBACK, "rows": ranges_text(having), **fallback._asdict()} for fallback, having in rows.items()]


def _fallbacks_of(notes: Iterable[Note], rows: int) -> dict[int, Fallback]:
    """What the rows fall back to by these notes."""
    return {
        row: Fallback(note["value"], note["set_on"])
        for note in notes
        if note["kind"] == FALLBACK
        for row in parse_ranges(note["rows"], rows)
    }
