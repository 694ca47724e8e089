"""Reviews of a cluster's quotas, on a real broker."""

from __future__ import annotations

import uuid

import pandas as pd
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.audits import QUOTA_FINDINGS
from kadmin_nb.commands import run
from kadmin_nb.commands.quota import FINDINGS
from kadmin_nb.commands.session import Session


class Frames(dict[str, pd.DataFrame]):
    """The variables of a notebook."""

    def value(self, expression: str) -> object:
        """The frame of that name."""
        return self[expression]


@pytest.fixture
def cluster(in_memory) -> kn.Cluster:
    return in_memory


@pytest.fixture
def told(cluster):
    """`told("quota …", clients=frame)`: one typed line in a terminal, its answer."""

    def run_line(*words: str, **frames: pd.DataFrame) -> kn.Answer:
        return run(words, Session(connected=cluster, owns=False, variables=Frames(frames))).value

    return run_line


def _set(cluster, *quotas: tuple[str, dict]) -> None:
    stage = cluster.new_stage()
    for value, whom in quotas:
        stage.set_quota("producer_byte_rate", value, **whom)
    stage.plan().apply().raise_for_errors()


def test_quotas_that_repeat_others_are_told_and_staged(cluster, unique, told) -> None:
    """Two thousand overrides equal the default, and nobody dared to remove one."""
    user, app = unique("user"), unique("app")
    _set(
        cluster,
        ("3MB/s", {"user": user, "client_id": kn.DEFAULT}),
        ("3MB/s", {"user": user, "client_id": app}),
    )
    line = ("quota", "audit", "--only", "redundant")
    rows = {row["resource_name"]: row for row in told(*line).to_arrow().to_pylist()}
    row = rows[f"user={user} client-id={app}"]
    assert (row["expected_source"], row["op"]) == (f"user={user} client-id=<default>", "delete")
    whose = f"user={user} client-id={app} producer_byte_rate 3 MB/s"
    assert row["message"] == f"{whose}: user={user} client-id=<default> gives the same"
    plan = told(*line, "--stage")
    assert f"user={user} client-id={app}" in plan.to_arrow()["resource"].to_pylist()
    assert f"user={user} client-id=<default>" not in plan.to_arrow()["resource"].to_pylist()


def test_clients_without_a_limit_are_told(cluster, unique, told) -> None:
    """Who has no limit at all? Nobody could say."""
    user = unique("user")
    _set(cluster, ("3MB/s", {"user": user}))
    pairs = pd.DataFrame({"user": [user, unique("free")], "client_id": ["app", "app"]})
    line = ("quota", "audit", "--only", "unlimited", "--keys", "producer_byte_rate")
    answer = told(*line, "--clients", "clients", clients=pairs)
    assert answer["message"].to_pylist() == [f"user={pairs['user'][1]} client-id=app: no limit of producer_byte_rate"]
    assert not [name for name in told(*line)["resource_name"].to_pylist() if f"user={user} " in f"{name} "]


def test_generated_client_ids_are_told_by_pattern(unique, told) -> None:
    """Forty thousand client-ids, each with a limit of its own."""
    ids = [f"app-{uuid.UUID(int=number)}" for number in range(3)]
    others = ["web-1", "web-2", "job-7f9c2d", "job-8a1b3e", "job-9c2d4f", "orders", "payments", "billing"]
    clients = pd.DataFrame({"user": unique("user"), "client_id": [*ids, *others]})
    found = told("quota", "audit", "--only", "client-ids", "--clients", "clients", clients=clients).to_arrow()
    rows = [(row["resource_name"], row["value"], row["message"]) for row in found.to_pylist()]
    together = "a quota of their user limits them together"
    assert rows == [
        ("app-*", "3", f"3 client-ids like app-*, such as {ids[0]}: {together}"),
        ("job-*", "3", f"3 client-ids like job-*, such as job-7f9c2d: {together}"),
    ]


def test_quotas_that_never_apply_are_found(cluster, unique, told) -> None:
    """The shadowed ones were marks in a tree of nine hundred rows."""
    user = unique("user")
    _set(cluster, ("3MB/s", {"user": user, "client_id": kn.DEFAULT}), ("2MB/s", {"client_id": unique("late")}))
    assert [*QUOTA_FINDINGS] == [*FINDINGS]
    found = told("quota", "audit", "--only", "shadowed").findings
    assert all(finding.edit is None and finding.fix.startswith("quota remove ") for finding in found)
