"""From wishes and a picture to the rows of a plan. Pure: whatever it needs to know is in the picture."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import compress

from ..errors import Invalid
from ..hints import Hint, Option, sentence
from ..model.changes import APPEND, DELETE, OK, SUBTRACT, Change, Edit
from ..model.config_fallback import behind_listener
from ..model.entity import Entity
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS, find, nearest, readable
from ..model.resources import Resource
from ..secrets import FORMS, Hidden, is_called_so, is_reference, reference, revealed
from . import list_values
from .current_state import Observed, Picture
from .secret_resolver import SecretAsText
from .value_equality import same

ROOT_LOGGER = "root"


def _after(edit: Edit, picture: Picture) -> str | None:
    """What will be stored on the target itself. A logger has always a level: reset, it has the root's."""
    now = picture.of(edit.target)
    if edit.op == APPEND:
        return list_values.append(_start(now), _wanted_text(edit) or "")
    if edit.op == SUBTRACT:
        return list_values.subtract(_start(now), _wanted_text(edit) or "")
    if edit.op == DELETE and isinstance(edit.resource, Resource) and edit.resource.type == "BROKER_LOGGER":
        return picture.of((edit.resource, ROOT_LOGGER)).value
    return _wanted_text(edit)


def _wanted_text(edit: Edit) -> str | None:
    return revealed(edit.value) if isinstance(edit.value, Hidden) else edit.value


def _start(now: Observed) -> str | None:
    """The list that an APPEND or SUBTRACT starts from: the override, else the schema's default."""
    return now.value if now.value is not None else now.base


def changes(edits: Sequence[Edit], picture: Picture, allow_unknown: Collection[str] = ()) -> list[Change]:
    """The rows of a plan, before and after; `validated` says ok until the broker was asked.

    Raises
    ------
    Invalid
        A removal of a key that is neither known nor present, an unknown BROKER key.
    UsageError
        A secret that is not given by reference.
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        A resource that could not be read.
    """
    picture.refuse_unreadable(edit.target for edit in edits)
    for edit in edits:
        if edit.key not in allow_unknown:
            _refuse_unknown(edit, picture)
    secret = [isinstance(edit.resource, Resource) and _is_secret(edit, edit.resource, picture) for edit in edits]
    _refuse_bare([edit for edit in compress(edits, secret) if not is_reference(edit.value or "")])
    rows = enumerate(zip(edits, secret, strict=True), 1)
    return [_plan_row(n, edit, picture, allow_unknown, is_secret) for n, (edit, is_secret) in rows]


def _plan_row(row: int, edit: Edit, picture: Picture, allow_unknown: Collection[str], is_secret: bool) -> Change:
    now, after = picture.of(edit.target), _after(edit, picture)
    notes = [*_notes(edit, now, after, allow_unknown, picture)]
    if is_secret:
        notes.append(_when(edit))
    return Change(
        row=row,
        op=edit.op,
        resource=edit.resource,
        key=edit.key,
        old=now.value,
        wanted=_wanted_text(edit),
        after=after,
        old_known=now.is_known,
        level=edit.resource.level if isinstance(edit.resource, Entity) else None,
        validated=OK,
        note="; ".join(notes) or None,
        is_secret=is_secret,
    )


def _notes(
    edit: Edit, now: Observed, after: str | None, allow_unknown: Collection[str], picture: Picture
) -> Iterable[str]:
    """What a reader of the row should know beside its columns."""
    if edit.note:
        yield edit.note
    if isinstance(edit.resource, Entity) and edit.value is not None and find(edit.key):
        yield f"{readable(edit.key, float(edit.value))} on each broker"
    if edit.key in allow_unknown:
        yield "unknown key, let through by --allow-unknown"
    if near := _near_key(edit, picture):
        yield f"did you mean {near}?"
    if not now.is_known:
        yield "the old value is sensitive: it cannot be shown or restored"
    if isinstance(edit.resource, Resource) and now.inherited is not None:
        yield f"below it: {now.inherited} from {now.inherited_from}"
    if now.is_known and same(now.value, after, now.type):
        yield "already so"


def _near_key(edit: Edit, picture: Picture) -> str | None:
    """The key that was probably meant, where the broker will refuse this one."""
    if isinstance(edit.resource, Entity) or edit.op == DELETE:
        return None
    listed = picture.listed.get(edit.resource, set())
    return None if _is_listed(edit, listed) else nearest(edit.key, sorted(listed))


def _when(edit: Edit) -> str:
    secret_reference = reference(edit.value or "")
    return "looked up when it is sent" + (
        ", from the folder of that moment" if secret_reference and secret_reference[0] == "file" else ""
    )


def _is_secret(edit: Edit, resource: Resource, picture: Picture) -> bool:
    """Whether Kafka keeps the value to itself: a PASSWORD, or a key of a broker that the broker does not know."""
    if edit.value is None or resource.type == "BROKER_LOGGER":
        return False
    schema = _schema(edit, picture)
    if schema is None:
        return resource.type == "BROKER" or is_called_so(edit.key)
    return schema.is_sensitive or schema.type == "PASSWORD" or (schema.type is None and is_called_so(edit.key))


def _schema(edit: Edit, picture: Picture) -> Observed | None:
    """What the resource says of the key, or of the key that it is behind its listener."""
    return picture.values.get(edit.target) or picture.values.get((edit.resource, _plain_key(edit) or ""))


def _refuse_bare(edits: Sequence[Edit]) -> None:
    if not edits:
        return
    first, more = edits[0], f" and {len(edits) - 1} more" if len(edits) > 1 else ""
    raise SecretAsText(
        f"{first.key} of {first.resource}{more}: Kafka keeps the value secret, so it is given only by reference",
        code="SECRET_AS_TEXT",
        hint=f"Write {first.key}={FORMS}. Nothing was sent.",
        targets=[edit.target for edit in edits],
    )


def _refuse_unknown(edit: Edit, picture: Picture) -> None:
    """Kafka removes unknown quota keys, and stores unknown broker keys, without a word."""
    if edit.target in picture.values:
        return
    if isinstance(edit.resource, Entity):
        if edit.op == DELETE and find(edit.key) is None:
            _refuse_unknown_key(edit, [*USER_CLIENT_KEYS, *IP_KEYS])
    elif edit.resource.type == "BROKER" or edit.op == DELETE:
        listed_keys = picture.listed.get(edit.resource, set())
        if not _is_listed(edit, listed_keys):
            _refuse_unknown_key(edit, sorted(listed_keys))


def _is_listed(edit: Edit, listed_keys: Collection[str]) -> bool:
    """Whether the key, or the key without `listener.name.<x>.` and a mechanism, is one the resource lists."""
    return edit.key in listed_keys or _plain_key(edit) in listed_keys


def _plain_key(edit: Edit) -> str | None:
    """The key of a broker without `listener.name.<x>.` and a mechanism."""
    is_of_a_broker = isinstance(edit.resource, Resource) and edit.resource.type == "BROKER"
    return behind_listener(edit.key) if is_of_a_broker else None


def _refuse_unknown_key(edit: Edit, listed_keys: list[str]) -> None:
    near = nearest(edit.key, listed_keys)
    hint = f"Did you mean {near}?" if near else ""
    raise Invalid(
        f"{edit.key} is no key that Kafka or {edit.resource} knows",
        code="INVALID_CONFIG",
        hint=Hint(hint, sentence("{} lets it through.", Option("allow_unknown", [edit.key]))),
        targets=[edit.target],
    )
