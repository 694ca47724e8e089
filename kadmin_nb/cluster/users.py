"""The users of a cluster: those that anything on it knows, side by side; and their SCRAM credentials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..admin.ports import SPECIFIED, Component
from ..client_configs.kafka import LiveKafka
from ..errors import NotAuthorized, Unsupported
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.schemas import NOTES, stamped
from ..model.findings import Row
from ..model.grammar import ANY, matcher, selector
from ..model.levels import LEVEL_NAMES
from ..model.scram import ScramUser


class Scram:
    """The SCRAM credentials of a cluster's users (KIP-554)."""

    def __init__(self, kafka: LiveKafka) -> None:
        self._kafka = kafka

    def describe(self, *, user: Any = ANY) -> Answer:
        """SCRAM: the mechanisms and iterations of each user. Brokers show nothing else of a credential.

        Parameters
        ----------
        user
            A name, `kn.ANY`, `kn.Pattern("team-*")` or a list of them. A name that has no credential is one row
            with RESOURCE_NOT_FOUND.

        Raises
        ------
        NotAuthorized
            DESCRIBE on the cluster is missing.
        """
        chosen = selector("user", user)
        names = [part for part in chosen if isinstance(part, str)]
        if names and len(names) == len(chosen):
            return self._answer(self._kafka.scram.describe(map(ScramUser.of, names)))
        fits, table = matcher(chosen), self._kafka.scram.describe()
        return self._answer(table.filter(pa.array([fits(name) for name in table["user"].to_pylist()], pa.bool_())))

    def _answer(self, table: pa.Table) -> Answer:
        return Answer(stamped(table, self._kafka.id))


# --- the users that anything knows ---

CREDENTIALS, QUOTAS, ACLS = "credentials", "quotas", "acls"
_ORPHANS = {kind: f"orphaned-{kind}" for kind in (CREDENTIALS, QUOTAS, ACLS)}
FINDINGS = {
    _ORPHANS[CREDENTIALS]: "only a SCRAM credential names the user; brokers do not show super users",
    _ORPHANS[QUOTAS]: "only quotas name the user",
    _ORPHANS[ACLS]: "only ACLs name the user",
}
"""The words of the column `finding`, and their meaning."""

_ANONYMOUS = "ANONYMOUS"
"""Whoever does not log in: known to every broker, so never an orphan."""

_USER = "User:"


class UsersAnswer(Answer):
    """USERS. Below it are the meanings of its findings, and `notes`: a sentence for each source that told nothing.

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

    columns: Mapping[str, Row]
    absent: Row
    notes: tuple[str, ...] = ()
    error: NotAuthorized | Unsupported | None = None


def users(kafka: LiveKafka, user: object) -> UsersAnswer:
    """USERS of a cluster; see `Cluster.users`."""
    sources = {
        CREDENTIALS: _read("SCRAM credentials", lambda: _credentials(kafka)),
        QUOTAS: _read("quotas", lambda: _quotas(kafka)),
        ACLS: _read("ACLs", lambda: _acls(kafka)),
    }
    errors = [source.error for source in sources.values() if source.error]
    if len(errors) == len(sources):
        raise errors[0]
    fits = matcher(selector("user", user))
    names = sorted(filter(fits, {name for source in sources.values() for name in source.columns}))
    rows = []
    for name in names:
        parts = [source.columns.get(name, source.absent) for source in sources.values()]
        merged = {column: value for part in parts for column, value in part.items()}
        rows.append({"user": name, **merged, "finding": _finding(name, sources)})
    notes = "\n".join(note for source in sources.values() for note in source.notes)
    answer = UsersAnswer(stamped(schemas.table(schemas.USERS, rows), kafka.id, {NOTES: notes}))
    answer.unread = tuple(note for source in sources.values() if source.error for note in source.notes)
    return answer


def _finding(name: str, sources: Mapping[str, _Source]) -> str | None:
    """The finding of one user, if there is one."""
    knowing = [kind for kind, source in sources.items() if name in source.columns]
    others = [source for kind, source in sources.items() if kind not in knowing]
    can_tell = any(source.columns for source in others) and not any(source.error for source in others)
    return _ORPHANS[knowing[0]] if can_tell and len(knowing) == 1 and name != _ANONYMOUS else None


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
    by_user: dict[str, list[Row]] = {}
    # the user's own before those of a client-id
    for row in sorted(counted.to_pylist(), key=lambda row: (-LEVEL_NAMES.index(row["level"]), row["key"])):
        by_user.setdefault(row["user"], []).append(
            {"level": row["level"], "key": row["key"], "quotas": row["entity_count"]}
        )
    return _Source({user: _quota_columns(keys) for user, keys in by_user.items()}, _quota_columns([]))


def _quota_columns(keys: list[Row]) -> Row:
    return {"quotas": sum(row["quotas"] for row in keys), "quota_keys": keys}


def _acls(kafka: LiveKafka) -> _Source:
    counts = kafka.acls()
    if counts is None:
        return _Source({}, {}, ("The brokers have no authorizer, so there are no ACLs.",))
    columns = {name.removeprefix(_USER): {"acls": number} for name, number in counts.items() if name.startswith(_USER)}
    columns.pop("*", None)  # everybody
    return _Source(columns, {"acls": 0})
