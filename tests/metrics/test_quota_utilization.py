"""The brokers' own measure of utilisation (KIP-1373), as METRICS; no broker here has it, so its series are made up."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import kadmin_nb as kn
from tests.prometheus_server import matrix, serving

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

SPELLINGS = {
    "the usual rules": {"__name__": "kafka_server_quota_quota_utilization", "resource": "Produce", "clientId": "c"},
    "no rules": {"__name__": "kafka_server_Produce_quota_utilization", "client_id": "c"},
}


@pytest.mark.parametrize("labels", SPELLINGS.values(), ids=SPELLINGS)
def test_it_is_known_by_its_name(labels, monkeypatch):
    """Prometheus had it, and we did not ask."""
    monkeypatch.setenv("no_proxy", "*")
    at = NOON.timestamp()
    with serving((200, matrix(({**labels, "user": "a", "broker": "1"}, [[at, "42"]])))) as server:
        (row,) = kn.usage.prometheus(server.url, NOON, NOON)
        assert "quota_utilization" in server.asked[0][1]["query"]
    assert (row["type"], row["user"], row["client_id"], row["name"], row["value"]) == (
        "Produce", "a", "c", "quota-utilization", 42.0,
    )  # fmt: skip
