"""`cluster.users`: the users that anything on a cluster knows, side by side, and those that one thing alone knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..admin.ports import SPECIFIED, Component
from ..client_configs.kafka import LiveKafka
from ..errors import NotAuthorized, Unsupported
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.schema_metadata import NOTES, stamped
from ..model.grammar import matcher, selector
from ..model.levels import LEVEL_NAMES
from ..usage.engines import Usage

_Row = Mapping[str, object]

CREDENTIALS, QUOTAS, ACLS, USAGE = "credentials", "quotas", "acls", "usage"
_ORPHANS = {
    CREDENTIALS: "orphaned-credentials",
    QUOTAS: "orphaned-quotas",
    ACLS: "orphaned-acls",
}
_NO_QUOTAS = "no-quotas"
FINDINGS = {
    _ORPHANS[CREDENTIALS]: "only a SCRAM credential names the user; brokers do not show super users",
    _ORPHANS[QUOTAS]: "only quotas name the user",
    _ORPHANS[ACLS]: "only ACLs name the user",
    _NO_QUOTAS: "was active, and no quota names the user; a default may apply",
}
"""The words of the column `finding`, and their meaning."""

_ANONYMOUS = "ANONYMOUS"
"""Whoever does not log in: known to every broker, so never an orphan."""

_USER, _EVERYBODY = "User:", "User:*"


class UsersAnswer(Answer):
    """USERS. Below it stand the meanings of its findings, and `notes`: a sentence for each source that told nothing.

    `unread` are those of sources that could not be read.
    """

    unread: tuple[str, ...] = ()

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        words = Counter(self._table["finding"].drop_null().to_pylist())
        yield from (f"{word}: {meaning}." for word, meaning in FINDINGS.items() if word in words)
        yield from self.notes


@dataclass(frozen=True, slots=True)
class _Source:
    """One that knows users: the columns of each, those of any other user, and what is to be noted of it."""

    columns: Mapping[str, _Row]
    absent: _Row
    notes: tuple[str, ...] = ()
    error: NotAuthorized | Unsupported | None = None


def users(kafka: LiveKafka, user: object, usage: object) -> UsersAnswer:
    """USERS of a cluster; see `Cluster.users`."""
    sources = {
        CREDENTIALS: _read("SCRAM credentials", lambda: _credentials(kafka)),
        QUOTAS: _read("quotas", lambda: _quotas(kafka)),
        ACLS: _read("ACLs", lambda: _acls(kafka)),
    }
    errors = [source.error for source in sources.values() if source.error]
    if len(errors) == len(sources) and usage is None:
        raise errors[0]
    if usage is not None:
        sources[USAGE] = _usage(kafka, usage)
    fits = matcher(selector("user", user))
    names = sorted(filter(fits, {name for source in sources.values() for name in source.columns}))
    rows = [_user_row(name, sources) for name in names]
    notes = "\n".join(note for source in sources.values() for note in source.notes)
    answer = UsersAnswer(stamped(schemas.table(schemas.USERS, rows), kafka.id, {NOTES: notes}))
    answer.unread = tuple(note for source in sources.values() if source.error for note in source.notes)
    return answer


def _user_row(name: str, sources: Mapping[str, _Source]) -> dict[str, object]:
    columns = (source.columns.get(name, source.absent) for source in sources.values())
    merged = {column: value for part in columns for column, value in part.items()}
    return {"user": name, **merged, "finding": _finding(name, sources)}


def _finding(name: str, sources: Mapping[str, _Source]) -> str | None:
    """The finding of one user, if there is one."""
    knowing = [kind for kind, source in sources.items() if name in source.columns]
    if USAGE in knowing:
        return None if QUOTAS in knowing or sources[QUOTAS].error else _NO_QUOTAS
    others = [source for kind, source in sources.items() if kind not in knowing]
    if len(knowing) > 1 or name == _ANONYMOUS or not _can_tell_orphans(others):
        return None
    return _ORPHANS[knowing[0]]


def _can_tell_orphans(others: Collection[_Source]) -> bool:
    """True unless one of them may not be read, or none of them knows anybody."""
    return any(source.columns for source in others) and not any(source.error for source in others)


def _read(things: str, read: Callable[[], _Source]) -> _Source:
    """The source; one that may not be read knows nobody, and says so."""
    try:
        return read()
    except (NotAuthorized, Unsupported) as exc:
        why = exc.hint or f"{exc}."
        return _Source({}, {}, (f"{things} could not be read, so orphans may be missing: {why}",), exc)


# --- sources ---


def _credentials(kafka: LiveKafka) -> _Source:
    mechanisms: dict[str, list[str]] = {}
    for row in kafka.scram.describe().to_pylist():
        mechanisms.setdefault(row["user"], []).append(row["mechanism"] or row["error"])
    return _Source({user: {"mechanisms": ", ".join(names)} for user, names in mechanisms.items()}, {"mechanisms": ""})


def _quotas(kafka: LiveKafka) -> _Source:
    table = kafka.quotas.describe([Component("user", SPECIFIED)])
    counted = table.filter(table["user"].is_valid()).group_by(["user", "level", "key"]).aggregate([("entity", "count")])
    by_user: dict[str, list[_Row]] = {}
    for row in sorted(counted.to_pylist(), key=_by_level):
        by_user.setdefault(row["user"], []).append(
            {"level": row["level"], "key": row["key"], "quotas": row["entity_count"]}
        )
    return _Source({user: _quota_columns(keys) for user, keys in by_user.items()}, _quota_columns([]))


def _by_level(row: Mapping[str, str]) -> tuple[int, str]:
    """The order of one user's quotas: the user's own before those of a client-id."""
    return -LEVEL_NAMES.index(row["level"]), row["key"]


def _quota_columns(keys: list[_Row]) -> _Row:
    return {"quotas": sum(row["quotas"] for row in keys), "quota_keys": keys}  # type: ignore[misc]


def _acls(kafka: LiveKafka) -> _Source:
    counts = kafka.acls()
    if counts is None:
        return _Source({}, {}, ("The brokers have no authorizer, so there are no ACLs.",))
    of_users = {name: number for name, number in counts.items() if _is_user(name)}
    columns = {name.removeprefix(_USER): {"acls": number} for name, number in of_users.items()}
    return _Source(columns, {"acls": 0}, tuple(_acls_of_others(counts - Counter(of_users))))


def _is_user(principal: str) -> bool:
    return principal.startswith(_USER) and principal != _EVERYBODY


def _acls_of_others(counts: Counter[str]) -> Iterator[str]:
    """Sentences on ACLs that are not for one user."""
    if everybody := counts.pop(_EVERYBODY, 0):
        yield f"Other ACLs, for everyone ({_EVERYBODY}): {everybody:,}."
    if others := counts.total():
        yield f"Other ACLs, for principals that are not users: {others:,}."


def _usage(kafka: LiveKafka, usage: object) -> _Source:
    rows: list[dict[str, Any]] = Usage.of(usage).of_cluster(kafka.id).users().to_pylist()
    columns = {row.pop("user"): {"used": True, **row} for row in rows}
    return _Source(columns, {"used": False})
