"""The runbook upgrade_check on request logs: which clients Kafka 4.0 would refuse, and what a log cannot tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv

import kadmin_nb as kn
from tests.runbooks.databricks_stand_in import as_task

pytestmark = pytest.mark.filterwarnings("ignore:.*on the disk of this compute")

LOG = Path(__file__).parents[2] / "docs" / "examples" / "kafka-request.log"
"""What a broker of 3.9.2 wrote about eight clients, of Java 0.10.2 to 2.1, librdkafka and kafka-python."""
OLD = {"software": ("unknown", "unknown")}


def line(
    api: str,
    version: int | None,
    client_id: str = "app",
    *,
    at: int = 0,
    software: tuple[str, str] = ("apache-kafka-java", "3.9.2"),
    deprecated: bool = False,
) -> str:
    """A line of the log, at so many seconds after noon."""
    header: dict[str, Any] = {"requestApiKeyName": api, "clientId": client_id, "correlationId": at}
    header |= {} if version is None else {"requestApiVersion": version}
    header |= {"requestApiVersionDeprecated": True} if deprecated else {}
    document = {
        "isForwarded": False, "requestHeader": header, "connection": "10.0.0.1:9092-10.0.4.7:49034-1-7",
        "principal": "User:alice", "listener": "PLAINTEXT", "totalTimeMs": 1.0, "throttleTimeMs": 0,
        "clientInformation": {"softwareName": software[0], "softwareVersion": software[1]},
    }  # fmt: skip
    return f"[2026-11-30 12:00:{at:02},000] DEBUG Completed request:{json.dumps(document)} (kafka.request.logger)"


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs it on a log of these lines, or on that of a broker; the rows of its clients, and what its verdicts say."""
    monkeypatch.chdir(tmp_path)

    def run(*lines: str, log: Path = Path("request.log"), **given: object) -> tuple[list[dict[str, Any]], list[str]]:
        if lines:
            log.write_text("\n".join(lines) + "\n")
        said = as_task("upgrade_check", log=str(log), broker="1", tz="UTC", save="clients.csv", **given)
        assert (said["state"], said["changed"]) == ("finished", False)
        verdicts = [f"{verdict['verdict']}: {verdict['message']}" for verdict in said["verdicts"]]
        return csv.read_csv("clients.csv").to_pylist(), verdicts

    return run


def test_a_client_is_refused_for_a_version_that_is_gone(check) -> None:
    """The upgrade was done on a Sunday; on Monday the billing of 2016 could not send a record."""
    rows, verdicts = check(
        line("PRODUCE", 2, "old", **OLD, deprecated=True),
        line("METADATA", 1, "old", **OLD),
        line("API_VERSIONS", 0, "old", **OLD),
        line("PRODUCE", 3, "new"),
        line("PRODUCE", 3, "new", at=5),
        line("JOIN_GROUP", 0, "new"),
        cluster_id="of-orders",
    )
    assert [
        (row["cluster_id"], row["user"], row["client_id"], row["software_name"], row["software_version"], row["state"],
         row["refused"], row["requests"], row["address"], f"{row['last_seen']:%H:%M:%S}")
        for row in rows
    ] == [
        ("of-orders", "alice", "old", "unknown", "unknown", "refused", "PRODUCE 2", 2, "10.0.4.7", "12:00:00"),
        ("of-orders", "alice", "new", "apache-kafka-java", "3.9.2", "accepted", "", 3, "10.0.4.7", "12:00:05"),
    ]  # fmt: skip
    assert verdicts == [
        "ok: Each line of the log is a request.",
        "look: 1 of 2 clients would be refused by Kafka 4.0: alice old",
    ]


def test_two_versions_under_one_client_id_are_two_rows_and_one_client(check) -> None:
    """One of six hosts still ran the old library, and its client-id said nothing about it."""
    rows, verdicts = check(
        line("FETCH", 3, software=("apache-kafka-java", "0.10.2")), line("FETCH", 17), line("FETCH", 17, "other")
    )
    versions = [(row["client_id"], row["software_version"], row["state"]) for row in rows]
    assert versions == [("app", "0.10.2", "refused"), ("app", "3.9.2", "accepted"), ("other", "3.9.2", "accepted")]
    assert verdicts[1] == "look: 1 of 2 clients would be refused by Kafka 4.0: alice app"


FINDINGS = {
    "nobody": ([line("FETCH", 4), line("FETCH", 5, "b")], {}, "ok: 0 of 2 clients would be refused by Kafka 4.0"),
    "a version that is not in the log": (
        [line("FETCH", None), line("HEARTBEAT", None, "b"), line("FETCH", 3, "c")],
        {},
        "look: at least 1 of 3 clients would be refused by Kafka 4.0: alice c; "
        "of 1 clients it is unknown, as the log lacks versions",
    ),
    "deprecated alone": (
        [line("FETCH", 3, deprecated=True)],
        {},
        "look: at least 1 of 1 clients would be refused by Kafka 4.0: alice app; "
        "the log has deprecated requests alone: how many other clients there are is unknown",
    ),
    "a broker's log is missing": (
        [line("FETCH", 4)],
        {"brokers": [1, 2]},
        "look: at least 0 of 1 clients would be refused by Kafka 4.0; broker 2 has no requests in the log",
    ),
    "a line that cannot be read": (
        [line("FETCH", 4), line("FETCH", 3, at=7)[:-60]],
        {},
        "ok: at least 0 of 1 clients would be refused by Kafka 4.0",
    ),
    "a question alone": ([line("API_VERSIONS", 0)], {}, "ok: 0 of 0 clients would be refused by Kafka 4.0"),
    "a name that is a script": (
        [line("FETCH", 0, "</script><img src=x onerror=alert(1)>")],
        {},
        "look: 1 of 1 clients would be refused by Kafka 4.0: alice </script><img src=x onerror=alert(1)>",
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_the_finding_says_what_is_known(case: str, check) -> None:
    """It said *none*, of a log that had no versions, and of one that had the deprecated ones alone."""
    lines, given, finding = FINDINGS[case]
    assert check(*lines, **given)[1][1] == finding


@pytest.mark.parametrize("spark", [False, pytest.param(True, marks=pytest.mark.spark)], ids=["here", "on Spark"])
def test_a_broker_s_log_names_the_clients_of_2016(spark: bool, check) -> None:
    """The laptop named three clients, and the job named five."""
    rows, verdicts = check(log=LOG, spark=spark)
    assert verdicts[1] == (
        "look: 3 of 8 clients would be refused by Kafka 4.0: "
        "reports etl-7f3a91c4-0001, team-fraud scorer, team-orders billing"
    )
    assert [(row["client_id"], row["refused"], row["requests"]) for row in rows] == [
        ("etl-7f3a91c4-0001", "PRODUCE 1", 2), ("scorer", "FETCH 1, LIST_OFFSETS 0", 5),
        ("billing", "FETCH 3, PRODUCE 2", 6), ("notebook", "", 6), ("collector", "", 2), ("sessions", "", 6),
        ("checkout", "", 6), ("invoices", "", 5),
    ]  # fmt: skip


def test_what_the_broker_calls_deprecated_is_what_kafka_4_lacks() -> None:
    """KIP-896 says more than was removed, and a table of ours had followed its text."""
    rows = kn.usage.requests(LOG, broker=1, tz="UTC").frame.to_pylist()
    deprecated = {(row["api"], row["api_version"]) for row in rows if row["deprecated"]}
    lowest = kn.usage.LOWEST_VERSIONS
    assert deprecated == {
        (row["api"], row["api_version"]) for row in rows if row["api_version"] < lowest.get(row["api"], 0)
    }
    assert deprecated == {("FETCH", 3), ("PRODUCE", 2), ("FETCH", 1), ("LIST_OFFSETS", 0), ("PRODUCE", 1)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"log": "/no/such/path", "broker": "1"}, "no such"),
        ({"log": str(Path(kn.__file__)), "broker": "1"}, "is not a request log of Kafka"),
        ({"log": str(LOG)}, "broker"),
    ],
    ids=["no path", "no log", "no broker"],
)
def test_what_is_no_log_is_one_line(given: dict[str, str], words: str, tmp_path: Path, monkeypatch) -> None:
    """It listed no client of a file that had none, and that looked like good news."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kn.KadminError, match=words) as refused:
        as_task("upgrade_check", tz="UTC", **given)
    assert "\n" not in str(refused.value)


def test_the_shipped_runbook_is_short() -> None:
    """Nobody reads a report of three hundred lines before it is changed."""
    cells = json.loads(kn.runbooks.find("upgrade_check").path.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 80
