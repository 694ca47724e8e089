"""Which quota applies to a client, asked of a cluster; the double is held to real ones by the conformance suite."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.admin.ports import Broker
from kadmin_nb.commands.options import read_selectors
from tests.dangerous_plans import applied


@pytest.fixture
def cluster(in_memory) -> kn.Cluster:
    return in_memory


COLUMNS = ["key", "value", "level", "bucket_user", "bucket_client_id"]


@pytest.fixture
def quotas(cluster, unique):
    """A user with a quota of its own, one for each of its clients, and one for a client named."""
    user, app = unique("user"), unique("app")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "1MB/s", user=user)
    stage.set_quota("producer_byte_rate", "2MB/s", user=user, client_id=kn.DEFAULT)
    stage.set_quota("producer_byte_rate", "3MB/s", user=user, client_id=app)
    stage.plan().apply().raise_for_errors()
    return user, app


def _produce(answer: kn.Answer) -> tuple:
    row = next(r for r in answer.to_arrow().to_pylist() if r["key"] == "producer_byte_rate")
    return row["value"], row["level"], row["bucket_user"], row["bucket_client_id"]


def test_the_most_specific_quota_binds(cluster, quotas) -> None:
    """Which limit binds this client? Nobody could tell."""
    user, app = quotas
    assert _produce(cluster.quotas.resolve(user, app)) == (3e6, "CLIENT_OF_USER", user, app)
    assert _produce(cluster.quotas.resolve(user, "other")) == (2e6, "DEFAULT_CLIENT_OF_USER", user, "other")


def test_a_blank_client_id_escapes_the_client_levels(cluster, quotas) -> None:
    """The limit on the user's clients did not hold for the one that sends no client-id (KAFKA-13341)."""
    user, _ = quotas
    assert _produce(cluster.quotas.resolve(user)) == (1e6, "USER", user, "")


def test_what_it_overrides_comes_in_order(cluster, quotas) -> None:
    """It said which quota won, and not over what."""
    user, app = quotas
    rows = cluster.quotas.resolve(user, app, keys=["producer_byte_rate"], overridden=True).to_arrow().to_pylist()
    lost = [(one["level"], one["value"]) for one in rows[0]["overridden"]]
    assert lost == [("DEFAULT_CLIENT_OF_USER", 2e6), ("USER", 1e6)]


def test_it_says_why(cluster, quotas) -> None:
    """A level is a word; people want the sentence."""
    user, app = quotas
    said = repr(cluster.quotas.resolve(user, app))
    assert said.startswith(f"1 limit applies to user={user} client-id={app}; none is shared")
    row = next(line for line in said.splitlines() if line.startswith("producer_byte_rate"))
    assert "3 MB/s" in row
    assert f"set on user={user} client-id={app}; shared by the connections of this user and client-id" in row


def test_few_and_many_clients_get_the_same_answer(cluster, quotas) -> None:
    """Eight clients, asked with filters, differed from nine, asked from everything."""
    user, app = quotas
    clients = [(user, app), (user, ""), (user, "x"), ("nobody", app)]
    few = cluster.quotas.resolve(pairs=clients, overridden=True).to_arrow()
    many = cluster.quotas.resolve(pairs=clients * 3, overridden=True).to_arrow()
    keys = len(clients)
    head = [row for place, row in enumerate(many.to_pylist()) if place % (3 * keys) < keys]
    assert few.to_pylist() == head


@pytest.mark.parametrize("form", ["list", "pandas", "arrow"])
def test_clients_come_in_any_form(cluster, quotas, form) -> None:
    """It wanted an Arrow table and I had a DataFrame."""
    frame = pd.DataFrame({"user": [quotas[0]], "client_id": [quotas[1]], "extra": [1]})
    pairs = {"list": [quotas], "pandas": frame, "arrow": pa.table(frame)}[form]
    assert _produce(cluster.quotas.resolve(pairs=pairs))[0] == 3e6


def test_ip_quotas_stand_apart(cluster, unique) -> None:
    """An address is not a client."""
    stage = cluster.new_stage()
    stage.set_quota("connection_creation_rate", 7, ip="10.77.0.1")
    stage.plan().apply().raise_for_errors()
    rows = cluster.quotas.resolve(ip="10.77.0.1").to_arrow().to_pylist()
    assert rows == [{"ip": "10.77.0.1", "key": "connection_creation_rate", "value": 7.0, "level": "IP"}]
    with pytest.raises(kn.UsageError, match="ip quotas are separate"):
        cluster.quotas.resolve("alice", ip="10.77.0.1")


def test_a_quota_on_a_host_name_may_be_of_any_address(cluster) -> None:
    """Unlimited, it said; the quota was on localhost, and the broker knew its address."""
    stage = cluster.new_stage()
    stage.set_quota("connection_creation_rate", 100_000, ip="localhost")
    stage.set_quota("connection_creation_rate", 7, ip="10.79.0.1")
    plan = stage.plan().apply().raise_for_errors()
    said = "there are quotas on host names, of which only brokers know the addresses: ip=localhost (100,000/s)"
    try:
        with pytest.raises(kn.errors.NotKnowable) as refused:
            cluster.quotas.resolve(ip=["10.79.0.1", "127.0.0.1"])
        assert str(refused.value) == f"the limit of ip=127.0.0.1 is not known: {said}"
        own = cluster.quotas.resolve(ip=["10.79.0.1", "localhost"])
        assert (own["value"].to_pylist(), own.notes) == ([7.0, 100_000.0], (said,))
        assumed = cluster.quotas.resolve(ip="127.0.0.1", assume_default=True)
        assert (assumed["value"].to_pylist(), assumed.notes) == ([None], (said,))
        assert said in repr(assumed).replace("\n", " ")
    finally:
        applied(cluster.rollback(plan.plan_id)).raise_for_errors()


@pytest.mark.parametrize("asked", ["user~={user}*", "user~={user}* user={user}", "user={user}"])
def test_a_pattern_stands_for_those_that_have_quotas(cluster, quotas, asked) -> None:
    """resolve user~=team-* ended in a stack trace."""
    user, app = quotas
    chosen = read_selectors(asked.format(user=user).split(), ["user"])["user"]
    assert _clients(cluster.quotas.resolve(chosen, app)) == [(user, app)]
    assert _clients(cluster.quotas.resolve(chosen, [kn.Pattern(f"{app}*"), ""])) == [(user, ""), (user, app)]
    assert (user, app) in _clients(cluster.quotas.resolve(kn.ANY, app))


def _clients(answer: kn.Answer) -> list[tuple[str, str]]:
    return [(r["user"], r["client_id"]) for r in answer.to_arrow().to_pylist() if r["key"] == "producer_byte_rate"]


@pytest.mark.parametrize("kind", ["user", "client_id", "ip"])
def test_a_pattern_that_nothing_matches_is_told(cluster, kind) -> None:
    """A slip in the pattern was an empty table."""
    whom = {"user": "alice"} if kind == "client_id" else {}
    with pytest.raises(kn.NotFound, match=f"no quota matches {kind.replace('_', '-')}~=tema"):
        cluster.quotas.resolve(**whom, **{kind: kn.Pattern("tema-*")})


def test_more_clients_than_a_process_holds_are_refused(cluster, monkeypatch) -> None:
    """Every user with every client-id were a hundred million rows."""
    monkeypatch.setattr("kadmin_nb.cluster.resolving.ARROW_PAIRS", 3)
    with pytest.raises(kn.UsageError, match="2 users with 2 client-ids are more than 3 clients"):
        cluster.quotas.resolve(["a", "b"], ["c", "d"])


@pytest.mark.parametrize("ip", ["10.78.0.1", kn.Pattern("10.78.*"), [kn.Pattern("10.78.*"), "10.78.0.1"]], ids=str)
def test_ips_by_pattern(cluster, ip) -> None:
    """resolve ip~=10.78.* ended in a stack trace."""
    stage = cluster.new_stage()
    stage.set_quota("connection_creation_rate", 7, ip="10.78.0.1")
    stage.plan().apply().raise_for_errors()
    assert cluster.quotas.resolve(ip=ip).to_arrow()["ip"].to_pylist() == ["10.78.0.1"]


@pytest.mark.parametrize(
    ("asked", "binding"),
    [
        ({"user": kn.DEFAULT}, [(None, "", 7e8, "DEFAULT_USER", None, "")]),
        ({"client_id": kn.DEFAULT}, [(None, None, 6e8, "DEFAULT_CLIENT_OF_DEFAULT_USER", None, None)]),
        ({"client_id": "new"}, [(None, "new", 6e8, "DEFAULT_CLIENT_OF_DEFAULT_USER", None, "new")]),
        (
            {"user": ["nobody", kn.DEFAULT], "client_id": ""},
            [("nobody", "", 7e8, "DEFAULT_USER", "nobody", ""), (None, "", 7e8, "DEFAULT_USER", None, "")],
        ),
    ],
    ids=str,
)
def test_whom_nobody_names_has_limits_too(cluster, defaults, asked, binding) -> None:
    """A new client starts on Monday: which limits will hold for it?"""
    answer = cluster.quotas.resolve(**asked, keys=["producer_byte_rate"])
    names = ("user", "client_id", *COLUMNS[1:])
    assert [tuple(row[name] for name in names) for row in answer.to_arrow().to_pylist()] == binding
    assert "=<default> means every " in repr(answer)
    assert "\\x00" not in repr(answer)
    assert "set on user=<default>" in repr(answer)


@pytest.fixture
def defaults(cluster):
    """The limits of all users, and of all clients of theirs; taken away again, for the broker is shared."""
    both = {"user": kn.DEFAULT, "client_id": kn.DEFAULT}
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 7e8, user=kn.DEFAULT)
    stage.set_quota("producer_byte_rate", 6e8, **both)
    stage.plan().apply().raise_for_errors()
    yield
    stage = cluster.new_stage()
    stage.remove_quota("producer_byte_rate", user=kn.DEFAULT)
    stage.remove_quota("producer_byte_rate", **both)
    applied(stage.plan(reason="the test is over")).raise_for_errors()


def test_a_pair_without_a_user_is_refused(cluster, quotas) -> None:
    """One row of ten thousand had no user, and nobody knew which."""
    user, app = quotas
    pairs = pa.table({"user": [user, None], "client_id": [app, "lost"]})
    with pytest.raises(kn.Invalid, match="user is null in row 2 of the pairs"):
        cluster.quotas.resolve(pairs=pairs)


@pytest.mark.parametrize("user", [None, ["alice", None]], ids=str)
def test_a_client_has_a_name(cluster, user) -> None:
    """None was passed by accident and stood for everybody."""
    with pytest.raises(kn.UsageError):
        cluster.quotas.resolve(user)


@pytest.mark.broker
def test_a_class_of_its_own_is_not_knowable(opinionated) -> None:
    """It predicted limits on a cluster that decides them by its own class."""
    with pytest.raises(kn.errors.NotKnowable, match="GenerousCallback"):
        opinionated.quotas.resolve("alice", "app")
    answer = opinionated.quotas.resolve("alice", "app", assume_default=True)
    assert b"kadmin.assumed" in answer.to_arrow().schema.metadata


@pytest.mark.broker
def test_why_and_doctor_say_that_a_class_decides(opinionated) -> None:
    """*Held by producer 5 MB/s*: that broker gave everybody what its own class said, and our quotas were ornaments."""
    brokers_rule = "client.quota.callback.class=GenerousCallback: what is stored may not apply"
    stage = opinionated.new_stage()
    stage.add("set producer_byte_rate=1MB/s user=alice")
    stage.plan().apply().raise_for_errors()
    start = datetime(2026, 11, 1, tzinfo=UTC)
    window = {"broker": 1, "user": "alice", "client_id": "app", "key": "producer_byte_rate", "value": 1e6}
    window |= {"window_start": start, "window_end": start + timedelta(seconds=1), "throttle_ms": 900.0, "source": "log"}
    answer = opinionated.quotas.why("alice", "app", usage=pa.Table.from_pylist([window]))
    assert answer._title().startswith("alice/app may be slowed by a custom quota callback, broker=1: GenerousCallback")
    assert [one.evidence["state"] for one in answer.brakes.findings] == ["may bite", "may bite"]
    (check,) = (row for row in kn.doctor(opinionated.settings.bootstrap) if row["check"] == "quotas")
    assert check["state"] == "warning"
    assert check["note"].endswith(f"broker 1 decides quotas by {brokers_rule}")


@pytest.mark.broker
def test_a_policy_is_heard_in_its_own_words(opinionated) -> None:
    """It said POLICY_VIOLATION and not what to do."""
    opinionated.port.create_topics({"watched": 1})
    stage = opinionated.new_stage()
    stage.set_config("max.message.bytes", 5000, topic="watched")
    stage.set_config("retention.ms", 5000, topic="watched")
    plan = stage.plan()
    said = {change.key: str(change.validated) for change in plan.changes}
    refusal = "POLICY_VIOLATION: Ask the platform team before you change max.message.bytes."
    assert said == dict.fromkeys(("max.message.bytes", "retention.ms"), refusal)
    with pytest.raises(kn.PlanRefused, match="platform team"):
        plan.apply()


def test_the_total_over_brokers_is_told(cluster, quotas, monkeypatch) -> None:
    """8 MB/s, it said, and the client wrote 24: a limit holds on each broker."""
    three = [Broker(number, "127.0.0.1", 1) for number in (1, 2, 3)]
    monkeypatch.setattr(cluster.port, "brokers", lambda: three)
    monkeypatch.setattr("kadmin_nb.cluster.resolving.broker_rows", lambda *asked, **how: [])
    text = repr(cluster.quotas.resolve(*quotas))
    assert "Limits apply per broker; on all 3 together: producer_byte_rate 9 MB/s" in text


@pytest.mark.broker
def test_metrics_do_not_guess_a_custom_callback(opinionated):
    """The board showed limits that no broker enforces."""
    with pytest.warns(UserWarning, match="client.quota.callback.class"):
        assert 'kadmin_nb_part_success{part="limits"} 0.0' in opinionated.metrics()
    assert "kadmin_nb_up 1.0" in opinionated.metrics(assume_default=True)


@pytest.fixture
def nul(cluster, defaults):
    """Limits of the user and the client-id whose name is the character NUL; taken away again."""
    limits = {"consumer_byte_rate": {"user": "\0"}, "request_percentage": {"client_id": "\0"}}
    stage = cluster.new_stage()
    for key, entity in limits.items():
        stage.set_quota(key, "50MB/s" if key == "consumer_byte_rate" else 50, **entity)
    stage.plan().apply().raise_for_errors()
    yield
    stage = cluster.new_stage()
    for key, entity in limits.items():
        stage.remove_quota(key, **entity)
    applied(stage.plan(reason="the test is over")).raise_for_errors()


@pytest.mark.parametrize("more", [0, 9], ids=["few", "many"])
def test_a_client_may_be_called_as_nothing_else_is(cluster, nul, more) -> None:
    """The user called NUL was told to have no limit, and had one: its name stood for all that no quota names."""
    keys = ["consumer_byte_rate", "request_percentage"]
    pairs = [("\0", "\0"), ("\0\0", "\0\0"), ("nobody", None), *[("x", f"y{number}") for number in range(more)]]
    rows = cluster.quotas.resolve(pairs=pairs, keys=keys).to_arrow().to_pylist()
    assert [(row["user"], row["client_id"], row["key"], row["value"]) for row in rows if row["user"] != "x"] == [
        ("\0", "\0", "consumer_byte_rate", 5e7),
        ("\0\0", "\0\0", "consumer_byte_rate", None),
        ("nobody", "", "consumer_byte_rate", None),
        ("\0", "\0", "request_percentage", 50.0),
        ("\0\0", "\0\0", "request_percentage", None),
        ("nobody", "", "request_percentage", None),
    ]
    both = cluster.quotas.resolve(["\0", kn.DEFAULT], "\0", keys=keys).to_arrow().to_pylist()
    assert [(row["user"], row["client_id"], row["key"], row["value"]) for row in both] == [
        ("\0", "\0", "consumer_byte_rate", 5e7),
        (None, "\0", "consumer_byte_rate", None),
        ("\0", "\0", "request_percentage", 50.0),
        (None, "\0", "request_percentage", 50.0),
    ]
    unlimited = cluster.quotas.audit(keys=["consumer_byte_rate"]).only("unlimited")["resource_name"].to_pylist()
    assert not [name for name in unlimited if "\0" in name]
    assert "users without a quota of their own" in unlimited
