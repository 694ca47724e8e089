"""Request logs as containers, collectors of logs and other patterns of log4j leave them: what the plain log says."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.usage import request_rows
from kadmin_nb.usage.request_rows import INTER_BROKER, LogReader

FIELD = Path(__file__).parent / "field"
PLAIN = (FIELD / "plain.log").read_text().splitlines()
RIGHT = [
    ("11:15:22", "billing", "producer_byte_rate", 25_408.0),
    ("11:15:28", "reader", "consumer_byte_rate", 534_886.0),
]
"""What the plain log says: the window, the client, its key and its bytes."""


def clock(line: str) -> str:
    return line[1:24].replace(",", ".")


def instant(line: str) -> datetime:
    return datetime.fromisoformat(clock(line)).replace(tzinfo=UTC)


def message(line: str) -> str:
    return line[line.index("Completed") :].removesuffix(" (kafka.request.logger)")


def docker(text: str) -> str:
    return json.dumps({"log": f"{text}\n", "stream": "stdout", "time": "2026-11-26T11:15:59.718123456Z"})


def ecs(line: str) -> str:
    fields = {"@timestamp": f"{clock(line).replace(' ', 'T')}Z", "ecs.version": "1.2.0", "message": message(line)}
    return json.dumps({**fields, "log.logger": "kafka.request.logger"}, separators=(",", ":"))


def dated(text: str):
    """The line with its time written otherwise."""

    def written(line: str) -> str:
        return f"{instant(line):{text}} DEBUG {message(line)} (kafka.request.logger)".replace("MS", line[21:24])

    return written


def in_words(line: str) -> str:
    return f"{clock(line)[8:10]} Nov 2026 {line[12:24]} DEBUG {message(line)}"


LAYOUTS = {
    "plain": lambda line: line,
    "Docker's json-file": docker,
    "Docker without blanks": lambda line: docker(line).replace('", "', '","').replace('": "', '":"'),
    "ECS of log4j2": ecs,
    "log4j2's JsonLayout": lambda line: json.dumps(
        {
            "instant": {
                "epochSecond": int(instant(line).timestamp()),
                "nanoOfSecond": instant(line).microsecond * 1000,
            },
            "level": "DEBUG",
            "message": message(line),
        }
    ),
    "Fluent Bit": lambda line: json.dumps(
        {"time": "2026-11-26T11:15:59Z", "_p": "F", "log": line, "kubernetes": {"a": "b"}}
    ),
    "logstash, of an index": lambda line: json.dumps({"_source": json.loads(ecs(line))}),
    "GELF": lambda line: json.dumps(
        {
            "version": "1.1",
            "short_message": message(line)[:40],
            "full_message": message(line),
            "timestamp": instant(line).timestamp(),
        }
    ),
    "Loki's logcli": lambda line: json.dumps(
        {"labels": {"pod": "k"}, "line": line, "timestamp": "2026-11-26T11:15:59Z"}
    ),
    "nanoseconds as a text": lambda line: json.dumps(
        {"ts": f"{int(instant(line).timestamp() * 1000)}000000", "line": message(line)}
    ),
    "ECS within Docker": lambda line: docker(ecs(line)),
    "Docker within Fluent Bit": lambda line: json.dumps({"@timestamp": "2026-11-26T12:00:00Z", "log": docker(line)}),
    "ECS behind a runtime's prefix": lambda line: f"{clock(line).replace(' ', 'T')}123456Z stdout F {ecs(line)}",
    "containerd": lambda line: f"{clock(line).replace(' ', 'T')}123456Z stdout F {line}",
    "yyyy/MM/dd": dated("%Y/%m/%d %H:%M:%S.MS"),
    "log4j's DATE": in_words,
    "COMPACT": dated("%Y%m%d%H%M%SMS"),
    "ISO8601_BASIC": dated("%Y%m%dT%H%M%S,MS"),
    "ISO8601": dated("%Y-%m-%dT%H:%M:%S,MS"),
    "UNIX_MILLIS": lambda line: f"{int(instant(line).timestamp() * 1000)} DEBUG {message(line)}",
    "an offset": lambda line: f"{instant(line) + timedelta(hours=1):%Y-%m-%d %H:%M:%S},718 GMT+01:00 {message(line)}",
}


def write(file: Path, layout: str) -> Path:
    lines = [LAYOUTS[layout](line) for line in PLAIN]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def rows(usage) -> list[tuple[object, ...]]:
    """Bytes by window, client and key."""
    return sorted(
        (f"{row['window_start']:%H:%M:%S}", row["client_id"], row["key"], row["value"])
        for row in usage.to_pylist()
        if row["key"].endswith("byte_rate")
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_says_what_the_plain_log_says(tmp_path, layout):
    """No request in it can be read: the JSON is broken, or not Kafka's."""
    read = kn.usage.requests(write(tmp_path / "request.log", layout), broker=1, tz="UTC")
    assert rows(kn.usage.usage(read)) == RIGHT
    assert read.counts.requests == len(PLAIN)


@pytest.mark.spark
def test_every_layout_says_the_same_on_spark(spark, tmp_path):
    """It was read on a laptop, and not on the cluster. A worker gets files of several layouts at a time."""
    for number, layout in enumerate(LAYOUTS):
        write(tmp_path / f"broker-{number}" / "request.log", layout)
    read = kn.usage.requests(str(tmp_path), spark=spark, broker=r"/broker-(\d+)/", tz="UTC")
    usage = kn.usage.usage(read).toArrow()
    for number, layout in enumerate(LAYOUTS):
        assert rows(usage.filter(pa.compute.field("broker") == number)) == RIGHT, layout


PARTS = {
    "containerd": lambda line: [f"2026-11-26T11:15:22Z stdout {tag} {part}" for tag, part in halves(line)],
    "Fluent Bit": lambda line: [json.dumps({"stream": "stdout", "_p": tag, "log": part}) for tag, part in halves(line)],
}


def halves(line: str) -> list[tuple[str, str]]:
    return [("P", line[:700]), ("F", line[700:])]


@pytest.mark.parametrize("runtime", PARTS)
def test_a_line_that_was_cut_says_so(tmp_path, runtime):
    """The JSON was broken, it said; the runtime had cut the line at 16 kB."""
    (tmp_path / "request.log").write_text("\n".join([PLAIN[1], *PARTS[runtime](PLAIN[0])]))
    read = kn.usage.requests(tmp_path, broker=1, tz="UTC")
    assert (read.counts.requests, read.counts.quarantined) == (1, {request_rows.CUT: 1, request_rows.NOT_KAFKA: 1})
    (tmp_path / "request.log").write_text("\n".join(PARTS[runtime](PLAIN[0])))
    with pytest.raises(kn.Invalid, match="can be read: cut by the container runtime") as raised:
        kn.usage.requests(tmp_path, broker=1, tz="UTC")
    assert "`kubectl logs`" in raised.value.hint


def test_several_lines_in_one_object_are_told(tmp_path):
    """The collector had joined lines, and all requests but the first were missing."""
    (tmp_path / "request.log").write_text(f"{docker(PLAIN[0])}\n{docker(chr(10).join(PLAIN[:2]))}\n")
    read = kn.usage.requests(tmp_path, broker=1, tz="UTC")
    assert (read.counts.requests, read.counts.quarantined) == (1, {request_rows.BROKEN: 1})


def test_what_is_in_quarantine_is_the_line_of_the_file(tmp_path):
    """I searched the file for the line, and it was not there."""
    broken = docker(PLAIN[0].replace('"requestApiKey"', "requestApiKey", 1))
    (tmp_path / "request.log").write_text(f"{docker(PLAIN[0])}\n{broken}\n{docker('x')}\n")
    read = kn.usage.requests(tmp_path, broker=1, tz="UTC")
    assert [(row["line"], row["reason"]) for row in read.quarantine.to_pylist()] == [
        (broken, request_rows.BROKEN),
        (docker("x"), request_rows.NOT_KAFKA),
    ]


def test_kafka_2_8_has_other_names():
    """reader had no row, and FETCH did not report their bytes."""
    read = kn.usage.requests(FIELD / "kafka-2.8.log", broker=1, tz="UTC")
    assert rows(kn.usage.usage(read)) == [
        ("11:00:00", "reader", "consumer_byte_rate", 1071.0),
        ("11:00:00", "writer", "producer_byte_rate", 1071.0),
        ("11:00:01", "reader", "consumer_byte_rate", 1071.0),
        ("11:00:01", "writer", "producer_byte_rate", 1071.0),
    ]
    assert read.counts.warnings == ()


@pytest.mark.parametrize("layout", ["plain", "Docker's json-file"])
def test_kafka_before_2_8_is_named(tmp_path, layout):
    """The JSON was broken, it said, and there was none."""
    (line,) = (FIELD / "kafka-2.6.log").read_text().splitlines()
    (tmp_path / "request.log").write_text(LAYOUTS[layout](line))
    with pytest.raises(kn.Invalid, match=r"can be read: Kafka before 2\.8 writes no JSON"):
        kn.usage.requests(tmp_path, broker=1, tz="UTC")


def read_at(folder: Path, written: str, tz: str | None) -> kn.usage.Requests:
    (folder / "request.log").write_text(f"{PLAIN[1]}\n{written} DEBUG {message(PLAIN[0])}\n")
    return kn.usage.requests(folder, broker=1, tz=tz)


ZONES = {
    "the zone's own": ("2026-11-26 11:15:22,718 CET", "Europe/Berlin", "10:15:22"),
    "in brackets": ("[2026-07-26 11:15:22,718 CEST]", "Europe/Berlin", "09:15:22"),
    "a level is no zone": ("2026-11-26 11:15:22,718 INFO", "UTC", "11:15:22"),
    "UTC": ("2026-11-26 11:15:22,718 UTC", "Europe/Berlin", "11:15:22"),
    "of several zones, that of tz": ("2026-11-26 11:15:22,718 CST", "Asia/Shanghai", "03:15:22"),
    "the other of them": ("2026-11-26 11:15:22,718 CST", "America/Chicago", "17:15:22"),
}


@pytest.mark.parametrize(("written", "tz", "meant"), ZONES.values(), ids=ZONES)
def test_the_name_of_a_zone_counts(tmp_path, written, tz, meant):
    """Times of CET were taken for UTC, and nobody noticed."""
    times = {f"{row['time']:%H:%M:%S}" for row in read_at(tmp_path, written, tz).frame.to_pylist()}
    assert meant in times


UNCLEAR = {
    "a name that tz has not": ("2026-11-26 11:15:22,718 CET", request_rows.OTHER_ZONE),
    "a word": ("2026-11-26 11:15:22,718 KAFKA", request_rows.OTHER_ZONE),
    "another place than tz": ("2026-11-26 11:15:22,718 Europe/Berlin", request_rows.OTHER_ZONE),
    "ABSOLUTE": ("11:15:22,718", request_rows.NO_TIME),
    "a day or a month": ("11/02/2026 11:15:22,718", request_rows.NO_TIME),
    "a number that is no time": ("17", request_rows.NO_TIME),
    "no time": ("yesterday", request_rows.NO_TIME),
}


@pytest.mark.parametrize(("written", "reason"), UNCLEAR.values(), ids=UNCLEAR)
def test_a_time_that_is_unclear_is_none(tmp_path, written, reason):
    """It was guessed, and wrong."""
    assert read_at(tmp_path, written, "UTC").counts.quarantined == {reason: 1}


REQUEST = '"Completed request:{\\"a\\":1}"'
HOSTILE = {
    "no number": f'{{"time": NaN, "message": {REQUEST}}}',
    "an endless number": f'{{"time": 1e400, "message": {REQUEST}}}',
    "a number too long": f'{{"time": {"9" * 400}, "message": {REQUEST}}}',
    "a text of digits too long": f'{{"time": "{"9" * 400}", "message": {REQUEST}}}',
    "true": f'{{"time": true, "message": {REQUEST}}}',
    "an instant of texts": f'{{"instant": {{"epochSecond": "x", "nanoOfSecond": {{}}}}, "message": {REQUEST}}}',
    "half a character": '{"message": "Completed request:{\\"a\\":\\ud800}"}',
    "deep": '{"a":' * 100_000 + REQUEST,
    "a list": f'{{"messages": [{REQUEST}]}}',
    "a line within itself": json.dumps({"a": json.dumps({"a": json.dumps({"a": json.dumps({"a": PLAIN[0]})})})}),
    "cut": '{"message": "Completed request:',
    "no object": "{ Completed request:",
    "nothing behind it": "Completed request:",
}


def test_objects_of_strangers_take_no_other_line_with_them():
    """One object of another program's, and a file of a million lines was not read."""
    reader = LogReader(1, "UTC", INTER_BROKER)
    lines = [docker(PLAIN[0]), *HOSTILE.values(), ecs(PLAIN[1])]
    read = reader.rows(pa.array(["p"] * len(lines)), pa.array(lines))
    assert [fault is None for fault in read["fault"].to_pylist()] == [True, *[False] * len(HOSTILE), True]
    assert read["line"].to_pylist() == lines
