"""Connections for the tests of `admin`, straight from settings, and what each Kafka version can do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from logins import settings_of

import kadmin_nb as kn
from kadmin_nb.admin.kafka import WireKafka
from kadmin_nb.admin.wire import Wire
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.settings import Secret, Settings


@dataclass(frozen=True)
class Kafka:
    """A local Kafka of some version, reached; and where that version differs (the whole list of it)."""

    local: LocalKafka
    wire_kafka: WireKafka
    has_group_configs: bool
    lists_every_resource: bool
    metrics_defaults: bool
    default_min_isr: bool

    def __getattr__(self, name: str) -> object:
        return getattr(self.wire_kafka, name)


_ABILITIES = {
    "4.3.1": {
        "has_group_configs": True,
        "lists_every_resource": True,
        "metrics_defaults": True,
        "default_min_isr": True,
    },
    "3.9.2": {
        "has_group_configs": False,
        "lists_every_resource": False,
        "metrics_defaults": False,
        "default_min_isr": False,
    },
}


@pytest.fixture(scope="session", params=list(_ABILITIES))
def broker(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """The ports over each version of Kafka that we promise to speak to."""
    version: str = request.param
    with contextlib.ExitStack() as stack:
        if version == "4.3.1":
            local: LocalKafka = request.getfixturevalue("kafka")
        else:
            local = stack.enter_context(kn.local.start(version=version))
        reached = stack.enter_context(contextlib.closing(WireKafka(Settings(local.bootstrap))))
        yield Kafka(local, reached, **_ABILITIES[version])


@pytest.fixture(scope="session")
def plain(kafka: LocalKafka) -> Iterator[WireKafka]:
    """A connection to the session's Kafka, below `cluster`."""
    with contextlib.closing(WireKafka(Settings(kafka.bootstrap))) as reached:
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
def admin(login: Callable[..., Settings]) -> Iterator[WireKafka]:
    """The super user's connection to the secure Kafka."""
    with contextlib.closing(WireKafka(login())) as reached:
        yield reached


@pytest.fixture(scope="session")
def scram_user(admin: WireKafka, login: Callable[..., Settings]) -> Callable[[str], Settings]:
    """`scram_user("bob")` makes that SCRAM user, without any right, and says how it logs in."""

    def make(name: str, mechanism: str = "SCRAM-SHA-512") -> Settings:
        admin.scram.upsert(name, Secret('s3cr,et=\\ "x'), mechanism)
        return login(name, 's3cr,et=\\ "x', mechanism=mechanism)

    return make
