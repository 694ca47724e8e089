"""Names on Tab: a notebook asks its cluster."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from IPython.core.completer import provisionalcompleter

import kadmin_nb as kn
from kadmin_nb.commands import complete
from kadmin_nb.commands.completions import NamesOfThread, fixed_values, keys_of_types
from kadmin_nb.model.config_values import VALUES
from tests.waiting import eventually


def _offered(line: str, **names: tuple[str, ...]) -> list[str]:
    *words, begun = line.split(" ")
    return complete(
        words, begun, values=lambda word, target, before: [*fixed_values(word, before), *names.get(word, ())]
    )


def test_a_name_that_would_paint_the_screen_is_not_offered() -> None:
    """A client-id with an escape sequence cleared my terminal on Tab."""
    assert _offered("quota describe user=a", user=("app", "a\x1b[2J", "a\u202eb")) == ["user=app"]


def test_few_valued_configs_and_special_values_need_no_cluster() -> None:
    """I looked up the names of the compression types each time."""
    assert _offered("config set topic=x compression.type=z") == ["compression.type=zstd"]
    assert _offered("config set broker-logger=1 kafka.request.logger=D") == ["kafka.request.logger=DEBUG"]
    assert "user=<default>" in _offered("quota set producer_byte_rate=1 user=")
    assert set(VALUES) <= {key for keys in keys_of_types().values() for key in keys}


def test_a_notebook_does_not_wait_for_a_cluster(monkeypatch) -> None:
    """Tab hung for half a minute while the cluster was down."""

    def never(target):
        time.sleep(60)
        raise kn.errors.TimedOut("no answer")

    begun = time.monotonic()
    assert list(NamesOfThread(never)("topic", None, [])) == []
    assert time.monotonic() - begun < 20


def test_a_cluster_is_asked_before_the_first_tab(monkeypatch) -> None:
    """The first Tab gave nothing, and the second one names."""
    asked = Event()

    def names_of(settings):
        asked.set()
        return {"topic": ("orders",)}

    monkeypatch.setattr("kadmin_nb.cluster.near_names.names_of", names_of)
    values = NamesOfThread(lambda target: object())
    values.begin()
    assert asked.wait(10)
    assert list(values("topic", None, [])) == ["orders"]


@pytest.mark.broker
def test_groups_of_a_real_cluster_are_listed(kafka, cluster, unique) -> None:
    """Groups had no names on Tab."""
    group, topic = unique("tab-group"), unique("tab-topic")
    cluster.port.create_topics({topic: 1})
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    try:
        eventually(lambda: _has_committed(consumer, TopicPartition(topic, 0, 0)), True)
        assert group in cluster.port.group_types()
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
