"""Limits of one cluster on another: totals stay over another number of brokers, principals have other names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.cluster.diff import compare_totals, diff
from kadmin_nb.declared import Declared, Migration, read
from kadmin_nb.model.grammar import format_word
from kadmin_nb.model.quota_keys import QUOTA_KEYS, on_all_brokers

BROKERS = st.integers(1, 1000)


@given(st.sampled_from([key.name for key in QUOTA_KEYS]), st.floats(0.001, 1e12), BROKERS, BROKERS)
def test_totals_stay(key, value, before, after):
    """Six brokers became twelve, and everybody could send twice as much."""
    there = Migration((before, after)).value(key, value)
    assert on_all_brokers(key, there, after) == pytest.approx(on_all_brokers(key, value, before))


def old(user: str) -> Declared:
    """What a cluster of six brokers holds."""
    whose = format_word("user", user)
    return read(
        f"""kadmin: 1
quotas:
  {whose}: {{producer_byte_rate: 6MB/s, controller_mutation_rate: 10}}
  {whose} client-id=app: {{consumer_byte_rate: 3MB/s}}
""",
        "old.yaml",
    )


@pytest.mark.broker
def test_a_plan_of_the_moved_file_and_the_proof(cluster, unique):
    """The limits were copied by hand, and somebody forgot to halve one of them."""
    user, new = unique("CN=app,O=team"), unique("app")
    migration = Migration((6, 12), {user: new}, {"app": "app-v2"})
    clients = pa.table({"user": [user, user], "client_id": ["app", "other"]})
    missing = compare_totals(old(user), cluster, clients, migration).to_arrow().to_pylist()
    assert {row["state"] for row in missing} == {"higher", "same"}
    plan = cluster.plan_from(old(user).moved(migration), any_cluster=True)
    assert {(str(change.resource), change.key): change.after for change in plan.changes} == {
        (f"user={new}", "producer_byte_rate"): "3000000",
        (f"user={new}", "controller_mutation_rate"): "10",
        (f"user={new} client-id=app-v2", "consumer_byte_rate"): "1500000",
    }
    cluster.apply(plan).raise_for_errors()
    proof = compare_totals(old(user), cluster, clients, migration)
    assert {row["state"] for row in proof.to_arrow().to_pylist()} == {"same"}
    assert "all 8 the same" in repr(proof)
    still = diff(old(user), cluster, migration=migration).to_arrow().to_pylist()
    assert not [row for row in still if new in row["resource"]]


def test_two_names_that_become_one():
    """One of the two limits was lost."""
    text = "kadmin: 1\nquotas:\n  user=a: {producer_byte_rate: 1}\n  user=b: {producer_byte_rate: 2}\n"
    with pytest.raises(kn.Invalid, match="two entities become user=b"):
        read(text).moved(Migration(users={"a": "b"}))


WRONG = {
    "[groups]\na = 'b'\n": "groups",
    "users = 3\n": "users",
    "[users]\na = 3\n": "new name of a",
    "[users]\na = ''\n": "new name of a",
    "[users\n": "is not TOML",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_mapping_is_one_line(text, tmp_path: Path):
    """AttributeError: 'int' object has no attribute 'items'."""
    (tmp_path / "names.toml").write_text(text)
    with pytest.raises(kn.UsageError, match=WRONG[text]) as refused:
        Migration.read(mapping=str(tmp_path / "names.toml"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("scale", ["6", "6:", "0:3", "6:12:3", "six:twelve", "-6:12"])
def test_what_is_no_scale(scale):
    """ZeroDivisionError."""
    with pytest.raises(kn.UsageError, match="two numbers of brokers"):
        Migration.read(scale=scale)
