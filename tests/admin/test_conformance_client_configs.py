"""The port of dynamic client configs keeps its contract on every version of Kafka that we promise to speak to."""

from __future__ import annotations

import pytest

from kadmin_nb.admin.ports import Signature
from kadmin_nb.frames import schemas
from kadmin_nb.model.client_configs import ClientEntity, Replacement
from tests.waiting import eventually

ACKS, SESSION, HEARTBEAT = "acks", "session.timeout.ms", "heartbeat.interval.ms"


def setting(*, old: str | None = None, **texts: str | None) -> dict[str, Replacement]:
    """`setting(acks="1")`: the wishes of an entity where nothing is set, or `old`."""
    names = {"acks": ACKS, "session": SESSION, "heartbeat": HEARTBEAT}
    return {names[name]: Replacement(old, text) for name, text in texts.items()}


def stored(broker, *users: str) -> list[tuple[object, ...]]:
    rows = broker.client_configs.describe(users).to_pylist()
    return [(row["entity"], row["key"], row["value"]) for row in rows]


def codes(answers) -> list[str | None]:
    return [refusal and refusal.code for refusal in answers.values()]


@pytest.fixture
def alice(unique) -> ClientEntity:
    return ClientEntity(unique("alice"))


@pytest.fixture
def app(alice) -> ClientEntity:
    return ClientEntity(alice.user, "app")


def test_an_entry_shows_who_set_it_and_when(broker, alice, app):
    """Somebody had lowered acks, and nobody could say who."""
    signature = Signature("ann", "a-plan")
    answers = broker.client_configs.alter(
        {app: setting(acks="0"), alice: setting(acks="1", session="10000")}, signature=signature
    )
    assert answers == {alice: None, app: None}
    expected = [(str(alice), ACKS, "1"), (str(alice), SESSION, "10000"), (str(app), ACKS, "0")]
    eventually(lambda: stored(broker, alice.user), expected)
    table = broker.client_configs.describe([alice.user])
    assert table.schema.remove_metadata() == schemas.CLIENT_CONFIGS.schema
    assert {(row["author"], row["plan_id"]) for row in table.to_pylist()} == {("ann", "a-plan")}
    assert table["revision"].to_pylist() == sorted(
        {*table["revision"].to_pylist()}, key=table["revision"].to_pylist().index
    )
    assert table["changed_at"].null_count == 0
    assert expected[0] in stored(broker, alice.user, "others")
    assert stored(broker) == []


def test_a_second_writer_changes_nothing(broker, alice, app):
    """Two of us altered at once, and half of each plan was done."""
    broker.client_configs.alter({alice: setting(acks="1")})
    eventually(lambda: stored(broker, alice.user), [(str(alice), ACKS, "1")])
    answers = broker.client_configs.alter({app: setting(acks="0"), alice: setting(old="-1", acks="0", session="9000")})
    assert (answers[alice].code, answers[alice].message) == ("CONFLICT", "acks was -1, is now 1")
    assert answers[app].code == "OPERATION_NOT_ATTEMPTED"
    assert stored(broker, alice.user) == [(str(alice), ACKS, "1")]


def test_what_is_already_so_is_taken(broker, alice):
    """The answer was lost, I applied again, and was told of a conflict with myself."""
    for _ in range(2):
        assert broker.client_configs.alter({alice: setting(acks="1")}) == {alice: None}
    eventually(lambda: stored(broker, alice.user), [(str(alice), ACKS, "1")])


def test_an_entry_that_is_removed_is_gone(broker, alice, app):
    """The override came back after it was removed."""
    broker.client_configs.alter({alice: setting(acks="1"), app: setting(acks="0")})
    eventually(lambda: len(stored(broker, alice.user)), 2)
    assert broker.client_configs.alter({app: setting(old="0", acks=None)}) == {app: None}
    eventually(lambda: stored(broker, alice.user), [(str(alice), ACKS, "1")])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"acks": "2"}, "acks=2 is not one of -1, all, 0, 1"),
        (
            {"session": "5999"},
            "session.timeout.ms=5999 is out of the brokers' range: group.min.session.timeout.ms=6000",
        ),
        ({"session": "1800001"}, "session.timeout.ms=1800001 is out of the brokers' range"),
        ({"session": "ten"}, "session.timeout.ms=ten is not a number of milliseconds, from 1"),
        ({"session": "9000", "heartbeat": "9000"}, "heartbeat.interval.ms=9000 is not below session.timeout.ms=9000"),
    ],
    ids=lambda value: str(value)[:30],
)
@pytest.mark.parametrize("validate_only", [True, False])
def test_a_bad_value_is_refused_and_nothing_is_written(texts, message, validate_only, broker, alice, app):
    """acks=2 reached every producer."""
    answers = broker.client_configs.alter(
        {alice: setting(**texts), app: setting(acks="0")}, validate_only=validate_only
    )
    assert answers[alice].code == "INVALID_CONFIG"
    assert message in answers[alice].message
    assert codes({app: answers[app]}) == [None if validate_only else "OPERATION_NOT_ATTEMPTED"]
    assert stored(broker, alice.user) == []


def test_timeouts_of_two_levels_are_judged_together(broker, alice, app):
    """A heartbeat for the client and a session for the user were fine alone, and no consumer took either."""
    assert broker.client_configs.alter({app: setting(heartbeat="9000")}) == {app: None}
    eventually(lambda: len(stored(broker, alice.user)), 1)
    answers = broker.client_configs.alter({alice: setting(session="9000")}, validate_only=True)
    assert codes(answers) == ["INVALID_CONFIG"]
    assert str(app) in answers[alice].message
    both = {alice: setting(session="9000"), app: setting(old="9000", heartbeat="3000")}
    assert broker.client_configs.alter(both) == {alice: None, app: None}


def test_validating_writes_nothing(broker, alice):
    """A dry run changed production."""
    assert broker.client_configs.alter({alice: setting(acks="1")}, validate_only=True) == {alice: None}
    assert stored(broker, alice.user) == []


def test_names_may_be_anything(broker, unique):
    """A client-id with an umlaut, a space and a sign had somebody else's entry."""
    odd = [ClientEntity(unique("ü"), name) for name in ("a=b c", "é", "<default>", "日本", 'q"q', " ")]
    assert not any(broker.client_configs.alter({entity: setting(acks="1") for entity in odd}).values())
    users = [entity.user for entity in odd]
    eventually(lambda: sorted(row[0] for row in stored(broker, *users)), sorted(map(str, odd)))
    assert [ClientEntity.parse(row[0]) for row in stored(broker, *users)] == sorted(
        odd, key=lambda entity: (entity.user, entity.client_id)
    )
