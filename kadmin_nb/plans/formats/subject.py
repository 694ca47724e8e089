"""The content of a printed form: edits, or a plan's rows with the values before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...model.changes import Change
from ...secrets import is_called_so
from ..kinds.registry import kind_of


@dataclass(frozen=True)
class Subject:
    """Changes to show. Of wishes alone `is_seen` is False, and nothing is known of what was there.

    `head` is what to say above them, name by name: the plan's id, its cluster, its reason; `told` are the dangers and
    warnings, a line each.
    """

    changes: Sequence[Change]
    is_seen: bool
    head: Mapping[str, str] = field(default_factory=dict)
    told: Sequence[str] = ()

    @classmethod
    def of_plan(cls, changes: Sequence[Change], told: Sequence[str] = (), **head: str | None) -> Subject:
        """The rows of a plan; `head` is its `id`, `cluster`, `reason` and whatever else should be said."""
        return cls(changes, is_seen=True, head={name: value for name, value in head.items() if value}, told=told)

    @property
    def title(self) -> Sequence[str]:
        """The head, and what is told of the changes, as lines of text."""
        return [*(f"{name}: {value}" for name, value in self.head.items()), *self.told]


def is_secret(change: Change) -> bool:
    """True if the value is one that Kafka keeps to itself: it was sensitive before, or its key says so."""
    if change.wanted is None or not kind_of(change).may_be_secret(change.resource):
        return False
    return change.is_secret or not change.old_known or is_called_so(change.key)


def is_bare_secret(change: Change) -> bool:
    """True if writing the value down would give a secret away."""
    return is_secret(change) and change.reference is None


def what(change: Change) -> str:
    """The change in words, for a comment: a secret is not among them."""
    value = "" if change.wanted is None else f"={'[secure]' if is_bare_secret(change) else change.wanted}"
    return f"row {change.row}, {change.op} {change.key}{value} {change.resource}"
