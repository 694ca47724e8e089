"""`kadmin-nb kafka-configs` beside Kafka's own tool: the same arguments, the same lines, the same effect and exit."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka.admin import NewTopic

import kadmin_nb as kn
from kadmin_nb import paths
from kadmin_nb.commands import kafka_configs_words as configs_lines
from kadmin_nb.commands import kafka_tool
from kadmin_nb.commands.kafka_client_quotas import in_braces
from kadmin_nb.model.client_configs import ClientEntity
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.outcomes import Outcomes
from tests.admin.logins import admin_client
from tests.hostile_names import HOSTILE
from tests.persons import let_in
from tests.plans.kafka_tool import Tool
from tests.waiting import eventually

pytestmark = pytest.mark.broker

AMPLE, MORE = 10**12, 2 * 10**12
"""Quotas that slow nobody down: other tests share the broker."""


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    running = Tool()
    yield running
    running.close()


@dataclass(frozen=True)
class Kind:
    """An entity type of the tool: how it is spelled, with `{}` for its name, and configs that fit it."""

    spellings: tuple[str, ...]
    configs: tuple[str, str]
    bad_value: str
    whole: str


KINDS = {
    "topics": Kind(
        ("--topic {}", "--entity-type topics --entity-name {}"),
        ("file.delete.delay.ms=70000", "follower.replication.throttled.replicas=[0:1,1:1]"),
        "retention.ms=soon",
        "--entity-type topics",
    ),
    "users": Kind(
        ("--user {}", "--entity-type users --entity-name {}"),
        (f"producer_byte_rate={AMPLE}", "request_percentage=9000.5"),
        "producer_byte_rate=-1",
        "--entity-type users",
    ),
    "clients": Kind(
        ("--client {}", "--entity-type clients --entity-name {}"),
        (f"consumer_byte_rate={AMPLE}", "controller_mutation_rate=40000000"),
        "consumer_byte_rate=1.5",
        "--entity-type clients",
    ),
    "users and clients": Kind(
        (
            "--user {} --client {}-app",
            "--entity-type users --entity-name {} --entity-type clients --entity-name {}-app",
            "--entity-type clients --entity-name {}-app --entity-type users --entity-name {}",
            "--user {} --client-defaults",
            "--entity-type clients --entity-type users --entity-default --entity-name {}",
        ),
        (f"producer_byte_rate={AMPLE}", f"consumer_byte_rate={MORE}"),
        "producer_byte_rate=many",
        "--entity-type users --entity-type clients",
    ),
    "ips": Kind(
        ("--ip {}", "--entity-type ips --entity-name {}"),
        ("connection_creation_rate=100000", "connection_creation_rate=200000"),
        "connection_creation_rate=0",
        "--entity-type ips",
    ),
    "groups": Kind(
        ("--group {}", "--entity-type groups --entity-name {}"),
        ("consumer.session.timeout.ms=50000", "consumer.heartbeat.interval.ms=6000"),
        "consumer.session.timeout.ms=1",
        "--entity-type groups",
    ),
    "client-metrics": Kind(
        ("--client-metrics {}", "--entity-type client-metrics --entity-name {}"),
        ("interval.ms=60000", "metrics=[org.apache.kafka.producer.,org.apache.kafka.consumer.]"),
        "interval.ms=1",
        "--entity-type client-metrics",
    ),
}
"""The types whose entities a test can have for itself."""

LINES = {
    "describe of none": ("", "--describe {whom}"),
    "describe": ("{one},{two}", "--describe {whom}"),
    "describe all": ("{one}", "--describe {whom} --all"),
    "set": ("", "--alter {whom} --add-config {one}"),
    "set two": ("", "--alter {whom} --add-config {one},{two}"),
    "set with blanks": ("", "--alter {whom} --add-config ' {two} , {one} '"),
    "set again": ("{one}", "--alter {whom} --add-config {one}"),
    "take away": ("{one}", "--alter {whom} --delete-config {one_key}"),
    "set and take away": ("{one}", "--alter {whom} --add-config {two} --delete-config {one_key}"),
    "take away what is not there": ("{one}", "--alter {whom} --delete-config {two_key}"),
    "take away an unknown key": ("", "--alter {whom} --delete-config no.such.key"),
    "an unknown key": ("", "--alter {whom} --add-config no.such.key=1"),
    "a bad value": ("{one}", "--alter {whom} --add-config {bad}"),
    "one good, one bad": ("", "--alter {whom} --add-config {two},{bad}"),
    "a key without a value": ("", "--alter {whom} --add-config {one_key}"),
    "no change": ("", "--alter {whom}"),
    "both at once": ("{one}", "--alter {whom} --add-config {one} --delete-config {one_key}"),
    "a key with a letter that no key has": ("", "--alter {whom} --add-config {one},a!=1"),
}
"""The set-up, and the line beside it."""

DIFFERENCES = {
    ("configs", "take away an unknown key"): "a key that nobody knows is a slip: Kafka takes it away without a word",
}
"""The lines that end otherwise here, and why; docs/kafka-commands.md has them too."""

HAVE_QUOTAS = ("users", "clients", "users and clients", "ips")

CASES = [
    pytest.param(kind, spelling, *LINES[line], id=f"{kind}-{number}-{line}")
    for kind in KINDS
    for number, spelling in enumerate(KINDS[kind].spellings)
    for line in LINES
    if ("quotas" if kind in HAVE_QUOTAS else "configs", line) not in DIFFERENCES
    if number == 0 or line in ("describe", "set two", "take away", "a bad value")
]


@pytest.mark.parametrize(("kind", "spelling", "before", "line"), CASES)
def test_a_line_does_what_kafkas_own_does(kadmin, kafka, tool, unique, make_topic, kind, spelling, before, line):
    """We swapped the name in our playbook, and one task in twelve did something else."""
    sides = [_Side(KINDS[kind], spelling, _name_for(kind, unique, lambda n: make_topic(kafka, n))) for _ in range(2)]
    for side in sides:
        if before:
            assert tool.run([*_at(kafka), *side.words(f"--alter {{whom}} --add-config {before}")]).code == 0
    theirs = tool.run([*_at(kafka), *sides[0].words(line)])
    ours = kadmin("kafka-configs", *_at(kafka), *sides[1].words(line))
    assert ours.code == theirs.code, (theirs.err, ours.err)
    if not theirs.code:
        assert sides[1].printed(ours.out) == sides[0].printed(theirs.out)
    after = [side.printed(tool.run([*_at(kafka), *side.words("--describe {whom}")]).out) for side in sides]
    assert after[1] == after[0]


@dataclass(frozen=True)
class _Side:
    """A line for an entity of its own."""

    kind: Kind
    spelling: str
    name: str

    def words(self, line: str) -> list[str]:
        one, two = self.kind.configs
        return shlex.split(
            line.format(
                whom=self.spelling.replace("{}", self.name),
                one=one,
                two=two,
                one_key=one.partition("=")[0],
                two_key=two.partition("=")[0],
                bad=self.kind.bad_value,
            )
        )

    def printed(self, text: str) -> set[object]:
        """The lines that were printed, in any order, and so the pairs within each."""
        return {_pairs_of(line.replace(self.name, "NAME")) for line in text.splitlines()}


def _pairs_of(line: str) -> object:
    start, sign, pairs = line.partition(" are ")
    return (start, frozenset(pairs.split(", "))) if sign else line


def _at(kafka) -> list[str]:
    return ["--bootstrap-server", kafka.bootstrap]


def _name_for(kind: str, unique: Callable[[str], str], make_topic: Callable[[str], str]) -> str:
    if kind == "topics":
        return make_topic(unique("topic"))
    name = unique("entity")
    number = int(re.sub(r"\D", "", name))
    return f"10.9.{number // 250}.{number % 250}" if kind == "ips" else name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in HAVE_QUOTAS])
def test_a_key_that_nobody_knows_is_not_taken_away(kadmin, kafka, unique, make_topic, kind):
    """A misspelt key to delete was deleted with success, and the real one stayed."""
    side = _Side(KINDS[kind], KINDS[kind].spellings[0], _name_for(kind, unique, lambda n: make_topic(kafka, n)))
    answer = kadmin("kafka-configs", *_at(kafka), *side.words("--alter {whom} --delete-config no.such.key"))
    assert (answer.code, answer.out) == (1, "")
    assert "unknown key no.such.key" in answer.err


def test_every_flag_of_kafkas_own_is_there(kadmin, tool):
    """The next Kafka had one flag more, and we heard of it from a user."""
    flags = set(re.findall(r"^--([a-z][a-z.-]*)", tool.run(["--help"]).err, re.MULTILINE))
    assert len(flags) >= 26
    for flag in sorted(flags):
        answer = kadmin("kafka-configs", f"--{flag}=x" if flag in _WITH_VALUE else f"--{flag}")
        assert "No such option" not in answer.err, flag


_WITH_VALUE = ("bootstrap-server", "bootstrap-controller")

SHARED = {
    "broker": ("--broker 1", "--alter {whom} --add-config log.cleaner.backoff.ms=16000", "log.cleaner.backoff.ms"),
    "all brokers": (
        "--entity-type brokers --entity-default",
        "--alter {whom} --add-config log.cleaner.backoff.ms=17000",
        "log.cleaner.backoff.ms",
    ),
    "logger": ("--broker-logger 1", "--alter {whom} --add-config kafka.log.LogCleaner=DEBUG", "kafka.log.LogCleaner"),
    "all users": ("--user-defaults", f"--alter {{whom}} --add-config producer_byte_rate={AMPLE}", "producer_byte_rate"),
    "all clients": (
        "--entity-type clients --entity-default",
        f"--alter {{whom}} --add-config consumer_byte_rate={AMPLE}",
        "consumer_byte_rate",
    ),
    "all ips": (
        "--ip-defaults",
        "--alter {whom} --add-config connection_creation_rate=100000",
        "connection_creation_rate",
    ),
    "all users and clients": (
        "--user-defaults --client-defaults",
        f"--alter {{whom}} --add-config producer_byte_rate={AMPLE}",
        "producer_byte_rate",
    ),
}
"""Those that all tests share: each is changed by the one, taken back, then by the other."""


@pytest.mark.parametrize("what", SHARED)
def test_what_all_share_is_changed_alike(kadmin, kafka, tool, what):
    """The default of all users was changed for a user called <default>."""
    whom, line, key = SHARED[what]
    at = _at(kafka)
    describe = [*at, "--describe", *whom.split()]
    shown = f"{key}=1" if "_rate" in key else f"  {line.split()[-1]} "
    seen = []
    for run in (tool.run, lambda words: kadmin("kafka-configs", *words)):
        done = run([*at, *line.format(whom=whom).split()])
        eventually(lambda: shown in tool.run(describe).out, True)  # a broker takes its own configs in a moment later
        answers = (run(describe).out, tool.run(describe).out)
        seen.append((done.code, done.out, *({_pairs_of(row) for row in text.splitlines()} for text in answers)))
        undo = [*at, "--alter", *whom.split(), "--delete-config", key]
        assert kadmin("kafka-configs", *undo).code == 0
    assert seen[1] == seen[0]


@pytest.mark.parametrize("kind", [*KINDS, "brokers"])
def test_all_of_a_type_are_described_alike(kadmin, kafka, tool, kind):
    """The list of all topics lacked those that begin with two underscores."""
    words = [*_at(kafka), "--describe", *(KINDS[kind].whole if kind in KINDS else "--entity-type brokers").split()]
    theirs, ours = tool.run(words), kadmin("kafka-configs", *words)
    assert ours.code == theirs.code == 0
    of_both = [row for row in ours.out.splitlines() if not row.startswith(OF_KIP_649)]
    assert {_pairs_of(row) for row in of_both} == {_pairs_of(row) for row in theirs.out.splitlines()}


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_whatever_a_client_calls_itself_it_is_one_line(name):
    r"""A client called its version `1\nset producer_byte_rate=1 user=bob`, and a script that read the lines did it."""
    entity = str(ClientEntity(name))
    lines = [
        *configs_lines.supported_lines({entity: {(name, name): ["acks"]}}),
        *configs_lines.client_config_lines([{"entity": entity, "key": "acks", "value": "1"}]),
    ]
    assert [line.isprintable() for line in lines] == [True, True]
    assert all(line.startswith(OF_KIP_649) for line in lines)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_a_name_is_exact_in_a_pipe_and_escaped_on_a_screen(name):
    """A client-id cleared my window and wrote that all quotas were gone."""
    row = {"entity": str(Entity.of({"user": name})), "level": "USER", "user": name, "key": "k", "value": 1.0}
    text = kafka_tool.lines(configs_lines.quota_lines([row]))
    assert str(text) == f"Quota configs for user-principal '{name}' are k=1.0"
    assert repr(text).isprintable()
    assert all(line.isprintable() for line in configs_lines.organised_quotas([row]))


OF_KIP_649 = ("Dynamic configs for user-principal", "Supported dynamic configs for user-principal")
"""Lines that Kafka's own tool does not have: other tests' clients follow dynamic configs on this cluster."""


def test_a_change_is_shown_as_kip_248_promised(kadmin, kafka, make_topic, unique):
    """It ended with one line that said nothing."""
    name = make_topic(kafka, unique("topic"))
    words = [*_at(kafka), "--alter", "--topic", name, "--add-config", "file.delete.delay.ms=70000"]
    planned = kadmin("kafka-configs", *words, "--dry-run")
    assert (planned.code, planned.out.count("file.delete.delay.ms")) == (0, 1)
    answer = kadmin("kafka-configs", *words, "--output", "table")
    assert (answer.code, f"CONFIGS FOR TOPIC {name}" in answer.out) == (0, True)
    assert re.search(r"file\.delete\.delay\.ms = 70000 +false +false +Dynamic topic config", answer.out)


DANGEROUS = {
    "a retention": ("--topic {topic}", "retention.ms", "86400000"),
    "the proposal's acks": (
        "--entity-type users --entity-name {user} --entity-type clients --entity-name app",
        "acks",
        "0",
    ),
    "everybody's limit, tiny": ("--user {user}", "producer_byte_rate", "5"),
}


@pytest.mark.parametrize(("whom", "key", "value"), DANGEROUS.values(), ids=DANGEROUS)
def test_a_danger_is_said_and_the_change_is_made(kadmin, kafka, full_topic, unique, cluster, whom, key, value):
    """The playbook that makes our topics failed at every second one, under a name that never refused anything."""
    whom = whom.format(topic=full_topic, user=unique("user")).split()
    alter = [*_at(kafka), "--alter", *whom, "--add-config", f"{key}={value}"]
    planned = kadmin("kafka-configs", *alter, "--dry-run")
    assert (planned.code, planned.err) == (0, "")
    assert "\n! " in planned.out
    assert "--allow" not in planned.out
    answer = kadmin("kafka-configs", *alter)
    assert (answer.code, answer.out.startswith("Completed updating config for ")) == (0, True)
    [said] = answer.err.splitlines()
    assert said.startswith("danger: ")
    assert f" {key}" in said
    described = [*_at(kafka), "--describe", *whom]
    eventually(lambda: f"{key}={value}" in kadmin("kafka-configs", *described).out, True)
    [run] = [says for says in _runs(cluster) if said.removeprefix("danger: ") in says.get("dangers", ())]
    assert (run["allowed"][0].partition(" ")[0], run["reason"]) == (
        key,
        "kafka-configs, which asks for no confirmation",
    )


def _runs(cluster) -> list[dict[str, object]]:
    """The `run` lines of all journals here."""
    plans = [row["plan_id"] for row in cluster.plans.log().to_arrow().to_pylist()]
    lines = [line for plan in plans for line in cluster.plans.log(plan).to_arrow().to_pylist()]
    return [json.loads(line["details"]) for line in lines if line["kind"] == "run"]


DANGERS = '''import kadmin_nb as kn


@kn.rule(severity="danger")
def dangers(plan):
    """On production they are confirmed."""
    return plan[plan.danger.notna()]
'''


def test_a_policy_may_refuse_dangers_here_too(kadmin, kafka, full_topic, tmp_path, monkeypatch):
    """On production the command is to be as careful as all others."""
    (tmp_path / "careful.py").write_text(DANGERS)
    profile = f'[profiles.production]\nbootstrap = "{kafka.bootstrap}"\npolicy = "careful.py"\n'
    (tmp_path / "kadmin-nb.toml").write_text(profile)
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    alter = ["--cluster", "production", "--alter", "--topic", full_topic, "--add-config", "retention.ms=86400000"]
    refused = kadmin("kafka-configs", *alter)
    assert (refused.code, refused.out) == (1, "")
    assert f"Dangerous: topic={full_topic} " in refused.err
    assert f"--allow 'retention.ms topic={full_topic}'" in refused.err
    row = f"retention.ms topic={full_topic}"
    assert kadmin("kafka-configs", *alter, "--allow", row, "--reason", "meant").code == 0


def test_a_reason_becomes_part_of_the_plan(kadmin, kafka, cluster, unique):
    """I typed why, and the journal had no reason."""
    why = unique("why")
    alter = ["--alter", "--user", unique("user"), "--add-config", f"producer_byte_rate={AMPLE}", "--reason", why]
    assert kadmin("kafka-configs", *_at(kafka), *alter).code == 0
    assert why in [row["reason"] for row in cluster.plans.log().to_arrow().to_pylist()]


WRONG = """
--describe
--alter
--describe --alter --topic a
--describe --topic a --add-config x=y
--describe --topic a --delete-config x
--alter --topic a --all
--describe --topic
--topics a
--descr --topic a
--describe --topic bad/name
--describe --topic ..
--describe --topic a --topic b
--alter --topic a --topic b --add-config retention.ms=1
--describe --entity-type topics --topic b
--describe --entity-type topic --entity-name b
--describe --entity-type users --entity-type topics
--describe --entity-type users --entity-type users
--describe --user a --user-defaults
--describe --user a --topic b
--describe --entity-name a
--describe --entity-default
--describe --entity-type topics --entity-default
--describe --entity-type groups --entity-default
--describe --entity-type broker-loggers
--describe --broker one
--describe --broker-logger one
--alter --broker one --add-config a=b
--alter --entity-type brokers --add-config a=b
--alter --entity-type topics --add-config retention.ms=1
--alter --entity-type topics --entity-default --add-config retention.ms=1
--alter --entity-type users --add-config producer_byte_rate=1
--alter --entity-type users --entity-type clients --entity-name a --add-config producer_byte_rate=1
--alter --entity-type users --entity-name a --entity-default --add-config producer_byte_rate=1000000000000
--alter --entity-type users --entity-default --entity-name a --add-config producer_byte_rate=1000000000000
--alter --entity-type users --entity-default --entity-default --add-config producer_byte_rate=1000000000000
--alter --entity-type brokers --entity-default --entity-name 1 --add-config log.cleaner.backoff.ms=16000
--describe --entity-type users --entity-name a --entity-default
--describe --entity-type clients --entity-default --entity-name a
--alter --topic no-such-topic --add-config retention.ms=1
--alter --topic no-such-topic --delete-config retention.ms
--alter --topic a --add-config retention.ms
--alter --topic a --add-config retention.ms=1=2
--alter --topic a --add-config ''
--alter --topic a --add-config =1
--alter --topic a --add-config retention.ms=1 --add-config-file nowhere.properties
--alter --topic a --add-config-file nowhere.properties
--alter --user a --add-config retention.ms=1
--alter --ip 10.0.0.1 --add-config producer_byte_rate=1
--alter --user a --add-config producer_byte_rate=
--alter --user a --add-config producer_byte_rate=0
--alter --user-defaults --add-config SCRAM-SHA-256=[password=canary-in-a-word]
--alter --client a --add-config SCRAM-SHA-256=[password=canary-in-a-word]
--alter --user a --delete-config SCRAM-SHA-1
--alter --user nobody-here --delete-config SCRAM-SHA-256
--alter --user nobody-here --delete-config SCRAM-SHA-256,SCRAM-SHA-512
--alter --user nobody-here --delete-config acks
--alter --broker-logger 1 --add-config no.such.Logger=DEBUG
--alter --broker-logger 1 --add-config kafka.log.LogCleaner=LOUD
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_a_wrong_line_is_wrong_here_too(kadmin, kafka, tool, line):
    """A line that Kafka's tool refuses changed something."""
    words = [*_at(kafka), *shlex.split(line)]
    assert tool.run(words).code == 1
    answer = kadmin("kafka-configs", *words)
    assert (answer.code, answer.out) == (1, "")
    assert len(answer.err.splitlines()) in (1, 2)
    assert "canary" not in answer.err


def test_a_file_of_configs_is_set(kadmin, kafka, tool, make_topic, unique, tmp_path):
    """The configs of our topics are in a file, as the tool takes it."""
    place = tmp_path / "topic.properties"
    place.write_text("# of all topics\nfile.delete.delay.ms = 70000\nfollower.replication.throttled.replicas=0:1,1:1\n")
    names = [make_topic(kafka, unique("topic")) for _ in range(2)]
    line = ["--alter", "--add-config-file", str(place), "--topic"]
    assert tool.run([*_at(kafka), *line, names[0]]).code == 0
    assert kadmin("kafka-configs", *_at(kafka), *line, names[1]).code == 0
    shown = [tool.run([*_at(kafka), "--describe", "--topic", name]).out.replace(name, "NAME") for name in names]
    assert shown[1] == shown[0]


def test_a_secret_of_a_file_stays_there(kadmin, kafka, tmp_path):
    """The password of the file stood in the plan that I was to review."""
    place = tmp_path / "broker.properties"
    place.write_text("listener.name.internal.ssl.key.password=canary-in-a-file\n")
    whom = ["--broker", "1", "--add-config-file", str(place), "--dry-run"]
    answer = kadmin("kafka-configs", *_at(kafka), "--alter", *whom)
    assert f"properties:{place}#listener.name.internal.ssl.key.password" in answer.out + answer.err
    assert "canary" not in answer.out + answer.err


def test_a_secret_of_a_file_under_any_other_name_is_in_no_plan(kadmin, kafka, tmp_path):
    """The key of our plug-in is not called a password, and its value stood in the plan."""
    place = tmp_path / "broker.properties"
    place.write_text("plugin.thing=canary-in-a-file\nlog.cleaner.threads=1\n")
    whom = ["--broker-defaults", "--add-config-file", str(place), "--allow-unknown", "plugin.thing", "--dry-run"]
    answer = kadmin("kafka-configs", *_at(kafka), "--alter", *whom)
    assert (answer.code, "Write plugin.thing=" in answer.err) == (1, True)
    assert "canary" not in answer.out + answer.err


def test_credentials_are_made_listed_and_deleted_as_kafkas_own_does(kadmin, kafka, tool, unique, monkeypatch):
    """Our playbooks make SCRAM users with this tool, and yours refused the words."""
    monkeypatch.setenv("NEW_PASSWORD", "canary-of-a-credential")
    user, name = unique("alice"), "--entity-type users --entity-name {}".format
    both = "SCRAM-SHA-256=[iterations=8192,password={}],SCRAM-SHA-512=[password={}]"
    words = [*_at(kafka), "--alter", *name(user).split(), "--add-config", both.format(*["env:NEW_PASSWORD"] * 2)]
    made = kadmin("kafka-configs", *words)
    assert (made.code, made.out) == (0, f"Completed updating config for user {user}.\n"), made.err
    described = [*_at(kafka), "--describe", *name(user).split()]
    listed = f"SCRAM credential configs for user-principal '{user}' are "
    expected = f"{listed}SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096"
    assert kadmin("kafka-configs", *described).out.splitlines() == [expected]
    assert _pairs_of(expected) in [*map(_pairs_of, tool.run(described).out.splitlines())]
    removed = kadmin("kafka-configs", *_at(kafka), "--alter", "--user", user, "--delete-config", "SCRAM-SHA-512")
    assert removed.code == 0, removed.err
    assert kadmin("kafka-configs", *described).out.splitlines() == [f"{listed}SCRAM-SHA-256=iterations=8192"]
    bare = [*words[:-1], both.format("canary-as-text", "canary-as-text")]
    refused = kadmin("kafka-configs", *bare)
    assert (refused.code, refused.out) == (1, "")
    assert "canary" not in refused.err


def test_several_properties_stand_behind_one_option():
    """KIP-248 has a list there, and we had to repeat the option; a JAAS text has commas of its own."""
    jaas = 'sasl.jaas.config=X required username="a,b=c";'
    texts = ("client.id=a,security.protocol=PLAINTEXT", f"{jaas},client.id=b", "ssl.protocol=TLSv1.3,TLSv1.2")
    assert [kafka_tool._NEXT_PROPERTY.split(text) for text in texts] == [
        ["client.id=a", "security.protocol=PLAINTEXT"],
        [jaas, "client.id=b"],
        ["ssl.protocol=TLSv1.3,TLSv1.2"],
    ]


def test_who_names_no_broker_looks_and_changes_nothing(kadmin, kafka, unique, monkeypatch):
    """The profile of a folder was the production cluster, and a line without any address changed it."""
    user = unique("user")
    alter = ("kafka-configs", "--alter", "--user", user, "--add-config", f"producer_byte_rate={AMPLE}")
    refused = kadmin(*alter)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("UsageError: --bootstrap-server is required")
    assert "--cluster TARGET or $KADMIN_PROFILE" in refused.err
    assert "--bootstrap-server is required" not in kadmin("kafka-configs", "--describe", "--user", user).err
    assert kadmin(*alter, "--cluster", kafka.bootstrap).code == 0
    assert kadmin(*alter, "--cluster", kafka.bootstrap, *_at(kafka)).code == 1
    monkeypatch.setenv("KADMIN_PROFILE", kafka.bootstrap)
    assert kadmin(*alter).code == 0
    assert kadmin("kafka-configs", "--describe", "--user", user).out.startswith("Quota configs for user-principal")


@pytest.mark.parametrize(
    "alter",
    [
        ("kafka-configs", "--alter", "--user", "{}", "--add-config", f"producer_byte_rate={AMPLE}"),
        ("kafka-configs", "--alter", "--user", "{}", "--delete-config", "producer_byte_rate", "--dry-run"),
        ("kafka-client-quotas", "--alter", "--names", "user={}", "--add", f"producer_byte_rate={AMPLE}"),
        ("scram-credentials", "--add", "SCRAM-SHA-256=env:NEW", "--username", "{}"),
        ("scram-credentials", "--delete", "SCRAM-SHA-256", "--username", "{}"),
    ],
    ids=["set", "dry run", "KIP-546", "password", "deletion"],
)
def test_the_cluster_that_use_chose_is_for_lines_that_read(kadmin, kafka, cluster, unique, alter):
    """A playbook without an address changed the cluster that I had looked at an hour before."""
    user = unique("user")
    assert kadmin("use", kafka.bootstrap).code == 0
    try:
        refused = kadmin(*(word.format(user) for word in alter))
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.splitlines() == [
            "UsageError: --bootstrap-server is required",
            "Hint: For example --bootstrap-server localhost:9092. Or use --cluster TARGET or $KADMIN_PROFILE: a line "
            "that alters names its cluster.",
        ]
        assert cluster.quotas.describe(user=user).to_arrow().num_rows == 0
        assert kadmin("kafka-configs", "--describe", "--user", user).code == 0
        assert kadmin("kafka-client-quotas", "--describe", "--names", f"user={user}").code == 0
    finally:
        (paths.state_dir() / "current_cluster.json").unlink()


@pytest.mark.parametrize("action", [["--describe"], ["--alter", "--add-config", "connection_creation_rate=5"]])
def test_an_ip_that_is_none_ends_the_line_as_in_kafkas_own_tool(kadmin, kafka, tool, action):
    """I described the ip `10.0.0.256`, and an empty answer told me that it has no limit."""
    words = [*_at(kafka), *action, "--entity-type", "ips", "--entity-name", "10.0.0.256"]
    answer, theirs = kadmin("kafka-configs", *words), tool.run(words)
    assert (answer.code, theirs.code) == (1, 1)
    said = "The entity name for ips must be a valid IP or resolvable host, but it is: 10.0.0.256"
    assert said in answer.err
    assert said in theirs.out + theirs.err


@pytest.mark.parametrize("whom", ["--user a", "--user-defaults", "--client a"])
def test_a_misspelt_key_is_told_those_that_there_are(kadmin, kafka, whom):
    """I misspelt acks, and was told that users have quotas alone."""
    answer = kadmin("kafka-configs", *_at(kafka), "--alter", *whom.split(), "--add-config", "aks=1")
    assert (answer.code, "controller_mutation_rate" in answer.err) == (1, True)
    assert ("acks" in answer.err) == (whom == "--user a")


def test_registrations_go_beside_other_keys(kadmin, kafka, unique):
    """KIP-649 deletes supported.configs with whatever else is to go, and once it spells it without the s."""
    user = ("--user", unique("user"))
    alter = ("kafka-configs", *_at(kafka), "--alter", *user)
    assert kadmin(*alter, "--add-config", f"producer_byte_rate={AMPLE}").code == 0
    done = kadmin(*alter, "--delete-config", "supported.configs,producer_byte_rate")
    assert (done.code, done.out) == (0, f"Completed updating config for user {user[1]}.\n"), done.err
    assert kadmin("kafka-configs", *_at(kafka), "--describe", *user).out == ""
    assert kadmin(*alter, "--delete-config", "supported.config").code == 0
    both = kadmin(*alter, "--delete-config", "supported.config", "--add-config", f"producer_byte_rate={AMPLE}")
    assert both.code == 0, both.err
    looked = kadmin(*alter, "--delete-config", "supported.config", "--dry-run")
    assert (looked.code, looked.out.startswith("Nothing was changed")) == (0, True)


def test_a_failure_prints_no_table_where_scripts_read(kadmin, kafka, topic, monkeypatch):
    """A line that failed printed our table on standard output, and the script took its heading for an answer."""
    refused = Outcomes.raise_for_errors

    def failing(outcomes):
        raise kn.PartlyFailed("1 of 1 rows failed", outcomes=refused(outcomes), code="PARTLY")

    monkeypatch.setattr(Outcomes, "raise_for_errors", failing)
    alter = ("--alter", "--topic", topic, "--add-config", "file.delete.delay.ms=70000")
    answer = kadmin("kafka-configs", *_at(kafka), *alter)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("PartlyFailed: 1 of 1 rows failed")
    assert "file.delete.delay.ms" in answer.err


def test_an_older_broker_that_cannot_list_is_a_note(kadmin, kafka, monkeypatch):
    """The playbook describes all types in turn, and ended at the groups of a cluster of 3.9."""

    def no_list(configs, word):
        raise kn.errors.Unsupported("this broker can only list client-metrics")

    monkeypatch.setattr("kadmin_nb.cluster.configs.Configs.names", no_list)
    answer = kadmin("kafka-configs", *_at(kafka), "--describe", "--entity-type", "groups")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith("Note: groups cannot be listed: this broker can only list")


@pytest.mark.parametrize("typed", ["kafka-acls", "kafka-topics.sh", "kafka-consumer-groups"])
def test_a_tool_that_is_not_here_is_not_taken_for_another(kadmin, typed):
    """I typed kafka-acls, and was asked whether I meant kafka-configs."""
    answer = kadmin(typed, "--list")
    assert answer.code == 2
    assert answer.err.startswith(f"UsageError: unknown command '{typed}'")
    assert "Did you mean" not in answer.err


@pytest.mark.secure
def test_a_topic_that_one_may_not_see_is_told_as_one_that_does_not_exist(kadmin, tool, secure_kafka, unique):
    """*The topic doesn't exist*: it does, and Kafka's own tool says that, too, to who may not see it."""
    hidden, missing = unique("hidden"), unique("missing")
    with secure_kafka.connect() as admin:
        client = admin_client(admin.settings)
        client.create_topics([NewTopic(hidden, 1, 1)], operation_timeout=30)[hidden].result()
    properties = let_in(secure_kafka, unique("blind"))
    for name in (hidden, missing):
        line = [*_at(secure_kafka), "--command-config", str(properties), "--describe", "--topic", name]
        theirs, ours = tool.run(line), kadmin("kafka-configs", *line)
        assert (theirs.code, theirs.out.strip()) == (
            0,
            f"The topic '{name}' doesn't exist and doesn't have dynamic config.",
        )
        assert (ours.code, ours.out.strip()) == (theirs.code, theirs.out.strip())
    more = kadmin("config", "describe", f"topic={hidden}", "--cluster", str(properties))
    assert more.err.splitlines()[-1] == f"Hint: It needs DESCRIBE_CONFIGS on the topic {hidden}."


@pytest.mark.parametrize("typed", ["kafka-configs.sh", "kafka-config"])
def test_the_scripts_name_means_the_command(kadmin, typed):
    """I had the .sh in my fingers."""
    assert kadmin(typed, "--help").err.splitlines()[1] == "Hint: Did you mean kafka-configs?"


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_names_are_written_as_kafkas_sanitizer_writes_them(tool, name):
    """`a~b` came back as `a~b`, and the script that undoes Kafka's escapes found another entity."""
    theirs = tool.gateway.jvm.org.apache.kafka.common.utils.internals.Sanitizer.sanitize(name)
    assert in_braces(Entity.of({"user": name})) == f"{{user={theirs}}}"
