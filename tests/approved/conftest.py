"""A seeded Kafka of its own, and a terminal and a notebook that show it the same on every machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.notebook.conftest import notebook  # noqa: F401  # a fixture
from tests.terminal.conftest import kadmin  # noqa: F401  # a fixture

CLUSTER_ID = "YXBwcm92ZWQta2Fma2EtMQ"
"""The id of the Kafka that the saved plans and journals are of."""

HOSTILE_LINES = """
set producer_byte_rate=700kB/s user==<default>
set producer_byte_rate=710kB/s 'user=CN=etl, OU=data, O=Example' 'client-id=night job'
set producer_byte_rate=720kB/s user=DOMAIN\\alice
set producer_byte_rate=730kB/s user=жанна client-id=日本語
set producer_byte_rate=740kB/s 'user=<b onmouseover="alert(1)">bold</b>'
set producer_byte_rate=750kB/s user==--apply client-id==<any>
set producer_byte_rate=760kB/s 'client-id=a;b,c*d%20e'
"""
"""Names that are not what they look like."""


LOGS = Path(__file__).parents[1] / "analytics" / "recorded"


@contextmanager
def seeded_kafka(*, hostile: bool) -> Iterator[LocalKafka]:
    """A Kafka with what `local seed` makes, and nothing of other tests. Pages for people have no hostile names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kadmin_nb.local.local_kafka.random_id", lambda: CLUSTER_ID)
        running = kn.local.start()
    with running:
        with running.connect() as cluster:
            kn.local.seed(cluster)
            if hostile:
                stage = cluster.new_stage()
                stage.add(HOSTILE_LINES)
                stage.plan("hostile names").apply().raise_for_errors()
        producer = Producer({"bootstrap.servers": running.bootstrap, "log_level": 0})
        producer.produce("orders", b"an order", partition=0)  # an empty topic has nothing to lose
        assert producer.flush(30) == 0
        yield running


@pytest.fixture
def seeded() -> Iterator[LocalKafka]:
    """One for each test, with hostile names."""
    with seeded_kafka(hostile=True) as running:
        yield running


@pytest.fixture
def desk(seeded: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the lines are typed: the seeded Kafka is its one profile, `logs/` a request log."""
    (tmp_path / "kadmin-nb.toml").write_text(f'[profiles.here]\nbootstrap = "{seeded.bootstrap}"\n')
    (tmp_path / "logs").symlink_to(LOGS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KADMIN_CONFIG", "kadmin-nb.toml")
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("SWORDFISH", "a password that no line shows")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "me")
    monkeypatch.setattr(platform, "node", lambda: "host")
    os.umask(0o022)
    return tmp_path
