"""Numbers of a later Kafka in a config answer are shown as numbers, never dropped and never a KeyError."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from kafka.protocol.admin.configs import DescribeConfigsResponse, ListConfigResourcesResponse

from kadmin_nb.admin import error_codes
from kadmin_nb.admin.wire_kinds import WireConfigs
from kadmin_nb.errors import TimedOut
from kadmin_nb.model.resources import Resource


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


def described(**changes: object) -> object:
    """A DescribeConfigs answer of version 4 with one entry, through kafka-python's own bytes."""
    result = DescribeConfigsResponse.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult
    synonym = entry.DescribeConfigsSynonym(name="k", value="1", source=77)
    values = {"name": "k", "value": "1", "read_only": False, "config_source": 99, "is_sensitive": False}
    row = entry(**values, synonyms=[synonym], config_type=42, documentation=None)
    given = {"error_code": 0, "error_message": "", "resource_type": 2, "resource_name": "t", "configs": [row]}
    answer = DescribeConfigsResponse(throttle_time_ms=0, results=[result(**{**given, **changes})])
    return DescribeConfigsResponse[4].decode(answer.encode(version=4))


TOPIC = Resource("TOPIC", "t")


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
    assert error_codes.refusal(89, None).message == "The throttling quota has been exceeded."
    assert error_codes.refusal(42, "In the broker's own words.").message == "In the broker's own words."
    assert error_codes.refusal(0, "") is None


@pytest.mark.parametrize("validate_only", [True, False])
def test_a_lost_answer_is_in_every_row(validate_only):
    """Three hundred topics, no answer, and an exception instead of rows."""
    other = Resource("TOPIC", "u")
    said = WireConfigs(Canned(TimedOut("no answer"))).alter({TOPIC: [], other: []}, validate_only=validate_only)
    assert {r: refused.code for r, refused in said.items()} == {TOPIC: "REQUEST_TIMED_OUT", other: "REQUEST_TIMED_OUT"}
