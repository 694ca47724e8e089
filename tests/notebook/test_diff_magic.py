"""`%kadmin diff`: two sides, of which one may be a variable; chosen rows fill the stage."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.state.snapshots import snapshot
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def test_rows_of_a_diff_fill_the_stage(live, cluster, unique):
    """I saw what had moved since this morning, and typed it all again to take it back."""
    user = unique("user")
    live["before"] = cluster.snapshot()
    live(f"%kquota set producer_byte_rate=1MB/s user={user} --apply")
    eventually(lambda: user in repr(kn.diff(live["before"], cluster)), True)
    found = live("%kadmin diff {before}")
    assert repr(found).splitlines()[1].startswith("a: a snapshot")
    frame = found.to_pandas()
    (number,) = frame[frame["resource"] == f"user={user}"]["row"]
    stage = live(f"%kadmin diff {{before}} --onto b --rows {found.id}:{number}")
    assert stage.to_pandas()[["op", "resource", "key"]].values.tolist() == [
        ["delete", f"user={user}", "producer_byte_rate"]
    ]
    live("%kquota plan")
    assert live("%kquota apply").ok
    eventually(lambda: len(cluster.quotas.describe(user=user)), 0)


def test_a_side_that_is_no_cluster_or_not_the_current_one(live, cluster):
    """It staged on a cluster that I only looked at."""
    live["before"] = cluster.snapshot()
    live["nothing"] = 5
    live["handed"] = cluster
    assert "a int is neither a snapshot nor a frame" in str(live.refused("%kadmin diff {nothing}", kn.UsageError))
    assert "are the cluster" in str(live.refused("%kadmin diff {handed}", kn.UsageError))
    live["empty"] = snapshot(
        {"quotas": schemas.QUOTAS.empty(), "configs": schemas.CONFIGS.empty()},
        cluster_id="x",
        taken_at=live["before"].taken_at,
    )
    port = cluster.settings.bootstrap.rpartition(":")[2]
    elsewhere = live.refused(f"%kadmin diff {{empty}} localhost:{port} --onto b --rows all", kn.UsageError)
    assert "side b is not the current cluster, and the stage has changes of that one only" in str(elsewhere)
    assert "both sides are the same" in str(live.refused("%kadmin diff {before} {before}", kn.UsageError))
