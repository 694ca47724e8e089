"""The published schemas of the records, against what is really written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields

import fastjsonschema
import pytest
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from kadmin_nb.client_configs.records import (
    REGISTRATIONS_TOPIC,
    STATUS_TOPIC,
    ConfigKey,
    ConfigValue,
    Document,
    Registration,
    RegistrationKey,
    Status,
    StatusKey,
)
from kadmin_nb.clients import DynamicConsumer, DynamicProducer
from kadmin_nb.model.client_configs import CLIENT_KEYS, CONFIGS_TOPIC
from tests.architecture.sources import ROOT
from tests.client_configs.written_entries import make_config_topics, records, statuses, write_entry
from tests.waiting import eventually

FORMATS: dict[str, tuple[str, type[Document], type[Document]]] = {
    "entry": (CONFIGS_TOPIC, ConfigKey, ConfigValue),
    "registration": (REGISTRATIONS_TOPIC, RegistrationKey, Registration),
    "status": (STATUS_TOPIC, StatusKey, Status),
}


def schema(name: str) -> dict[str, dict]:
    return json.loads((ROOT / "docs" / "client-configs" / f"{name}.schema.json").read_text())


def document(message: Message) -> dict[str, object]:
    return {"key": json.loads(message.key()), "value": message.value() and json.loads(message.value())}


@pytest.mark.parametrize("name", FORMATS)
def test_a_schema_has_the_fields_of_its_record(name: str) -> None:
    """A client in Go wrote what the page said, and nobody could read it."""
    _, key, value = FORMATS[name]
    properties = schema(name)["properties"]
    described = properties["key"], properties["value"]["anyOf"][1]
    for kind, part in zip((key, value), described, strict=True):
        assert set(part["properties"]) == set(part["required"]) == {"v", *(field.name for field in fields(kind))}


def test_the_schema_of_an_entry_has_the_three_keys() -> None:
    """The page had two."""
    assert schema("entry")["properties"]["key"]["properties"]["key"]["enum"] == list(CLIENT_KEYS)


@pytest.fixture
def validate() -> Callable[[str, dict[str, object]], None]:
    checks = {name: fastjsonschema.compile(schema(name)) for name in FORMATS}
    return lambda name, record: checks[name](record)


@pytest.mark.broker
def test_real_records_are_as_the_schemas_say(kafka, unique, validate) -> None:
    """The schema was of last year's format."""
    broker, user = {"bootstrap.servers": kafka.bootstrap}, unique("user")
    make_config_topics(AdminClient(broker))
    first = write_entry(broker, user, None, "acks", "0")
    revision = write_entry(broker, user, "ä", "session.timeout.ms", "20000")
    write_entry(broker, user, "ä", "acks", "1")
    write_entry(broker, user, "ä", "acks", None)
    ours = broker | {"kadmin.user": user, "client.id": "ä"}
    with DynamicProducer(ours), DynamicConsumer(ours | {"group.id": user}):
        eventually(
            lambda: sorted(written[-1].revision for written in statuses(broker, user).values()), [first, revision]
        )
    written = {name: [document(m) for m in records(broker, topic) if user.encode() in m.key()]
               for name, (topic, _, _) in FORMATS.items()}  # fmt: skip
    for name, messages in written.items():
        for message in messages:
            validate(name, message)
    assert {name: len(messages) for name, messages in written.items()} == {"entry": 4, "registration": 2, "status": 2}


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("entry", {"key": {"v": 2, "user": "a", "client_id": None, "key": "acks"}, "value": None}),
        ("entry", {"key": {"v": 1, "user": "a", "client_id": None, "key": "sasl.jaas.config"}, "value": None}),
        ("entry", {"key": {"v": 1, "user": "", "client_id": None, "key": "acks"}, "value": None}),
        ("status", {"key": {"v": 1, "user": "a", "client_id": "b", "instance": "c"}, "value": {"v": 1}}),
    ],
)
def test_other_documents_are_refused(validate, name: str, record: dict[str, object]) -> None:
    """The schema took everything."""
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validate(name, record)
