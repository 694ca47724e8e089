"""Finding: the answer of a rule about one thing, whatever the rule judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import figures

if TYPE_CHECKING:
    from .changes import Change, Edit
    from .configurable import Configurable


Row = dict[str, Any]
"""Column names with their values."""


OK, WARNING, FAILED, UNKNOWN = "ok", "warning", "failed", "unknown"
"""The severities of findings: all is well; somebody should look; a rule is broken; nobody could see."""

ABSENT, SKIPPED = "absent", "skipped"
"""What a check is about is not there, and not needed; it was not made, as an earlier one failed."""

DANGER = "danger"
"""The severity of a finding about a row of a plan that has to be confirmed."""


NOT_KNOWN = "not known"
"""The word of a finding whose rule does not have the rows that it needs."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the whole the rows cover that a finding was read from. None: not known, or no part of its rule.

    `seen` and `brokers` are the ids of the brokers that have rows and of all brokers of the cluster; `in_part` are
    those that have rows of a part of the time alone. `rows` counts the rows of what the finding is about, from `since`
    to `until`.

    Examples
    --------
    >>> print(Coverage(frozenset({1, 2}), frozenset({1, 2, 3}), rows=42))
    2 of 3 brokers (none of broker 3), 42 rows
    """

    seen: frozenset[int] | None = None
    brokers: frozenset[int] | None = None
    since: datetime | None = None
    until: datetime | None = None
    rows: int | None = None
    in_part: frozenset[int] = frozenset()

    @property
    def missing(self) -> frozenset[int]:
        """The brokers without rows; all of them where nothing is known of rows."""
        return (self.brokers or frozenset()) - (self.seen or frozenset())

    @property
    def strange(self) -> frozenset[int]:
        """The brokers with rows that the cluster does not have."""
        return frozenset() if self.brokers is None or self.seen is None else self.seen - self.brokers

    @property
    def not_known(self) -> str:
        """What it does not cover, and brokers that the cluster does not have, as the end of a sentence: `; not known
        for broker 3`. Empty where that is nothing."""
        parts = {"for broker": self.missing, "for all of the time of broker": self.in_part}
        phrases = [f"{words} {', '.join(map(str, sorted(ids)))}" for words, ids in parts.items() if ids]
        unknown = f"; {NOT_KNOWN} {', nor '.join(phrases)}" if phrases else ""
        return f"{unknown}; {self._of_strangers}" if self.strange else unknown

    @property
    def _of_strangers(self) -> str:
        return f"the cluster has no broker {', '.join(map(str, sorted(self.strange)))}, of which there are rows"

    @property
    def span(self) -> str:
        """From when to when: `2026-11-21 10:00:00Z to 10:15:00Z`; empty where that is not known."""
        if self.since is None or self.until is None:
            return ""
        is_same_day = self.since.date() == self.until.date()
        return f"{figures.utc(self.since)} to {figures.utc(self.until)[11 if is_same_day else 0 :]}"

    def __str__(self) -> str:
        """In a phrase: `3 of 3 brokers, 2026-11-21 10:00:00Z to 10:15:00Z, 42 rows`."""
        return ", ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.seen is not None and self.brokers is not None:
            missing = ", ".join(map(str, sorted(self.missing)))
            without = f" (none of broker {missing})" if missing else ""
            yield f"{len(self.seen & self.brokers)} of {len(self.brokers)} brokers{without}"
            if self.strange:
                yield self._of_strangers
        elif self.seen is not None:
            yield f"{len(self.seen)} broker{'' if len(self.seen) == 1 else 's'}"
        if self.span:
            yield self.span
        if self.rows is not None:
            yield f"{self.rows:,} row{'' if self.rows == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Throttling:
    """The throttles of a bucket that were seen, from `since` on, and the most that it used in a throttled window, in
    percent of its limit.

    `own_ms` is the longest of the client's own requests; None where nothing tells. `used` has what each user and
    client-id used in throttled windows, `share` of all of them is throttled.
    """

    longest_ms: float
    since: datetime | None
    utilisation: float | None
    has_unknown: bool
    own_ms: float | None = None
    used: Mapping[tuple[str, str], float] = field(default_factory=dict)
    share: float | None = None

    def __str__(self) -> str:
        share = "" if self.share is None else f", in {figures.share(self.share)} of the windows"
        since = "" if self.since is None else f", first at {figures.utc(self.since)}"
        return f"throttled for up to {figures.milliseconds(self.longest_ms)}{share}{since}"


def row_words(key: str, target: Configurable | str) -> str:
    """The row of a plan as options name it: the key and whose it is, `acks user=alice`."""
    return f"{key} {target}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: its `code`, how severe it is, about what, by which evidence, and the edit that fixes it.
    `fix` says in a line how to, whether an edit can or not.

    `target` is an entity, a resource, or the text of a place; None where it is about all of them, and then `key` is
    empty. `row` is the plan's row that it is about, the first of several; 0 without a plan. `evidence` has the further
    columns of its frame, `coverage` how much of the whole it was read from; None where the whole is one row.
    """

    code: str
    severity: str
    message: str
    target: Configurable | str | None = None
    key: str = ""
    row: int = 0
    evidence: Mapping[str, Any] = field(default_factory=dict)
    edit: Edit | None = None
    fix: str | None = None
    coverage: Coverage | None = None
    further: tuple[Edit, ...] = ()
    """The edits of the other brokers that it is about."""

    @property
    def allowed_by(self) -> str:
        """The words that let a danger of a plan through: the key and the row's own name, `acks user=alice`."""
        return row_words(self.key, self.target) if self.target else self.key

    @classmethod
    def not_known(
        cls, code: str, missing: str, fix: str | None, target: Configurable | str | None = None, key: str = "",
        coverage: Coverage | None = None,
    ) -> Finding:  # fmt: skip
        """A rule's answer without the rows that it needs: what is missing, and the line that would show it as its
        `fix`."""
        return cls(code, UNKNOWN, f"{NOT_KNOWN}: {missing}", target, key, fix=fix, coverage=coverage)

    @classmethod
    def about(cls, change: Change, severity: str, code: str, message: str) -> Finding:
        """A finding about a row of a plan."""
        return cls(code, severity, message, change.resource, change.key, change.row)

    def with_(self, **evidence: Any) -> Finding:
        """The same with this evidence beside its own."""
        return replace(self, evidence={**self.evidence, **evidence})

    @property
    def line(self) -> str:
        """Its message; that of a danger after whose it is, and the key."""
        is_of_row = self.severity == DANGER and self.target
        return f"{self.target} {self.key}: {self.message}" if is_of_row else self.message
