"""Proof of a quota in force, not only stored: what the brokers do to a real client, beside what resolve predicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..admin.canary import REQUEST, CanaryReading, canary
from ..client_configs.kafka import LiveKafka
from ..errors import ExitState, KadminError, PartlyFailed, Unsupported, UsageError, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.schema_metadata import stamped
from ..model.connection_settings import Settings
from ..model.figures import milliseconds, seconds, size
from ..model.grammar import quote
from ..model.quota_keys import readable
from . import resolve_engines, resolving

if TYPE_CHECKING:
    from ..frames.blocks import Block

PRODUCES = {"producer_byte_rate": True, "consumer_byte_rate": False}
"""The keys that a canary can feel, and whether it produces for that."""

LONGEST = 60.0
"""Seconds that a canary may take."""

_FREE_BYTES = 2_000_000
"""The bytes sent to a broker where no limit is expected."""

_ALLOWED, _CERTAIN, _SENT = 10, 12, 15
"""Seconds' worth of a limit: what an idle bucket lets through, what certainly crosses it, and what is sent.

The broker averages over 10 to 12 s (its default window, 11 x 1 s).
"""

_EARLY = 0.5
"""The share of the allowance below which a throttle came sooner than the limit and one request explain."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The limit that resolve predicts for the client: its value in bytes/s, None for unlimited, and its level.

    `others` tells that request_percentage binds it too, which throttles by the same answers. A null `user`: nobody
    here knows what the broker calls it.
    """

    user: str | None
    limit: float | None = None
    level: str | None = None
    others: bool = False


class CanaryAnswer(Answer):
    """CANARY. A row fails where a broker does something else than resolve predicts."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The disagreements, broker by broker."""
        return tuple(map(_warning, self.failed.to_arrow().to_pylist()))

    @property
    def is_conclusive(self) -> bool:
        """True if every broker was seen to do what is predicted, or something else."""
        return not self._table["agrees"].null_count

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return ["\n".join(self.warnings)] if self.warnings else []

    def _complaint(self) -> str:
        """Nothing: the warnings are the footer."""
        return ""

    def _exit_state(self, detailed: bool = False) -> ExitState:
        """A limit that is stored and not in force is a change that is not verified."""
        return ExitState.DONE if self.ok else ExitState.PARTLY

    def _failing(self) -> pa.Array:
        return pc.fill_null(pc.invert(self._table["agrees"]), False)

    def _error(self, row: dict[str, Any]) -> KadminError:
        return PartlyFailed(_warning(row), outcomes=self)


@dataclass(frozen=True, slots=True)
class CanaryRequest:
    """The settings of a canary; see `Cluster.canary`.

    Raises
    ------
    UsageError, Unsupported
        A key that it cannot feel, no client-id, no time, no bytes.
    """

    client_id: str
    topic: str
    key: str
    seconds: float
    max_bytes: int
    user: str | None = None

    def __post_init__(self) -> None:
        if self.key not in PRODUCES:
            raise UsageError(f"a canary cannot test {self.key}", hint=f"It can {' and '.join(PRODUCES)}.")
        if not self.client_id:
            raise Unsupported("a canary needs a client-id", hint="librdkafka calls a client without one rdkafka.")
        if not 0 < self.seconds <= LONGEST:
            raise UsageError(
                f"a canary of {self.seconds:g} s is not possible", hint=f"More than 0, at most {LONGEST:g} s."
            )
        if self.max_bytes < 1:
            raise UsageError(f"a canary of {self.max_bytes} bytes is not possible")


def look(kafka: LiveKafka, settings: Settings, request: CanaryRequest) -> CanaryAnswer:
    """Predict, try, compare; see `Cluster.canary`."""
    expected = predicted(kafka, request.user or user_of(settings), request.client_id, request.key)
    sightings = tried(settings, request, expected)
    brokers_seen = {sighting.broker for sighting in sightings}
    sightings += [CanaryReading(broker.id, None) for broker in kafka.brokers() if broker.id not in brokers_seen]
    return compared(kafka.id, expected, sightings, request)


def tried(settings: Settings, request: CanaryRequest, expected: Prediction) -> list[CanaryReading]:
    """The brokers' effect on a client that crosses the expected limit."""
    return canary(
        settings,
        client_id=request.client_id,
        topic=request.topic,
        produce=PRODUCES[request.key],
        enough=_FREE_BYTES if expected.limit is None else int(_SENT * expected.limit),
        most=request.max_bytes,
        seconds=request.seconds,
    )


def user_of(settings: Settings) -> str | None:
    """The principal of a client that logs in so; None where its certificate, or another mechanism, decides."""
    if settings.uses_sasl:
        return settings.username
    return None if settings.uses_tls and settings.certificate_file else "ANONYMOUS"


def compared(
    cluster_id: str, expected: Prediction, sightings: Sequence[CanaryReading], request: CanaryRequest
) -> CanaryAnswer:
    """The observed rates beside the expected limits."""
    rows = (
        _canary_row(expected, sighting, request) for sighting in sorted(sightings, key=lambda sighting: sighting.broker)
    )
    return CanaryAnswer(stamped(schemas.table(schemas.CANARY, rows), cluster_id))


def predicted(kafka: LiveKafka, user: str | None, client_id: str, key: str) -> Prediction:
    """By Kafka's own rules, also where a custom callback decides: that is when looking is worth most."""
    if user is None:
        return Prediction(None)
    clients = resolve_engines.pairs_of([(user, client_id)])
    of_key, other = resolving.of_clients(kafka, clients, [key, "request_percentage"], False, {}).to_arrow().to_pylist()
    return Prediction(user, of_key["value"], of_key["level"], other["value"] is not None)


def _canary_row(expected: Prediction, sighting: CanaryReading, request: CanaryRequest) -> dict[str, object]:
    was_tried = sighting.partition is not None
    agrees, note = (
        _verdict(expected, sighting, request.key) if was_tried else (None, "leads no partition of the topic: not tried")
    )
    return {
        "broker": sighting.broker,
        "user": expected.user,
        "client_id": request.client_id,
        "key": request.key,
        "limit": expected.limit,
        "level": expected.level,
        "bytes": float(sighting.bytes),
        "rate": float(round(sighting.bytes / sighting.seconds)) if was_tried and sighting.seconds > 0 else None,
        "expected": None if expected.user is None else expected.limit is not None,
        "throttled": sighting.throttle_ms > 0 if was_tried else None,
        "throttle_ms": sighting.throttle_ms if was_tried else None,
        "agrees": agrees,
        "note": note,
    }


def _verdict(expected: Prediction, sighting: CanaryReading, key: str) -> tuple[bool | None, str | None]:
    """True if this is what was expected, None where one cannot tell; and why."""
    if expected.user is None:
        return None, "the broker's name for this client is unknown here: pass user=…"
    if expected.limit is None:
        return _without_limit(expected, sighting)
    return _with_limit(expected.limit, sighting, key)


def _without_limit(expected: Prediction, sighting: CanaryReading) -> tuple[bool | None, str | None]:
    if not sighting.bytes and not sighting.throttle_ms:
        return None, "not conclusive: nothing went through"
    if not sighting.throttle_ms:
        return True, None
    if expected.others:
        return None, "not conclusive: request_percentage limits this client too, and may be what throttles it"
    return False, f"throttled for {milliseconds(sighting.throttle_ms)}, although no stored limit applies to it"


def _with_limit(limit: float, sighting: CanaryReading, key: str) -> tuple[bool | None, str | None]:
    allowed, passed = readable(key, limit), size(sighting.bytes)
    if sighting.throttle_ms and sighting.bytes + REQUEST < _EARLY * _ALLOWED * limit:
        return None, (
            f"throttled after {passed}, although {allowed} allows {size(_ALLOWED * limit)} at first: either traffic of"
            f" the last {_CERTAIN} s counts, earlier canaries included, or a lower limit is in force; try again after"
            f" {_SENT} s"
        )
    if sighting.throttle_ms:
        return True, (
            f"at first {passed} in {seconds(sighting.seconds)}, as an idle client may use {_ALLOWED} s of {allowed} at"
            f" once; then throttled for {milliseconds(sighting.throttle_ms)}"
        )
    if sighting.bytes >= _CERTAIN * limit:
        return False, f"{passed} went through at once: {allowed} is stored, but not in force"
    return None, f"not conclusive: {passed} went through, and {allowed} lets up to {size(_CERTAIN * limit)} through"


def _warning(row: dict[str, Any]) -> str:
    whom = f"user {quote(row['user'] or '')}, client-id {quote(row['client_id'])}"
    return printable(f"WARNING: broker {row['broker']} does not do what resolve predicts for {whom}: {row['note']}")
