"""What the limits of all clients add up to on a broker: buckets once, defaults, what-ifs; files that are wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS

PRODUCE, FETCH, REQUEST, _ = USER_CLIENT_KEYS
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MB = 1e6


def quota(level: str, value: float, user: str | None = None, client_id: str | None = None, key: str = PRODUCE):
    entity = " ".join(f"{kind}={name}" for kind, name in (("user", user), ("client-id", client_id)) if name)
    return {"entity": entity or level, "level": level, "user": user, "client_id": client_id, "key": key, "value": value}


QUOTAS = schemas.table(
    schemas.QUOTAS,
    [
        quota("USER", 30 * MB, "alice"),
        quota("CLIENT_OF_USER", 20 * MB, "bob", "etl"),
        quota("DEFAULT_USER", 5 * MB),
        quota("DEFAULT_USER", 50.0, key=REQUEST),
    ],
)
CLIENTS = schemas.table(
    schemas.PAIRS,
    [
        {"user": user, "client_id": name}
        for user, name in [("alice", "a"), ("alice", "b"), ("bob", "etl"), ("bob", "x"), ("carol", "x"), ("carol", "y")]
    ],
)
STATED = """
[[brokers]]
ids = [1]
bytes_in = "100MB/s"
threads = 4

[[brokers]]
bytes_in = "25MB/s"
"""


def used(broker: int, at: float, value: float, user: str = "alice", key: str = PRODUCE) -> dict[str, object]:
    start = NOON + timedelta(seconds=at)
    window = {"window_start": start, "window_end": start + timedelta(seconds=1), "source": "test"}
    return {"broker": broker, "user": user, "client_id": "a", "key": key, "value": value, **window}


USED = schemas.table(
    schemas.USAGE,
    [used(1, 0, 4 * MB), used(1, 0, 3 * MB, "bob"), used(1, 1, 6 * MB), used(2, 0, 2 * MB), used(2, 0, 9.0, key=FETCH)],
)


@pytest.fixture
def stated(tmp_path):
    place = tmp_path / "capacity.toml"
    place.write_text(STATED)
    return place


@pytest.fixture(params=["arrow", pytest.param("spark", marks=pytest.mark.spark)])
def clients(request):
    return CLIENTS if request.param == "arrow" else to_spark(CLIENTS, request.getfixturevalue("spark"))


def row_of(answer, broker: int, key: str = PRODUCE, case: str = "now") -> dict[str, object]:
    (row,) = [row for row in answer if (row["broker"], row["key"], row["case"]) == (broker, key, case)]
    return row


def test_a_bucket_counts_once_however_many_share_it(clients, stated):
    """Two clients of one user were two limits, and the broker looked twice as full as it could get."""
    answer = kn.capacity(QUOTAS, clients, brokers=[1, 2], stated=stated)
    assert row_of(answer, 1) == {
        "broker": 1, "key": PRODUCE, "case": "now", "clients": 6, "buckets": 4, "unlimited": 0, "promised": 60 * MB,
        "capacity": 100 * MB, "source": "stated", "seen": None, "headroom": 40 * MB, "oversubscription": 0.6,
        "fill": None,
    }  # fmt: skip
    second = row_of(answer, 2)
    assert (second["oversubscription"], second["headroom"], second["fill"]) == (2.4, -35 * MB, 1)
    assert row_of(answer, 1, REQUEST)["capacity"] == 400.0
    assert (row_of(answer, 1, FETCH)["unlimited"], row_of(answer, 1, FETCH)["capacity"]) == (6, None)
    assert [*answer.fillers] == [
        {"key": PRODUCE, "value": 30 * MB, "buckets": 1, "example": "user=alice", "total": 30 * MB}
    ]
    assert str(answer).splitlines()[0] == (
        "producer_byte_rate: limits of 60 MB/s on each broker, 240 % of the 25 MB/s stated of broker 2; "
        "1 of 4 buckets could fill it"
    )


def test_clients_that_are_expected_have_the_limits_of_the_defaults(stated):
    """Twenty teams were to come, and nobody had counted what the default gives each."""
    answer = kn.capacity(QUOTAS, CLIENTS, brokers=[1, 2], stated=stated, expected=20)
    row = row_of(answer, 2)
    assert (row["promised"], row["buckets"], row["clients"]) == (160 * MB, 24, 6)
    assert row_of(answer, 2, FETCH)["unlimited"] == 26
    alone = kn.capacity(QUOTAS, brokers=[1, 2], stated=stated, expected=20)
    assert (row_of(alone, 2)["promised"], row_of(alone, 2)["fill"]) == (100 * MB, 5)


def test_what_was_seen_stands_for_a_capacity_that_nobody_states():
    """Without a file it had no answer at all."""
    answer = kn.capacity(QUOTAS, usage=USED)
    row = row_of(answer, 1)
    assert (row["capacity"], row["source"], row["seen"], row["clients"]) == (7 * MB, "seen at most", 7 * MB, 2)
    assert (row["promised"], row["fill"]) == (35 * MB, 1)


def test_what_ifs_stand_beside_now(stated):
    """The answer was of tomorrow, and nobody could tell from what."""
    after = schemas.table(schemas.QUOTAS, [quota("DEFAULT_USER", 10 * MB)])
    how = {"brokers": [1, 2], "stated": stated, "usage": USED, "keys": [PRODUCE], "add": ["3x20MB/s"], "without": [2]}
    answer = kn.capacity(QUOTAS, CLIENTS, **how, after=after)
    assert [(row["broker"], row["case"]) for row in answer] == [
        (1, "now"), (2, "now"), (1, "with 3x20MB/s, without broker 2, after the plan"),
    ]  # fmt: skip
    *_, then = answer
    assert (then["promised"], then["buckets"], then["seen"]) == (30 * MB + 60 * MB, 6, 9 * MB)
    more = kn.capacity(QUOTAS, CLIENTS, brokers=[1, 2], stated=stated, add=["producer_byte_rate=4x20MB/s"])
    assert row_of(more, 1, case="with producer_byte_rate=4x20MB/s")["fill"] == 5


@pytest.mark.broker
def test_what_brokers_of_this_cluster_can_do_comes_first(cluster, tmp_path):
    """A file for three clusters was read as if it were of none; and one without brokers stated nothing, in silence."""
    place = tmp_path / "capacity.toml"
    groups = {"1MB/s": "", "7MB/s": f'cluster = "{cluster.id}"', "9MB/s": 'cluster = "another"'}
    place.write_text("".join(f'[[brokers]]\nbytes_in = "{rate}"\n{whose}\n' for rate, whose in groups.items()))
    answer = cluster.quotas.capacity(CLIENTS, stated=str(place), keys=[PRODUCE])
    assert {(row["capacity"], row["source"]) for row in answer} == {(7 * MB, "stated")}
    place.write_text("")
    stage = cluster.stage()
    stage.set_quota(PRODUCE, 5 * MB, user="alice")
    plan = stage.plan()
    for ask in (lambda: cluster.quotas.capacity(CLIENTS, stated=place), lambda: cluster.impact(plan, CLIENTS, place)):
        with pytest.raises(kn.UsageError, match="no capacity of brokers"):
            ask()


def test_clients_from_usage_count_once(clients):
    """A client with a thousand windows was a thousand clients."""
    answer = kn.capacity(QUOTAS, pa.concat_tables([USED, USED]), brokers=[1])
    assert row_of(answer, 1)["clients"] == 2


WRONG = [
    ('[[brokers]]\nids = [9]\nbytes_in = "1MB/s"\n', kn.NotFound, r"there is no broker 9"),
    ('[[brokers]]\nbytes_in = "100"\n', kn.UsageError, r"capacity\.toml: bytes_in has no unit"),
    ("[[brokers]]\nbytes_in = 100\n", kn.UsageError, r"capacity\.toml: bytes_in has no unit"),
    ('[[brokers]]\nbytes_in = "50%"\n', kn.UsageError, r"% does not fit producer_byte_rate"),
    ('[[brokers]]\nbyte_in = "1MB/s"\n', kn.UsageError, r"byte_in is not a capacity"),
    ("[[brokers]]\nthreads = 0\n", kn.UsageError, r"threads is not a number of threads"),
    ("[[brokers]]\nids = 1\nthreads = 1\n", kn.UsageError, r"ids is not a list of ids"),
    ("[[brokers]]\nthreads = 1\n[[brokers]]\nthreads = 2\n", kn.UsageError, r"capacity of all others is there twice"),
    ("[broker]\nthreads = 1\n", kn.UsageError, r"capacity\.toml: broker is not a word of a file of capacities"),
]


@pytest.mark.parametrize(("text", "kind", "message"), WRONG)
def test_a_capacity_that_is_wrong_is_refused_in_one_line(tmp_path, text, kind, message):
    """The capacity of a broker that had been taken away was counted for years."""
    place = tmp_path / "capacity.toml"
    place.write_text(text)
    with pytest.raises(kind, match=message) as refused:
        kn.capacity(QUOTAS, CLIENTS, brokers=[1, 2], stated=place)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"add": ["20MB/s"]}, "does not say how many clients"),
        ({"add": ["3x20"]}, "3x20 has no unit"),
        ({"add": ["controller_mutation_rate=3x20/s"]}, "controller_mutation_rate is not limited on each broker"),
        ({"without": [7]}, "there is no broker 7"),
        ({"without": [0]}, "there is no broker 0"),
        ({"keys": ["connection_creation_rate"]}, "is not limited on each broker"),
    ],
)
def test_what_ifs_that_are_wrong_are_refused(how, message):
    """It added nothing, and said that all was well."""
    with pytest.raises(kn.KadminError, match=message):
        kn.capacity(QUOTAS, CLIENTS, brokers=[1], **how)


def test_without_any_client_there_is_nothing_to_add_up():
    """Nothing was promised, it said, as nobody had told it who there is."""
    with pytest.raises(kn.UsageError, match="no clients are known"):
        kn.capacity(QUOTAS, brokers=[1])
