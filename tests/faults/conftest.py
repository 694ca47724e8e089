"""A Kafka behind a proxy that spoils what a test names, and connections through it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

import kadmin_nb as kn
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.model.connection_settings import Settings
from tests.faults.proxy import Proxy
from tests.faults.sides import ALTER_TIMEOUT


@pytest.fixture(scope="session")
def between() -> Iterator[Proxy]:
    """The session's proxy and, behind it, a Kafka of its own."""
    proxy = Proxy()
    try:
        with kn.local.start(proxied=proxy.ports) as kafka:
            proxy.lead_to(kafka)
            yield proxy
    finally:
        proxy.close()


@pytest.fixture
def proxy(between: Proxy) -> Iterator[Proxy]:
    """Nothing goes wrong yet, and nothing is counted; what a test wanted to go wrong has gone wrong at its end."""
    between.forget()
    yield between
    assert not between.awaited


@pytest.fixture
def reached(proxy: Proxy) -> Iterator[LiveKafka]:
    """A connection through the proxy, impatient with alters."""
    with contextlib.closing(LiveKafka(Settings(proxy.bootstrap), timeout=20.0)) as kafka:
        kafka.wire.alter_timeout = ALTER_TIMEOUT
        proxy.forget()
        yield kafka


@pytest.fixture
def through(proxy: Proxy) -> Iterator[kn.Cluster]:
    """A whole cluster reached through the proxy, impatient with alters."""
    with kn.connect(proxy.bootstrap, timeout=20.0) as cluster:
        cluster.port.wire.alter_timeout = ALTER_TIMEOUT
        yield cluster
