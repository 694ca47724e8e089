"""`kn.usage.requests` and `usage` over a request log, beside what else one would read it with.

That is SQL of DuckDB's, and a plain `from_json` in Spark. Both take the log's word for it: no request is searched for a
second line, and none is put in quarantine. All answers are compared row by row.

The log is made of lines that two brokers of Kafka 4.3 wrote (`tests/analytics/recorded`): times, clients, users,
connections and sizes are drawn anew from a seed, and requests reach several partitions. Some lines are there twice,
some are cut short, some are none of Kafka's.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.timing import Row, interleaved, ratio, row
from kadmin_nb.usage import request_rows

RECORDED = Path(__file__).parents[1] / "tests" / "analytics" / "recorded"
BROKERS, CLIENTS, USERS, SEED = 4, 2_000, 500, 20260801
FILE = 128 << 20
"""Bytes of a file at most."""
A_SECOND, BATCH = 4_000, 10_000
"""Lines that a broker writes in a second, and lines made at once."""
TWICE, CUT, FOREIGN = 0.005, 0.002, 0.001
"""Shares of lines that are there twice, cut short, and of something else."""
STRANGER = "\tat org.apache.kafka.common.requests.RequestContext.parseRequest(RequestContext.java:110)\n"
WEIGHTS = {("PRODUCE", True): 30, ("FETCH", True): 45, ("FETCH", False): 14}
"""How much of the traffic an API makes, of clients or of brokers; the rest that was recorded makes REST each."""
REST = 2
PARTITIONS = {1: 0.5, 3: 0.3, 8: 0.2}
"""How many partitions a request reaches, and how often."""


CORES = 2
"""Those of the local session, and of DuckDB."""
BY_SQL, BY_FROM_JSON, ONCE_BY_FROM_JSON = 2.8, 0.8, 0.7
"""How many times the others' time ours may take. Of 300 MB, in CPU seconds: counting lines 0.4, handing them to
workers 0.7, reading them there 2.6, all of ours 5.3, without its dedupe 4.9, `from_json` 8.0."""
ROUNDS = 3


def run(full: bool = False) -> list[Row]:
    """The figures over 1 GB of log, or over 200 MB."""
    import kadmin_nb as kn

    with tempfile.TemporaryDirectory(prefix="kadmin-nb-bench-") as folder:
        size = write(Path(folder), 10**9 if full else 2 * 10**8)
        works = _works(kn.spark_session(), folder)
        _compare(kn.spark_session(), folder)
        times = dict(zip(works, interleaved(list(works.values()), ROUNDS), strict=True))
    speed = ", ".join(f"{name} {size / 1e6 / min(spent) / CORES:.0f}" for name, spent in times.items())
    return [
        _figure(
            f"usage of {size / 1e6:.0f} MB of request log, {ours} / {other}", times[ours], times[other], bound, speed
        )
        for ours, by_from_json in ((OURS, BY_FROM_JSON), (ONCE, ONCE_BY_FROM_JSON))
        for other, bound in ((SQL, BY_SQL), (FROM_JSON, by_from_json))
    ]


OURS, ONCE, SQL, FROM_JSON, COUNT = "ours", "ours, dedupe=False", "DuckDB's SQL", "from_json", "counting lines"


def _figure(figure: str, ours: list[float], other: list[float], bound: float, speed: str) -> Row:
    return row(figure, min(ours), min(other), ratio(ours, other), bound, f"MB/s a core: {speed}")


def _works(spark: Any, folder: str) -> dict[str, Callable[[], object]]:
    """What is measured; every row and column is made, and none is kept."""
    from pyspark.sql import functions as F

    lines = spark.read.option("recursiveFileLookup", "true").text(folder)
    frames = {OURS: _ours(spark, folder), ONCE: _ours(spark, folder, dedupe=False), FROM_JSON: _from_json(lines)}
    works = {name: partial(_all_of, frame) for name, frame in frames.items()}
    return {**works, SQL: partial(by_sql, folder), COUNT: lambda: lines.agg(F.count("value")).collect()}


def _all_of(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _ours(spark: Any, folder: str, **how: Any) -> Any:
    import kadmin_nb as kn

    return kn.usage.usage(kn.usage.requests(folder, spark=spark, broker=r"/broker-(\d+)/", tz="UTC", **how))


def _compare(spark: Any, folder: str) -> None:
    """Refuse to measure what is not the same."""
    lines = spark.read.option("recursiveFileLookup", "true").text(folder)
    plain = by_sql(folder)
    _refuse_other(_rows(_ours(spark, folder, dedupe=False).toArrow()), _rows(plain), "ours and DuckDB's")
    _refuse_other(_rows(_from_json(lines).toArrow()), _rows(plain), "from_json's and DuckDB's")
    _refuse_other(_rows(_ours(spark, folder).toArrow()), _rows(by_sql(folder, each_once=True)), "ours and the distinct")


def _rows(usage: pa.Table) -> dict[tuple[object, ...], tuple[float, float | None]]:
    """The value and the longest throttle by broker, client, key and window."""
    starts = usage["window_start"].cast(pa.timestamp("us")).cast(pa.int64())
    names = [usage[name].to_pylist() for name in ("broker", "user", "client_id", "key")]
    figures = zip(usage["value"].to_pylist(), usage["throttle_ms"].to_pylist(), strict=True)
    return dict(zip(zip(*names, starts.to_pylist(), strict=True), figures, strict=True))


def _refuse_other(ours: dict[Any, Any], theirs: dict[Any, Any], whose: str) -> None:
    if ours.keys() != theirs.keys():
        raise AssertionError(f"{whose} rows differ: {sorted(ours.keys() ^ theirs.keys(), key=repr)[:3]}")
    for key, (value, throttle) in ours.items():
        if not math.isclose(value, theirs[key][0], rel_tol=1e-9, abs_tol=1e-9) or throttle != theirs[key][1]:
            raise AssertionError(f"{whose} values differ: {key} is {(value, throttle)} and {theirs[key]}")


def by_sql(folder: str, each_once: bool = False) -> pa.Table:
    """USAGE by DuckDB, as somebody would write it who knows these logs."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {CORES}")
        connection.execute("SET preserve_insertion_order = false")
        names = {"folder": folder, "distinct": "DISTINCT" if each_once else "", **_CONDITIONS}
        return connection.sql(_SQL.format(**names)).to_arrow_table()


_CONDITIONS = {
    "shape": json.dumps(
        {
            "isForwarded": "BOOLEAN",
            "requestHeader": {"correlationId": "INTEGER", "clientId": "VARCHAR", "requestApiKeyName": "VARCHAR"},
            "request": {
                "replicaId": "INTEGER",
                "replicaState": {"replicaId": "INTEGER"},
                "topicData": [{"partitionData": [{"recordsSizeInBytes": "BIGINT"}]}],
            },
            "response": {"responses": [{"partitions": [{"recordsSizeInBytes": "BIGINT"}]}]},
            "connection": "VARCHAR",
            "localTimeMs": "DOUBLE",
            "throttleTimeMs": "DOUBLE",
            "principal": "VARCHAR",
            "listener": "VARCHAR",
        }
    ),
    "inter_broker": request_rows.INTER_BROKER,
    "brokers_only": ", ".join(f"'{api}'" for api in (*request_rows.BROKERS_ONLY, "ENVELOPE")),
    "fetcher": r"^broker-\d+-fetcher-\d+$",
}
_SQL = """
WITH lines AS (
    SELECT line, filename, strpos(line, 'Completed request:') AS mark
    FROM read_csv('{folder}/*/*', columns = {{'line': 'VARCHAR'}}, header = false, auto_detect = false,
                  delim = '\x01', quote = '', escape = '', filename = true)
), documents AS (
    SELECT filename, replace(line[2:24], ',', '.')::TIMESTAMP AS time,
           CASE WHEN suffix(line, ' (kafka.request.logger)')
               THEN line[mark + 18 : length(line) - length(' (kafka.request.logger)')]
               ELSE rtrim(line[mark + 18 :], ' (kafka.request.logger)')  -- cut short; for all it is slow
           END AS document
    FROM lines WHERE mark > 0
), read AS (
    SELECT regexp_extract(filename, 'broker-(\\d+)/', 1)::INTEGER AS broker, time,
           json_transform(document, '{shape}') AS r
    FROM documents WHERE json_valid(document)
), requests AS (
    SELECT {distinct} broker, time, r.connection, r.requestHeader.correlationId AS correlation_id,
           regexp_replace(r.principal, '^[^:]*:', '') AS "user", coalesce(r.requestHeader.clientId, '') AS client_id,
           r.requestHeader.requestApiKeyName AS api, r.localTimeMs AS io_ms, r.throttleTimeMs AS throttle_ms,
           CASE api WHEN 'PRODUCE' THEN list_sum(list_transform(r.request.topicData, lambda t:
               coalesce(list_sum(list_transform(t.partitionData, lambda p: p.recordsSizeInBytes)), 0))) END AS bytes_in,
           CASE WHEN api = 'FETCH' AND r.response.responses IS NOT NULL THEN
               coalesce(list_sum(list_transform(r.response.responses, lambda t:
                   coalesce(list_sum(list_transform(t.partitions, lambda p: p.recordsSizeInBytes)), 0))), 0)
           END AS bytes_out
    FROM read
    WHERE NOT coalesce(r.isForwarded, false) AND api NOT IN ({brokers_only})
      AND NOT regexp_matches(r.listener, '{inter_broker}')
      AND NOT (api = 'FETCH' AND coalesce(coalesce(r.request.replicaState.replicaId, r.request.replicaId) >= 0,
                                          regexp_matches(client_id, '{fetcher}')))
), windows AS MATERIALIZED (
    SELECT broker, "user", client_id, date_trunc('second', time) AS window_start,
           sum(bytes_in) AS bytes_in, sum(bytes_out) AS bytes_out, sum(io_ms) AS io_ms,
           max(throttle_ms) FILTER (api = 'PRODUCE') AS produce_ms, max(throttle_ms) FILTER (api = 'FETCH') AS fetch_ms,
           max(throttle_ms) FILTER (
               api NOT IN ('PRODUCE', 'FETCH', 'CREATE_TOPICS', 'CREATE_PARTITIONS', 'DELETE_TOPICS')) AS other_ms
    FROM requests GROUP BY ALL
), usage AS (
    SELECT broker, "user", client_id, 'producer_byte_rate' AS key, window_start, bytes_in::DOUBLE AS value,
           produce_ms AS throttle_ms FROM windows
    UNION ALL SELECT broker, "user", client_id, 'consumer_byte_rate', window_start, bytes_out, fetch_ms FROM windows
    UNION ALL SELECT broker, "user", client_id, 'request_percentage', window_start, io_ms / 10, other_ms FROM windows
)
SELECT * FROM usage WHERE value IS NOT NULL
"""


def _from_json(lines: Any) -> Any:
    """USAGE by Spark's own reader of JSON; adding up is ours, as it takes any frame of requests."""
    from pyspark.sql import functions as F

    import kadmin_nb as kn

    text = lines.selectExpr("value", "_metadata.file_path AS path", "locate('Completed request:', value) AS mark")
    document = F.from_json(F.expr("substring(value, mark + 18)"), _DOCUMENT)
    once = F.explode(F.array(document)).alias("r")  # a condition on it would be pushed below, and parse each line again
    read = text.where("mark > 0").select("path", "value", once).selectExpr(*_COLUMNS)
    of_clients = read.where(
        f"api IS NOT NULL AND NOT coalesce(forwarded, false) AND api NOT IN ({_CONDITIONS['brokers_only']})"
        f" AND NOT listener RLIKE '{request_rows.INTER_BROKER}'"
        " AND NOT (api = 'FETCH' AND coalesce(replica >= 0, client_id RLIKE '^broker-[0-9]+-fetcher-[0-9]+$'))"
    )
    return kn.usage.usage(of_clients)


_SIZES = "ARRAY<STRUCT<recordsSizeInBytes: BIGINT>>"
_DOCUMENT = (
    "isForwarded BOOLEAN, requestHeader STRUCT<clientId: STRING, requestApiKeyName: STRING>, "
    "request STRUCT<replicaId: INT, replicaState: STRUCT<replicaId: INT>, "
    f"topicData: ARRAY<STRUCT<partitionData: {_SIZES}>>>, "
    f"response STRUCT<responses: ARRAY<STRUCT<partitions: {_SIZES}>>>, "
    "localTimeMs DOUBLE, throttleTimeMs DOUBLE, principal STRING, listener STRING"
)
_SUM = (
    "if(r.requestHeader.requestApiKeyName = '{}', aggregate(flatten(transform({}, t -> t.{}.recordsSizeInBytes)), 0L,"
    " (sum, size) -> sum + coalesce(size, 0L)), NULL)"
)
_COLUMNS = (
    "cast(regexp_extract(path, '/broker-([0-9]+)/', 1) AS INT) AS broker",
    "cast(replace(substring(value, 2, 23), ',', '.') AS TIMESTAMP) AS time",
    "regexp_replace(r.principal, '^[^:]*:', '') AS user",
    "coalesce(r.requestHeader.clientId, '') AS client_id",
    "r.requestHeader.requestApiKeyName AS api",
    f"{_SUM.format('PRODUCE', 'r.request.topicData', 'partitionData')} AS bytes_in",
    f"{_SUM.format('FETCH', 'r.response.responses', 'partitions')} AS bytes_out",
    "r.localTimeMs AS io_ms",
    "r.throttleTimeMs AS throttle_ms",
    "r.isForwarded AS forwarded",
    "r.listener AS listener",
    "coalesce(r.request.replicaState.replicaId, r.request.replicaId) AS replica",
)


def write(place: Path, size: int) -> int:
    """A tree of logs, `broker-N/request.log.M`, of this many bytes; how many there are."""
    chance, made = np.random.default_rng(SEED), 0
    templates, weights = _templates()
    for number in range(-(-size // FILE)):
        file = place / f"broker-{number % BROKERS + 1}" / f"request.log.{number // BROKERS}"
        file.parent.mkdir(parents=True, exist_ok=True)
        start = datetime(2026, 7, 1, tzinfo=UTC) + timedelta(hours=number // BROKERS)
        with file.open("w") as log:
            for text in _lines(chance, templates, weights, start):
                log.write(text)
                if log.tell() >= min(FILE, size - made):
                    break
            made += log.tell()
    return made


def _lines(chance: np.random.Generator, templates: list[str], weights: Any, start: datetime) -> Iterator[str]:
    """Lines without end, many in a text."""
    second = start
    while True:
        kinds = chance.choice(len(templates), size=BATCH, p=weights).tolist()
        clients, users = (_skewed(chance, names) for names in (CLIENTS, USERS))
        sizes = chance.integers(1, 10**6, size=BATCH).tolist()
        took = np.round(chance.exponential(3, size=BATCH), 3).tolist()
        fates = chance.random(BATCH).tolist()
        rows = enumerate(zip(kinds, clients, users, sizes, took, fates, strict=True))
        yield "".join(_line(templates, second, number, *row) for number, row in rows)
        second += timedelta(seconds=BATCH / A_SECOND)


def _line(
    templates: list[str],
    start: datetime,
    number: int,
    kind: int,
    client: int,
    user: int,
    size: int,
    ms: float,
    fate: float,
) -> str:
    time = start + timedelta(microseconds=number * 10**6 // A_SECOND)
    line = templates[kind] % {
        "time": f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}",
        "number": number,
        "client": f"app-{client:04}",
        "user": f"svc-{user:03}",
        "connection": f"10.0.0.1:9092-10.1.{client % 250}.{user % 250}:{20_000 + client}-{client % 3}-{client}",
        "size": size,
        "ms": ms,
    }
    if fate < TWICE:
        return line * 2
    if fate < TWICE + CUT:
        return line[: 40 + size % (len(line) - 60)] + "\n"
    return STRANGER if fate < TWICE + CUT + FOREIGN else line


def _skewed(chance: np.random.Generator, names: int) -> list[int]:
    share = np.cumsum(1 / np.arange(1, names + 1) ** 1.1)
    return np.searchsorted(share / share[-1], chance.random(BATCH)).clip(max=names - 1).tolist()


def _templates() -> tuple[list[str], Any]:
    """The recorded lines with gaps, one for each number of partitions; and how often each of them comes."""
    recorded = [line for file in sorted(RECORDED.rglob("request.log*")) for line in file.open()]
    kinds = [_kind(line) for line in recorded]
    heavy = [WEIGHTS.get(kind, 0) / kinds.count(kind) or REST for kind in kinds]
    templates = [
        _gaps(_wide(line, count), *kind) for line, kind in zip(recorded, kinds, strict=True) for count in PARTITIONS
    ]
    weights = np.outer(heavy, list(PARTITIONS.values())).reshape(-1)
    return templates, weights / weights.sum()


def _kind(line: str) -> tuple[str, bool]:
    """Its API, and whether a client asked."""
    api = re.search(r'"requestApiKeyName":"(\w+)"', line)[1]
    return api, '"listener":"CONTROLLER"' not in line and not re.search(r'"clientId":"broker-\d', line)


def _wide(line: str, partitions: int) -> str:
    """The request to so many partitions of a topic."""

    def several(found: re.Match[str]) -> str:
        return ",".join(found[1] + str(number) + found[2] for number in range(partitions))

    return re.sub(r'(\{"(?:index|partition|partitionIndex)":)\d+([^{}]*\})', several, line)


def _gaps(line: str, api: str, of_client: bool) -> str:
    gaps = {
        r"^\[[^]]*\]": "[%(time)s]",
        r'"correlationId":\d+': '"correlationId":%(number)s',
        r'"connection":"127[^"]*"': '"connection":"%(connection)s"',
        r'"recordsSizeInBytes":[1-9]\d*': '"recordsSizeInBytes":%(size)s',
        r'"(localTimeMs|totalTimeMs)":[\d.]+': r'"\1":%(ms)s',
    }
    if of_client:
        gaps |= {r'"User:admin"': '"User:%(user)s"', r'"clientId":"\w+"': '"clientId":"%(client)s"'}
    line = line.replace("%", "%%")
    for pattern, gap in gaps.items():
        line = re.sub(pattern, gap, line)
    return line


if __name__ == "__main__":
    for line in run("--full" in sys.argv):
        print(json.dumps(line))
