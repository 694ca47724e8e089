"""The limits of one client on one screen: what binds, who shares it, what was used, what would lift it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..advice import brake_rules as rules
from ..advice.brake_rules import BITES, ClientFacts
from ..client_configs.kafka import LiveKafka
from ..errors import NotFound, UsageError, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Aside, Folded, Gauge, Listing, Page
from ..frames.meanings import client, client_in_short, of_limit
from ..frames.relational import Frame, names_of
from ..frames.schemas import noted, notes_of, stamped
from ..frames.views import counted_nouns
from ..hints import Hint, Option, Syntax, Verb, python, sentence
from ..model import figures
from ..model.findings import Finding, Row
from ..model.grammar import parts
from ..model.levels import LEVELS, LEVELS_BY_NAME
from ..model.quota_keys import CALLBACK, HEADS, USER_CLIENT_KEYS, on_all_brokers, readable
from ..resolution.rules import Effective, Stored, entity_at, explain, reaches, stored_of
from ..resolution.shadows import Lift, Quota, lifts, only_without, words_of
from ..usage.arithmetic import WHY_UNKNOWN
from ..usage.client_use import BYTE_KEYS
from ..usage.covered import remarks
from ..usage.engines import placed_usage
from ..usage.usage_windows import usage as request_usage
from . import brakes, resolving
from .brakes import BrakesAnswer, BucketUsage, cause, to_lift
from .observation import Observed, notes_left_on

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..model.changes import Edit
    from ..plans.stage import Stage

SHOWN = 5
"""Clients of a bucket that are named."""


class WhyAnswer(Answer):
    """WHY: one row per quota key of one client. Its display is a sentence, the levels that can limit it, and the line
    that lifts what holds it.

    `brakes` has what slows it, `ladder` its levels as LADDER, `explanation` the reasons of its limits, `lifts` the
    changes that would lift a limit, `sharing` the known clients of each bucket, by key; it is empty where no USAGE was
    given. `others` is, of a client without a client-id, what limits the user's clients with one that no quota names.
    `coverage` says which brokers the usage has, and from when to when; `stage` is where a button in a notebook stages
    the change of its line.
    """

    _is_frame = False
    _is_whole = False
    """True if nothing of it is folded."""

    def __init__(
        self,
        table: pa.Table,
        facts: ClientFacts = ClientFacts((), {}, 0),  # it is frozen
        others: tuple[Effective, ...] = (),
        lifts: Sequence[Lift] = (),
        brakes: BrakesAnswer | None = None,
        stage: Stage | None = None,
    ) -> None:
        super().__init__(table)
        self.explanation, self.coverage, self.sharing = facts.limits, facts.coverage, facts.sharing
        self._stored, self._has_usage = facts.stored, facts.coverage.rows is not None
        self.others, self.brakes, self.stage = others, BrakesAnswer("", ()) if brakes is None else brakes, stage
        self._syntax: Syntax = python
        known = self.brakes.edits()
        self.lifts = tuple(lift for lift in lifts if lift.edit not in known)
        self._reaching = [(lift.edit, _reaching(lift)) for lift in lifts if lift.edit in known]

    def edit(self, number: int) -> Edit:
        """The change of that number, from 1: the brakes have the first ones, and limits the others.

        Raises
        ------
        NotFound
            There is none.
        """
        before, in_all = len(self.brakes), len(self.brakes) + len(self.lifts)
        if 1 <= number <= before:
            return self.brakes.edit(number)
        if not before < number <= in_all:
            raise NotFound(f"no change {number} would lift a limit here", hint=f"There are {in_all}.")
        return self.lifts[number - before - 1].edit

    def whole(self) -> WhyAnswer:
        """The same, with every way to lift a limit, and every brake, in sight."""
        answer = copy(self)
        answer._is_whole = True
        return answer

    def _at(self, syntax: Syntax) -> WhyAnswer:
        answer = copy(self)
        answer._syntax = syntax
        return answer

    # -- what it shows

    def _title(self) -> str:
        """The limit that holds it; where something else slows it, that; without usage the tightest."""
        for first in self.brakes.findings[:1]:
            if not self._is_held(first):
                return printable(cause(self.brakes.whose, first, self._client))
        return printable(" ".join(self._sentences()))

    def _sentences(self) -> Iterator[str]:
        tightest = self._tightest
        if tightest is None:
            yield f"{self._client} has no limit: no quota of these levels is set for it."
            return
        level = f"level {LEVELS_BY_NAME[tightest.level or ''].number + 1} of {len(LEVELS)}"
        if any(map(self._is_held, self.brakes.findings)):
            yield f"{self._client} is held by {_limit(tightest)}, {level}."
        elif self._is_seen:
            yield f"{self._client} was not throttled in the time observed{self.coverage.not_known}."
            yield f"Its tightest limit is {_limit(tightest)}, {level}."
        elif len(self._bound) == 1:
            yield f"{self._client} is limited by {_limit(tightest)}, {level}."
        elif tightest.key in BYTE_KEYS:
            yield f"{self._client}: {_limit(tightest)} is the tightest byte limit, {level}."
        else:
            yield f"{self._client} is limited by {' and '.join(map(_limit, self._bound))}."

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """How much of the limit is used, how much was seen, and the levels."""
        yield from self._use()
        yield ""
        yield self.ladder.to_arrow()
        yield ""

    @property
    def ladder(self) -> Answer:
        """LADDER: its levels with the quotas of each, and the sharers of each limit that applies."""
        rows = chain(_rungs(self.explanation, self._stored), map(self._sharers, self._bound))
        return Answer(schemas.table(schemas.LADDER, rows))

    def _use(self) -> Iterator[Block]:
        tightest = self._tightest
        row = next((row for row in self._rows if tightest is not None and row["key"] == tightest.key), None)
        if row is not None and self._is_seen and not self._is_unseen:
            key, unknown = row["key"], row["windows_unknown"]
            words = of_limit(str(key), row["peak"], unknown, row["value"])
            share = "" if row["utilisation"] is None else f" ({figures.percent(row['utilisation'])})"
            where = "" if row["busiest"] is None else f" on broker {row['busiest']}"
            throttled = self._throttled(row)
            gauge = f"{words}{where}{share}{throttled}"
            yield Gauge(HEADS[str(key)], row["utilisation"], printable(gauge), is_bad=bool(throttled))
        if self._has_usage:
            yield from map(Aside, remarks(self.coverage))

    def _throttled(self, row: Row) -> str:
        """How long it was throttled; without requests in how many windows of the usage."""
        since, until, share = self.coverage.since, self.coverage.until, row["share_throttled"]
        if not row["throttle_ms"]:
            return ""
        if row["throttled_s"] and since and until:
            whole = (until - since).total_seconds()
            return f", throttled {min(row['throttled_s'], whole):.2g} of {figures.seconds(whole)}"
        longest = f"up to {figures.milliseconds(row['throttle_ms'])}"
        return f", throttled {longest if share is None else f'in {figures.share(share)} of windows'}"

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        syntax = page.syntax or self._syntax
        if self._tightest is not None and (reach := self._reach(self._tightest)):
            yield reach
        yield from self._recommended(syntax)
        yield from self._further(syntax)
        if unknown := [HEADS[row["key"]] for row in self._rows if row["windows_unknown"]]:
            yield f"The use of {', '.join(unknown)} is not known in full. {WHY_UNKNOWN}"
        if not self._has_usage:
            watching = "" if syntax is python else "--for 20s or "
            yield f"Add {watching}{syntax(Option('usage', 'NAME'))} to see what it used and who shares the limit."
        yield from self.notes

    def _recommended(self, syntax: Syntax) -> Iterator[Block]:
        """The one line to type."""
        if self._is_fixed:
            yield from self._remedy(1, self.brakes.findings[0], syntax)
        elif self._raising is not None:
            number, lift = self._raising
            yield f"To raise it ({_reaching(lift)}):"
            yield _typed_lift(number, lift, syntax)

    def _further(self, syntax: Syntax) -> Iterator[Block]:
        """The other ways, and the other brakes."""
        numbered = enumerate(self.lifts, 1 + len(self.brakes))
        lifts = [pair for pair in numbered if self._is_fixed or pair != self._raising]
        brakes = [*enumerate(self.brakes.findings, 1)][self._is_fixed :]
        of_brakes = [
            [printable(cause(self.brakes.whose, one, self._client)), *self._remedy(n, one, syntax)] for n, one in brakes
        ]
        if inactive := self.brakes.inactive:
            of_brakes.append([f"Not active: {', '.join(inactive)}."])
        of_lifts = ([f"{n}: {_reaching(lift)}", _typed_lift(n, lift, syntax)] for n, lift in lifts)
        ways = counted_nouns(len(lifts), "other way to raise a limit", "other ways to raise a limit")
        others = counted_nouns(len(brakes) + len(inactive), "other brake", "other brakes")
        others += f" ({len(brakes) or 'none'} active)" if inactive else ""
        for title, attribute, each in ((others, "brakes", of_brakes), (ways, "lifts", of_lifts)):
            how = f".{attribute} has" if syntax is python else f"{syntax(Option('all'))} shows"
            if blocks := [*chain.from_iterable(each)]:
                yield from [f"{title}:", *blocks] if self._is_whole else [Folded(title, blocks, f"{how} {title}.")]

    def _remedy(self, number: int, found: Finding, syntax: Syntax) -> Iterator[Block]:
        """The line that lifts a brake, or that shows whether it is one."""
        if found.edit is not None and found.fix is not None:
            reach = next((words for edit, words in self._reaching if edit == found.edit), "")
            yield f"To raise it ({reach}):" if reach else to_lift(found)
            yield _typed(found.fix, number, found.edit, syntax)
        elif found.fix is not None:
            yield printable(f"{to_lift(found)} {found.fix}")

    @cached_property
    def _rows(self) -> list[Row]:
        rows: list[Row] = self._table.to_pylist()
        return rows

    @property
    def _bound(self) -> list[Effective]:
        return [effective for effective in self.explanation if effective.value is not None]

    @property
    def _client(self) -> str:
        return client_in_short(*_pair(self.explanation[0]))

    @property
    def _is_seen(self) -> bool:
        """True if some of its use is known."""
        return any(row["windows_unknown"] is not None for row in self._rows)

    @property
    def _is_unseen(self) -> bool:
        """True if usage was given, and no request of the client is in it."""
        return any(found.code == "unseen" for found in self.brakes.findings)

    @staticmethod
    def _is_held(found: Finding) -> bool:
        """True of a limit that holds the client, for no other reason than that it is used up."""
        return found.code in ("client-quota", "request-quota") and found.evidence["state"] == BITES

    @property
    def _is_fixed(self) -> bool:
        """True if the first brake has its own remedy."""
        return any(found.fix for found in self.brakes.findings[:1])

    @property
    def _tightest(self) -> Effective | None:
        """The limit that holds it; else the one of which most is used; without usage the lowest of bytes."""
        held = [found.key for found in self.brakes.findings if self._is_held(found)]
        used = {row["key"]: row["utilisation"] or 0.0 for row in self._rows}

        def order(limit: Effective) -> tuple[bool, float, bool, float]:
            return limit.key not in held[:1], -used.get(limit.key, 0.0), limit.key not in BYTE_KEYS, limit.value or 0.0

        return min(self._bound, key=order, default=None)

    @property
    def _raising(self) -> tuple[int, Lift] | None:
        """The change that lifts the tightest limit, and reaches the fewest clients; with its number."""
        tightest = self._tightest
        numbered = enumerate(self.lifts, 1 + len(self.brakes))
        return next((pair for pair in numbered if tightest and pair[1].edit.key == tightest.key), None)

    def _reach(self, effective: Effective) -> str:
        """The clients that this limit does not reach, and the others that draw from it."""
        beside = next((one for one in self.others if one.key == effective.key), effective)
        said = []
        if beside.entity not in (None, effective.entity):
            assert beside.entity is not None
            assert beside.value is not None
            said.append(f"reaches {only_without(Quota(beside.entity, beside.key, beside.value))}")
        if others := self._neighbours(effective):
            named = ", ".join(client_in_short(*pair) for pair in others[:SHOWN])
            more = f" and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
            said.append(f"is shared with {named}{more}")
        return printable(f"{HEADS[effective.key]} {'; it '.join(said)}.") if said else ""

    def _neighbours(self, effective: Effective) -> list[tuple[str, str]]:
        """The other known clients that share a limit."""
        return [pair for pair in self.sharing.get(effective.key, ()) if pair != _pair(effective)]

    def _sharers(self, effective: Effective) -> Row:
        """The last row of the ladder, of one key: who shares the limit that applies."""
        others = len(self._neighbours(effective))
        if not effective.is_shared:
            words = NOT_SHARED
        elif self._has_usage:
            words = counted_nouns(others, "client", "clients") if others else "none seen"
        else:
            words = "its client-ids" if effective.level in ("USER", "DEFAULT_USER") else "its users"
        return {"entity": SHARED_WITH, "key": effective.key, "standing": words}


SHARED_WITH, NOT_SHARED = "shared with", "nobody"


def why(
    kafka: LiveKafka,
    user: object,
    client_id: object,
    *,
    keys: Sequence[str] | None,
    usage: object,
    stage: Stage | None = None,
) -> WhyAnswer:
    """Everything that is known of the limits of one client; see `Quotas.why`."""
    pair = _one_name("user", user), _one_name("client-id", client_id)
    registered = kafka.brokers()
    serving = [broker for broker in registered if not broker.is_fenced]
    rows, quotas = kafka.together(
        partial(resolving.broker_rows, kafka, serving, (CALLBACK,)),
        partial(resolving.quotas_of, kafka, resolving.pairs_of([pair])),
    )
    marks = resolving.marks_of(rows, len(serving), assume_default=True)
    stored = stored_of(quotas.to_pylist())
    asked = list(keys or USER_CLIENT_KEYS)
    explanation = explain(stored, *pair, asked)
    others = () if pair[1] else explain(stored, pair[0], None, asked)
    unobserved = notes_of(usage) if isinstance(usage, pa.Table) else ()
    observed = Observed.of(usage)
    requests, usage = requests_and_usage(usage)
    used = None if usage is None else brakes.bucket_usage(kafka, usage, explanation)
    missing = resolving.unread(registered, rows)
    unread = {broker.id for broker in serving} & {*missing}
    facts = ClientFacts(explanation, stored, len(serving), resolving.values_of(rows), unread=unread)
    if used is not None:
        facts = brakes.with_usage(facts, used, (broker.id for broker in registered), observed)
    if requests is not None:
        facts = replace(facts, throttled_s=brakes.throttled_seconds(requests, pair))
    found = BrakesAnswer(client(*pair), rules.of_client(facts), kafka.id, inactive=rules.inactive(facts))
    tried = [lift for limit in explanation for lift in lifts(stored, limit)]
    table = stamped(schemas.table(schemas.WHY, _rows(facts, used)), kafka.id, marks)
    notes = [*unobserved, *missing.values(), *notes_left_on(kafka)]
    return WhyAnswer(noted(table, notes), facts, others, tried, found, stage)


def requests_and_usage(given: object) -> tuple[Frame | None, object]:
    """The requests, where these were given, and their usage."""
    if given is None:
        return None, None
    frame = placed_usage(given)
    is_requests = {"connection", "api"} <= {*names_of(frame)}
    return (frame, request_usage(frame)) if is_requests else (None, given)


def _one_name(kind: str, value: object) -> str:
    """The name of the one client; a client-id may be blank."""
    names = () if value is None else parts(kind, value)
    if len(names) != 1 or not isinstance(names[0], str):
        many = sentence("{} answers for many.", Verb("quota resolve", "cluster.quotas.resolve(…)"))
        raise UsageError(
            f"why is about one client: name one {kind}", hint=Hint("Such as user=alice client-id=app.", many)
        )
    return names[0]


def _rows(facts: ClientFacts, used: BucketUsage | None) -> Iterator[Row]:
    for effective in facts.limits:
        value, brokers = effective.value, facts.brokers
        columns = {} if used is None else used.columns(effective.key)
        place: Any = effective.key, columns.get("busiest")
        yield {
            **resolving.row_of(effective),
            "entity": None if effective.entity is None else str(effective.entity),
            "brokers": brokers,
            "total": None if value is None or brokers < 2 else on_all_brokers(effective.key, value, brokers),
            **columns,
            "throttled_s": facts.throttled_s.get(place),
        }


def _rungs(explanation: Sequence[Effective], stored: Stored) -> Iterator[Row]:
    """The levels that can limit a client, each with its quotas and which of them apply."""
    user, client_id = _pair(explanation[0])
    for level in LEVELS:
        if not reaches(level, user, client_id):
            continue
        entity = entity_at(level, user, client_id)
        row = {"level": level.name, "entity": str(entity)}
        set_here = [limit for limit in explanation if (entity, limit.key) in stored]
        for limit in set_here:
            standing = "applies" if limit.entity == entity else "overridden"
            yield {**row, "key": limit.key, "value": stored[entity, limit.key], "standing": standing}
        if not set_here:
            yield row


def _limit(limit: Effective) -> str:
    """A limit in words: `producer 5 MB/s per broker`; mutations are counted once, by the active controller."""
    assert limit.value is not None
    per_broker = "" if on_all_brokers(limit.key, 1.0, 2) == 1.0 else " per broker"
    return f"{HEADS[limit.key].removesuffix(' %')} {readable(limit.key, limit.value)}{per_broker}"


def _reaching(lift: Lift) -> str:
    """The clients that a change reaches, and what else comes of it."""
    return printable("; ".join(filter(None, [lift.reach, lift.consequence])))


def _typed_lift(number: int, lift: Lift, syntax: Syntax) -> Listing:
    return _typed(f"quota {words_of(lift.edit)}", number, lift.edit, syntax)


def _typed(line: str, number: int, edit: Edit, syntax: Syntax) -> Listing:
    """A line to type, and the change that it makes."""
    text = syntax(Verb(line, f"cluster.stage.add([answer.edit({number})])  # {line}"))
    return Listing([printable(f"  {text}")], edit)


def _pair(effective: Effective) -> tuple[str, str]:
    return effective.user or "", effective.client_id or ""
