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
from kadmin_nb.local.seed import seed
from tests.notebook.conftest import notebook  # noqa: F401  # a fixture
from tests.terminal.conftest import kadmin  # noqa: F401  # a fixture

CLUSTER_ID = "YXBwcm92ZWQta2Fma2EtMQ"
"""The id of the Kafka that the saved plans and journals are of."""

LOGS = Path(__file__).parents[1] / "analytics" / "recorded"


@contextmanager
def seeded_kafka(*, hostile: bool) -> Iterator[LocalKafka]:
    """A Kafka with what `local seed` makes, and nothing of other tests. Pages for people have no hostile names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kadmin_nb.local.local_kafka.random_id", lambda: CLUSTER_ID)
        running = kn.local.start()
    with running:
        with running.connect() as cluster:
            seed(cluster, hostile=hostile)
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
