"""The brokers' own measure of utilisation (KIP-1373) beside ours; no broker here has it, so its series are made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from tests.metrics.full import quotas_of
from tests.prometheus_server import matrix, serving

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
KEY = "producer_byte_rate"
QUOTAS = quotas_of(("USER", "alice", None, KEY, 1e6), ("CLIENT", None, "etl", "request_percentage", 50.0))


def metrics_of(user, client_id, measured, rate=5e5, kind="Produce", name="byte-rate", broker=1, at=NOON):
    """METRICS of one bucket at one time."""
    whose = {"time": at, "broker": broker, "type": kind, "user": user, "client_id": client_id}
    values = {name: rate, "throttle-time": 0.0, "quota-utilization": measured}
    rows = [{**whose, "name": named, "value": value} for named, value in values.items() if value is not None]
    return schemas.table(schemas.METRICS, rows)


JUDGED = {
    "the same": (metrics_of("alice", None, 50.2), 0),
    "half": (metrics_of("alice", None, 25.0), 1),
    "the broker knows no limit": (metrics_of("alice", None, float("nan")), 1),
    "neither has a limit": (metrics_of("bob", None, float("nan")), 0),
    "a limit that is not stored": (metrics_of("bob", None, 40.0), 1),
    "request time": (metrics_of(None, "etl", 40.0, 20.0, "Request", "request-time"), 0),
    "request time, another": (metrics_of(None, "etl", 10.0, 20.0, "Request", "request-time"), 1),
    "above": (metrics_of("alice", None, 151.0, 1.5e6), 0),
    "idle": (metrics_of("alice", None, 0.0, 0.0), 0),
}


@pytest.mark.parametrize(("metrics", "differing"), JUDGED.values(), ids=JUDGED)
def test_a_difference_is_a_finding(metrics, differing):
    """A broker had not learned of the change, and every page said that it holds."""
    found = kn.usage.utilisation_differences(metrics, QUOTAS)
    assert len(found) == differing
    assert len(found.measured) == 1
    assert {finding.code for finding in found.findings} <= {"utilisation-differs"}


def test_it_says_which_limit_the_broker_enforces():
    """It said that something differs, and not what."""
    (row,) = kn.usage.utilisation_differences(metrics_of("alice", None, 25.0, broker=3), QUOTAS)
    shown = {name: row[name] for name in ("broker", "subject", "key", "limit", "utilisation", "measured", "enforced")}
    assert shown == {
        "broker": 3,
        "subject": "user=alice",
        "key": KEY,
        "limit": 1e6,
        "utilisation": 50.0,
        "measured": 25.0,
        "enforced": 2e6,
    }


def test_brokers_without_it_differ_in_nothing():
    """All brokers of today were findings."""
    found = kn.usage.utilisation_differences(metrics_of("alice", None, None), QUOTAS)
    assert (len(found), found.measured) == (0, {})
    assert "KIP-1373" in found._title()


def test_only_the_newest_sample_counts():
    """It was right again for an hour, and still a finding."""
    import pyarrow as pa

    before = metrics_of("alice", None, 25.0, at=NOON - timedelta(minutes=1))
    assert not len(
        kn.usage.utilisation_differences(pa.concat_tables([before, metrics_of("alice", None, 50.0)]), QUOTAS)
    )


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
