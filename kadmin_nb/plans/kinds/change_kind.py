"""A kind of change: everything that plans ask about quotas, configs, or another kind, in one object."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ...admin.ports import Alterable, Kafka, Signature
from ...model.changes import DELETE, SET, Change, Edit, Fallback, Refusal, Target, given_key
from ...model.config_units import units_hint
from ...model.configurable import Configurable
from ...model.findings import Finding
from ...secrets import Secret
from ..observed_state import LookOptions, ObservedState, ObservedValue

FrameRow = Mapping[str, Any]
"""A row of a frame of changes."""

Answers = dict[Configurable, Refusal | None]
"""A broker's answers, entity by entity or resource by resource; None is success."""

Groups = Mapping[Configurable, Sequence[Change]]
"""Changes by whose they are."""


def is_null(value: object) -> bool:
    """True of a missing value: None, or the NaN that pandas has for it."""
    return value is None or value != value


def meant_unit(change: Change) -> str | None:
    """The units that a key takes, for a number with another; None where it is not that."""
    return None if change.is_secret else units_hint(change.key, change.wanted or "")


class ChangeKind(ABC):
    """The way changes of one kind are read, planned, validated, ordered, sent, verified, judged and undone.

    A subclass says what differs. Its changes are those of its `resources`.
    """

    resources: ClassVar[type[Configurable]]
    """The class of what it changes; it tells facts of its own, such as the one broker that shows it."""

    verbs: ClassVar[Mapping[str, str]]
    """Its operations, each with the verb of its lines: `set`, `remove`."""

    words: ClassVar[Collection[str]] = ()
    """The types by which its lines name whose a change is: `topic`, `broker`."""

    columns: ClassVar[Sequence[str]] = ("resource", "key", "value")
    """The columns of a frame of its changes."""

    columns_beside: ClassVar[Sequence[str]] = ()
    """Columns that such a frame may have."""

    can_validate: ClassVar[bool] = True
    """True if brokers can be asked without anything being changed."""

    judge: ClassVar[str] = "the broker"
    """The one that refuses a change at planning."""

    is_atomic: ClassVar[bool] = False
    """True if all its changes of a plan are made in one request, or none."""

    longest_doubt: ClassVar[float] = math.inf
    """Seconds after which a request whose answer was lost cannot land any more, where that is known."""

    @property
    def name(self) -> str:
        """As plans and frames name it: `quota`."""
        return self.resources.kind

    # -- stage and read

    @abstractmethod
    def line_edits(self, verb: str, words: Sequence[str], allow_unknown: Collection[str]) -> list[Edit]:
        """The edits of one line, `set key=value … topic=…`. Raises UsageError where it is wrong."""

    def row_edit(self, row: FrameRow) -> Edit:
        """The edit of a frame's row; a null value removes. Raises UsageError or Invalid where it is wrong."""
        resource, key, value = self.resources.parse(str(row["resource"])), given_key(row["key"]), row["value"]
        return Edit(DELETE, resource, key) if is_null(value) else Edit(SET, resource, key, str(value))

    @abstractmethod
    def read(self, kafka: Kafka, targets: Collection[Target], state: ObservedState, look: LookOptions) -> None:
        """Add the current values of these targets to a state."""

    # -- plan

    def may_be_secret(self, resource: Configurable) -> bool:
        """True if any of its values can be a secret."""
        return False

    def is_secret(self, edit: Edit, state: ObservedState) -> bool:
        """True if Kafka keeps the value of this edit to itself."""
        return False

    def misfit(self, change: Edit | Change) -> Refusal | None:
        """The refusal of a key that this entity or resource cannot have; None where that is the broker's to say."""
        return None

    def known_keys(self, edit: Edit, state: ObservedState) -> Sequence[str] | None:
        """The keys of which one was probably meant, where Kafka would take this unknown one without a word."""
        return None

    def meant_key(self, edit: Edit, state: ObservedState) -> str | None:
        """The key that was probably meant, where the broker will refuse this one."""
        return None

    def after(self, edit: Edit, state: ObservedState) -> str | None:
        """The value that is stored when the edit is done, None for nothing."""
        return edit.text

    def notes(self, edit: Edit, now: ObservedValue, state: ObservedState) -> Iterable[str]:
        """Notes on the row, beside its columns."""
        return ()

    def fallback(self, change: Change, state: ObservedState) -> Fallback | None:
        """What applies where the key of the change is not set; None where that is not known."""
        return None

    def fallbacks(self, changes: Sequence[Change], state: ObservedState) -> dict[int, Fallback]:
        """What applies in place of the rows that set what was not set, or that remove, by their numbers."""
        found = {change.row: self.fallback(change, state) for change in changes if None in (change.old, change.after)}
        return {row: fallback for row, fallback in found.items() if fallback is not None}

    # -- order, send, verify, undo

    def agrees(self, now: ObservedValue, change: Change) -> bool:
        """True if what brokers show of a sensitive value fits the change; mostly they show only that it is set."""
        return True

    def waves(self, changes: Sequence[Change]) -> list[list[Change]]:
        """The changes in the order in which they are safe, in waves that wait for each other."""
        return [list(changes)]

    def order_key(self, change: Change) -> Hashable:
        """The mark of rows that wait for each other: where one is refused, those in later waves are not sent."""
        return change.key

    @abstractmethod
    def port(self, kafka: Kafka) -> Alterable[Any, Any]:
        """The part of the cluster's port that takes its changes."""

    @abstractmethod
    def wish(self, changes: Sequence[Change], secrets: Mapping[str, Secret]) -> object:
        """The changes of one entity or resource, as its port takes them.

        Parameters
        ----------
        secrets
            The values of secret changes, by their references.
        """

    def alter(self, kafka: Kafka, signature: Signature) -> Callable[..., dict[Any, Refusal | None]]:
        """The call of its port that makes changes, in one request a broker; signed where it keeps who made them."""
        return self.port(kafka).alter

    def refusal_of_right(self, kafka: Kafka, resource: Configurable) -> Refusal | None:
        """The broker's refusal of a change that it can never make, for kinds of which it validates none."""
        return None

    def check_values(self, change: Change) -> None:
        """Refuse the values of a loaded change that no change of this kind has: Invalid or UsageError."""
        return

    # -- judge

    def read_for_dangers(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        """Add to an observed state what the dangers of these rows go by; most rows need nothing."""
        return

    def dangers(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        """The dangers of the rows, by an observed state."""
        return ()

    def read_for_warnings(self, kafka: Kafka, changes: Sequence[Change], state: ObservedState) -> None:
        """Add to an observed state what the warnings of these rows go by."""
        return

    def warnings(self, changes: Sequence[Change], state: ObservedState) -> Iterable[Finding]:
        """The warnings of the rows, by an observed state."""
        return ()

    # -- as Kafka's own tools

    tool_deletes_absent: ClassVar[bool] = True
    """True if kafka-configs.sh takes a key away that is not set, without a word; False if it fails."""
