"""Answers from the bytes of a connection: memory as it is filled, and one error for whatever cannot be read.

kafka-python takes the memory that an answer's length asks for, a gigabyte for four bytes, and an answer that is garbled
in another way than it foresaw kills its reader, so that everybody waits for the whole time-out.
"""

from __future__ import annotations

import re
from typing import Any

import kafka.errors
from kafka.protocol.frame import KafkaBytes
from kafka.protocol.parser import KafkaProtocol

LONGEST_THROTTLE = 600.0
"""Seconds a broker may hold us back: it says at most one for the requests that we make (`maxThrottleTimeMs`)."""

_STRIDE = 32_768
_HIGH_BYTES = re.compile(rb"(?<![\x80-\xff])[\x80-\xff]{65536}")
_TWO_HIGH_BYTES = re.compile(rb"[\x80-\xff]{2}")


class AnswerParser(KafkaProtocol):  # type: ignore[misc]
    """The library's parser, its buffer and its errors replaced."""

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self._coming = KafkaBytes(0)

    def receive_bytes(self, data: bytes) -> list[tuple[int, Any]]:
        """The correlation id and the answer of every frame that these bytes complete.

        Raises
        ------
        kafka.errors.KafkaProtocolError
            Bytes that are not an answer; the library then closes the connection.
        """
        self._coming += data
        answers = []
        while frame := self._next_frame():
            answers.append(self._read(frame))
        return answers

    def _next_frame(self) -> KafkaBytes | None:
        """The next frame, its length passed over; None while it is not whole. What comes alone is not copied."""
        if len(self._coming) < 4:
            return None
        size = int.from_bytes(self._coming[:4], "big", signed=True)
        self._validate_frame_size(size)
        if len(self._coming) < 4 + size:
            return None
        frame, self._coming = self._coming, KafkaBytes(0)
        self._coming += frame[4 + size :]
        del frame[4 + size :]
        frame.seek(4)
        return frame

    def _read(self, frame: KafkaBytes) -> tuple[int, Any]:
        if _has_an_endless_number(frame):
            raise kafka.errors.KafkaProtocolError("a number without an end")
        try:
            return self._answer(frame)
        except kafka.errors.KafkaError:
            raise
        except Exception as exc:
            raise kafka.errors.KafkaProtocolError(f"{type(exc).__name__}: {exc}") from exc

    def _answer(self, frame: KafkaBytes) -> tuple[int, Any]:
        """As the library has it, but what cannot be read is not written to the log, whole and at any size."""
        header = self.in_flight_requests.popleft()
        kind = header.get_response_class()
        number = kind.parse_header(frame).correlation_id
        if number != header.correlation_id:
            raise kafka.errors.CorrelationIdError(f"the answer to request {number}, not to {header.correlation_id}")
        answer = kind.decode(frame)
        if getattr(answer, "throttle_time_ms", 0) > LONGEST_THROTTLE * 1000:
            raise kafka.errors.KafkaProtocolError(f"held back for {answer.throttle_time_ms} ms")
        return number, answer


def _has_an_endless_number(frame: KafkaBytes) -> bool:
    """True if a varint could go on for 65,536 bytes, which the library reads in quadratic time: 2 s for 200 kB.

    No string of Kafka's is longer than 32,767 bytes, and what stands between two is not all high bytes.
    """
    return bool(_TWO_HIGH_BYTES.search(frame[::_STRIDE]) and _HIGH_BYTES.search(frame))
