"""An answer with configs is read as kafka-python and librdkafka read it, entries that come again included.

Numbers of a later Kafka are shown as numbers, never dropped and never a KeyError.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource
from kafka.protocol.admin.configs import DescribeConfigsResponse, ListConfigResourcesResponse

from kadmin_nb.admin import error_codes
from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.admin.wire_kinds import WireConfigs
from kadmin_nb.errors import TimedOut, Unsupported
from kadmin_nb.model.resources import SOURCES, VALUE_TYPES, Resource
from tests.hostile_names import HOSTILE
from tests.waiting import eventually


class Canned:
    """A wire that gives the answers it was given, or raises them."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)

    def ask(self, request, **options):
        request()
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    tell = ask


def described(**changes: object) -> bytes:
    """A DescribeConfigs answer of version 4 with one entry, in kafka-python's own bytes."""
    result = DescribeConfigsResponse.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult
    synonym = entry.DescribeConfigsSynonym(name="k", value="1", source=77)
    values = {"name": "k", "value": "1", "read_only": False, "config_source": 99, "is_sensitive": False}
    row = entry(**values, synonyms=[synonym], config_type=42, documentation=None)
    given = {"error_code": 0, "error_message": "", "resource_type": 2, "resource_name": "t", "configs": [row]}
    return answer_of(result(**{**given, **changes}))


def answer_of(*results: object) -> bytes:
    return bytes(DescribeConfigsResponse(throttle_time_ms=0, results=[*results]).encode(version=4))


TOPIC, BROKER, ALL_BROKERS = Resource("TOPIC", "t"), Resource("BROKER", "1"), Resource("BROKER", "")


def test_unknown_sources_and_types_are_numbers():
    """After the upgrade every describe was a KeyError: 9."""
    [row] = WireConfigs(Canned(described())).describe([TOPIC]).to_pylist()
    assert (row["source"], row["type"], row["value"], row["is_default"]) == ("UNKNOWN_99", "UNKNOWN_42", "1", False)
    assert row["synonyms"] == [{"source": "UNKNOWN_77", "key": "k", "value": "1"}]


def test_an_unknown_resource_type_is_a_number():
    """A resource of a later Kafka came back as a topic."""
    [row] = WireConfigs(Canned(described(resource_type=64))).describe([TOPIC]).to_pylist()
    assert (row["resource_type"], row["resource_name"]) == ("UNKNOWN_64", "t")
    kind = ListConfigResourcesResponse.ConfigResource
    answer = SimpleNamespace(API_VERSION=1, error_code=0, config_resources=[kind(resource_name="x", resource_type=64)])
    assert WireConfigs(Canned(answer)).resources(["GROUP"]) == [Resource("UNKNOWN_64", "x")]


def test_an_unknown_error_is_a_number_in_its_row():
    """An error of a later Kafka was not an error at all."""
    canned = Canned(described(error_code=9999, error_message="new words", configs=[]))
    [row] = WireConfigs(canned).describe([TOPIC]).to_pylist()
    assert (row["key"], row["error"], row["message"]) == (None, "UNKNOWN_9999", "new words")


def test_an_error_is_read_before_the_entries():
    """A forbidden topic with entries in its answer was shown as readable."""
    canned = Canned(described(error_code=29, error_message=None))
    [row] = WireConfigs(canned).describe([TOPIC]).to_pylist()
    assert (row["key"], row["value"], row["error"], row["message"]) == (
        None,
        None,
        "TOPIC_AUTHORIZATION_FAILED",
        "Topic authorization failed.",
    )


def test_a_dump_of_the_request_is_not_a_message():
    """The error was five hundred characters of a Java object."""
    for length in (50, 500):
        dump = "Request Request(processor=2, session=" + "x" * length
        assert error_codes.refusal(31, dump).message == "Cluster authorization failed."
    assert error_codes.refusal(42, "In the broker's own words.").message == "In the broker's own words."
    assert error_codes.refusal(0, "") is None


@pytest.mark.parametrize("validate_only", [True, False])
def test_a_lost_answer_is_in_every_row(validate_only):
    """Three hundred topics, no answer, and an exception instead of rows."""
    other = Resource("TOPIC", "u")
    said = WireConfigs(Canned(TimedOut("no answer", code="REQUEST_TIMED_OUT"))).alter(
        {TOPIC: [], other: []}, validate_only=validate_only
    )
    assert {r: refused.code for r, refused in said.items()} == {TOPIC: "REQUEST_TIMED_OUT", other: "REQUEST_TIMED_OUT"}


# -- as others read it

_RESULT = DescribeConfigsResponse.DescribeConfigsResult
_ENTRY = _RESULT.DescribeConfigsResourceResult
_SYNONYM = _ENTRY.DescribeConfigsSynonym


def _entry(key: str, value: str | None, source: int, **changes: object) -> object:
    synonyms = [_SYNONYM(name=key, value=value, source=source), _SYNONYM(name="log." + key, value=None, source=5)]
    values = {"name": key, "value": value, "config_source": source, "read_only": False, "is_sensitive": value is None,
              "synonyms": synonyms, "config_type": 2, "documentation": None}  # fmt: skip
    return _ENTRY(**{**values, **changes})


def _hostile_group(number: int, name: str) -> object:
    """A group whose entries are mostly those of the group before, but not in the same places."""
    shared = [_entry("plain", "1", 5), _entry("plainer", "", 5, synonyms=[]), _entry("", None, 1)]
    own = [
        _entry("own", name, 8, documentation="é" * 200),
        _entry(name, "1", 8),
        _entry("flag", name[:1], 8, read_only=True),
    ]
    entries = own[number % 2 :] + shared[number % 3 :] + own[: number % 2]
    return _RESULT(error_code=0, error_message=None, resource_type=32, resource_name=name, configs=entries)


def test_entries_that_come_again_are_those_that_kafka_python_reads():
    """The value of one group stood in the row of the next: most of their bytes were the same."""
    frame = answer_of(*(_hostile_group(number, name) for number, name in enumerate(HOSTILE)))
    groups = [Resource("GROUP", name) for name in HOSTILE]
    rows = WireConfigs(Canned(frame)).describe(groups).to_pylist()
    columns = ("resource_name", "key", "value", "source", "is_sensitive", "is_read_only", "type", "documentation")
    wanted = [
        (result.resource_name, e.name, e.value, SOURCES[e.config_source], e.is_sensitive, e.read_only,
         VALUE_TYPES[e.config_type], e.documentation, [(SOURCES[s.source], s.name, s.value) for s in e.synonyms])
        for result in DescribeConfigsResponse[4].decode(frame).results for e in result.configs
    ]  # fmt: skip
    got = [
        (*(row[column] for column in columns), [tuple(synonym.values()) for synonym in row["synonyms"]]) for row in rows
    ]
    assert sorted(got, key=repr) == sorted(wanted, key=repr)
    assert [(row["resource_name"], row["key"]) for row in rows] == sorted((one[0], one[1]) for one in wanted)


@pytest.mark.parametrize(
    "frame",
    [
        answer_of(),
        answer_of(_hostile_group(0, "t"), _hostile_group(0, "t")),
        described(configs=None),
        described(resource_name=None),
        described()[:-1],
        described() + b"\0",
    ],
    ids=["no resource", "one of two twice", "no entries", "no name", "cut off", "too long"],
)
def test_an_answer_that_says_too_little_is_refused(frame):
    """A topic that the broker passed over looked like a topic without settings."""
    asked = [TOPIC, Resource("GROUP", "t")] if frame.count(b"own") > 1 else [TOPIC]
    with pytest.raises(Unsupported, match="cannot be read"):
        WireConfigs(Canned(frame)).describe(asked)


@pytest.fixture
def many_topics(plain, unique) -> Iterator[list[Resource]]:
    """Fifty topics on which one key differs and another comes from each level below, and back."""
    topics = [Resource("TOPIC", f"{unique('of-many')}.{number}") for number in range(50)]
    plain.create_topics({topic.name: 1 for topic in topics})
    below = {BROKER: "log.index.interval.bytes", ALL_BROKERS: "log.segment.delete.delay.ms"}
    own = {topic: [ConfigOperation("set", "retention.ms", str(1000 + n))] for n, topic in enumerate(topics) if n % 3}
    wanted = own | {broker: [ConfigOperation("set", key, "12345")] for broker, key in below.items()}
    assert not any(plain.configs.alter(wanted).values())
    for broker, key in below.items():
        eventually(
            lambda broker=broker, key=key: plain.configs.describe([broker], [key])["value"].to_pylist(), ["12345"]
        )
    yield topics
    for broker, key in below.items():
        assert plain.configs.alter({broker: [ConfigOperation("delete", key)]}) == {broker: None}


@pytest.mark.broker
def test_configs_are_those_that_librdkafka_reads(kafka, plain, many_topics):
    """Fifty topics were described at once, and some had a value, a source or a synonym of another."""
    admin, resources = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0}), [*many_topics, BROKER]
    ours: dict[tuple[str, str], dict[str, tuple[object, ...]]] = defaultdict(dict)
    for row in plain.configs.describe(resources).to_pylist():
        synonyms = {s["key"]: (s["source"], s["value"]) for s in row["synonyms"]}
        values = (row[name] for name in ("value", "source", "is_read_only", "is_default", "is_sensitive"))
        ours[row["resource_type"], row["resource_name"]][row["key"]] = (*values, synonyms)
    for resource in resources:
        [read] = admin.describe_configs([ConfigResource(resource.type.lower(), resource.name)]).values()
        assert ours[resource.type, resource.name] == {
            key: (e.value, SOURCES[e.source], e.is_read_only, e.is_default, e.is_sensitive,
                  {name: (SOURCES[s.source], s.value) for name, s in e.synonyms.items()})
            for key, e in read.result(20).items()
        }  # fmt: skip
    seen = {row[1] for rows in ours.values() for row in rows.values()}
    assert seen == {"DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG",
                    "STATIC_BROKER_CONFIG", "DEFAULT_CONFIG"}  # fmt: skip
