"""`client-configs …` as it is typed: who follows, who would, the topics."""

from __future__ import annotations

import json

import pytest
from confluent_kafka.admin import AdminClient

from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.client_configs import CONSUMER_KEYS
from tests.client_configs.raw_client import RawClient
from tests.client_configs.written_entries import make_config_topics, write_entry

pytestmark = pytest.mark.broker


@pytest.fixture
def typed(kafka: LocalKafka, capsys):
    """`typed("status")`: what the command prints; its state must be 0 unless said."""
    make_config_topics(AdminClient({"bootstrap.servers": kafka.bootstrap}))

    def run(*words: str, state: int = 0) -> str:
        assert terminal.run_line(["client-configs", *words, "--cluster", kafka.bootstrap]) == state
        captured = capsys.readouterr()
        return captured.out if state == 0 else captured.err

    return run


@pytest.fixture
def user(kafka: LocalKafka, unique) -> str:
    """A user with a producer that follows, one that refuses, and a consumer."""
    user, config = unique("user"), {"bootstrap.servers": kafka.bootstrap}
    following, refusing = RawClient(config, user, "a"), RawClient(config, user, "b")
    for client in (following, refusing):
        client.register()
    following.say(3, {"acks": "1"})
    refusing.say(3, {}, {"acks": "it is transactional"})
    RawClient(config, user, "c").register(CONSUMER_KEYS, group="billing", protocol="classic")
    return user


def test_who_is_there(typed, user) -> None:
    """I had to write a consumer to see who had registered."""
    page = typed("clients", f"user={user}")
    assert page.startswith("3 known clients\n")
    assert "session.timeout.ms, heartbeat.interval.ms  billing" in page
    rows = json.loads(typed("clients", f"user={user}", "client-id~=[ab]", "--json"))
    assert [(row["client_id"], row["keys"]) for row in rows] == [("a", ["acks"]), ("b", ["acks"])]


def test_what_each_took(typed, user, kafka) -> None:
    """The page of a refusal did not say why."""
    write_entry({"bootstrap.servers": kafka.bootstrap}, user, None, "acks", "1")
    page = typed("status", f"user={user}")
    assert page.startswith("Values of clients: 1 follows, 1 refuses, 1 silent\n")
    assert "it is transactional" in page


def test_who_would_obey(typed, user) -> None:
    """Before the change I wanted one number."""
    assert typed("clients", f"user={user}", "--key", "acks").startswith(
        "1 of 2 known clients would follow a new acks\n"
    )


def test_versions_and_their_removal(typed, user) -> None:
    """Last year's version was still listed as supported."""
    assert "apache-kafka-java" in typed("clients", f"user={user}", "client-id=a")
    assert typed("forget", f"user={user}", "client-id=a").startswith("1 registration removed;")
    assert "apache-kafka-java" not in typed("clients", f"user={user}", "client-id=a")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["forget", "client-id=a"], "a client config belongs to one user"),
        (["forget", "user~=a*"], "has no client configs"),
        (["clients", "--key", "ack"], "--key"),
        (["clients", "topic=orders"], "topic is not one of user, client-id"),
        (["register"], "unknown command 'register'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_bad_line_is_one_line(typed, words, error) -> None:
    """A pattern would have removed the registrations of everybody."""
    assert error in typed(*words, state=2 if words[0] in ("clients", "register") else 1)


def test_topics_that_are_there_stay(typed) -> None:
    """A second run of init should say that there is nothing to do."""
    assert typed("init").startswith("4 of 4 topics and rights of dynamic client configs are in order.\n")


def test_the_tools_two_spellings_show_the_same(kafka, typed, user, capsys) -> None:
    """Of --user alice --client app no client config was shown, of the entity types and names it was."""
    write_entry({"bootstrap.servers": kafka.bootstrap}, user, "a", "acks", "1")
    lines = []
    for words in (
        f"--user {user} --client a",
        f"--entity-type users --entity-type clients --entity-name {user} --entity-name a",
    ):
        assert (
            terminal.run_line(["kafka-configs", "--bootstrap-server", kafka.bootstrap, "--describe", *words.split()])
            == 0
        )
        lines.append(capsys.readouterr().out.splitlines())
    assert lines[0] == lines[1]
    assert [line.split()[0] for line in lines[0]] == ["Dynamic", "Supported"]
