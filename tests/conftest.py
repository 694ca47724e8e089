"""What all tests share: one local Kafka a session, and names that no other test uses."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # how long an example takes says how busy the machine is, not what the code does
os.environ.setdefault("KADMIN_CONFIG", os.devnull)
_state = tempfile.TemporaryDirectory(prefix="kadmin-nb-tests-")
os.environ["KADMIN_STATE"] = _state.name  # journals and local Kafkas of the tests, and of nobody else
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started with it ignored


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes half an hour runs only where `-m` names it: `make test-long`."""
    if "long" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(scope="session")
def kafka() -> Iterator[LocalKafka]:
    """A real Kafka of one node, without authorisation."""
    with kn.local.start() as running:
        yield running


@pytest.fixture(scope="session")
def cluster(kafka: LocalKafka) -> Iterator[kn.Cluster]:
    """A connection to it."""
    with kafka.connect() as connected:
        yield connected


@pytest.fixture(scope="session")
def secure_kafka() -> Iterator[LocalKafka]:
    """A real Kafka with SASL and the standard authorizer; `connect()` is the super user."""
    with kn.local.start(secure=True) as running:
        yield running


_numbers = itertools.count(1)


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Names that no other test uses: `unique("user")` gives `user-17`."""
    return lambda stem="name": f"{stem}-{next(_numbers)}"
