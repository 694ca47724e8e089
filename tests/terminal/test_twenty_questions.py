"""The twenty questions of our users: each is one typed line, asked of a real broker with a real client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from confluent_kafka import Producer

import kadmin_nb as kn
from tests.waiting import eventually

pytestmark = pytest.mark.broker

USER = "ANONYMOUS"
"""What a broker without logins calls everybody."""


class Scene(NamedTuple):
    """A real client that writes as much as its limit lets it, and what was seen of it."""

    app: str
    topic: str
    usage: str
    pairs: str
    history: str


@contextmanager
def _writing(bootstrap: str, client_id: str, topic: str) -> Iterator[None]:
    """A producer that always has something to send."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client_id, "linger.ms": 5})
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            try:
                producer.produce(topic, b"x" * 10_000)
            except BufferError:
                producer.poll(0.1)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        producer.purge()


@pytest.fixture(scope="module")
def scene(kafka, cluster, tmp_path_factory) -> Scene:
    """`app` may write 500 kB/s, and tries more; a redundant quota, a shadowed one, a topic with a config of its own."""
    folder = tmp_path_factory.mktemp("questions")
    app, topic = "q-app", "q-orders"
    cluster.port.create_topics({topic: 1})
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "500kB/s", user=USER, client_id=app)
    stage.set_quota("producer_byte_rate", "2MB/s", user="q-team")
    stage.set_quota("producer_byte_rate", "2MB/s", user="q-team", client_id=kn.DEFAULT)
    stage.set_quota("producer_byte_rate", "2MB/s", user="q-team", client_id="same")
    stage.set_config("retention.ms", "7d", topic=topic)
    stage.set_config("cleanup.policy", "delete", topic=topic)
    stage.set_config("segment.bytes", "1MiB", topic=topic)
    stage.plan("the scene of twenty questions").apply().raise_for_errors()
    with _writing(kafka.bootstrap, app, topic):
        observed = cluster.observe(5)
    logs = [path for row in observed.to_arrow().to_pylist() for path in row["logs"]]
    usage = kn.usage.usage(kn.usage.requests([Path(log) for log in logs], broker=1, tz="UTC"))
    pd.DataFrame(usage.to_pandas()).to_parquet(folder / "usage.parquet")
    ids = [f"job-{number:08x}-ab12" for number in range(1000, 1005)]
    pd.DataFrame({"user": USER, "client_id": [app, *ids]}).to_parquet(folder / "pairs.parquet")
    history = kn.open_history(str(folder / "history"))
    history.record(cluster.snapshot())
    stage.discard()
    stage.set_quota("producer_byte_rate", "1MB/s", user="q-later")
    stage.plan().apply().raise_for_errors()
    history.record(cluster.snapshot())
    stage.discard()
    stage.set_quota("producer_byte_rate", "1MB/s", user="q-since")
    stage.plan().apply().raise_for_errors()
    return Scene(app, topic, str(folder / "usage.parquet"), str(folder / "pairs.parquet"), str(folder / "history"))


QUESTIONS = {
    "which limit applies to my client, and why": (
        "quota why user=ANONYMOUS client-id={app}",
        ["is limited by producer", "per broker, level 1 of 8", "To raise it"],
    ),
    "am I throttled, and how often": (
        "quota why user=ANONYMOUS client-id={app} --usage {usage}",
        ["is held by producer", "throttled in", "of windows"],
    ),
    "what would lift it": (
        "quota why user=ANONYMOUS client-id={app} --all",
        ["set producer_byte_rate=1MB/s user=ANONYMOUS client-id=q-app", "only this client"],
    ),
    "which limits are stored": ("quota describe user=q-team", ["3 quotas", "2 MB/s"]),
    "which limits can never apply": ("quota tree", ["user=q-team"]),
    "which limits repeat what would hold anyway": ("quota audit --only redundant", ["user=q-team client-id=same"]),
    "who has no limit": (
        "quota audit --only unlimited --clients {pairs} --keys producer_byte_rate",
        ["client-id=job-"],
    ),
    "who is near the limit": ("quota near {usage}", ["user=ANONYMOUS", "q-app"]),
    "who uses most": ("quota top {usage} --most 3", ["producer", "q-app"]),
    "who are the clients at all": ("quota usage {usage} --clients", ["q-app"]),
    "may I": ("may-i set producer_byte_rate=5MB/s user=q-team", ["No right is missing"]),
    "is this a slip": ("quota set producer_byte_rate=5 user=q-team", ["Was 5MB/s meant?"]),
    "what is set on my topic, and where does it come from": (
        "config describe topic={topic}",
        ["retention.ms", "604800000 (7 d)"],
    ),
    "what does a reset fall back to": (
        "config reset segment.bytes topic={topic}",
        ["1073741824 (1 GiB)", "falls back to default"],
    ),
    "what is wrong in the configs": ("config audit", ["Kafka's default"]),
    "what changed since then": ("history changes {history} today", ["producer_byte_rate"]),
    "what differs from then": ("diff history:{history}", ["q-since"]),
    "what was done, and who did it": ("plan log", ["twenty questions"]),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_one_line_answers(live, scene, question) -> None:
    """It took three commands and a minute of Spark."""
    line, expected = QUESTIONS[question]
    words = line.format(**scene._asdict()).split()
    answer = live(*words)
    assert answer.code in (0, 3), answer.err
    shown = " ".join(answer.out.split())
    assert [text for text in expected if text not in shown] == []


def test_whom_would_my_change_touch(live, scene, tmp_path) -> None:
    """I lowered a default, and found out from the telephone whom it hit."""
    place = tmp_path / "changes.txt"
    place.write_text(f"set producer_byte_rate=100kB/s user={USER} client-id={scene.app}\n")
    answer = live("plan", "-f", str(place), "--impact", scene.usage)
    assert answer.code == 0, answer.err
    assert scene.app in answer.out


def test_how_do_i_take_it_back(live, cluster, scene) -> None:
    """Undoing my change took an hour of reading the log."""
    done = live("quota", "set", "producer_byte_rate=3MB/s", "user=q-undo", "--apply")
    assert done.code == 0, done.err
    (plan_id,) = [
        row["plan_id"]
        for row in json.loads(live("plan", "log", "--json").out)
        if row["changes"] == 1 and row["cluster_id"] == cluster.id
    ][-1:]
    assert live("plan", "rollback", plan_id[:8], "--apply", "--allow", "producer_byte_rate user=q-undo").code in (0, 2)
    eventually(lambda: len(cluster.quotas.describe(user="q-undo")), 0)
