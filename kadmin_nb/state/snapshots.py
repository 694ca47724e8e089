"""Snapshot: what a cluster held at a time, a frame a kind (`snapshot_kinds`)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ExitState, KadminError, UsageError
from ..errors import kind_of as kind_of_error
from ..frames.answer import Answer
from ..frames.display import Display
from ..frames.schemas import stamped
from ..model.changes import AppliedRow, Target
from ..model.configurable import Configurable
from ..model.findings import Row
from ..model.resources import NOBODY_LOOKED, is_throttle
from .snapshot_kinds import KINDS, SCOPES, SnapshotKind, kind_of_scope, title_of_part


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """A part of a cluster that could not be read, and why: `code` is Kafka's name of the error, or None."""

    scope: str
    code: str | None
    message: str
    hint: str | None = None

    @classmethod
    def of(cls, scope: str, error: KadminError) -> UnreadPart:
        """The part whose reading ended with this error."""
        return cls(scope, error.code, str(error), error.hint)

    @property
    def title(self) -> str:
        """Its name, for people."""
        return title_of_part(self.scope)

    def in_one_line(self) -> str:
        """The reason, and what would fix it."""
        return ". ".join(filter(None, [self.message, self.hint]))

    def __str__(self) -> str:
        return f"{self.title} could not be read: {self.message}"


def error_of(unread: Collection[UnreadPart]) -> KadminError | None:
    """The error that names all of these parts, with what would fix the first; None without any."""
    if not unread:
        return None
    first = next(iter(unread))
    return kind_of_error(first.code)("; ".join(map(str, unread)), code=first.code, hint=first.hint)


class PartlyRead(Answer):
    """An answer that is made of what could be read: `unread` are the parts of the cluster that it says nothing of."""

    def __init__(self, table: pa.Table, unread: Iterable[UnreadPart] = ()) -> None:
        super().__init__(table)
        self.unread = tuple(unread)

    @property
    def ok(self) -> bool:
        """True if all could be read."""
        return not self.unread and super().ok

    def raise_for_errors(self) -> Self:
        """Itself when all could be read.

        Raises
        ------
        NotAuthorized, Invalid, TimedOut, Unsupported
            A part could not be read; all of them are named.
        """
        if error := error_of(self.unread):
            raise error
        return super().raise_for_errors()


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(Display):
    """What is set on a cluster at one time; `scopes` says what was read, `unread` what could not be, and why.

    `frames` are SNAPSHOT frames by the name of their kind: Answers, for Arrow, pandas or Spark. `throttling` has the
    throttles that held back copies then, with the reason; None where nobody looked. `applied_since` gives the rows that
    plans have changed on this cluster since a time, by the journals here; None where nobody tells, as in a history.
    """

    id: str
    cluster_id: str
    taken_at: datetime
    scopes: tuple[str, ...]
    complete: bool
    frames: Mapping[str, Answer]
    unread: tuple[UnreadPart, ...] = ()
    throttling: Mapping[Target, str] | None = None
    applied_since: Callable[[datetime], Iterable[AppliedRow]] | None = None

    @property
    def quotas(self) -> Answer:
        """SNAPSHOT_QUOTAS."""
        return self.frames["quotas"]

    @property
    def configs(self) -> Answer:
        """SNAPSHOT_CONFIGS."""
        return self.frames["configs"]

    @property
    def client_configs(self) -> Answer:
        """SNAPSHOT_CLIENT_CONFIGS."""
        return self.frames["client_configs"]

    @property
    def credentials(self) -> Answer:
        """SNAPSHOT_CREDENTIALS."""
        return self.frames["credentials"]

    @property
    def failed(self) -> Answer:
        """The config resources that could not be read, with their errors."""
        return self.configs.failed

    def set_for_a_while(self, target: Target) -> str | None:
        """The reason why a throttle is not wished for: Kafka's tools set it for a while. None of all else."""
        if not is_throttle(target):
            return None
        return NOBODY_LOOKED if self.throttling is None else self.throttling.get(target)

    @property
    def kinds(self) -> tuple[SnapshotKind, ...]:
        """The kinds that were read, wholly or in part."""
        return tuple(kind for kind in KINDS.values() if not {*kind.scopes}.isdisjoint(self.scopes))

    def with_frame(self, kind: SnapshotKind, table: pa.Table) -> Snapshot:
        """The same with another frame of one kind."""
        return replace(self, frames={**self.frames, kind.name: Answer(table)})

    @property
    def shortfall(self) -> str:
        """What could not be read, after a comma; nothing where all was."""
        if self.complete:
            return ""
        parts, failed = [part.title for part in self.unread], len(self.failed)
        noun = f" resource{'s' * (failed != 1)}" if parts else ""
        resources = [f"{failed:,}{noun}"] if failed or not parts else []
        return f", NOT COMPLETE: {' and '.join([*parts, *resources])} could not be read"

    def raise_for_errors(self) -> Snapshot:
        """Itself when all could be read.

        Raises
        ------
        NotAuthorized, Invalid, TimedOut, Unsupported
            A part, or a resource, could not be read.
        """
        if error := error_of(self.unread):
            raise error
        self.failed.raise_for_errors()
        return self

    def _exit_state(self, detailed: bool = False) -> ExitState:
        return ExitState.DONE if self.complete else ExitState.FAILED

    def _title(self) -> str:
        counted = ", ".join(f"{len(self.frames[kind.name]):,} {kind.title}" for kind in self.kinds)
        return f"<Snapshot {self.id} of {self.cluster_id} at {self.taken_at.isoformat()}: {counted}{self.shortfall}>"


def snapshot(
    frames: Mapping[str, pa.Table],
    *,
    cluster_id: str,
    taken_at: datetime,
    scopes: Collection[str] | None = None,
    snapshot_id: str | None = None,
    complete: bool = True,
    unread: Iterable[UnreadPart] = (),
    throttling: Mapping[Target, str] | None = None,
    applied_since: Callable[[datetime], Iterable[AppliedRow]] | None = None,
) -> Snapshot:
    """The snapshot of these frames, by the name of their kind: secrets are removed; a row with an error, or a part that
    is `unread`, makes it incomplete. Its `scopes` default to all of these kinds."""
    kinds = [KINDS[name] for name in frames]
    scopes = [scope for kind in kinds for scope in kind.scopes] if scopes is None else scopes
    scopes, unread = tuple(scope for scope in SCOPES if scope in scopes), tuple(unread)
    cleaned = {kind.name: kind.without_secrets(frames[kind.name]) for kind in kinds}
    failed = "configs" in cleaned and pc.any(pc.is_valid(cleaned["configs"]["error"])).as_py()
    complete = complete and not unread and not failed
    unique_id = snapshot_id or uuid.uuid4().hex
    columns = {"cluster_id": cluster_id, "taken_at": taken_at, "snapshot_id": unique_id, "complete": complete}

    def answer(kind: SnapshotKind) -> Answer:
        schema = kind.snapshot_frame.schema
        table = cleaned.get(kind.name, kind.schema.empty_table())
        same = {n: pa.repeat(pa.scalar(value, schema.field(n).type), len(table)) for n, value in columns.items()}
        whole = pa.table([same[f.name] if f.name in same else table[f.name] for f in schema], schema=schema)
        return Answer(stamped(whole, cluster_id, at=taken_at.isoformat(timespec="microseconds")))

    answers = {kind.name: answer(kind) for kind in KINDS.values()}
    return Snapshot(unique_id, cluster_id, taken_at, scopes, complete, answers, unread, throttling, applied_since)


def snapshot_of_texts(texts: Iterable[tuple[Configurable, str, str]], **marks: Any) -> Snapshot:
    """The snapshot in which these are set, each on a resource, under a key; `[secure]` is a secret.

    Levels of loggers are not in it: no snapshot reads them.
    """
    rows: dict[str, list[Row]] = {name: [] for name in KINDS}
    for resource, key, text in texts:
        if (kind := kind_of_scope(resource.scope)) is not None:
            rows[kind.name].append(kind.row(resource, key, text))
    return snapshot({name: kind.sorted_rows(rows[name]) for name, kind in KINDS.items()}, **marks)


def refuse_other_than_snapshot(source: object) -> None:
    """Raise UsageError for what is not a snapshot; a cluster has one."""
    if not isinstance(source, Snapshot):
        raise UsageError(f"a {type(source).__name__} is not a snapshot", hint="Pass cluster.snapshot().")
