"""A plan is judged as if it were applied; one that breaks a rule is refused with its reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.plan_file import PlanHead
from tests.policy.judged_snapshots import CLUSTER, MB, breaches, configs, held, pairs, quotas, states
from tests.waiting import eventually

RATE = "producer_byte_rate"
AT = "2026-11-21T00:00:00+00:00"
EXAMPLE = Path(__file__).parents[2] / "kadmin-nb.policies.example.py"


def ceiling(quotas):
    """Ask first."""
    high = quotas[(quotas.level == "USER") & (quotas.key == RATE) & (quotas.value > 50 * MB)]
    return high.assign(excess=high.value - 50 * MB)


def strict(quotas):
    """Ask first."""
    return ceiling(quotas).drop(columns="excess")


def shadowed(quotas):
    """Every client-id quota is shadowed."""
    default = quotas[quotas.level == "DEFAULT_USER"]
    return default if (quotas.level == "CLIENT").any() else default[:0]


def in_sync(configs):
    """Two have to acknowledge."""
    low = configs[(configs.resource_type == "TOPIC") & (configs.key == "min.insync.replicas")]
    return low[low.value.astype(int) < 2]


def unlimited(effective):
    """Nobody may be without a limit."""
    return effective[(effective.key == RATE) & effective.value.isna()]


def no_deletion(plan):
    """Nothing is deleted here."""
    return plan[plan.op == "delete"]


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
    return kn.Plan(PlanHead(cluster_id, AT), tuple(rows))


def judged(rule: Callable[..., object], made: kn.Plan, before: kn.Snapshot) -> list[str]:
    """The states, after a plan."""
    return states(kn.check(rule, made, on=before))


ALICE = held(quotas(("user=alice", RATE, 60 * MB), ("user=bob", RATE, MB)))


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ([("user=bob", RATE, "2000000")], ["as before"]),
        ([("user=bob", RATE, "51000000")], ["broken", "as before"]),
        ([("user=alice", RATE, "70000000")], ["broken"]),
        ([("user=alice", RATE, "55000000")], ["as before"]),
        ([("user=alice", RATE, "5000000")], ["kept"]),
        ([("user=alice", RATE, None)], ["kept"]),
        ([("topic=t", "retention.ms", "1")], ["as before"]),
    ],
    ids=["elsewhere", "another breach", "worse", "better and not enough", "mended", "removed", "not about it"],
)
def test_a_plan_answers_for_what_it_breaks_or_makes_worse(after, wanted) -> None:
    """One quota was too high since last year, and since the policy came nothing could be changed."""
    assert judged(ceiling, plan(*after), ALICE) == wanted


def test_without_an_excess_a_row_that_changes_is_the_plans() -> None:
    """Nobody could say whether 70 MB/s is worse than 60, and the plan went through."""
    for after in ("70000000", "55000000"):
        assert judged(strict, plan(("user=alice", RATE, after)), ALICE) == ["broken"]
    answer = kn.check(strict, plan(("user=bob", RATE, "2000000")), on=ALICE)
    assert states(answer) == ["as before"]
    assert answer.ok
    assert "as without the plan" in answer.to_arrow()["message"][0].as_py()
    assert "1 broken as before" in repr(answer)


def test_either_half_of_a_pair_may_break_it() -> None:
    """The default user was looked at, and the client-id quota beside it came a week later."""
    default = held(quotas(("user=<default>", RATE, MB)))
    client = held(quotas(("client-id=app", RATE, MB)))
    assert judged(shadowed, plan(("client-id=app", RATE, "1000000")), default) == ["broken"]
    assert judged(shadowed, plan(("user=<default>", RATE, "1000000")), client) == ["broken"]
    assert judged(shadowed, plan(("client-id=app", RATE, None)), client) == ["kept"]


@pytest.mark.parametrize(
    ("now", "after", "wanted"), [("3", "2", "kept"), ("3", "1", "broken"), ("1", "1", "as before"), ("1", None, "kept")]
)
def test_configs_are_judged_as_they_will_be(now, after, wanted) -> None:
    """min.insync.replicas went from 3 to 1, and the policy looked at the 3."""
    before = held(None, configs(("topic=t", "min.insync.replicas", now)))
    assert judged(in_sync, plan(("topic=t", "min.insync.replicas", after)), before) == [wanted]


def test_a_broker_falls_back_to_its_file() -> None:
    """A dynamic value was taken away, and the broker was judged as if nothing were left."""
    row = configs(("broker=1", "num.io.threads", "8")).to_pylist()[0]
    below = [
        {"source": s, "key": "num.io.threads", "value": v}
        for s, v in (("DYNAMIC_BROKER_CONFIG", "8"), ("STATIC_BROKER_CONFIG", "1"))
    ]
    table = configs().from_pylist([{**row, "synonyms": below}], schema=configs().schema)

    def threads(configs):
        """Four at least."""
        rows = configs[configs.key == "num.io.threads"]
        return rows[rows.value.astype(int) < 4]

    answer = kn.check(threads, plan(("broker=1", "num.io.threads", None)), on=held(None, table))
    assert breaches(answer) == [("broker=1", "num.io.threads", "1")]


def test_as_if_applied_is_as_applied() -> None:
    """The plan kept every rule, and the cluster that it left behind did not."""
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
        return sorted(
            (r["rule"], str(r["resource"]), str(r["key"]), str(r["value"])) for r in answer.to_arrow().to_pylist()
        )

    for known in (None, clients):
        assert rows(kn.check(EXAMPLE, made, on=before, pairs=known)) == rows(kn.check(EXAMPLE, after, pairs=known))
    assert len(rows(kn.check(EXAMPLE, after, pairs=clients))) >= 6


def test_a_client_that_a_plan_first_names_is_no_new_breach() -> None:
    """alice got a consumer quota, and was said to have lost a producer quota she never had."""
    nobody = held(quotas(("user=bob", RATE, MB)))
    assert "broken" not in judged(unlimited, plan(("user=alice", "consumer_byte_rate", "1000")), nobody)
    assert "broken" in judged(unlimited, plan(("user=bob", RATE, None)), nobody)


def test_known_clients_count_in_a_plan_too() -> None:
    """The last limit of a client that exists was removed, beside an exception for one that does not."""
    answer = kn.check(unlimited, plan(("user=bob", RATE, None)), on=ALICE, pairs=pairs(("bob", "x"), ("eve", "y")))
    assert breaches(answer) == [("user=bob client-id=x", RATE, "unlimited")]


def test_a_sum_is_only_worse_when_it_is_more() -> None:
    """The sum was over the line already, and lowering one of its parts was refused."""

    def fits(quotas):
        """It has to fit."""
        return quotas[:1].assign(entity="all", user=None, value=quotas.value.sum(), excess=quotas.value.sum() - 50 * MB)

    assert judged(fits, plan(("user=alice", RATE, "55000000")), ALICE) == ["as before"]
    assert judged(fits, plan(("user=alice", RATE, "65000000")), ALICE) == ["broken"]


def test_a_rule_may_take_the_plan_itself() -> None:
    """Deletions were agreed upon in a chat, and nothing held them."""
    assert judged(no_deletion, plan(("user=bob", RATE, "1")), ALICE) == ["kept"]
    answer = kn.check(no_deletion, plan(("user=bob", RATE, None)), on=ALICE)
    assert [(r["state"], r["resource"], r["key"]) for r in answer.to_arrow().to_pylist()] == [
        ("broken", "user=bob", RATE)
    ]


def test_a_secret_is_not_told() -> None:
    """The password that a plan sets stood in the report."""

    def passwords(configs, plan):
        """None."""
        return configs[configs.key == "ssl.keystore.password"].assign(plan=str(plan.to_dict("records")))

    made = plan(("broker=1", "ssl.keystore.password", "env:CANARY"))
    made = kn.Plan(PlanHead(CLUSTER, AT), tuple(one.with_(is_secret=True) for one in made.changes))
    answer = kn.check(passwords, made, on=held())
    assert [(r["state"], r["value"]) for r in answer.to_arrow().to_pylist()] == [("broken", None)]


def test_a_plan_of_another_cluster_is_refused() -> None:
    """A plan for test was judged beside what production holds."""
    with pytest.raises(kn.errors.WrongCluster, match="was made for cluster elsewhere"):
        kn.check(ceiling, plan(cluster_id="elsewhere"), on=held())
    with pytest.raises(kn.UsageError, match="a cluster or a snapshot is required"):
        kn.check(ceiling, plan())


# -- on the real broker

CEILING = '''import kadmin_nb as kn


@kn.rule(severity="{severity}")
def ceiling(quotas):
    """ask the platform team"""
    mine = quotas[(quotas.user == "{user}") & (quotas.key == "producer_byte_rate")]
    high = mine[mine.value > 50e6]
    return high.assign(excess=high.value)
'''


@pytest.fixture
def ceiling_file(tmp_path: Path, unique: Callable[[str], str]) -> tuple[str, Path]:
    """A user of this test alone, and a policy about that user alone."""
    user, place = unique("user"), tmp_path / "policies.py"
    place.write_text(CEILING.format(user=user, severity="error"))
    return user, place


@pytest.fixture
def altered(cluster: kn.Cluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent to be altered."""
    sent: list[str] = []
    real = cluster.port.wire.tell
    monkeypatch.setattr(cluster.port.wire, "tell", lambda *a, **o: sent.append(o["doing"]) or real(*a, **o))
    return sent


def staged(cluster: kn.Cluster, user: str, value: str) -> kn.Plan:
    stage = cluster.new_stage()
    stage.set_quota(RATE, value, user=user)
    return stage.plan("a test")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["given", "profile"])
def test_a_plan_that_breaks_a_rule_is_refused_and_nothing_is_sent(cluster, ceiling_file, altered, how) -> None:
    """The policy was in force, and the plan went through."""
    user, place = ceiling_file
    given = place if how == "given" else None
    if how == "profile":
        object.__setattr__(cluster.settings, "policy", str(place))
    try:
        high = staged(cluster, user, "60MB/s")
        altered.clear()
        with pytest.raises(kn.PlanRefused, match=r"breaks ceiling: .*60 MB/s; ask the platform team") as refused:
            cluster.apply(high, policy=given)
        assert (altered, refused.value.code) == ([], "POLICY")
        with pytest.raises(kn.PlanRefused):
            high.apply(policy=given)
        assert not len(cluster.quotas.describe(user=user))
        assert cluster.apply(staged(cluster, user, "40MB/s"), policy=given).ok
    finally:
        object.__setattr__(cluster.settings, "policy", None)


def test_a_danger_is_confirmed_by_its_row(cluster, ceiling_file, altered) -> None:
    """The rule meant *think twice*, and the plan could not be applied at all."""
    user, place = ceiling_file
    place.write_text(CEILING.format(user=user, severity="danger"))
    high = staged(cluster, user, "60MB/s")
    assert kn.check(place, high).ok
    altered.clear()
    with pytest.raises(kn.errors.Dangerous, match=r"ceiling: .*60 MB/s; ask the platform team"):
        high.apply(policy=place)
    assert altered == []
    assert high.apply(policy=place, allow=f"{RATE} user={user}").ok
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    assert kn.check(place, cluster).to_arrow()["state"].to_pylist() == ["broken"]
    assert kn.check(place, cluster).ok


def test_what_is_given_adds_to_what_is_in_force(cluster, ceiling_file) -> None:
    """Another policy was typed, and took the team's away."""
    user, place = ceiling_file
    object.__setattr__(cluster.settings, "policy", str(place))
    try:
        with pytest.raises(kn.PlanRefused, match="ask the platform team"):
            cluster.plans.guard(staged(cluster, user, "60MB/s"), no_deletion)
    finally:
        object.__setattr__(cluster.settings, "policy", None)


def test_a_policy_that_cannot_be_run_allows_nothing(cluster, ceiling_file, altered) -> None:
    """The policy was moved to another folder, and from then on everything was allowed."""
    user, place = ceiling_file
    made = staged(cluster, user, "1MB/s")
    altered.clear()
    with pytest.raises(kn.NotFound, match=r"gone\.py is not there, so it cannot be a policy"):
        cluster.apply(made, policy=place.with_name("gone.py"))
    place.write_text(place.read_text().replace("> 50e6", "> fifty"))
    with pytest.raises(kn.UsageError, match=r"policies\.py:8: rule ceiling: NameError: name 'fifty'"):
        cluster.apply(made, policy=place)
    assert altered == []


def test_only_what_a_plan_touches_is_read(cluster, ceiling_file, monkeypatch) -> None:
    """Every quota that was set read the configs of ten thousand topics."""
    user, place = ceiling_file
    made = staged(cluster, user, "1MB/s")
    monkeypatch.setattr(cluster.port.configs, "describe", lambda *a, **o: pytest.fail("the configs were read"))
    cluster.plans.guard(made, [place, in_sync])
    assert cluster.plans.guard(made, in_sync) is None


def test_users_of_a_live_cluster_are_a_frame(cluster, ceiling_file) -> None:
    """The rule about users who have no quota could not be written."""
    user, _ = ceiling_file
    assert cluster.apply(staged(cluster, user, "1MB/s")).ok

    def is_there(users):
        """It is there."""
        return users[users.user == user]

    eventually(lambda: breaches(kn.check(is_there, cluster)), [(f"user={user}", None, None)])


@pytest.mark.slow
def test_the_same_rows_live_and_from_a_snapshot(cluster, ceiling_file, tmp_path) -> None:
    """The snapshot kept what the cluster broke."""
    user, place = ceiling_file
    assert cluster.apply(staged(cluster, user, "60MB/s")).ok
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    for one in (place, EXAMPLE):
        live = kn.check(one, cluster).to_arrow()
        assert kn.check(one, cluster.snapshot()).to_arrow().equals(live)
    assert breaches(kn.check(place, cluster)) == [(f"user={user}", RATE, "60000000")]
    lower = staged(cluster, user, "55MB/s")
    assert states(kn.check(place, lower)) == states(kn.check(place, lower, on=cluster)) == ["as before"]
    assert cluster.apply(lower, policy=place).ok
