"""Plans of 10,000 and 100,000 changes, planned, journalled, applied, verified and rolled back, beside bare calls."""

from __future__ import annotations

import gc
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from benchmarks.fleet import config_command, java_peer
from benchmarks.journals import own_journals
from benchmarks.timing import Row, ratio, row, seconds
from kadmin_nb.admin.ports import Quotas
from kadmin_nb.cluster import Cluster
from kadmin_nb.local import start
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.observed_state import exactly
from kadmin_nb.plans.plan import Plan

CHANGES, BATCH, CALLS, MANY = 10_000, 5_000, 10, 100_000
OF_JAVA, COLD, WARM, ROUNDS = 40_000, 1.2, 2.6, 4
"""Changes that a Java program makes through Kafka's Admin, in one JVM, and the CPU that a plan may take of its own."""
BYTES_A_CHANGE = 16_000
"""The most that a change of a large plan may take, at its peak, of this process."""


def run(full: bool = False) -> list[Row]:
    """Both figures: the plan beside its bare calls, and changes a second beside Kafka's own tool."""
    with own_journals(), start(heap="2g") as kafka, kafka.connect() as cluster:
        _plan(cluster, 1.0)
        _bare(cluster, 2.0)
        rounds = range(1, (9 if full else 5) + 1)
        ours, reference = zip(*((_plan(cluster, n * 10.0), _bare(cluster, n * 10.0 + 5)) for n in rounds), strict=True)
        locked = [_plan(cluster, n * 10.0 + 3, lock=True) for n in rounds]
        again = _again(cluster)
        tool = _tool(kafka.bootstrap)
        beside_java = _beside_java(cluster, kafka.bootstrap)
        few = [_costs(cluster, n * 10.0 + 7, CHANGES) for n in rounds]
        _bare(cluster, 400.0, MANY)  # so that the many are changed, too, as the few are: to remove one is other work
        many = _costs(cluster, 500.0, MANY)
    mine, bare = statistics.median(ours), statistics.median(reference)
    rate, theirs = CHANGES / mine, CALLS / tool
    note = "describe, validate, preflight, journal, alter, read-back / describe, validate, describe, alter, describe"
    return [
        row(f"plan of {CHANGES:,} changes / its bare calls", mine, bare, ratio(ours, reference), 1.5, note),
        row(
            "the same with the lease", statistics.median(locked), bare, ratio(locked, reference), 2.0, "taken, renewed"
        ),
        *beside_java,
        *_growth(few, many),
        row(f"peak memory of {MANY:,} changes, bytes a change", many.memory, 0, many.memory, BYTES_A_CHANGE),
        row("alters sent by applying it again", again[0], 0, again[0], 0, f"and {again[1]} describe"),
        row(
            "changes a second: kafka-configs.sh / plan",
            theirs,
            rate,
            theirs / rate,
            1.0,
            f"{rate / theirs:,.0f} times as many: {rate:,.0f}/s verified, {theirs:.2f}/s over {CALLS} calls",
        ),
    ]


def _beside_java(cluster: Cluster, bootstrap: str) -> list[Row]:
    """CPU of this process beside that of a JVM that describes, validates, alters and describes until all is seen."""
    ours = []
    for number in range(ROUNDS):
        gc.collect()
        before = time.process_time()
        _planned(cluster, 600.0 + number, OF_JAVA).apply().raise_for_errors()
        ours.append(time.process_time() - before)
    cold, *warm = java_peer("QuotaChanges", bootstrap, OF_JAVA, ROUNDS, 700)
    mine, theirs = statistics.median(ours), statistics.median(warm)
    figure, note = (
        f"plan of {OF_JAVA:,} changes, CPU / Java's Admin in one JVM",
        "with journal and lease; at one broker",
    )
    return [
        row(f"{figure}, with its start", mine, cold, mine / cold, COLD, note),
        row(f"{figure}, warm", mine, theirs, mine / theirs, WARM, f"{note}; asked: 2; median of {ROUNDS - 1} rounds"),
    ]


@dataclass(frozen=True)
class Costs:
    """Of one change, microseconds: planned, journalled, applied under the lease, verified; taken back; bare.

    `memory` is the bytes that making and applying it took.
    """

    there: float
    back: float
    bare: float
    memory: float


def _costs(cluster: Cluster, base: float, changes: int) -> Costs:
    plans: list[Plan] = []

    def there() -> None:
        plans.append(_planned(cluster, base, changes))
        plans[0].apply().raise_for_errors()

    with _peak() as peak:
        spent = [seconds(there)]
    spent.append(seconds(lambda: cluster.rollback(plans[0]).apply().raise_for_errors()))
    spent.append(_bare(cluster, base + 2, changes))
    return Costs(*(each / changes * 1e6 for each in spent), memory=peak[0] / changes)


def _growth(few: Sequence[Costs], many: Costs) -> list[Row]:
    """What a change costs in a large plan beside a small one, and how much of that is the broker's own."""
    there, back, bare = (statistics.median(getattr(c, name) for c in few) for name in ("there", "back", "bare"))
    note = f"microseconds, with journal, lease and verification; the bare calls alone: {many.bare / bare:.2f}"
    sizes = f"a change of {MANY:,} / of {CHANGES:,}"
    return [
        row(f"applied: {sizes}", many.there, there, many.there / there, 1.25, note),
        row(f"rolled back: {sizes}", many.back, back, many.back / back, 1.25, note),
    ]


def _plan(cluster: Cluster, base: float, changes: int = CHANGES, *, lock: bool = False) -> float:
    return seconds(lambda: _planned(cluster, base, changes).apply(lock=lock).raise_for_errors())


def _planned(cluster: Cluster, base: float, changes: int = CHANGES) -> Plan:
    stage = cluster.new_stage()
    for number in range(changes):
        stage.set_quota("producer_byte_rate", 1000 * base + number, user=f"user-{number}", client_id="app")
    return stage.plan("bench")


def _again(cluster: Cluster) -> tuple[int, int]:
    """The alters and the describes that applying an applied plan sends."""
    plan, wire = _planned(cluster, 77.0), cluster.port.wire
    plan.apply(lock=False).raise_for_errors()
    sent: list[str] = []
    tell, ask = wire.tell, wire.ask
    wire.tell = lambda request, **o: sent.append("alter") or tell(request, **o)  # type: ignore[method-assign,func-returns-value]
    wire.ask = lambda request, **o: sent.append(o["doing"]) or ask(request, **o)  # type: ignore[method-assign,func-returns-value]
    assert plan.apply(lock=False).to_arrow()["state"].unique().to_pylist() == ["unchanged"]
    wire.tell, wire.ask = tell, ask  # type: ignore[method-assign]
    return sent.count("alter"), sum("quotas" in doing for doing in sent)


@contextmanager
def _peak() -> Iterator[list[int]]:
    """How many bytes this process grew by at its peak, the first of the list afterwards."""
    me, over, found = psutil.Process(), threading.Event(), [0]
    before = me.memory_info().rss

    def watch() -> None:
        while not over.wait(0.01):
            found[0] = max(found[0], me.memory_info().rss - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()


def _bare(cluster: Cluster, base: float, changes: int = CHANGES) -> float:
    """The calls that no plan can do without, through the same port, on alterations made beforehand."""
    port = cluster.port.quotas
    entities = [Entity.of({"user": f"user-{n}", "client-id": "app"}) for n in range(changes)]
    rates = {entity: {"producer_byte_rate": 1000 * base + n} for n, entity in enumerate(entities)}
    batches = [{entity: rates[entity] for entity in entities[at : at + BATCH]} for at in range(0, changes, BATCH)]

    def calls() -> None:
        for validate_only in (True, False):
            port.describe()  # what a plan is made from; what it is checked against before it is sent
            for batch in batches:
                assert not any(port.alter(batch, validate_only=validate_only).values())
        port.describe(node=1)

    spent = seconds(calls)
    _settle(port, entities[-1], rates[entities[-1]])
    return spent


def _settle(port: Quotas, last: Entity, rates: Mapping[str, float]) -> None:
    """Wait until the broker shows what it took: else the next plan is made from an old picture, and refused."""
    wanted = list(rates.values())
    while port.describe(exactly(last), strict=True)["value"].to_pylist() != wanted:
        time.sleep(0.01)


def _tool(bootstrap: str) -> float:
    """Seconds for some alters, one a JVM as the tool has it."""
    started = time.perf_counter()
    for number in range(CALLS):
        words = ["--alter", "--entity-type", "users", "--entity-name", f"user-{number}"]
        command = config_command(bootstrap, *words, "--add-config", "producer_byte_rate=12345")
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
