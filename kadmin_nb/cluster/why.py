"""The limits of one client on one screen: what binds, who shares it, what was used, what would lift it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..advice.client_brakes import ClientFacts
from ..client_configs.kafka import LiveKafka
from ..errors import NotFound, UsageError, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.meanings import client
from ..frames.relational import Frame, names_of
from ..frames.schema_metadata import noted, notes_of, stamped
from ..hints import Hint, Option, Syntax, Verb, python, sentence
from ..model.findings import Coverage, Row
from ..model.grammar import format_word, parts
from ..model.quota_keys import USER_CLIENT_KEYS, on_all_brokers
from ..resolution.rules import Effective, explain, stored_of
from ..resolution.shadows import Lift, Quota, lifts, only_without, words_of
from ..state.snapshots import PartlyRead
from ..usage.arithmetic import WHY_UNKNOWN
from ..usage.covered import remarks
from ..usage.engines import Usage
from ..usage.usage_windows import usage as request_usage
from . import brakes, client_facts, resolving
from .brakes import BrakesAnswer
from .client_facts import BucketUsage
from .observation import notes_left_on
from .request_logs import Observed

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..model.changes import Edit
    from ..state import History

SHOWN = 5
"""Clients of a bucket that are named."""


class WhyAnswer(PartlyRead):
    """WHY: one row per quota key of one client. Its display is the whole answer in words, what slows the client first.

    `brakes` has what slows it, `explanation` the reasons of its limits, `lifts` the changes that would lift a limit,
    `sharing` the known clients of each bucket, by key; it is empty where no USAGE was given. `others` is, of a client
    without a client-id, what limits the user's clients with one that no quota names. `coverage` says which brokers the
    usage has, and from when to when.
    """

    def __init__(
        self,
        table: pa.Table,
        explanation: tuple[Effective, ...] = (),
        others: tuple[Effective, ...] = (),
        lifts: tuple[Lift, ...] = (),
        sharing: dict[str, list[tuple[str, str]]] | None = None,
        brakes: BrakesAnswer | None = None,
        syntax: Syntax = python,
        coverage: Coverage = Coverage(),  # it is frozen
    ) -> None:
        brakes = BrakesAnswer("", ()) if brakes is None else brakes
        super().__init__(table, brakes.unread)
        self.explanation, self.others, self.lifts = explanation, others, lifts
        self.brakes, self._has_usage, self._syntax, self.coverage = brakes, sharing is not None, syntax, coverage
        self.sharing = sharing or {}

    def to_lifts(self) -> Answer:
        """LIFTS: the changes that would lift a limit, as rows."""
        return Answer(schemas.table(schemas.LIFTS, map(_lift_row, count(1 + len(self.brakes)), self.lifts)))

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

    def _at(self, syntax: Syntax) -> WhyAnswer:
        answer = copy(self)
        answer._syntax = syntax
        return answer

    def _title(self) -> str:
        """What slows it, its culprit and the change; without a brake the limits in a sentence."""
        if len(self.brakes):
            return self.brakes._title()
        return printable(_title(client(*_pair(self.explanation[0])), self._bound, self._rows, self.coverage))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The limits, each once, with those that they override."""
        lost = [[{"level": o.level, "value": o.value} for o in e.overridden] for e in self.explanation]
        return [self._table.append_column("overridden", pa.array(lost, schemas.OVERRIDDEN))]

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        syntax = page.syntax or self._syntax
        yield from filter(None, ("\n".join(self._reasons(effective)) for effective in self.explanation))
        if len(self.brakes) > 1:
            yield "What slows it:"
            yield self.brakes.to_arrow()
        if self.lifts:
            yield "To lift it:" if len(self._bound) == 1 else "To lift one of them:"
            yield self.to_lifts().to_arrow()
            staged = (number for number, brake in enumerate(self.brakes.findings, 1) if brake.edit)
            number = next(staged, len(self.brakes) + 1)
            way = Verb(f"quota why {self._client} --stage {number}", f"cluster.stage.add([answer.edit({number})])")
            yield f"{syntax(way)} stages the first."
        if unknown := [row["key"] for row in self._rows if row["windows_unknown"]]:
            yield f"The use of {', '.join(unknown)} is not known in full. {WHY_UNKNOWN}"
        if not self._has_usage:
            watching = "" if syntax is python else "--for 20s or "
            yield f"Add {watching}{syntax(Option('usage', 'NAME'))} to see what it used and who shares the limit."
        if not len(self.brakes):
            yield from remarks(self.coverage)
        yield from self.notes

    @cached_property
    def _rows(self) -> list[Row]:
        rows: list[Row] = self._table.to_pylist()
        return rows

    @property
    def _bound(self) -> list[Effective]:
        return [effective for effective in self.explanation if effective.value is not None]

    @property
    def _client(self) -> str:
        return _words(*_pair(self.explanation[0]))

    def _reasons(self, effective: Effective) -> Iterator[str]:
        """The clients that this limit does not reach, and the others that draw from it."""
        beside = next((one for one in self.others if one.key == effective.key), effective)
        if beside.entity not in (None, effective.entity):
            assert beside.entity is not None
            assert beside.value is not None
            reach = only_without(Quota(beside.entity, beside.key, beside.value))
            yield printable(f"{effective.key}: this reaches {reach}")
        if others := [pair for pair in self.sharing.get(effective.key, ()) if pair != _pair(effective)]:
            named = ", ".join(_words(*pair) for pair in others[:SHOWN])
            more = f" and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
            yield printable(f"{effective.key}: shared with {named}{more}")


def why(
    kafka: LiveKafka,
    user: object,
    client_id: object,
    *,
    keys: Sequence[str] | None,
    usage: object,
    to: tuple[str, float] | None,
    history: History | None = None,
) -> WhyAnswer:
    """Everything that is known of the limits of one client; see `Quotas.why`."""
    pair = _one_name("user", user), _one_name("client-id", client_id)
    registered = kafka.brokers()
    brokers = [broker for broker in registered if not broker.is_fenced]
    rows, quotas = kafka.together(
        partial(resolving.broker_rows, kafka, brokers, brakes.KEYS_FOR_CLIENTS),
        partial(resolving.quotas_of, kafka, resolving.pairs_of([pair])),
    )
    marks = resolving.marks_of(rows, len(brokers), assume_default=True)
    stored = stored_of(quotas.to_pylist())
    asked = list(keys or USER_CLIENT_KEYS)
    explanation = explain(stored, *pair, asked)
    others = () if pair[1] else explain(stored, pair[0], None, asked)
    unobserved = notes_of(usage) if isinstance(usage, pa.Table) else ()
    observed = Observed.of(usage)
    requests, usage = _requests_and_usage(usage)
    used = None if usage is None else client_facts.bucket_usage(kafka, usage, explanation, history)
    table = stamped(schemas.table(schemas.WHY, _rows(explanation, len(brokers), used)), kafka.id, marks)
    missing = resolving.unread(registered, rows)
    unread = {broker.id for broker in brokers} & {*missing}
    facts = ClientFacts(explanation, others, stored, len(brokers), resolving.values_of(rows), unread=unread)
    if used is not None:
        facts = client_facts.with_usage(kafka, facts, used, (broker.id for broker in registered), observed)
    if requests is not None:
        facts = client_facts.with_requests(kafka, facts, requests)
    found = brakes.of_client(kafka, facts)
    limits = [limit for limit in explanation if to is None or limit.key == to[0]]
    tried = (lift for limit in limits for lift in lifts(stored, limit, None if to is None else to[1]))
    further = tuple(lift for lift in tried if lift.edit not in found.edits())
    notes = [*unobserved, *missing.values(), *found.notes, *notes_left_on(kafka)]
    sharing = None if used is None else used.sharing
    return WhyAnswer(noted(table, notes), explanation, others, further, sharing, found, coverage=facts.coverage)


def _requests_and_usage(given: object) -> tuple[Frame | None, object]:
    """The requests, where these were given, and their usage."""
    if given is None:
        return None, None
    frame = Usage.of(given).frame
    is_requests = {"connection", "api"} <= {*names_of(frame)}
    return (frame, request_usage(frame)) if is_requests else (None, given)


def _one_name(kind: str, value: object) -> str:
    """The name of the one client; a client-id may be blank."""
    if value is None:
        raise UsageError(f"{kind} is required", hint="For example user=alice client-id=app.")
    names = parts(kind, value)
    if len(names) != 1 or not isinstance(names[0], str):
        raise UsageError(
            f"why is about one client, and {kind} names several",
            hint=Hint(sentence("{} answers for many.", Verb("quota resolve", "cluster.quotas.resolve(…)"))),
        )
    return names[0]


def _rows(explanation: Iterable[Effective], brokers: int, used: BucketUsage | None) -> Iterator[dict[str, Any]]:
    for effective in explanation:
        value = effective.value
        yield {
            **resolving.row_of(effective),
            "entity": None if effective.entity is None else str(effective.entity),
            "brokers": brokers,
            "total": None if value is None or brokers < 2 else on_all_brokers(effective.key, value, brokers),
            **({} if used is None else used.columns(effective.key)),
        }


def _title(client: str, bound: Sequence[Effective], rows: Sequence[Row], coverage: Coverage) -> str:
    if not bound:
        return f"{client} is unlimited."
    first, last = ", ".join(e.key for e in bound[:-1]), bound[-1].key
    limits = f"{first} and {last}" if first else last
    if any(row["windows_unknown"] is not None for row in rows):
        unseen = coverage.not_known
        return f"{client} was not throttled in the time observed{unseen}. It is limited by {limits}, on each broker."
    return f"{client} is limited by {limits}, on each broker."


def _lift_row(number: int, lift: Lift) -> dict[str, object]:
    return {
        "number": number,
        "key": lift.edit.key,
        "line": words_of(lift.edit),
        "limit": lift.after,
        "reach": lift.reach,
        "consequence": lift.consequence,
    }


def _pair(effective: Effective) -> tuple[str, str]:
    return effective.user or "", effective.client_id or ""


def _words(user: str, client_id: str) -> str:
    return " ".join(filter(None, (format_word("user", user), format_word("client-id", client_id) if client_id else "")))
