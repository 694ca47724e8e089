"""What rules say of a snapshot: the four that every team wants first, and what the same few words say besides."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.snapshots import snapshot
from kadmin_nb.model.resources import Resource
from kadmin_nb.policy.policy_answer import write_report, write_sarif
from tests.policy.judged_snapshots import MB, breaches, configs, held, pairs, policy, quotas, states

UNLIMITED = """
frame = "EFFECTIVE"
where = { key = "producer_byte_rate" }
unless = [{ user = "admin" }, { user = { like = "mirror-*" } }]
must = { value = { set = true } }
"""
SUM = """
frame = "EFFECTIVE"
where = { key = "producer_byte_rate" }
unless = { user = "admin" }
sum = { at_most = "80% of capacity" }
"""
DEFAULT_USER = """
frame = "QUOTAS"
where = { level = "DEFAULT_USER" }
while = { level = ["CLIENT", "DEFAULT_CLIENT"] }
forbid = true
"""
THROTTLE = """
frame = "FINDINGS"
where = { finding = ["leftover", "throttle"] }
forbid = true
"""
RATE = "producer_byte_rate"


def test_no_client_is_unlimited_but_these():
    """A job nobody had heard of took the whole line."""
    clients = pairs(("alice", "app"), ("bob", None), ("admin", "x"), ("mirror-1", "x"))
    seen = held(quotas(("user=alice", RATE, MB)))
    answer = policy(UNLIMITED).check(seen, pairs=clients)
    assert breaches(answer) == [('user=bob client-id=""', RATE, "unlimited")]
    assert not answer.ok
    assert policy(UNLIMITED).check(held(quotas(("user=<default>", RATE, MB))), pairs=clients).ok


def test_without_clients_all_that_quotas_tell_apart_count():
    """We had no list of clients, and the rule said that all was well."""
    alice = held(quotas(("user=alice client-id=<default>", RATE, MB), ("client-id=app", RATE, MB)))
    assert [whose for whose, _, _ in breaches(policy(UNLIMITED).check(alice))] == [
        'user=<any other> client-id=""',
        "user=<any other> client-id=<any other>",
        'user=alice client-id=""',
    ]
    assert policy(UNLIMITED).check(held(quotas(("user=<default>", RATE, MB)))).ok


def test_a_client_called_like_our_placeholder_is_itself():
    """Somebody called a client `<any other>`, and the report was about everybody."""
    seen = held(quotas(("user='<any other>'", "consumer_byte_rate", MB)))
    found = [whose for whose, _, _ in breaches(policy(UNLIMITED).check(seen))]
    assert "user='<any other>' client-id=\"\"" in found
    assert 'user=<any other> client-id=""' in found


@pytest.mark.parametrize(
    ("capacities", "broken"),
    [
        (["10MB/s"], []),
        (["5MB/s"], [("broker=<any>", RATE, "5000000")]),
        (["10MB/s", '6MB/s"\nids = [3] #'], [("broker=3", RATE, "5000000")]),
        (["10MB/s", '6MB/s"\ncluster = "fleet-1" #'], [("broker=<any>", RATE, "5000000")]),
        (["5MB/s", '5MB/s"\ncluster = "fleet-2" #', '1GB/s"\ncluster = "fleet-1" #'], []),
    ],
    ids=["fits", "too much", "one broker's", "this cluster's", "another cluster's"],
)
def test_produce_limits_fit_the_capacity_each_bucket_once(capacities, broken):
    """Forty client-ids of one user shared a bucket, and the sum counted it forty times."""
    seen = held(quotas(("user=alice", RATE, 2 * MB), ("user=<default>", RATE, MB), ("client-id=app", RATE, 99 * MB)))
    clients = pairs(
        *(("alice", f"app-{n}") for n in range(40)), ("bob", "x"), ("bob", "y"), ("carol", "x"), ("dan", "")
    )
    top = "\n".join(f'[[brokers]]\nbytes_in = "{rate}"' for rate in capacities)
    assert breaches(policy(SUM, top).check(seen, pairs=clients)) == broken


def test_an_unlimited_client_makes_the_sum_endless():
    """One client had no limit, so the sum of all the others was called fine."""
    seen, line = held(quotas(("user=alice", RATE, MB))), '[[brokers]]\nbytes_in = "1GB/s"'
    assert policy(SUM, line).check(seen, pairs=pairs(("alice", ""), ("admin", ""))).ok
    answer = policy(SUM, line).check(seen, pairs=pairs(("alice", ""), ("bob", "")))
    assert breaches(answer) == [("broker=<any>", RATE, "unlimited")]
    assert "1 client is unlimited" in answer.to_arrow()["message"][0].as_py()


def test_no_default_user_while_client_quotas_exist():
    """A default user was set, and every client-id quota fell silent."""
    both = quotas(("user=<default>", RATE, MB), ("client-id=app", "consumer_byte_rate", MB))
    assert breaches(policy(DEFAULT_USER).check(held(both))) == [("user=<default>", RATE, "1000000")]
    for alone in (quotas(("user=<default>", RATE, MB)), quotas(("client-id=app", RATE, MB))):
        assert states(policy(DEFAULT_USER).check(held(alone))) == ["kept"]


def test_no_throttle_is_left_behind():
    """Replication crept for half a year after a move that took an hour."""
    left = configs(
        ("topic=t", "leader.replication.throttled.replicas", "*"),
        ("broker=1", "follower.replication.throttled.rate", "1000"),
        ("topic=t", "retention.ms", "1000"),
    )
    assert {whose for whose, _, _ in breaches(policy(THROTTLE).check(held(None, left)))} == {"topic=t", "broker=1"}
    assert policy(THROTTLE).check(held()).ok


TOPICS = configs(
    ("topic=prod-a", "min.insync.replicas", "1"),
    ("topic=prod-b", "min.insync.replicas", "2"),
    ("topic=prod-b", "retention.ms", "86400000"),
    ("topic=prod-b", "cleanup.policy", "compact"),
    ("topic=scratch", "min.insync.replicas", "1"),
    ("topic=scratch", "retention.ms", "1000"),
)
OF_PROD = 'frame = "CONFIGS"\nwhere = { resource_type = "TOPIC", resource_name = { like = "prod-*" }'


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        (', key = "min.insync.replicas" }\nmust = { value = { at_least = 2 } }', ["topic=prod-a"]),
        (', key = "min.insync.replicas" }\nmust = { value = 2 }', ["topic=prod-a"]),
        (', key = "min.insync.replicas" }\nunless={resource_name="prod-a"}\nmust = { value = { at_least = 2 } }', []),
        (', key = "retention.ms" }\nmust = { value = { at_least = "7d" } }', ["topic=prod-b"]),
        (', key = "retention.ms" }\nmust = { value = { at_most = "24h" } }', []),
        (', key = "cleanup.policy" }\nmust = { value = ["delete", "compact"] }', []),
        (', key = "cleanup.policy" }\nmust = { value = "delete" }', ["topic=prod-b"]),
        (' }\nrequired = ["retention.ms", "min.insync.replicas"]', ["topic=prod-a"]),
    ],
    ids=["at least", "equal", "with an exception", "in days", "in hours", "one of", "is", "required keys"],
)
def test_a_config_must_be_so(rule, broken):
    """One replica in sync was enough, on the topic that mattered."""
    answer = policy(f"{OF_PROD}{rule}").check(held(None, TOPICS))
    assert [whose for whose, _, _ in breaches(answer)] == broken


def test_a_topic_that_is_named_must_be_there():
    """The one topic that the rule was for had no settings at all, so no row broke it."""
    rule = (
        'frame = "CONFIGS"\nwhere = { resource_type = "TOPIC", resource_name = "orders" }\nrequired = ["retention.ms"]'
    )
    assert breaches(policy(rule).check(held(None, TOPICS))) == [("topic=orders", "retention.ms", None)]


def test_a_topic_without_any_setting_is_seen():
    """The rule was for all topics of production, and the one without any settings kept it."""
    parts = held(None, TOPICS)
    names = [Resource("TOPIC", name) for name in ("prod-b", "prod-x", "prod-skip", "other")]
    seen = snapshot(
        {"quotas": quotas(), "configs": TOPICS},
        cluster_id="c",
        taken_at=parts.taken_at,
        resources=[*names, Resource("BROKER", "")],
    )
    rule = f'{OF_PROD} }}\nunless = {{ resource_name = "prod-skip" }}\nrequired = ["min.insync.replicas"]'
    assert breaches(policy(rule).check(seen)) == [("topic=prod-x", "min.insync.replicas", None)]


def test_a_rule_for_one_cluster_expects_nothing_of_another():
    """Staging was said to lack the topics of production."""
    rule = 'frame = "CONFIGS"\nwhere = { cluster_id = "prod", resource_type = "TOPIC", resource_name = "orders" }\n'
    made = policy(f'{rule}required = ["retention.ms"]')
    assert states(made.check(held(cluster_id="staging"))) == ["kept"]
    assert states(made.check(held(cluster_id="prod"))) == ["broken"]


def test_a_ceiling_for_each_level():
    """A user was given a hundred times what users get."""
    seen = held(quotas(("user=alice", RATE, 60 * MB), ("user=bob", RATE, 50 * MB), ("client-id=app", RATE, 99 * MB)))
    rule = 'frame = "QUOTAS"\nwhere = { level = "USER", key = "producer_byte_rate" }\n'
    assert breaches(policy(f'{rule}must = {{ value = {{ at_most = "50MB/s" }} }}').check(seen)) == [
        ("user=alice", RATE, "60000000")
    ]


def test_no_quota_is_in_vain():
    """A quota was there for a year and never bound anyone."""
    seen = held(quotas(("user=<default>", RATE, MB), ("client-id=app", RATE, MB)))
    rule = 'frame = "TREE"\nwhere = { shadowed_by = { set = true } }\nforbid = true'
    assert breaches(policy(rule).check(seen)) == [("client-id=app", RATE, "1000000")]


def test_a_warning_is_said_and_passes():
    """CI was red for a mere remark."""
    seen = held(quotas(("user=<default>", RATE, MB), ("client-id=app", RATE, MB)))
    answer = policy(f'severity = "warn"\n{DEFAULT_USER}').check(seen)
    assert breaches(answer)
    assert answer.ok
    assert answer.raise_for_errors() is answer


def test_what_could_not_be_read_is_not_kept():
    """A topic that we may not see passed every rule."""
    unread = {"resource_type": "TOPIC", "resource_name": "prod-x", "error": "TOPIC_AUTHORIZATION_FAILED"}
    table = pa.concat_tables([TOPICS, schemas.table(schemas.CONFIGS, [unread])])
    rule = policy(f'{OF_PROD}, key = "retention.ms" }}\nmust = {{ value = {{ at_least = "1h" }} }}')
    answer = rule.check(held(None, table))
    assert [(row["resource"], row["state"], row["ok"]) for row in answer.to_arrow().to_pylist()] == [
        ("topic=prod-x", "unknown", None)
    ]
    assert not answer.ok
    elsewhere = policy(
        'frame = "CONFIGS"\nwhere = { resource_type = "TOPIC", resource_name = "scratch" }\nforbid = true'
    )
    assert "unknown" not in states(elsewhere.check(held(None, table)))


def test_what_was_not_asked_for_is_not_kept():
    """A snapshot of the quotas alone kept every rule about topics."""
    parts = held(quotas(), TOPICS)
    frames, named = {"quotas": parts.quotas.to_arrow(), "configs": configs()}, {"cluster_id": "c"}
    half = snapshot(frames, **named, taken_at=parts.taken_at, scopes=["QUOTAS", "BROKER"])
    assert states(policy(f'{OF_PROD}, key = "x" }}\nforbid = true').check(half)) == ["unknown"]
    assert states(policy(DEFAULT_USER).check(half)) == ["kept"]
    broken_off = snapshot(frames, **named, taken_at=parts.taken_at, complete=False)
    assert states(policy(f'{OF_PROD}, key = "x" }}\nforbid = true').check(broken_off)) == ["unknown"]


def test_a_callback_decides_alone():
    """The sums were of limits that no broker went by."""
    own = configs(("broker=1", "client.quota.callback.class", "com.acme.Ours"))
    assert states(policy(UNLIMITED).check(held(quotas(("user=<default>", RATE, MB)), own))) == ["unknown"]


def test_a_name_is_only_a_name(unique):
    """A user called `*` was taken for everybody."""
    seen = held(quotas(("user=*", RATE, MB), ("user=alice", RATE, MB)))
    rule = 'frame = "QUOTAS"\nwhere = { user = "*" }\nforbid = true'
    assert [whose for whose, _, _ in breaches(policy(rule).check(seen))] == ["user=*"]
    assert len(breaches(policy(rule.replace('"*"', '{ like = "*" }')).check(seen))) == 2


def test_a_hostile_name_stays_text(tmp_path):
    """A user called `<script>` ran in the report, and another one turned the terminal red."""
    seen = held(quotas(("user=<script>alert(1)</script>", RATE, MB), ("user=\x1b[31m\x00", RATE, MB)))
    answer = policy('frame = "QUOTAS"\nforbid = true').check(seen)
    assert "<script>" not in answer._repr_html_()
    assert "\x1b" not in repr(answer)
    write_report(answer.findings, tmp_path / "p.xml", "p")
    text = ElementTree.parse(tmp_path / "p.xml").getroot().find("testcase/failure").text
    assert "user=<script>alert(1)</script>" in text
    assert "user=\\x1b[31m\\x00" in text
    write_sarif(answer.findings, tmp_path / "p.sarif", "rules/our policy.toml")
    (run,) = json.loads((tmp_path / "p.sarif").read_text())["runs"]
    assert [(row["ruleId"], row["level"]) for row in run["results"]] == [("r", "error")] * 2
    assert "user=\\x1b[31m\\x00" in "".join(row["message"]["text"] for row in run["results"])
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "rules/our%20policy.toml"}


def test_the_answer_leads_with_counts_and_reasons():
    """Four hundred rows said that all was well."""
    answer = policy(DEFAULT_USER).check(held(quotas(("user=<default>", RATE, MB), ("client-id=<b>", RATE, MB))))
    assert repr(answer).startswith("1 rule, 1 broken\n")
    assert "because" in repr(answer)
    with pytest.raises(kn.Invalid, match=r"r: user=<default>: producer_byte_rate is set.*; because"):
        answer.raise_for_errors()
    assert repr(policy(DEFAULT_USER).check(held())) == "1 rule, 1 kept"


def test_a_reason_is_told_once():
    """The error was a screen long, and said the same thing for each of forty users."""
    users = quotas(*((f"user=u{n:02}", RATE, MB) for n in range(40)))
    with pytest.raises(kn.Invalid) as told:
        policy('frame = "QUOTAS"\nforbid = true').check(held(users)).raise_for_errors()
    assert str(told.value).endswith(
        "r: user=u00: producer_byte_rate is set: 1 MB/s (wanted not set), and 39 more; because"
    )


def test_the_example_can_be_read_and_says_all_four():
    """The example in the docs was of another version."""
    found = kn.policy.load(Path(__file__).parents[2] / "kadmin-nb.policy.example.toml")
    names = [rule.name for rule in found.rules]
    assert {"nobody-unlimited", "produce-fits-the-capacity", "no-throttle-left-behind"} <= set(names)
    assert "no-default-user-beside-client-ids" in names
    assert found.check(held()).to_arrow().schema.equals(schemas.POLICY.schema)


@pytest.mark.parametrize(("frame", "is_told"), [("QUOTAS", True), ("TREE", True), ("EFFECTIVE", False)])
def test_a_highest_value_of_what_is_stored_says_that_a_missing_limit_keeps_it(frame: str, is_told: bool) -> None:
    """*At most 10MB/s* was kept by the plan that removed the quota, and then nothing limited the client."""
    rule = policy(f'frame = "{frame}"\nwhere = {{ key = "{RATE}" }}\nmust = {{ value = {{ at_most = "10MB/s" }} }}')
    stored = held(quotas(("user=<default>", RATE, MB)))
    (kept,) = rule.check(stored, pairs=pairs(("alice", "app"))).to_arrow()["message"].to_pylist()
    told = '; a client without a quota keeps it, too: frame = "EFFECTIVE" reads what applies'
    assert kept == "kept by 1 row" + told * is_told
    gone = rule.check(held(quotas(("user=<default>", "request_percentage", 5))), pairs=pairs(("alice", "app")))
    assert gone.ok == is_told
