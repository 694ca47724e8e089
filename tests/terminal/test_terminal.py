"""The terminal on a real Kafka: tables, files, plans, exit codes."""

from __future__ import annotations

import io
import json
import sys
import unicodedata
import uuid

import pyarrow.csv
import pyarrow.parquet
import pytest

from kadmin_nb.cluster.changing import Changes
from kadmin_nb.commands import terminal
from kadmin_nb.errors import NotAuthorized
from kadmin_nb.model.changes import Outcome
from kadmin_nb.plans.outcomes import ApplyResult, Outcomes
from kadmin_nb.plans.plan_file import PlanHead

pytestmark = pytest.mark.broker


@pytest.fixture
def user():
    """A user that nobody else has."""
    return f"user-{uuid.uuid4().hex[:8]}"


def stored(cluster, name):
    rows = cluster.quotas.describe(user=name, strict=True).to_arrow().to_pylist()
    return {row["key"]: row["value"] for row in rows}


def test_a_change_is_planned_printed_and_not_made(live, cluster, user):
    """`set` changed the cluster at once."""
    said = live("quota", "set", "producer_byte_rate=5MB/s", f"user={user}")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Plan ")
    assert stored(cluster, user) == {}


def test_apply_goes_on(live, cluster, user):
    """I had planned, and had to plan again to apply."""
    said = live("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--apply")
    assert said.code == 0
    assert "1 verified" in said.out
    assert stored(cluster, user) == {"producer_byte_rate": 5e6}


def test_a_list_of_words_asks_for_all_that_any_of_it_names(live, cluster, user):
    """broker=<any> broker=<default> had no broker, and exit status 0."""
    live("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--apply")
    said = live("quota", "describe", "user=<any>", "user=<default>", "--json")
    assert user in {row["user"] for row in json.loads(said.out)}
    asked = (["broker=<any>", "broker=<default>"], ["--any", "broker", "--default", "broker"])
    for words in asked:
        rows = json.loads(live("config", "describe", *words, "--keys", "log.retention.ms", "--json").out)
        assert "1" in {row["resource_name"] for row in rows}
    assert live("quota", "resolve", f"user~={user[:-1]}?", "--json").code == 0


@pytest.mark.parametrize(
    ("line", "code", "hint"),
    [
        ("config describe topic=near-ordres", 1, "Did you mean topic=near-orders?"),
        ("config describe topic=near-ordres topic=near-orders", 1, "Did you mean topic=near-orders?"),
        ("config describe broker=99", 1, "The cluster has broker 1."),
        ("config set retention.ms=5 topic=near-ordres", 1, "Did you mean topic=near-orders? Nothing was sent."),
        (
            "quota describe user=near-alcie",
            0,
            "Hint: No quota is set on user=near-alcie; did you mean user=near-alice?",
        ),
        ("quota describe user=near-alice client-id=near-ap", 0, "did you mean client-id=near-app?"),
        ("config describe client-metrics=near-producers", 0, ""),
        ("quota describe user=near-alicesprings", 0, ""),
        ("quota describe user~=near-x*", 0, ""),
        ("config describe topic=quite-another", 1, ""),
        ("config describe topic=NEAR-ORDERS", 1, "Did you mean topic=near-orders?"),
        ("config set retention.mss=5 topic=near-orders --apply", 5, "Nothing was sent. Did you mean retention.ms?"),
        ("config describe topic=near-orders --keys log.retention.ms", 2, "Did you mean retention.ms?"),
        ("scram describe user=quite-another", 1, ""),
    ],
)
def test_a_near_miss_names_what_is_there(live, near, line, code, hint):
    """There is no such topic, it said, and mine had two letters swapped."""
    said = live(*line.split())
    assert (said.code, hint in said.err) == (code, True), said.err
    assert ("id you mean" in said.err) == ("id you mean" in hint)


@pytest.fixture(scope="module")
def near(cluster):
    """A topic and quotas to be missed by a letter."""
    cluster.port.create_topics({"near-orders": 1})
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user="near-alice")
    stage.set_quota("producer_byte_rate", 1000, user="near-alice", client_id="near-app")
    stage.set_config("interval.ms", "60000", client_metrics="near-producers")
    stage.set_scram("near-alice", "SCRAM-SHA-512", password="env:NEAR_PASSWORD")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEAR_PASSWORD", "a-long-one")
        stage.plan().apply().raise_for_errors()


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("set retention.mss=5 topic=near-orders", "did you mean retention.ms?"),
        ("append cleanup.polcy=compact topic=near-orders", "did you mean cleanup.policy?"),
        ("set consumer.session.timeout.mss=50000 group=near", "did you mean consumer.session.timeout.ms?"),
        ("set interval.mss=50000 client-metrics=near", "did you mean interval.ms?"),
        ("set log.retention.ms=5 topic=near-orders", "did you mean retention.ms?"),
        ("set kafka.server.KafkaApi=DEBUG broker-logger=1", "Did you mean kafka.server.KafkaApis?"),
        ("set log.retention.mss=50000 broker=1", "Did you mean log.retention.ms?"),
        ("reset retention.mss topic=near-orders", "Did you mean retention.ms?"),
    ],
)
def test_a_near_miss_of_a_config_key_is_told_with_the_plan(live, near, line, hint):
    """Unknown topic config name: retention.mss, said the broker, and nobody which one I meant."""
    said = live("config", *line.split())
    assert (said.code, hint in said.out + said.err) == (1, True), said


def test_a_near_miss_is_no_further_failure(live, cluster, near, monkeypatch):
    """It could not list the topics, and so it could not say that mine is not there."""

    def refuse(*_args, **_more):
        raise NotAuthorized("no DESCRIBE")

    monkeypatch.setattr("kadmin_nb.admin.wire_kafka.WireKafka.topics", refuse)
    said = live("config", "describe", "topic=near-ordres")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert said.err.startswith("NotFound: UNKNOWN_TOPIC_OR_PARTITION for TOPIC near-ordres")


def test_detailed_exit_codes(live, user):
    """CI could not tell a change from none."""
    line = ("quota", "set", "producer_byte_rate=5MB/s", f"user={user}")
    assert live(*line, "--detailed-exitcode").code == 3
    assert live(*line).code == 0
    assert live(*line, "--apply").code == 0
    assert live(*line, "--detailed-exitcode").code == 0


def test_a_plan_goes_through_a_file(live, kadmin, cluster, user, tmp_path):
    """A plan that was reviewed could not be the one applied."""
    place = str(tmp_path / "p.json")
    assert live("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", place).code == 0
    shown = kadmin("plan", "show", place)
    assert shown.code == 0
    assert user in shown.out
    assert live("plan", "verify", place).code == 4
    assert live("plan", "apply", place).code == 0
    assert stored(cluster, user) == {"producer_byte_rate": 5e6}
    assert live("plan", "verify", place).code == 0


def test_a_conflict_is_5_and_nothing_is_sent(live, cluster, user, tmp_path):
    """It overwrote what my colleague had set in between."""
    place = str(tmp_path / "p.json")
    live("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", place)
    live("quota", "set", "producer_byte_rate=7MB/s", f"user={user}", "--apply")
    said = live("plan", "apply", place)
    assert said.code == 5
    assert said.err.startswith("Conflict: ")
    assert stored(cluster, user) == {"producer_byte_rate": 7e6}


def test_a_plan_for_another_cluster_is_5(live, tmp_path, user):
    """The plan for test was applied to production."""
    place = tmp_path / "p.json"
    live("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", str(place))
    from kadmin_nb.plans.plan import Plan

    plan = Plan.load(place)
    Plan(PlanHead("other", plan.head.created, plan.reason), plan.changes).save(place, overwrite=True)
    said = live("plan", "apply", str(place))
    assert said.code == 5
    assert said.err.startswith("WrongCluster: the plan is for cluster other")


def test_a_change_that_the_broker_refuses_is_1(live, user):
    """A refused plan ended with exit status 0."""
    line = ("config", "set", "interval.ms=soon", f"client-metrics={user}")
    said = live(*line)
    assert said.code == 1
    assert said.err.startswith("Invalid: 1 of 1 ")
    assert live(*line, "--apply").code == 5


def test_many_lines_from_a_file_and_from_standard_input(live, cluster, user, tmp_path, monkeypatch):
    """Ten changes were ten commands."""
    text = f"# the fair\nset producer_byte_rate=1kB user={user}\nset consumer_byte_rate=2kB user={user}  # don't\n"
    place = tmp_path / "lines.txt"
    place.write_text(text)
    assert live("plan", "-f", str(place), "--detailed-exitcode").code == 3
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert live("plan", "-f", "-", "--apply", "--reason", "fair").code == 0
    assert stored(cluster, user) == {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0}
    place.write_text(text + "set producer_byte_rate=x user=a")
    said = live("plan", "-f", str(place))
    assert said.code == 2
    assert said.err.startswith("UsageError: line 4: producer_byte_rate=x is not a number")
    place.write_bytes(b"set producer_byte_rate=1 user=\xff")
    said = live("plan", "-f", str(place))
    assert said.code == 1
    assert said.err.startswith(f"Invalid: {place}: line 1: it is not UTF-8, so it cannot be a file of lines\n")


@pytest.mark.parametrize(
    ("state", "code"), [("unverified", 4), ("unknown", 4), ("failed", 1), ("skipped", 1), ("verified", 0)]
)
def test_changes_that_are_not_verified(live, user, monkeypatch, state, code):
    """Half of it was done, and the exit status was 0."""
    monkeypatch.setattr(
        Changes,
        "apply",
        lambda self, plan, *_, **__: Outcomes.of(
            plan.id, plan.cluster_id, ApplyResult([Outcome(plan.changes[0], state)])
        ),
    )
    said = live("quota", "set", "producer_byte_rate=1MB/s", f"user={user}", "--apply")
    assert said.code == code
    assert f"1 {state}" in said.out
    assert said.err.startswith("PartlyFailed: 1 of 1 changes are not verified") == (code != 0)


def test_a_plan_that_cannot_be_written(live, user, tmp_path):
    """The disk was full, and I got a stack trace."""
    place = tmp_path / "no" / "p.json"
    said = live("quota", "set", "producer_byte_rate=1", f"user={user}", "--save", str(place))
    assert (said.code, said.err) == (1, f"NotFound: {place} cannot be written: No such file or directory\n")


def test_options_before_the_sub_command(kadmin, kafka, user, tmp_path):
    """`plan --cluster X apply p.json` asked for a cluster."""
    place = str(tmp_path / "p.json")
    kadmin("quota", "set", "producer_byte_rate=1kB", f"user={user}", "--save", place, "--cluster", kafka.bootstrap)
    assert kadmin("plan", "--cluster", kafka.bootstrap, "verify", place).code == 4
    assert json.loads(kadmin("plan", "--json", "show", place).out)[0]["after"] == "1000"


def test_json_and_files(live, user, tmp_path):
    """The table was for people only."""
    live("quota", "set", "producer_byte_rate=1kB", f"user={user}", "--apply")
    printed = live("quota", "describe", f"user={user}", "--json").out
    [row] = json.loads(printed)
    assert (row["user"], row["value"]) == (user, 1000.0)
    for kind in (".parquet", ".csv", ".json", ".jsonl"):
        said = live("quota", "describe", f"user={user}", "--out", str(tmp_path / f"q{kind}"))
        assert (said.code, said.out) == (0, "")
    assert pyarrow.parquet.read_table(tmp_path / "q.parquet")["value"].to_pylist() == [1000.0]
    assert pyarrow.csv.read_csv(tmp_path / "q.csv")["user"].to_pylist() == [user]
    assert (tmp_path / "q.json").read_text() == printed
    assert (tmp_path / "q.jsonl").read_text() == f"{json.dumps(row)}\n"
    live("quota", "set", "producer_byte_rate=1kB", f"user=={'='}{user}", "--apply")
    live("quota", "describe", f"user==={user}", "--out", str(tmp_path / "f.csv"))
    assert pyarrow.csv.read_csv(tmp_path / "f.csv")["user"].to_pylist() == [f"'={user}"]
    said = live("quota", "describe", "--out", str(tmp_path / "no" / "q.csv"))
    assert said.code == 1
    assert "cannot be written" in said.err


def test_pairs_from_a_file(live, tmp_path):
    """A client called 007 became number 7."""
    place = tmp_path / "pairs.csv"
    place.write_text("user,client_id\n007,app\n")
    rows = json.loads(live("quota", "resolve", "--pairs", str(place), "--json", "-k", "producer_byte_rate").out)
    assert [(row["user"], row["client_id"]) for row in rows] == [("007", "app")]


def test_default_and_any_as_options(live):
    """My shell ate the < of <default>."""
    assert (
        live("quota", "describe", "user=<default>", "--strict").out
        == live("quota", "describe", "--default", "user", "--strict").out
    )
    assert live("quota", "describe", "user=<any>").out == live("quota", "describe", "--any", "user").out


def test_a_variable_is_no_variable_in_the_terminal(live):
    """A user called {x} could not be named."""
    plan = live("quota", "set", "producer_byte_rate=1", "user={x}").out
    assert "user=={x}" in plan


HOSTILE = {
    "ansi": "\x1b[31mred\x1b]0;title\x07",
    "bidi": "a\u202egnp.exe",
    "lines": "a\nb\r\nc\td",
    "zero": "a\u200b\ufeffb",
    "c1": "a\x9b31mb",
    "wide": "名前",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_obey_nobody(live, cluster, hostile):
    """A client-id turned my terminal red and renamed its window."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user=hostile)
    stage.plan().apply()
    try:
        tables = [
            live("quota", "describe", f"user=={hostile}"),
            live("quota", "tree"),
            live("quota", "resolve", f"user=={hostile}", "client-id=x", "--overridden"),
            live("quota", "set", "producer_byte_rate=2kB", f"user=={hostile}"),
            live("quota", "set", "producer_byte_rate=1kB", f"user=={hostile}", "--apply"),
            live("quota", "set", "producer_byte_rate=-1", f"user=={hostile}"),
            live("quota", "describe", f"{hostile}=x"),
            live("config", "describe", f"topic=={hostile}"),
        ]
    finally:
        stage.discard()
        stage.remove_quota("producer_byte_rate", user=hostile)
        stage.plan().apply()
    for said in tables:
        strange = [c for c in said.out + said.err if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
        assert strange == []
    described = tables[0].out.rstrip("\n").split("\n")
    assert len(described) == 3


def test_a_topic_that_is_not_there_beside_one_that_is(live, user):
    """One failed row, and exit status 0."""
    live("config", "set", "interval.ms=5000", f"client-metrics={user}", "--apply")
    said = live("config", "describe", f"client-metrics={user}", f"topic={user}")
    assert said.code == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in said.out
    assert "5000" in said.out
    assert said.err.startswith("PartlyFailed: 1 of ")
    alone = live("config", "describe", f"topic={user}")
    assert (alone.code, alone.out) == (1, "")
    assert alone.err.startswith("NotFound: ")


def test_spark_that_is_not_installed(live, monkeypatch):
    """--as spark ended in an ImportError."""
    for module in [name for name in sys.modules if name.split(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    said = live("quota", "describe", "user=nobody", "--as", "spark")
    assert said.code == 1
    assert said.err.startswith("Unsupported: pyspark is not installed")


def test_an_answer_nobody_reads_keeps_its_exit_code(live, user, monkeypatch):
    """`| head` turned a failed apply into exit status 0."""

    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            return place.fileno()

    with open("/dev/null", "w") as place:
        monkeypatch.setattr(sys, "stdout", Closed())
        assert terminal.run_line([]) == 0
        assert live("quota", "set", "producer_byte_rate=5", f"user={user}", "--detailed-exitcode").code == 3


def test_a_property_without_effect_is_a_note(live, user):
    """--property request.timeout.ms=5 changed nothing, and nobody said so."""
    said = live("quota", "describe", f"user={user}", "--property", "request.timeout.ms=5", "--property", "client.id=me")
    assert (said.code, said.err) == (
        0,
        "Note: these properties have no effect here: request.timeout.ms; "
        "docs/connections.md lists those that have one\n",
    )


def test_a_type_of_a_later_kafka_is_the_brokers_to_judge(live):
    """KIP-546 promises any entity type, and we refused what a newer broker takes."""
    planned = live("quota", "set", "producer_byte_rate=1MB/s", "entity:team=x")
    assert planned.code == 1
    assert "Unhandled client quota entity type: team" in planned.out
    described = live("quota", "describe", "entity:team=x")
    assert (described.code, described.out) == (1, "")
    assert "Unsupported entity type team" in described.err
    resolved = live("quota", "resolve", "entity:team=x")
    assert (resolved.code, resolved.err.startswith("UsageError: entity:team is not one of user")) == (2, True)


def test_an_empty_value_is_set_and_shown(live, user):
    """--save wrote a plan that I could not read: after was blank."""
    key = "listener.name.nobody.ssl.cipher.suites"
    planned = live("config", "set", f"{key}=", "broker=1")
    assert (planned.code, '""' in planned.out) == (0, True)
    assert live("config", "set", f"{key}=", "broker=1", "--apply").code == 0
    assert live("config", "reset", key, "broker=1", "--apply").code == 0
