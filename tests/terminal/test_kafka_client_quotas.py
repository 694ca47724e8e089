"""`kadmin-nb kafka-client-quotas`: the examples of KIP-546, and what its grammar says beside them."""

from __future__ import annotations

import shlex

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.wire import Wire
from kadmin_nb.commands.kafka_client_quotas import in_braces, parts_of
from kadmin_nb.errors import UsageError
from kadmin_nb.model.entity import Entity
from tests.dangerous_plans import applied

RATES = ("consumer_byte_rate", "producer_byte_rate")


@pytest.fixture
def quotas(kadmin, kafka):
    """`quotas("--describe --names=user=alice")` runs that line at the local Kafka."""

    def run(line: str):
        return kadmin("kafka-client-quotas", "--bootstrap-server", kafka.bootstrap, *shlex.split(line))

    return run


@pytest.fixture
def example(cluster: kn.Cluster):
    """The quotas of the proposal's example; it ends without them."""
    stored = {"user-one": (4_000_000, 1_000_000), "user-two": (None, 2_000_000), kn.DEFAULT: (1_000_000, 500_000)}
    stage, undo = cluster.new_stage(), cluster.new_stage()
    for user, values in stored.items():
        for key, value in zip(RATES, values, strict=True):
            undo.remove_quota(key, user=user, client_id="my-client")
            if value is not None:
                stage.set_quota(key, value, user=user, client_id="my-client")
    applied(stage.plan("a test")).raise_for_errors()
    yield
    applied(undo.plan("a test")).raise_for_errors()


DESCRIBED = """\
{user=user-one, client-id=my-client}
consumer_byte_rate=4000000
producer_byte_rate=1000000

{user=user-two, client-id=my-client}
producer_byte_rate=2000000

{user=<default>, client-id=my-client}
consumer_byte_rate=1000000
producer_byte_rate=500000
"""


@pytest.mark.broker
def test_list_is_the_drafts_word_for_describe(quotas, example):
    """The examples that I copied from the proposal say --list."""
    line = "--names=client-id=my-client"
    assert quotas(f"--list {line}").out == quotas(f"--describe {line}").out != ""


@pytest.mark.broker
def test_the_examples_of_kip_546(quotas, example, monkeypatch):
    """The proposal was the only manual that we had, and its lines did not work."""
    assert quotas("--describe --names=client-id=my-client").out == DESCRIBED
    assert (
        quotas("--describe --prefix=user=user- --names=client-id=my-client").out
        == DESCRIBED.partition("\n\n{user=<")[0] + "\n"
    )
    # the proposal resolves other quotas than it describes: these are the described ones, by the brokers' rule
    assert quotas("--resolve --names=user=user-two,client-id=my-client").out == (
        "consumer_byte_rate=1000000 {user=<default>, client-id=my-client}\n"
        "producer_byte_rate=2000000 {user=user-two, client-id=my-client}\n"
    )
    assert quotas("--resolve --names=user=user-two,client-id=my-client --show-overridden").out == (
        "consumer_byte_rate=1000000 {user=<default>, client-id=my-client}\n"
        "producer_byte_rate=2000000 {user=user-two, client-id=my-client}\n"
        "*producer_byte_rate=500000 {user=<default>, client-id=my-client}\n"
    )
    sent = _alters(monkeypatch)
    change = "--alter --names=client-id=my-client --defaults=user --add=consumer_byte_rate=2000000"
    answer = quotas(f"{change} --delete=producer_byte_rate")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert len(sent) == 1
    assert quotas("--describe --names=client-id=my-client --defaults=user").out == (
        "{user=<default>, client-id=my-client}\nconsumer_byte_rate=2000000\n"
    )


def _alters(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The alters that are sent from now on."""
    sent: list[str] = []
    tell = Wire.tell
    monkeypatch.setattr(Wire, "tell", lambda wire, request, **o: sent.append(o["doing"]) or tell(wire, request, **o))
    return sent


@pytest.mark.broker
@pytest.mark.parametrize("whom", ["--defaults=user", "--names=client-id=nobody", "--defaults=user,client-id"])
def test_whoever_has_no_quota_is_resolved(quotas, whom):
    """The limit of every new client could not be asked for."""
    assert quotas(f"--resolve {whom}").code == 0


@pytest.mark.broker
@pytest.mark.parametrize("whom", ["ip=10.9.8.9", "user=nobody-at-all,client-id=a"])
def test_who_is_not_limited_is_said(quotas, whom):
    """Of an address without a quota it printed nothing, and I thought that it had not been asked."""
    answer = quotas(f"--resolve --names={whom}")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.splitlines()[-1] == f"nothing limits {{{whom.replace(',', ', ')}}}"


@pytest.mark.broker
def test_a_change_that_the_brokers_refuse_is_one_line(quotas):
    """A validation that failed ended with success."""
    answer = quotas("--alter --names=team=blue --add=producer_byte_rate=1000000 --validate-only")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.splitlines()[0] == (
        "Invalid: {team=blue}: producer_byte_rate: INVALID_REQUEST: Unhandled client quota entity type: team"
    )
    assert quotas("--alter --names=user=new --add=producer_byte_rate=1000000 --validate-only").out == ""
    assert quotas("--describe --names=user=new").out == ""


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--describe --alter",
        "--describe --add=producer_byte_rate=1",
        "--describe --show-overridden",
        "--resolve --validate-only --names=user=a",
        "--resolve --prefix=user=a",
        "--alter --names=user=a",
        "--alter --names=user --add=producer_byte_rate=1",
        "--alter --names=user=a --defaults=user --add=producer_byte_rate=1",
        "--alter --names=user=a --add=producer_byte_rate",
        "--alter --names=user=a --add=producer_byte_rate=1 --delete=producer_byte_rate",
        "--describe --names=user=a --prefix=user=b",
        "--describe stray",
    ],
)
def test_a_wrong_line_ends_before_a_cluster_is_asked(kadmin, line):
    """A flag of another action was passed over, and the change was not the one that I meant."""
    answer = kadmin("kafka-client-quotas", "--bootstrap-server", "localhost:1", *line.split())
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("UsageError: ")


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        (["user=alice,client-id=app"], {"user": "alice", "client-id": "app"}),
        (["user=CN=alice,O=example,client-id=a,b"], {"user": "CN=alice,O=example", "client-id": "a,b"}),
        (["user=alice", "client-id=app"], {"user": "alice", "client-id": "app"}),
        (["team=blue,user=alice"], {"team": "blue", "user": "alice"}),
    ],
)
def test_a_comma_splits_only_before_a_type(texts, parts):
    """The distinguished name of a user was torn at its first comma."""
    assert parts_of({"names": texts, "defaults": ()}) == parts


def test_one_type_twice_is_refused():
    """The second name won, without a word."""
    with pytest.raises(UsageError, match="user is named twice"):
        parts_of({"names": ["user=a,user=b"], "defaults": ()})


def test_no_name_looks_like_the_default():
    """A user called <default> was taken for the default."""
    assert in_braces(Entity.of({"user": "<default>", "client-id": kn.DEFAULT})) == (
        "{user=%3Cdefault%3E, client-id=<default>}"
    )
