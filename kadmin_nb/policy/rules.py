"""Rule: which rows of a frame, and what must hold of them. Data that one evaluator reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pyarrow as pa
import pyarrow.compute as pc

from ..model.findings import FAILED, OK, UNKNOWN, WARNING, Finding, Row
from ..model.grammar import format_word
from ..model.quota_keys import readable, text_of
from ..model.resources import Resource
from .capacities import NAMES, Capacities, OfBrokers
from .facts import (
    CLIENT_CONFIGS,
    CLUSTER_ID,
    CONFIGS,
    EFFECTIVE,
    NOTHING,
    QUOTAS,
    TREE,
    UNLIMITED,
    PolicyFacts,
    value_of,
    value_text,
)

REFUSE, WARN = "refuse", "warn"
SEVERITIES = (REFUSE, WARN)
KEPT, BROKEN, AS_BEFORE = "kept", "broken", "as before"
"""The words of the column `state`, beside `unknown`. `as before`: broken before the plan, and the plan makes it no
worse."""

_A_MISSING_LIMIT = f'a client without a quota keeps it, too: frame = "{EFFECTIVE}" reads what applies'

_SEVERITIES = {BROKEN: FAILED, UNKNOWN: UNKNOWN}
_WHOSE = {CONFIGS: ("resource_type", "resource_name"), QUOTAS: ("entity",), CLIENT_CONFIGS: ("entity",)}


@dataclass(frozen=True)
class Forbid:
    """There must be no such row."""

    def __str__(self) -> str:
        return "not set"

    def judge(self, rule: Rule, facts: PolicyFacts, rows: pa.Table, capacities: Capacities) -> Iterator[Finding]:
        """A row for each that is there."""
        for row in rows.to_pylist():
            is_there = row.get("message") or f"{row['key']} is set: {value_text(rule.frame, row)}"
            yield rule.said(facts, row, is_there, str(self), excess=0.0)


@dataclass(frozen=True)
class Must:
    """All these must hold of each row."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.conditions))

    def judge(self, rule: Rule, facts: PolicyFacts, rows: pa.Table, capacities: Capacities) -> Iterator[Finding]:
        """A row for each of which one does not hold, or nobody can tell."""
        for condition in self.conditions:
            holds, wanted = condition.fits(rows), str(condition)
            for row in rows.filter(pc.invert(pc.fill_null(holds, True))).to_pylist():
                excess = condition.excess(row["value"])
                yield rule.said(facts, row, _is(rule, row, condition), wanted, excess=excess)
            for row in rows.filter(pc.is_null(holds)).to_pylist():
                yield rule.said(facts, row, f"{row['key']} is a secret, or not known", wanted, UNKNOWN)


def _is(rule: Rule, row: Row, condition: Condition) -> str:
    have = value_text(rule.frame, row) if condition.column == "value" else row[condition.column]
    subject = row["key"] if condition.column == "value" else f"{condition.column} of {row['key']}"
    return f"{subject} is {'not set' if have is None else have}"


@dataclass(frozen=True)
class Required:
    """Each resource, entity or client that has such rows must have these keys; one that is named must be there."""

    keys: tuple[str, ...]

    def __str__(self) -> str:
        return "set"

    def judge(self, rule: Rule, facts: PolicyFacts, rows: pa.Table, capacities: Capacities) -> Iterator[Finding]:
        """A row for each key that one of them lacks."""
        if rule.frame == EFFECTIVE:
            lacking = rows.filter(
                pc.and_(
                    pc.is_null(rows["value"]), pc.is_in(rows["key"].cast(pa.string()), pa.array(self.keys, pa.string()))
                )
            )
            for row in lacking.to_pylist():
                yield rule.said(facts, row, f"{row['key']} is unlimited", str(self), excess=0.0)
            return
        names = _WHOSE[rule.frame]
        has: dict[tuple[str, ...], set[str]] = {resource: set() for resource in self._expected(rule, facts)}
        for row in rows.select([*names, "key"]).to_pylist():
            has.setdefault(tuple(row[name] for name in names), set()).add(row["key"])
        for whose, keys in sorted(has.items()):
            for key in (key for key in self.keys if key not in keys):
                row = {**dict(zip(names, whose, strict=True)), "key": key, "value": None}
                yield rule.said(facts, row, f"{key} is not set", str(self), excess=0.0, value=None)

    def _expected(self, rule: Rule, facts: PolicyFacts) -> list[tuple[str, ...]]:
        """Those that the rule names, or that are known and it chooses, whether anything is set on them or not."""
        if rule.frame != CONFIGS:
            is_here = all(c.holds(facts.cluster_id) for c in rule.where if c.column == CLUSTER_ID)
            return [(entity,) for entity in rule.named("entity") or () if is_here]
        kinds, names = (rule.named(column) or () for column in _WHOSE[CONFIGS])
        bare = facts.bare(Resource(kind, name) for kind in kinds for name in names)
        return [tuple(row.values()) for row in rule.chosen(bare).select(_WHOSE[CONFIGS]).to_pylist()]


@dataclass(frozen=True)
class LimitBound:
    """A number, or a share of what each broker can do."""

    number: float
    text: str
    is_share: bool = False

    def of(self, able: OfBrokers, key: str) -> Iterator[tuple[str | None, float]]:
        """Whose bound it is, None where it is everyone's, and the bound."""
        if not self.is_share:
            yield None, self.number
            return
        for broker, capacity in able.items():
            if key in capacity:
                yield _ANY_BROKER if broker is None else format_word("broker", str(broker)), self.number * capacity[key]


_ANY_BROKER = "broker=<any>"


@dataclass(frozen=True)
class Sum:
    """The values of the rows, each bucket once, key by key, must add up to no more."""

    at_most: LimitBound

    def __str__(self) -> str:
        return f"at most {self.at_most.text}"

    def judge(self, rule: Rule, facts: PolicyFacts, rows: pa.Table, capacities: Capacities) -> Iterator[Finding]:
        """A row a key and broker whose sum is more; one where the capacity for a key is not told."""
        for key in sorted(rule.keys or ()):
            bounds = list(self.at_most.of(capacities.of(facts.cluster_id), key))
            if not bounds:
                unknown = f"the policy has no {NAMES.get(key, key)} of the brokers of cluster {facts.cluster_id}"
                yield rule.row(None, None, None, unknown, str(self), UNKNOWN)
            total, free = self._total(rule, facts, rows.filter(pc.equal(rows["key"].cast(pa.string()), key)))
            for broker, bound in bounds:
                if total > bound:
                    yield self._over(rule, facts, key, broker, (total, bound), free)

    def _total(self, rule: Rule, facts: PolicyFacts, rows: pa.Table) -> tuple[float, int]:
        """The sum, and how many clients have no limit: with them it has no end, if the clients are known."""
        if rule.frame != EFFECTIVE:
            return float(pc.sum(rows["value"]).as_py() or 0.0), 0
        free = rows["value"].null_count
        buckets = rows.filter(pc.is_valid(rows["value"])).group_by(
            ["bucket_user", "bucket_client_id"], use_threads=False
        )
        limits = buckets.aggregate([("value", "max")])["value_max"]
        total = float(pc.sum(limits).as_py() or 0.0)
        return (math.inf if free and facts.knows_clients else total), free

    def _over(
        self, rule: Rule, facts: PolicyFacts, key: str, broker: str | None, sums: tuple[float, float], free: int
    ) -> Finding:
        total, bound = sums
        if math.isinf(total):
            message = f"{key} adds up to no limit: {free:,} client{'s are' if free > 1 else ' is'} unlimited"
        else:
            made_up = "" if facts.knows_clients or rule.frame != EFFECTIVE else ", for the clients that quotas name"
            message = f"{key} adds up to {readable(key, total)} on each broker{made_up}, not to {readable(key, bound)}"
        value = "unlimited" if math.isinf(total) else text_of(total)
        return rule.row(broker, key, value, message, str(self), BROKEN, total - bound)


Assertion = Forbid | Must | Required | Sum


@dataclass(frozen=True)
class Rule:
    """One rule of a policy: the rows of `frame` that fit `where`, and none of `unless`; only while a row fits
    `while_`, if it has one."""

    name: str
    reason: str
    severity: str
    frame: str
    assertion: Assertion
    where: tuple[Condition, ...] = ()
    unless: tuple[tuple[Condition, ...], ...] = ()
    while_: tuple[Condition, ...] = ()

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The keys that it is about, where it names them."""
        if isinstance(self.assertion, Required):
            return self.assertion.keys
        return self.named("key")

    def named(self, column: str) -> tuple[str, ...] | None:
        """The values of a column that it is about, where it names them."""
        named = (c.wanted for c in self.where if c.column == column and c.operator in ("is", "one_of"))
        return next((tuple(dict.fromkeys(map(str, values))) for values in named), None)

    def judged(self, facts: PolicyFacts, capacities: Capacities) -> list[Finding]:
        """The findings in these facts: those that break it or cannot be told, or one that says that it is kept."""
        found = [self.row(whose, None, None, why, str(self.assertion), UNKNOWN) for whose, why in self._unread(facts)]
        whole = facts.frame(self.frame, self.keys)
        rows = self.chosen(whole)
        if not self.while_ or len(fitting(self.while_, whole)):
            found += self.assertion.judge(self, facts, rows, capacities)
        kept = f"kept by {len(rows):,} row{'s' * (len(rows) != 1)}" if len(rows) else "no row is chosen"
        told = f"{kept}; {_A_MISSING_LIMIT}" if self._bounds_what_is_stored() else kept
        return found or [self.row(None, None, None, told, str(self.assertion), KEPT)]

    def _bounds_what_is_stored(self) -> bool:
        """True of a highest value for stored quotas, which who has none keeps as well."""
        conditions = self.assertion.conditions if isinstance(self.assertion, Must) else ()
        is_highest = any(one.column == "value" and one.operator == "at_most" for one in conditions)
        return is_highest and self.frame in (QUOTAS, TREE)

    def chosen(self, table: pa.Table) -> pa.Table:
        """The rows of the frame that it is about."""
        rows = fitting(self.where, table)
        for exception in self.unless:
            rows = not_fitting(exception, rows)
        return rows

    def _unread(self, facts: PolicyFacts) -> Iterator[tuple[str | None, str]]:
        """The rows it is about that nobody could see; a resource that its names leave out does not count."""
        yield from ((None, why) for why in facts.unread(self.frame, self.named("resource_type") or ()))
        of_names = [c for c in self.where if c.column in ("resource_type", "resource_name")]
        for row in facts.forbidden(self.frame):
            if all(c.holds(row[c.column]) for c in of_names):
                name = str(Resource(row["resource_type"], row["resource_name"]))
                yield name, f"{name} could not be read, {row['error']}"

    def said(
        self, facts: PolicyFacts, row: Row, message: str, wanted: str, state: str = BROKEN, excess: float | None = None,
        **given: str | None,
    ) -> Finding:  # fmt: skip
        """A finding about a row of the frame."""
        whose = facts.resource(self.frame, row)
        value = given.get("value", value_of(self.frame, row))
        named = message if whose in message else f"{whose}: {message}"
        return self.row(whose, row["key"], value, named, wanted, state, excess)

    def row(
        self, resource: str | None, key: str | None, value: str | None, message: str, wanted: str, state: str,
        excess: float | None = None,
    ) -> Finding:  # fmt: skip
        """A finding of this rule, and how far beyond its bound it is."""
        evidence = {
            "severity": self.severity,
            "state": state,
            "ok": {KEPT: True, UNKNOWN: None}.get(state, False),
            "value": value,
            "wanted": wanted,
            "reason": self.reason,
            "excess": excess,
        }
        severity = OK if state == KEPT else WARNING if self.severity == WARN else _SEVERITIES[state]
        return Finding(self.name, severity, message, resource, key or "", evidence=evidence)


# --- conditions of a rule on one column: a few comparisons, over Arrow columns ---

Wanted = str | float | bool


def number(value: object) -> float:
    """A cell as a number; NaN, which no comparison fits, where it is none."""
    try:
        return float(value)  # type: ignore[arg-type]  # what is not a number says so
    except (TypeError, ValueError):
        return math.nan


def said(value: object) -> str:
    """A cell as the text that a broker would take."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(value: object, expected: Wanted) -> bool:
    return number(value) == expected if isinstance(expected, float) else said(value) == said(expected)


_COMPARISONS: Mapping[str, Callable[[object, Wanted], bool]] = {
    "is": _same,
    "one_of": _same,
    "like": lambda value, pattern: fnmatchcase(said(value), str(pattern)),
    "at_least": lambda value, wanted: number(value) >= float(wanted),
    "at_most": lambda value, wanted: number(value) <= float(wanted),
}
OPERATORS = (*_COMPARISONS, "set")
BOUNDS = ("at_least", "at_most")
"""The operators that compare numbers."""


@dataclass(frozen=True)
class Condition:
    """One column, an operator, and what it compares with: `value` `at_least` 2. Any of several `wanted` will do.

    `null` is what an empty cell of this column says, `text` how the policy spells what is wanted.
    """

    column: str
    operator: str
    wanted: tuple[Wanted, ...]
    text: str
    null: str = NOTHING

    def fits(self, table: pa.Table) -> pa.ChunkedArray:
        """Of each row whether it fits; null where nobody can tell. Each distinct value is compared once."""
        column = table[self.column]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        distinct = pc.unique(column)
        verdicts = pa.array(map(self.holds, distinct.to_pylist()), pa.bool_())
        return pc.take(verdicts, pc.index_in(column, value_set=distinct))

    def holds(self, value: object) -> bool | None:
        """True if this cell fits; None where nobody can tell."""
        if self.operator == "set":
            return (value is not None) == self.wanted[0]
        if value is None and self.null == UNLIMITED and self.operator in BOUNDS:
            value = math.inf
        if value is None:
            return None if self.null == UNKNOWN else False
        return any(_COMPARISONS[self.operator](value, wanted) for wanted in self.wanted)

    def excess(self, value: object) -> float | None:
        """The distance of this cell beyond a bound; None where it is not compared with a number."""
        if self.operator not in BOUNDS:
            return None
        have = math.inf if value is None and self.null == UNLIMITED else number(value)
        beyond = have - float(self.wanted[0])
        return beyond if self.operator == "at_most" else -beyond

    def __str__(self) -> str:
        return self.text if self.column == "value" else f"{self.column} {self.text}"


def fitting(conditions: tuple[Condition, ...], table: pa.Table) -> pa.Table:
    """The rows that certainly fit all of them."""
    for condition in conditions:
        table = table.filter(pc.fill_null(condition.fits(table), False))
    return table


def not_fitting(conditions: tuple[Condition, ...], table: pa.Table) -> pa.Table:
    """The rows that do not certainly fit all of them."""
    if not conditions or not len(table):
        return table
    together = conditions[0].fits(table)
    for condition in conditions[1:]:
        together = pc.and_kleene(together, condition.fits(table))
    return table.filter(pc.invert(pc.fill_null(together, False)))
