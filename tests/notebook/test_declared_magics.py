"""`%kadmin export` and `%kplan from` in a notebook."""

from __future__ import annotations

import pytest

import kadmin_nb as kn

pytestmark = pytest.mark.broker


def test_a_file_goes_out_and_comes_back(live, cluster, name, tmp_path):
    """The file of the terminal could not be had in the notebook."""
    user, place = name("user"), tmp_path / "c.yaml"
    text = live("%kadmin export --kinds quotas")
    assert kn.state.read(str(text)).cluster_id == cluster.id
    assert str(text).startswith("# Quotas and configs")
    assert live(f"%kadmin export --out {place}") is None
    assert len(live(f"%kplan from {place} --prune")) == 0
    place.write_text(f"kadmin: 1\nquotas:\n  user={user}: {{producer_byte_rate: 5MB/s}}\n")
    plan = live(f"%kplan from {place}")
    assert [(str(change.resource), change.after) for change in plan.changes] == [(f"user={user}", "5000000")]
    assert len(cluster.stage) == 0
    assert live(f"%kplan from {place} --apply").ok
    assert len(live(f"%kplan from {place} --apply")) == 0
    live.refused(f"%kplan from {tmp_path}/none.yaml", kn.NotFound)
    assert len(cluster.plan_from(place, prune=False)) == 0
    live(f"%kquota remove producer_byte_rate user={user} --apply")
