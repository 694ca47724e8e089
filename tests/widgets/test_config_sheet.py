"""The sheet of configs: what is typed becomes the edit that a line would have been, and every cell says its state."""

from __future__ import annotations

import pytest

from kadmin_nb.errors import UsageError
from kadmin_nb.model.resources import Resource
from kadmin_nb.widgets.sheet import DANGER, REFUSED, STAGED, CellText
from tests.widgets.configs_of_double import Sheet, empty_stage, kafka_with

RETENTION, CLEANUP, DELETED = (
    f"topic=orders {key}" for key in ("retention.ms", "cleanup.policy", "delete.retention.ms")
)


@pytest.fixture
def sheet() -> Sheet:
    return Sheet()


def test_what_is_set_stands_above_what_is_not(sheet: Sheet) -> None:
    """I had to scroll through a hundred defaults to find the three settings that somebody made."""
    rows = sheet.rows()
    assert [*rows][:4] == [CLEANUP, DELETED, RETENTION, "topic=orders compression.gzip.level"]
    assert rows[DELETED] == ["topic=orders", "delete.retention.ms", "3600000 (1 h)", "dynamic topic"]
    assert rows["topic=other retention.ms"][2:] == ["604800000 (7 d)", "default"]
    assert (sheet.mark(DELETED).state, sheet.mark("topic=other retention.ms").state) == ("", "applies")


def test_the_one_resource_that_is_edited_is_not_repeated_in_each_row() -> None:
    """The name of the topic took half of the table, in each of its forty rows."""
    sheet = Sheet("topic=orders")
    assert (sheet.sheet.label, [column.name for column in sheet.sheet.columns]) == (
        "Configs of topic=orders",
        ["key", "value", "source"],
    )


@pytest.mark.parametrize(
    ("row", "text", "staged"),
    [
        (RETENTION, "7d", ("set", "604800000")),
        (RETENTION, "604800000 (7 d)", ("set", "604800000")),
        (RETENTION, "-1", ("set", "-1")),
        (RETENTION, "86400000", None),
        (RETENTION, "", ("delete", None)),
        ("topic=other retention.ms", "", None),
        ("topic=other retention.ms", "604800000 (7 d)", None),
        ("topic=other segment.bytes", "1MiB", ("set", "1048576")),
        ("topic=other preallocate", "true", ("set", "true")),
        ("topic=other min.cleanable.dirty.ratio", "0.7", ("set", "0.7")),
        ("topic=other compression.type", "zstd", ("set", "zstd")),
        (CLEANUP, "compact,delete", ("set", "compact,delete")),
        (CLEANUP, "delete", ("set", "delete")),
        (CLEANUP, '""', ("set", "")),
        ("topic=other cleanup.policy", '""', ("set", "")),
        ("topic=other cleanup.policy", "delete,compact", ("set", "delete,compact")),
        ("topic=other cleanup.policy", "compact,delete", ("set", "compact,delete")),
    ],
)
def test_a_text_is_the_edit_that_a_line_would_be(sheet: Sheet, row: str, text: str, staged: object) -> None:
    """I typed 7d and the plan had something else than `%kconfig set retention.ms=7d` has."""
    sheet.type(row, text)
    assert sheet.staged(row) == staged
    assert not sheet.sheet.refused()


@pytest.mark.parametrize(
    ("row", "text", "reason"),
    [
        (RETENTION, "soon", "soon is not a number"),
        (RETENTION, "1,5d", "1,5d is not a number"),
        (RETENTION, "7GB", "7GB does not fit retention.ms. retention.ms takes ms, s, min, h, d."),
        (RETENTION, "1.5ms", "retention.ms cannot be 1.5ms: that is 1.5, not a whole number of ms"),
    ],
)
def test_a_text_that_does_not_fit_stays_in_its_cell_with_the_reason(
    sheet: Sheet, row: str, text: str, reason: str
) -> None:
    """My slip vanished, and I had to guess what was wrong with it."""
    assert not sheet.type(row, text).ok
    mark = sheet.mark(row)
    assert (mark.state, mark.note) == (REFUSED, reason)
    assert (sheet.value(row), sheet.staged(row)) == (text, None)
    assert sheet.sheet.undo().ok
    assert not sheet.sheet.refused()


def test_a_reset_shows_what_will_apply(sheet: Sheet) -> None:
    """I emptied the cell, and learned after the apply that seven days hold now."""
    sheet.type(DELETED, "")
    mark = sheet.mark(DELETED)
    assert sheet.value(DELETED) == "86400000 (1 d)"
    assert (mark.state, mark.note, mark.old) == (STAGED, "reset: 86400000 (1 d) applies then", "3600000 (1 h)")


def test_the_danger_is_there_before_the_plan(sheet: Sheet) -> None:
    """I learned that an hour of retention deletes records when I had planned all forty rows."""
    sheet.type(RETENTION, "1h")
    mark = sheet.mark(RETENTION)
    assert mark.state == DANGER
    assert mark.note.endswith(
        "86400000 (1 d) becomes 3600000 (1 h): records beyond it are deleted for good, within minutes"
    )


def test_the_danger_of_a_reset_goes_by_what_applies_then() -> None:
    """The reset of min.insync.replicas left one copy, and no cell said so."""
    sheet = Sheet(kafka=kafka_with({("topic=orders", "min.insync.replicas"): "2"}))
    sheet.stage.set_config("min.insync.replicas", 2, topic="other")
    assert sheet.mark("topic=other min.insync.replicas").state == STAGED
    sheet.type("topic=orders min.insync.replicas", "")
    mark = sheet.mark("topic=orders min.insync.replicas")
    assert mark.state == DANGER
    assert "2 becomes 1" in mark.note


@pytest.mark.parametrize(
    ("row", "choices"),
    [
        ("topic=other preallocate", ("true", "false")),
        ("topic=other cleanup.policy", ()),
        ("topic=other retention.ms", ()),
    ],
)
def test_a_cell_has_the_editor_of_its_type(sheet: Sheet, row: str, choices: object) -> None:
    """I had to know by heart what preallocate takes."""
    page = sheet.page()
    editor = next(editor for number, _, editor in page.editors if page.keys[number] == row)
    assert (tuple(editor.choices), editor.is_locked) == (choices, False)


def test_read_only_configs_cannot_be_edited() -> None:
    """The grid let me change node.id, and the broker refused the whole plan."""
    sheet = Sheet("broker=1")
    page = sheet.page()
    locked = {page.keys[number] for number, _, editor in page.editors if editor.is_locked}
    assert locked == {"broker=1 node.id", "broker=1 num.partitions"}
    assert "restart" in sheet.mark("broker=1 node.id").note
    assert not sheet.type("broker=1 node.id", "2").ok
    assert not len(sheet.stage)


def test_loggers_take_levels() -> None:
    """A level that Kafka lacks came back as a broker's stack trace."""
    sheet = Sheet("broker-logger=1")
    sheet.type("broker-logger=1 kafka.server.KafkaApis", "debug")
    assert sheet.staged("broker-logger=1 kafka.server.KafkaApis") == ("set", "DEBUG")


def test_groups_and_client_metrics_are_rows_like_others() -> None:
    """The editor knew topics and brokers alone."""
    sheet = Sheet("group=g", "client-metrics=cm")
    sheet.type("group=g consumer.session.timeout.ms", "50s")
    sheet.type("client-metrics=cm match", "client_id=app.*")
    assert sheet.staged("group=g consumer.session.timeout.ms") == ("set", "50000")
    assert sheet.staged("client-metrics=cm match") == ("set", "client_id=app.*")


def test_a_topic_that_is_gone_is_a_row_with_its_error() -> None:
    """One topic of forty had been deleted, and the whole editor failed."""
    sheet = Sheet("topic=gone", "topic=orders")
    rows = sheet.rows()
    assert rows["topic=gone"][3] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert RETENTION in rows
    assert not sheet.type("topic=gone", "1").ok


def test_code_that_stages_shows_in_the_open_table(sheet: Sheet) -> None:
    """I staged from a cell, and the widget above still showed the old value."""
    sheet.stage.set_config("retention.ms", "2d", topic="orders")
    sheet.stage.set_config("retention.ms", "3d", topic="elsewhere")  # of no row here: the plan has it
    assert sheet.value(RETENTION) == "172800000 (2 d)"
    assert (len(sheet.sheet._judge()), len(sheet.stage)) == (1, 2)


def test_two_tables_over_one_stage_stay_in_step() -> None:
    """Two notebooks' cells showed two truths."""
    stage = empty_stage()
    one, other = Sheet(stage=stage), Sheet(stage=stage)
    one.type(RETENTION, "2d")
    assert other.value(RETENTION) == "172800000 (2 d)"
    one.sheet.undo()
    assert other.mark(RETENTION).state == ""


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("topic=ord*cleanup", [CLEANUP]),
        ("orders retention.b", ["topic=orders local.retention.bytes", "topic=orders retention.bytes"]),
        ("topic=ord min.in", ["topic=orders min.insync.replicas"]),
        ("INSYNC", ["topic=orders min.insync.replicas", "topic=other min.insync.replicas"]),
    ],
)
def test_words_choose_rows(sheet: Sheet, words: str, shown: list[str]) -> None:
    """I wanted the retention of the orders topics, and got a thousand rows."""
    assert sheet.arrange(words=words) == shown


def test_one_can_look_at_what_is_staged_alone(sheet: Sheet) -> None:
    """Of two thousand rows I had changed three, and could not find them."""
    sheet.type(RETENTION, "2d")
    sheet.type("topic=other segment.ms", "soon")
    sheet.type("topic=other unclean.leader.election.enable", "true")
    edited = [RETENTION, "topic=other segment.ms", "topic=other unclean.leader.election.enable"]
    assert sheet.arrange(show="staged") == edited
    sheet.sheet.undo()
    assert sheet.arrange(show="staged") == edited[:2]
    assert sheet.arrange(show="set") == [CLEANUP, DELETED, RETENTION]


def test_rows_that_there_are_not_stage_nothing(sheet: Sheet) -> None:
    """A message named a row of another table, and half of the paste was staged."""
    cells = [CellText(0, RETENTION, "value", "2d"), CellText(1, "topic=nobody retention.ms", "value", "2d")]
    for wrong in (cells, [CellText(0, RETENTION, "source", "2d")]):
        with pytest.raises(UsageError):
            sheet.sheet.edit(wrong)
    assert not len(sheet.stage)


def test_reading_again_keeps_what_is_staged(sheet: Sheet) -> None:
    """I read again to see the others' changes, and lost mine."""
    sheet.type(RETENTION, "2d")
    sheet.kafka.cluster.write((Resource.of("topic", "orders"), "cleanup.policy"), "delete")
    sheet.kafka.sleep(1)  # until the broker has it
    assert sheet.editor.read_again().text == f"reloaded: {len(sheet.rows()):,} rows"
    assert (sheet.value(CLEANUP), sheet.value(RETENTION)) == ("delete", "172800000 (2 d)")


def test_an_edit_of_a_topic_that_was_removed_meanwhile_stays_and_says_so(sheet: Sheet) -> None:
    """Somebody deleted the topic while I typed, and my edit was gone without a word."""
    sheet.kafka.cluster.topics -= {"orders"}
    assert sheet.type(RETENTION, "2d").ok
    sheet.editor.read_again()
    assert sheet.staged(RETENTION) == ("set", "172800000")
    assert sheet.rows()["topic=orders"][3] == "UNKNOWN_TOPIC_OR_PARTITION"
