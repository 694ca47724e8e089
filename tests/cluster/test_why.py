"""Why a client is limited, asked of a cluster: one screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import kadmin_nb as kn
from kadmin_nb import hints
from kadmin_nb.frames.blocks import WHOLE


@pytest.fixture
def cluster(in_memory) -> kn.Cluster:
    return in_memory


START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def limited(cluster, unique):
    """A user with 1 MB/s for all its clients together."""
    user = unique("user")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "1MB/s", user=user)
    stage.plan().apply().raise_for_errors()
    return user


def _usage(*rows: tuple[str, str, int, float, float | None]) -> pd.DataFrame:
    """USAGE of broker 1 for produced bytes: user, client-id, second, value, throttle."""
    return pd.DataFrame(
        {
            "broker": 1,
            "user": user,
            "client_id": client_id,
            "key": "producer_byte_rate",
            "window_start": START + timedelta(seconds=second),
            "window_end": START + timedelta(seconds=second + 1),
            "value": value,
            "throttle_ms": throttle_ms,
            "source": "request log",
        }
        for user, client_id, second, value, throttle_ms in rows
    )


def test_it_says_what_binds_and_what_it_adds_up_to(cluster, limited) -> None:
    """Why am I throttled took three commands."""
    answer = cluster.quotas.why(limited, "app")
    assert answer._title() == f"user={limited} client-id=app is limited by producer_byte_rate, on each broker."
    row = next(row for row in answer.to_arrow().to_pylist() if row["key"] == "producer_byte_rate")
    assert (row["entity"], row["total"], row["brokers"]) == (f"user={limited}", None, 1)
    assert "its client-ids" in repr(answer)


def test_every_key_has_its_row(cluster, unique) -> None:
    """Nothing was shown for a client without limits, and I took it for a slip in the name."""
    answer = cluster.quotas.why(unique("nobody"))
    assert len(answer) == 4
    assert answer._title().endswith(" is unlimited.")
    assert answer.to_arrow()["value"].null_count == 4


def test_a_client_without_a_client_id_is_not_all_of_its_user(cluster, limited) -> None:
    """Why is bob limited? By 1 MB/s, it said; his clients had client-ids, and another limit."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "256KiB/s", user=limited, client_id=kn.DEFAULT)
    stage.plan().apply().raise_for_errors()
    answer = cluster.quotas.why(limited)
    assert answer._title().startswith(f"user={limited} (no client-id) is limited by producer_byte_rate")
    assert (
        "producer_byte_rate: this reaches only clients without a client-id; "
        f"all others keep user={limited} client-id=<default> (256 KiB/s)"
    ) in answer.as_text(WHOLE)
    assert "only clients without a client-id" not in cluster.quotas.why(limited, "app").as_text(WHOLE)


def test_a_change_that_lifts_is_staged_and_lifts(cluster, limited) -> None:
    """It told what to do, and I had to type it again."""
    lift = cluster.quotas.why(limited, "app", to=("producer_byte_rate", 3e6))
    line = f"set producer_byte_rate=3MB/s user={limited} client-id=app"
    assert lift.to_lifts().to_arrow()["line"].to_pylist()[0] == line
    stage = cluster.new_stage()
    stage.add([lift.edit(1)])
    stage.plan().apply().raise_for_errors()
    rows = cluster.quotas.resolve(limited, "app", keys=["producer_byte_rate"]).to_arrow().to_pylist()
    assert rows[0]["value"] == 3e6


def test_usage_tells_who_shares_and_how_often_it_throttled(cluster, limited) -> None:
    """Somebody else of my team used up the limit, and I looked at my own client for an hour."""
    usage = _usage(
        (limited, "app", 0, 2e5, None), (limited, "batch", 0, 9e5, 700.0), (limited, "app", 1, 1e5, None),
        ("other", "app", 1, 5e6, None),
    )  # fmt: skip
    answer = cluster.quotas.why(limited, "app", usage=usage)
    assert answer.sharing["producer_byte_rate"] == [(limited, "app"), (limited, "batch")]
    row = next(row for row in answer.to_arrow().to_pylist() if row["key"] == "producer_byte_rate")
    assert (row["clients"], row["peak"], row["throttle_ms"], row["share_throttled"]) == (2, 1.1e6, 700.0, 0.5)
    assert answer._title() == (
        f"user={limited} client-id=app is slowed by a neighbour in a shared limit, user={limited} client-id=batch: "
        f"producer_byte_rate of user={limited} (1 MB/s) is shared with user={limited} client-id=batch, which used most "
        "of it; throttled for up to 700 ms, in 50 % of the windows, first at 2026-11-01 00:00:00Z. "
        f"To lift it: quota set producer_byte_rate=1MB/s user={limited} client-id=app"
    )
    assert str(answer.edit(1).resource) == f"user={limited} client-id=app"
    assert f"shared with user={limited} client-id=batch" in repr(answer)


def test_clients_of_another_cluster_share_nothing(cluster, limited) -> None:
    """The usage of the whole fleet was given, and staging's batch job shared the limit of production."""
    usage = _usage((limited, "app", 0, 2e5, None), (limited, "batch", 0, 9e5, None))
    usage["cluster_id"] = [cluster.id, "another"]
    answer = cluster.quotas.why(limited, "app", usage=usage)
    assert answer.sharing["producer_byte_rate"] == [(limited, "app")]


def test_without_usage_it_says_how_to_know(cluster, limited) -> None:
    """It did not know, and did not say how one finds out."""
    text = cluster.quotas.why(limited, "app")._at(hints.terminal).as_text()
    assert "Add --for 20s or --usage NAME to see what it used and who shares the limit." in text


@pytest.mark.parametrize("whom", [{"user": ["a", "b"]}, {"user": kn.ANY}, {"user": "a", "client_id": kn.DEFAULT}])
def test_it_is_about_one_client(cluster, whom) -> None:
    """Two users gave an answer about the first."""
    with pytest.raises(kn.UsageError, match="why is about one client"):
        cluster.quotas.why(**whom)


def test_a_change_that_is_not_there_is_refused(cluster, limited) -> None:
    """--stage 9 was a traceback."""
    with pytest.raises(kn.NotFound, match="no change 9"):
        cluster.quotas.why(limited, "app").edit(9)
