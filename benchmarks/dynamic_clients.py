"""Clients that follow dynamic client configs, beside bare ones: throughput, a change under load, refreshes, starts."""

from __future__ import annotations

import asyncio
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.timing import Row, interleaved, ratio, row
from kadmin_nb.client_configs.follower import ConfigReader, Reporter
from kadmin_nb.client_configs.records import REGISTRATIONS_TOPIC, STATUS_TOPIC, ConfigKey, ConfigValue
from kadmin_nb.client_configs.settings import INTERVAL_MS, REFRESH_INTERVAL, client_settings
from kadmin_nb.client_configs.wrappers import FLUSH_TIMEOUT
from kadmin_nb.clients import DynamicProducer
from kadmin_nb.local import LocalKafka, start
from kadmin_nb.model.client_configs import CONFIGS_TOPIC

MESSAGES, SIZE = 50_000, 500
BY_BARE = 1 / 0.95
BY_METADATA = 1.3
FLIPS = 10
GRACE = 1.0
ENTRIES, PLAN = 1_000, 10
"""Entries in the topic, and those that one plan writes."""
TOPIC, USER = "load", "alice"
BUFFERS = {"queue.buffering.max.messages": 1_000_000, "linger.ms": 5}


def run(full: bool = False) -> list[Row]:
    """The figures, on one broker."""
    relay = Relay()
    with start(heap="512m", proxied=[relay.port]) as kafka:
        config = {"bootstrap.servers": kafka.bootstrap}
        _fill(config)
        return [
            _throughput(config, 25 if full else 15),
            _flip_under_load(config),
            *_refreshes(relay, kafka, 1_000 if full else 100),
            _first_fetch(config, 400 if full else 150),
        ]


def _fill(config: dict[str, str]) -> None:
    """The topics, and entries of as many clients."""
    topics = [NewTopic(name, 1, 1) for name in (CONFIGS_TOPIC, REGISTRATIONS_TOPIC, STATUS_TOPIC, TOPIC)]
    admin = AdminClient(config)
    for future in admin.create_topics(topics).values():
        future.result()
    with closing(Producer(config | {"batch.num.messages": PLAN})) as writer:  # a fetch brings whole batches
        for number in range(ENTRIES):
            _write(writer, f"app-{number:04}", "1")


def _write(writer: Producer, client_id: str, acks: str) -> None:
    value = ConfigValue(acks, "admin", "20260101-000000-abcdef").encode()
    writer.produce(CONFIGS_TOPIC, value, ConfigKey(USER, client_id, "acks").encode())


def _throughput(config: dict[str, str], rounds: int) -> Row:
    """Producers that are there, each with the loop that confluent-kafka documents."""
    settings = config | BUFFERS
    with Producer(settings) as bare, DynamicProducer(settings, **{"kadmin.user": USER}) as followed:
        ours, theirs = interleaved([lambda: _produce(followed), lambda: _produce(bare)], rounds)
        plain_ours, plain_theirs = interleaved([lambda: _enqueue(followed), lambda: _enqueue(bare)], rounds)
    plain = 1 / ratio(plain_ours, plain_theirs)
    note = (
        f"{MESSAGES:,} messages of {SIZE} bytes with reports and poll(0): {1 / ratio(ours, theirs):.2f} of the bare"
        f" throughput; calling produce alone, without a report: {plain:.2f}"
    )
    return row("DynamicProducer / Producer", min(ours), min(theirs), ratio(ours, theirs), BY_BARE, note)


def _produce(producer: Producer) -> None:
    delivered = 0

    def count(*_: object) -> None:
        nonlocal delivered
        delivered += 1

    message = bytes(SIZE)
    for _ in range(MESSAGES):
        producer.produce(TOPIC, message, on_delivery=count)
        producer.poll(0)
    producer.flush()
    assert delivered == MESSAGES


def _enqueue(producer: Producer) -> None:
    message = bytes(SIZE)
    for _ in range(MESSAGES):
        producer.produce(TOPIC, message)
    producer.flush()


def _flip_under_load(config: dict[str, str]) -> Row:
    """The longest time from `produce` to its report, while `acks` goes to and fro."""
    bound = FLUSH_TIMEOUT + GRACE
    own = {"kadmin.user": USER, "client.id": "flipping", REFRESH_INTERVAL: 200}
    stop = threading.Event()
    delays: list[float] = []

    def report(began: float, *_: object) -> None:
        delays.append(time.perf_counter() - began)

    def load(producer: Producer) -> None:
        while not stop.wait(0.0005):
            producer.produce(TOPIC, bytes(SIZE), on_delivery=partial(report, time.perf_counter()))

    with Producer(config) as writer, DynamicProducer(config | BUFFERS | own) as producer:
        thread = threading.Thread(target=load, args=[producer])
        thread.start()
        for flip in range(FLIPS):
            _write(writer, "flipping", "1" if flip % 2 else "-1")
            writer.flush()
            until = time.monotonic() + 0.6
            while time.monotonic() < until:
                producer.poll(0.01)
        stop.set()
        thread.join()
    note = f"s from produce to its report over {FLIPS} changes, the longest; median {statistics.median(delays):.4f}"
    return row("a change under load / flush bound + 1 s", max(delays), bound, max(delays) / bound, 1.0, note)


def _refreshes(relay: Relay, kafka: LocalKafka, clients: int) -> list[Row]:
    """One refresh of each of many clients, through a relay that counts; a minute has a fifth of one by default."""
    with relay.leading_to(kafka.address("PROXIED")):
        settings = [_settings(relay.port, number) for number in range(clients)]
        readers = [ConfigReader(each.entity) for each in settings]
        reporters = [Reporter(each, ("acks",)) for each in settings]

        def refresh(number: int) -> None:
            readers[number].read(settings[number].connection, 30.0)
            reporters[number].report(None, 30.0)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(refresh, range(clients)))
            relay.forget()
            began = time.perf_counter()
            list(pool.map(refresh, range(clients)))
        spent = time.perf_counter() - began
    share = 60_000 / INTERVAL_MS / clients
    note = f"{clients} clients, {ENTRIES:,} entries; {spent / clients * 1000:.0f} ms a refresh, 8 at a time"
    requests, size = relay.requests * share, relay.bytes * share
    return [
        row("refresh: requests a client and minute / 10", requests, 10, requests / 10, 1.0, note),
        row("refresh: bytes a client and minute / 10,000", size, 10_000, size / 10_000, 1.0, note),
    ]


def _settings(port: int, number: int):
    config = {"bootstrap.servers": f"127.0.0.1:{port}", "client.id": f"app-{number:04}"}
    return client_settings(config, {"kadmin.user": USER})


def _first_fetch(config: dict[str, str], rounds: int) -> Row:
    """A client that was just made asks for the entries, or for metadata.

    librdkafka's first question takes 2 ms or 54, by luck: it looks each 50 ms whether it is connected. So the sums are
    compared, over many rounds.
    """
    entity = client_settings(config, {"kadmin.user": USER}).entity

    def metadata() -> None:
        with closing(Producer(config)) as client:
            client.list_topics(CONFIGS_TOPIC, 10)

    ours, theirs = interleaved([lambda: ConfigReader(entity).read(config, 10), metadata], rounds)
    means, fastest = (statistics.mean(ours), statistics.mean(theirs)), (min(ours) * 1000, min(theirs) * 1000)
    note = (
        f"each by a new client, with its connections; {ENTRIES:,} entries are read; means of {rounds}; "
        f"the fastest {fastest[0]:.0f} / {fastest[1]:.0f} ms"
    )
    return row("first fetch / metadata request", *means, means[0] / means[1], BY_METADATA, note)


@dataclass
class Relay:
    """A port that leads to a broker, and counts the requests and all bytes that go through."""

    requests: int = 0
    bytes: int = 0
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def forget(self) -> None:
        self.requests = self.bytes = 0

    @contextmanager
    def leading_to(self, address: str) -> Iterator[None]:
        """Lead there as long as this lasts."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        host, port = address.split(":")

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            from_broker, to_broker = await asyncio.open_connection(host, int(port))
            await asyncio.gather(self._frames(reader, to_broker, 1), self._frames(from_broker, writer, 0))

        async def serve() -> None:
            await asyncio.start_server(accept, sock=self._listener)

        asyncio.run_coroutine_threadsafe(serve(), loop).result()

        async def end() -> None:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    async def _frames(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: int) -> None:
        """Pass frames on, each with its length before it, to the end of the connection."""
        try:
            while True:
                length = await reader.readexactly(4)
                frame = await reader.readexactly(int.from_bytes(length))
                self.requests += requests
                self.bytes += len(length) + len(frame)
                writer.write(length + frame)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
