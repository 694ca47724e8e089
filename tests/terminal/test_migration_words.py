"""Limits of another cluster in a terminal: planned, applied, and proven."""

from __future__ import annotations

import pytest


@pytest.mark.broker
def test_the_lines_of_a_terminal(cluster, kafka, unique, tmp_path, kadmin):
    """In Python it was possible."""
    user, new = unique("user"), unique("user")
    (tmp_path / "old.yaml").write_text(f"kadmin: 1\nquotas:\n  user={user}: {{producer_byte_rate: 6MB/s}}\n")
    (tmp_path / "names.toml").write_text(f'[users]\n"{user}" = "{new}"\n')
    (tmp_path / "clients.csv").write_text(f"user,client_id\n{user},app\n")
    file, moved = str(tmp_path / "old.yaml"), ["--scale", "6:12", "--mapping", str(tmp_path / "names.toml")]
    applied = kadmin("plan", "from", file, "--any-cluster", *moved, "--apply", "--cluster", kafka.bootstrap)
    assert applied.code == 0, applied.err
    assert list(cluster.quotas.describe(user=new).to_arrow()["value"].to_pylist()) == [3e6]
    proof = kadmin("diff", file, kafka.bootstrap, *moved, "--clients", str(tmp_path / "clients.csv"))
    assert proof.out.startswith("Totals of clients before and after: all 4 the same")
