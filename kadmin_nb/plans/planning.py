"""From edits and an observed state to the rows of a plan. Pure: whatever it needs to know is in the state.

All rows are made here: those of a plan, those that an editor shows before there is one, those of a stage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import compress

from ..errors import Invalid, KadminError
from ..hints import Hint, Option, did_you_mean, sentence
from ..model.changes import DELETE, OK, Change, Edit, Refusal
from ..secrets import FORMS, SHOWN, Secret, asks_somebody, holds_secret, is_secret_name
from .kinds import kind_of
from .observed_state import ObservedState, ObservedValue, same
from .secret_resolver import ReferenceRequired


def let_through(changes: Iterable[Change]) -> set[str]:
    """The unknown keys that the plan of these rows was allowed to have."""
    return {change.key for change in changes if change.is_let_through}


def refuse_long(edits: Iterable[Edit]) -> None:
    """Refuse names, keys and values that Kafka's protocol does not take, before a broker is asked, as Invalid."""
    for edit in edits:
        try:
            edit.refuse_long(edit.text)
        except Invalid as exc:
            error = exc.reworded(f"{exc}: {edit.key} of {edit.resource}")
            error.targets = (edit.target,)
            raise error from None


def changes(edits: Sequence[Edit], state: ObservedState, allow_unknown: Collection[str] = ()) -> list[Change]:
    """The rows of a plan, before and after; `validated` says ok until the broker was asked.

    A row of a resource that is not there is refused already, where there are others to judge beside it.

    Raises
    ------
    Invalid
        A removal of a key that is neither known nor present, an unknown BROKER key.
    UsageError
        A secret that is not given by reference.
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        A resource that could not be read; NotFound only where none of them is there.
    """
    secret = [kind_of(edit).is_secret(edit, state) for edit in edits]
    _refuse(edits, secret, state, allow_unknown)
    rows = enumerate(zip(edits, secret, strict=True), 1)
    return [_plan_row(n, edit, state, allow_unknown, is_secret) for n, (edit, is_secret) in rows]


def wishes(edits: Iterable[Edit]) -> list[Change]:
    """The rows of edits before the cluster was asked, as if nothing was set on it."""
    return [_wish(row, edit) for row, edit in enumerate(edits, 1)]


def judged(edits: Sequence[Edit], state: ObservedState) -> list[Change]:
    """The rows that `changes` makes of these edits, where one that it refuses is a row with its refusal.

    A target that is `unread` is a row of `wishes`.
    """
    return [_judged_row(row, edit, state) for row, edit in enumerate(edits, 1)]


def _judged_row(row: int, edit: Edit, state: ObservedState) -> Change:
    is_secret = kind_of(edit).is_secret(edit, state)
    if edit.target in state.unread:
        return _wish(row, edit, is_secret).with_(old_known=False)
    try:
        edit.refuse_long(edit.text)
        _refuse([edit], [is_secret], state, ())
    except KadminError as exc:
        refusal = Refusal(exc.code or "REFUSED", exc.in_one_line())
        return _wish(row, edit, is_secret).with_(old_known=False, validated=refusal)
    return judged_by_kind(_plan_row(row, edit, state, (), is_secret))


def judged_by_kind(change: Change) -> Change:
    """The change, refused where its kind says that no broker takes its key."""
    misfit = None if change.is_refused else kind_of(change).misfit(change)
    return change if misfit is None else change.with_(validated=misfit)


def _refuse(
    edits: Sequence[Edit], secret: Sequence[bool], state: ObservedState, allow_unknown: Collection[str]
) -> None:
    """Refuse resources that could not be read, unknown keys, and secrets that are not references.

    Of several edits, those of resources that do not exist are rows of their own, as long as there are others.
    """
    existing = [edit for edit in edits if state.absence(edit.resource) is None]
    state.refuse_unreadable(edit.target for edit in existing or edits)
    for edit in edits:
        if edit.key not in allow_unknown and (edit.resource in state.listed or not state.absence(edit.resource)):
            _refuse_unknown(edit, state)
    _refuse_bare([edit for edit in compress(edits, secret) if edit.reference is None])
    _refuse_secret_texts(edit for edit, is_secret in zip(edits, secret, strict=True) if not is_secret)


def _wish(row: int, edit: Edit, is_secret: bool = False) -> Change:
    """An edit as a row before the cluster was asked. It has no value that may be a secret itself."""
    may_be_secret = edit.value is not None and kind_of(edit).may_be_secret(edit.resource)
    is_secret = is_secret or (may_be_secret and (is_secret_name(edit.key) or isinstance(edit.value, Secret)))
    wanted = SHOWN if is_secret and edit.value is not None and edit.reference is None else edit.text
    return edit.as_row(row, wanted=wanted, after=wanted, note=edit.note, is_secret=is_secret)


def _plan_row(row: int, edit: Edit, state: ObservedState, allow_unknown: Collection[str], is_secret: bool) -> Change:
    kind, now, absence = kind_of(edit), state.of(edit.target), state.absence(edit.resource)
    after, meant, is_let_through = kind.after(edit, state), kind.meant_key(edit, state), edit.key in allow_unknown
    notes = [*_notes(edit, now, is_let_through, meant), *kind.notes(edit, now, state)]
    is_same = absence is None and now.is_known and same(now.value, after, now.type)
    if is_same:
        notes.append(_of_same_value(edit))
    if is_secret:
        notes.append(f"{'asked for' if asks_somebody(edit.reference) else 'looked up'} when it is sent")
    return edit.as_row(
        row,
        old=now.value,
        wanted=edit.text,
        after=after,
        old_known=now.is_known,
        validated=absence or OK,
        note="; ".join(notes) or None,
        is_secret=is_secret,
        is_let_through=is_let_through,
        meant=meant,
        is_again=is_same and edit.again,
    )


def _of_same_value(edit: Edit) -> str:
    """The note on a row whose value is set already."""
    if edit.again:
        return "the same value, sent again"
    if edit.op != DELETE and edit.resource.reloads(edit.key):
        return "the same value: send again with --again"
    return "no change needed"


def _notes(edit: Edit, now: ObservedValue, is_let_through: bool, meant: str | None) -> Iterable[str]:
    """Notes on a row of any kind."""
    if edit.note:
        yield edit.note
    if is_let_through:
        yield "unknown key, allowed by --allow-unknown"
    if not now.is_known:
        yield "the old value is sensitive: it cannot be shown or restored"
    if meant:
        yield f"did you mean {meant}?"


def _refuse_bare(edits: Sequence[Edit]) -> None:
    if not edits:
        return
    first, more = edits[0], f" and {len(edits) - 1} more" if len(edits) > 1 else ""
    raise ReferenceRequired(
        f"{first.key} of {first.resource}{more}: brokers keep it secret, or it is called so, so it is given only by "
        "reference",
        code="SECRET_AS_TEXT",
        hint=f"Write {first.key}={FORMS}. Nothing was sent.",
        targets=[edit.target for edit in edits],
    )


def _refuse_secret_texts(edits: Iterable[Edit]) -> None:
    """Refuse values of configs that brokers show to everyone who may read them, where one has a secret in it."""
    for edit in edits:
        if kind_of(edit).may_be_secret(edit.resource) and holds_secret(edit.text or ""):
            raise ReferenceRequired(
                f"the value of {edit.key} of {edit.resource} has a secret in it, and brokers do not hide this config",
                code="SECRET_AS_TEXT",
                hint="Nothing was sent. Leave the secret out of it.",
                targets=[edit.target],
            )


def _refuse_unknown(edit: Edit, state: ObservedState) -> None:
    known_keys = None if edit.target in state.values else kind_of(edit).known_keys(edit, state)
    if known_keys is None:
        return
    raise Invalid(
        f"unknown key {edit.key}: neither Kafka nor {edit.resource} knows it",
        code="INVALID_CONFIG",
        hint=Hint(
            did_you_mean(edit.key, known_keys),
            sentence("{} allows it.", Option("allow_unknown", [edit.key])),
        ),
        targets=[edit.target],
    )
