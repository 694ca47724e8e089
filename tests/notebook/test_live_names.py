"""Names on Tab: in a shell those that commands showed within the hour, in a notebook the cluster's."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from threading import Event

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from IPython.core.completer import provisionalcompleter

import kadmin_nb as kn
from kadmin_nb.commands import complete, terminal
from kadmin_nb.commands.completions import NamesOfThread, keep_names, names_file, names_of_file
from kadmin_nb.frames.answer import Answer
from kadmin_nb.frames.frame import FRAME
from kadmin_nb.frames.lazy_answer import SparkAnswer
from tests.waiting import eventually


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("KADMIN_CACHE", str(tmp_path))


def _keep(target: str, age: float = 0.0, **names: tuple[str, ...]) -> None:
    place = names_file(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({word.replace("_", "-"): several for word, several in names.items()}))
    os.utime(place, (time.time() - age, time.time() - age))


def _described(*rows: tuple[str, ...]) -> Answer:
    table = pa.table(dict(zip(("user", "client_id", "ip"), zip(*rows, strict=True), strict=False)))
    return Answer(table.replace_schema_metadata({FRAME: b"QUOTAS"}))


def _offered(line: str, target: str = "prod") -> list[str]:
    *words, begun = line.split(" ")
    return complete([*words, "--cluster", target], begun, values=names_of_file)


def test_names_are_offered_behind_their_word(cache) -> None:
    """Tab knew the word user= and none of our users."""
    _keep("prod", user=("alice", "albert", "bob"), topic=("orders",))
    assert _offered("quota describe user=al") == ["user=albert", "user=alice"]
    assert _offered("config describe topic=") == ["topic=orders"]


def test_old_names_are_not_offered(cache) -> None:
    """Tab offered a topic that was deleted yesterday."""
    _keep("prod", age=3601, topic=("orders",))
    assert _offered("config describe topic=") == []


def test_what_a_description_shows_is_offered_for_an_hour(cache) -> None:
    """The second describe forgot the names of the first."""
    _keep("prod", age=3000, user=("alice", "albert"))
    _keep("old", age=3700, user=("alice",))
    keep_names(_described(("alma", None), ("alice", "app"), ("", "app")), "prod")
    kept = json.loads(names_file("prod").read_text())
    assert (kept["user"], kept["client-id"]) == (["albert", "alice", "alma"], ["app"])
    assert not names_file("old").exists()


def test_a_cache_that_cannot_be_written_costs_no_answer(cache, tmp_path) -> None:
    """My home is read-only, and describe ended with an error."""
    (tmp_path / "names").write_text("a file")
    keep_names(_described(("alice", "app")), "prod")
    assert _offered("quota describe user=al") == []


def test_an_answer_of_spark_is_not_read_for_names(cache, monkeypatch) -> None:
    """quota resolve --engine spark showed sixty rows, after all of a million had been read for Tab."""
    monkeypatch.setattr(SparkAnswer, "to_arrow", lambda self: pytest.fail("it was read"))
    keep_names(SparkAnswer(None), "prod")
    assert not names_file("prod").exists()


def test_another_folder_may_mean_another_cluster(cache, tmp_path, monkeypatch) -> None:
    """prod of one project completed the names of another's."""
    _keep("prod", topic=("orders",))
    monkeypatch.chdir(tmp_path)
    assert _offered("config describe topic=") == []
    _keep("a:9092", topic=("orders",))
    monkeypatch.chdir(tmp_path.parent)
    assert _offered("config describe topic=", "a:9092") == ["topic=orders"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"topic": 3}', '{"topic": {"orders": 1}}', "\x00", "[" * 100_000])
def test_a_damaged_file_of_names_is_none(cache, content) -> None:
    """Tab printed a stack trace into my command line."""
    _keep("prod", topic=("orders",))
    names_file("prod").write_text(content)
    assert _offered("config describe topic=") == []


def test_a_name_that_would_paint_the_screen_is_not_offered(cache) -> None:
    """A client-id with an escape sequence cleared my terminal on Tab."""
    _keep("prod", client_id=("app", "a\x1b[2J", "a\u202eb"))
    assert _offered("quota describe client-id=a") == ["client-id=app"]


def test_names_are_kept_for_nobody_else(cache) -> None:
    """Everybody on the host could read which users there are."""
    keep_names(_described(("alice", "app")), "prod")
    assert names_file("prod").stat().st_mode & 0o777 == 0o600


def test_few_valued_configs_and_special_values_need_no_cluster(cache) -> None:
    """I looked up the levels of loggers each time."""
    assert _offered("config set broker-logger=1 kafka.request.logger=D") == ["kafka.request.logger=DEBUG"]
    assert "user=<default>" in _offered("quota set producer_byte_rate=1 user=")


def test_a_notebook_does_not_wait_for_a_cluster(monkeypatch) -> None:
    """Tab hung for half a minute while the cluster was down."""

    def never(target):
        time.sleep(60)
        raise kn.errors.TimedOut("no answer")

    begun = time.monotonic()
    assert list(NamesOfThread(never)("topic", None, [])) == []
    assert time.monotonic() - begun < 20


def test_names_that_come_too_late_are_there_for_the_next_tab(monkeypatch) -> None:
    """A slow cluster had no names, however often I pressed it."""
    answers = Event()

    def names_of(settings):
        answers.wait(10)
        return {"topic": ("orders",)}

    monkeypatch.setattr("kadmin_nb.cluster.near_names.names_of", names_of)
    values = NamesOfThread(lambda target: object())
    assert list(values("topic", None, [])) == []
    answers.set()
    eventually(lambda: list(values("topic", None, [])), ["orders"])


@pytest.mark.broker
def test_a_shell_gets_the_names_of_a_real_cluster(kafka, cluster, unique, tmp_path, monkeypatch) -> None:
    """The names in the file were those of the tests, never of a cluster."""
    monkeypatch.setenv("KADMIN_CACHE", str(tmp_path))
    user, client_id = unique("tab-user"), unique("tab-app")
    _set_quota(cluster, user=user, client_id=client_id)
    for line in (
        f"quota describe user={user}",
        "config describe broker=1 --keys log.retention.ms",
        f"quota describe user={user}x",
    ):
        assert terminal.run_line([*line.split(), "--cluster", kafka.bootstrap]) == 0
    assert _offered(f"quota describe user={user}", kafka.bootstrap) == [f"user={user}"]
    assert _offered(f"quota describe client-id={client_id}", kafka.bootstrap) == [f"client-id={client_id}"]
    assert "broker=1" in _offered("config describe broker=", kafka.bootstrap)


def _set_quota(cluster, **whom) -> None:
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1e6, **whom)
    stage.plan().apply().raise_for_errors()


@pytest.mark.broker
def test_groups_of_a_real_cluster_are_listed(kafka, cluster, unique) -> None:
    """Groups had no names on Tab."""
    group, topic = unique("tab-group"), unique("tab-topic")
    cluster.port.create_topics({topic: 1})
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    try:
        eventually(lambda: _has_committed(consumer, TopicPartition(topic, 0, 0)), True)
        assert group in cluster.port.groups()
    finally:
        consumer.close()


def _has_committed(consumer, position) -> bool:
    """Whether the commit was taken; a coordinator that is loading takes none."""
    with suppress(KafkaException):
        return bool(consumer.commit(offsets=[position], asynchronous=False))
    return False


@pytest.mark.parametrize("line", ["%kquota describe user=zz", "%kquota describe 'user=a", "%kplan show zz"])
def test_python_offers_nothing_in_a_line_of_ours(notebook, line) -> None:
    """Tab offered object, oct and open as users."""
    with provisionalcompleter():
        texts = [one.text for one in notebook.shell.Completer.completions(line, len(line))]
    assert texts == []
