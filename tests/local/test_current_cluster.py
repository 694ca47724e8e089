"""`local start` makes its cluster the one that the terminal's next lines are about, unless `use` chose another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kadmin_nb.commands import session as chosen_cluster

pytestmark = pytest.mark.broker


@pytest.fixture
def kadmin(tmp_path, monkeypatch):
    """Type a line, in a process and a state folder of its own."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    (tmp_path / "kadmin-nb.toml").write_text("")
    monkeypatch.delenv("KADMIN_PROFILE", raising=False)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        line = [str(Path(sys.executable).parent / "kadmin-nb"), *words]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, env=dict(os.environ))

    return run


def test_the_next_lines_need_no_name(kadmin):
    """Whoever had started one had to copy its address into every line."""
    started = kadmin("local", "start")
    try:
        assert started.stdout.splitlines()[-2:] == ["  kadmin-nb local seed", "  kadmin-nb quota tree"]
        seeds = [kadmin("local", "seed").stdout, kadmin("local", "seed").stdout]  # two of them filled two pagers
        assert seeds == [
            "44 quotas and configs are set, and verified on every broker\n",
            "nothing to change: all 44 quotas and configs are set already\n",
        ]
        changed = kadmin("quota", "set", "producer_byte_rate=5MB/s", "user=alice", "--apply")
        assert changed.returncode == 0
        assert changed.stderr.startswith("current cluster: 127.0.0.1:")
        assert "5 MB/s" in kadmin("quota", "describe").stdout
        assert "current cluster" not in kadmin("quota", "describe").stderr
        kadmin("use", "127.0.0.1:1")
    finally:
        assert kadmin("local", "stop").returncode == 0
    assert chosen_cluster.chosen_cluster() == ("127.0.0.1:1", None)


def test_what_use_chose_stays(monkeypatch, tmp_path):
    """A demo's Kafka took the place of production, or the other way round."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path))
    assert chosen_cluster.choose_local("default", "127.0.0.1:9").local == "default"
    assert chosen_cluster.choose_local("other", "127.0.0.1:10").local == "other"
    chosen_cluster.forget_local("default")
    assert chosen_cluster.default_target() == "127.0.0.1:10"
    chosen_cluster.choose("prod")
    assert chosen_cluster.choose_local("default", "127.0.0.1:9") == ("prod", None)
    chosen_cluster.forget_local("default")
    assert chosen_cluster.default_target() == "prod"
    (tmp_path / "current_cluster.json").write_text("{")
    assert chosen_cluster.default_target() is None
