"""A second real Kafka; contents of clusters that are not there come from `hours`, of the tests of histories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kadmin_nb as kn


@pytest.fixture(scope="session")
def other_kafka() -> Iterator[kn.local.LocalKafka]:
    """A real Kafka of one node, with nothing on it."""
    with kn.local.start() as running:
        yield running


@pytest.fixture(scope="session")
def other(other_kafka: kn.local.LocalKafka) -> Iterator[kn.Cluster]:
    """A connection to it."""
    with other_kafka.connect() as connected:
        yield connected
