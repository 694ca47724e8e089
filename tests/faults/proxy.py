"""A proxy that understands Kafka's frames: it hears every request, and spoils the one that a test names.

A frame is four bytes of length, then a request's API key, version and correlation id, or an answer's correlation id.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from kadmin_nb.local import LocalKafka

DESCRIBE_CONFIGS, ALTER_CONFIGS, DESCRIBE_QUOTAS, ALTER_QUOTAS = 32, 44, 48, 49
"""The API keys that matter here. An alter that only validates is counted, and named, by the negative key."""

LONGEST = 60.0
"""Seconds after which whatever the proxy still holds is let go."""


def whole(answer: bytes) -> bytes:
    return answer


def nothing(answer: bytes) -> bytes:
    return b""


@dataclass(frozen=True)
class Fault:
    """What becomes of one request and of its answer.

    The request is held for `hold` seconds and delivered `copies` times; of its first answer, held for `late` seconds,
    the client gets what `spoil` makes of the frame; then the connection is `cut`, or goes on.
    """

    copies: int = 1
    hold: float = 0.0
    late: float = 0.0
    spoil: Callable[[bytes], bytes] = whole
    cut: bool = False


CLEAN = Fault()
DROPPED = Fault(copies=0)
UNANSWERED = Fault(spoil=nothing)
CUT_BEFORE = Fault(copies=0, cut=True)
CUT_AFTER = Fault(spoil=nothing, cut=True)
TWICE = Fault(copies=2)
HALF_THEN_SILENCE = Fault(spoil=lambda answer: answer[: len(answer) // 2])
HALF_THEN_CUT = Fault(spoil=lambda answer: answer[: len(answer) // 2], cut=True)
FOREIGN = Fault(spoil=lambda answer: answer[:4] + b"\x7f\xff\xff\xff" + answer[8:])
"""The answer to a request that was never sent."""


def framed(body: bytes, length: int | None = None) -> bytes:
    """A frame; its length is the body's unless a lie is wanted."""
    return struct.pack(">i", len(body) if length is None else length) + body


def of_length(length: int) -> Fault:
    """An answer that says it is this long."""
    return Fault(spoil=lambda answer: framed(answer[4:], length))


def shortened(keep: int) -> Fault:
    """A well-formed frame of the answer's first bytes only."""
    return Fault(spoil=lambda answer: framed(answer[4 : 4 + keep]))


def replaced(body: bytes) -> Fault:
    """Other bytes in the answer's place, behind the right correlation id."""
    return Fault(spoil=lambda answer: framed(answer[4:8] + body))


def garbled(seed: int) -> Fault:
    """One to three bytes after the correlation id are others."""
    return Fault(spoil=lambda answer: answer[:8] + garbage(answer[8:], random.Random(seed)))


def garbage(body: bytes, draw: random.Random) -> bytes:
    spoilt = bytearray(body)
    for place in draw.sample(range(len(spoilt)), min(len(spoilt), draw.randrange(1, 4))):
        spoilt[place] ^= draw.randrange(1, 256)
    return bytes(spoilt)


class Proxy:
    """A port a node. `spoil` names the request to come that goes wrong; `counts` has the requests heard, by API key."""

    def __init__(self, nodes: int = 1) -> None:
        self.counts: Counter[int] = Counter()
        self.connections = 0
        self._faults: dict[tuple[int, int], Fault] = {}
        self._behind: list[int] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._carrying: set[_Connection] = set()
        doors = [_door() for _ in range(nodes)]
        self.ports = [door.getsockname()[1] for door in doors]
        self._servers = [self._run(self._open(node, door)) for node, door in enumerate(doors)]

    def lead_to(self, kafka: LocalKafka) -> None:
        self._behind = [node.ports["PROXIED"] for node in kafka.nodes]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    @property
    def awaited(self) -> list[tuple[int, int]]:
        """API key and number of every request that was to go wrong and has not come."""
        return sorted(self._faults)

    def spoil(self, api: int, fault: Fault, nth: int = 1) -> None:
        """Let the n-th request of this API from now on, on any connection and to any node, go wrong."""
        self._faults[api, self.counts[api] + nth] = fault

    def forget(self) -> None:
        """Nothing goes wrong any more, and counting begins anew."""
        self._faults.clear()
        self.counts.clear()

    def leave(self, seconds: float) -> None:
        """Cut every connection, and refuse new ones for so long: a node that restarts, on its port."""
        self._run(self._leave(seconds))

    async def _leave(self, seconds: float) -> None:
        for node, server in enumerate(self._servers):
            server.close()
            door = _door(self.ports[node])  # nobody else takes the port meanwhile
            self._loop.call_later(seconds, lambda node=node, door=door: self._loop.create_task(self._back(node, door)))
        for connection in self._carrying:
            connection.cut()

    async def _back(self, node: int, door: socket.socket) -> None:
        self._servers[node] = await self._open(node, door)

    async def _open(self, node: int, door: socket.socket) -> asyncio.Server:
        return await asyncio.start_server(self._serve(node), sock=door)

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        mine = asyncio.current_task()
        rest = [task for task in asyncio.all_tasks() if task is not mine]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def _serve(self, node: int):
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            try:
                broker = await asyncio.open_connection("127.0.0.1", self._behind[node])
                connection = _Connection(self, reader, writer, *broker)
                self._carrying.add(connection)
                try:
                    await connection.carry()
                finally:
                    self._carrying.discard(connection)
            except OSError:
                pass
            finally:
                writer.transport.abort()

        return serve

    def _heard(self, request: bytes) -> Fault:
        api = _api(request)
        self.counts[api] += 1
        return self._faults.pop((api, self.counts[api]), CLEAN)


def _door(port: int = 0) -> socket.socket:
    """A port on loopback that is taken, and refuses connections until a server listens on it; 0 for any."""
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    return door


def _api(request: bytes) -> int:
    """The API key; negative where the last field before the tags, `validate_only`, is set."""
    (key,) = struct.unpack_from(">h", request, 4)
    return -key if key in (ALTER_CONFIGS, ALTER_QUOTAS) and request[-2] else key


class _Connection:
    """One client's connection and the one to its broker. The broker answers in the order of the requests."""

    def __init__(self, proxy: Proxy, reader, writer, broker_reader, broker_writer) -> None:
        self._proxy = proxy
        self._client, self._to_client = reader, writer
        self._broker, self._to_broker = broker_reader, broker_writer
        self._awaited: deque[Fault | None] = deque()
        self._is_cut = False

    async def carry(self) -> None:
        """Until one side ends; what a client sent before it went away is delivered and answered all the same."""
        requests, answers = (asyncio.create_task(way()) for way in (self._requests, self._answers))
        try:
            await asyncio.wait({requests, answers}, return_when=asyncio.FIRST_COMPLETED)
            if self._awaited and not self._is_cut:
                await asyncio.wait({answers}, timeout=LONGEST)
        finally:
            requests.cancel()
            answers.cancel()
            await asyncio.gather(requests, answers, return_exceptions=True)
            self._to_broker.transport.abort()

    def cut(self) -> None:
        """End it at once, with whatever is under way."""
        self._is_cut = True
        for side in (self._to_client, self._to_broker):
            side.transport.abort()

    async def _requests(self) -> None:
        while not self._is_cut and (request := await _frame(self._client)):
            fault = self._proxy._heard(request)
            await asyncio.sleep(min(fault.hold, LONGEST))
            self._awaited += [fault, *[None] * (fault.copies - 1)][: fault.copies]
            self._to_broker.write(request * fault.copies)
            self._is_cut = fault.cut and not fault.copies

    async def _answers(self) -> None:
        """The first copy's answer goes to the client, as the fault will have it; the others' to nobody."""
        while not self._is_cut and (answer := await _frame(self._broker)):
            fault = self._awaited.popleft()
            if fault is not None:
                await asyncio.sleep(min(fault.late, LONGEST))
                self._to_client.write(fault.spoil(answer))
                self._is_cut = fault.cut


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame with its length, or nothing at the connection's end."""
    try:
        head = await reader.readexactly(4)
        return head + await reader.readexactly(int.from_bytes(head, "big"))
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
