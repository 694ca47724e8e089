"""The state of a plan by its journal: the rows sent, the rows in doubt, the rows verified."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from ...model.changes import FAILED, UNKNOWN, UNVERIFIED, VERIFIED, Change, Refusal, Target
from ..sending import is_certain, is_doubtful
from . import JournalRecord, Says

PLAN, RUN, INTENT, OUTCOME, SETTLED, END = "plan", "run", "intent", "outcome", "settled", "end"
SEEN, UNDONE = "seen", "undone"
"""The kinds of what is written after a run: by `verify`, and by a rollback of the plan before it sends anything."""

_READ = {RUN, INTENT, OUTCOME, SETTLED, END, SEEN, UNDONE}
"""The kinds that a state goes by: each is read by the method of its name."""


@dataclass
class JournalState:
    """The rows of a plan, by number, as its journal has them.

    `sent` were sent, and may have been made; `in_doubt` are those of which nobody knows what came; `unsettled` were
    not seen on every broker since; `verified` were seen there, after we had sent them. `values` are texts that we
    sent for a row on its way. `allowed` are the dangerous keys that somebody let through. `ended` are the states
    with which the last run ended. `undone_by` is the plan that rolls this one back, if nothing was sent since.
    `times` are those in which a row was changed, from the first request until it was seen on every broker; None as
    long as it was not. `written` is the time of the last record.
    """

    runs: int = 0
    sent: set[int] = field(default_factory=set)
    in_doubt: set[int] = field(default_factory=set)
    unsettled: set[int] = field(default_factory=set)
    verified: set[int] = field(default_factory=set)
    values: dict[int, set[str]] = field(default_factory=dict)
    last_sent: datetime | None = None
    allowed: set[str] = field(default_factory=set)
    ended: dict[int, str] = field(default_factory=dict)
    undone_by: str | None = None
    times: dict[int, list[tuple[datetime, datetime | None]]] = field(default_factory=dict)
    written: datetime | None = None
    _first_sent: set[int] = field(default_factory=set)

    @property
    def states(self) -> dict[int, str]:
        """The state of each row that a run has come to."""
        since = ((self.unsettled, UNVERIFIED), (self.in_doubt, UNKNOWN), (self.verified, VERIFIED))
        return self.ended | {row: state for rows, state in since for row in rows}

    @property
    def accepted(self) -> set[int]:
        """The rows that brokers accepted, seen on every broker since or not."""
        return self.verified | (self.unsettled - self.in_doubt)

    def read(self, record: JournalRecord) -> None:
        """Go on with the next record."""
        if "at" in record.says:
            self.written = record.read.at
        if record.kind in _READ:
            getattr(self, f"_{record.kind}")(record.read)

    def quiet_until(self, now: datetime, period: float) -> float:
        """Seconds until what is in doubt has landed or never will."""
        if not self.in_doubt or self.last_sent is None:
            return 0.0
        return min(period, max(0.0, period - (now - self.last_sent).total_seconds()))

    def _run(self, run: Says) -> None:
        self.runs = run.run
        self.allowed.update(run.allowed)

    def _intent(self, intent: Says) -> None:
        sent = parse_ranges(intent.rows)
        self._first_sent = set(sent) - self.sent
        self.sent.update(sent)
        self.undone_by = None
        self.in_doubt.update(sent)
        self.unsettled.update(sent)
        self.last_sent = intent.at
        for row in sent:
            times = self.times.setdefault(row, [])
            if not times or times[-1][1] is not None:
                times.append((intent.at, None))
        for number, value in intent.values.items():
            self.values.setdefault(int(number), set()).add(value)

    def _outcome(self, outcome: Says) -> None:
        refused = {int(row): Refusal.parse(text).code for row, text in outcome.refused.items()}
        answered = [row for row in parse_ranges(outcome.rows) if not is_doubtful(refused.get(row))]
        self.in_doubt.difference_update(answered)
        self.unsettled.difference_update(row for row in answered if row in refused)
        never_left = (row for row in answered if row in refused and is_certain(refused[row]))
        never_made = self._first_sent.intersection(never_left)
        self.sent.difference_update(never_made)
        self._not_changed(never_made)

    def _settled(self, settled: Says) -> None:
        self.in_doubt.difference_update(parse_ranges(settled.landed))

    def _seen(self, seen: Says) -> None:
        done = parse_ranges(seen.rows)
        self.verified.update(done)
        self._seen_at(done, seen.at)
        self.unsettled.difference_update(done)
        self.in_doubt.difference_update(done)

    def _end(self, end: Says) -> None:
        states = {state: parse_ranges(text) for state, text in end.states.items()}
        self.ended |= {row: state for state, rows in states.items() for row in rows}
        done, failed = states.get(VERIFIED, []), states.get(FAILED, [])
        self.verified.update(done)
        self._seen_at(done, end.at)
        self._not_changed(failed)
        self.unsettled.difference_update(done, failed)
        self.sent.difference_update(row for row in failed if row not in self.values)
        self.unsettled.update(states.get(UNVERIFIED, []))
        self.in_doubt.difference_update(done, failed, states.get(UNVERIFIED, []))

    def _seen_at(self, rows: Iterable[int], at: datetime) -> None:
        """The time in which these rows were changed is over."""
        for times in filter(None, map(self.times.get, rows)):
            began, ended = times[-1]
            times[-1] = began, ended or at

    def _not_changed(self, rows: Iterable[int]) -> None:
        """These rows were sent, and were not made."""
        for times in filter(None, map(self.times.get, rows)):
            if times[-1][1] is None:
                times.pop()

    def _undone(self, undone: Says) -> None:
        self.undone_by = undone.by


SentRows = Mapping[Target, Sequence[Change]]
SentLately = Callable[[Collection[Target]], SentRows]
"""The changes of these targets that other plans of ours have sent, and that not every broker was seen to show."""


def nothing_sent(targets: Collection[Target]) -> SentRows:
    """No other plan has sent anything."""
    return {}


def replayed(records: Iterable[JournalRecord]) -> JournalState:
    """The state that these records lead to."""
    state = JournalState()
    for record in records:
        state.read(record)
    return state


def ranges_text(rows: Iterable[int]) -> str:
    """The rows as a short text, sorted, runs of neighbours as `first-last`: `1-5000,5002`."""
    runs = groupby(enumerate(sorted(rows)), key=lambda numbered: numbered[1] - numbered[0])
    several = ([row for _, row in run] for _, run in runs)
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in several)


def parse_ranges(text: str, most: int = 2**31) -> list[int]:
    """The rows that `ranges_text` wrote, of those up to a number."""
    ranges = (part.partition("-") for part in text.split(",") if part)
    return [row for first, _, last in ranges for row in range(int(first), min(int(last or first), most) + 1)]
