"""A cluster in memory; and a broker with plug-ins, which decide quotas and have a policy for topic configs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.model.connection_settings import Settings
from tests.double import FakeKafka

PLUGINS = Path(__file__).parents[1] / "plugins" / "classes"


@pytest.fixture
def in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> kn.Cluster:
    """A cluster of one broker, in the double; its plans have their journals in a folder of the test."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    return kn.Cluster(FakeKafka(1), Settings("in-memory:9092"))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def opinionated() -> Iterator[kn.Cluster]:
    extra = {
        "client.quota.callback.class": "GenerousCallback",
        "alter.config.policy.class.name": "RefusingPolicy",
    }
    with kn.local.start(plugins=[PLUGINS], extra=extra) as kafka, kafka.connect() as cluster:
        yield cluster
