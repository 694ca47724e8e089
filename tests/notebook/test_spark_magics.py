"""The verbs over whole fleets in a notebook: frames of Spark's in and out, lazy answers, histories, completion."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from IPython.core.completer import provisionalcompleter

import kadmin_nb as kn
from kadmin_nb.cluster import resolving

pytestmark = pytest.mark.broker

RECORDED = Path(__file__).parents[1] / "analytics" / "recorded"
CLIENTS = pa.table({"user": ["alice", "bob", "carol"], "client_id": ["app", "app", ""]})


def shown(notebook, value) -> tuple[str, str]:
    """As text, and as HTML."""
    data, _ = notebook.shell.display_formatter.format(value)
    return data["text/plain"], data.get("text/html", "")


def test_arrow_is_not_named_below(live):
    """Below three pairs stood how many more Spark would take."""
    live["df"] = CLIENTS
    frame = live("%kquota resolve --pairs df -k producer_byte_rate")
    assert frame["user"].tolist() == ["alice", "bob", "carol"]
    assert "kadmin.engine" not in frame.attrs
    assert all("Arrow" not in text for text in shown(live, frame))


@pytest.mark.spark
def test_spark_frames_in_and_out(live, monkeypatch):
    """My clients were in Spark, and it wanted them in my notebook's memory."""
    live["df"] = kn.spark_session().createDataFrame(CLIENTS)
    frame = live("%kquota resolve --pairs df -k producer_byte_rate --as spark")
    assert {row.user for row in frame.select("user").collect()} == {"alice", "bob", "carol"}
    monkeypatch.setattr(resolving, "ARROW_PAIRS", 2)
    answer = live("%kquota resolve --pairs df -k producer_byte_rate")
    for text in shown(live, answer):
        assert "worked out on Spark" in text
        assert "carol" in text


@pytest.mark.spark
def test_from_a_log_to_who_is_near_a_limit(live):
    """The log, the limits and the clients were three tools."""
    used = live(rf'%kquota usage "{RECORDED}" --broker broker-(\d+)/ --tz UTC --out u')
    assert used is None
    pairs = live("%kquota usage u --clients --as spark")
    assert {"alice", "admin"} <= {row.user for row in pairs.collect()}
    live["pairs"] = pairs
    assert len(live("%kquota resolve --pairs pairs -k producer_byte_rate")) == pairs.count()
    assert str(live.refused("%kquota usage u --broker 1", kn.NotFound)) == "no such path: u"  # a log has a --broker


def test_history_in_a_notebook(live, tmp_path):
    """It was in the terminal alone."""
    lake = tmp_path / "lake"
    assert len(live(f"%kadmin history record {lake}")) == 4
    assert len(live(f"%kadmin history snapshots {lake}")) == 4
    assert live(f"%kadmin diff history:{lake} --as arrow").num_rows == 0
    held = live(f"%kadmin history as-of {lake} 0s ago --configs")
    assert "resource_type" in held.columns


LINES = {
    "%kquota us": ["usage"],
    "%kadmin history as": ["as-of"],
    "%kadmin history re": ["record"],
    "%kquota usage --ut": ["--utilisation"],
    "%kquota resolve --engine ": ["arrow", "spark"],
}


@pytest.mark.parametrize("line", LINES)
def test_the_new_words_complete(notebook, line):
    """I had to look every word up."""
    with provisionalcompleter():
        found = [one.text for one in notebook.shell.Completer.completions(line, len(line))]
    assert found == LINES[line]
