"""Connections for the tests of `admin`, straight from settings, and what each Kafka version can do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.wire import Wire
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.model.resources import Resource
from tests.admin.logins import logs_in, settings_of
from tests.admin.versions import ABILITIES, EVERY, EVERY_DAY
from tests.double import FakeKafka
from tests.persons import give_password
from tests.waiting import eventually


@dataclass(frozen=True)
class Kafka:
    """A Kafka of some version, or the double, reached; and where that version differs (the whole list of it)."""

    ports: LiveKafka | FakeKafka
    has_group_configs: bool
    lists_every_resource: bool
    metrics_defaults: bool
    default_min_isr: bool

    def __getattr__(self, name: str) -> object:
        return getattr(self.ports, name)


@pytest.fixture(scope="session", params=EVERY)
def broker(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """The ports over each version of Kafka that we promise to speak to, and over the double of it."""
    version: str = request.param
    with contextlib.ExitStack() as stack:
        if version == "double":
            yield Kafka(_double(), **ABILITIES["4.4.0"])
            return
        if version == EVERY_DAY[0]:
            local: LocalKafka = request.getfixturevalue("kafka")
        else:
            local = stack.enter_context(kn.local.start(version=version))
        reached = stack.enter_context(contextlib.closing(LiveKafka(Settings(local.bootstrap))))
        yield Kafka(reached, **ABILITIES[version])


def _double() -> FakeKafka:
    """One broker, with the override that a fresh 4.3 has, and time that goes by with every call."""
    kafka = FakeKafka(brokers=1)
    kafka.cluster.write((Resource("BROKER", ""), "min.insync.replicas"), "1")
    return kafka


@pytest.fixture(scope="session")
def plain(kafka: LocalKafka) -> Iterator[LiveKafka]:
    """A connection to the session's Kafka, below `cluster`."""
    with contextlib.closing(LiveKafka(Settings(kafka.bootstrap))) as reached:
        yield reached


@pytest.fixture
def wire(kafka: LocalKafka) -> Iterator[Wire]:
    """A connection of its own, which a test may break."""
    with contextlib.closing(Wire(Settings(kafka.bootstrap), timeout=10.0)) as own:
        yield own


@pytest.fixture(scope="session")
def login(secure_kafka: LocalKafka) -> Callable[..., Settings]:
    """`login("alice", "secret", mechanism="SCRAM-SHA-512")`: how to reach the secure Kafka; as admin without a name."""
    return lambda user="admin", password=None, **changes: settings_of(secure_kafka, user, password, **changes)


@pytest.fixture(scope="session")
def admin(login: Callable[..., Settings]) -> Iterator[LiveKafka]:
    """The super user's connection to the secure Kafka."""
    with contextlib.closing(LiveKafka(login())) as reached:
        yield reached


@pytest.fixture(scope="session")
def scram_user(admin: LiveKafka, login: Callable[..., Settings]) -> Callable[[str], Settings]:
    """`scram_user("bob")` makes that SCRAM user, without any right, and says how it logs in, once it can."""

    def make(name: str, mechanism: str = "SCRAM-SHA-512") -> Settings:
        give_password(admin, name, 's3cr,et=\\ "x', mechanism)
        settings = login(name, 's3cr,et=\\ "x', mechanism=mechanism)
        eventually(lambda: logs_in(settings), True)
        return settings

    return make
