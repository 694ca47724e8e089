"""`%kadmin policy check`, and `--policy` beside the tray, in a notebook."""

from __future__ import annotations

import pytest

import kadmin_nb as kn

pytestmark = pytest.mark.broker


def test_a_tray_is_judged_before_it_is_shown(live, kafka, name, tmp_path):
    """The policy was named when the first line was staged, and forgotten when the plan was made."""
    user, place = name("user"), tmp_path / "p.toml"
    place.write_text(
        f'[[rule]]\nname = "ceiling"\nreason = "ask first"\nframe = "QUOTAS"\nwhere = {{ user = "{user}" }}\n'
        'must = { key = "producer_byte_rate" }\n'
    )
    live(f"%kquota set consumer_byte_rate=1MB/s user={user} --policy {place}")
    live(f"%kquota set producer_byte_rate=1MB/s user={user}")
    error = live.refused("%kquota plan", kn.PlanRefused)
    assert "breaks ceiling" in str(error)
    assert "ask first" in str(error)
    live.refused("%kquota apply")
    live("%kquota discard")
    live(f"%kquota set consumer_byte_rate=1MB/s user={user}")
    live("%kquota plan")
    assert "breaks ceiling" in str(live.refused(f"%kquota apply --policy {place}", kn.PlanRefused))
    answer = live(f"%kadmin policy check {place}")
    assert isinstance(answer, kn.policy.PolicyAnswer)
    assert answer.ok
    with kafka.connect() as cluster:
        live["held"] = cluster.snapshot()
    assert live(f"%kadmin policy check {place} --snapshot held").ok
    assert "held is a int, not a snapshot" in str(
        live.refused(f"held = 3\n%kadmin policy check {place} --snapshot held")
    )
