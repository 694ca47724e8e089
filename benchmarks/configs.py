"""Configs of 5,000 topics, described and changed, beside Kafka's Java Admin doing the same in one JVM."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from kafka.protocol.admin.topics import CreateTopicsRequest

import kadmin_nb as kn
from benchmarks.fleet import java_peer
from benchmarks.journals import own_journals
from benchmarks.timing import Row, row
from kadmin_nb.cluster import Cluster
from kadmin_nb.local import start

TOPICS, TOGETHER = 5_000, 500
NAMES = [f"topic-{number:05d}" for number in range(TOPICS)]
KEY = "retention.ms"
WARM_UP, ROUNDS = 3, 3
"""Rounds after which a JVM has compiled most of what they run, and those that count."""
DESCRIBED, CHANGED, MEMORY = 0.8, 2.5, 250.0
"""The CPU seconds that each may take to one of a warm JVM, and the MB of a process that describes them."""

_PEAK = (
    "import kadmin_nb as kn, re, sys; from pathlib import Path; "
    "kn.connect(sys.argv[1]).configs.describe(topic=kn.ANY); "
    "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
)
"""Prints the kB that a process had at its peak; `ru_maxrss` would count those of the process that started it."""


def run(full: bool = False) -> list[Row]:
    """Both figures, and the memory of a process that describes."""
    with own_journals(), start(heap="1g") as kafka, kafka.connect() as cluster:
        _make_topics(cluster)
        figure = f"plan, apply, verify of a config of {TOPICS:,} topics"
        changed = _beside_java(figure, lambda number: _change(cluster, number), "change", kafka.bootstrap, CHANGED)
        figure = f"describe of {TOPICS:,} topics' configs, with synonyms"
        described = _beside_java(figure, lambda _: _describe(cluster), "describe", kafka.bootstrap, DESCRIBED)
        peak = subprocess.run([sys.executable, "-c", _PEAK, kafka.bootstrap], check=True, capture_output=True)
    memory = float(peak.stdout) / 1024
    return [
        *described,
        row("the same, memory of the process, MB / 250", memory, MEMORY, memory / MEMORY, 1.0),
        *changed,
    ]


def _make_topics(cluster: Cluster) -> None:
    kind = CreateTopicsRequest.CreatableTopic
    for begin in range(0, TOPICS, TOGETHER):
        topics = [
            kind(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
            for name in NAMES[begin : begin + TOGETHER]
        ]
        answer = cluster.port.wire.tell(
            lambda topics=topics: CreateTopicsRequest(topics=topics, timeout_ms=60_000, validate_only=False),
            doing="creating topics",
        )
        assert not any(topic.error_code for topic in answer.topics)
    while len(cluster.port.topics()) < TOPICS:
        time.sleep(0.1)


def _describe(cluster: Cluster) -> None:
    table = cluster.configs.describe(topic=kn.ANY).to_arrow()
    assert table.num_rows > 30 * TOPICS
    assert table["error"].null_count == table.num_rows


def _change(cluster: Cluster, number: int) -> None:
    """Another value for each topic, longer than before: a shorter retention is dangerous."""
    stage = cluster.new_stage()
    for place, name in enumerate(NAMES):
        stage.set_config(KEY, str(10**9 + 10**5 * number + place), topic=name)
    stage.plan().apply().raise_for_errors()


def _beside_java(figure: str, work: Callable[[int], None], does: str, bootstrap: str, bound: float) -> list[Row]:
    """CPU of this process beside that of a JVM that has done the same a few times, and beside one with its start."""
    ours = []
    for number in range(1, ROUNDS + 2):
        gc.collect()
        before = time.process_time()
        work(number)
        ours.append(time.process_time() - before)
    cold, *more = java_peer("TopicConfigs", bootstrap, does, WARM_UP + ROUNDS, 2 * 10**9)
    mine, warm = statistics.median(ours[1:]), statistics.median(more[-ROUNDS:])
    with_start = f"Java with its start {cold:.2f} s; our first round {ours[0]:.2f} s"
    return [row(f"{figure}, CPU / Java's Admin in one warm JVM", mine, warm, mine / warm, bound, with_start)]
