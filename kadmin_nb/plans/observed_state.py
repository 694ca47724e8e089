"""A picture: the current values of some targets, as one look at the cluster showed them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from ..errors import NotFound, kind_of
from ..model import rights
from ..model.changes import Target
from ..model.configurable import Configurable
from ..model.refusal import Refusal
from ..model.resources import Source


@dataclass(frozen=True, slots=True)
class LookOptions:
    """Options of a look at the cluster: where and how a picture is taken.

    `node` is the broker whose metadata is read, or any. A `whole` picture keeps the table of all quotas and lists every
    key of the resources, as planning needs it. With `topic_ids` it has those of the topics, too. `time_left` is the
    seconds that a call may take, None for its own time.
    """

    node: int | None = None
    whole: bool = False
    topic_ids: bool = False
    time_left: Callable[[], float | None] = lambda: None


class ObservedValue(NamedTuple):
    """The current state of a target. `value` is set on the target itself, None when it is not set.

    `is_known` is False for sensitive values, which brokers never tell. `inherited` is the value below it,
    `base` what APPEND and SUBTRACT start from where nothing is set, `type` Kafka's type of the key. `is_sensitive` is
    the broker's own word: the type PASSWORD, or a key that it does not know. `shown` is what brokers do tell of a
    sensitive value: the iterations of a credential.
    """

    value: str | None = None
    is_known: bool = True
    inherited: str | None = None
    inherited_from: Source | None = None
    base: str | None = None
    type: str | None = None
    is_read_only: bool = False
    is_sensitive: bool = False
    shown: str | None = None


ABSENT = ObservedValue()


@dataclass
class ObservedState:
    """The values of targets, the errors of resources that could not be read, and the keys each resource listed.

    `topic_ids` are those of the topics among them, where they were asked for and may be seen. `unread` are targets that
    nobody has looked at.

    The others are what dangers and warnings go by beside the values. `quotas` are all QUOTAS. `below` has the texts
    that may apply to a config without its own value: several where brokers differ, none where nobody can say. `empty`
    are topics without records. `brokers` is their number; `protocols` are those of the listeners, none where they are
    not known. `lacks_client_configs` says that the topic of client configs is missing.
    """

    values: dict[Target, ObservedValue] = field(default_factory=dict)
    errors: dict[Configurable, Refusal] = field(default_factory=dict)
    quotas: pa.Table | None = None
    listed: dict[Configurable, set[str]] = field(default_factory=dict)
    topic_ids: dict[Configurable, str] = field(default_factory=dict)
    unread: Collection[Target] = ()
    below: dict[Target, Collection[str | None]] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    brokers: int = 1
    protocols: Collection[str] = ()
    lacks_client_configs: bool = False

    def of(self, target: Target) -> ObservedValue:
        """The current state of that target."""
        return self.values.get(target, ABSENT)

    def absence(self, resource: Configurable) -> Refusal | None:
        """The refusal of a resource that is not there; None of one that is, or that could not be read."""
        failed = self.errors.get(resource)
        return failed if failed and kind_of(failed.code) is NotFound else None

    def refuse_unreadable(self, targets: Iterable[Target]) -> None:
        """Raise for the first target that could not be read: nobody can say what it holds.

        Raises
        ------
        NotAuthorized, NotFound, TimedOut, ConnectionFailed
            As its resource's own error says.
        """
        for resource, key in targets if self.errors else ():
            if failed := self.errors.get(resource):
                needed = rights.hint(failed.code, rights.to_describe(resource))
                raise kind_of(failed.code)(
                    f"{resource} cannot be read: {failed}",
                    code=failed.code,
                    hint=" ".join(filter(None, [needed, "Nothing was sent."])),
                    targets=[(resource, key)],
                )
