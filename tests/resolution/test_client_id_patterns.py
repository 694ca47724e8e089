"""Client-ids that a machine made up."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.cluster.audits import by_pattern, made_up


@pytest.mark.parametrize(
    ("client_id", "pattern", "sort"),
    [
        ("billing-7f9c24e8-3b1a-4f6e-9d2c-1a2b3c4d5e6f", "billing-*", "uuid"),
        ("app-10.1.2.3-4711", "app-*", "host"),
        ("worker@node17.example.com", "worker*", "host"),
        ("loader-4711", "loader-*", "number"),
        ("etl_5f3a9c01bd", "etl_*", "hex"),
        ("sink-x7Kp29Qa", "sink-*", "random"),
        ("consumer-billing-1", "consumer-billing-*", "library"),
        ("producer-12", "producer-*", "library"),
        ("rdkafka", "rdkafka", "library"),
        ("sarama", "sarama", "library"),
    ],
)
def test_the_part_that_varies_is_found(client_id, pattern, sort) -> None:
    """Forty thousand client-ids, and nobody saw that they were three applications."""
    assert made_up(client_id) == (pattern, sort)


@pytest.mark.parametrize(
    "client_id", ["billing", "team-orders", "orders.v2-reader", "facade", "deadbeef-app", "b2b", ""]
)
def test_names_that_people_give_are_left_alone(client_id) -> None:
    """billing was called junk."""
    assert made_up(client_id) is None


def test_few_numbers_are_instances() -> None:
    """app-1 and app-2, our two applications, were called made up."""
    assert by_pattern(["app-1", "app-2"]) == {}
    (ids,) = by_pattern(["app-1", "app-2", "app-3", "app-3"]).values()
    assert ids == ["app-1", "app-2", "app-3"]


def test_the_largest_group_comes_first() -> None:
    """The three worst were on the second page."""
    ids = [f"a-{uuid.UUID(int=n)}" for n in range(2)] + [f"b-{uuid.UUID(int=n)}" for n in range(5)]
    assert [(pattern, len(several)) for (pattern, _), several in by_pattern(ids).items()] == [("b-*", 5), ("a-*", 2)]


@given(st.text(max_size=60))
def test_any_name_has_an_answer(client_id) -> None:
    """A hostile client-id ended the report."""
    made = made_up(client_id)
    assert made is None or len(made[0]) <= len(client_id) + 1
