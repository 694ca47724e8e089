"""A cluster whose alters are counted, and a broker that ends as it began."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import kadmin_nb as kn
from tests.dangerous_plans import applied

_SCHEDULES: dict[str, list[int]] = {}


@pytest.fixture
def schedules_ran() -> Callable[[str, int, int], None]:
    """Counts the simulator's schedules for the summary: where, how many ran, how many ended wrong."""

    def count(what: str, ran: int, wrong: int) -> None:
        before = _SCHEDULES.get(what, [0, 0])
        _SCHEDULES[what] = [before[0] + ran, before[1] + wrong]

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _SCHEDULES:
        terminalreporter.section("schedules of faults")
        ran, wrong = (sum(counts) for counts in zip(*_SCHEDULES.values(), strict=True))
        for what, counts in _SCHEDULES.items():
            terminalreporter.write_line(f"{what}: {counts[0]:,} ran, {counts[1]:,} ended wrong")
        terminalreporter.write_line(f"in all: {ran:,} ran, {wrong:,} ended wrong")


@pytest.fixture
def tells(cluster: kn.Cluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent to be altered, one entry a request."""
    sent: list[str] = []
    wire = cluster.port.wire
    real = wire.tell

    def noted(doing: str) -> None:
        if doing.startswith("altering"):  # the topic of the lease is none of the plan's
            sent.append(doing)

    monkeypatch.setattr(wire, "tell", lambda request, **o: noted(o["doing"]) or real(request, **o))
    return sent


@pytest.fixture
def clean_broker(cluster: kn.Cluster) -> Iterator[None]:
    """Broker 1 and the cluster-wide default end as they began."""
    resources = {"1": {"broker": 1}, "": {"broker": kn.DEFAULT}}

    def own() -> set[tuple[str, str]]:
        rows = cluster.configs.describe(broker=["1", kn.DEFAULT]).to_arrow().to_pylist()
        return {
            (r["resource_name"], r["key"])
            for r in rows
            if r["source"] in ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG")
            and (r["resource_name"] == "") == (r["source"] == "DYNAMIC_DEFAULT_BROKER_CONFIG")
        }

    before = own()
    yield
    stage = cluster.new_stage()
    for name, key in own() - before:
        stage.reset_config(key, **resources[name])
    if len(stage):
        applied(stage.plan("a test")).raise_for_errors()
