"""The whole way: real clients with real quotas, the broker's request log, and who was near the limit or above."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import kadmin_nb as kn
from tests.analytics.traffic import ALICE, BOB, EASY, FAR, FREE, LEFT, LIMIT, READER, RIGHT, SENT, TIGHT

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.secure, pytest.mark.long]

PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
SIDES = {
    "without a limit": ((PRODUCE, None, None, ALICE, FREE), [FREE], "txbytes"),
    "far below": ((PRODUCE, ALICE, EASY, None, None), [EASY], "txbytes"),
    "producer above": ((PRODUCE, ALICE, TIGHT, None, None), [TIGHT], "txbytes"),
    "two that share": ((PRODUCE, BOB, "", None, None), [LEFT, RIGHT], "txbytes"),
    "consumer above": ((FETCH, ALICE, READER, None, None), [READER], "rxbytes"),
}
"""A bucket, the clients that draw from it, and what librdkafka counts of them."""


@pytest.fixture(scope="module")
def used(seen, traffic):
    """UTILISATION by bucket, beside the quotas as the cluster described them."""
    clients = [FREE, EASY, TIGHT, READER, LEFT, RIGHT]
    usage = kn.usage.usage(seen).where(F.col("client_id").isin(clients))
    found = kn.usage.utilisation(usage, traffic.quotas, keys=[PRODUCE, FETCH]).collect()
    return {(row.key, row.bucket_user, row.bucket_client_id, row.user, row.client_id): row for row in found}


@pytest.mark.parametrize(("bucket", "clients", "wire"), SIDES.values(), ids=SIDES)
def test_bytes_are_those_that_the_clients_sent(used, traffic, bucket, clients, wire):
    """Half of what the two had sent together was missing."""
    row = used[bucket]
    bytes_logged = row.mean * row.windows  # of windows of 1 s
    on_the_wire = sum(traffic.told(client, wire) for client in clients)
    print(f"{', '.join(clients)}: {bytes_logged:,.0f} of {on_the_wire:,} bytes, {bytes_logged / on_the_wire:.2%}")
    assert row.clients == len(clients)
    assert 0.97 * on_the_wire <= bytes_logged <= on_the_wire


@pytest.mark.parametrize(("bucket", "clients", "wire"), SIDES.values(), ids=SIDES)
def test_who_was_throttled_is_who_the_broker_told(used, traffic, bucket, clients, wire):
    """It said that bob was throttled, and bob knew nothing of it."""
    row = used[bucket]
    told = max(traffic.throttled.get(client, 0.0) for client in clients)
    logged = max(one["throttleTimeMs"] for client in clients for one in traffic.logged(client))
    print(f"{', '.join(clients)}: {row.throttle_ms:,.0f} ms, peak {row.utilisation} % of {row.limit}")
    assert row.throttle_ms == told == logged
    is_above = clients not in ([FREE], [EASY])
    assert (row.share_throttled > 0, told > 0) == (is_above, is_above)
    assert row.limit == (None if clients == [FREE] else LIMIT if is_above else FAR)
    assert ((row.utilisation or 0) > 100, (row.longest_above_100_s or 0) > 0) == (is_above, is_above)


def test_the_two_that_share_were_throttled_only_together(traffic):
    """Each kept its half of the limit, and the report blamed the broker."""
    both = [SENT[client] * 1000 / 10 for client in (LEFT, RIGHT)]  # a broker averages 10 s at the least
    assert max(both) < LIMIT < sum(both)
    assert max(traffic.throttled.get(client, 0.0) for client in (LEFT, RIGHT)) > 0


def test_known_clients_are_those_that_connected(seen, traffic):
    """A client-id was missing from the list, and so from the plan's impact."""
    pairs = {tuple(pair) for pair in kn.usage.known_clients(kn.usage.usage(seen)).collect()}
    assert {(ALICE, name) for name in (FREE, EASY, TIGHT, READER)} | {(BOB, LEFT), (BOB, RIGHT)} <= pairs
