"""Describing 100,000 entities: the decode alone, a whole describe in a fresh process, and one client of them."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from kafka.protocol.admin.client_quotas import DescribeClientQuotasResponse

from benchmarks.fleet import ENTITIES, config_command, fill, recorded
from benchmarks.timing import Row, interleaved, ratio, row
from kadmin_nb.admin import quota_response
from kadmin_nb.cluster.exporter import ALONE, BOUND, LARGEST_MOST, ClusterCollector, text_of
from kadmin_nb.local import start

_COUNT = (
    "import kadmin_nb as kn, sys; print(len(kn.connect(sys.argv[1]).quotas.describe(user=kn.ANY, client_id=kn.ANY)))"
)


def run(full: bool = False) -> list[Row]:
    """Decode, describe and scrape on one broker, one client on three, as those who have many quotas do."""
    rounds = 9 if full else 5
    with start(heap="2g") as kafka, kafka.connect() as cluster:
        fill(cluster)
        figures = [_decode(recorded(cluster), rounds), _describe(kafka.bootstrap, rounds), _scrape(cluster, rounds)]
        alone = ratio(*_one_client(cluster, rounds))
    with start(nodes=3, heap="1g") as kafka, kafka.connect() as cluster:
        fill(cluster)
        shared = _one_client(cluster, rounds)
    note = (
        f"4 describes, shared by 3 brokers, and their callbacks / all {ENTITIES:,} entities; on one broker {alone:.2f}"
    )
    figures.append(row("resolve of one client / full describe", *_medians(*shared), ratio(*shared), 0.25, note))
    return figures


def _decode(frame: bytes, rounds: int) -> Row:
    theirs = DescribeClientQuotasResponse[1]
    ours, reference = interleaved([lambda: quota_response.decode(frame)[2], lambda: theirs.decode(frame)], rounds)
    note = f"{ENTITIES:,} entities, 2 keys each, {len(frame) / 1e6:.1f} MB, into sorted QUOTAS / into its objects"
    times = ratio(ours, reference)
    return row(
        "decode / kafka-python's decode",
        *_medians(ours, reference),
        times,
        0.25,
        f"{1 / times:.1f} times as fast; {note}",
    )


def _describe(bootstrap: str, rounds: int) -> Row:
    both = [
        lambda: _run([sys.executable, "-c", _COUNT, bootstrap]),
        lambda: _run(config_command(bootstrap, "--describe", "--entity-type", "users", "--entity-type", "clients")),
    ]
    ours, reference = interleaved(both, rounds)
    note = "fresh processes, to a printed count / to its printed lines"
    return row("describe / ConfigCommand --describe", *_medians(ours, reference), ratio(ours, reference), 0.4, note)


SCRAPE, SERIES = 1.0, 5_000
"""Seconds of processor time that a scrape may take, and the series that it may have."""


def _scrape(cluster, rounds: int) -> Row:
    """A scrape of all entities, as Prometheus asks for it; what rests between scrapes was read before."""
    collector = ClusterCollector(cluster, most=LARGEST_MOST, within=ALONE)
    collector.collect()
    collector.within = BOUND
    spent, series = [], 0
    for _ in range(rounds):
        before = time.process_time()
        text = text_of(collector)
        spent.append(time.process_time() - before)
        series = sum(not line.startswith("#") for line in text.splitlines())
        assert series <= SERIES
    seconds = statistics.median(spent)
    note = f"{series:,} series of at most {SERIES:,}"
    return row(f"a scrape of {ENTITIES:,} entities, CPU / 1 s", seconds, SCRAPE, seconds / SCRAPE, 1.0, note)


def _one_client(cluster, rounds: int) -> list[list[float]]:
    """Seconds to resolve one client, and to describe all quotas, round by round.

    By brokers that have done so for a while, as those have that people ask: what walks all quotas is compiled by then.
    """
    quotas = cluster.quotas

    def resolve() -> None:
        quotas.resolve(user="user-000017", client_id="app-001")

    for _ in range(WARM_UP):
        resolve()
    return interleaved([resolve, quotas.describe], rounds)


WARM_UP = 60
"""Resolves after which a broker has compiled what they run."""


def _medians(*times: list[float]) -> list[float]:
    return [statistics.median(spent) for spent in times]


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
