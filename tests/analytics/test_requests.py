"""Kafka's request log as a frame: what two real brokers wrote, and what is not a request log."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.usage import log_files, request_rows, spark_lines

pytestmark = pytest.mark.spark

ENGINES = ("spark", "arrow")
RECORDED = Path(__file__).parent / "recorded"
BROKER = r"/broker-(\d+)/"
LINES = [line for file in sorted(RECORDED.glob("broker-1/request.log")) for line in file.read_text().splitlines()]
FAST = next(line for line in LINES if '"clientId":"fast"' in line)


class InThisProcess:
    """What this process reads of a log, its frames handed to Spark so that the same tests can look at them."""

    def __init__(self, spark, read: kn.usage.Requests) -> None:
        self.read, self.counts = read, read.counts
        self.frame, self.quarantine = (to_spark(table, spark) for table in (read.frame, read.quarantine))


@pytest.fixture(params=ENGINES)
def of(request):
    """Reads a log on Spark, and in this process."""

    def read(spark, path, **changes) -> kn.usage.Requests | InThisProcess:
        how = {"broker": BROKER, "tz": "UTC", **changes}
        if request.param == "spark":
            return kn.usage.requests(str(path), spark=spark, **how)
        return InThisProcess(spark, kn.usage.requests(str(path), **how))

    return read


def usage_of(spark, read: kn.usage.Requests | InThisProcess):
    return to_spark(kn.usage.usage(read.read), spark) if isinstance(read, InThisProcess) else kn.usage.usage(read)


@pytest.fixture
def log(tmp_path):
    """Writes lines as broker 1's log and gives the folder."""

    def write(*lines: str, name: str = "request.log") -> Path:
        folder = tmp_path / "broker-1"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
        return tmp_path

    return write


def at(line: str, time: str) -> str:
    """The same request at another time, as the pattern writes it."""
    return f"[{time}]{line.partition(']')[2]}"


def test_every_column_has_its_type(of, spark):
    """The bytes came as text, and the time as what the session liked."""
    (row,) = of(spark, RECORDED).frame.where("client_id = 'fast'").collect()
    assert row.asDict() == {
        "time": datetime(2026, 11, 21, 11, 59, 51, 129000),
        "broker": 1,
        "listener": "SASL_PLAINTEXT",
        "user": "admin",
        "client_id": "fast",
        "api": "PRODUCE",
        "api_version": 10,
        "deprecated": False,
        "bytes_in": 504507,
        "bytes_out": None,
        "io_ms": 4.059,
        "throttle_ms": 0.0,
        "software_name": "confluent-kafka-python",
        "software_version": "2.16.1-rdkafka-2.16.0",
        "connection": row.connection,
        "correlation_id": 4,
    }
    empty = to_spark(schemas.table(schemas.REQUESTS, []), spark)
    assert of(spark, RECORDED).frame.dtypes == empty.dtypes


def test_bytes_in_and_bytes_out_are_those_of_records(of, spark):
    """A throttled fetch was answered with nothing, and counted as a megabyte."""
    rows = of(spark, RECORDED).frame.where("client_id = 'slow'").orderBy("time", "broker").collect()
    assert [(r.broker, r.api, r.bytes_in, r.bytes_out, r.throttle_ms) for r in rows] == [
        (2, "PRODUCE", 998967, None, 0.0),
        (2, "PRODUCE", 410037, None, 4085.0),
        (2, "PRODUCE", 598977, None, 9984.0),
        (1, "FETCH", None, 707599, 0.0),
        (2, "FETCH", None, 0, 1.0),
        (2, "FETCH", None, 1000000, 0.0),
        (2, "FETCH", None, 0, 9995.0),
        (1, "FETCH", None, 0, 1.0),
        (1, "FETCH", None, 1000000, 0.0),
    ]


def test_hostile_names_come_through(of, spark):
    """A quote in a client-id cut the rest of the line off."""
    names = {row.client_id for row in of(spark, RECORDED).frame.select("client_id").distinct().collect()}
    assert 'we ird "\\ é\u202e' in names


def test_what_no_client_asked_is_left_out_and_counted(of, spark):
    """Half of the bytes were the followers'."""
    read = of(spark, RECORDED)
    assert dict(read.counts.left_out) == {"follower": 2, "inter-broker": 3, "forwarded": 1}
    assert read.counts.quarantined == {}
    assert read.counts.lines == sum(len(f.read_text().splitlines()) for f in RECORDED.rglob("request.log*"))
    assert read.counts.requests + sum(read.counts.left_out.values()) == read.counts.lines
    assert not [r for r in read.frame.select("listener").distinct().collect() if r.listener == "CONTROLLER"]


def test_the_listeners_of_brokers_can_be_named(of, spark):
    """Ours is called INTERNAL."""
    read = of(spark, RECORDED, inter_broker=["SASL_PLAINTEXT"])
    assert {row.listener for row in read.frame.select("listener").collect()} <= {"CONTROLLER"}


def test_lines_that_are_no_request_are_kept_apart(of, spark, log):
    """A line was cut in two by the rotation, and the whole file failed."""
    read = of(
        spark, log(FAST, FAST[:400], "java.lang.Error: x", "\tat y", at(FAST, "yesterday"), FAST.replace("{", "", 1))
    )
    assert read.counts.requests == 1
    assert read.counts.quarantined == {request_rows.BROKEN: 2, request_rows.NOT_KAFKA: 2, request_rows.NO_TIME: 1}
    assert read.counts.warnings == (
        "WARNING: 5 of 6 lines are not requests, `.quarantine` has them: "
        f"{request_rows.NO_TIME} (1), {request_rows.NOT_KAFKA} (2), {request_rows.BROKEN} (2)",
    )
    kept = {(row.line, row.reason) for row in read.quarantine.collect()}
    assert ("\tat y", request_rows.NOT_KAFKA) in kept
    assert (FAST[:400], request_rows.BROKEN) in kept


def test_two_lines_in_one_are_none(of, spark, log):
    """The disk was full; the first half of one client's request was billed with the end of another's."""
    read = of(spark, log(FAST, FAST[:500] + FAST))
    assert read.counts.quarantined == {request_rows.BROKEN: 1}


@pytest.mark.parametrize(
    "name", ['a,"connection":"b"', "Completed request:{", '"request":""', "x} (kafka.request.logger)"]
)
def test_names_that_look_like_the_log_itself(of, spark, log, name):
    """A client called itself by a field's name, and the bytes were another's."""
    named = FAST.replace('"clientId":"fast"', f'"clientId":{json.dumps(name)}')
    (row,) = of(spark, log(named)).frame.collect()
    assert (row.client_id, row.bytes_in, row.io_ms, row.correlation_id) == (name, 504507, 4.059, 4)


def test_all_partitions_count(of, spark, log):
    """Of a request to three partitions one was counted."""
    sizes = '{"index":0,"recordsSizeInBytes":1},{"index":2,"recordsSizeInBytes":20},'
    (row,) = of(spark, log(FAST.replace('"partitionData":[', '"partitionData":[' + sizes))).frame.collect()
    assert row.bytes_in == 504507 + 21


def test_a_line_that_is_there_twice_is_one_request(of, spark, log):
    """The rotated file lay there plain and as a gzip."""
    folder = log(FAST, FAST)
    (folder / "broker-1" / "request.log.1.gz").write_bytes(gzip.compress(f"{FAST}\n".encode()))
    read = of(spark, folder)
    assert (read.counts.lines, read.counts.requests, read.counts.duplicates) == (3, 1, 2)
    assert read.frame.count() == 1


def test_one_file_or_a_tree_plain_or_gzip(of, spark, tmp_path):
    """It read the folder and not the folders in it."""
    deep = tmp_path / "a b" / "broker-2" / "2026"
    deep.mkdir(parents=True)
    with gzip.open(deep / "request.log.gz", "wb") as packed:
        packed.write((RECORDED / "broker-2" / "request.log").read_bytes())
    plain = of(spark, RECORDED / "broker-2" / "request.log").frame
    assert sorted(of(spark, tmp_path).frame.collect()) == sorted(plain.collect())
    shutil.copy(RECORDED / "broker-1" / "request.log", tmp_path / "server.log")
    assert of(spark, tmp_path / "a b" / "*" / "*" / "request*").frame.count() == plain.count()


ZONES = {
    "brokers in Berlin": ("2026-07-01 12:00:00,500", "Europe/Berlin", datetime(2026, 7, 1, 10, 0, 0, 500000)),
    "a fixed offset": ("2026-07-01 12:00:00,500", "+02:00", datetime(2026, 7, 1, 10, 0, 0, 500000)),
    "the pattern has the offset": ("2026-07-01T12:00:00.500+02:00", None, datetime(2026, 7, 1, 10, 0, 0, 500000)),
    "it has, and tz says otherwise": (
        "2026-07-01T12:00:00.500+0200",
        "Asia/Tokyo",
        datetime(2026, 7, 1, 10, 0, 0, 500000),
    ),
    "zulu": ("2026-07-01T12:00:00.500Z", None, datetime(2026, 7, 1, 12, 0, 0, 500000)),
    "no fraction": ("2026-07-01 12:00:00", "UTC", datetime(2026, 7, 1, 12)),
}


@pytest.mark.parametrize(("written", "tz", "meant"), ZONES.values(), ids=ZONES)
def test_the_time_is_the_brokers(of, spark, log, written, tz, meant):
    """The session was in New York, and all times were five hours off."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        read = of(spark, log(at(FAST, written)), tz=tz)
        (row,) = read.frame.selectExpr("unix_micros(time) AS time").collect()
        assert row.time == int(meant.replace(tzinfo=UTC).timestamp() * 1e6)
        assert read.counts.ambiguous == 0
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_the_hour_that_comes_twice_is_told(of, spark, log):
    """In October an hour of traffic was doubled, and another was empty."""
    times = ["01:59:59,999", "02:00:00,000", "02:59:59,999", "03:00:00,000"]
    read = of(spark, log(*(at(FAST, f"2026-10-25 {time}") for time in times)), tz="Europe/Berlin")
    assert read.counts.ambiguous == 2
    assert read.counts.warnings == (
        "WARNING: 2 requests are in the hour that Europe/Berlin has twice: the first is assumed",
    )
    assert [row.time.hour for row in read.frame.orderBy("time").collect()] == [23, 0, 0, 2]


def test_a_time_that_never_was_is_no_time(of, spark, log):
    """The tz was wrong, and nobody noticed."""
    read = of(spark, log(FAST, at(FAST, "2026-03-29 02:30:00,000")), tz="Europe/Berlin")
    assert read.counts.quarantined == {request_rows.NO_TIME: 1}


def test_a_request_whose_bytes_are_not_told(of, spark, log):
    """The logger was switched on while it was under way, and it was counted as nothing."""
    read = of(
        spark,
        log(
            FAST,
            FAST[: FAST.index('"request":')]
            + '"request":"","response":'
            + FAST.split('"response":', 1)[1].replace("fast", "x"),
        ),
    )
    assert read.counts.unsized == 1
    assert "1 PRODUCE, FETCH or SHARE_FETCH do not report their bytes" in read.counts.warnings[0]


def test_a_cluster_id_leads(of, spark):
    """Two clusters in one frame."""
    frame = of(spark, RECORDED, cluster_id="c").frame
    assert frame.columns[0] == "cluster_id"
    assert frame.first().cluster_id == "c"


def test_the_document_is_parsed_once(spark, capsys):
    """Each column parsed the line again."""
    kn.usage.requests(str(RECORDED), spark=spark, broker=BROKER, tz="UTC").frame.explain()
    assert capsys.readouterr().out.count("MapInArrow") == 1


OLD = "[2020-01-01 00:00:00,000] DEBUG Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=8, clientId=a) (k)"
BAD = {
    "another tool": (["127.0.0.1 - - GET / 200"], {}, kn.Invalid, "is not a request log of Kafka: 127.0.0.1 - - GET"),
    "nothing in it": ([], {}, kn.NotFound, "no line in"),
    "an old Kafka": ([OLD], {}, kn.Invalid, "can be read: Kafka before 2.8 writes no JSON"),
    "no tz": ([FAST], {"tz": None}, kn.UsageError, "the times in .* have no offset"),
    "no such tz": ([FAST], {"tz": "Europe/Berlon"}, kn.UsageError, "Europe/Berlon is not a time zone"),
    "no broker in the path": ([FAST], {"broker": r"node-(\d+)"}, kn.UsageError, "which should name its broker"),
    "no broker": ([FAST], {"broker": None}, kn.UsageError, "the broker that wrote the log is not named"),
    "no group": ([FAST], {"broker": r"broker"}, kn.UsageError, "is not a regular expression with a group"),
    "no pattern": ([FAST], {"broker": r"broker-(\d+"}, kn.UsageError, "is not a regular expression with a group"),
}


@pytest.mark.parametrize(("lines", "changes", "kind", "said"), BAD.values(), ids=BAD)
def test_what_is_no_request_log_is_one_line(of, spark, log, lines, changes, kind, said):
    """Two screens of Java."""
    folder = log(*lines)
    with pytest.raises(kind, match=said) as raised:
        of(spark, folder, **changes)
    assert len(str(raised.value).splitlines()) == 1


def test_an_empty_folder_and_none(of, spark, tmp_path):
    """It said nothing, and there were no rows."""
    with pytest.raises(kn.NotFound, match="no file below"):
        of(spark, tmp_path)
    with pytest.raises(kn.KadminError, match=r"(no such path|Path does not exist): .*/nowhere"):
        of(spark, tmp_path / "nowhere")


@pytest.fixture
def torn(tmp_path) -> Path:
    """A folder with a whole log of a request, plain and as a gzip, a gzip that was cut short, and one that is none."""
    packed = gzip.compress("".join(f"{at(FAST, f'2026-07-01 12:00:{n % 60:02}')}\n" for n in range(20_000)).encode())
    (tmp_path / "broker-1-cut.log.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "broker-1 none.log.gz").write_bytes(b"no gzip")
    (tmp_path / "broker-1-whole.log").write_text(f"{FAST}\n")
    (tmp_path / "broker-1-whole.log.1.gz").write_bytes(gzip.compress(f"{FAST}\n".encode()))
    return tmp_path


def test_a_gzip_that_was_cut_short_is_named(of, spark, torn):
    """The copy broke off, and the error did not say in which of the files."""
    (torn / "broker-1 none.log.gz").unlink()
    with pytest.raises(kn.Invalid, match=r"broker-1-cut\.log\.gz") as raised:
        _ = of(spark, torn, broker=1).counts
    assert len(str(raised.value).splitlines()) == 1


def test_a_gzip_that_is_none_is_not_an_empty_log(of, spark, torn):
    """It said that there was no line."""
    with pytest.raises(kn.Invalid, match=r"broker-1( |%20)none\.log\.gz"):
        of(spark, torn / "broker-1 none.log.gz", broker=1)


def test_a_plain_file_that_cannot_be_read_stops_all(spark, torn):
    """A file vanished while it was read, and its requests with it."""
    for packed in torn.glob("*.gz"):
        packed.unlink()
    read = kn.usage.requests(str(torn), spark=spark, broker=1, tz="UTC")
    (torn / "broker-1-whole.log").unlink()
    with pytest.raises(Exception, match=r"broker-1-whole\.log"):
        read.frame.collect()
    with pytest.raises(kn.Invalid, match=r"file:.*/broker-1-whole\.log"):
        _ = read.counts


def test_what_is_left_out_is_there_once_too(of, spark, tmp_path):
    """The rotated log lay there twice, and twice as many requests of brokers were left out."""
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    for log in RECORDED.rglob("request.log"):
        shutil.copy(log, tmp_path / log.relative_to(RECORDED).with_name("request.log.9"))
    whole, once = of(spark, tmp_path).counts, of(spark, RECORDED).counts
    assert whole.left_out == once.left_out
    assert whole.requests == once.requests
    assert whole.lines == whole.requests + whole.duplicates + sum(whole.left_out.values())


def test_a_log_that_is_known_to_be_read_once(of, spark, log):
    """A third of the time went into looking for requests that come twice, in a log where none can."""
    folder = log(FAST, FAST)
    taken = of(spark, folder, dedupe=False)
    assert (taken.counts.lines, taken.counts.requests, taken.counts.duplicates) == (2, 2, 0)
    assert taken.frame.count() == 2
    twice, once = (usage_of(spark, one).collect() for one in (taken, of(spark, folder)))
    assert [row.value for row in twice] == [2 * row.value for row in once]


@pytest.mark.parametrize("every", ["1 second", "1 minute", "61 seconds", "1 hour"])
def test_usage_counts_a_request_once_in_any_window(spark, tmp_path, every):
    """Requests of short windows are deduplicated in another place than those of long ones."""
    for name in ("request.log", "request.log.1"):
        shutil.copytree(RECORDED, tmp_path / name / "logs")
    twice = kn.usage.requests(str(tmp_path), spark=spark, broker=BROKER, tz="UTC")
    once = kn.usage.requests(RECORDED, broker=BROKER, tz="UTC")
    found, meant = kn.usage.usage(twice, every).toArrow(), kn.usage.usage(once, every)
    assert values_by_client(found) == pytest.approx(values_by_client(meant))


def values_by_client(usage: pa.Table) -> dict[tuple[object, ...], float]:
    names = ("window_start", "broker", "user", "client_id", "key")
    return {tuple(row[name] for name in names): row["value"] for row in usage.to_pylist()}


def test_requests_of_short_windows_are_shuffled_once(spark, capsys):
    """They were shuffled to find those that are there twice, and again to be added up."""
    read = kn.usage.requests(str(RECORDED), spark=spark, broker=BROKER, tz="UTC")
    shuffles = []
    for every in ("1 second", "1 hour"):
        kn.usage.usage(read, every).explain()
        shuffles.append(capsys.readouterr().out.count("Exchange hashpartitioning"))
    assert shuffles == [1, 2]


def test_a_line_without_end_takes_no_memory(of, spark, tmp_path, monkeypatch):
    """A gzip of 1.5 MB, one line of 1.5 GB, ended the session: no worker had room for it."""
    for reader in (log_files, spark_lines):
        monkeypatch.setattr(reader, "LONGEST_LINE", 100_000)
    (tmp_path / "broker-1").mkdir()
    text = f"{FAST}\n{'x' * 100_001}\n{FAST.replace('fast', 'slow')}\n"
    (tmp_path / "broker-1" / "request.log").write_text(text)
    (tmp_path / "broker-1" / "request.log.gz").write_bytes(gzip.compress(text.encode()))
    found = of(spark, tmp_path)
    assert {row.client_id for row in found.frame.select("client_id").collect()} == {"fast", "slow"}
    assert (found.counts.lines, found.counts.quarantined) == (4, {})
