"""What changed on a cluster, read from KRaft's own files: without a broker, whatever stands in them."""

from __future__ import annotations

import os
import random
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from tests.hostile_names import HOSTILE
from tests.metadata_log.written_logs import (
    ABORT,
    BEGIN,
    END,
    LEADER_CHANGE,
    NOTHING,
    START,
    batch,
    config,
    quota,
    record,
    removed_scram,
    removed_topic,
    scram,
    text,
    topic,
    unsigned,
    write_checkpoint,
    write_log,
)

RATE = "producer_byte_rate"
ALICE, BOB = ({"user": name} for name in ("alice", "bob"))
ORDERS, BILLS = uuid.UUID(int=7), uuid.UUID(int=8)
CANARY = b"canary-of-a-salt"


def alice(value: float | None = 1e6) -> bytes:
    return quota(ALICE, RATE, value)


def rows(log: kn.Answer) -> list[tuple]:
    return [tuple(row[name] for name in ("offset", "op", "resource", "key", "value")) for row in log]


def at(offset: int) -> datetime:
    return datetime.fromtimestamp(START / 1000, UTC) + timedelta(seconds=offset)


def test_what_was_set_and_removed_is_a_row_a_record(tmp_path: Path) -> None:
    """Somebody raised a limit on Sunday, and nobody had recorded anything."""
    values = [
        alice(),
        quota({"user": None, "client-id": "app"}, "request_percentage", 12.5),
        alice(None),
        topic("orders", ORDERS),
        config(2, "orders", "retention.ms", "1000"),
        config(2, "orders", "retention.ms", None),
        config(4, "", "num.io.threads", "9"),
        scram("bob", 2, 8192, CANARY),
        removed_scram("bob", 2),
        removed_topic(ORDERS),
    ]
    leader = batch(0, b"\0\0", control=LEADER_CHANGE)
    log = kn.metadata_log(write_log(tmp_path, leader, batch(1, *values, epoch=3), batch(11, NOTHING, record(3, b"x"))))
    assert rows(log) == [
        (1, "set", "user=alice", RATE, "1000000"),
        (2, "set", "user=<default> client-id=app", "request_percentage", "12.5"),
        (3, "delete", "user=alice", RATE, None),
        (4, "create", "topic=orders", None, "AAAAAAAAAAAAAAAAAAAABw"),
        (5, "set", "topic=orders", "retention.ms", "1000"),
        (6, "delete", "topic=orders", "retention.ms", None),
        (7, "set", "broker=<default>", "num.io.threads", "9"),
        (8, "set", "user=bob", "SCRAM-SHA-512", "8192"),
        (9, "delete", "user=bob", "SCRAM-SHA-512", None),
        (10, "delete", "topic=orders", None, "AAAAAAAAAAAAAAAAAAAABw"),
    ]
    assert log.to_arrow().schema.equals(schemas.METADATA_CHANGES.schema)
    assert {(row["time"], row["epoch"], row["source"]) for row in log if row["offset"] == 5} == {(at(5), 3, "log")}
    assert (log.cluster_id, log.records, log.warnings) == ("here", 12, ())


def test_no_secret_is_read(tmp_path: Path) -> None:
    """The keystore's password stood in the notebook."""
    secret = config(4, "1", "ssl.key.password", "hunter2-canary")
    log = kn.metadata_log(write_log(tmp_path, batch(0, secret, scram("bob", 1, 4096, CANARY))))
    assert [row["value"] for row in log] == ["[secure]", "4096"]
    assert "canary" not in repr(log) + log.as_html() + str(log.to_pandas().to_dict())


def test_a_transaction_counts_when_it_ends(tmp_path: Path) -> None:
    """A controller failed in the middle, and the history had a limit that never was in force."""
    log = kn.metadata_log(
        write_log(
            tmp_path,
            batch(0, BEGIN, alice(1e6)),
            batch(2, quota(BOB, RATE, 2e6), END, BEGIN, alice(5e6)),
            batch(6, ABORT, alice(3e6), BEGIN, alice(9e6)),
        )
    )
    assert [(offset, value) for offset, _, _, _, value in rows(log)] == [(1, "1000000"), (2, "2000000"), (7, "3000000")]
    assert [row["time"] for row in log] == [at(3), at(3), at(7)]
    assert log.warnings == (
        "1 changes of metadata transactions that were aborted do not count.",
        "1 changes of a metadata transaction that has not ended do not count.",
    )


def test_what_a_later_kafka_writes_is_counted(tmp_path: Path) -> None:
    """A field was added, and the tool stopped at it, or read on at the wrong place."""
    tagged = quota(ALICE, RATE, 1e6, tags=unsigned(1) + unsigned(0) + unsigned(3) + b"new")
    odd = [record(99, b"?"), record(99, b"?"), record(14, b"?", version=1), record(14, unsigned(9), text("user"))]
    log = kn.metadata_log(write_log(tmp_path, batch(0, *odd, b"", unsigned(2), tagged)))
    assert rows(log) == [(6, "set", "user=alice", RATE, "1000000")]
    assert log.warnings == (
        "2 records of type 99, version 0 were skipped.",
        "1 records of type 14, version 1 were skipped.",
        "3 records that do not fit their type were skipped.",
    )


GOOD = (batch(0, alice(1e6)), batch(1, alice(2e6), alice(3e6)), batch(3, alice(4e6)))
SEGMENT = f"{0:020}.log"


def flipped(octets: bytes, place: int) -> bytes:
    return octets[:place] + bytes([octets[place] ^ 1]) + octets[place + 1 :]


FIRST, BOTH, ALL = (len(b"".join(GOOD[:count])) for count in (1, 2, 3))
WRONG_SUM = "the batch of offset 1 is damaged: its checksum is wrong."
DAMAGED = {
    "a bit of a value": ((GOOD[0], flipped(GOOD[1], 90), GOOD[2]), [0, 3], WRONG_SUM),
    "its length": ((GOOD[0], flipped(GOOD[1], 11), GOOD[2]), [0, 3], WRONG_SUM),
    "a length of nothing": (
        (GOOD[0], GOOD[1][:8] + b"\0" * 4 + GOOD[1][12:], GOOD[2]),
        [0, 3],
        f"the batch at byte {FIRST} is damaged: the next one is read at byte {BOTH}.",
    ),
    "its offset": (
        (GOOD[0], flipped(GOOD[1], 6), GOOD[2]),
        [0, 3],
        "the batch of offset 257 is damaged: the offset 1 was expected.",
    ),
    "garbage between two": (
        (GOOD[0], b"\x02" * 1000, *GOOD[1:]),
        [0, 1, 2, 3],
        f"the batch at byte {FIRST} is damaged: the next one is read at byte {FIRST + 1000:,}.",
    ),
    "garbage behind": (
        (*GOOD, b"garbage" * 20),
        [0, 1, 2, 3],
        f"the batch at byte {ALL} is damaged, and there is no other in the 140 bytes up to the end.",
    ),
    "zeros behind": (
        (*GOOD, b"\0" * 4096),
        [0, 1, 2, 3],
        f"the batch at byte {ALL} is not there: 4,096 zeros end the file.",
    ),
    "a cut": (
        (*GOOD[:2], GOOD[2][:-5]),
        [0, 1, 2],
        f"the batch of offset 3 is cut off: the file ends {ALL - BOTH - 5} bytes after its start.",
    ),
    "a cut in its header": (
        (*GOOD[:2], GOOD[2][:9]),
        [0, 1, 2],
        f"the batch at byte {BOTH} is cut off: the file ends 9 bytes after its start.",
    ),
    "compression": (
        (GOOD[0], batch(1, alice(2e6), alice(3e6), compression=4), GOOD[2]),
        [0, 3],
        "the batch of offset 1 is compressed, which no metadata log is: it was skipped.",
    ),
    "a record that is longer than its batch": (
        (GOOD[0], batch(1, alice(), alice(), size=4000), GOOD[2]),
        [0, 3],
        "the batch of offset 1 is damaged: its records do not fit into it.",
    ),
    "a time of no year": (
        (GOOD[0], batch(1, alice(), alice(), time=2**62), GOOD[2]),
        [0, 3],
        "the batch of offset 1 is damaged: its records do not fit into it.",
    ),
}


@pytest.mark.parametrize(("batches", "offsets", "warning"), DAMAGED.values(), ids=DAMAGED)
def test_what_is_damaged_is_named_and_passed_over(tmp_path: Path, batches, offsets, warning) -> None:
    """A disk had lost a sector, and nothing of the log could be read."""
    log = kn.metadata_log(write_log(tmp_path, *batches))
    assert [row["offset"] for row in log] == offsets
    assert [w for w in log.warnings if "offsets from" not in w and "checkpoint" not in w] == [f"{SEGMENT}: {warning}"]


@pytest.mark.parametrize("seed", range(60))
def test_a_log_in_which_anything_was_changed_is_read_to_its_end(tmp_path: Path, seed: int) -> None:
    """One more bad byte, and it ended in a traceback, or not at all."""
    dice, bad = random.Random(seed), [1, 3, 30][seed % 3]
    octets = bytearray(b"".join(batch(n, alice(1e6 + n), NOTHING) for n in range(0, 40, 2)))
    for _ in range(bad):
        octets[dice.randrange(len(octets))] = dice.choice([0, 1, 2, 127, 128, 255])
    log = kn.metadata_log(write_log(tmp_path, bytes(octets[: dice.randrange(1, len(octets) + 1)])))
    written = {offset: f"{1_000_000 + offset}" for offset in range(0, 40, 2)}
    assert {row["value"] for row in log} <= {*written.values()}
    if bad == 1:  # no sum is over the offsets: two bad ones in a row may look like a gap
        assert all(written[row["offset"]] == row["value"] for row in log)


def test_where_the_beginning_is_gone_a_checkpoint_tells_what_was_set(tmp_path: Path) -> None:
    """Kafka had deleted the first segments, and with them half of the limits were gone from the history."""
    write_log(tmp_path, batch(10, alice(2e6)), batch(11, removed_topic(BILLS)), first=10)
    write_checkpoint(tmp_path, 8, alice(7e6))
    write_checkpoint(tmp_path, 10, quota(BOB, RATE, 5e6), topic("bills", BILLS), epoch=2)
    write_checkpoint(tmp_path, 11, alice(2e6))
    log = kn.metadata_log(tmp_path)
    assert [(row["source"], row["epoch"], row["time"]) for row in log] == [
        ("checkpoint", 2, at(9)),
        ("checkpoint", 2, at(9)),
        ("log", 1, at(10)),
        ("log", 1, at(11)),
    ]
    assert [row[:3] for row in rows(log)] == [
        (9, "set", "user=bob"),
        (9, "create", "topic=bills"),
        (10, "set", "user=alice"),
        (11, "delete", "topic=bills"),
    ]
    assert log.warnings == ()


def test_after_a_damaged_batch_the_next_checkpoint_tells(tmp_path: Path) -> None:
    """A limit that was removed in the damaged batch stood in the history for ever."""
    write_log(tmp_path, GOOD[0], flipped(GOOD[1], 90), GOOD[2], batch(4, alice(5e6)))
    write_checkpoint(tmp_path, 2, alice(2e6))
    write_checkpoint(tmp_path, 4, quota(BOB, RATE, 4e6))
    write_checkpoint(tmp_path, 5, alice(5e6))
    assert [(row["offset"], row["source"]) for row in kn.metadata_log(tmp_path)] == [
        (0, "log"),
        (3, "log"),
        (3, "checkpoint"),
        (4, "log"),
    ]


@pytest.mark.parametrize("spoiled", ["no footer", "a flipped bit", "no checkpoint"])
def test_a_checkpoint_that_is_not_whole_is_none(tmp_path: Path, spoiled: str) -> None:
    """Kafka was writing it as the folder was copied."""
    write_log(tmp_path, batch(10, alice(2e6)), first=10)
    if spoiled != "no checkpoint":
        write_checkpoint(tmp_path, 10, quota(BOB, RATE, 5e6), footer=spoiled != "no footer")
    if spoiled == "a flipped bit":
        place = next((tmp_path / "__cluster_metadata-0").glob("*.checkpoint"))
        place.write_bytes(flipped(place.read_bytes(), 200))
    log = kn.metadata_log(tmp_path)
    assert [row["offset"] for row in log] == [10]
    assert log.warnings[-1] == "No checkpoint shows what was set before offset 10: only later changes are there."
    assert len(log.warnings) == (1 if spoiled == "no checkpoint" else 2)


def test_a_segment_that_is_missing_is_named(tmp_path: Path) -> None:
    """Two files of three were copied."""
    write_log(tmp_path, GOOD[0])
    write_log(tmp_path, batch(9, alice(2e6)), first=9)
    log = kn.metadata_log(tmp_path)
    assert [row["offset"] for row in log] == [0, 9]
    assert log.warnings[0] == f"{9:020}.log does not follow: the offsets from 1 on are missing."


def test_the_log_of_another_cluster_is_refused(tmp_path: Path) -> None:
    """The copy was staging's."""
    write_log(tmp_path, GOOD[0], cluster_id="staging")
    with pytest.raises(kn.WrongCluster, match="is of cluster staging, not of prod"):
        kn.metadata_log(tmp_path, cluster_id="prod")
    assert kn.metadata_log(tmp_path / "__cluster_metadata-0", cluster_id="staging").cluster_id == "staging"
    (tmp_path / "meta.properties").unlink()
    assert kn.metadata_log(tmp_path).cluster_id is None
    assert kn.metadata_log(tmp_path, cluster_id="prod").cluster_id == "prod"


def test_what_is_no_log_is_refused_in_a_line(tmp_path: Path) -> None:
    """A folder without one gave an empty answer, and a pipe never ended."""
    with pytest.raises(kn.NotFound, match="no metadata log in"):
        kn.metadata_log(tmp_path)
    with pytest.raises(kn.NotFound, match="no metadata log in"):
        kn.metadata_log(tmp_path / "not there")
    (tmp_path / "__cluster_metadata-0").mkdir()
    os.mkfifo(tmp_path / "__cluster_metadata-0" / SEGMENT)
    with pytest.raises(kn.UsageError, match="is not a file, so it cannot be a segment"):
        kn.metadata_log(tmp_path)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless(tmp_path: Path, name: str) -> None:
    """A client-id is chosen by whoever connects."""
    log = kn.metadata_log(write_log(tmp_path, batch(0, quota({"client-id": name}, RATE, 1.0), topic(name, BILLS))))
    assert "<script" not in log.as_html()
    assert all(c not in log.as_html() + repr(log) for c in "\x1b\u202e")
