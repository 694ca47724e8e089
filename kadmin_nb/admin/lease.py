"""The lease between editors: a record in a topic, and transactions that make taking it atomic.

Why it is right, in the order of a taking:

1. *Read before fencing.* `init_transactions` never waits: the second comer would fence the first, and a comer
   that is refused anyway would have stopped a living holder. So a comer reads first, and a living lease refuses
   it there.
2. *Write under the fence, read up to the write, then decide.* `init_transactions` ends what earlier producers
   had open and shuts them out. We append our record in a transaction, read what was committed before its offset,
   judge again, and commit or abort. Whoever comes between fences us, and our commit fails. So every committed
   record was judged against the one right before it: compare and set. Both judgements, and the time of ours,
   are the leader's (LogAppendTime); no two machines' clocks are compared.
3. *A fenced holder asks the log.* A comer that was too late for the first reading (1) has fenced the holder and
   then aborted. So a holder whose renewal fails reads: another's record is newest, and it stops; its own is, and it
   goes through 2 itself with "the newest is mine" as the judgement. No error code is trusted to tell which.
4. *A renewal is a record.* An empty transaction commits with success although fenced (broker-facts 0, 17).

5. *Giving back is a record too.* Taking shuts the holder out, so a holder that can renew, or give back, was the only
   one since it last could; one that cannot learns that another has the lease or had it, and from the log who.

6. *The dead are not waited for.* A process of this machine that is certainly gone renews no more; its lease is taken at
once, and `left_by` names its plan: an alter that it sent may still land, and the executor waits for those in doubt.

What remains: a holder that is frozen between a renewal's commit and its alter's arrival, while another takes the lease;
alters do not travel in the transaction. It learns of it at the end (5). And whoever may write the topic may write
nonsense to it.
"""

from __future__ import annotations

import json
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import KafkaException
from kafka.consumer.fetcher import ConsumerRecord

from .. import documents
from ..errors import LOCKED, KadminError, Locked, PlanRefused, TimedOut, printable
from ..hints import Hint, Option, sentence, short_id
from ..model.changes import Refusal
from ..processes import Process
from .compacted_topic import CompactedTopic, patiently
from .ports import Lease, not_locked
from .transactions import FencedWriter, errors_as_ours
from .wire import Wire

KEY = b"lease"
"""The key of the one record that counts."""


class LeaseLog(CompactedTopic):
    """The lease's topic: of its records only the newest counts.

    `last_holder` is the newest with a value, for as long as the log has it: who held it, given back or not.
    """

    def __init__(self, wire: Wire, topic: str) -> None:
        super().__init__(wire, topic)
        self._newest: ConsumerRecord | None = None
        self.last_holder: ConsumerRecord | None = None

    @property
    def newest_offset(self) -> int | None:
        """The offset of the record that counted when it was read."""
        return None if self._newest is None else self._newest.offset

    def newest(self, until: float, end: int | None = None) -> ConsumerRecord | None:
        """The record that counts, up to the offset `end`, as `read` has it.

        Raises
        ------
        TimedOut
            The end was not reached in time.
        """
        if self.position is None:
            self._newest = self.last_holder = None
        for record in self.read(until, end):
            if record.key == KEY:
                self._newest = record
                self.last_holder = self._newest if record.value is not None else self.last_holder
        return self._newest


TOPIC = "__kadmin_nb_lease"
"""The topic, and the transactional id: one lease a cluster."""

SECONDS = 120.0
"""Seconds that a lease lives unrenewed: an alter (`wire.ALTER_TIMEOUT`), and a quarter for the renewal before it."""

_USED_BY_RENEWAL = 0.25
_TRIES = 3
_LONGEST = 3600.0
"""Seconds that a record is believed, whatever it says."""

TAKING, RENEWING, RELEASING = 10.0, 30.0, 3.0
"""Bounds in seconds. A renewal has the longest: a coordinator that was killed is replaced in 10 to 20."""

_LONGEST_TEXT = 100

_PROCESS = uuid.uuid4().hex
"""The beginning of all nonces of this process; one forked from it has another pid."""

STEAL = Option("steal", flag="--steal-lock")


def take(
    wire: Wire, plan_id: str, holder: str, *, steal: bool = False, seconds: float = SECONDS, topic: str = TOPIC
) -> Lease:
    """The cluster's lease; one whose `note` says why not, where the topic or transactions are denied to us.

    Raises
    ------
    Locked
        Another's lease is alive, and `steal` was not asked for.
    """
    lease = HeldLease(wire, LeaseLog(wire, topic), Claim.ours(plan_id, holder, seconds))
    try:
        lease.take(steal)
    except PlanRefused:
        raise
    except KadminError as exc:
        is_denied = exc.code == "TOPIC_AUTHORIZATION_FAILED"
        lease.note = not_locked(f"no right on {topic}" if is_denied else str(exc))
    except BaseException:
        lease.release()
        raise
    return lease


@dataclass(frozen=True, slots=True)
class Claim:
    """The holder named in a record, and the end of its life in ms since 1970.

    What counts of its life is `seconds`, from the time of the append; `until` stands in a record for people.
    """

    holder: str = "?"
    host: str = "?"
    plan: str = "?"
    taken: str = "?"
    seconds: float = 0.0
    nonce: str = "?"
    process: Process = field(default_factory=Process)
    until: float = 0.0

    @classmethod
    def ours(cls, plan_id: str, holder: str, seconds: float) -> Claim:
        """A new claim of this process."""
        nonce, host, now = f"{_PROCESS}-{uuid.uuid4().hex}", socket.gethostname(), _utc(time.time())
        return cls(holder, host, plan_id, now, seconds, nonce, Process.this())

    @classmethod
    def of(cls, record: ConsumerRecord | None) -> Claim | None:
        """The claim in a record, its texts printable: whoever may write the topic chose them.

        None where it holds none: no record, a tombstone, or what is none of ours.
        """
        if record is None or record.value is None:
            return None
        try:
            claim = documents.as_type(documents.from_json(record.value.decode()), cls)
        except ValueError:
            return None
        fields = asdict(claim).items()
        texts: Any = {name: printable(text[:_LONGEST_TEXT]) for name, text in fields if isinstance(text, str)}
        seconds = min(max(claim.seconds, 0.0), _LONGEST)
        return replace(claim, **texts, seconds=seconds, until=record.timestamp + seconds * 1000)

    def json(self) -> bytes:
        """A record's value."""
        return json.dumps(asdict(replace(self, until=(time.time() + self.seconds) * 1000))).encode()

    def resumes(self, previous: Claim) -> bool:
        """True if `previous` is what a crash, or an interruption in this process, has left of this very plan.

        A plan that is carried out in this process is kept from a second run by its journal.
        """
        is_this_process = previous.process.pid == self.process.pid and previous.nonce.startswith(_PROCESS)
        return self.plan == previous.plan and (is_this_process or previous.process.is_gone)

    def __str__(self) -> str:
        return self.holder if self.holder.endswith(f"@{self.host}") else f"{self.holder} on {self.host}"


class HeldLease:
    """A lease that we hold, once `take` has returned. Where it could not be had, `note` says why."""

    note: str | None = None
    left_by: str = ""

    def __init__(self, wire: Wire, log: LeaseLog, claim: Claim) -> None:
        self._wire = wire
        self._log = log
        self._claim = claim
        self._producer: FencedWriter | None = None
        self._may_hold = False
        self._given_back: set[int] = set()

    def take(self, steal: bool) -> None:
        """Take it.

        Raises
        ------
        Locked
            Another's is alive.
        KadminError
            It cannot be had here.
        """
        judge = _anything if steal else self._unless_it_lives
        self._freshly(lambda: self._win(judge, self._claim.json(), time.monotonic() + TAKING))

    def renew(self) -> None:
        """Make it live for its whole time again; nothing where it could not be had.

        Raises
        ------
        PlanRefused
            FENCED: another has taken it.
        TimedOut, NotAuthorized, ConnectionFailed
            Whether we hold it cannot be learned.
        """
        if self.note is None:
            self._freshly(lambda: self._write(self._claim.json(), RENEWING))

    def release(self) -> Refusal | None:
        """Give it back, if it is still ours; never raises. What was interrupted may be done again.

        FENCED where it is another's, or was since it was last written by us; else why that could not be learned.
        """
        why = None
        if self._may_hold:
            try:
                self._write(None, RELEASING)
            except KadminError as exc:
                why = Refusal(exc.code or "UNKNOWN_SERVER_ERROR", str(exc))
        self._may_hold = False
        self._producer = None
        return why

    def _freshly(self, write: Callable[[], None]) -> None:
        """Write until it took so little of the lease's time that an alter fits into the rest."""
        for _ in range(_TRIES):
            started = time.monotonic()
            write()
            if time.monotonic() - started < self._claim.seconds * _USED_BY_RENEWAL:
                return
        raise TimedOut("renewing the lease takes too long", code="REQUEST_TIMED_OUT")

    def _write(self, value: bytes | None, bound: float) -> None:
        """As the holder: plainly, and where that fails, whatever the reason, under a fence of our own."""
        now = time.monotonic()
        try:
            if self._producer:
                self._append(self._producer, value, now + bound / 3)
                return self._producer.commit(now + bound / 3)
        except (KafkaException, TimedOut):
            self._producer = None
        return self._win(self._while_ours, value, now + bound)

    def _win(self, judge: _Judge, value: bytes | None, until: float) -> None:
        """Judge before fencing, write under the fence; again where another came between or a leader is replaced."""

        def once() -> None:
            self._log.ensure(until)
            judge(Claim.of(self._log.newest(until)), lambda: self._log.clock(until))
            with errors_as_ours(self._log.name):
                self._under_fence(judge, value, until)

        patiently(once, until)

    def _under_fence(self, judge: _Judge, value: bytes | None, until: float) -> None:
        self._producer = None
        producer = FencedWriter(self._wire.settings, self._log.name)
        try:
            producer.fence(until)
            offset, appended = self._append(producer, value, until)
            judge(Claim.of(self._log.newest(until, end=offset)), lambda: appended)
            self._may_hold = True
            producer.commit(until)
        except PlanRefused:
            producer.abort()
            raise
        self._producer = producer

    def _append(self, producer: FencedWriter, value: bytes | None, until: float) -> tuple[int, int]:
        offset, appended = producer.write({KEY: value}, until)
        if value is None:
            self._given_back.add(offset)
        return offset, appended

    def _unless_it_lives(self, claim: Claim | None, now: Callable[[], int]) -> None:
        self.left_by = ""
        if claim is None or claim.nonce == self._claim.nonce or self._claim.resumes(claim):
            return
        if claim.until <= (at := now()):
            return
        if claim.process.is_gone:
            self.left_by = claim.plan
            return
        seconds_left, until = (claim.until - at) / 1000, _utc(claim.until / 1000)
        raise Locked(
            f"{claim} holds the lease for plan {short_id(claim.plan)} since {claim.taken}, "
            f"alive until {until} ({seconds_left:.0f} s)",
            code=LOCKED,
            hint=Hint(
                "Nothing was sent. Try again when it has ended.",
                sentence("{} takes it over: the other editor stops before its next batch.", STEAL),
            ),
        )

    def _while_ours(self, claim: Claim | None, now: Callable[[], int]) -> None:
        if claim and claim.nonce == self._claim.nonce:
            return
        if claim is None and self._log.newest_offset in self._given_back:  # by us, and the answer was lost
            return
        last = claim or Claim.of(self._log.last_holder)  # who gave it back is named while the log knows
        if last is None or last.nonce == self._claim.nonce:
            event = "another editor took the lease and gave it back, or the topic was emptied"
        else:
            gave_back = "" if claim else " and gave it back"
            event = f"{last} took the lease for plan {short_id(last.plan)} at {last.taken}{gave_back}"
        raise PlanRefused(event, code="FENCED", hint="Resume it when they are done.")


_Judge = Callable[[Claim | None, Callable[[], int]], None]
"""Raises where we may not write after this claim, at that time of the broker's clock."""


def _anything(claim: Claim | None, now: Callable[[], int]) -> None:
    """One who steals writes after any claim."""


def _utc(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return "?"
