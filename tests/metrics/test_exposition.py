"""What was found as metrics: hostile names, base units, a bounded number of series."""

from __future__ import annotations

from collections import Counter

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as of_openmetrics
from prometheus_client.parser import text_string_to_metric_families as of_text

from kadmin_nb.cluster import exporter
from kadmin_nb.cluster.exporter import LARGEST_MOST, LONGEST, REST, plain_text_of, text_of
from kadmin_nb.commands import live as verb
from tests.hostile_names import HOSTILE
from tests.metrics.full import Fixed, full_metrics, metrics_of, quotas_of, used_of


def samples(made: Fixed, parse=of_openmetrics, write=text_of) -> list[tuple[str, dict, float]]:
    """The name, labels and value of each series, read again from the text."""
    read = parse(write(made))
    return [(sample.name, sample.labels, sample.value) for family in read for sample in family.samples]


def of(made: Fixed, name: str) -> dict[tuple[str, str, str], float]:
    """A metric by key, level and user."""
    rows = ((labels, value) for named, labels, value in samples(made) if named == f"kadmin_nb_{name}")
    return {(labels["key"], labels["level"], labels["user"]): value for labels, value in rows}


@pytest.mark.parametrize(("parse", "write"), [(of_openmetrics, text_of), (of_text, plain_text_of)])
def test_hostile_names_come_back_as_they_are(parse, write):
    """A user called himself `a"} 1` and the scrape failed."""
    names = ['a"} 1', "a\\n", "a\n", *HOSTILE]
    quotas = quotas_of(*(("USER", name, None, "producer_byte_rate", 1e6) for name in names))
    read = samples(metrics_of(quotas, most=LARGEST_MOST), parse, write)
    users = [labels["user"] for name, labels, _ in read if name == "kadmin_nb_limit_bytes_per_second"]
    assert {name for name in names if len(name) <= LONGEST} <= {*users}
    assert len(users) == len({*users}) == len({*names})


def test_a_default_is_not_a_user_of_that_name():
    """Two series had the same labels, and Prometheus took neither."""
    stored = [("USER", name, None, "producer_byte_rate", 1.0) for name in ("<default>", "rest", "\\0")]
    stored += [("DEFAULT_USER", None, None, "producer_byte_rate", 9.0)]
    found = of(metrics_of(quotas_of(*stored)), "limit_bytes_per_second")
    assert found["producer_byte_rate", "DEFAULT_USER", ""] == 9.0
    assert found["producer_byte_rate", "USER", "<default>"] == 1.0
    assert len(found) == 4


def test_names_that_are_too_long_stay_apart():
    """A client-id of 32,000 characters filled our disk."""
    long = ["x" * 32_000 + end for end in "ab"]
    made = metrics_of(quotas_of(*(("USER", name, None, "producer_byte_rate", 1.0) for name in long)))
    users = [user for _, _, user in of(made, "limit_bytes_per_second")]
    assert len(users) == 2
    assert max(map(len, users)) < LONGEST + 20


def test_the_rest_is_one_series():
    """A limit for each of our 300 users was 300 series of each key."""
    stored = [("USER", f"u{n}", None, "producer_byte_rate", float(n)) for n in range(1, 301)]
    found = of(metrics_of(quotas_of(*stored), most=10), "limit_bytes_per_second")
    assert sorted(found.values())[:10] == [float(n) for n in range(1, 11)]
    assert found["producer_byte_rate", REST, ""] == sum(range(11, 301))
    assert len(found) == 11


def test_the_fullest_are_shown():
    """It showed the smallest limits, and not the one that was full."""
    stored = [("USER", name, None, "producer_byte_rate", limit) for name, limit in (("small", 1.0), ("full", 100.0))]
    used = used_of(("full", "1", "producer_byte_rate", 100.0, 0.9), ("full", "2", "producer_byte_rate", 100.0, 0.2))
    made = metrics_of(quotas_of(*stored), used, 1)
    assert [*of(made, "limit_bytes_per_second")] == [
        ("producer_byte_rate", "USER", "full"),
        ("producer_byte_rate", REST, ""),
    ]
    assert of(made, "utilisation_ratio")["producer_byte_rate", "USER", "full"] == 0.9
    assert of(made, "used_bytes_per_second")["producer_byte_rate", REST, ""] == 20.0


def test_values_are_in_base_units():
    """The board said 50 threads, and it was half of one."""
    made = metrics_of(quotas_of(("USER", "a", None, "request_percentage", 50.0)))
    assert of(made, "limit_request_time_ratio") == {("request_percentage", "USER", "a"): 0.5}


def test_series_are_bounded():
    """Our Prometheus fell over."""
    series = samples(full_metrics(users=700, brokers=30, most=LARGEST_MOST))
    assert len(series) == len({(name, *sorted(labels.items())) for name, labels, _ in series})
    assert 2000 < len(series) <= 5000


def test_every_family_has_series_once():
    """# TYPE was there twice."""
    names = Counter(family.name for family in full_metrics().collect())
    assert {*names.values()} == {1}
    assert len(names) > 13


def test_the_verb_has_the_defaults_of_python():
    """Help named another port than the one that was served."""
    assert (verb.LISTEN, verb.MOST) == (exporter.LISTEN, exporter.MOST)
