"""Request logs as log4j rolls them, a file after the other, made of a seed; and their sums, added up here by hand."""

from __future__ import annotations

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
SECONDS, A_SECOND = 20, 6
"""Seconds of log in a file, and requests in each of them."""

Sums = dict[tuple[int, str, str, datetime], float]
"""By broker, client-id, key and the second: the use in the key's unit."""


def request_line(at: datetime, client: str, number: int, size: int, io_ms: float = 1.0, throttle_ms: int = 0) -> str:
    """A PRODUCE with so many bytes of records, as a broker writes it."""
    document = {
        "isForwarded": False,
        "requestHeader": {"correlationId": number, "clientId": client, "requestApiKeyName": "PRODUCE"},
        "request": {"topicData": [{"partitionData": [{"recordsSizeInBytes": size}]}]},
        "response": {"responses": []},
        "connection": f"127.0.0.1:9092-127.0.0.1:{20_000 + hash_of(client)}-0-1",
        "localTimeMs": io_ms,
        "throttleTimeMs": throttle_ms,
        "principal": "User:svc",
        "listener": "SASL_PLAINTEXT",
    }
    written = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}"
    return f"[{written}] DEBUG Completed request:{json.dumps(document)} (kafka.request.logger)"


def hash_of(client: str) -> int:
    return int.from_bytes(client.encode(), "little") % 30_000


class RolledLogs:
    """A folder with `broker-N/request.log.M`; a file is there whole or not at all, in the order in which it was made.

    Some lines are cut short, some are there twice, and every third file is there a second time under another name.
    """

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.folder, self.sums = folder, defaultdict[tuple[int, str, str, datetime], float](float)
        self.lines = self.cut = self.files = 0
        self._chance, self._times = random.Random(seed), 0

    def roll(self, number: int, broker: int) -> None:
        """The next file of a broker, and perhaps a second one with the same lines."""
        lines = list(self._lines(number, broker))
        self.add(lines, broker, f"request.log.{number}")
        if number % 3 == 2:
            self.add(lines, broker, f"request.log.{number}.again")

    def close(self, broker: int, after: timedelta = timedelta(days=1)) -> None:
        """A last line, so late that all windows before it are over; its own stays open."""
        self.add([request_line(NOON + after, "last", 0, 1)], broker, "request.log.last")

    def add(self, lines: list[str], broker: int, name: str) -> None:
        """A file, by rename."""
        place = self.folder / f"broker-{broker}" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        hidden = place.with_name(f".{name}")
        hidden.write_text("".join(f"{line}\n" for line in lines))
        self._times += 1  # Spark takes files in the order of their time
        os.utime(hidden, (1_700_000_000 + self._times,) * 2)
        hidden.rename(place)
        self.files, self.lines = self.files + 1, self.lines + len(lines)
        self.cut += sum(not line.endswith("(kafka.request.logger)") for line in lines)

    def _lines(self, number: int, broker: int) -> Iterator[str]:
        for place in range(SECONDS * A_SECOND):
            second, at = divmod(place, A_SECOND)
            begin = NOON + timedelta(seconds=number * SECONDS + second)
            client, size = f"app-{self._chance.randrange(4)}", self._chance.randrange(1, 10**6)
            io_ms = self._chance.randrange(1, 8000) / 1000
            request = number * SECONDS * A_SECOND + place
            line = request_line(begin + timedelta(milliseconds=at * 1000 // A_SECOND), client, request, size, io_ms)
            fate = self._chance.random()
            if fate < 0.03:
                yield line[: len(line) // 2]
                continue
            self.sums[broker, client, "producer_byte_rate", begin] += size
            self.sums[broker, client, "request_percentage", begin] += io_ms / 10
            yield from [line] * (2 if fate > 0.97 else 1)
