"""From wishes and a picture to the rows of a plan. Pure: whatever it needs to know is in the picture."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..errors import Invalid
from ..model.changes import APPEND, DELETE, SUBTRACT, Change, Edit
from ..model.entity import Entity
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS, find, nearest, readable
from ..model.resources import Resource
from . import lists
from .picture import Observed, Picture
from .texts import same

ROOT_LOGGER = "root"


def _after(edit: Edit, picture: Picture) -> str | None:
    """What will be stored on the target itself. A logger has always a level: reset, it has the root's."""
    now = picture.of(edit.target)
    if edit.op == APPEND:
        return lists.append(_start(now), edit.value or "")
    if edit.op == SUBTRACT:
        return lists.subtract(_start(now), edit.value or "")
    if edit.op == DELETE and isinstance(edit.resource, Resource) and edit.resource.type == "BROKER_LOGGER":
        return picture.of((edit.resource, ROOT_LOGGER)).value
    return edit.value


def _start(now: Observed) -> str | None:
    """The list that an APPEND or SUBTRACT starts from: the override, else the schema's default."""
    return now.value if now.value is not None else now.base


def changes(edits: Sequence[Edit], picture: Picture, allow_unknown: Collection[str] = ()) -> list[Change]:
    """The rows of a plan, before and after, not yet validated.

    Raises
    ------
    Invalid
        A removal of a key that is neither known nor present, an unknown BROKER key.
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        A resource that could not be read.
    """
    picture.refuse_unreadable(edit.target for edit in edits)
    for edit in edits:
        if edit.key not in allow_unknown:
            _refuse_unknown(edit, picture)
    return [_change(n, edit, picture, allow_unknown) for n, edit in enumerate(edits, 1)]


def _change(row: int, edit: Edit, picture: Picture, allow_unknown: Collection[str]) -> Change:
    now, after = picture.of(edit.target), _after(edit, picture)
    return Change(
        row=row,
        op=edit.op,
        resource=edit.resource,
        key=edit.key,
        old=now.value,
        wanted=edit.value,
        after=after,
        old_known=now.is_known,
        level=edit.resource.level if isinstance(edit.resource, Entity) else None,
        note="; ".join(_notes(edit, now, after, allow_unknown)) or None,
    )


def _notes(edit: Edit, now: Observed, after: str | None, allow_unknown: Collection[str]) -> Iterable[str]:
    """What a reader of the row should know beside its columns."""
    if edit.note:
        yield edit.note
    if isinstance(edit.resource, Entity) and edit.value is not None and find(edit.key):
        yield f"{readable(edit.key, float(edit.value))} on each broker"
    if edit.key in allow_unknown:
        yield "unknown key, let through by --allow-unknown"
    if not now.is_known:
        yield "the old value is sensitive: it cannot be shown or restored"
    if isinstance(edit.resource, Resource) and now.inherited is not None:
        yield f"below it: {now.inherited} from {now.inherited_from}"
    if now.is_known and same(now.value, after, now.type):
        yield "already so"


def _refuse_unknown(edit: Edit, picture: Picture) -> None:
    """Kafka removes unknown quota keys, and stores unknown broker keys, without a word."""
    if edit.target in picture.values:
        return
    if isinstance(edit.resource, Entity):
        if edit.op == DELETE and find(edit.key) is None:
            _refuse(edit, [*USER_CLIENT_KEYS, *IP_KEYS])
    elif edit.resource.type == "BROKER" or edit.op == DELETE:
        known = picture.listed.get(edit.resource, set())
        if not _is_listed(edit, known):
            _refuse(edit, sorted(known))


def _is_listed(edit: Edit, known: Collection[str]) -> bool:
    """Whether the key, or the key without `listener.name.<x>.` and a mechanism, is one the resource lists."""
    if edit.key in known:
        return True
    if isinstance(edit.resource, Resource) and edit.resource.type != "BROKER":
        return False
    if not edit.key.startswith("listener.name."):
        return False
    rest = edit.key.split(".")[3:]
    return ".".join(rest) in known or ".".join(rest[1:]) in known


def _refuse(edit: Edit, known: list[str]) -> None:
    near = nearest(edit.key, known)
    hint = f"Did you mean {near}? " if near else ""
    raise Invalid(
        f"{edit.key} is no key that Kafka or {edit.resource} knows",
        code="INVALID_CONFIG",
        hint=f"{hint}--allow-unknown {edit.key} lets it through.",
    )
