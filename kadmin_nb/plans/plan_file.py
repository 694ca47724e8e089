"""The file of a plan: canonical JSON under its hash, with notes beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from .. import documents, files
from ..errors import Invalid, KadminError, UsageError
from ..hints import Hint, Option, sentence
from ..model.changes import Change
from ..model.findings import DANGER, WARNING
from . import advice, canonical, shape
from .advice import Advice
from .plan_rows import changes_of_rows

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
    return canonical.to_json({**head, "changes": rows})


def document(body: str, plan_id: str, notes: Sequence[Note]) -> str:
    """The text of a plan's file."""
    return f'{{"body":{body},"id":"{plan_id}","notes":{canonical.to_json(notes)}}}'


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
    shape.refuse_other(whole, where)
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
    raw = files.read(place, "a plan file", _LARGEST, pipe=True, missing=f"no such plan file: {place}")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Invalid(f"{place} is not a plan file: it is not UTF-8") from None


def _parted(notes: Sequence[Mapping[str, str]]) -> tuple[tuple[Mapping[str, str], ...], Advice]:
    """The notes of people, and those that are the advice."""
    is_advice = [note.get("kind") in (DANGER, WARNING) for note in notes]
    loaded_advice = advice.advice_of_notes(note for note, is_ in zip(notes, is_advice, strict=True) if is_)
    return tuple(note for note, is_ in zip(notes, is_advice, strict=True) if not is_), loaded_advice
