"""One function says which names are those of secrets, one which texts have one in them; and a `Secret` keeps it."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
import subprocess
import traceback

import kafka.errors
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.java import find_java
from kadmin_nb.local import find_jars
from kadmin_nb.secrets import SHOWN, Secret, holds_secret, is_secret_name, redacted
from tests.plans.secret_search import CORE, sings
from tests.plans.secret_spellings import NAMES, TEXTS

HARMLESS_NAMES = (
    "key", "keys", "monkey", "partition_key", "cluster", "changes", "reason", "apply", "allow", "policy", "cluster_id",
    "changes_id", "limit", "lookback", "client_id", "token_file", "TOKEN_URL", "AWS_ACCESS_KEY_ID", "tokens_per_second",
    "bypass", "compass", "author", "design", "signal", "is_secret", "history_table", "principal",
)  # fmt: skip

SENTENCES = (
    "broker=1 ssl.key.password: INVALID_CONFIG: Invalid value [hidden] for configuration ssl.key.password: too short",
    "unknown key my.secret: neither Kafka nor topic=t knows it",
    "topic=api-token: no such topic",
    "the secret of file:x/password.txt is not UTF-8 text",
    "env:DB_PASSWORD: the environment variable is not set",
    "set ssl.key.password=env:NAME broker=1",
    "SCRAM-SHA-512=[iterations=8192,password=env:NEW]",
    'write username="…" and password="…", in quotes',
    "User:alice@EXAMPLE.COM lacks ALTER_CONFIGS",
    "reviewed by:alice@example.com",
    "a bearer token: env:NAME or file:PATH",
    "https://host:9092/x",
    "PLAINTEXT://a:1,SSL://b:2",
    "bearer cannot be a parameter",
    "ReferenceRequired: it is given only by reference",
    "TokenExpiredError: the token of file:x expired",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{}", "x.{}", "my.plugin.{}", "{}_prod"])
def test_what_is_called_like_a_secret_is_one(name, form):
    """db_pass was none, and account_key only sometimes."""
    assert is_secret_name(form.format(name))


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_what_only_sounds_like_one_is_none(name):
    """The id of my key was hidden from me."""
    assert not is_secret_name(name)


KAFKAS_CLASSES = (
    "kafka.server.KafkaConfig",
    "org.apache.kafka.storage.internals.log.LogConfig",
    "org.apache.kafka.coordinator.group.GroupConfig",
    "org.apache.kafka.clients.admin.AdminClientConfig",
    "org.apache.kafka.clients.consumer.ConsumerConfig",
    "org.apache.kafka.clients.producer.ProducerConfig",
)
"""Each prints its keys and their types when it is run."""


@pytest.fixture(scope="module")
def kafkas_types() -> dict[str, str]:
    """All keys of brokers, topics, groups and clients, each with Kafka's own type of it."""
    command = [str(find_java().command), "-cp", find_jars().classpath]
    pages = [
        subprocess.run([*command, one], capture_output=True, text=True, check=True).stdout for one in KAFKAS_CLASSES
    ]
    found = [re.findall(r'<a id="[^"]*" href="#[^"]*">([^<]+)</a>.*?<th>Type:</th><td>(\w+)', p, re.S) for p in pages]
    assert min(map(len, found)) > 15
    return {key: kind for pairs in found for key, kind in pairs}


@pytest.mark.broker
def test_kafkas_keys_are_secrets_where_kafka_says_so_and_nowhere_else(kafkas_types):
    """ssl.keystore.location was hidden, and delegation.token.secret.key was not."""
    harmless = {
        "ssl.keystore.location", "key.deserializer", "partitioner.ignore.keys", "delegation.token.max.lifetime.ms",
        "sasl.oauthbearer.token.endpoint.url", "ssl.client.auth",
    }  # fmt: skip
    assert harmless <= kafkas_types.keys()
    assert len(kafkas_types) > 400
    assert {key for key in kafkas_types if is_secret_name(key)} == {
        key for key, kind in kafkas_types.items() if kind == "password"
    }


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_with_a_secret_is_not_repeated(text):
    """--reason "password: hunter2" stood in the plan, the journal and the error."""
    whole = text.format(CORE)
    assert holds_secret(f"because {whole}")
    if whole != f"topic=t ssl.key.password: {CORE}":  # a sentence of ours, where it is repeated
        error = kn.UsageError(f"because {whole}", hint=f"Not {whole}.")
        assert sings(redacted(whole), error, error.hint, repr(error), *error._render_traceback_()) == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{}={}", "{}: {}", '{{"{}": "{}"}}', "--{} {}"])
def test_each_name_is_judged_alike_in_texts(name, form):
    """The list of texts was another than that of names."""
    text = form.format(name, CORE)
    assert holds_secret(text)
    assert sings(redacted(text)) == []


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_stays_whole(text):
    """The error said only [secure], and not what to do."""
    assert redacted(text) == text


def test_what_kafka_calls_an_error_stays_whole():
    """CLUSTER_AUTHORIZATION_FAILED: [secure]."""
    classes = [one for one in vars(kafka.errors).values() if isinstance(one, type) and issubclass(one, Exception)]
    codes = {str(one.message) for one in classes if hasattr(one, "message")}
    assert {"CLUSTER_AUTHORIZATION_FAILED", "UNACCEPTABLE_CREDENTIAL", "DELEGATION_TOKEN_EXPIRED"} <= codes
    for code in (*codes, "SECRET_AS_TEXT", "SECRET_NOT_FOUND"):
        assert redacted(f"{code}: why") == f"{code}: why"


@pytest.mark.parametrize(
    "text", ["a:" * 30_000, "password " * 20_000, "://" + "a:" * 30_000, "," * 60_000, "eyJ-" * 15_000]
)
def test_a_long_text_is_judged_at_once(text):
    """An error of 60 kB took a minute."""
    assert isinstance(redacted(text), str)


def test_a_secret_is_given_away_by_reveal_alone():
    """json.dumps(secret), secret[:4] and pa.array([secret]) wrote it out."""
    secret = Secret(CORE)
    for give in (
        lambda: json.dumps([secret]), lambda: json.dumps({"a": secret}, default=vars), lambda: secret[:4],
        lambda: pa.array([secret]), lambda: secret + "x", lambda: "x" + secret, lambda: "".join([secret]),
        lambda: [*secret], lambda: pickle.dumps(secret), lambda: bytes(secret), lambda: secret in "x",
        lambda: vars(secret), lambda: secret.encode(), lambda: len(secret), lambda: {**secret},
    ):  # fmt: skip
        with pytest.raises(Exception) as refused:  # noqa: PT011  # each in its own words
            give()
        assert sings("".join(traceback.format_exception(refused.value))) == []
    shown = [
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret!r:>9}",
        "%s" % secret,  # noqa: UP031
        str([secret]),
    ]
    assert sings(*shown, dir(secret), copy.copy(secret), copy.deepcopy([secret]), json.dumps(secret, default=str)) == []
    assert {*shown[:3]} == {SHOWN}
    assert copy.deepcopy(secret).reveal() == secret.reveal() == CORE
    assert not isinstance(secret, str)
    assert secret == Secret(CORE) != CORE


@dataclasses.dataclass
class _Login:
    password: Secret


def test_what_holds_a_secret_does_not_give_it_away():
    """dataclasses.asdict of the settings had the password."""
    login = _Login(Secret(CORE))
    assert (
        sings(login, dataclasses.asdict(login), dataclasses.replace(login), json.dumps(vars(login), default=str)) == []
    )
    try:
        raise ValueError(login.password)
    except ValueError as exc:
        report = traceback.TracebackException.from_exception(exc, capture_locals=True)
    assert sings(*report.format()) == []
