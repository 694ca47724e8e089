"""The least edits that lead from what a cluster holds to what a file says."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from tests.declared.snapshots import held

BEGIN = "kadmin: 1\n"
ORDERS = "configs:\n  topic=orders:\n"
HELD = held(
    {
        "user=alice": {"producer_byte_rate": 5e6, "consumer_byte_rate": 1e6},
        "user=bob": {"producer_byte_rate": 2e6, "new_rate": 7.0},
        "group=g user=carol": {"producer_byte_rate": 3.0},
    },
    {
        "topic=orders": {"retention.ms": "1000", "cleanup.policy": "compact"},
        "topic=__consumer_offsets": {"cleanup.policy": "compact"},
        "broker=1": {"ssl.key.password": None, "background.threads": "11"},
        "group=g": {"consumer.session.timeout.ms": "47000"},
    },
)


def edits(text: str, **options) -> list[tuple]:
    found = kn.state.read(BEGIN + text, "c.yaml").difference(HELD, **options)
    return [(edit.op, str(edit.resource), edit.key, edit.value) for edit in found]


def test_what_is_already_so_is_not_planned():
    """A plan of 4,000 rows, of which one was a change."""
    text = "quotas:\n  user=alice: {producer_byte_rate: 5MB/s}\n  user=bob: {producer_byte_rate: 2_000_001}\n"
    assert edits(text) == [("set", "user=bob", "producer_byte_rate", "2000001")]


def test_what_the_file_does_not_mention_stays():
    """The file had one user in it, and the other nine hundred lost their quotas."""
    assert edits("quotas:\n  user=dave: {producer_byte_rate: 1}\n") == [("set", "user=dave", "producer_byte_rate", "1")]
    assert edits("quotas: {}\nconfigs: {}\n") == []


def test_prune_removes_by_name_what_is_not_mentioned():
    """Last year's throttles were never taken away."""
    text = "quotas:\n  user=alice: {producer_byte_rate: 5000000}\n"
    assert edits(text, prune=True) == [
        ("delete", "user=alice", "consumer_byte_rate", None),
        ("delete", "user=bob", "producer_byte_rate", None),
    ]
    assert edits("configs:\n  topic=orders: {retention.ms: 1000}\n", prune=True) == [
        ("delete", "topic=orders", "cleanup.policy", None)
    ]


def test_prune_keeps_to_the_kinds_that_the_file_speaks_of():
    """A file of quotas pruned the topics."""
    assert edits("kinds: [group]\nconfigs: {}\n", prune=True) == [
        ("delete", "group=g", "consumer.session.timeout.ms", None)
    ]
    assert edits("", prune=True) == []


def test_prune_leaves_secrets_and_what_nobody_knows():
    """A key of a newer Kafka, set by somebody who knew, was gone; so was the broker's password."""
    found = kn.state.read(f"{BEGIN}kinds: [quotas, configs]\nquotas: {{}}\nconfigs: {{}}\n", "c.yaml").difference(
        HELD, prune=True
    )
    left = {(str(resource), key): why for (resource, key), why in found.left.items()}
    assert left == {
        ("user=bob", "new_rate"): "new_rate is not known here",
        ("user=carol group=g", "producer_byte_rate"): "group is not known here",
        ("broker=1", "ssl.key.password"): "a secret",
        ("topic=__consumer_offsets", "cleanup.policy"): "an internal topic of Kafka",
    }
    assert str(found).startswith("c.yaml: 7 to remove (--prune), 4 left as is (")
    named = kn.state.read(f"{BEGIN}kinds: [quotas]\nquotas: {{}}\n").difference(
        HELD, prune=True, allow_unknown=["group", "new_rate"]
    )
    assert {str(edit.resource) for edit in named} == {"user=alice", "user=bob", "user=carol group=g"}
    assert not named.left


def test_nothing_is_pruned_on_a_cluster_that_could_not_be_read():
    """The right to see topics was lost, and the plan removed all that was left."""
    half = held(more=({"resource_type": "TOPIC", "resource_name": "x", "error": "TOPIC_AUTHORIZATION_FAILED"},))
    declared = kn.state.read(f"{BEGIN}kinds: [topic]\nconfigs: {{}}\n")
    assert len(declared.difference(half)) == 0
    told = "topic=x cannot be read: TOPIC_AUTHORIZATION_FAILED, so nothing is pruned"
    with pytest.raises(kn.PlanRefused, match=told):
        declared.difference(half, prune=True)
    with pytest.raises(kn.PlanRefused, match="could not be read in full"):
        declared.difference(held(complete=False), prune=True)
    assert len(kn.state.read(f"{BEGIN}quotas: {{}}\n").difference(half, prune=True)) == 0


def test_what_the_cluster_was_not_asked_for_is_not_pruned():
    """Groups cannot be listed before Kafka 4.1, and looked like none."""
    older = held({"user=alice": {"producer_byte_rate": 1}}, scopes=["QUOTAS", "TOPIC"])
    declared = kn.state.read(f"{BEGIN}configs:\n  group=g: {{consumer.session.timeout.ms: 1}}\n")
    assert [edit.op for edit in declared.difference(older, prune=True)] == ["set"]


def test_a_secret_stays_and_a_reference_is_set():
    """The export was planned again, and the password of every broker was [secure]."""
    assert edits('configs:\n  broker=1: {ssl.key.password: "[secure]"}\n', prune=True)[0][0] == "delete"
    assert edits('configs:\n  broker=1: {ssl.key.password: "[secure]"}\n') == []
    assert edits('configs:\n  broker=1: {ssl.key.password: "env:KEY"}\n') == [
        ("set", "broker=1", "ssl.key.password", "env:KEY")
    ]


def test_a_file_of_another_cluster_is_taken_when_told():
    """What was tried in staging could not be planned for production."""
    declared = kn.state.read(f"{BEGIN}cluster_id: staging\nquotas:\n  user=alice: {{producer_byte_rate: 1}}\n")
    with pytest.raises(kn.errors.WrongCluster):
        declared.difference(HELD)
    assert len(declared.difference(HELD, any_cluster=True)) == 1


def test_texts_mean_nothing_by_themselves():
    """`on` was sent as true, and 0777 as 511."""
    values = {
        "a": "on",
        "b": "0777",
        "c": "1_000",
        "d": '"null"',
        "e": "12:30",
        "f": "~x",
        "g": '""',
        "h": "1e3",
        "i": "yes",
    }
    text = ORDERS + "".join(f"    {key}: {value}\n" for key, value in values.items())
    assert [edit[3] for edit in edits(text)] == ["on", "0777", "1_000", "null", "12:30", "~x", "", "1e3", "yes"]


def test_the_level_of_a_logger_is_set_and_in_no_snapshot():
    """A file with a logger in it differed from every cluster."""
    declared = kn.state.read(f"{BEGIN}configs:\n  broker-logger=1: {{kafka.request.logger: DEBUG}}\n")
    assert [edit.value for edit in declared.difference(HELD, prune=True)] == ["DEBUG"]
    assert len(declared.snapshot().configs) == 0


def test_each_edit_says_where_the_file_wants_it():
    """The broker refused row 212, and nobody knew which line that was."""
    found = kn.state.read(f"{BEGIN}{ORDERS}    retention.ms: 5\n", "envs/prod.yaml").difference(HELD)
    assert [edit.note for edit in found] == ["line 4 of prod.yaml"]


def test_a_nan_that_a_broker_holds_is_not_touched():
    """Kafka stores NaN; the export of it could not be planned again."""
    odd = held({"user=a": {"producer_byte_rate": float("nan"), "request_percentage": float("inf")}})
    declared = kn.state.read(kn.state.export(odd))
    assert len(declared.difference(odd, prune=True)) == 0


def test_a_config_may_have_a_unit_as_on_the_command_line():
    """`retention.ms: 7d` was refused, and as a change of the terminal it works."""
    text = f"{ORDERS}    retention.ms: 7d\n    segment.bytes: 1GiB\n    cleanup.policy: compact\n"
    assert edits(text) == [
        ("set", "topic=orders", "retention.ms", "604800000"),
        ("set", "topic=orders", "segment.bytes", "1073741824"),
    ]
    assert edits(f"{ORDERS}    retention.ms: 1s\n    cleanup.policy: compact\n") == []
    with pytest.raises(kn.Invalid, match=r"c\.yaml: line 4, column 19: retention\.ms cannot be 0\.5ms"):
        edits(f"{ORDERS}    retention.ms: 0.5ms\n")


def test_what_kafka_sets_by_itself_is_kept_and_named():
    """`--prune` on a new Kafka 4 ended in *cannot be removed while ELR is enabled*, and nothing else was pruned."""
    by_itself = {"min.insync.replicas": "1", "background.threads": "11"}
    new = held(None, {"broker=<default>": by_itself, "broker=1": {"min.insync.replicas": "2"}})
    file = kn.state.read(f"{BEGIN}kinds: [broker]\nconfigs:\n  broker=<default>: {{log.retention.ms: 3d}}\n", "c.yaml")
    difference = file.difference(new, prune=True)
    assert [(edit.op, str(edit.resource), edit.key) for edit in difference] == [
        ("set", "broker=<default>", "log.retention.ms"),
        ("delete", "broker=<default>", "background.threads"),
        ("delete", "broker=1", "min.insync.replicas"),
    ]
    assert "1 left as is (min.insync.replicas of broker=<default>: Kafka 4.1 and newer sets it by itself" in str(
        difference
    )


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("'user=CN=app 1,OU=payments,O=Shop'", """'user="CN=app 1,OU=payments,O=Shop"'"""),
        ("user=CN=app, OU=payments, O=Shop", """'user="CN=app, OU=payments, O=Shop"'"""),
        ("user=Jane Doe client-id=my app", """'user="Jane Doe" client-id="my app"'"""),
    ],
)
def test_a_name_with_spaces_needs_quotes_within_the_key(key, meant):
    """`unknown entity type 1,OU`, to be confirmed with --allow-unknown: it is the name of a certificate."""
    limit = " {producer_byte_rate: 2000}\n"
    with pytest.raises(kn.UsageError, match=r"c\.yaml: line 3, column 3: .* needs quotes") as refused:
        edits(f"quotas:\n  {key}:{limit}")
    assert refused.value.hint.startswith("For example 'user=\"Jane Doe\"', with both kinds of quotes")
    ((op, entity, *_),) = edits(f"quotas:\n  {meant}:{limit}")
    assert (op, kn.state.read(f"{BEGIN}quotas:\n  {meant}:{limit}").entries[0].resource.names[0] in entity) == (
        "set",
        True,
    )


def test_a_section_that_was_cut_out_is_not_pruned():
    """The file still named the topics, their section had gone, and the plan removed all that was set on them."""
    cut = kn.state.read(f"{BEGIN}kinds: [quotas, topic]\nquotas: {{}}\n")
    assert cut.kinds == ("quotas",)
    assert not [edit for edit in cut.difference(HELD, prune=True) if edit.resource.kind == "config"]
