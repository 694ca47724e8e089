"""What a snapshot holds, written as a file, reads back as exactly that."""

from __future__ import annotations

import json
import math

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.state.writer import unread_of
from tests.declared.snapshots import held
from tests.hostile_names import HOSTILE

SCHEMA = json.loads(kn.state.schema())

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
names = st.one_of(st.sampled_from(HOSTILE), texts, st.sampled_from(["x" * 2000, "é🦊" * 600]))
parts = st.one_of(names, st.just(kn.DEFAULT))
entities = st.one_of(
    st.builds(lambda user: Entity.of({"user": user}), parts),
    st.builds(lambda client: Entity.of({"client-id": client}), parts),
    st.builds(lambda user, client: Entity.of({"user": user, "client-id": client}), parts, parts),
    st.builds(lambda ip: Entity.of({"ip": ip}), parts),
    st.builds(lambda group, user: Entity.of({"group": group, "user": user}), parts, parts),
)
keys = st.one_of(st.sampled_from(["producer_byte_rate", "request_percentage", "new_rate", "on", "1e3"]), texts)
numbers = st.one_of(
    st.integers(1, 2**63).map(float), st.floats(min_value=0, exclude_min=True), st.sampled_from([math.inf, math.nan])
)
values = st.one_of(
    texts,
    st.sampled_from(["", "on", "yes", "1_000", "0777", "0x1F", "1e3", "null", "~", "12:30", "-0", "5MB/s"]),
    names,
)
resources = st.one_of(
    st.builds(lambda name: Resource("TOPIC", name), names),
    st.builds(lambda name: Resource("GROUP", name), names),
    st.builds(lambda name: Resource("CLIENT_METRICS", name), names),
    st.builds(lambda number: Resource("BROKER", str(number)), st.integers(0, 2**31 - 1)),
    st.just(Resource("BROKER", "")),
)
clusters = st.builds(
    held,
    st.dictionaries(entities, st.dictionaries(keys, numbers, min_size=1, max_size=3), max_size=4),
    st.dictionaries(resources, st.dictionaries(texts, values, min_size=1, max_size=3), max_size=4),
)

examples = settings(max_examples=80)

QUOTAS = ["entity", "level", "user", "client_id", "ip", "key", "value"]
CONFIGS = ["resource_type", "resource_name", "key", "value", "source", "is_sensitive"]


def rows(frame, columns: list[str]) -> list[str]:
    """As text: NaN equals itself there."""
    return [repr(row) for row in frame.to_arrow().select(columns).to_pylist()]


@pytest.mark.slow
@examples
@given(clusters)
def test_whatever_is_held_comes_back(cluster):
    """A client called `yes` became true, and one called 007 became 7."""
    text = kn.state.export(cluster)
    declared = kn.state.read(text)
    back = declared.snapshot()
    assert rows(back.quotas, QUOTAS) == rows(cluster.quotas, QUOTAS)
    assert rows(back.configs, CONFIGS) == rows(cluster.configs, CONFIGS)
    assert (back.cluster_id, back.taken_at, back.scopes) == ("prod", cluster.taken_at, cluster.scopes)
    assert list(declared.difference(cluster, prune=True)) == []
    assert kn.state.export(back) == text


@pytest.mark.slow
@examples
@given(clusters)
def test_other_readers_see_the_same(cluster):
    """yq rewrote the file, and a name was another one afterwards."""
    text = kn.state.export(cluster)
    read = yaml.safe_load(text)
    jsonschema.validate(read, SCHEMA)
    rewritten = json.dumps(read)
    assert list(kn.state.read(rewritten).difference(cluster, prune=True)) == []


@pytest.mark.slow
@examples
@given(clusters)
def test_a_terminal_shows_the_file_and_obeys_nothing(cluster):
    """Looking at the export turned the screen red."""
    assert all(line.isprintable() for line in kn.state.export(cluster).split("\n"))


LONG = f"user={'x' * 2000}"


@pytest.mark.parametrize(
    "written",
    [
        '{"kadmin":1,"quotas":{"user=🦊":{"producer_byte_rate":5}}}',
        '{"kadmin":1,"quotas":{"user=\\ud83e\\udd8a":{"producer_byte_rate":5}}}',
        '{\n\t"kadmin": 1,\n\t"quotas":\n\t{\n\t\t"user=🦊" : {"producer_byte_rate": 5}\n\t}\n}',
        '{"kadmin": 1, "quotas": {"user=\\u2028": {"producer_byte_rate": 5}}}',
    ],
    ids=["in one line", "in ASCII", "with tabs", "with a line end of Unicode"],
)
def test_json_as_others_write_it(written):
    """`jq --tab` had indented the file, and a tab was refused."""
    [entry] = kn.state.read(written).entries
    assert (str(entry.resource), entry.value) in [("user=🦊", "5"), ("user='\u2028'", "5")]
    assert entry.key in json.loads(written)["quotas"][next(iter(json.loads(written)["quotas"]))]


def test_a_file_reads_as_one_would_write_it():
    """It was one line of JSON, and nobody could review it."""
    cluster = held(
        {
            "user=alice": {"producer_byte_rate": 5e6, "request_percentage": 12.5},
            "user==<default> client-id=<default>": {"consumer_byte_rate": 1e6},
        },
        {
            "topic=orders": {"retention.ms": "86400000", "cleanup.policy": "compact,delete", "preallocate": "true"},
            "broker=<default>": {"ssl.key.password": None},
        },
    )
    text = kn.state.export(cluster)
    assert (
        text.split("\n", 2)[2]
        == f"""\
kadmin: 1
cluster_id: prod
taken_at: "2026-11-21T12:00:00Z"
tool: "kadmin_nb {kn.__version__}"
kinds: [quotas, topic, broker, client-metrics, group]

quotas:
  user==<default> client-id=<default>:
    consumer_byte_rate: 1000000
  user=alice:
    producer_byte_rate: 5000000
    request_percentage: 12.5

configs:
  broker=<default>:
    ssl.key.password: "[secure]"
  topic=orders:
    cleanup.policy: compact,delete
    preallocate: true
    retention.ms: 86400000"""
    )


def test_defaults_and_what_a_broker_has_from_its_file_are_not_exported():
    """Two thousand defaults were written, and the next version's defaults were drift."""
    row = {"resource_type": "BROKER", "resource_name": "1", "is_sensitive": False}
    rows = (
        {**row, "key": "node.id", "value": "1", "source": "STATIC_BROKER_CONFIG"},
        {**row, "key": "num.io.threads", "value": "8", "source": "DEFAULT_CONFIG"},
        {**row, "key": "log.retention.ms", "value": "7", "source": "DYNAMIC_DEFAULT_BROKER_CONFIG"},
        {**row, "key": "background.threads", "value": "11", "source": "DYNAMIC_BROKER_CONFIG"},
    )
    [entry] = kn.state.read(kn.state.export(held(more=rows))).entries
    assert (str(entry.resource), entry.key, entry.value) == ("broker=1", "background.threads", "11")


def test_only_what_was_read_is_pruned():
    """I wanted the quotas, and pruned the topics of everybody."""
    cluster = held(
        {"user=alice": {"producer_byte_rate": 1}},
        {"topic=orders": {"retention.ms": "1"}, "broker=1": {"background.threads": "11"}},
    )
    declared = kn.state.read(kn.state.export(held({"user=alice": {"producer_byte_rate": 1}}, scopes=["QUOTAS"])))
    assert (declared.kinds, {str(entry.resource) for entry in declared.entries}) == (("quotas",), {"user=alice"})
    assert list(declared.difference(cluster, prune=True)) == []


def test_a_cluster_is_no_snapshot():
    """`export(cluster)`: 'Cluster' object has no attribute 'scopes'."""
    for refused in (kn.state.export, kn.state.read("kadmin: 1\n").difference):
        with pytest.raises(kn.UsageError, match="a str is not a snapshot"):
            refused("prod")


def test_what_could_not_be_read_is_not_left_out_silently():
    """A topic that we may not see was missing in the file, and pruned."""
    failed = ({"resource_type": "TOPIC", "resource_name": "secret", "error": "TOPIC_AUTHORIZATION_FAILED"},)
    half = held({"user=alice": {"producer_byte_rate": 1}}, more=failed)
    declared = kn.state.read(kn.state.export(half))
    assert "topic=secret cannot be read" in str(unread_of(half))
    assert not declared.complete
    assert list(declared.difference(held())) != []
    with pytest.raises(kn.PlanRefused, match="is not complete, so nothing is pruned"):
        declared.difference(held(), prune=True)
