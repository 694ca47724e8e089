"""`%kadmin diff`: two sides, of which one may be a variable."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def test_a_variable_is_a_side(live, cluster, unique):
    """I saw nothing of what had moved since this morning."""
    user = unique("user")
    live["before"] = cluster.snapshot()
    live(f"%kquota set producer_byte_rate=1MB/s user={user} --apply")
    eventually(lambda: user in repr(kn.diff(live["before"], cluster)), True)
    found = live("%kadmin diff {before}")
    assert repr(found).splitlines()[1].startswith("a: a snapshot")


def test_what_is_no_side_is_refused(live, cluster):
    """It compared the cluster with itself, and all was well."""
    live["before"] = cluster.snapshot()
    live["nothing"] = 5
    live["handed"] = cluster
    assert "a int is neither a cluster, a snapshot nor a plan" in str(
        live.refused("%kadmin diff {nothing}", kn.UsageError)
    )
    assert "are the cluster" in str(live.refused("%kadmin diff {handed}", kn.UsageError))
    assert "both sides are the same" in str(live.refused("%kadmin diff {before} {before}", kn.UsageError))
