"""onboard_client and offboard_client on a real broker, as Databricks tasks: what binds before and after, what stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.runbooks.databricks_stand_in import as_task

pytestmark = [pytest.mark.broker, pytest.mark.filterwarnings("ignore:.*on the disk of this compute")]

Unique = Callable[[str], str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(cluster: kn.Cluster, **whom: str) -> dict[str, float]:
    rows = cluster.quotas.describe(**whom).to_arrow().to_pylist()
    return {f"{row['entity']} {row['key']}": row["value"] for row in rows}


def give(cluster: kn.Cluster, *whom: dict[str, object]) -> None:
    """A limit for each of these."""
    stage = cluster.new_stage()
    for one in whom:
        stage.set_quota("producer_byte_rate", 1e6, **one)
    cluster.apply(stage.plan()).raise_for_errors()


def known(*clients: tuple[str, str]) -> str:
    """A file of known clients."""
    names = {"user": [user for user, _ in clients], "client_id": [client_id for _, client_id in clients]}
    parquet.write_table(pa.table(names), "clients.parquet")
    return "clients.parquet"


def test_a_new_client_gets_its_limits(kafka: LocalKafka, cluster: kn.Cluster, unique: Unique) -> None:
    """I typed three commands and forgot the fourth."""
    user = unique("user")
    given = {"cluster": kafka.bootstrap, "user": user, "producer_byte_rate": "5MB/s", "request_percentage": "50%"}
    assert as_task("onboard_client", **given, clients=known(("bob", "x")))["state"] == "planned"
    assert stored(cluster, user=user) == {}
    said = as_task("onboard_client", **given, apply=True, reason="KAFKA-2")
    assert (said["state"], said["reason"]) == ("applied", "KAFKA-2")
    assert stored(cluster, user=user) == {f"user={user} producer_byte_rate": 5e6, f"user={user} request_percentage": 50}
    assert said["chain_head"]
    assert said["journal"].endswith(f"{said['plan_id']}.jsonl")


def test_a_name_is_only_ever_a_name(kafka: LocalKafka, unique: Unique, folder: Path) -> None:
    """A client that called itself <default> was given everybody's limit."""
    as_task("onboard_client", cluster=kafka.bootstrap, user="<default>", producer_byte_rate="5MB/s", save="p.json")
    assert [str(change.resource) for change in kn.Plan.load("p.json").changes] == ["user==<default>"]


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({}, kn.UsageError, "neither user nor client_id is given"),
        ({"user": "x"}, kn.UsageError, "a limit is required"),
        ({"user": "x", "producer_byte_rate": "5MB/h"}, kn.KadminError, "producer_byte_rate"),
        (
            {"user": "x", "producer_byte_rate": "5MB/s", "clients": "none.parquet"},
            kn.NotFound,
            "no such file: none.parquet",
        ),
        ({"user": "x", "producer_byte_rate": "5MB/s", "clients": "p.csv"}, kn.UsageError, "no column client_id"),
        (
            {"user": "x", "producer_byte_rate": "5MB/s", "changes_id": "000000"},
            kn.errors.Conflict,
            "but 000000 were reviewed",
        ),
    ],
    ids=["nobody", "nothing", "unit", "no file", "no clients", "review"],
)
def test_what_is_wrong_changes_nothing(
    kafka: LocalKafka, cluster: kn.Cluster, folder: Path, given: dict[str, str], kind: type, words: str
) -> None:
    """It had set the first of two limits."""
    (folder / "p.csv").write_text("user\nalice\n")
    before = len(cluster.quotas.describe())
    with pytest.raises(kind, match=words):
        as_task("onboard_client", cluster=kafka.bootstrap, apply=True, **given)
    assert len(cluster.quotas.describe()) == before


def test_a_client_that_goes_leaves_no_quota_that_names_it_alone(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique
) -> None:
    """Half a year later its client-id's limit was still there."""
    user, other, app = unique("user"), unique("user"), unique("app")
    give(cluster, {"user": user}, {"user": user, "client_id": app}, {"user": other}, {"client_id": app})
    clients = known((user, app), (other, app))
    said = as_task("offboard_client", cluster=kafka.bootstrap, user=user, apply=True, clients=clients)
    assert (said["state"], len(said["outcomes"])) == ("applied", 2)
    assert stored(cluster, user=user) == {}
    assert list(stored(cluster, user=other).values()) == [1e6]
    assert as_task("offboard_client", cluster=kafka.bootstrap, user=user, apply=True)["state"] == "nothing to do"


def test_a_client_id_that_goes_leaves_what_is_somebody_elses(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique
) -> None:
    """Letting app go took alice's own limit for it away as well."""
    user, app = unique("user"), unique("app")
    give(cluster, {"client_id": app}, {"user": kn.DEFAULT, "client_id": app}, {"user": user, "client_id": app})
    assert as_task("offboard_client", cluster=kafka.bootstrap, client_id=app, apply=True)["state"] == "applied"
    assert list(stored(cluster, client_id=app)) == [f"user={user} client-id={app} producer_byte_rate"]
    assert as_task("offboard_client", cluster=kafka.bootstrap, user=user, client_id=app)["state"] == "planned"


def test_more_than_the_limit_is_not_removed(kafka: LocalKafka, cluster: kn.Cluster, unique: Unique) -> None:
    """It was a user that all services share."""
    give(cluster, {"user": (user := unique("user"))})
    with pytest.raises(kn.PlanRefused, match="has 1 changes, the limit is 0"):
        as_task("offboard_client", cluster=kafka.bootstrap, user=user, apply=True, limit=json.dumps(0))
    assert len(stored(cluster, user=user)) == 1


def test_a_new_runbook_works_as_it_stands(kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, folder: Path) -> None:
    """The skeleton had to be mended before it ran."""
    mine, user = kn.runbooks.new("mine"), unique("user")
    assert as_task(mine, cluster=kafka.bootstrap, user=user)["state"] == "planned"
    said = as_task(mine, cluster=kafka.bootstrap, user=user, rate="1MB/s", apply=True)
    assert (said["runbook"], said["state"]) == ("mine", "applied")
    assert stored(cluster, user=user) == {f"user={user} producer_byte_rate": 1e6}
