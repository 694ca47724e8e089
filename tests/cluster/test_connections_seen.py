"""The connections of an address, as the requests of a time observed show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from kadmin_nb.advice.client_brakes import Address
from kadmin_nb.cluster.client_facts import addresses_of, connections_of

BEGIN = datetime(2026, 11, 21, 10, tzinfo=UTC)
ALICE = ("alice", "app")


def requests(*rows: tuple[tuple[str, str], int, str, int, float]) -> pa.Table:
    """Client, broker, address, port, and the second of a request."""
    return pa.table(
        {
            "user": [user for (user, _), *_ in rows],
            "client_id": [client_id for (_, client_id), *_ in rows],
            "broker": [broker for _, broker, *_ in rows],
            "connection": [f"10.0.0.{b}:9092-{ip}:{port}-0-5" for _, b, ip, port, _ in rows],
            "time": [BEGIN + timedelta(seconds=second) for *_, second in rows],
            "api": ["PRODUCE"] * len(rows),
            "io_ms": [0.5] * len(rows),
            "throttle_ms": [0.0] * len(rows),
        }
    )


def test_connections_are_counted_where_and_while_they_are_open() -> None:
    """*17 seen at once*: they came one after the other, on three brokers, in a minute."""
    one_by_one = [(ALICE, 1, "10.9.9.1", port, 2.0 * port + end) for port in range(17) for end in (0.0, 1.0)]
    together = [(("bob", "x"), 2, "10.9.9.1", port, second) for port in range(3) for second in (0.0, 33.0)]
    lone = [(ALICE, 2, "10.9.9.1", 9, 5.0), (("bob", "x"), 3, "10.9.9.2", 1, 5.0)]
    seconds = 33.0 - 1.0
    assert addresses_of(connections_of(requests(*one_by_one, *together, *lone)), ALICE) == [
        Address("10.9.9.1", 1, 16 / seconds, seen=17, at_once=1),
        Address("10.9.9.1", 2, 1 / seconds, seen=4, at_once=4),
    ]


def test_a_connection_that_ends_where_another_begins_is_not_open_beside_it() -> None:
    """A pool of one reconnected each second, and two connections were open."""
    rows = [(ALICE, 1, "10.9.9.1", port, float(second)) for port in range(5) for second in (port, port + 1)]
    assert [one.at_once for one in addresses_of(connections_of(requests(*rows)), ALICE)] == [1]
    assert addresses_of(connections_of(requests()), ALICE) == []


def test_a_login_does_not_make_a_connection_two() -> None:
    """Before its login a connection is nobody's: it was counted as another one."""
    rows = [(("", ""), 1, "10.9.9.1", 1, 0.0), (ALICE, 1, "10.9.9.1", 1, 5.0), (ALICE, 1, "10.9.9.1", 2, 4.0)]
    assert [(one.seen, one.at_once) for one in addresses_of(connections_of(requests(*rows)), ALICE)] == [(2, 2)]
