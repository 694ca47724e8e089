"""A plan is judged as if it were applied; one that breaks a rule, or makes it worse, is refused with its reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from tests.policy.judged_snapshots import CLUSTER, MB, breaches, configs, held, pairs, policy, quotas, states
from tests.waiting import eventually

RATE = "producer_byte_rate"
AT = "2026-11-21T00:00:00+00:00"
CEILING = (
    f'frame = "QUOTAS"\nwhere = {{ level = "USER", key = "{RATE}" }}\nmust = {{ value = {{ at_most = "50MB/s" }} }}'
)
SHADOWED = """
frame = "QUOTAS"
where = { level = "DEFAULT_USER" }
while = { level = "CLIENT" }
forbid = true
"""
IN_SYNC = """
frame = "CONFIGS"
where = { resource_type = "TOPIC", key = "min.insync.replicas" }
must = { value = { at_least = 2 } }
"""
UNLIMITED = f'frame = "EFFECTIVE"\nwhere = {{ key = "{RATE}" }}\nmust = {{ value = {{ set = true }} }}'


def plan(*changes: tuple[str, str, str | None], cluster_id: str = CLUSTER) -> kn.Plan:
    """A plan of (entity or resource, key, value after it)."""
    kinds = ("topic", "broker", "group")
    rows = [
        Change(
            n,
            "delete" if after is None else "set",
            (Resource if words.startswith(kinds) else Entity).parse(words),
            key,
            after=after,
        )
        for n, (words, key, after) in enumerate(changes, 1)
    ]
    return kn.Plan(cluster_id, AT, tuple(rows))


def judged(rule: str, made: kn.Plan, before: kn.Snapshot) -> list[str]:
    """The states, after a plan."""
    return states(policy(rule).check(made, on=before))


ALICE = held(quotas(("user=alice", RATE, 60 * MB), ("user=bob", RATE, MB)))


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ([("user=bob", RATE, "2000000")], ["as before"]),
        ([("user=bob", RATE, "51000000")], ["as before", "broken"]),
        ([("user=alice", RATE, "70000000")], ["broken"]),
        ([("user=alice", RATE, "55000000")], ["as before"]),
        ([("user=alice", RATE, "5000000")], ["kept"]),
        ([("user=alice", RATE, None)], ["kept"]),
        ([("topic=t", "retention.ms", "1")], ["as before"]),
    ],
    ids=["elsewhere", "another breach", "worse", "better and not enough", "mended", "removed", "not about it"],
)
def test_a_plan_answers_for_what_it_breaks_or_makes_worse(after, wanted):
    """One quota was too high since last year, and since the policy came nothing could be changed."""
    assert judged(CEILING, plan(*after), ALICE) == wanted


def test_what_is_broken_as_before_refuses_nothing():
    """The plan that mended half of it was refused for the other half."""
    answer = policy(CEILING).check(plan(("user=alice", RATE, "55000000")), on=ALICE)
    assert answer.ok
    assert "as without the plan" in answer.to_arrow()["message"][0].as_py()
    assert "1 broken as before" in repr(answer)


def test_either_half_of_a_pair_may_break_it():
    """The default user was looked at, and the client-id quota beside it came a week later."""
    default = held(quotas(("user=<default>", RATE, MB)))
    client = held(quotas(("client-id=app", RATE, MB)))
    assert judged(SHADOWED, plan(("client-id=app", RATE, "1000000")), default) == ["broken"]
    assert judged(SHADOWED, plan(("user=<default>", RATE, "1000000")), client) == ["broken"]
    assert judged(SHADOWED, plan(("client-id=app", RATE, None)), client) == ["kept"]


@pytest.mark.parametrize(
    ("now", "after", "wanted"),
    [("3", "2", "kept"), ("3", "1", "broken"), ("1", "1", "as before"), ("1", None, "kept"), ("0", "1", "as before")],
)
def test_configs_are_judged_as_they_will_be(now, after, wanted):
    """min.insync.replicas went from 3 to 1, and the policy looked at the 3."""
    before = held(None, configs(("topic=t", "min.insync.replicas", now)))
    assert judged(IN_SYNC, plan(("topic=t", "min.insync.replicas", after)), before) == [wanted]


def test_a_broker_falls_back_to_its_file():
    """A dynamic value was taken away, and the broker was judged as if nothing were left."""
    row = configs(("broker=1", "num.io.threads", "8")).to_pylist()[0]
    below = [
        {"source": s, "key": "num.io.threads", "value": v}
        for s, v in (("DYNAMIC_BROKER_CONFIG", "8"), ("STATIC_BROKER_CONFIG", "1"))
    ]
    table = configs().from_pylist([{**row, "synonyms": below}], schema=configs().schema)
    rule = 'frame = "CONFIGS"\nwhere = { key = "num.io.threads" }\nmust = { value = { at_least = 4 } }'
    answer = policy(rule).check(plan(("broker=1", "num.io.threads", None)), on=held(None, table))
    assert breaches(answer) == [("broker=1", "num.io.threads", "1")]


def test_as_if_applied_is_as_applied():
    """The plan kept every rule, and the cluster that it left behind did not."""
    example = kn.policy.load(Path(__file__).parents[2] / "kadmin-nb.policy.example.toml")
    left = "leader.replication.throttled.replicas"
    before = held(
        quotas(("user=alice", RATE, MB), ("client-id=app", RATE, MB)),
        configs(("topic=t", "min.insync.replicas", "2"), ("topic=u", left, "*")),
    )
    after = held(
        quotas(("user=alice", RATE, 60 * MB), ("user=<default>", RATE, 2e9), ("client-id=app", RATE, MB)),
        configs(("topic=t", "min.insync.replicas", "1"), ("topic=t", left, "1:1")),
    )
    made = plan(
        ("user=alice", RATE, "60000000"), ("user=<default>", RATE, "2000000000"),
        ("topic=t", "min.insync.replicas", "1"), ("topic=t", left, "1:1"), ("topic=u", left, None),
    )  # fmt: skip
    clients = pairs(("alice", "x"), ("bob", "app"), ("bob", None))

    def rows(answer: kn.Answer) -> list[tuple[object, ...]]:
        return [(r["rule"], r["resource"], r["key"], r["value"]) for r in answer.to_arrow().to_pylist()]

    for known in (None, clients):
        assert rows(example.check(made, on=before, pairs=known)) == rows(example.check(after, pairs=known))
    assert len(rows(example.check(after, pairs=clients))) >= 6


def test_a_client_that_a_plan_first_names_is_no_new_breach():
    """alice got a consumer quota, and was said to have lost a producer quota she never had."""
    nobody = held(quotas(("user=bob", RATE, MB)))
    assert "broken" not in judged(UNLIMITED, plan(("user=alice", "consumer_byte_rate", "1000")), nobody)
    assert "broken" in judged(UNLIMITED, plan(("user=bob", RATE, None)), nobody)


def test_known_clients_count_in_a_plan_too():
    """The last limit of a client that exists was removed, beside an exception for one that does not."""
    answer = policy(UNLIMITED).check(plan(("user=bob", RATE, None)), on=ALICE, pairs=pairs(("bob", "x"), ("eve", "y")))
    assert breaches(answer) == [("user=bob client-id=x", RATE, "unlimited")]


def test_a_sum_is_only_worse_when_it_is_more():
    """The sum was over the line already, and lowering one of its parts was refused."""
    rule = f'frame = "QUOTAS"\nwhere = {{ key = "{RATE}" }}\nsum = {{ at_most = "50% of capacity" }}'
    made = policy(rule, '[[brokers]]\nbytes_in = "100MB/s"')
    assert states(made.check(plan(("user=alice", RATE, "55000000")), on=ALICE)) == ["as before"]
    assert states(made.check(plan(("user=alice", RATE, "65000000")), on=ALICE)) == ["broken"]


def test_a_secret_is_not_told_and_not_guessed():
    """The password that a plan sets stood in the report."""
    rule = 'frame = "CONFIGS"\nwhere = { key = "ssl.keystore.password" }\nmust = { value = "x" }'
    made = plan(("broker=1", "ssl.keystore.password", "env:CANARY"))
    made = kn.Plan(CLUSTER, AT, tuple(one.with_(is_secret=True) for one in made.changes))
    answer = policy(rule).check(made, on=held())
    assert states(answer) == ["unknown"]
    assert "CANARY" not in str(answer.to_arrow().to_pylist())


def test_a_plan_of_another_cluster_is_refused():
    """A plan for test was judged beside what production holds."""
    with pytest.raises(kn.WrongCluster, match="was made for cluster elsewhere"):
        policy(CEILING).check(plan(cluster_id="elsewhere"), on=held())
    with pytest.raises(kn.UsageError, match="a cluster or a snapshot is required"):
        policy(CEILING).check(plan())


# -- on the real broker


@pytest.fixture
def ceiling(tmp_path: Path, unique: Callable[[str], str]) -> tuple[str, Path]:
    """A user of this test alone, and a policy about that user alone."""
    user, place = unique("user"), tmp_path / "p.toml"
    rule = CEILING.replace('level = "USER"', f'user = "{user}"')
    place.write_text(f'[[rule]]\nname = "ceiling"\nreason = "ask the platform team"\n{rule}\n')
    return user, place


@pytest.fixture
def altered(cluster: kn.Cluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent to be altered."""
    sent: list[str] = []
    real = cluster.port.wire.tell
    monkeypatch.setattr(cluster.port.wire, "tell", lambda *a, **o: sent.append(o["doing"]) or real(*a, **o))
    return sent


def staged(cluster: kn.Cluster, user: str, value: str) -> kn.Plan:
    stage = cluster.stage()
    stage.set_quota(RATE, value, user=user)
    return stage.plan("a test")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["given", "variable", "profile"])
def test_a_plan_that_breaks_a_rule_is_refused_and_nothing_is_sent(cluster, ceiling, altered, monkeypatch, how):
    """The policy was in force, and the plan went through."""
    user, place = ceiling
    given = place if how == "given" else None
    if how == "variable":
        monkeypatch.setenv("KADMIN_POLICY", str(place))
    if how == "profile":
        object.__setattr__(cluster.settings, "policy", str(place))
    try:
        high = staged(cluster, user, "60MB/s")
        altered.clear()
        with pytest.raises(kn.PlanRefused, match=r"breaks ceiling: .*60 MB/s .*ask the platform team") as refused:
            cluster.apply(high, policy=given)
        assert (altered, refused.value.code) == ([], "POLICY")
        with pytest.raises(kn.PlanRefused):
            high.apply(policy=given)
        assert not len(cluster.quotas.describe(user=user))
        assert cluster.apply(staged(cluster, user, "40MB/s"), policy=given).ok
    finally:
        object.__setattr__(cluster.settings, "policy", None)


def test_what_is_given_adds_to_what_is_in_force(cluster, ceiling, tmp_path, monkeypatch):
    """An empty policy was typed, and took the team's away."""
    user, place = ceiling
    (tmp_path / "empty.toml").write_text("")
    monkeypatch.setenv("KADMIN_POLICY", str(place))
    with pytest.raises(kn.PlanRefused, match="ask the platform team"):
        cluster.guard(staged(cluster, user, "60MB/s"), tmp_path / "empty.toml")


def test_a_policy_that_is_not_there_allows_nothing(cluster, ceiling, monkeypatch, altered):
    """The policy was moved to another folder, and from then on everything was allowed."""
    user, place = ceiling
    monkeypatch.setenv("KADMIN_POLICY", str(place.with_name("gone.toml")))
    made = staged(cluster, user, "1MB/s")
    altered.clear()
    with pytest.raises(kn.NotFound, match=r"gone\.toml is not there, so it cannot be a policy"):
        cluster.apply(made)
    assert altered == []
    monkeypatch.delenv("KADMIN_POLICY")
    with pytest.raises(kn.UsageError, match="no policy is in force"):
        cluster.check()


def test_a_level_of_a_logger_is_no_config(cluster, ceiling):
    """Nobody could observe a broker any more: the policy forbade a key that only loggers have."""
    _, place = ceiling
    place.write_text('[[rule]]\nname = "r"\nreason = "y"\nframe = "CONFIGS"\nforbid = true\n')
    stage = cluster.stage()
    stage.set_config("kafka.request.logger", "DEBUG", broker_logger=cluster.brokers.to_arrow()["id"][0].as_py())
    cluster.guard(stage.plan(), place)
    assert judged('frame = "CONFIGS"\nforbid = true', plan(("broker=1", "x", "1")), held()) == ["broken"]


def test_only_what_a_plan_touches_is_read(cluster, ceiling, monkeypatch):
    """Every quota that was set read the configs of ten thousand topics."""
    user, place = ceiling
    place.write_text(place.read_text() + f'[[rule]]\nname = "s"\nreason = "y"\n{IN_SYNC}')
    made = staged(cluster, user, "1MB/s")
    monkeypatch.setattr(cluster.port.configs, "describe", lambda *a, **o: pytest.fail("the configs were read"))
    cluster.guard(made, place)


@pytest.mark.slow
def test_the_same_rows_live_and_from_a_snapshot(cluster, ceiling, tmp_path):
    """The snapshot kept what the cluster broke."""
    user, place = ceiling
    assert cluster.apply(staged(cluster, user, "60MB/s")).ok
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    example = kn.policy.load(Path(__file__).parents[2] / "kadmin-nb.policy.example.toml")
    required = policy('frame = "CONFIGS"\nwhere = { resource_type = "TOPIC" }\nrequired = ["retention.ms"]')
    for one in (kn.policy.load(place), example, required):
        live = one.check(cluster).to_arrow().drop_columns(["message"])
        cluster.snapshot().save(tmp_path / "s.parquet")
        for seen in (cluster.snapshot(), kn.Snapshot.load(tmp_path / "s.parquet")):
            assert one.check(seen).to_arrow().drop_columns(["message"]).equals(live)
    assert breaches(cluster.check(place)) == [(f"user={user}", RATE, "60000000")]
    lower = staged(cluster, user, "55MB/s")
    assert (
        states(cluster.check(place, lower)) == states(kn.policy.load(place).check(lower, on=cluster)) == ["as before"]
    )
    cluster.guard(lower, place)
    assert cluster.apply(lower, policy=place).ok
