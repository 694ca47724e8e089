"""A stage or plan prints itself as a cell, as kafka-configs.sh lines and as Markdown; all mean the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser

import mistune
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.frames import blocks, schemas
from kadmin_nb.model.changes import Change, Edit, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import change_lines
from kadmin_nb.plans.formats import PrintFormats, Subject
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead, columns_of
from kadmin_nb.plans.planning import wishes as wishes_of
from kadmin_nb.plans.stage import Stage, edits_of
from tests.dangerous_plans import applied
from tests.hostile_names import HOSTILE
from tests.plans.kafka_tool import Tool, read_by_bash, run_by_bash
from tests.waiting import eventually

RATE, OTHER_RATE, IP_RATE = "producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"
RETENTION, POLICY = "retention.ms", "cleanup.policy"
AMPLE = 10**12
"""A default that slows nobody down: the lease of these very plans is written by a client, too."""


class Shown(PrintFormats):
    """The print formats of a plan's rows."""

    def __init__(self, changes: Iterable[Change], **head: str) -> None:
        self.changes, self.head = tuple(changes), head

    def _subject(self) -> Subject:
        return Subject(self.changes, self.head)

    def to_arrow(self) -> pa.Table:
        return schemas.from_columns(schemas.PLAN, columns_of(self.changes))

    def _content(self, page: blocks.Page = blocks.NOTEBOOK) -> list[blocks.Block]:
        return [self.to_arrow()]


@pytest.fixture
def stage() -> Stage:
    return empty()


def empty() -> Stage:
    return Stage(planned)


def planned(edits: list[Edit], *_: object) -> Plan:
    """A plan on a cluster where what is to be removed is set."""
    rows = [row if row.after is not None else row.with_(old="1") for row in wishes_of(edits)]
    return Plan(PlanHead("cluster", "2026-01-01T00:00:00+00:00"), tuple(rows))


def wishes(stage: Stage) -> list[tuple[object, ...]]:
    return [meant(edit) for edit in edits_of(stage).staged().values()]


def meant(edit: Edit) -> tuple[object, ...]:
    return edit.op, edit.resource, edit.key, edit.value


def fill(stage: Stage, name: str) -> None:
    """Every verb, about this name."""
    stage.set_quota(RATE, "5MB/s", user=name)
    stage.set_quota("request_percentage", 12.5, user=name, client_id=kn.DEFAULT)
    stage.set_quota("controller_mutation_rate", 1e-7, user=kn.DEFAULT, client_id=name)
    stage.remove_quota(OTHER_RATE, client_id=name)
    stage.set_config("consumer.session.timeout.ms", 50000, group=name)
    stage.set_config("match", f"client_id={name}", client_metrics="m")
    stage.reset_config(RETENTION, topic="t")
    stage.append_config(POLICY, "compact,delete", topic="t")
    stage.subtract_config(POLICY, [name], topic="u")
    stage.set_config("log.retention.ms", 1, broker=kn.DEFAULT)
    stage.set_config("kafka.server.KafkaApis", "DEBUG", broker_logger=1)
    stage.set_config("org.apache.kafka.Token", "DEBUG", broker_logger=1)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_cell_stages_the_same_again(stage, name):
    """I copied what was staged into another notebook, and it changed somebody else."""
    fill(stage, name)
    assert [meant(e) for e in change_lines.edits(stage.to_cell())] == wishes(stage)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(texts, texts)
def test_any_name_and_value_survive_a_cell(name, value):
    """One day there was a name that nobody had thought of."""
    stage = empty()
    stage.set_quota(RATE, 1, user=name, client_id=value)
    stage.set_config("match", value, client_metrics=name)
    assert [meant(e) for e in change_lines.edits(stage.to_cell())] == wishes(stage)


def test_a_cell_says_where_it_belongs(stage):
    """The cell was refused by the magic that I pasted it under."""
    stage.set_quota(RATE, 5, user="alice")
    stage.reset_config(RETENTION, topic="t")
    assert stage.to_cell().splitlines()[0] == "# below %%kadmin, or for kadmin-nb plan -f FILE"
    assert [meant(e) for e in change_lines.edits(stage.to_cell())] == wishes(stage)


def test_formats_are_shown_as_they_are(stage):
    """The notebook showed a line full of \\n."""
    stage.set_quota(RATE, "5MB/s", user="alice", client_id=kn.DEFAULT)
    assert repr(stage.to_cell()) == (
        "# below %%kadmin, or for kadmin-nb plan -f FILE\n"
        "set producer_byte_rate=5000000 user=alice client-id=<default>\n"
    )
    assert repr(stage.to_kafka_configs("k:9092", "client.properties")).endswith(
        "\nkafka-configs.sh --bootstrap-server k:9092 --command-config client.properties --alter "
        "--entity-type users --entity-name alice --entity-type clients --entity-default "
        "--add-config producer_byte_rate=5000000\n"
    )
    assert repr(stage.to_markdown()) == f"```diff\n{stage.as_text(blocks.WHOLE).rstrip()}\n```\n"


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_what_is_shown_moves_no_terminal(stage, name):
    """A client-id coloured my terminal, and a pasted escape named another client."""
    fill(stage, name)
    for text in (stage.to_cell(), stage.to_kafka_configs(), stage.to_markdown()):
        assert all(line.isprintable() for line in repr(text).split("\n"))
    plain = {meant(edit) for edit in change_lines.edits(repr(stage.to_cell()))}
    assert plain <= set(wishes(stage))


def test_what_a_line_cannot_say_is_a_note(stage):
    """A secret stood in the lines that I sent around."""
    stage.set_config("ssl.key.password", "hunter2", broker=1)
    stage.set_config("ssl.keystore.password", "env:PASSWORD", broker=1)
    stage.set_quota("new_rate", 5, user="alice")
    cell = stage.to_cell()
    assert cell.splitlines() == [
        "# below %%kadmin --allow-unknown new_rate, or for kadmin-nb plan -f FILE --allow-unknown new_rate",
        "# note: row 1, set ssl.key.password=[secure] broker=1: a secret is not written down",
        "set ssl.keystore.password=env:PASSWORD broker=1",
        "set new_rate=5 user=alice",
    ]
    assert [e.key for e in change_lines.edits(cell, allow_unknown=["new_rate"])] == [
        "ssl.keystore.password",
        "new_rate",
    ]
    formats = (cell, stage.to_kafka_configs(), stage.to_markdown())
    assert not [text for text in formats if "hunter2" in text]


def test_an_empty_value_is_a_value_in_every_format(stage):
    """An empty value became the next word."""
    key = "ssl.endpoint.identification.algorithm"
    stage.set_config(key, "", broker=1)
    assert str(stage.to_cell()).splitlines()[1:] == [f'set {key}="" broker=1']
    assert change_lines.edits(str(stage.to_cell())) == [*edits_of(stage).staged().values()]
    assert f"--add-config {key}=\n" in str(stage.to_kafka_configs())
    assert f'{key}  ""' in str(stage.to_markdown())
    assert repr(stage).splitlines()[-1].split() == ["1", "set", "broker=1", key, '""']


def test_a_type_of_a_later_kafka_is_named_in_every_format_that_can(stage):
    """KIP-546 promises any entity type, and no line could name one."""
    stage.set_quota(RATE, 1, entity={"team": "a b"})
    stage.remove_quota(RATE, entity={"user": "x", "team": kn.DEFAULT})
    cell = str(stage.to_cell())
    assert cell.splitlines()[1:] == [
        f"set {RATE}=1 entity:team='a b'",
        f"remove {RATE} user=x entity:team=<default>",
    ]
    assert change_lines.edits(cell) == [*edits_of(stage).staged().values()]


def test_what_the_tool_cannot_say_is_a_note():
    """The lines that I handed over failed half way."""
    alice, topic, broker = Entity.parse("user=alice"), Resource("TOPIC", "t"), Resource("BROKER", "1")
    changes = [
        Change(1, "delete", alice, RATE),
        Change(2, "set", alice, "new_rate", None, "5", "5"),
        Change(3, "set", Entity.of({"user": "nul\0byte"}), RATE, None, "5", "5"),
        Change(4, "append", topic, POLICY, "delete", "compact", "delete,compact"),
        Change(5, "set", topic, "a", None, "[x]", "[x]"),
        Change(6, "set", topic, "b", None, " x", " x"),
        Change(7, "set", topic, "c$", None, "x", "x"),
        Change(8, "set", broker, "ssl.key.password", None, "env:P", "env:P", old_known=False),
        Change(9, "set", topic, "d", None, "", "", validated=Refusal("INVALID_CONFIG", "no\nkafka-configs.sh")),
        Change(10, "delete", Entity.of({"team": "x"}), RATE, "1"),
    ]
    assert Shown(changes).to_kafka_configs("k:1").splitlines() == [
        "# note: row 3, set producer_byte_rate=5 user=nul\\x00byte: the tool cannot name it",
        "# note: row 10, delete producer_byte_rate team=x: the tool cannot name it",
        "# note: row 1, delete producer_byte_rate user=alice: it is not set, and the tool would fail",
        "# note: row 2, set new_rate=5 user=alice: the tool does not take this key",
        "# note: row 4, append cleanup.policy=compact topic=t: the tool only sets whole lists: this is the resulting "
        "one",
        "# note: row 5, set a=[x] topic=t: the tool drops the brackets of a value",
        "# note: row 6, set b= x topic=t: the tool drops the space around a value",
        "# note: row 7, set c$=x topic=t: the tool does not take this key",
        "# note: row 9, set d= topic=t: the broker refuses it: INVALID_CONFIG: no\\nkafka-configs.sh",
        "kafka-configs.sh --bootstrap-server k:1 --alter --entity-type topics --entity-name t "
        "--add-config 'cleanup.policy=[delete,compact],d='",
        "# note: row 8, set ssl.key.password=env:P broker=1: the tool takes no references: write the secret itself "
        "here, or into an --add-config-file",
    ]


def test_the_lines_are_in_the_safe_order(stage):
    """The lines lowered the default before they gave the clients their own limits."""
    stage.set_quota(RATE, 1, user=kn.DEFAULT)
    stage.remove_quota(RATE, client_id=kn.DEFAULT)
    stage.set_quota(RATE, 2, user="alice")
    stage.set_quota(OTHER_RATE, 3, user="alice")
    calls = read_by_bash(stage.to_kafka_configs(), BOOTSTRAP="k:1")
    assert [call[3:] for call in calls] == [
        ["--entity-type", "users", "--entity-name", "alice", "--add-config", f"{RATE}=2,{OTHER_RATE}=3"],
        ["--entity-type", "users", "--entity-default", "--add-config", f"{RATE}=1"],
        ["--entity-type", "clients", "--entity-default", "--delete-config", RATE],
    ]


def test_a_shell_reads_every_name_as_it_is(stage):
    """A client called $(id) ran a command."""
    names = [name for name in HOSTILE if "\0" not in name]
    for name in names:
        stage.set_quota(RATE, 1, user=name)
    calls = read_by_bash(stage.to_kafka_configs("k:1"))
    assert [call[6] for call in calls] == names
    assert {len(call) for call in calls} == {9}


class Tags(HTMLParser):
    """Every tag of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


@pytest.mark.parametrize("name", [*HOSTILE, "```", "````\n# a heading"], ids=ascii)
def test_no_name_ends_the_block_of_a_pull_request(name):
    """The pull request showed a heading and a link that were not in the plan."""
    entity = Entity.of({"user": name})
    plan = Shown([Change(7, "set", entity, name, "1", name, name, level="USER", note=name)], plan="id", reason=name)
    page = mistune.create_markdown(escape=False, plugins=["table", "url"])(plan.to_markdown())
    assert Tags(page).seen == ["pre", "code"]


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    running = Tool()
    yield running
    running.close()


values = st.text(st.sampled_from("ab=,[] \t\n'\"\\$é#"), max_size=6)


@pytest.mark.broker
@settings(max_examples=60)
@given(st.lists(values, min_size=1, max_size=4))
def test_the_tool_reads_the_values_that_are_written(tool, several):
    """A list of two became two keys."""
    topic = Resource("TOPIC", "t")
    plan = Shown([Change(n, "set", topic, f"k.{n}", None, value, value) for n, value in enumerate(several)])
    told = {key: value for call in read_by_bash(plan.to_kafka_configs("k:1")) for key, value in tool.read(call).items()}
    sayable = {f"k.{n}": v for n, v in enumerate(several) if not {*v} & {*"[]"} and v == v.strip(" \t\n")}
    assert told == sayable


@pytest.fixture
def held(cluster: kn.Cluster, topic: str, unique) -> Iterator[tuple[str, str]]:
    """Quotas and configs that are there before, about names with this stem; all are gone afterwards."""
    stem, stage = unique("face"), cluster.new_stage()
    for number, whom in enumerate([{"user": f"{stem}-raised"}, {"user": f"{stem}-lowered"}, {"client_id": stem}], 1):
        stage.set_quota(RATE, 1000 * number, **whom)
        stage.set_quota(OTHER_RATE, 1000 * number, **whom)
    stage.set_quota(RATE, AMPLE, user=kn.DEFAULT, client_id=kn.DEFAULT)
    stage.set_config(POLICY, "delete", topic=topic)
    stage.set_config(RETENTION, "86400000", topic=topic)
    stage.set_config("log.retention.ms", "86400000", broker=1)
    applied(stage.plan("a test")).raise_for_errors()
    yield stem, topic
    clean(cluster, stem)


def clean(cluster: kn.Cluster, stem: str) -> None:
    stage = cluster.new_stage()
    for row in cluster.quotas.describe().to_arrow().to_pylist():
        if "<default>" in row["entity"] or stem in row["entity"]:
            stage.remove_quota(row["key"], entity=Entity.parse(row["entity"]))
    for key in ("log.retention.ms", "log.cleanup.policy"):
        for broker in ("1", kn.DEFAULT):
            stage.reset_config(key, broker=broker)
    stage.reset_config("kafka.server.KafkaApis", broker_logger=1)
    applied(stage.plan("a test"))


def wanted(stage: Stage, stem: str, topic: str) -> None:
    """All there is to change: every level, both ways, every kind of resource, every hostile name."""
    stage.set_quota(RATE, 9000, user=f"{stem}-raised")
    stage.set_quota(RATE, 9, user=f"{stem}-lowered")
    stage.remove_quota(OTHER_RATE, user=f"{stem}-lowered")
    stage.remove_quota(RATE, client_id=stem)
    stage.remove_quota(RATE, user=kn.DEFAULT, client_id=kn.DEFAULT)
    for user in (stem, kn.DEFAULT):
        stage.set_quota("request_percentage", 1250.5, user=user)
        for client_id in (stem, kn.DEFAULT):
            stage.set_quota(RATE, AMPLE + 1, user=user, client_id=client_id)
    stage.set_quota(OTHER_RATE, AMPLE, client_id=kn.DEFAULT)
    stage.set_quota(IP_RATE, 1001, ip="10.9.8.7")
    stage.set_quota(IP_RATE, 1002, ip=kn.DEFAULT)
    for name in HOSTILE:
        if "\0" not in name:
            stage.set_quota(RATE, 13, user=stem, client_id=name)
    stage.append_config(POLICY, "compact", topic=topic)
    stage.reset_config(RETENTION, topic=topic)
    stage.set_config("segment.ms", 3600000, topic=topic)
    stage.set_config("log.cleanup.policy", "compact,delete", broker=kn.DEFAULT)
    stage.set_config("log.retention.ms", 3600000, broker=kn.DEFAULT)
    stage.reset_config("log.retention.ms", broker=1)
    stage.set_config("kafka.server.KafkaApis", "WARN", broker_logger=1)
    stage.set_config("consumer.session.timeout.ms", 50000, group=f"{stem} 'g'")
    stage.set_config("metrics", "org.apache.kafka.a,org.apache.kafka.b", client_metrics=stem)
    stage.set_config("match", "client_id=a.*,client_software_name=b", client_metrics=stem)


def state(cluster: kn.Cluster, changes: Iterable[Change]) -> Callable[[], object]:
    """All quotas, and what is set on the resources of these changes; of loggers, which come and go, those alone."""
    resources = sorted({c.resource for c in changes if isinstance(c.resource, Resource)}, key=str)
    keys = {c.key for c in changes}

    def seen() -> object:
        configs = [
            (str(r), row["key"], row["value"])
            for r in resources
            for row in cluster.configs.describe(**_what(r)).to_arrow().to_pylist()
            if row["source"] == r.source and (r.type != "BROKER_LOGGER" or row["key"] in keys)
        ]
        return cluster.quotas.describe().to_arrow().to_pylist(), configs

    return seen


def _what(resource: Resource) -> dict[str, object]:
    return {resource.type.lower(): kn.DEFAULT if resource.is_default_broker else resource.name}


def back(cluster: kn.Cluster, changes: Iterable[Change]) -> None:
    """Undo these changes."""
    stage = cluster.new_stage()
    stage.add([Edit("set" if c.old is not None else "delete", c.resource, c.key, c.old) for c in changes])
    applied(stage.plan("a test")).raise_for_errors()


@pytest.mark.long
@pytest.mark.broker
def test_the_tool_reaches_the_same_state(kafka, cluster, tool, held):
    """The lines that we handed to the other team left the cluster different from what the plan says."""
    stage = cluster.new_stage()
    wanted(stage, *held)
    plan = stage.plan("shown as lines")
    seen = state(cluster, plan.changes)
    before = seen()
    applied(plan).raise_for_errors()
    ours = seen()
    back(cluster, plan.changes)
    eventually(seen, before)
    calls = read_by_bash(plan.to_kafka_configs(kafka.bootstrap))
    assert {tuple(call): said for call in calls if (said := tool(call))} == {}
    eventually(seen, ours)
    back(cluster, plan.changes)


@pytest.mark.broker
def test_the_lines_run_as_they_are(kafka, cluster, held, tmp_path):
    """The lines worked in the test, and not in my shell."""
    stem, topic = held
    name = f"{stem} 'Zoë' $(id)\n🦊"
    stage = cluster.new_stage()
    stage.set_quota(RATE, 77, user=name, client_id="<default>")
    stage.set_config("segment.ms", 7200000, topic=topic)
    plan = stage.plan("two\nlines")
    run_by_bash(plan.to_kafka_configs(kafka.bootstrap), tmp_path)
    outcomes = cluster.verify(plan, verify_timeout=15).to_arrow().to_pylist()
    assert [row["state"] for row in outcomes] == ["verified", "verified"]
