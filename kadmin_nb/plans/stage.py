"""Stage: wishes collected before anything is sent."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ..errors import UsageError
from ..frames import schemas
from ..frames.blocks import NOTEBOOK, Page
from ..model.changes import APPEND, DELETE, SET, SUBTRACT, Edit, Target, given_key
from ..model.client_configs import ClientEntity
from ..model.config_units import stored_text
from ..model.entity import TYPES, Entity
from ..model.grammar import LEFT_OUT
from ..model.quota_keys import parse_value, text_of
from ..model.resources import WORDS, Resource
from ..model.scram import FEWEST_ITERATIONS, Credential, ScramUser, mechanism_of
from ..secrets import Secret, covered
from . import change_lines
from .change_lines import Existing, Matches
from .change_words import client_config_edit, sent_again
from .formats import PrintFormats
from .kinds import kind_of
from .kinds.config_changes import value_text
from .observed_state import append, subtract
from .plan_file import columns_of
from .planning import wishes
from .secret_resolver import ReferenceRequired

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from .outcomes import Outcomes
    from .plan import Plan


Listener = Callable[[], None]


Listeners = list[weakref.WeakMethod[Listener]]
"""Methods to call; one whose object is gone is forgotten. They may be added from any thread."""


def tell(listeners: Listeners) -> None:
    """Call them one after the other, in this thread."""
    for reference in [*listeners]:
        if (listener := reference()) is not None:
            listener()


Planner = Callable[[list[Edit], str | None, Collection[str]], "Plan"]


class StagedEdits:
    """The edits of a stage by their targets, in the order they were staged, as editors and sessions work on them.

    It may be filled from several threads, as a widget and a cell do. `version` counts its changes.
    `shown` is the plan of it that somebody looked at last; `reason` and `allowed` (keys that are not known)
    were given with what is staged, and go with it.
    """

    def __init__(self) -> None:
        self._edits: dict[Target, Edit] = {}
        self._lock = threading.RLock()
        self._listeners: Listeners = []
        self._apply_listeners: Listeners = []
        self.version = 0
        self.shown: Plan | None = None
        self.reason: str | None = None
        self.allowed: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._edits)

    def add(self, edits: Iterable[Edit]) -> list[Edit]:
        """Stage edits that were read elsewhere, all of them or none.

        Raises
        ------
        UsageError
            An append and a subtract of one key.
        """
        edits, added = [*edits], []
        with self._lock:
            wishes: dict[Target, Edit] = {}
            for edit in map(_covered, edits):
                target = edit.target
                if earlier := wishes.get(target) or self._edits.get(target):
                    # the last wish for a target wins or joins the earlier one, and says so
                    edit = _covered(_merged(earlier, edit))
                wishes[target] = edit
                added.append(edit)
            self._edits |= wishes
        self._changed()
        return added

    def put(self, edits: Mapping[Target, Edit | None]) -> dict[Target, Edit | None]:
        """Stage exactly these edits for these targets, in place of what was staged for them; None stages nothing.

        Returns
        -------
        dict
            What was staged for them before; putting that back undoes it.
        """
        with self._lock:
            before = {target: self._edits.get(target) for target in edits}
            self._edits |= {target: _covered(edit) for target, edit in edits.items() if edit is not None}
            for target in (target for target, edit in edits.items() if edit is None):
                self._edits.pop(target, None)
        self._changed()
        return before

    def staged(self) -> dict[Target, Edit]:
        """The edits by their targets, in the order they were staged."""
        with self._lock:
            return dict(self._edits)

    def watch(self, listener: Listener) -> None:
        """Call a method after each change, in the thread that made it, for as long as its object is alive."""
        self._listeners.append(weakref.WeakMethod(listener, self._listeners.remove))

    def watch_applied(self, listener: Listener) -> None:
        """Call a method after each apply of a plan of it, in that thread: the cluster is not as it was."""
        self._apply_listeners.append(weakref.WeakMethod(listener, self._apply_listeners.remove))

    def tell_applied(self) -> None:
        """A plan of it was applied, as far as it came."""
        tell(self._apply_listeners)

    def discard(self, rows: Iterable[int] | None = None) -> None:
        """Forget the rows of these numbers (from 1), or all."""
        with self._lock:
            of_all, gone = len(self._edits), None if rows is None else {*rows}
            if gone and (strange := gone - {*range(1, of_all + 1)}):
                raise UsageError(f"no such staged row: {min(strange)}", hint=f"There are {of_all}, from 1.")
            numbered = enumerate(self._edits.items(), 1)
            self._edits = {} if gone is None else dict(item for number, item in numbered if number not in gone)
        self._changed()

    def settle(self, edits: Mapping[Target, Edit]) -> None:
        """Forget the edits that are still staged as they are here; they are in force."""
        with self._lock:
            self._edits = {target: edit for target, edit in self._edits.items() if edits.get(target) != edit}
        self._changed()

    def hide(self, targets: Iterable[Target]) -> None:
        """Hide the values of these: they are secrets."""
        with self._lock:
            edits = {target: self._edits[target] for target in targets if target in self._edits}
            # a reference may be seen
            hidden = {target: edit for target, edit in edits.items() if edit.text is not None and not edit.reference}
            self._edits |= {target: replace(edit, value=Secret(edit.text or "")) for target, edit in hidden.items()}

    def _changed(self) -> None:
        """Count the change and tell the listeners."""
        self.version += 1
        if not self._edits:
            self.shown, self.reason, self.allowed = None, None, frozenset()
        tell(self._listeners)


class Stage(PrintFormats):
    """Edits, in the order in which they were staged. If a key is staged twice, the last edit wins; items of lists add
    up.
    """

    def __init__(self, planner: Planner, existing: Existing | None = None) -> None:
        self._planner, self._existing = planner, existing
        self._edits = StagedEdits()

    def set_quota(
        self,
        key: str,
        value: object,
        *,
        user: object = LEFT_OUT,
        client_id: object = LEFT_OUT,
        ip: object = LEFT_OUT,
        entity: Entity | Mapping[str, object] | None = None,
    ) -> Edit:
        """Stage a quota of `user=`, `client_id=`, `ip=` or `entity={…}`.

        `value` is a number in the key's unit or a text such as `10MB/s`.

        Raises
        ------
        UsageError, Invalid
            Not an entity, a unit that does not fit, a value that no quota can have.
        """
        whose = _entity_of(user, client_id, ip, entity)
        return self._stage(Edit(SET, whose, given_key(key), text_of(parse_value(key, value))))

    def remove_quota(
        self,
        key: str,
        *,
        user: object = LEFT_OUT,
        client_id: object = LEFT_OUT,
        ip: object = LEFT_OUT,
        entity: Entity | Mapping[str, object] | None = None,
    ) -> Edit:
        """Stage the removal of a quota."""
        return self._stage(Edit(DELETE, _entity_of(user, client_id, ip, entity), given_key(key)))

    def set_config(
        self,
        key: str,
        value: object,
        *,
        topic: object = LEFT_OUT,
        broker: object = LEFT_OUT,
        broker_logger: object = LEFT_OUT,
        client_metrics: object = LEFT_OUT,
        group: object = LEFT_OUT,
    ) -> Edit:
        """Stage a config of one of `topic=`, `broker=`, `broker_logger=`, `client_metrics=`, `group=`.

        `broker=kn.DEFAULT` is the cluster-wide default. A secret is given by reference, `env:NAME`, `file:PATH` (from
        the folder that it is planned and applied in), `keyring:NAME` or `databricks:SCOPE/KEY`: `plan` refuses others.
        """
        resource = _resource_of(topic, broker, broker_logger, client_metrics, group)
        return self._stage(Edit(SET, resource, given_key(key), stored_text(key, value_text(key, value))))

    def reset_config(
        self,
        key: str,
        *,
        topic: object = LEFT_OUT,
        broker: object = LEFT_OUT,
        broker_logger: object = LEFT_OUT,
        client_metrics: object = LEFT_OUT,
        group: object = LEFT_OUT,
    ) -> Edit:
        """Stage the removal of an override, so that the key's fallback applies."""
        resource = _resource_of(topic, broker, broker_logger, client_metrics, group)
        return self._stage(Edit(DELETE, resource, given_key(key)))

    def append_config(
        self,
        key: str,
        items: object,
        *,
        topic: object = LEFT_OUT,
        broker: object = LEFT_OUT,
        broker_logger: object = LEFT_OUT,
        client_metrics: object = LEFT_OUT,
        group: object = LEFT_OUT,
    ) -> Edit:
        """Stage items, separated by commas, to add to a list."""
        resource = _resource_of(topic, broker, broker_logger, client_metrics, group)
        return self._stage(Edit(APPEND, resource, given_key(key), value_text(key, items)))

    def subtract_config(
        self,
        key: str,
        items: object,
        *,
        topic: object = LEFT_OUT,
        broker: object = LEFT_OUT,
        broker_logger: object = LEFT_OUT,
        client_metrics: object = LEFT_OUT,
        group: object = LEFT_OUT,
    ) -> Edit:
        """Stage items, separated by commas, to remove from a list."""
        resource = _resource_of(topic, broker, broker_logger, client_metrics, group)
        return self._stage(Edit(SUBTRACT, resource, given_key(key), value_text(key, items)))

    def set_scram(
        self, user: str, mechanism: str, *, password: str | None = None, iterations: int = FEWEST_ITERATIONS
    ) -> Edit:
        """Stage a SCRAM credential of a user, for one mechanism.

        `password` is a reference, as in `set_config`; without one it is asked for when the plan is applied, in a
        terminal or a notebook. It stands in no plan and no journal.

        Raises
        ------
        UsageError
            A password that is not given by reference, iterations that Kafka refuses, another mechanism.
        """
        whose = ScramUser.of(user)
        credential = Credential.of(password or f"prompt:{user}", iterations)
        return self._stage(Edit(SET, whose, mechanism_of(mechanism), str(credential)))

    def delete_scram(self, user: str, mechanism: str) -> Edit:
        """Stage the deletion of a SCRAM credential. It cannot be restored, not even by a rollback."""
        return self._stage(Edit(DELETE, ScramUser.of(user), mechanism_of(mechanism)))

    def set_client_config(self, key: str, value: object, *, user: str, client_id: str | None = None) -> Edit:
        """Stage a dynamic client config (KIP-649): `acks`, `session.timeout.ms` or `heartbeat.interval.ms`.

        Without a client-id it is the user's own, which holds for all of the user's clients without one of theirs.

        Raises
        ------
        Invalid
            No user, another key, a value that clients cannot take.
        """
        return self._stage(client_config_edit(SET, ClientEntity.of(user, client_id), given_key(key), str(value)))

    def reset_client_config(self, key: str, *, user: str, client_id: str | None = None) -> Edit:
        """Stage the removal of a dynamic client config: then the user's applies, or the client's own configuration."""
        return self._stage(client_config_edit(DELETE, ClientEntity.of(user, client_id), given_key(key), None))

    def _stage(self, edit: Edit) -> Edit:
        return self._edits.add([edit])[0]

    def add(
        self,
        changes: Iterable[Edit] | str | object,
        *,
        kind: str | None = None,
        allow_unknown: Collection[str] = (),
        again: bool = False,
        every: bool = False,
    ) -> list[Edit]:
        """Stage several changes, all of them or none.

        Parameters
        ----------
        changes
            Edits, such as those of a finding; a frame with the columns of QUOTAS or CONFIGS, in which a null value
            removes; or lines of a cell or a file, `set producer_byte_rate=5MB/s user=alice`, one change per line, in
            which `#` begins a comment. Their grammar is that of the magics and of `kadmin-nb plan -f`: a pattern,
            `topic~=team-3.*`, stands for what is on the cluster now, each match a change of its own.
        kind
            "quota" or "config" where only such lines belong.
        allow_unknown
            The quota keys of a newer Kafka in these lines, which look like a slip.
        again
            As in `plan`.
        every
            Take patterns that match more than a hundred names, or internal topics, and `<any>`.

        Raises
        ------
        UsageError, Invalid
            A row or a line that cannot be staged; the message begins with its number, from 1. An append and a subtract
            of one key.
        NotFound
            A pattern that nothing matches.
        """
        if isinstance(changes, str):
            matches = None if self._existing is None else Matches(self._existing, every)
            edits = change_lines.edits(changes, kind=kind, allow_unknown=allow_unknown, matches=matches)
        else:
            edits = change_lines.edits_in(changes)
        return self._edits.add(sent_again(edits) if again else edits)

    def discard(self, rows: Iterable[int] | None = None) -> None:
        """Discard the staged rows with these numbers (from 1), or all."""
        self._edits.discard(rows)

    def plan(
        self,
        reason: str | None = None,
        *,
        allow_unknown: Collection[str] = (),
        again: bool = False,
    ) -> Plan:
        """The plan of these edits on the cluster as it is now, validated by the broker.

        Parameters
        ----------
        again
            Send the configs of a broker's key store and trust store even where they are set already: the broker then
            reads the files again, as for a renewed certificate.

        Raises
        ------
        UsageError
            Nothing is staged, or a secret that is not given by reference.
        NotFound
            A reference to a secret that does not exist.
        Invalid
            A key that neither Kafka nor the target knows; `allow_unknown` allows such keys.
        """
        origin = Origin(self, self._edits.version, self._edits.staged())
        if not origin.edits:
            raise UsageError("nothing is staged", hint="Stage with set, remove, append, subtract or reset.")
        try:
            edits = [*origin.edits.values()]
            plan = self._planner(sent_again(edits) if again else edits, reason, allow_unknown)
            return replace(plan, _origin=origin)
        except ReferenceRequired as exc:
            self._edits.hide(exc.targets)
            raise

    def to_arrow(self) -> pa.Table:
        """PLAN's columns for the staged edits; columns that only the cluster knows are null."""
        rows = wishes(self._edits.staged().values())
        unknown: dict[str, list[object]] = {"after": [None] * len(rows), "old_known": [False] * len(rows)}
        return schemas.from_columns(schemas.PLAN, columns_of(rows) | unknown)

    def __len__(self) -> int:
        return len(self._edits)

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self.to_arrow().select(["row", "op", "resource", "key", "wanted", "note"])]

    def _title(self) -> str:
        return f"{len(self)} staged change{'s' * (len(self) != 1)}"


def edits_of(stage: Stage) -> StagedEdits:
    """The edits of a stage, for editors and for whatever follows them."""
    return stage._edits


@dataclass(frozen=True)
class Origin:
    """The stage that a plan was made of, with its version and its edits at that time."""

    stage: Stage
    version: int
    edits: Mapping[Target, Edit]

    @property
    def staged(self) -> StagedEdits:
        """What is staged on it by now."""
        return edits_of(self.stage)

    @property
    def is_current(self) -> bool:
        """True if nothing was staged or discarded since."""
        return self.staged.version == self.version

    def show(self, plan: Plan) -> None:
        """Note that a plan is looked at: `apply` without a name means it for as long as nothing else is staged."""
        self.staged.shown = plan

    def applied(self, outcomes: Outcomes) -> None:
        """The plan was applied: `apply` no longer means it, and what of it is in force is no longer staged."""
        self.staged.shown = None
        in_force = outcomes.in_force
        self.staged.settle({target: edit for target, edit in self.edits.items() if target in in_force})
        self.staged.tell_applied()


def origin_of(plan: Plan) -> Origin | None:
    """The stage that a plan was made of; None of one that was loaded, or made otherwise."""
    return plan._origin if isinstance(plan._origin, Origin) else None


def _merged(earlier: Edit, edit: Edit) -> Edit:
    """Two wishes for one target as one: items add up, whatever else comes later replaces."""
    if (earlier.op, earlier.value) == (edit.op, edit.value):
        return replace(earlier, again=earlier.again or edit.again)
    was = f"{earlier.op} {earlier.value}" if earlier.value is not None else earlier.op
    if edit.op not in _LIST_OPS or earlier.op == DELETE:
        return replace(edit, note=f"replaces the earlier {was}")
    if earlier.op not in (SET, edit.op):
        raise UsageError(
            f"{edit.key} of {edit.resource}: {edit.op} {edit.value} cannot be planned together with {was}",
            hint="Set the whole list, or apply the one before the other.",
        )
    join = subtract if (earlier.op, edit.op) == (SET, SUBTRACT) else append
    items = join(earlier.text, edit.text or "")
    return _covered(replace(edit, op=earlier.op, value=items, note=f"joins the earlier {was}"))


_LIST_OPS = (APPEND, SUBTRACT)


def _covered(edit: Edit) -> Edit:
    """The edit, its value hidden where the key is called like a secret, or it holds one."""
    if not kind_of(edit).may_be_secret(edit.resource) or not isinstance(edit.value, str) or edit.reference is not None:
        return edit
    return replace(edit, value=covered(edit.key, edit.value))


def _entity_of(user: object, client_id: object, ip: object, entity: Entity | Mapping[str, object] | None) -> Entity:
    """The one entity that these name; one left out is not a part of it.

    Raises
    ------
    UsageError
        None of them, one that is None, an empty name, `kn.ANY`, or ip with another.
    """
    parts = {kind: name for kind, name in zip(TYPES, (user, client_id, ip), strict=True) if name is not LEFT_OUT}
    if isinstance(entity, Entity):
        entity = dict(entity.parts)
    return Entity.of({**(entity or {}), **parts})


def _resource_of(*names: object) -> Resource:
    """The one config resource that one of these names is of, each of a word of `WORDS`."""
    given = [(word, name) for word, name in zip(WORDS, names, strict=True) if name is not LEFT_OUT]
    if len(given) != 1:
        raise UsageError("a config belongs to exactly one resource", hint=f"One of {', '.join(WORDS)}.")
    return Resource.of(*given[0])
