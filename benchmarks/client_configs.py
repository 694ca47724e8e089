"""Describing 100,000 dynamic client configs, beside reading the bare bytes of their topic."""

from __future__ import annotations

import contextlib
import statistics
import time

from confluent_kafka import Consumer, TopicPartition

from benchmarks.timing import Row, interleaved, ratio, row
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.client_configs.topic import Replacement, WireClientConfigs
from kadmin_nb.local import start
from kadmin_nb.model.client_configs import ACKS, CONFIGS_TOPIC, ClientEntity
from kadmin_nb.model.connection_settings import Settings

ENTRIES, CLIENT_IDS = 100_000, 10
BOUND = 60.0
"""Times of librdkafka, which decodes nothing: Python reads some 20,000 entries a second."""


def run(full: bool = False) -> list[Row]:
    """One figure: describing, beside reading the bytes; the alter that made the entries is in its note."""
    with start(heap="1g") as kafka, contextlib.closing(LiveKafka(Settings(kafka.bootstrap))) as reached:
        port = WireClientConfigs(reached.wire)
        altered = _set_all(port)
        ours, bare = interleaved([lambda: _describe(port), lambda: _read_bytes(kafka.bootstrap)], 9 if full else 5)
    mine, reference = statistics.median(ours), statistics.median(bare)
    note = f"{ENTRIES / mine:,.0f} entries a second; they were set in one transaction in {altered:.1f} s"
    return [
        row(f"describe {ENTRIES:,} client configs / the topic's bytes", mine, reference, ratio(ours, bare), BOUND, note)
    ]


def _set_all(port: WireClientConfigs) -> float:
    entities = [ClientEntity(f"user-{n // CLIENT_IDS}", f"app-{n % CLIENT_IDS}") for n in range(ENTRIES)]
    began = time.perf_counter()
    refused = [*filter(None, port.alter({entity: {ACKS: Replacement(None, "1")} for entity in entities}).values())]
    assert not refused, refused[0]
    return time.perf_counter() - began


def _describe(port: WireClientConfigs) -> None:
    assert port.describe().num_rows == ENTRIES


def _read_bytes(bootstrap: str) -> None:
    """The records as librdkafka gives them, to no group."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.partition.eof": False})
    consumer.assign([TopicPartition(CONFIGS_TOPIC, 0, 0)])
    messages, size = 0, 0
    while messages < ENTRIES:
        for message in consumer.consume(10_000, timeout=1.0):
            messages, size = messages + 1, size + len(message)
    consumer.close()
    assert size > 0
