"""A plan of 10,000 changes staged, planned, applied and verified, beside the bare calls that it must make."""

from __future__ import annotations

import statistics
import subprocess
import time

from benchmarks.fleet import config_command
from benchmarks.timing import Row, ratio, row, seconds
from kadmin_nb.admin.ports import QuotaAlteration, Quotas
from kadmin_nb.cluster import Cluster
from kadmin_nb.local import start
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.picture import exactly

CHANGES, BATCH, CALLS = 10_000, 5_000, 10


def run(full: bool = False) -> list[Row]:
    """Both figures: the plan beside its bare calls, and changes a second beside Kafka's own tool."""
    with start(heap="1g") as kafka, kafka.connect() as cluster:
        _plan(cluster, 1.0)
        _bare(cluster, 2.0)
        rounds = range(1, (9 if full else 5) + 1)
        ours, reference = zip(*((_plan(cluster, n * 10.0), _bare(cluster, n * 10.0 + 5)) for n in rounds), strict=True)
        tool = _tool(kafka.bootstrap)
    mine, bare = statistics.median(ours), statistics.median(reference)
    rate, theirs = CHANGES / mine, CALLS / tool
    note = "describe, validate, preflight, alter, read-back / one describe, validate, alter, one describe a broker"
    return [
        row(f"plan of {CHANGES:,} changes / its bare calls", mine, bare, ratio(ours, reference), 2.0, note),
        row(
            "changes a second: kafka-configs.sh / plan",
            theirs,
            rate,
            theirs / rate,
            1.0,
            f"{rate / theirs:,.0f} times as many: {rate:,.0f}/s verified, {theirs:.2f}/s over {CALLS} calls",
        ),
    ]


def _plan(cluster: Cluster, base: float) -> float:
    def whole() -> None:
        stage = cluster.stage()
        for number in range(CHANGES):
            stage.set_quota("producer_byte_rate", 1000 * base + number, user=f"user-{number}", client_id="app")
        stage.plan("bench").apply().raise_for_errors()

    return seconds(whole)


def _bare(cluster: Cluster, base: float) -> float:
    """The calls that no plan can do without, through the same port, on alterations made beforehand."""
    port = cluster._kafka.quotas
    alterations = [
        QuotaAlteration(Entity.of({"user": f"user-{n}", "client-id": "app"}), {"producer_byte_rate": 1000 * base + n})
        for n in range(CHANGES)
    ]
    batches = [alterations[start : start + BATCH] for start in range(0, CHANGES, BATCH)]

    def calls() -> None:
        port.describe()
        for validate_only in (True, False):
            for batch in batches:
                assert not any(port.alter(batch, validate_only=validate_only).values())
        port.describe(node=1)

    spent = seconds(calls)
    _settle(port, alterations[-1])
    return spent


def _settle(port: Quotas, last: QuotaAlteration) -> None:
    """Wait until the broker shows what it took: else the next plan is made from an old picture, and refused."""
    wanted = list(last.values.values())
    while port.describe(exactly(last.entity), strict=True)["value"].to_pylist() != wanted:
        time.sleep(0.01)


def _tool(bootstrap: str) -> float:
    """Seconds for some alters, one a JVM as the tool has it."""
    started = time.perf_counter()
    for number in range(CALLS):
        words = ["--alter", "--entity-type", "users", "--entity-name", f"user-{number}"]
        command = config_command(bootstrap, *words, "--add-config", "producer_byte_rate=12345")
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
