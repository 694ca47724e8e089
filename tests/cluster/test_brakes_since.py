"""Since when a config slows something, as a history has it."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.advice.config_brakes import LOCKS

pytestmark = pytest.mark.broker


def test_a_history_tells_since_when_a_config_is_so(cluster, unique, tmp_path):
    """It is set, and nobody remembered whether that was yesterday or last year."""
    history, group = kn.open_history(tmp_path / "history"), unique("group")

    def locked(number: int) -> None:
        stage = cluster.new_stage()
        stage.set_config(LOCKS, str(number), group=group)
        assert stage.plan().apply().ok

    def since() -> list[object]:
        return cluster.configs.why(group=group, history=history).to_arrow()["since"].to_pylist()

    def recorded() -> object:
        snapshot = cluster.snapshot()
        history.record(snapshot)
        return snapshot.taken_at

    recorded()
    locked(150)
    assert since() == [None]
    first = recorded()
    recorded()
    assert since() == [first]
    locked(200)
    assert since() == [None]
    second = recorded()
    assert since() == [second]
    assert cluster.configs.why(group=group).to_arrow()["since"].to_pylist() == [None]


def test_a_history_without_a_snapshot_is_an_error(cluster, unique, tmp_path):
    """A path with a slip in it had nothing to tell."""
    with pytest.raises(kn.NotFound):
        cluster.configs.why(group=unique("group"), history=kn.open_history(tmp_path / "nothing"))
