"""The values that a client takes from the entries about it, and the reasons for those that it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kadmin_nb import errors
from kadmin_nb.client_configs.records import Entry
from kadmin_nb.client_configs.settings import (
    Choice,
    choose,
    client_settings,
    effective,
    running,
)
from kadmin_nb.model.client_configs import CONSUMER_KEYS, PRODUCER_KEYS

ACKS, SESSION, HEARTBEAT = "acks", "session.timeout.ms", "heartbeat.interval.ms"


def entries(**values: str) -> dict[str, Entry]:
    """Entries by the first words of their keys, with revisions 0, 1, …"""
    keys = {key.split(".")[0]: key for key in (ACKS, SESSION, HEARTBEAT)}
    return {keys.get(key, key): Entry(value, revision) for revision, (key, value) in enumerate(values.items())}


def produced(*levels: Mapping[str, Entry], current: Mapping[str, str] | None = None, **static: Any) -> Choice:
    names = {key.replace("_", "."): value for key, value in static.items()}
    return choose(levels, names, current or {}, PRODUCER_KEYS)


def consumed(*levels: Mapping[str, Entry], static: Mapping[str, Any] | None = None, **current: str) -> Choice:
    return choose(levels, static or {}, {key.replace("_", "."): value for key, value in current.items()}, CONSUMER_KEYS)


def test_the_entry_of_the_client_id_goes_before_the_users() -> None:
    """One application was to keep acks=all, and got what its user has."""
    assert produced(entries(acks="all"), entries(acks="0")) == Choice({ACKS: "-1"}, {}, 0)
    assert produced(entries(), entries(acks="0")) == Choice({ACKS: "0"}, {}, 0)


def test_levels_are_merged_key_by_key() -> None:
    """The client-id's session hid the user's heartbeat."""
    choice = consumed(entries(session="20000"), {HEARTBEAT: Entry("5000", 9)})
    assert choice == Choice({SESSION: "20000", HEARTBEAT: "5000"}, {}, 9)


def test_a_client_takes_its_own_keys_alone() -> None:
    """A producer said that it followed a session timeout."""
    both = entries(acks="1", session="20000")
    assert produced(both) == Choice({ACKS: "1"}, {}, 0)
    assert consumed(both) == Choice({SESSION: "20000"}, {}, 1)


def test_no_other_key_is_ever_taken() -> None:
    """An entry moved all producers to another broker."""
    strange = {"bootstrap.servers": Entry("evil:9092", 1), "sasl.jaas.config": Entry("x", 2)}
    assert (produced(strange), consumed(strange)) == (Choice(), Choice())


@pytest.mark.parametrize("value", ["2", "", "ALL", "one", "1 ", "\u0661", "9" * 400])
def test_a_value_that_nobody_can_take_leaves_what_was(value: str) -> None:
    """acks=2 stood in the topic, and librdkafka took it."""
    choice = produced(entries(acks=value), current={ACKS: "1"})
    assert (choice.values, list(choice.rejected)) == ({ACKS: "1"}, [ACKS])


@pytest.mark.parametrize(
    "static", [{"transactional_id": "t"}, {"enable_idempotence": True}, {"enable_idempotence": "true"}]
)
def test_an_idempotent_producer_takes_acks_all_alone(static: dict[str, Any]) -> None:
    """A dynamic acks=1 ended the guarantee that each message is written once."""
    choice = produced(entries(acks="1"), **static)
    assert choice.values == {}
    assert choice.rejected[ACKS].startswith("acks=1 is ignored: ")
    assert choice.rejected[ACKS].endswith(" requires acks=all")
    assert produced(entries(acks="all"), **static) == Choice({ACKS: "-1"}, {}, 0)


@pytest.mark.parametrize(
    ("static", "choice", "values"),
    [
        ({}, Choice({ACKS: "1"}), {ACKS: "1"}),
        ({}, Choice({}, {ACKS: "why"}), {ACKS: "-1"}),
        ({"acks": "all"}, Choice({}, {ACKS: "why"}), {ACKS: "-1"}),
        ({"acks": 0}, Choice({ACKS: "1"}, {ACKS: "why"}), {ACKS: "1"}),
        ({SESSION: 9000}, Choice({HEARTBEAT: "5"}, {SESSION: "why"}), {SESSION: "9000", HEARTBEAT: "5"}),
        ({SESSION: 9000, "group.protocol": "consumer"}, Choice({}, {SESSION: "why"}), {}),
    ],
)
def test_a_client_that_refuses_says_what_it_runs_with(static, choice: Choice, values: dict[str, str]) -> None:
    """The status of a producer that refused had its reason, and not its acks."""
    assert effective(static, choice) == values


@pytest.mark.parametrize(
    ("levels", "static"),
    [
        ((entries(heartbeat="30000"), entries(session="20000")), {}),
        ((entries(session="10000"), entries(heartbeat="10000")), {}),
        ((entries(heartbeat="20000"),), {SESSION: 15000}),
        ((entries(session="2000"),), {}),
        ((entries(heartbeat="50000"),), {}),
    ],
    ids=["of two levels", "equal", "own session", "default heartbeat", "default session"],
)
def test_both_timeouts_are_discarded_if_no_heartbeat_fits_into_a_session(levels, static) -> None:
    """The user's heartbeat and the client-id's session were each fine, and the group lost its members."""
    choice = consumed(*levels, static=static)
    assert choice.values == {}
    assert set(choice.rejected) == {key for level in levels for key in level}
    assert all(reason.startswith("both timeouts are discarded: ") for reason in choice.rejected.values())


def test_timeouts_that_contradict_leave_those_in_force() -> None:
    """A slip in one entry sent running consumers back to the default."""
    choice = consumed(entries(session="1000", heartbeat="2000"), session_timeout_ms="9000")
    assert choice.values == {SESSION: "9000"}


def test_a_group_of_the_new_protocol_is_told_where_its_timeouts_are() -> None:
    """Nothing happened, and nobody said why."""
    choice = consumed(entries(session="20000"), static={"group.protocol": "consumer", "group.id": "g"})
    assert (choice.values, choice.rejected[SESSION]) == (
        {},
        "group.protocol=consumer takes it from the group: "
        "kadmin-nb config set consumer.session.timeout.ms=20000 group=g",
    )


def test_a_dynamic_value_replaces_the_static_one_whatever_its_name_is() -> None:
    """request.required.acks in the file went before the dynamic acks."""
    settings = client_settings({"kadmin.user": "a", "request.required.acks": 1, "linger.ms": 5}, {})
    assert {**settings.config, **{ACKS: "-1"}} == {ACKS: "-1", "linger.ms": 5}


def test_values_that_say_the_same_change_nothing() -> None:
    """A producer with acks=all was built anew for acks=-1."""
    same = running({ACKS: "all"}, {}, PRODUCER_KEYS)
    assert same == running({}, {ACKS: "-1"}, PRODUCER_KEYS)


PASSWORD = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice"}


def test_the_user_of_a_password_is_known() -> None:
    """I had to write my name twice."""
    settings = client_settings(PASSWORD, {})
    assert (settings.entity.user, settings.entity.client_id) == ("alice", "rdkafka")


@pytest.mark.parametrize(
    "config",
    [{}, {"security.protocol": "ssl"}, PASSWORD | {"sasl.mechanism": "OAUTHBEARER"}, {"sasl.username": "alice"}],
    ids=["plaintext", "certificate", "token", "no sasl"],
)
def test_a_user_that_nobody_can_tell_is_required(config: dict[str, str]) -> None:
    """The wrapper followed ANONYMOUS."""
    with pytest.raises(errors.UsageError, match="user is required"):
        client_settings(config, {})
    assert client_settings(config, {"kadmin.user": "bob"}).entity.user == "bob"


def test_our_keys_do_not_reach_librdkafka() -> None:
    """No such configuration property: "kadmin.user"."""
    config = {"kadmin.user": "a", "kadmin.refresh.interval.ms": "1500", "client.id": "ä=b", "linger.ms": 5}
    settings = client_settings(config, {"acks": 1})
    assert settings.config == {"client.id": "ä=b", "linger.ms": 5, "acks": 1}
    assert (settings.refresh_interval, settings.entity.client_id) == (1.5, "ä=b")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kadmin.refresh.interval", "1", "unknown client setting kadmin.refresh.interval"),
        ("kadmin.refresh.interval.ms", "0", "is not a number of milliseconds"),
    ],
)
def test_a_slip_in_our_keys_is_named(key: str, value: str, message: str) -> None:
    """The interval was misspelled, and the default silently held."""
    with pytest.raises(errors.UsageError, match=message):
        client_settings({"kadmin.user": "a", key: value}, {})
