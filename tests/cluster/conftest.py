"""A broker with plug-ins: it decides quotas by a class of its own, and has a policy for topic configs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kadmin_nb as kn

PLUGINS = Path(__file__).parents[1] / "plugins" / "classes"


@pytest.fixture(scope="session")
def opinionated() -> Iterator[kn.Cluster]:
    extra = {
        "client.quota.callback.class": "GenerousCallback",
        "alter.config.policy.class.name": "RefusingPolicy",
    }
    with kn.local.start(plugins=[PLUGINS], extra=extra) as kafka, kafka.connect() as cluster:
        yield cluster
