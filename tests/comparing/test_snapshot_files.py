"""A snapshot in a file: what was saved is what is read, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import kadmin_nb as kn
from tests.history.hours import failed, taken, topic
from tests.hostile_names import HOSTILE


def test_what_was_saved_is_read(tmp_path: Path) -> None:
    """Last week's snapshot had lost who could not be read."""
    held = taken(
        2, dict.fromkeys(HOSTILE, 5.0), [topic("t", "retention.ms", "1"), failed("u")], scopes=["QUOTAS", "TOPIC"]
    )
    read = kn.Snapshot.load(held.save(tmp_path / "held.parquet"))
    assert repr(read) == repr(held)
    assert read.scopes == ("QUOTAS", "TOPIC")
    for ours, theirs in ((read.quotas, held.quotas), (read.configs, held.configs)):
        assert ours.to_arrow().equals(theirs.to_arrow(), check_metadata=True)
    assert [place.name for place in tmp_path.iterdir()] == ["held.parquet"]


def test_a_cluster_with_nothing_set_is_read_as_one(tmp_path: Path) -> None:
    """An empty staging cluster could not be saved."""
    read = kn.Snapshot.load(taken(0, {}).save(tmp_path / "held.parquet"))
    assert (len(read.quotas), len(read.configs), read.complete) == (0, 0, True)


def test_a_snapshot_on_the_disk_has_no_secret(tmp_path: Path) -> None:
    """The password lay in a Parquet file."""
    place = taken(0, {}, [topic("t", "x.password", "canary", default="canary")]).save(tmp_path / "held.parquet")
    assert "canary" not in parquet.read_table(place).to_pydict().__repr__()


def test_what_is_no_snapshot_is_one_line(tmp_path: Path) -> None:
    """Forty lines of Arrow for a wrong file."""
    frame, text, empty = (tmp_path / name for name in ("frame.parquet", "text.parquet", "empty.parquet"))
    parquet.write_table(pa.table({"entity": ["user=a"]}), frame)
    text.write_text("mine")
    empty.touch()
    for place in (frame, text, empty):
        with pytest.raises(kn.Invalid, match=f"{place.name} cannot be read as a snapshot") as found:
            kn.Snapshot.load(place)
        assert "\n" not in str(found.value)
    with pytest.raises(kn.NotFound, match="no such file"):
        kn.Snapshot.load(tmp_path / "none.parquet")
    with pytest.raises(kn.UsageError, match="is not a file"):
        kn.Snapshot.load(tmp_path)
    with pytest.raises(kn.UsageError, match="is not a name for a snapshot"):
        taken(0, {}).save(tmp_path / "held.json")
    with pytest.raises(kn.NotFound, match="cannot be written"):
        taken(0, {}).save(tmp_path / "nowhere" / "held.parquet")
