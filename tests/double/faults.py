"""What can go wrong at a call. A schedule maps the number of a call, from 1, to the fault that strikes there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kadmin_nb.errors import ConnectionFailed, TimedOut
from kadmin_nb.model.changes import Refusal

from .calls import Call, Crash
from .metadata import FOREVER

if TYPE_CHECKING:
    from .kafka import FakeKafka


class Fault:
    """Strikes at one call. `deliver` is the way a call takes when nothing is wrong."""

    def fits(self, call: Call) -> bool:
        """Whether it makes a difference at such a call."""
        return True

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        raise NotImplementedError


class _OfAlters(Fault):
    def fits(self, call: Call) -> bool:
        return call.alters


def _silence(kafka: FakeKafka, call: Call, since: float) -> TimedOut:
    """The rest of the time-out goes by."""
    kafka.cluster.pass_(max(0.0, since + call.timeout - kafka.monotonic()))
    return TimedOut(f"no answer in time: {call}", code="REQUEST_TIMED_OUT")


@dataclass(frozen=True)
class Dropped(Fault):
    """The request is lost: nothing happens, no answer."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        raise _silence(kafka, call, kafka.monotonic())


@dataclass(frozen=True)
class AnswerLost(_OfAlters):
    """It happens, and the answer is lost."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        since = kafka.monotonic()
        kafka.deliver(call)
        raise _silence(kafka, call, since)


@dataclass(frozen=True)
class Late(_OfAlters):
    """No answer in time, and so many seconds after sending it happens all the same (under 90: broker-facts 0.4)."""

    seconds: float

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        kafka.cluster.later(self.seconds, lambda: call.carry_out(call.parts))
        raise _silence(kafka, call, kafka.monotonic())


@dataclass(frozen=True)
class Cut(Fault):
    """The connection breaks after sending: a reading call fails, of an alter nobody knows; `lands` says if and when."""

    lands: float | None = None

    def fits(self, call: Call) -> bool:
        return call.alters or self.lands is None

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        if self.lands is not None:
            kafka.cluster.later(self.lands, lambda: call.carry_out(call.parts))
        kafka.cluster.pass_(0.001)
        kind = TimedOut if call.alters else ConnectionFailed
        code = "REQUEST_TIMED_OUT" if call.alters else "NETWORK_EXCEPTION"
        raise kind(f"the connection broke: {call}", code=code)


@dataclass(frozen=True)
class NotSent(Fault):
    """No connection: it certainly never left."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        kafka.cluster.pass_(0.001)
        raise ConnectionFailed(f"no connection: {call}", code="NETWORK_EXCEPTION")


@dataclass(frozen=True)
class Answered(_OfAlters):
    """The broker answers with this code for everything; `lands` says whether, and how much later, it happens."""

    code: str
    lands: float | None = None

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        if self.lands is not None:
            kafka.cluster.later(self.lands, lambda: call.carry_out(call.parts))
        kafka.cluster.pass_(0.002)
        return dict.fromkeys(call.parts, Refusal(self.code))


@dataclass(frozen=True)
class _OnSome(_OfAlters):
    """On every second entity or resource, from the first or the second on."""

    start: int = 0

    def chosen(self, call: Call) -> list[Any]:
        return list(call.parts)[self.start :: 2]

    def rest(self, call: Call) -> dict[Any, Any]:
        chosen = self.chosen(call)
        return {whom: part for whom, part in call.parts.items() if whom not in chosen}


@dataclass(frozen=True)
class SomeRefused(_OnSome):
    """Errors for some, and only the rest is done (R6)."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        refused = dict.fromkeys(self.chosen(call), Refusal("POLICY_VIOLATION", "not on a Friday"))
        return kafka.deliver(call, self.rest(call)) | refused


@dataclass(frozen=True)
class ErrorBesideChange(_OnSome):
    """All is done, and some are answered with an error, as Kafka does with a duplicate entity (R7)."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        refused = dict.fromkeys(self.chosen(call), Refusal("INVALID_REQUEST", "Ignoring duplicate entity"))
        return kafka.deliver(call) | refused


@dataclass(frozen=True)
class HollowSuccess(_OnSome):
    """All are answered with success, and some were not done (R7)."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        return dict.fromkeys(call.parts) | kafka.deliver(call, self.rest(call))


@dataclass(frozen=True)
class LeftOut(_OnSome):
    """All is done, and the answer names only some."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        answers = kafka.deliver(call)
        return {whom: said for whom, said in answers.items() if whom not in self.chosen(call)}


@dataclass(frozen=True)
class Stale(Fault):
    """A broker's image freezes for so long; it goes on answering (R8)."""

    node: int
    seconds: float = FOREVER

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        kafka.cluster.freeze(self.node, self.seconds)
        return kafka.deliver(call)


@dataclass(frozen=True)
class Down(Fault):
    """A broker is gone for so long, and fenced when its session has run out."""

    node: int
    seconds: float = FOREVER

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        kafka.cluster.stop(self.node, self.seconds)
        return kafka.deliver(call)


@dataclass(frozen=True)
class Fenced(Fault):
    """A broker is fenced for so long, and learns nothing meanwhile."""

    node: int
    seconds: float = FOREVER

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        kafka.cluster.fence(self.node, self.seconds)
        return kafka.deliver(call)


@dataclass(frozen=True)
class Revoked(Fault):
    """From here on the principal may not alter, or not even read, until `kafka.grant()` (R13)."""

    reading: bool = False

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        kafka.cluster.may_alter = False
        kafka.cluster.may_read = not self.reading
        return kafka.deliver(call)


@dataclass(frozen=True)
class Crashed(Fault):
    """Our process dies, before the call took effect or after (R4)."""

    after: bool = False

    def fits(self, call: Call) -> bool:
        return not self.after or call.alters or "the lease" in call.verb

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        if self.after:
            kafka.deliver(call)
        raise Crash(str(call))


@dataclass(frozen=True)
class Interrupted(Fault):
    """Ctrl-C while the call is under way."""

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        kafka.interrupted = True
        return kafka.deliver(call)


@dataclass(frozen=True)
class Edited(Fault):
    """Somebody else sets something just before the call; `edit` is given the cluster."""

    edit: Any

    def strike(self, kafka: FakeKafka, call: Call) -> Any:
        self.edit(kafka)
        return kafka.deliver(call)


def every(quiet: float) -> tuple[Fault, ...]:
    """The faults that the simulator tries at every call where they make a difference; nothing lands after `quiet`."""
    return (
        Dropped(),
        AnswerLost(),
        Late(0.4 * quiet),
        Late(0.9 * quiet),
        Cut(),
        Cut(0.0),
        Cut(0.8 * quiet),
        NotSent(),
        Answered("REQUEST_TIMED_OUT"),
        Answered("REQUEST_TIMED_OUT", 0.0),
        Answered("REQUEST_TIMED_OUT", 0.7 * quiet),
        Answered("NOT_CONTROLLER"),
        Answered("THROTTLING_QUOTA_EXCEEDED"),
        SomeRefused(0),
        SomeRefused(1),
        ErrorBesideChange(0),
        ErrorBesideChange(1),
        HollowSuccess(0),
        HollowSuccess(1),
        LeftOut(0),
        Stale(1, 3.0),
        Stale(3, 3.0),
        Stale(2),
        Down(3, 5.0),
        Down(2),
        Fenced(1, 20.0),
        Fenced(3),
        Revoked(),
        Revoked(reading=True),
        Interrupted(),
        Crashed(),
        Crashed(after=True),
    )
