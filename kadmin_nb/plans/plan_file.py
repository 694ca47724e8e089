"""The file of a plan: its rows, its shape, and the canonical JSON under its hash, with notes beside it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

from .. import documents, files
from ..errors import Invalid, KadminError, UsageError
from ..hints import Hint, Option, sentence
from ..model.changes import Change, Refusal, Target, Verdict, refuse_long
from ..model.configurable import Configurable
from ..model.findings import DANGER, WARNING
from . import advice
from .advice import Advice
from .kinds.registry import KINDS

_KINDS = '["client-config", "quota", "config", "scram"]'
"""The kinds in the schema as it is published."""

_ROW = re.compile(r"^body\.changes\[(\d+)\]\.?")


def schema() -> str:
    """The JSON Schema (draft-07) of a new plan's file, as text, with the kinds of changes that are registered."""
    text = resources.files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
    return text.replace(_KINDS, json.dumps([*KINDS]))


def _schema_of(format: int) -> dict[str, Any]:
    """The schema of an earlier format: the newest without the fields that came later."""
    document: dict[str, Any] = json.loads(schema())
    document["properties"]["body"]["properties"]["format"]["const"] = format
    for name in {*WHERE_SET[FORMAT]} - {*WHERE_SET[format]}:
        del document["definitions"]["change"]["properties"][name]
    return document


def refuse_other(document: object, where: str) -> None:
    """Refuse a document that is of another shape, whatever its hash says; `where` names it.

    Raises
    ------
    Invalid
        The first thing that is wrong, with its row.
    """
    import fastjsonschema

    format = _format_of(document)
    if format not in WHERE_SET:
        known = " and ".join(map(str, WHERE_SET))
        raise Invalid(f"{where} is a plan file of format {format}, and this version reads formats {known}")
    try:
        _validator(format, tuple(KINDS))(document)
    except fastjsonschema.JsonSchemaValueException as exc:
        raise Invalid(f"{where} is not a plan file of format {format}: {_told(exc)}") from None
    _refuse_other_numbers(document["body"]["changes"], where)  # type: ignore[index]  # its shape is right


def _format_of(document: Any) -> int:
    """The format that it says; the newest where it says none that we could ever have written."""
    try:
        format = document["body"]["format"]
    except (LookupError, TypeError):
        return FORMAT
    return format if type(format) is int and 0 < format < 1_000 else FORMAT


@functools.cache
def _validator(format: int, kinds: Sequence[str]) -> Callable[[object], object]:
    import fastjsonschema

    return fastjsonschema.compile(_schema_of(format))


def _told(exc: Any) -> str:
    """The problem and its place; for a kind of a later version, that this one does not know it."""
    name = exc.name.removeprefix("data").removeprefix(".")
    row = _ROW.match(name)
    place = f"row {int(row[1]) + 1}: {name[row.end() :]}".rstrip() if row else name
    if exc.rule == "enum" and name.endswith("].kind") and isinstance(exc.value, str):
        return f"{place.removesuffix('kind')}this version does not know changes of kind {exc.value}"
    return f"{place}{exc.message.removeprefix(exc.name)}".strip()


def _refuse_other_numbers(rows: Sequence[dict[str, Any]], where: str) -> None:
    """Rows are named by their numbers, in a journal too, so they count from 1; 1.0 is another text than 1."""
    for number, row in enumerate(rows, 1):
        if row["row"] != number or type(row["row"]) is not int:
            raise Invalid(f"{where} is not a plan file: its row {number} has the number {row['row']}")
        if (value := KINDS[row["kind"]].strange_value(row)) is not None:
            raise Invalid(f"{where} is not a plan file: its row {number} has the value {value}")


_CHANGE_COLUMNS = ("row", "op", "key", "old", "wanted", "after", "old_known", "level", "validated", "note")
_AS_TEXT = ("resource", "validated")
"""The columns that are objects until a plan is written or shown."""

WHERE_SET = {2: ("is_secret",), 3: ("is_secret", "is_let_through", "meant", "topic_id", "until", "is_again")}
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
    parse = cache(lambda kind, text: KINDS[kind].resources.parse(text))
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


def _change_of_row(row: dict[str, Any], parse: Callable[[str, str], Configurable]) -> Change:
    kind = KINDS[row["kind"]]
    if row["op"] not in kind.verbs:
        raise Invalid(f"{row['op']} cannot be done to a {row['kind']}")
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


_VERDICTS = {verdict.value: verdict for verdict in Verdict}


def _verdict(text: str) -> Refusal | Verdict:
    """The validation of a row, as a plan's file has it."""
    return _VERDICTS.get(text) or Refusal.parse(text)


HEAD = ("format", "tool", "cluster_id", "author", "created", "expires", "reason", "undoes")
"""The fields of a plan that stand in its body beside the changes."""

Note = Mapping[str, str]


class _Savable(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def notes(self) -> Sequence[Note]: ...


@dataclass(frozen=True)
class Content:
    """The content of a plan's file; `plan_id` is the hash that stands in it."""

    plan_id: str
    head: Mapping[str, Any]
    changes: tuple[Change, ...]
    notes: tuple[Note, ...]
    advice: Advice


def body(head: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """All that a plan's hash stands for, as canonical JSON."""
    return documents.to_json({**head, "changes": rows})


def document(body: str, plan_id: str, notes: Sequence[Note]) -> str:
    """The text of a plan's file."""
    return f'{{"body":{body},"id":"{plan_id}","notes":{documents.to_json(notes)}}}'


def write(place: Path, text: str) -> Path:
    """Write a plan's file, whole or not at all."""
    files.write(place, text + "\n")
    return place


def content_of(text: str, where: str) -> Content:
    """The content of a plan's file; `where` names it in errors.

    Raises
    ------
    Invalid
        Another shape, a row that is not a change, two rows of one key, or a note about another plan.
    """
    try:
        whole = documents.from_json(text)
    except ValueError as exc:
        raise Invalid(f"{where} is not a plan file: {exc}") from None
    refuse_other(whole, where)
    if any(note["plan_id"] != whole["id"] for note in whole["notes"]):
        raise Invalid(f"{where} has a note about another plan", code="CORRUPT_PLAN")
    try:
        return _content(whole)
    except Invalid as exc:
        raise exc.reworded(f"{where} is not a plan file: {exc}") from None
    except (KeyError, ValueError) as exc:
        raise Invalid(f"{where} is not a plan file of format {whole['body']['format']}: {exc!r}") from None


def _content(whole: Mapping[str, Any]) -> Content:
    of_plan = whole["body"]
    for time in filter(None, (of_plan["created"], of_plan["expires"])):
        datetime.fromisoformat(time)
    head = {name: of_plan[name] for name in HEAD}
    return Content(whole["id"], head, changes_of_rows(of_plan["changes"], of_plan["format"]), *_parted(whole["notes"]))


def refuse_to_replace(place: Path, plan_id: str, notes: Sequence[Note], load: Callable[[Path], _Savable]) -> None:
    """Refuse where a file would be lost; an empty one, as mktemp makes it, is none.

    Raises
    ------
    UsageError
        Another plan or file is there, or this plan with other notes.
    """
    if not place.is_file() or not place.stat().st_size:
        return
    try:
        there = load(place)
    except KadminError:
        raise _would_be_lost(place, "it is not a plan that can be read") from None
    if there.id != plan_id:
        raise _would_be_lost(place, f"it holds another plan, {there.id[:12]}")
    if any(note not in notes for note in there.notes):
        raise _would_be_lost(place, "the same plan there has notes that this one lacks")


def _would_be_lost(place: Path, why: str) -> UsageError:
    return UsageError(f"{place} was not overwritten: {why}", hint=_OTHERWISE)


_OTHERWISE = Hint(
    "Save the plan under another name.", sentence("{} replaces the file.", Option("overwrite", flag="--force"))
)


_LARGEST = 1 << 29
"""Bytes of a plan file: more than a million changes."""


def text_of(place: Path) -> str:
    """The text of a plan's file, or of a pipe."""
    return files.read_text(place, "a plan file", _LARGEST, pipe=True, missing=f"no such plan file: {place}")


def _parted(notes: Sequence[Mapping[str, str]]) -> tuple[tuple[Mapping[str, str], ...], Advice]:
    """The notes of people, and those that are the advice."""
    is_advice = [note.get("kind") in (DANGER, WARNING) for note in notes]
    loaded_advice = advice.advice_of_notes(note for note, is_ in zip(notes, is_advice, strict=True) if is_)
    return tuple(note for note, is_ in zip(notes, is_advice, strict=True) if not is_), loaded_advice
