"""Why a client is limited, asked of a cluster: one screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import ipywidgets
import pandas as pd
import pytest

import kadmin_nb as kn
from kadmin_nb import hints
from kadmin_nb.frames.blocks import WHOLE, window
from kadmin_nb.plans.stage import edits_of
from kadmin_nb.resolution.shadows import words_of
from kadmin_nb.widgets.panel import StagingPanel


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
    assert answer._title() == f"{limited}/app is limited by producer 1 MB/s per broker, level 3 of 8."
    row = next(row for row in answer.to_arrow().to_pylist() if row["key"] == "producer_byte_rate")
    assert (row["entity"], row["total"], row["brokers"]) == (f"user={limited}", None, 1)
    assert "its client-ids" in repr(answer)


def test_every_key_has_its_row(cluster, unique) -> None:
    """Nothing was shown for a client without limits, and I took it for a slip in the name."""
    answer = cluster.quotas.why(unique("nobody"))
    assert len(answer) == 4
    assert answer._title().endswith(" has no limit: no quota of these levels is set for it.")
    assert answer.to_arrow()["value"].null_count == 4


def test_a_client_without_a_client_id_is_not_all_of_its_user(cluster, limited) -> None:
    """Why is bob limited? By 1 MB/s, it said; his clients had client-ids, and another limit."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "256KiB/s", user=limited, client_id=kn.DEFAULT)
    stage.plan().apply().raise_for_errors()
    answer = cluster.quotas.why(limited)
    assert answer._title().startswith(f"user={limited} (no client-id) is limited by producer 1 MB/s per broker")
    assert (
        "producer reaches only clients without a client-id; "
        f"all others keep user={limited} client-id=<default> (256 KiB/s)"
    ) in answer.as_text(WHOLE)
    assert "only clients without a client-id" not in cluster.quotas.why(limited, "app").as_text(WHOLE)


def test_a_change_that_lifts_is_staged_and_lifts(cluster, limited) -> None:
    """It told what to do, and I had to type it again."""
    lift = cluster.quotas.why(limited, "app", keys=["producer_byte_rate"])
    assert words_of(lift.lifts[0].edit) == f"set producer_byte_rate=2MB/s user={limited} client-id=app"
    stage = cluster.new_stage()
    stage.add([lift.edit(1)])
    stage.plan().apply().raise_for_errors()
    rows = cluster.quotas.resolve(limited, "app", keys=["producer_byte_rate"]).to_arrow().to_pylist()
    assert rows[0]["value"] == 2e6


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
        f"{limited}/app is slowed by a neighbour in a shared limit, user={limited} client-id=batch: "
        f"producer_byte_rate of user={limited} (1 MB/s) is shared with user={limited} client-id=batch, which used most "
        "of it; throttled for up to 700 ms, in 50 % of the windows, first at 2026-11-01 00:00:00Z"
    )
    lines = answer._at(hints.terminal).as_text(window(100, "")).splitlines()
    change = f"kadmin-nb quota set producer_byte_rate=1MB/s user={limited} client-id=app"
    assert lines[lines.index("To lift it:") + 1].strip() == change
    assert str(answer.edit(1).resource) == f"user={limited} client-id=app"
    assert f"shared with {limited}/batch" in repr(answer)


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


LADDER = """
team-orders/billing is held by producer 5 MB/s per broker, level 2 of 8.
producer  ██████████████████▊░  4.7 of 5 MB/s on broker 1 (94 %), throttled in 50 % of windows
Read from 1 of 1 brokers, 2026-11-01 00:00:00Z to 00:00:02Z, 2 rows.

   set on (first from the top wins)       producer   consumer  request %
1  user=team-orders client-id=billing            .          .          .
2  user=team-orders client-id=<default>   * 5 MB/s          .          .
3  user=team-orders                      ⊘ 20 MB/s  * 40 MB/s          .
4  user=<default> client-id=billing              .          .          .
5  user=<default> client-id=<default>            .          .          .
6  user=<default>                         ⊘ 2 MB/s   ⊘ 4 MB/s     * 50 %
7  client-id=billing                             .          .          .
8  client-id=<default>                           .          .          .
   shared with                              nobody  none seen  none seen

To raise it (only this client):
  kadmin-nb quota set producer_byte_rate=10MB/s user=team-orders client-id=billing
--all shows 3 other brakes (none active).
--all shows 7 other ways to raise a limit.
"""


@pytest.fixture
def company(cluster) -> kn.Cluster:
    """Quotas of a team at several levels."""
    stage = cluster.new_stage()
    stage.add("""
        set producer_byte_rate=5MB/s user=team-orders client-id=<default>
        set producer_byte_rate=20MB/s consumer_byte_rate=40MB/s user=team-orders
        set producer_byte_rate=2MB/s consumer_byte_rate=4MB/s request_percentage=50% user=<default>
    """)
    stage.plan().apply().raise_for_errors()
    return cluster


def test_the_levels_are_a_ladder_that_fits_on_a_screen(company) -> None:
    """The reasons were a table of ten columns, and two tables more below it: what held the client I did not see."""
    usage = _usage(("team-orders", "billing", 0, 4.7e6, 900.0), ("team-orders", "billing", 1, 4.1e6, None))
    answer = company.quotas.why("team-orders", "billing", usage=usage)._at(hints.terminal)
    assert answer.as_text(window(100, "")) == LADDER.strip("\n")


def test_all_has_every_way_and_says_which_clients_it_reaches(company) -> None:
    """It took all ways in sight to find the one line; and where I wanted another, I had to make it up."""
    answer = company.quotas.why("team-orders", "billing")._at(hints.terminal)
    line = "  kadmin-nb quota remove producer_byte_rate user=team-orders client-id=<default>"
    assert line not in answer.as_text(window(100, ""))
    lines = answer.whole().as_text(window(100, "")).splitlines()
    reach = "3: every client-id of this user without a quota of its own; then 20 MB/s (user=team-orders)"
    assert lines[lines.index(line) - 1] == reach
    assert str(answer.edit(3).resource) == "user=team-orders client-id=<default>"


def test_the_ladder_is_told_apart_without_colour_in_a_notebook(company) -> None:
    """The limit that applies was green, and so I printed it."""
    page = company.quotas.why("team-orders", "billing").as_html()
    assert '<b class="kadmin-good">✓ 5 MB/s</b>' in page
    assert '<span class="kadmin-dim">⊘ 20 MB/s</span>' in page
    assert 'title="level 2 of 8: default client of user">2</span>' in page
    assert 'title="producer_byte_rate">producer</th>' in page


def test_a_line_is_staged_by_a_button(company) -> None:
    """I copied the line that would help into a cell of its own, and ran it."""
    answer = company.quotas.why("team-orders", "billing")
    (first, *others) = _buttons(StagingPanel(answer, answer.stage).widget)
    first.click()
    assert [*edits_of(company.stage).staged()] == [answer.edit(1).target]
    assert len(others) == len(answer.lifts) - 1


def _buttons(widget) -> list[ipywidgets.Button]:
    """The buttons that stage something, in the order of the page."""
    if isinstance(widget, ipywidgets.Button):
        return [widget] if widget.description == "Stage" else []
    return [one for child in getattr(widget, "children", ()) for one in _buttons(child)]
