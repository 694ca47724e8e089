"""The clients that a plan's dynamic client configs are about: who will follow, and, after applying, who says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from ..errors import KadminError
from ..model.changes import UNCHANGED, UNVERIFIED, VERIFIED, Change, Outcome, Target
from ..model.client_configs import CONSUMER_KEYS, ClientEntity, merged
from ..model.grammar import format_word
from ..model.resources import Resource
from ..plans.execution.progress import Advance, Progress, silent
from .kafka import LiveKafka
from .registry import GROUP_ON_BROKERS, RegisteredClient, Registry

SILENT_CLIENTS = "CLIENTS_SILENT"
"""The error of a row whose clients did not all say, in time, that they follow it."""

_POLL, _LONGEST_POLL, _MOST_NAMES = 0.2, 2.0, 5

_Entries = Mapping[ClientEntity, Mapping[str, tuple[str, int]]]
"""The value and the revision of each entity's keys."""


def with_follower_notes(kafka: LiveKafka, changes: Sequence[Change]) -> list[Change]:
    """The changes; one of a client config has a note on the known clients that follow it, and on groups that cannot."""
    mine = {change.row for change in changes if change.kind == ClientEntity.kind and not change.is_done}
    if not mine:
        return [*changes]
    notes_on = _writer_of_notes(kafka, changes)
    return [change.noted(*notes_on(change)) if change.row in mine else change for change in changes]


def _writer_of_notes(kafka: LiveKafka, changes: Sequence[Change]) -> Callable[[Change], Iterable[str]]:
    """Gives the notes on a change; where nobody may see who registered, one says so."""
    try:
        registry = kafka.client_registry.describe()
    except KadminError as exc:
        unknown = [f"nobody knows who follows: {exc.code}"]
        return lambda change: unknown
    own = _own_values(kafka, changes)
    return lambda change: _follower_notes(kafka, change, registry, own)


def _own_values(kafka: LiveKafka, changes: Sequence[Change]) -> set[Target]:
    """The client-ids that have a value of their own once these changes are made."""
    users = {_entity_of(change).user for change in changes if change.kind == ClientEntity.kind}
    stored = {(ClientEntity(row["user"], row["client_id"]), row["key"])
              for row in kafka.client_configs.describe(users).to_pylist()}  # fmt: skip
    planned = {change.target: change.after for change in changes}
    unset = {target for target, after in planned.items() if after is None}
    return (stored - unset) | {target for target, after in planned.items() if after is not None}


def _follower_notes(kafka: LiveKafka, change: Change, registry: Registry, own: set[Target]) -> Iterator[str]:
    entity = _entity_of(change)
    known = [client for client in registry.clients if client.is_below(entity) and client.is_of(change.key)]
    if not known:
        yield "no known client follows: none is registered"
        return
    following = [client for client in known if client.why_not(change.key) is None and _is_reached(client, change, own)]
    yield f"{len(following)} of {len(known)} known client{'s' * (len(known) != 1)} follow{'s' * (len(known) == 1)}"
    groups = sorted({client.registration.group_id or "" for client in known if _is_on_brokers(client)})
    if groups and change.key in CONSUMER_KEYS:
        yield from _group_lines(kafka, change, groups)


def _is_reached(client: RegisteredClient, change: Change, own: set[Target]) -> bool:
    """False of a client-id with a value of its own, where the user's is changed."""
    return client.entity == change.resource or (client.entity, change.key) not in own


def _is_on_brokers(client: RegisteredClient) -> bool:
    return client.registration.group_protocol == GROUP_ON_BROKERS


def _group_lines(kafka: LiveKafka, change: Change, groups: Sequence[str]) -> Iterator[str]:
    """The lines that change what groups of the new protocol (KIP-848) take from the brokers."""
    key = f"consumer.{change.key}"
    verb = f"config reset {key}" if change.after is None else f"config set {key}={change.after}"
    lines = [f"{verb} {format_word('group', group)}" for group in groups[:_MOST_NAMES]]
    more = f" and {len(groups) - _MOST_NAMES} more groups" if len(groups) > _MOST_NAMES else ""
    yield f"groups on the brokers need: {', '.join(lines)}{more}"
    if reason := _out_of_range(kafka, change):
        yield reason


def _out_of_range(kafka: LiveKafka, change: Change) -> str | None:
    """The reason that brokers would refuse that of a group; None where they take it, or their bounds are not seen."""
    if change.after is None:
        return None
    broker = Resource("BROKER", str(kafka.brokers()[0].id))
    lowest, highest = (f"group.consumer.{end}.{change.key}" for end in ("min", "max"))
    rows = kafka.configs.describe([broker], [lowest, highest], synonyms=False).to_pylist()
    bounds = {row["key"]: int(row["value"]) for row in rows if row["value"] is not None}
    if bounds.get(lowest, 0) <= int(change.after) <= bounds.get(highest, int(change.after)):
        return None
    return f"brokers refuse {change.after} there: {lowest}={bounds.get(lowest)}, {highest}={bounds.get(highest)}"


def _entity_of(change: Change) -> ClientEntity:
    return cast(ClientEntity, change.resource)


# --- after applying ---


@dataclass(frozen=True, slots=True)
class _Answers:
    """The clients that a row is about: those that follow, those that refuse, with the reason, and the silent ones."""

    following: Sequence[RegisteredClient]
    refusing: Mapping[RegisteredClient, str]
    silent: Sequence[RegisteredClient]
    code: ClassVar[str] = SILENT_CLIENTS

    @property
    def is_complete(self) -> bool:
        """True if every client has said so."""
        return not self.silent

    def text(self) -> str:
        """The answers in a sentence or two."""
        count = len(self.following) + len(self.refusing) + len(self.silent)
        parts = [f"{len(self.following)} of {count} live clients follow"]
        refusals = [f"{_name_of(client)} ({reason})" for client, reason in self.refusing.items()]
        parts += [f"refused by {_several(refusals)}"] * bool(refusals)
        parts += [f"not said by {_several([*map(_name_of, self.silent)])}"] * bool(self.silent)
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _Unknown:
    """The error for which clients could not be asked."""

    error: KadminError
    is_complete: ClassVar[bool] = False

    @property
    def code(self) -> str | None:
        """Kafka's name of it."""
        return self.error.code

    def text(self) -> str:
        """The error in a sentence."""
        return f"its clients could not be asked: {self.error}"


def awaited(
    kafka: LiveKafka,
    outcomes: Sequence[Outcome],
    seconds: float,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = silent,
) -> list[Outcome]:
    """The outcomes, once every live client that a row of client configs is about has said that it follows or refuses.

    A row is not verified where one has not within so many seconds, or until `stop` is true.
    """
    mine = [outcome.change for outcome in outcomes if _can_be_followed(outcome)]
    until, pause = kafka.monotonic() + seconds, _POLL
    while mine:
        answers = _answers_or_error(kafka, mine)
        answered = sum(answer.is_complete for answer in answers.values())
        progress(Advance("followed", answered, len(mine), left=until - kafka.monotonic()))
        if answered == len(mine) or stop() or kafka.monotonic() + pause > until:
            return [_with_answer(outcome, answers.get(outcome.change.row)) for outcome in outcomes]
        kafka.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_POLL)
    return [*outcomes]


def _can_be_followed(outcome: Outcome) -> bool:
    return outcome.change.kind == ClientEntity.kind and outcome.state in (VERIFIED, UNCHANGED)


def _with_answer(outcome: Outcome, answer: _Answers | _Unknown | None) -> Outcome:
    if answer is None:
        return outcome
    message = answer.text()
    if answer.is_complete:
        return replace(outcome, message=message)
    return replace(outcome, state=UNVERIFIED, error=answer.code, message=message)


def _answers_or_error(kafka: LiveKafka, changes: Sequence[Change]) -> Mapping[int, _Answers | _Unknown]:
    """The answers; an error is one too, as what was applied must not go untold over it."""
    try:
        return _client_answers(kafka, changes)
    except KadminError as exc:
        unknown = _Unknown(exc)
        return {change.row: unknown for change in changes}


def _client_answers(kafka: LiveKafka, changes: Sequence[Change]) -> dict[int, _Answers]:
    """The answer of all live clients to each row, by its number."""
    clients = kafka.client_registry.describe().clients
    entries: dict[ClientEntity, dict[str, tuple[str, int]]] = {}
    for row in kafka.client_configs.describe({_entity_of(change).user for change in changes}).to_pylist():
        entity = ClientEntity(row["user"], row["client_id"])
        entries.setdefault(entity, {})[row["key"]] = row["value"], row["revision"]
    return {change.row: _answers_to(change, clients, entries) for change in changes}


def _answers_to(change: Change, clients: Sequence[RegisteredClient], entries: _Entries) -> _Answers:
    those = [c for c in clients if c.is_below(_entity_of(change)) and c.supports(change.key)]
    refusing = {client: client.status.rejected.get(change.key) for client in those
                if client.status and _has_answered(client, change.key, entries)}  # fmt: skip
    return _Answers(
        [client for client, reason in refusing.items() if reason is None],
        {client: reason for client, reason in refusing.items() if reason is not None},
        [client for client in those if client not in refusing],
    )


def _has_answered(client: RegisteredClient, key: str, entries: _Entries) -> bool:
    """True if its status is about the newest of the entries that it follows, and has the key as they have it."""
    levels = [_supported(client, entries.get(level, {})) for level in client.entity.levels]
    newest = max((revision for level in levels for _, revision in level.values()), default=-1)
    value = merged({name: value for name, (value, _) in level.items()} for level in levels).get(key)
    status = client.status
    if status is None or status.revision != newest:
        return False
    return key in status.rejected or status.effective.get(key) == value


def _supported(client: RegisteredClient, entries: Mapping[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    return {key: entry for key, entry in entries.items() if client.supports(key)}


def _name_of(client: RegisteredClient) -> str:
    return f"{client.entity} {client.name.instance}"


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
