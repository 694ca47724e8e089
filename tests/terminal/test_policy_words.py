"""`policy check` as it is typed, in a shell and by CI; and `--policy` on the verbs that plan and apply."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kadmin_nb as kn
from tests.waiting import eventually

pytestmark = pytest.mark.broker

RULE = """
[[rule]]
name = "{name}"
reason = "ask the <platform> team"
severity = "{severity}"
frame = "QUOTAS"
where = {{ user = "{user}", key = "producer_byte_rate" }}
must = {{ value = {{ at_most = "50MB/s" }} }}
"""


@pytest.fixture
def high(cluster: kn.Cluster, unique: Callable[[str], str]) -> str:
    """A user that has 60 MB/s."""
    user, stage = unique("user"), cluster.stage()
    stage.set_quota("producer_byte_rate", "60MB/s", user=user)
    cluster.apply(stage.plan()).raise_for_errors()
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    return user


def written(folder: Path, user: str, *, severity: str = "refuse", name: str = "ceiling") -> str:
    """A policy about this user, in a file."""
    place = folder / f"{name}.toml"
    place.write_text(RULE.format(user=user, severity=severity, name=name))
    return str(place)


def test_ci_sees_it_in_the_exit_code(live, kadmin, high, cluster, tmp_path):
    """The job was green, and the table in its log red."""
    policy = written(tmp_path, high)
    said = live("policy", "check", policy)
    assert (said.code, "ask the <platform> team" in said.out) == (1, True)
    assert "ceiling: user=" in said.err
    assert live("policy", "check", policy, "--detailed-exitcode").code == 3
    assert live("policy", "check", written(tmp_path, high, severity="warn", name="w")).code == 0
    assert live("policy", "check", written(tmp_path, "nobody", name="n"), "--detailed-exitcode").code == 0
    rows = json.loads(live("policy", "check", policy, "--json").out)
    assert [(row["rule"], row["ok"], row["value"]) for row in rows] == [("ceiling", False, "60000000")]
    saved = str(cluster.snapshot().save(tmp_path / "s.parquet"))
    assert kadmin("policy", "check", policy, "--snapshot", saved).code == 1


def test_ci_gets_its_xml(live, high, tmp_path):
    """The report had a `<` in it, and CI showed none."""
    place = tmp_path / "policy.xml"
    assert live("policy", "check", written(tmp_path, high), "--junit", str(place)).code == 1
    suite = ElementTree.parse(place).getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("1", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure.attrib["message"] == "ask the <platform> team"
    assert "60 MB/s" in failure.text
    live("policy", "check", written(tmp_path, high, severity="warn"), "--junit", str(place))
    suite = ElementTree.parse(place).getroot()
    assert suite.attrib["failures"] == "0"
    assert "60 MB/s" in suite.find("testcase/system-out").text
    assert "cannot be written" in live("policy", "check", written(tmp_path, high), "--junit", str(tmp_path)).err


def test_a_verb_that_plans_or_applies_is_refused(live, cluster, unique, tmp_path):
    """--policy was typed at the verb that planned, and the one that applied did not know it."""
    user = unique("user")
    policy, line = written(tmp_path, user), ("quota", "set", "producer_byte_rate=60MB/s", f"user={user}")
    for more in ((), ("--apply",), ("--save", str(tmp_path / "no.json"))):
        said = live(*line, "--policy", policy, *more)
        assert (said.code, "breaks ceiling" in said.err, "ask the <platform> team" in said.err) == (5, True, True)
    assert not (tmp_path / "no.json").exists()
    saved = str(tmp_path / "p.json")
    assert live(*line, "--save", saved).code == 0
    assert live("plan", "apply", saved, "--policy", policy).code == 5
    (tmp_path / "lines.txt").write_text(f"set producer_byte_rate=60MB/s user={user}\n")
    assert live("plan", "-f", str(tmp_path / "lines.txt"), "--policy", policy).code == 5
    assert live("policy", "check", policy, "--plan", saved).code == 1
    assert not len(cluster.quotas.describe(user=user))
    assert live("plan", "apply", saved).code == 0
    assert live("plan", "apply", saved, "--policy", policy).code == 0  # it breaks nothing that is not so already
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)


def test_what_refuses_nothing_is_said(live, high, unique, tmp_path):
    """The rule only warned, and nobody ever saw it."""
    line = ("quota", "set", "producer_byte_rate=58MB/s", f"user={high}")
    for severity, says in (("refuse", "as without the plan"), ("warn", "ask the <platform> team")):
        said = live(*line, "--policy", written(tmp_path, high, severity=severity, name=severity))
        assert (said.code, says in said.err, f"policy: {severity}: user={high}" in said.err) == (0, True, True)
    said = live(*line, "--policy", written(tmp_path, unique("user")))
    assert (said.code, said.err) == (0, "")


def test_a_profile_has_a_policy(kadmin, kafka, high, tmp_path, monkeypatch):
    """The policy was in force for whoever remembered to type it."""
    written(tmp_path, high)
    config = tmp_path / "kadmin-nb.toml"
    config.write_text(f'[profiles.dev]\nbootstrap = "{kafka.bootstrap}"\npolicy = "ceiling.toml"\n')
    monkeypatch.setenv("KADMIN_CONFIG", str(config))
    assert kadmin("policy", "check", "-c", "dev").code == 1
    line = ("quota", "set", f"user={high}", "-c", "dev")
    said = kadmin(*line, "producer_byte_rate=70MB/s", "--apply")
    assert (said.code, "breaks ceiling" in said.err) == (5, True)
    assert kadmin(*line, "producer_byte_rate=55MB/s").code == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("check", "--as-of", "1h ago"), 2, "--as-of needs --history"),
        (("check", "p.toml", "--history", "w", "--plan", "x"), 2, "--history cannot be combined"),
        (("check", "--snapshot", "s.parquet"), 2, "a policy is required"),
        (("show", "gone.toml"), 1, "gone.toml is not there, so it cannot be a policy"),
        (("chek",), 2, "Did you mean check?"),
    ],
)
def test_what_cannot_be_meant_is_one_line(kadmin, words, code, says):
    """The policy was checked, and nobody knew against what."""
    said = kadmin("policy", *words)
    assert (said.code, says in said.err) == (code, True), said.err


def test_a_whole_history_is_judged_cluster_by_cluster(kadmin, cluster, high, tmp_path):
    """One of forty clusters broke the rule, and the report named none."""
    pytest.importorskip("deltalake")
    kn.open_history(tmp_path / "lake").record(cluster.snapshot())
    said = kadmin("policy", "check", written(tmp_path, high), "--history", str(tmp_path / "lake"), "--json")
    assert said.code == 1
    assert [(row["cluster_id"], row["rule"]) for row in json.loads(said.out)] == [(cluster.id, "ceiling")]
    early = kadmin("policy", "check", written(tmp_path, high), "--history", str(tmp_path / "lake"), "--as-of", "9d ago")
    assert (early.code, "snapshot" in early.err) == (1, True)


def test_the_rules_can_be_read(kadmin, high, tmp_path):
    """Nobody could say which rules there were."""
    assert "ceiling: ask the <platform> team" in kadmin("policy", "show", written(tmp_path, high)).out
