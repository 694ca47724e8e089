"""One line for many: a pattern is matched when it is staged, and no pattern reaches a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

import kadmin_nb as kn
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans import change_lines
from kadmin_nb.plans.change_lines import Matches

QUOTAS = [
    "user=alice",
    "user=bob",
    "user=<default>",
    "user=alice client-id=app-1",
    "user=bob client-id=app-2",
    "client-id=app-1",
]
TOPICS = ["__consumer_offsets", "orders", "team-3.a", "team-3.b", "team-4.a", "{team}", "a b"]


class Existing:
    """A cluster with these quotas and topics."""

    def __init__(self, topics: Sequence[str] = TOPICS) -> None:
        self.topics = topics

    def names(self, word: str) -> Iterable[str]:
        return {"topic": self.topics, "broker": ["1", "2"]}[word]

    def entities(self, kinds: Sequence[str]) -> Iterable[Entity]:
        return [one for one in map(Entity.parse, QUOTAS) if {kind for kind, _ in one.parts} == {*kinds}]


def staged(text: str, *, every: bool = False, topics: Sequence[str] = TOPICS) -> list[tuple[str, str, str | None]]:
    edits = change_lines.edits(text, matches=Matches(Existing(topics), every))
    return [(str(edit.resource), edit.key, edit.note) for edit in edits]


SOME = "one of 2 that match topic~=team-3.*"
MATCHING = {
    "topics": ("set retention.ms=7d topic~=team-3.*", ["topic=team-3.a", "topic=team-3.b"], SOME),
    "a reset": ("reset retention.ms topic~=team-3.*", ["topic=team-3.a", "topic=team-3.b"], SOME),
    "a name too": ("set a=1 topic=new topic~=*4*", ["topic=new", "topic=team-4.a"], "one of 2 that match topic~=*4*"),
    "one alone": ("append cleanup.policy=compact topic~=ord*", ["topic=orders"], "matches topic~=ord*"),
    "a name with a space": ("set retention.ms=7d topic~='a *'", ["topic='a b'"], "matches topic~='a *'"),
    "users": ("set producer_byte_rate=5MB/s user~=*", ["user=alice", "user=bob"], "one of 2 that match user~=*"),
    "a user's clients": (
        "remove producer_byte_rate user=alice client-id~=app-*", ["user=alice client-id=app-1"],
        "matches client-id~=app-*",
    ),
    "client-ids": ("set producer_byte_rate=5MB/s client-id~=app-?", ["client-id=app-1"], "matches client-id~=app-?"),
    "brokers": ("set log.cleaner.threads=2 broker~=*", ["broker=1", "broker=2"], "one of 2 that match broker~=*"),
    "no pattern": ("set retention.ms=7d topic==team-3.*", ["topic=team-3.*"], None),
}  # fmt: skip


@pytest.mark.parametrize(("line", "resources", "note"), MATCHING.values(), ids=MATCHING)
def test_each_match_is_a_row_of_its_own(line, resources, note):
    """topic~=team-3.* names no single resource, it said, and I had 5,000 topics."""
    assert [(resource, text) for resource, _, text in staged(line)] == [(resource, note) for resource in resources]


MANY = [f"t{number:03}" for number in range(101)]
UNCONFIRMED = {
    "many": ("set a=1 topic~=t*", MANY, 101, "topic~=t* matches 101: topic=t000, topic=t001, topic=t002, …"),
    "internal": ("set a=1 topic~=*off*", TOPICS, 1, "topic~=*off* matches 1: topic=__consumer_offsets"),
    "any user": (
        "remove producer_byte_rate user=<any>", TOPICS, 3,
        "user=<any> matches 3: user=<default>, user=alice, user=bob",
    ),
    "any topic": ("set retention.ms=7d topic=<any>", ["orders"], 1, "topic=<any> matches 1: topic=orders"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "topics", "count", "said"), UNCONFIRMED.values(), ids=UNCONFIRMED)
def test_what_reaches_far_is_confirmed(line, topics, count, said):
    """The star took the offsets' topic along."""
    with pytest.raises(kn.UsageError) as refused:
        staged(line, topics=topics)
    assert str(refused.value) == f"line 1: {said}"
    assert "every=True" in str(refused.value.hint)
    assert len(staged(line, every=True, topics=topics)) == count


REFUSED = {
    "nothing matches": ("set retention.ms=7d topic~=team-9*", kn.NotFound, "nothing matches topic~=team-9*"),
    "a user twice": ("remove x user~=a* user~=b*", kn.UsageError, "user~=a* names more than one entity"),
    "two types": ("set a=1 topic~=a* broker=1", kn.UsageError, "resources of one type"),
    "a client config": ("set acks=1 user~=a*", kn.KadminError, "user"),
    "a credential": ("scram set SCRAM-SHA-512=env:X user~=a*", kn.KadminError, "user"),
    "a value": ("set retention.ms~=7d topic=orders", kn.UsageError, "retention.ms has a pattern"),
    "braces": ("set retention.ms=7d topic={x}", kn.UsageError, "is not expanded here"),
}


@pytest.mark.parametrize(("line", "kind", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant(line, kind, said):
    """It took the credential's user for a pattern of those with quotas."""
    with pytest.raises(kind) as refused:
        staged(line)
    assert said in str(refused.value)


def test_the_cluster_is_asked_once_for_all_lines_of_a_cell():
    """A file of a hundred patterns listed the topics a hundred times, and not always the same."""
    asked: list[str] = []

    class Counted(Existing):
        def names(self, word: str) -> Iterable[str]:
            asked.append(word)
            return super().names(word)

    text = "set retention.ms=7d topic~=team-3.*\nset retention.ms=8d topic~=team-4.*"
    assert len(change_lines.edits(text, matches=Matches(Counted()))) == 3
    assert asked == ["topic"]


def test_a_stage_without_a_cluster_takes_no_pattern():
    """There is nothing to match."""
    with pytest.raises(kn.UsageError, match="names no single resource"):
        change_lines.edits("set retention.ms=7d topic~=team-*")


@pytest.mark.broker
def test_a_stage_takes_what_is_on_its_cluster(cluster, kafka, make_topic, unique):
    """Each of my topics needed a line."""
    stem = unique("team")
    topics = sorted(make_topic(kafka, f"{stem}.{name}") for name in "ab")
    stage = cluster.new_stage()
    stage.add(f"set retention.ms=7d topic~={stem}.*\nset producer_byte_rate=5MB/s user={stem}")
    assert stage.to_arrow()["resource"].to_pylist() == [*(f"topic={name}" for name in topics), f"user={stem}"]
    assert cluster.apply(stage.plan()).ok
    other = cluster.new_stage()
    other.add(f"remove producer_byte_rate user~={stem[:-1]}*\nreset retention.ms topic~={stem}.*")
    assert f"user={stem}" in other.to_arrow()["resource"].to_pylist()
    other = cluster.new_stage()
    other.add(f"remove producer_byte_rate user~={stem}\nreset retention.ms topic~={stem}.*")
    plan = other.plan()
    assert [(row["op"], row["resource"]) for row in plan.to_arrow().to_pylist()] == [
        ("delete", f"user={stem}"), *(("delete", f"topic={name}") for name in topics),
    ]  # fmt: skip
    assert "~=" not in "".join(str(edit.resource) for edit in plan.changes)
    assert cluster.apply(plan).ok
