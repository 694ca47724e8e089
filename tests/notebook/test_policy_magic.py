"""`%kadmin policy check`, and a profile's policy beside the stage, in a notebook."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.policy import PolicyAnswer

pytestmark = pytest.mark.broker


def test_a_stage_is_judged_before_it_is_shown(notebook, kafka, name, tmp_path, monkeypatch):
    """The policy was in force when a line was staged, and forgotten when the plan was made."""
    live = notebook
    user, place = name("user"), tmp_path / "policies.py"
    place.write_text(
        f'def ceiling(quotas):\n    """ask first"""\n'
        f'    return quotas[(quotas.user == "{user}") & (quotas.key != "producer_byte_rate")]\n'
    )
    (tmp_path / "kadmin-nb.toml").write_text(
        f'[profiles.dev]\nbootstrap = "{kafka.bootstrap}"\npolicy = "policies.py"\n'
    )
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    live("%kadmin use dev")
    live(f"%kquota set consumer_byte_rate=1MB/s user={user}")
    live(f"%kquota set producer_byte_rate=1MB/s user={user}")
    error = live.refused("%kquota plan", kn.PlanRefused)
    assert "breaks ceiling" in str(error)
    assert "ask first" in str(error)
    live.refused("%kquota apply")
    live("%kquota discard")
    answer = live(f"%kadmin policy check {place}")
    assert isinstance(answer, PolicyAnswer)
    assert answer.ok
    with kafka.connect() as cluster:
        live["held"] = cluster.snapshot()
    assert live(f"%kadmin policy check {place} {{held}}").ok
    assert "held is not a file, not a profile" in str(live.refused(f"%kadmin policy check {place} held"))


def test_rules_of_a_cell_are_checked(live, kafka, name):
    """I had to write a file for the rule that I was trying."""
    with kafka.connect() as cluster:
        live["cluster"] = cluster
        live("def none(quotas):\n    'Nobody.'\n    return quotas[:0]")
        assert live("import kadmin_nb as kn\nkn.check(none, cluster)").ok
        error = live.refused("def wrong(quota):\n    'Nobody.'\nkn.check(wrong, cluster)", kn.UsageError)
    assert "rule wrong: quota is not a frame" in str(error)
