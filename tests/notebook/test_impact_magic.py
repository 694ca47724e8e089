"""`%kquota plan --impact NAME`: what is staged, and with its impact below it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas

pytestmark = pytest.mark.broker

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def usage(user: str) -> pd.DataFrame:
    """Half a minute of one client at twice 1 MB/s."""
    windows = [NOON + timedelta(seconds=n) for n in range(30)]
    same = {"broker": 1, "user": user, "client_id": "app", "key": "producer_byte_rate", "value": 2e6, "source": "test"}
    rows = ({**same, "window_start": start, "window_end": start + timedelta(seconds=1)} for start in windows)
    return kn.Answer(schemas.table(schemas.USAGE, rows)).to_pandas()


def test_a_plan_shows_whom_it_touches_and_can_still_be_applied(live, unique):
    """I looked at the impact, and then had to plan again to apply."""
    user = unique("user")
    clients = live["clients"] = pd.DataFrame({"user": [user], "client_id": ["app"]})
    live(f"%kquota set producer_byte_rate=1MB/s user={user}")
    plan = live("%kquota plan --impact clients")
    found = plan.impact(clients)
    assert found.to_pandas()[["user", "effect", "value_after"]].values.tolist() == [[user, "becomes limited", 1e6]]
    assert (found.backtest, found.stalls) == (None, None)
    shown = repr(plan)
    assert shown.startswith("Plan ")
    assert shown.endswith(repr(found))
    outcomes = live("%kquota apply")
    assert outcomes.ok
    assert outcomes.plan_id == plan.id


def test_apply_knows_the_dangers_that_the_impact_showed(live, unique, tmp_path):
    """The impact said that its client would stop; apply stopped it, and the saved plan was silent too."""
    user, place = unique("user"), tmp_path / "p.json"
    live["seen"] = usage(user).assign(value=9e8)
    live(f"%kquota set producer_byte_rate=20kB/s user={user}")
    plan = live(f"%kquota plan --impact seen --save {place} --reason tried")
    assert len(plan.dangers()) == len(kn.Plan.load(place).dangers()) == 1
    live.refused("%kquota apply")
    outcomes = live(f"%kquota apply --allow 'producer_byte_rate user={user}'")
    assert outcomes.ok
    assert outcomes.plan_id == plan.id


def test_a_usage_also_tells_whom_it_would_have_throttled(live, unique):
    """Every client was below its peak, and half of them stood still."""
    user = unique("user")
    seen = live["seen"] = usage(user)
    live(f"%kquota set producer_byte_rate=1MB/s user={user}")
    plan = live("%kquota plan --impact seen")
    live("%kquota discard")
    found = plan.impact(seen)
    assert found.backtest.to_pandas()["throttled_s"].round().tolist() == [52.0]
    assert found.stalls.to_pandas()["stall_s"].tolist() == [pytest.approx(11.0)]
    assert "1 of 1 buckets would have been throttled" in plan._repr_html_()


def test_names_cannot_become_html(live, unique):
    """A client called <script> ran in the reviewer's browser."""
    user = unique("user")
    live["clients"] = pd.DataFrame({"user": [user], "client_id": ["<script>alert(1)</script>"]})
    live(f"%kquota set producer_byte_rate=1MB/s user={user}")
    html = live("%kquota plan --impact clients")._repr_html_()
    live("%kquota discard")
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


def test_a_name_that_is_no_frame_is_one_line(live):
    """A typing error gave a stack trace."""
    live.refused("%kquota plan --impact nothing_of_that_name")
