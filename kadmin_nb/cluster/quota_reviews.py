"""Reviews of a cluster's quotas: those that repeat others, clients without a limit, client-ids that were made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..client_configs.kafka import LiveKafka
from ..errors import UsageError
from ..frames import schemas
from ..frames.answer import Answer, Findings
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.meanings import values_of
from ..frames.relational import each_once
from ..frames.schema_metadata import stamped
from ..model.findings import NOT_KNOWN, Coverage
from ..model.grammar import format_word
from ..model.levels import LEVELS
from ..model.quota_keys import readable
from ..resolution import kernel
from ..resolution.rules import Effective, Stored, explain, stored_of
from ..usage.covered import coverage, remarks
from ..usage.limits_used import known_clients
from . import resolve_engines
from .resolving import marks

_BY_CLIENT_ID = {level.name for level in LEVELS if level.client_id}


class RedundantAnswer(Findings):
    """REDUNDANT; `edits()` removes those that are safe to remove; of those that stand in for one another the first.

    A plan of them still says what it changes.
    """

    schema = schemas.REDUNDANT

    def _title(self) -> str:
        """The counts."""
        safe = sum(finding.evidence["safe"] for finding in self.findings)
        if not len(self):
            return "No redundant quotas."
        redundant = "1 redundant quota" if len(self) == 1 else f"{len(self):,} redundant quotas"
        return f"{redundant}; {safe:,} safe to remove"

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return super()._content(page) if len(self) else ()


class UnlimitedAnswer(Answer):
    """UNLIMITED; its display has a row a client.

    `clients` is how many known clients were looked at; None where it is about clients in general. `unnamed` are buckets
    of a usage that name no client, and `coverage` says which brokers it has.
    """

    def __init__(
        self, table: pa.Table, clients: int | None = None, unnamed: int = 0, coverage: Coverage = Coverage()
    ) -> None:
        super().__init__(table)
        self.clients, self.unnamed, self.coverage = clients, unnamed, coverage

    def _title(self) -> str:
        """The number of clients, or of sorts of them."""
        if self.clients == 0:
            return f"{NOT_KNOWN.capitalize()}: no client is known."
        groups, rest = len(self._keys), self.coverage.not_known
        if groups:
            lacking = "1 group of clients lacks" if groups == 1 else f"{groups:,} groups of clients lack"
            return f"{lacking} {'a' if groups == 1 else 'at least one'} limit{rest}"
        whose = "All clients have" if self.clients is None else f"All {self.clients:,} known clients have"
        return f"{whose} a limit of each key that was asked for{rest}."

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """What it was read from, and what is not known."""
        yield from (*self.notes, *remarks(self.coverage))
        if self.unnamed:
            buckets = f"{self.unnamed:,} buckets of this usage do not name their clients"
            yield f"{buckets}: whether these have limits is {NOT_KNOWN}."

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        if self._keys:
            clients = [_whose(*client) for client in self._keys]
            yield pa.table({"clients": clients, "unlimited": list(map(", ".join, self._keys.values()))})

    @cached_property
    def _keys(self) -> dict[tuple[str | None, str | None], list[str]]:
        """The keys without a limit of each client."""
        keys: dict[tuple[str | None, str | None], list[str]] = {}
        columns = (values_of(self._table, name) for name in schemas.UNLIMITED.names)
        for user, client_id, key in zip(*columns, strict=True):
            keys.setdefault((user, client_id), []).append(key)
        return keys


def _whose(user: str | None, client_id: str | None) -> str:
    """Such clients in words."""
    words = [format_word("user", user) if user is not None else "any user that no quota names"]
    if client_id is not None:
        words.append(format_word("client-id", client_id) if client_id else "without a client-id")
    return " ".join(words)


def unlimited(kafka: LiveKafka, pairs: object, keys: Sequence[str] | None, assume_default: bool) -> UnlimitedAnswer:
    """UNLIMITED among these clients; without any, among the users that quotas name and everybody else."""
    marked = marks(kafka, assume_default)
    quotas = kafka.quotas.describe()
    clients = _clients_in_general(quotas) if pairs is None else _known_clients(pairs)
    resolved = kernel.resolve_general(quotas, clients, keys=keys)
    rows = resolved.filter(pc.is_null(resolved["value"])).select(schemas.UNLIMITED.names)
    table = stamped(rows.cast(schemas.UNLIMITED.schema), kafka.id, marked)
    if pairs is None:
        return UnlimitedAnswer(table)
    given, unnamed, covered = resolve_engines.pairs_of(pairs), 0, Coverage()
    if {"broker", "window_start", "window_end"} <= {*given.column_names}:
        covered = coverage(given, (broker.id for broker in kafka.brokers()))
    if "source" in given.column_names:
        unnamed = len(each_once(given, _CLIENT_COLUMNS)) - len(each_once(known_clients(given), _CLIENT_COLUMNS))
    return UnlimitedAnswer(table, len(clients), unnamed, covered)


def _clients_in_general(quotas: pa.Table) -> pa.Table:
    """PAIRS: each user that quotas name, and null for all others, with a client-id that none names, and without."""
    users = pa.array([None, *sorted(pc.unique(quotas["user"]).drop_null().to_pylist())], pa.string())
    client_ids = pa.array([None, ""] * len(users), pa.string())
    return pa.table({"user": users.take(pa.array(np.repeat(np.arange(len(users)), 2))), "client_id": client_ids})


def _known_clients(pairs: object) -> pa.Table:
    """The clients of PAIRS or USAGE, each once."""
    table = resolve_engines.pairs_of(pairs)
    schemas.require_columns("the clients", _CLIENT_COLUMNS, table.column_names)
    if "source" in table.column_names:
        table = known_clients(table)
    names = [pc.fill_null(table[name].cast(pa.string()), "") for name in _CLIENT_COLUMNS]
    return each_once(pa.table(names, _CLIENT_COLUMNS), _CLIENT_COLUMNS)


_CLIENT_COLUMNS = ("user", "client_id")


def made_up_client_ids(kafka: LiveKafka, clients: object, assume_default: bool = False) -> Answer:
    """CLIENT_IDS among these clients, the largest groups first."""
    if clients is None:
        raise UsageError("the clients are required", hint="PAIRS or USAGE: Kafka keeps no list of its clients.")
    pairs = [(row["user"], row["client_id"]) for row in _known_clients(clients).to_pylist()]
    users: dict[str, list[str]] = {}
    for user, client_id in pairs:
        users.setdefault(client_id, []).append(user)
    marked, stored = marks(kafka, assume_default), stored_of(kafka.quotas.describe().to_pylist())
    rows = (_pattern_row(made, ids, users, stored) for made, ids in by_pattern(users).items())
    return Answer(stamped(schemas.table(schemas.CLIENT_IDS, rows), kafka.id, marked))


def _pattern_row(
    made: MadeUp, ids: Sequence[str], users: Mapping[str, Sequence[str]], stored: Stored
) -> dict[str, object]:
    of_users = {user: client_id for client_id in reversed(ids) for user in users[client_id]}
    user, example = users[ids[0]][0], ids[0]
    limits_of = {whose: _limits(stored, whose, client_id) for whose, client_id in of_users.items()}
    limits = limits_of[user]
    return {
        "pattern": made.pattern,
        "sort": made.sort,
        "client_ids": len(ids),
        "users": len(of_users),
        "example": example,
        "user": user,
        "binds": ", ".join(dict.fromkeys(str(limit.entity) for limit in limits)) or None,
        "advice": _advice(limits_of),
    }


def _limits(stored: Stored, user: str, client_id: str) -> list[Effective]:
    return [limit for limit in explain(stored, user, client_id) if limit.value is not None]


def _advice(limits_of: Mapping[str, Sequence[Effective]]) -> str:
    """The level whose quota would cover all of them, by the limits of each of their users."""
    several = sorted(limits_of)
    whom = format_word("user", several[0]) if len(several) == 1 and several[0] else "user=<default>"
    limits = [limit for user in several for limit in limits_of[user]]
    free = [user for user in several if not limits_of[user]]
    if apart := next((limit for limit in limits if limit.level in _BY_CLIENT_ID), None):
        assert apart.value is not None
        limit = f"{apart.key} {readable(apart.key, apart.value)}"
        return f"each new client-id gets {limit} of its own; a quota on {whom} alone would limit them together"
    if not free:
        return "covered: the user's limits apply to any client-id"
    some = f" for {len(free):,} of {len(several):,} users" if limits else ""
    return f"unlimited{some}; a quota on {whom} would cover them all"


# --- client-ids that a machine made up: their varying part, and the pattern that they share ---
#
# Quotas and metrics go by client-id, so an id that is new at each start escapes the one and piles up in the other
# (KAFKA-9411); Kafka matches no prefixes.

ALIKE = 3
"""Client-ids of one pattern from which on its numbers count as made up: app-1 and app-2 may be two applications."""


@dataclass(frozen=True, slots=True)
class MadeUp:
    """The pattern of a client-id that was made up, and what varies in it."""

    pattern: str
    sort: str


_PARTS = (
    ("uuid", re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)),
    ("host", re.compile(r"\b\d{1,3}(?:[.-]\d{1,3}){3}\b|@[\w.-]+")),
    ("hex", re.compile(r"(?<![0-9a-z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}(?![0-9a-z])", re.I)),
    (
        "random",
        re.compile(r"(?<![0-9a-zA-Z])(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])(?=(?:\D*\d){2})[0-9a-zA-Z]{6,}(?![0-9a-zA-Z])"),
    ),
    ("number", re.compile(r"(?<![0-9a-zA-Z])\d+(?![0-9a-zA-Z])")),
)
"""The sorts of parts that vary, the most telling first: in this order they are looked for and replaced."""

_LIBRARIES = re.compile(
    r"(?:console-)?(?:producer|consumer)(?:-.+)?-\*|(?:rd|node-rd)?kafka|sarama|kafka-python.*|kafkajs|librdkafka", re.I
)
"""The names that libraries give to a client without one."""


def made_up(client_id: str) -> MadeUp | None:
    """The pattern of this client-id, `*` for each part that varies; None where nothing in it looks made up.

    Examples
    --------
    >>> made_up("billing-7f9c24e8-3b1a-4f6e-9d2c-1a2b3c4d5e6f").pattern
    'billing-*'
    """
    pattern, sorts = client_id, []
    for sort, part in _PARTS:
        pattern, count = part.subn("*", pattern)
        sorts += [sort] * bool(count)
    if _LIBRARIES.fullmatch(pattern):
        return MadeUp(pattern, "library")
    return MadeUp(re.sub(r"\*(?:[-_.:]?\*)+", "*", pattern), sorts[0]) if sorts else None


def by_pattern(client_ids: Iterable[str]) -> dict[MadeUp, list[str]]:
    """The client-ids that were made up, by their pattern, those of the largest first; numbers from ALIKE on."""
    groups: dict[MadeUp, list[str]] = {}
    for client_id in dict.fromkeys(client_ids):
        if found := made_up(client_id):
            groups.setdefault(found, []).append(client_id)
    certain = {made: ids for made, ids in groups.items() if made.sort != "number" or len(ids) >= ALIKE}
    return dict(sorted(certain.items(), key=lambda group: (-len(group[1]), group[0].pattern)))
