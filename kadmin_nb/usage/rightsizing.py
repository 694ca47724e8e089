"""RECOMMENDATIONS: limits that throttle needlessly, are unused, or ten times too high, and what to do.

What each bucket needed is found where the usage is (`resolution/needs.py`); a row a bucket comes here, where the
buckets of a quota are put together: all users without a quota of their own have that of the default user.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..fleets.workers import of_whole_groups
from ..frames import frame as types
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.relational import (
    added_up,
    among,
    guarded,
    having,
    in_arrow,
    names_of,
    select,
    taken,
    where,
    with_columns,
    words_of,
)
from ..frames.schema_metadata import stamped
from ..frames.views import counted_nouns
from ..model.changes import DELETE, SET, Edit
from ..model.entity import ARGUMENTS, Entity
from ..model.figures import share
from ..model.findings import OK, UNKNOWN, WARNING, Finding
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import find, readable, text_of
from ..resolution.input_columns import QUOTAS_LABEL
from ..resolution.kernel import asked_keys, resolve
from ..resolution.needs import READ, Asked, hours_needed, needs
from ..resolution.rules import Stored, entity_at, entity_of, stored_of
from ..resolution.shadows import TIMES, shadowed_by
from .backtesting import TOKENS, BacktestAnswer, replayed
from .bucket_figures import DAY
from .limits_used import USAGE_LABEL, in_buckets, known_clients, measured_rows, with_limits
from .touched_clients import ImpactAnswer, impact

THROTTLES, TOO_HIGH, UNUSED = "throttles needlessly", "ten times too high", "unused"
FITS, NOT_KNOWN = "fits", "not known"

TEN_TIMES = 10.0
"""How many times the needed limit a limit is from which on it is too high."""

PERCENTILE, HEADROOM, PROMISE = 99.0, 20.0, 2.0
"""What is asked for, in percent, unless said: of windows, of the limit, of seconds."""

_TITLES = {
    THROTTLES: ("throttles needlessly", "throttle needlessly"),
    TOO_HIGH: ("is ten times too high", "are ten times too high"),
    UNUSED: ("is unused", "are unused"),
    FITS: ("fits", "fit"),
}
"""The findings in a title, of one limit and of several."""

_PROMISE = (
    "The promise: a proposal throttles at most this share of its active time, for as long as the usage is, while its "
    "clients behave as before. It is not for clients that change or come later."
)
_NAMES = ("key", "bucket_user", "bucket_client_id", "level", "limit")
_KINDS = pa.schema([
    *((name, types.NUMBER if name == "limit" else types.TEXT) for name in _NAMES),
    *((name, types.NUMBER) for name in ("needed", "peak", "share_throttled", "growth", "busiest_share")),
    *((name, types.COUNT) for name in ("windows", "windows_unknown", "hours", "clients", "first", "last")),
    ("busiest", types.WHOLE),
])  # fmt: skip
Bucket = Mapping[str, Any]


class RecommendationsAnswer(Findings):
    """RECOMMENDATIONS: a row a quota, those to change first; `edits()` are the changes.

    `backtest` is BACKTEST of this usage under the limits that are proposed, and `impact` is IMPACT of the change on its
    clients.
    """

    schema = schemas.RECOMMENDATIONS
    failing = ()

    def __init__(
        self, findings: Iterable[Finding], before: pa.Table, usage: Any, keys: Sequence[str], promise: float
    ) -> None:
        super().__init__(findings)
        self._before, self._usage, self._keys, self.promise = before, usage, keys, promise

    def of_cluster(self, cluster_id: str) -> RecommendationsAnswer:
        """The same, as taken now from this cluster."""
        self._table = stamped(self._table, cluster_id)
        return self

    @property
    def proposals(self) -> RecommendationsAnswer:
        """The rows of which a change is proposed."""
        return self.of(finding for finding in self.findings if finding.edit)

    @property
    def quotas_after(self) -> pa.Table:
        """QUOTAS as they are once all edits are made."""
        return _edited(self._before, self.edits())

    @cached_property
    def backtest(self) -> BacktestAnswer:
        """BACKTEST of the proposed limits on this usage."""
        table = replayed(self.quotas_after, self._usage, self._keys)
        return BacktestAnswer(in_arrow(table, task="Spark replays the usage"))

    @cached_property
    def impact(self) -> ImpactAnswer:
        """IMPACT of all edits together on the clients of this usage."""
        clients = in_arrow(known_clients(self._usage), task="Spark looks for the clients")
        changed = impact(self._before, self.quotas_after, clients, keys=self._keys)
        assert isinstance(changed, ImpactAnswer)
        return changed

    def _title(self) -> str:
        """The findings, counted."""
        counts = Counter(finding.code for finding in self.findings)
        if not counts:
            return "no quota of users and client-ids"
        parts = [f"{counts[code]:,} {words[counts[code] != 1]}" for code, words in _TITLES.items() if counts[code]]
        if counts[NOT_KNOWN]:
            parts.append(f"{counts[NOT_KNOWN]:,} cannot be judged")
        return f"{counted_nouns(len(self), 'limit', 'limits')}: {', '.join(parts)}"

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The promise in words."""
        if any(finding.edit and finding.code == TOO_HIGH for finding in self.findings):
            yield _PROMISE
        if any(finding.code == THROTTLES for finding in self.findings):
            yield "What a throttled client wants is not seen: raise its limit, and look at later usage again."


def recommend(
    usage: Any,
    quotas: Any,
    *,
    keys: str | Iterable[str] | None = None,
    percentile: float = PERCENTILE,
    headroom: float = HEADROOM,
    promise: float = PROMISE,
    growth: float | None = None,
) -> RecommendationsAnswer:
    """RECOMMENDATIONS: the limit that each quota needed, beside the one it has, and what to do about it.

    Parameters
    ----------
    usage
        USAGE of one cluster, in Spark or as anything with `__arrow_c_stream__`, best of some weeks.
    quotas
        QUOTAS, as anything with `__arrow_c_stream__`: the current limits.
    keys
        The keys; default: the four of users and clients.
    percentile
        In percent: a limit is at least what so many windows of its busiest broker do not exceed.
    headroom
        In percent: so much is added to what is needed.
    promise
        In percent: the most of its active seconds in which a proposal throttles a bucket.
    growth
        In percent a month: how use grows. Default: as the days of the usage show, from four days on; a decrease counts
        as none.

    Returns
    -------
    RecommendationsAnswer
        A row a quota of users and client-ids. *throttles needlessly*: it throttled in more windows than is promised;
        twice the limit is proposed, and that it throttles no more than now. What a throttled client wants is not seen.
        *ten times too high*: ten times what was needed, or more; the needed limit is proposed. *unused*: a closer quota
        always wins, or the usage, long enough for a promise, has no client of it; its removal is proposed, but
        not that of a default, which is there for clients to come, nor that of a limit whose clients used something
        else. *fits*: nothing is proposed. *not known*: too few hours for the promise, or a part of the use is unknown;
        nothing is proposed.

        What is promised: in as long a time to come as the usage is long, each known bucket of the quota is throttled in
        at most this share of the seconds in which its clients are active, on all its brokers together. It rests on the
        hours of the usage (`hours`): 149 without a throttle for 2 %, 299 for 1 %. Of 100 promises 5 may fail even where
        hours are independent of each other; headroom and growth are on the safe side. What is not promised: anything
        of a client that changes what it does, of clients that come later, of a move of leaders to other brokers, or of
        bursts within a window: usage by the second shows most of them. Whether brokers can carry what is raised is
        another question, of `capacity`.

    Raises
    ------
    UsageError
        Not a frame, a column is missing or of another type; the usage has a `cluster_id`; a percentage out of bounds.
    Invalid
        A null in a row's names or times, with the row; a window that ends before it begins, as of a clock that ran
        back.

    Examples
    --------
    >>> found = recommend(usage, cluster.quotas.describe())  # doctest: +SKIP
    >>> cluster.stage().add(found.edits())  # doctest: +SKIP
    """
    asked = _asked(percentile, headroom, promise, growth)
    chosen, table = asked_keys(keys), in_arrow(_quotas(quotas), task="Spark reads the limits")
    rows = _demands(usage)
    log = _Log.of(rows, chosen, asked)
    stored = stored_of(table.to_pylist())
    buckets = _buckets(rows, table, chosen, asked)
    judged = [one for one in stored if _is_asked(one, chosen)]
    held = _held(usage, table, [one for one in judged if one not in buckets])
    found = [_judged(one, buckets.get(one, ()), one in held, stored, log) for one in judged]
    answer = RecommendationsAnswer(_in_order(found), table, usage, chosen, asked.promise)
    return _proven(answer)


def _asked(percentile: float, headroom: float, promise: float, growth: float | None) -> Asked:
    """The options as shares."""
    for name, value, most in (("percentile", percentile, 100.0), ("promise", promise, 50.0)):
        if not 0 < value <= most:
            raise UsageError(f"{name} cannot be {value:g}", hint=f"Percent, more than 0 and at most {most:g}.")
    for name, value in (("headroom", headroom), ("growth", growth or 0.0)):
        if not 0 <= value <= 1000:
            raise UsageError(f"{name} cannot be {value:g}", hint="Percent, from 0 to 1000.")
    return Asked(percentile / 100, headroom / 100, promise / 100, None if growth is None else growth / 100)


def _quotas(quotas: Any) -> Any:
    frame = taken(quotas, schemas.QUOTAS.names, QUOTAS_LABEL)
    schemas.require_columns(QUOTAS_LABEL, schemas.QUOTAS.names, names_of(frame))
    return select(frame, schemas.QUOTAS.names)


def _demands(usage: Any) -> Any:
    """What was wanted, and what is unknown of it, with times in microseconds."""
    rows, cluster = measured_rows(usage)
    if cluster:
        raise UsageError("the usage has a cluster_id", hint="Choose the rows of one cluster, and drop the column.")
    words = words_of(rows)
    column = words.column
    rows = guarded(
        rows, {"end": column("end") > column("start")}, "window_end is not after window_start", USAGE_LABEL,
        ["broker", "user", "client_id", "key", "start", "end"],
    )  # fmt: skip
    rows = where(rows, column("unknown") | (column("value") > 0))
    return with_columns(rows, {name: words.micros(column(name)) for name in ("start", "end")})


def _is_asked(quota: tuple[Entity, str], keys: Sequence[str]) -> bool:
    entity, key = quota
    return key in keys and entity.level in LEVELS_BY_NAME


@dataclass(frozen=True, slots=True)
class _Log:
    """The usage as a whole: its days, the keys that it has, and what is asked of limits."""

    days: float
    keys: Sequence[str]
    asked: Asked

    @classmethod
    def of(cls, rows: Any, keys: Sequence[str], asked: Asked) -> _Log:
        spans = added_up(rows, ["key"], {"first": ("min", "start"), "last": ("max", "end")})
        by_key = in_arrow(spans, task="Spark looks at the usage").to_pylist()
        first, last = min((row["first"] for row in by_key), default=0), max((row["last"] for row in by_key), default=0)
        return cls((last - first) / DAY, [row["key"] for row in by_key if row["key"] in keys], asked)

    @property
    def needed_hours(self) -> int:
        """The hours with use from which on the promise can be made."""
        return hours_needed(self.asked.promise)


def _buckets(rows: Any, quotas: pa.Table, keys: Sequence[str], asked: Asked) -> dict[tuple[Entity, str], list[Bucket]]:
    """What each bucket needed, by the quota that binds it."""
    words = words_of(rows)
    limited = with_limits(among(rows, "key", keys), quotas, keys)
    names = {f"of_{name}": words.column(name) for name in ("user", "client_id")}
    bound = having(in_buckets(with_columns(limited, names), ["broker", "measured"]), "limit")
    bound = with_columns(bound, {name: words.column(f"of_{name}") for name in ("user", "client_id")})
    found = of_whole_groups(select(bound, [*READ]), _NAMES, needs, (_NAMES, TOKENS, asked), _KINDS)
    by_quota: dict[tuple[Entity, str], list[Bucket]] = {}
    for row in in_arrow(found, task="Spark looks for the limits that are needed").to_pylist():
        by_quota.setdefault(_quota_of(row), []).append(row)
    return by_quota


def _quota_of(row: Bucket) -> tuple[Entity, str]:
    """The quota that a bucket's limit is from."""
    return entity_at(LEVELS_BY_NAME[row["level"]], row["bucket_user"], row["bucket_client_id"]), row["key"]


def _has_default(entity: Entity) -> bool:
    return any(part is DEFAULT for _, part in entity.parts)


def _held(usage: Any, quotas: pa.Table, unused: Sequence[tuple[Entity, str]]) -> set[tuple[Entity, str]]:
    """Those of these quotas that limit a client of the usage, which used something else alone."""
    named = [entity for entity, _ in unused if not _has_default(entity)]
    if not named:
        return set()
    clients = known_clients(usage)
    column = words_of(clients).column
    names = {name: [str(one.get(kind)) for one in named if one.get(kind)] for name, kind in ARGUMENTS.items()}
    near = where(clients, reduce(or_, (column(name).isin(chosen) for name, chosen in names.items() if chosen)))
    limits = resolve(
        quotas, in_arrow(near, task="Spark looks for the clients"), keys=sorted({key for _, key in unused})
    )
    bound = ({**row, "key": str(row["key"])} for row in limits.to_pylist() if row["level"] is not None)
    return {*map(_quota_of, bound)} & {*unused}


# --- one quota judged ---


def _judged(quota: tuple[Entity, str], buckets: Sequence[Bucket], is_held: bool, stored: Stored, log: _Log) -> Finding:
    """What to do about a quota, by the buckets that it binds; without any it may still be held by a client."""
    if not buckets:
        return _of_nobody(*quota, is_held, stored, log)
    finding = _of_buckets(*quota, stored[quota], buckets, log)
    worst = max(buckets, key=lambda one: one["peak"] or 0.0)
    return finding.with_(
        value=stored[quota],
        peak=max((one["peak"] for one in buckets if one["peak"] is not None), default=None),
        windows=sum(one["windows"] for one in buckets),
        windows_unknown=sum(one["windows_unknown"] for one in buckets),
        share_throttled=max(one["share_throttled"] for one in buckets),
        hours=min(one["hours"] for one in buckets),
        growth=max((one["growth"] for one in buckets if one["growth"] is not None), default=None),
        busiest=worst["busiest"],
        busiest_share=worst["busiest_share"],
        buckets=len(buckets),
        clients=sum(one["clients"] for one in buckets),
    )


def _of_buckets(entity: Entity, key: str, value: float, buckets: Sequence[Bucket], log: _Log) -> Finding:
    if not 0 < value < math.inf:
        return Finding(NOT_KNOWN, UNKNOWN, f"{text_of(value)} is not a limit", entity, key)
    throttled, hours = max(one["share_throttled"] for one in buckets), min(one["hours"] for one in buckets)
    few = f"{counted_nouns(hours, 'hour', 'hours')} with use, {log.needed_hours:,} are needed for a promise"
    if throttled > log.asked.promise:
        why = f"throttled in {share(throttled)} of its windows"
        if hours < log.needed_hours:
            return Finding(THROTTLES, WARNING, f"{why}; {few}", entity, key)
        return _set(entity, key, _rounded_up(key, TIMES * value), Finding(THROTTLES, WARNING, why), throttled)
    if unknown := sum(one["windows_unknown"] for one in buckets):
        return Finding(NOT_KNOWN, UNKNOWN, f"the use of {unknown:,} windows is unknown", entity, key)
    if any(one["needed"] is None for one in buckets):
        why = few if hours < log.needed_hours else "its use is too uneven for a promise"
        return Finding(NOT_KNOWN, UNKNOWN, why, entity, key)
    needed = _rounded_up(key, max(one["needed"] for one in buckets))
    if throttled > 0:
        why = f"throttled in {share(throttled)} of its windows"
        return Finding(FITS, OK, why, entity, key, evidence={"needed": needed})
    if value < TEN_TIMES * needed:
        return Finding(FITS, OK, f"{readable(key, needed)} is needed", entity, key, evidence={"needed": needed})
    found = Finding(TOO_HIGH, WARNING, f"{value / needed:,.0f} times what is needed", evidence={"needed": needed})
    return _set(entity, key, needed, found, log.asked.promise)


def _set(entity: Entity, key: str, proposed: float, finding: Finding, promise: float) -> Finding:
    """The finding with a limit that is proposed, and the share of seconds that it throttles at most."""
    changed = replace(finding, target=entity, key=key, edit=Edit(SET, entity, key, text_of(proposed)))
    return changed.with_(proposed=proposed, promise=promise)


def _of_nobody(entity: Entity, key: str, is_held: bool, stored: Stored, log: _Log) -> Finding:
    """A quota of which no client of the usage used any; one that a client has all the same stays."""
    counts = dict.fromkeys(("buckets", "clients", "windows", "windows_unknown", "hours"), 0)
    evidence = {"value": stored[entity, key], **counts}
    found = Finding(UNUSED, WARNING, "", entity, key, evidence=evidence)
    removed = replace(found, edit=Edit(DELETE, entity, key))
    if other := shadowed_by(stored, entity, key):
        return replace(removed, message=f"{other} always wins")
    if key not in log.keys:
        return replace(found, code=NOT_KNOWN, severity=UNKNOWN, message=f"the usage has no {key}")
    if log.days * 24 < log.needed_hours:
        few = f"no client of it in {log.days * 24:,.3g} hours, {log.needed_hours:,} are needed"
        return replace(found, code=NOT_KNOWN, severity=UNKNOWN, message=few)
    if is_held:
        return replace(found, severity=OK, message=f"its clients use no {key} in the usage; it is there if they do")
    if _has_default(entity):
        return replace(found, severity=OK, message="no client of it in the usage; it is there for clients to come")
    return replace(removed, message="no client of it in the usage")


def _rounded_up(key: str, value: float) -> float:
    """The next value of two digits, a whole one where the key's are."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    spec = find(key)
    if spec is not None and spec.kind != "DOUBLE":
        step = max(step, 1.0)
    return float(f"{math.ceil(value / step * (1 - 1e-9)) * step:.12g}")


# --- all of them ---


def _in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Those to change first, the worst of each finding first."""
    places = {code: place for place, code in enumerate((THROTTLES, TOO_HIGH, UNUSED, NOT_KNOWN, FITS))}

    def order(finding: Finding) -> tuple[Any, ...]:
        evidence = finding.evidence
        too_high = evidence["value"] / evidence["needed"] if evidence.get("needed") else 0.0
        return (
            places[finding.code],
            -evidence.get("share_throttled", 0.0),
            -too_high,
            str(finding.target),
            finding.key,
        )

    return sorted(findings, key=order)


def _edited(quotas: pa.Table, edits: Iterable[Edit]) -> pa.Table:
    """QUOTAS after these edits of quotas that are there."""
    changes = {(str(edit.resource), edit.key): edit for edit in edits}
    rows = []
    for row in quotas.to_pylist():
        edit = changes.get((str(entity_of(row)), row["key"]))
        if edit is None or edit.op == SET:
            rows.append(row if edit is None else {**row, "value": float(edit.text or 0.0)})
    return schemas.table(schemas.QUOTAS, rows)


def _proven(answer: RecommendationsAnswer) -> RecommendationsAnswer:
    """With the backtest of each limit that is proposed; one that does not keep its promise there is not proposed."""
    if not any("proposed" in finding.evidence for finding in answer.findings):
        return answer
    seconds: dict[tuple[str, str], dict[tuple[str, str], list[int]]] = {}
    for row in answer.backtest:
        entity, key = _quota_of(row)
        of_quota = seconds.setdefault((str(entity), key), {})
        sums = of_quota.setdefault((row["bucket_user"], row["bucket_client_id"]), [0, 0])
        sums[0] += row["throttled_windows"]
        sums[1] += row["windows"]
    findings = []
    for finding in answer.findings:
        if "proposed" in finding.evidence:
            buckets = seconds.get((str(finding.target), finding.key), {}).values()
            worst = max((part / max(whole, 1) for part, whole in buckets), default=0.0)
            finding = finding.with_(backtest=worst)
            if finding.code == TOO_HIGH and worst > answer.promise:
                why = f"{readable(finding.key, finding.evidence['proposed'])} throttles {share(worst)} in the backtest"
                evidence = {**finding.evidence, "proposed": None, "promise": None}
                finding = replace(finding, code=NOT_KNOWN, message=why, evidence=evidence, edit=None)
        findings.append(finding)
    proven = answer.of(_in_order(findings))
    if len(proven.edits()) < len(answer.edits()):
        del proven.backtest  # that of the others alone is another
    return proven
