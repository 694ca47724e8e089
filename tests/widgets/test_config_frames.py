"""Configs of a frame in the editor, without a cluster: a snapshot's, a file's."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.errors import UsageError
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.editor import ConfigEditor
from kadmin_nb.widgets.sheet import CellText
from tests.widgets.configs_of_double import kafka_with

ROW = "topic=orders retention.ms"


@pytest.fixture
def frame() -> pa.Table:
    """CONFIGS of one topic, with synonyms and Kafka's descriptions."""
    return kafka_with().configs.describe([Resource.parse("topic=orders")], documentation=True)


def typed(editor: ConfigEditor, text: str) -> str:
    return editor.sheet.edit([CellText(0, ROW, "value", text)]).text


def beside(editor: ConfigEditor) -> str:
    editor._focus = (ROW, "value")
    return "\n".join(map(str, editor.remarks()))


@pytest.mark.parametrize("form", [lambda table: table, pa.Table.to_pandas], ids=["arrow", "pandas"])
def test_a_frame_is_edited_as_a_cluster_is(frame: pa.Table, form: Any) -> None:
    """I have last week's snapshot: let me write the way back in its table."""
    editor = kn.widgets.edit_configs(form(frame))
    assert typed(editor, "7d") == "1 cell staged"
    assert "set retention.ms=604800000 topic=orders" in str(editor.stage.to_cell())
    assert "As Kafka documents it." in beside(editor)
    assert "86400000" in editor.as_text()
    assert editor.read_again().ok


def test_a_frame_without_synonyms_says_less(frame: pa.Table) -> None:
    """My export has neither synonyms nor descriptions, and the editor broke."""
    editor = kn.widgets.edit_configs(frame.drop_columns(["synonyms", "documentation", "error", "message"]))
    assert typed(editor, "7d") == "1 cell staged"
    assert "is not known here" in beside(editor)


def test_the_stage_of_a_cluster_takes_the_edits(frame: pa.Table) -> None:
    """What I typed into the frame was planned nowhere."""
    stage = Stage(lambda *edits: pytest.fail("nothing is planned here"))
    typed(kn.widgets.edit_configs(frame, stage), "7d")
    assert len(stage) == 1
    editor = kn.widgets.edit_configs(frame)
    typed(editor, "7d")
    with pytest.raises(UsageError, match="configs of a frame are bound to no cluster") as refusal:
        editor.stage.plan()
    assert "kn.widgets.edit_configs(frame, stage=cluster.new_stage())" in str(refusal.value.hint)


def doubled(table: pa.Table) -> Any:
    frame = table.to_pandas()
    return pd.concat([frame, frame[frame["key"] == "retention.ms"]])


STRANGE = {
    "a key twice": (doubled, "TOPIC orders has retention.ms twice"),
    "no frame": (lambda table: 7, "the configs are a int, not a frame"),
    "a column missing": (lambda table: table.drop_columns(["value"]), "the configs have no column value"),
    "two clusters": (
        lambda table: pa.concat_tables([table.append_column("cluster_id", pa.array([c] * len(table))) for c in "ab"]),
        "the configs are of several clusters",
    ),
}


@pytest.mark.parametrize(("make", "message"), STRANGE.values(), ids=STRANGE.keys())
def test_a_frame_that_does_not_fit_is_one_line(frame: pa.Table, make: Any, message: str) -> None:
    """A frame that I joined badly had a key twice: which of the two is shown?"""
    with pytest.raises(UsageError, match=message):
        kn.widgets.edit_configs(make(frame))
