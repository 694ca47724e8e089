"""`kn.analytics.requests` and `usage` over a request log, beside reading and counting its lines.

The log is made of lines that two brokers of Kafka 4.3 wrote (`tests/analytics/recorded`): times, clients, users,
connections and sizes are drawn anew from a seed, and requests reach several partitions. Some lines are there twice,
some are cut short, some are none of Kafka's.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Row, interleaved, ratio, row

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


CORES, BOUND = 2, 4.0
"""Those of the local session; and how many times the reference ours may take."""


def run(full: bool = False) -> list[Row]:
    """The figures over 1 GB of log, or over 200 MB."""
    import kadmin_nb as kn

    with tempfile.TemporaryDirectory(prefix="kadmin-nb-bench-") as folder:
        size = write(Path(folder), 10**9 if full else 2 * 10**8)
        spark = kn.spark_session()
        works = _works(spark, folder)
        times = dict(zip(works, interleaved(list(works.values()), 3), strict=True))
    return [_figure(name, times, size) for name in works if name != "count"]


def _figure(name: str, times: dict[str, list[float]], size: int) -> Row:
    ours, count = times[name], times["count"]
    speed = f"{size / 1e6 / min(ours) / CORES:.0f} MB/s a core, counting {size / 1e6 / min(count) / CORES:.0f}"
    figure = f"analytics.requests, {size / 1e6:.0f} MB of log, {name}, to counting the lines"
    return row(figure, min(ours), min(count), ratio(ours, count), BOUND, speed)


def _works(spark: Any, folder: str) -> dict[str, Callable[[], object]]:
    """What is measured. The lines are counted by their values, so that Spark reads and splits them as it does for us.

    To quarantine is to read the log once more: `quarantine` alone is what that adds.
    """
    from pyspark.sql import functions as F

    import kadmin_nb as kn

    requests = kn.analytics.requests(spark, folder, broker=r"/broker-(\d+)/", tz="UTC")
    lines = spark.read.option("recursiveFileLookup", "true").text(folder)
    return {
        "count": lambda: lines.agg(F.count("value")).collect(),
        "deduplicated, in windows of 1 s": lambda: _kept(kn.analytics.usage(requests)),
        "quarantine": lambda: _kept(requests.quarantine),
    }


def _kept(frame: Any) -> None:
    """Every row and column is made, and none is kept."""
    frame.write.format("noop").mode("overwrite").save()


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
