"""Faults of an attempt that may pass, and the pauses until a request is sent again."""

from __future__ import annotations

import time
from collections.abc import Callable

import kafka.errors

REFUSALS = (kafka.errors.SaslAuthenticationFailedError, kafka.errors.UnsupportedSaslMechanismError)
"""A login that is refused would be refused again."""


class Throttled(kafka.errors.NodeNotReadyError):  # type: ignore[misc]  # the library has no types
    """A broker is there, and does not read from this client for a while: its quota is used up."""


class NotSent(Exception):
    """The request certainly never left: it may be sent again whatever it does."""


class NoAnswerYet(Exception):
    """A broker takes long that any other could stand in for: its answer is no longer waited for."""


def may_pass(exc: Exception) -> bool:
    """True if a reading request may simply be sent again."""
    if isinstance(exc, NotSent):
        return was_not_sent(exc) and not is_late(exc.__cause__)
    return isinstance(exc, NoAnswerYet | kafka.errors.KafkaConnectionError | kafka.errors.NodeNotReadyError)


def was_not_sent(exc: Exception) -> bool:
    """True of what never left, and may leave yet: a login that is refused would be refused again."""
    return isinstance(exc, NotSent) and not isinstance(exc.__cause__, REFUSALS)


def cause_of(exc: Exception) -> BaseException | None:
    """The reason why a request did not leave, or the fault itself."""
    return exc.__cause__ if isinstance(exc, NotSent) else exc


def is_late(exc: BaseException | None) -> bool:
    return isinstance(exc, kafka.errors.KafkaTimeoutError)


_REFUSING, _UNKNOWN_ID = 3.0, 1.0
"""Seconds that a broker is given which refuses connections, or which the metadata, asked anew, does not name."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
"""Seconds between two attempts: each pause is twice the one before."""


class Again:
    """Takes the faults that may pass: `while True: with again: return attempt()`.

    Not tenacity, which would load tornado and asyncio.
    """

    def __init__(
        self, bound: float, passes: Callable[[Exception], bool], before_retry: Callable[[Exception], object]
    ) -> None:
        self._bound, self._passes, self._before_retry = bound, passes, before_retry
        self._started, self._pause = time.monotonic(), _FIRST_PAUSE

    def __enter__(self) -> None:
        """An attempt begins."""

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> bool:
        """True, after a pause, if the attempt is to be made again."""
        if not isinstance(exc, Exception) or not self._passes(exc):
            return False
        if time.monotonic() - self._started >= _longest_wait(exc, self._bound):
            return False
        self._before_retry(exc)
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return True


def _longest_wait(exc: Exception, bound: float) -> float:
    """Seconds to try for after this fault: a broker that is not there is given less than one that throttles us."""
    cause = cause_of(exc)
    if isinstance(cause, Throttled) or isinstance(exc, NoAnswerYet):
        return bound
    return min(bound, _UNKNOWN_ID if isinstance(cause, kafka.errors.UnknownBrokerIdError) else _REFUSING)
