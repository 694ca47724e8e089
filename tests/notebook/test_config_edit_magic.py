"""`%kconfig edit`: the editor of configs over the session's stage; in a terminal's IPython a table."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.widgets.editor import ConfigEditor
from kadmin_nb.widgets.sheet import CellText

pytestmark = pytest.mark.broker

RETENTION = "broker=1 log.retention.ms"


def test_what_is_typed_is_staged_for_the_plan_of_the_session(live, capsys):
    """I typed into the table, and `%kconfig plan` said that nothing was staged."""
    editor = live("%kconfig edit broker=1 broker-logger=1 group=g client-metrics=cm topic=gone")
    assert isinstance(editor, ConfigEditor)
    editor.sheet.edit([CellText(0, RETENTION, "value", "14d")])
    editor.sheet.edit([CellText(0, "broker-logger=1 kafka.server.KafkaApis", "value", "debug")])
    plan = live("%kconfig plan")
    assert plan.to_arrow()["wanted"].to_pylist() == ["1209600000", "DEBUG"]
    live("%kconfig set log.retention.ms=7d broker=1")
    assert editor.sheet.cell(RETENTION).state.change.wanted == "604800000"
    live("%kconfig discard")
    assert editor.sheet.cell(RETENTION).state is None
    editor._ipython_display_()
    assert "topic=gone" in capsys.readouterr().out


def test_a_resource_is_required(live):
    """`%kconfig edit` alone read every topic of the cluster."""
    assert "a resource is required" in str(live.refused("%kconfig edit", kn.UsageError))
