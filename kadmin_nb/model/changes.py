"""Staged changes and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Self

from ..errors import Invalid, KadminError, NotAuthorized, UsageError, kind_of
from ..secrets import FORMS, Secret, holds_secret, revealed
from .configurable import Configurable


@dataclass(frozen=True, slots=True)
class Refusal:
    """A broker's answer to one row: Kafka's name of the error and the broker's own words."""

    code: str
    message: str | None = None

    @property
    def kind(self) -> type[KadminError]:
        """The class of the error that says the same."""
        return kind_of(self.code)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes: plan files and journals hold refusals as text."""
        code, _, message = text.partition(": ")
        return cls(code, message or None)


SET, DELETE, APPEND, SUBTRACT = "set", "delete", "append", "subtract"

UNCHANGED, VERIFIED, UNVERIFIED = "unchanged", "verified", "unverified"
FAILED, UNKNOWN, SKIPPED = "failed", "unknown", "skipped"


class Verdict(StrEnum):
    """A validation that is not a refusal: the broker takes the row, or could not be asked."""

    OK = "ok"
    NOT_POSSIBLE = "not possible"


OK, NOT_POSSIBLE = Verdict.OK, Verdict.NOT_POSSIBLE


LONGEST_TEXT = 32_767
"""Bytes of a text that Kafka's protocol takes."""

_SHORT_FOR_SURE = LONGEST_TEXT // 4
"""Characters of a text whose bytes need not be counted: a character has four at most."""

Target = tuple[Configurable, str]
"""The entity or resource of a change, and a key of it."""


def given_key(key: object) -> str:
    """The key that was given for a change.

    Raises
    ------
    UsageError
        None, an empty one, or something that is not a text.
    """
    if key is None or key == "":
        raise UsageError("no key is given", hint="For example producer_byte_rate of a quota, retention.ms of a topic.")
    if not isinstance(key, str):
        raise UsageError(f"the key {key!r} is not a text")
    return key


class _KeyOfTarget:
    """The common part of an edit and a planned change: a key of an entity or a resource."""

    __slots__ = ()
    resource: Configurable
    key: str

    @property
    def target(self) -> Target:
        """Its target; two edits of one target cannot both hold."""
        return self.resource, self.key

    @property
    def kind(self) -> str:
        """The name of its kind: quota, config."""
        return self.resource.kind

    def refuse_long(self, value: str | None) -> None:
        """Refuse names, a key or a value that Kafka's protocol does not take, as Invalid."""
        for name in self.resource.names:
            refuse_long("a name", name)
        refuse_long("the key", self.key)
        refuse_long("the value", value or "")


def refuse_long(what: str, text: str) -> None:
    """Refuse a text that Kafka's protocol does not take: brokers end the connection, and say nothing.

    Raises
    ------
    Invalid
        It is too long; `what` is how the message calls it.
    """
    if len(text) <= _SHORT_FOR_SURE:
        return
    length = len(text.encode(errors="surrogatepass"))
    if length > LONGEST_TEXT:
        raise Invalid(f"{what} has {length:,} bytes, but Kafka takes at most {LONGEST_TEXT:,}", code="INVALID_REQUEST")


def refuse_secret_text(what: str, text: str) -> None:
    """Refuse a free text that has a secret in it, before it is shown or written; the message does not repeat it.

    Raises
    ------
    UsageError
        It has one; `what` is how the message calls it.
    """
    if holds_secret(text):
        raise UsageError(
            f"{what} has a secret in it, or what looks like one, so it is neither shown nor written",
            code="SECRET_AS_TEXT",
            hint=f"Leave it out, or say where it is: {FORMS}.",
        )


@dataclass(frozen=True, slots=True)
class Edit(_KeyOfTarget):
    """One staged wish: this `op` on this `key`, with `value` as the text that the broker takes.

    A value that is a secret itself, on its way to being refused, is a `Secret`. `note` is what staging had to say, such
    as that an earlier wish was replaced.
    With `again` it is sent even where the value is set already.
    """

    op: str
    resource: Configurable
    key: str
    value: str | Secret | None = None
    note: str | None = None
    again: bool = False

    @property
    def text(self) -> str | None:
        """The value as the text that the broker takes, even where it is hidden."""
        return revealed(self.value)

    @property
    def reference(self) -> str | None:
        """The reference of a secret; None of a secret itself, or without a value."""
        return None if self.text is None else self.resource.reference(self.text)

    def as_row(self, row: int, **columns: Any) -> Change:
        """The row of a plan with this number that it is, with other columns as given."""
        return Change(row, self.op, self.resource, self.key, level=self.resource.level, **columns)


class Fallback(NamedTuple):
    """What applies where a key is not set: the value, or the words for it, and what it is set on."""

    value: str
    set_on: str = ""


NO_LIMIT = Fallback("unlimited")
"""The fallback of a quota where no other applies."""


@dataclass(frozen=True, slots=True)
class Change(_KeyOfTarget):
    """One row of a plan: PLAN's columns. Values are text, as the broker takes them.

    Of a row that `is_secret`, `wanted` and `after` only say where the value is, `env:NAME`. One that `is_let_through`
    has a key that nobody knows, and --allow-unknown allows it. `meant` is the key that was probably meant instead
    of one that its resource does not know. `topic_id` is the id of the topic whose config it is, as the plan saw it.
    One that `is_again` is sent although its value is set already. `until` is the end that an earlier version wrote
    into its plan's file: it is in the plan's id, and nothing goes by it. `falls_back` is what applies where the key is
    not set, before or after; None where that is not known. It is not part of the plan's id.
    """

    row: int
    op: str
    resource: Configurable
    key: str
    old: str | None = None
    wanted: str | None = None
    after: str | None = None
    old_known: bool = True
    level: str | None = None
    validated: Refusal | Verdict = NOT_POSSIBLE
    note: str | None = None
    is_secret: bool = False
    is_let_through: bool = False
    meant: str | None = None
    topic_id: str | None = None
    until: str | None = None
    is_again: bool = False
    falls_back: Fallback | None = field(default=None, compare=False)

    def with_(self, **changes: Any) -> Change:
        """This row with some columns changed."""
        return Change(**{name: changes.get(name, getattr(self, name)) for name in _CHANGE_FIELDS})

    def noted(self, *notes: str) -> Change:
        """This row with these notes after its own."""
        return self.with_(note="; ".join(filter(None, [self.note, *notes])) or None)

    @property
    def reference(self) -> str | None:
        """The reference of a secret; None of a secret itself, or without a value."""
        return None if self.wanted is None else self.resource.reference(self.wanted)

    @property
    def applies_before(self) -> str | None:
        """What applies before it: the value, or what it falls back to; None where that is not known."""
        return self._applying(self.old) if self.old_known else None

    @property
    def applies_after(self) -> str | None:
        """What applies afterwards."""
        return self._applying(self.after)

    def _applying(self, own: str | None) -> str | None:
        return self.falls_back.value if own is None and self.falls_back else own

    @property
    def change(self) -> str:
        """What it does, in a word: it is set where nothing was, changed, removed, or unchanged."""
        if self.is_done:
            return UNCHANGED
        if self.op == DELETE:
            return "removed"
        return SET if self.old is None and self.old_known else "changed"

    @property
    def is_same(self) -> bool:
        """True if the cluster already holds what is wanted."""
        return self.old_known and self.old == self.after

    @property
    def is_done(self) -> bool:
        """True if nothing is to be sent."""
        return self.is_same and not self.is_again

    @property
    def is_visible(self) -> bool:
        """True if brokers show whether it was made: not a value that was hidden before, or that was the same."""
        return self.old_known and not self.is_again

    @property
    def is_same_store(self) -> bool:
        """True if it is a broker's store that has its value already, so that the broker reads it only if it is sent."""
        return self.is_done and self.after is not None and self.resource.reloads(self.key)

    @property
    def has_refusal(self) -> bool:
        """True if the broker's validation refused it, or refused to validate it for whoever asked."""
        return isinstance(self.validated, Refusal)

    @property
    def is_refused(self) -> bool:
        """True if the broker's validation refused it, whoever applies it."""
        return isinstance(self.validated, Refusal) and self.validated.kind is not NotAuthorized

    @property
    def lacks_right(self) -> bool:
        """True if the broker did not validate it, as who asked has no right to change this: another may have it."""
        return isinstance(self.validated, Refusal) and self.validated.kind is NotAuthorized

    @property
    def refusal(self) -> Refusal:
        """The refusal of a row that has one."""
        assert isinstance(self.validated, Refusal)
        return self.validated


_CHANGE_FIELDS = tuple(column.name for column in fields(Change))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one change: OUTCOMES' columns beyond PLAN's. `lag_ms` runs from the broker's ack.

    The brokers are None where none was asked whether it holds the change, as nothing of it was sent.
    """

    change: Change
    state: str
    error: str | None = None
    message: str | None = None
    brokers_agreeing: int | None = None
    brokers: int | None = None
    lag_ms: int | None = None

    @property
    def ok(self) -> bool:
        return self.state in (UNCHANGED, VERIFIED)


@dataclass(frozen=True, slots=True)
class AppliedRow:
    """A row of a plan that was sent, and when: from its first request until brokers were seen to show it, or, as long
    as they were not, until its plan was last at work."""

    plan_id: str
    author: str
    change: Change
    began: datetime
    ended: datetime
