"""What needs a look. `cluster.quotas.audit()`: quotas that repeat others or never apply, clients without a limit,
generated client-ids; `cluster.configs.audit()` reads for the rules of `advice`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from ..admin import topics
from ..advice import FINDINGS, LEFTOVER, THROTTLE, UNREAD
from ..advice.config_rules import findings, relevant
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError, UsageError, kind_of
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Page
from ..frames.relational import each_once
from ..hints import did_you_mean
from ..model import rights
from ..model.entity import Entity
from ..model.findings import WARNING, Coverage, Finding
from ..model.grammar import format_word
from ..model.quota_keys import readable
from ..model.resources import Resource
from ..resolution import kernel
from ..resolution.effects import redundant
from ..resolution.shadows import tree
from ..state.taking import configs_of, listed_resources
from ..usage.covered import coverage
from ..usage.limits_used import known_clients
from .resolving import marks, pairs_of

if TYPE_CHECKING:
    from ..frames.blocks import Block

SHADOWED, REDUNDANT, UNLIMITED, CLIENT_IDS = "shadowed", "redundant", "unlimited", "client-ids"
QUOTA_FINDINGS = {
    SHADOWED: "a quota that can never apply, because another one always wins",
    REDUNDANT: "without it the same limit applies",
    UNLIMITED: "no limit applies to these clients",
    CLIENT_IDS: "names that look generated, by their pattern",
}
"""The words of the findings of quotas."""


class Audit(Findings):
    """FINDINGS of one audit, counted by their word. A row fails where something could not be read."""

    schema = schemas.FINDINGS
    words: Mapping[str, str]
    """The words of its findings, and what each means."""

    def only(self, *words: str) -> Self:
        """Those of these words.

        Raises
        ------
        UsageError
            A word that no finding has.
        """
        for word in words:
            if word not in self.words:
                one_of = f"One of {', '.join(self.words)}."
                raise UsageError(f"unknown finding {word}", hint=did_you_mean(word, self.words, one_of))
        return self.of(finding for finding in self.findings if not words or finding.code in words)

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table.select(["finding", "message", "source", "coverage", "fix"])] if len(self) else []

    def _title(self) -> str:
        counts = Counter(finding.code for finding in self.findings)
        return (
            "\n".join(f"{count:,} {word}: {self.words[word]}" for word, count in counts.items()) or "nothing to look at"
        )


class QuotaFindings(Audit):
    """FINDINGS of quotas; `edits()` are the removals of redundant quotas that change no client's limit or bucket.

    Their `resource_type` is QUOTA, and `resource_name` an entity, clients, or the pattern of client-ids.
    """

    words = QUOTA_FINDINGS


def quota_audit(kafka: LiveKafka, clients: object, keys: Sequence[str] | None, assume_default: bool) -> QuotaFindings:
    """The findings of the quotas of a cluster; see `Quotas.audit`."""
    marked = marks(kafka, assume_default)
    quotas = kafka.quotas.describe()
    of_quotas = [*_shadowed(quotas), *(_named(one, str(one.target)) for one in redundant(quotas))]
    found = [one for one in of_quotas if keys is None or one.key in keys]
    if clients is None:  # each user that quotas name, and null for all others, with a client-id and without one
        users = [None, *sorted(pc.unique(quotas["user"]).drop_null().to_pylist())]
        pairs = zip(*product(users, (None, "")), strict=True)
        columns = [pa.array(names, pa.string()) for names in pairs]
        found += _unlimited(quotas, pa.table(columns, _CLIENT_COLUMNS), keys, None)
    else:
        given = pairs_of(clients)
        known, covered = _known_clients(given), _coverage(kafka, given)
        found += _unlimited(quotas, known, keys, covered)
        for missing in _not_known(given, len(known), covered):
            found.append(_named(Finding.not_known(UNLIMITED, missing, None, coverage=covered), ""))
        found += _generated(known["client_id"].unique().to_pylist(), covered)
    return QuotaFindings(found, kafka.id, marked)


def _named(finding: Finding, name: str) -> Finding:
    return finding.with_(resource_type="QUOTA", resource_name=name)


def _shadowed(quotas: pa.Table) -> Iterator[Finding]:
    for row in tree(quotas).to_pylist():
        if row["shadowed_by"] is not None:
            entity, key = row["entity"], row["key"]
            message = f"{entity} {key} {readable(key, row['value'])} can never apply: {row['shadowed_by']} always wins"
            fix = f"quota remove {key} {entity}"
            finding = Finding(SHADOWED, WARNING, message, Entity.parse(entity), key, fix=fix)
            yield _named(finding.with_(value=str(row["value"]), source=row["level"]), entity)


def _unlimited(
    quotas: pa.Table, clients: pa.Table, keys: Sequence[str] | None, covered: Coverage | None
) -> Iterator[Finding]:
    """Those of these clients without a limit."""
    resolved = kernel.resolve_general(quotas, clients, keys=keys)
    free: dict[tuple[str | None, str | None], list[str]] = {}
    for row in resolved.filter(pc.is_null(resolved["value"])).select(["user", "client_id", "key"]).to_pylist():
        free.setdefault((row["user"], row["client_id"]), []).append(row["key"])
    for client, lacking in free.items():
        name, lacks = _whose(*client), ", ".join(lacking)
        finding = Finding(UNLIMITED, WARNING, f"{name}: no limit of {lacks}", key=lacks, coverage=covered)
        yield _named(finding, name)


def _coverage(kafka: LiveKafka, given: pa.Table) -> Coverage | None:
    """Which brokers the clients were read from; None of clients without a broker."""
    if not {"broker", "window_start", "window_end"} <= {*given.column_names}:
        return None
    return coverage(given, (broker.id for broker in kafka.brokers()))


def _not_known(given: pa.Table, clients: int, covered: Coverage | None) -> Iterator[str]:
    """What these clients leave open."""
    if not clients:
        yield "no client is known"
    elif covered and covered.not_known:
        yield f"the limits of clients that the usage lacks{covered.not_known}"
    if "source" in given.column_names:
        unnamed = len(each_once(given, _CLIENT_COLUMNS)) - len(each_once(known_clients(given), _CLIENT_COLUMNS))
        if unnamed:
            yield f"the limits of {unnamed:,} buckets of this usage that do not name their clients"


GENERATED = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-z])(?:\d+|(?=[0-9a-z]*\d)[0-9a-z]{6,})(?![0-9a-z])", re.I
)
"""The parts of a client-id that vary from start to start: a UUID, a number, a word of letters and digits."""

ALIKE = 3
"""Client-ids from which on a pattern counts as generated: app-1 and app-2 may be two applications."""


def _generated(client_ids: Iterable[str], covered: Coverage | None) -> Iterator[Finding]:
    """Client-ids that differ only in generated parts, by pattern: no quota of one applies again (KAFKA-9411)."""
    groups: dict[str, list[str]] = {}
    for client_id in client_ids:
        groups.setdefault(GENERATED.sub("*", client_id), []).append(client_id)
    for pattern, ids in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        if len(ids) >= ALIKE:
            message = (
                f"{len(ids):,} client-ids like {pattern}, such as {ids[0]}: a quota of their user limits them together"
            )
            yield _named(Finding(CLIENT_IDS, WARNING, message, coverage=covered).with_(value=str(len(ids))), pattern)


def _whose(user: str | None, client_id: str | None) -> str:
    """Such clients in words."""
    words = [format_word("user", user) if user is not None else "users without a quota of their own"]
    if client_id is not None:
        words.append(format_word("client-id", client_id) if client_id else "sending no client-id")
    return ", ".join(words) if user is None else " ".join(words)


def _known_clients(table: pa.Table) -> pa.Table:
    """The clients of PAIRS or USAGE, each once."""
    schemas.require_columns("the clients", _CLIENT_COLUMNS, table.column_names)
    if "source" in table.column_names:
        table = known_clients(table)
    names = [pc.fill_null(table[name].cast(pa.string()), "") for name in _CLIENT_COLUMNS]
    return each_once(pa.table(names, _CLIENT_COLUMNS), _CLIENT_COLUMNS)


_CLIENT_COLUMNS = ("user", "client_id")


# --- configs ---


class ConfigFindings(Audit):
    """FINDINGS of configs."""

    words = FINDINGS

    def only(self, *words: str) -> Self:
        """Those of these words (`leftover`, `throttle`, `differs`, `repeats`, `default`, `unread`).

        What could not be read stays, and beside `leftover` each throttle of which nobody knows whether it is one,
        without an operation that fixes it: what nobody saw is not in order.

        Raises
        ------
        UsageError
            A word that no finding has.
        """
        asked = super().only(*words)
        unsure = {UNREAD, *([THROTTLE] if LEFTOVER in words else [])} - {*(words or FINDINGS)}
        not_fixed = (replace(f, edit=None, further=(), fix=None) for f in self.findings if f.code in unsure)
        return self.of([*asked.findings, *not_fixed])

    def _error(self, row: dict[str, Any]) -> KadminError:
        needed = rights.to_describe(Resource(row["resource_type"], row["resource_name"]))
        return kind_of(row["error"])(row["message"], code=row["error"], hint=rights.hint(row["error"], needed))


def config_audit(kafka: LiveKafka) -> ConfigFindings:
    """FINDINGS of the cluster as it is now; see `Configs.audit`."""
    whole = configs_of(kafka, listed_resources(kafka), relevant)
    return ConfigFindings(findings(whole.to_pylist(), is_reassigning(kafka)), kafka.id)


def is_reassigning(kafka: LiveKafka) -> bool | None:
    """True if partitions are being moved; None where no broker says so."""
    try:
        return topics.is_reassigning(kafka.wire)
    except KadminError:
        return None
