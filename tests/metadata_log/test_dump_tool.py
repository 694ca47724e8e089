"""The metadata log of a real Kafka is read as Kafka's own tool reads it, and gives what the brokers answer."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.frames.snapshot_kinds import CONFIGS
from kadmin_nb.history import History
from kadmin_nb.kraft import records
from kadmin_nb.kraft.batches import Record, records_of
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.quota_keys import text_of
from kadmin_nb.model.resources import Resource
from kadmin_nb.model.scram import ScramUser
from kadmin_nb.secrets import SHOWN, is_secret_name
from tests.hostile_names import HOSTILE
from tests.metadata_log.dump_tool import Dumped, dumped
from tests.waiting import eventually

RATE = "producer_byte_rate"
SMALL = {
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.log.segment.bytes": "8388608",
    "metadata.log.segment.ms": "10000",
    "metadata.max.idle.interval.ms": "100",
}
"""Checkpoints all the time, and segments of ten seconds."""


def change(kafka: LocalKafka, cluster: kn.Cluster, round_: int, names: tuple[str, ...] = HOSTILE) -> None:
    """Quotas, configs and topics that come and go."""
    stage = cluster.stage()
    for number, name in enumerate(names):
        stage.set_quota(RATE, 10_000_000 * (round_ + 1) + number, user=f"log-{name}")
    stage.set_quota("request_percentage", 12.5 + round_, user=kn.DEFAULT, client_id=f"log-{round_}")
    stage.set_quota("controller_mutation_rate", 1e19, client_id=f"log-{round_}")
    stage.set_config("consumer.session.timeout.ms", 50_000 + round_, group=f"log 'g' {round_}")
    if round_:
        stage.remove_quota("request_percentage", user=kn.DEFAULT, client_id=f"log-{round_ - 1}")
    stage.set_config("num.io.threads", 8 + round_ % 2, broker=kn.DEFAULT)
    options = kn.ApplyOptions(allow=[RATE, "request_percentage"]) if round_ else None
    stage.plan("a busy day").apply(options).raise_for_errors()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    topic = f"log-{round_}"
    admin.create_topics([NewTopic(topic, 2, 1, config={"retention.ms": "100000"})])[topic].result()
    if round_ % 2:
        admin.delete_topics([topic])[topic].result()
        eventually(lambda: topic in admin.list_topics(timeout=10).topics, False)


def copied(kafka: LocalKafka, place: Path) -> Path:
    """A copy of a node's metadata log, while it runs."""
    data = next(kafka.folder.rglob("__cluster_metadata-0")).parent
    shutil.copytree(data / "__cluster_metadata-0", place / "__cluster_metadata-0")
    shutil.copy(data / "meta.properties", place)
    return place


def files_of(place: Path) -> list[Path]:
    folder = place / "__cluster_metadata-0"
    return sorted([*folder.glob("*.log"), *folder.glob("*.checkpoint")])


def read(file: Path) -> Iterator[Record]:
    first = int(file.stem) if file.suffix == ".log" else 0
    for batch in records_of(file.read_bytes(), first):
        assert isinstance(batch, list), batch
        yield from batch


def ours(file: Path) -> list[tuple]:
    """Each record as we read it, as far as the tool's can be compared."""
    rows: list[tuple] = []
    for record in read(file):
        at = (file.name, record.offset, record.time, record.epoch)
        if record.is_control:
            rows.append((*at, None, None, None))
            continue
        kind, version, position = records.type_of(record.value)
        fields = tuple(records.change_of(kind, record.value, position)) if kind in records.READERS else None
        rows.append((*at, kind, version, fields))
    return rows


def theirs(record: Dumped) -> tuple:
    return (*record[:6], told(record.type, record.data) if record.type in records.READERS else None)


def told(kind: int | None, data: dict[str, Any]) -> tuple:
    """The change that the tool's JSON tells of."""
    if kind == 14:
        parts = [(part["entityType"], part["entityName"]) for part in data["entity"]]
        op, value = ("delete", None) if data["remove"] else ("set", text_of(float(data["value"])))
        return "quota", op, str(Entity.from_wire(parts)), data["key"], value
    if kind == 4:
        text = SHOWN if is_secret_name(data["name"]) and data["value"] is not None else data["value"]
        types = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER", 16: "CLIENT_METRICS", 32: "GROUP"}
        resource = Resource(types[data["resourceType"]], data["resourceName"])
        return "config", "delete" if text is None else "set", str(resource), data["name"], text
    if kind in (2, 9):
        word = str(Resource("TOPIC", data["name"])) if kind == 2 else ""
        return "topic", "create" if kind == 2 else "delete", word, None, data["topicId"]
    mechanism = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}[data["mechanism"]]
    op, iterations = ("set", str(data["iterations"])) if kind == 11 else ("delete", None)
    return "scram", op, str(ScramUser(data["name"])), mechanism, iterations


def state(log: kn.Answer) -> tuple[dict, dict]:
    """Quotas and configs as the log leaves them."""
    quotas: dict[tuple[str, str], str] = {}
    configs: dict[tuple[str, str], str] = {}
    checkpoint = None
    for row in log:
        if row["source"] == "checkpoint" and checkpoint != row["offset"]:
            checkpoint = row["offset"]
            quotas.clear(), configs.clear()
        of_kind = {"quota": quotas, "config": configs}.get(row["kind"], {})
        if row["op"] == "set":
            of_kind[row["resource"], row["key"]] = row["value"]
        elif row["kind"] == "topic" and row["op"] == "delete":
            for target in [target for target in configs if target[0] == row["resource"]]:
                del configs[target]
        elif row["op"] == "delete":
            of_kind.pop((row["resource"], row["key"]), None)
    return quotas, configs


def assert_equal(version: str, place: Path, cluster: kn.Cluster) -> None:
    files = files_of(place)
    read_by_us = [row for file in files for row in ours(file)]
    read_by_the_tool = [theirs(record) for record in dumped(version, files)]
    assert [pair for pair in zip(read_by_us, read_by_the_tool, strict=True) if pair[0] != pair[1]] == []
    quotas, configs = state(kn.metadata_log(place, cluster_id=cluster.id))
    stored = {(row["entity"], row["key"]): text_of(row["value"]) for row in cluster.quotas.describe()}
    assert quotas == stored
    described = CONFIGS.own_texts(cluster.snapshot().configs.to_arrow())
    assert {target: text for target, text in configs.items() if target in described} == {
        target: text for target, text in described.items() if text is not None
    }
    assert configs.keys() == described.keys()
    _assert_backfilled(kn.open_history(mkdtemp(dir=place)), kn.metadata_log(place), cluster)


def _assert_backfilled(history: History, log: kn.Answer, cluster: kn.Cluster) -> None:
    """The past ends with what a snapshot sees, but for what brokers read from their own files."""
    history.backfill(log)
    drift = history.drift("now", cluster.snapshot().quotas).differing.to_arrow().to_pylist()
    assert [row for row in drift if row["state"] != "unknown"] == []  # each kind of a past has moments of its own
    added = {row["snapshot_id"] for row in history.record(cluster.snapshot())}
    seen = [row for row in history.changes((None, None)) if row["snapshot_id"] in added]
    assert [row for row in seen if not row["resource"].startswith("broker")] == []


@pytest.mark.broker
def test_a_log_is_read_as_kafkas_own_tool_reads_it(kafka: LocalKafka, cluster: kn.Cluster, tmp_path: Path) -> None:
    """The tool said 12.5 %, the notebook said 12."""
    change(kafka, cluster, 0, HOSTILE[:20])
    change(kafka, cluster, 1, ("a",))
    copied(kafka, tmp_path)
    assert_equal(kafka.version, tmp_path, cluster)


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
@pytest.mark.parametrize("extra", [{}, SMALL], ids=["a log", "checkpoints in between"])
def test_each_version_is_read_so(version: str, extra: dict[str, str], tmp_path: Path, monkeypatch) -> None:
    """After an upgrade the checkpoints had another form."""
    monkeypatch.setenv("LOG_PASSWORD", "a-password-that-nobody-may-read")
    with kn.local.start(version=version, extra=extra) as kafka, kafka.connect() as cluster:
        for round_ in range(15):
            change(kafka, cluster, round_, HOSTILE if round_ % 5 == 0 else HOSTILE[:5])
            stage = cluster.stage()
            stage.set_scram(f"user-{round_}", "SCRAM-SHA-512", password="env:LOG_PASSWORD")
            stage.plan().apply().raise_for_errors()
            time.sleep(1)
        stage = cluster.stage()
        stage.delete_scram("user-3", "SCRAM-SHA-512")
        stage.plan("she left").apply(allow=["SCRAM-SHA-512"]).raise_for_errors()
        copied(kafka, tmp_path)
        assert_equal(version, tmp_path, cluster)
        log = kn.metadata_log(tmp_path)
        assert [row["op"] for row in log if row["resource"] == "user=user-3"][-1] == "delete"
        assert {row["source"] for row in log} == {"log"}
        if extra:
            _delete_the_first_segment(tmp_path)
            assert_equal(version, tmp_path, cluster)
            assert {row["source"] for row in kn.metadata_log(tmp_path)} == {"log", "checkpoint"}


def _delete_the_first_segment(place: Path) -> None:
    """As Kafka does where the log grows too old or too large, and what it keeps then is no longer all."""
    first, second, *_ = sorted((place / "__cluster_metadata-0").glob("*.log"))
    first.unlink()
    assert any(checkpoint.stem[:20] >= second.stem for checkpoint in second.parent.glob("*.checkpoint"))
