"""`policy check` as it is typed, in a shell and by CI; and a profile's on the verbs that plan and apply."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.waiting import eventually

pytestmark = pytest.mark.broker

RULES = '''import kadmin_nb as kn


@kn.rule(severity="{severity}")
def {name}(quotas):
    """ask the <platform> team"""
    high = quotas[(quotas.user == "{user}") & (quotas.key == "producer_byte_rate") & (quotas.value > 50e6)]
    return high.assign(excess=high.value)
'''


@pytest.fixture
def high(cluster: kn.Cluster, unique: Callable[[str], str]) -> str:
    """A user that has 60 MB/s."""
    user, stage = unique("user"), cluster.new_stage()
    stage.set_quota("producer_byte_rate", "60MB/s", user=user)
    cluster.apply(stage.plan()).raise_for_errors()
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)
    return user


def written(folder: Path, user: str, *, severity: str = "error", name: str = "ceiling") -> str:
    """A policy about this user, in a file."""
    place = folder / f"{name}.py"
    place.write_text(RULES.format(user=user, severity=severity, name=name))
    return str(place)


def test_ci_sees_it_in_the_exit_code(live, kadmin, kafka, high, cluster, tmp_path):
    """The job was green, and the table in its log red."""
    policy = written(tmp_path, high)
    said = live("policy", "check", policy)
    assert (said.code, "ask the <platform> team" in said.out) == (1, True)
    assert "ceiling: user=" in said.err
    assert live("policy", "check", policy, "--detailed-exitcode").code == 3
    assert live("policy", "check", written(tmp_path, high, severity="danger", name="w")).code == 0
    assert live("policy", "check", written(tmp_path, "nobody", name="n"), "--detailed-exitcode").code == 0
    rows = json.loads(live("policy", "check", policy, "--json").out)
    assert [(row["rule"], row["ok"], row["value"]) for row in rows] == [("ceiling", False, "60000000")]
    saved = str(tmp_path / "s.yaml")
    assert live("export", "--out", saved).code == 0
    assert kadmin("policy", "check", policy, saved).code == 1
    assert kadmin("policy", "check", policy, kafka.bootstrap).code == 1


@pytest.fixture
def under(kadmin, kafka, tmp_path, monkeypatch) -> Callable:
    """Type a line on a profile that has this policy."""

    def under(policy: str, *words: str) -> object:
        config = tmp_path / "kadmin-nb.toml"
        config.write_text(f'[profiles.dev]\nbootstrap = "{kafka.bootstrap}"\npolicy = "{policy}"\n')
        monkeypatch.setenv("KADMIN_CONFIG", str(config))
        return kadmin(*words, "--cluster", "dev")

    return under


def test_a_verb_that_plans_or_applies_is_refused(live, under, cluster, unique, tmp_path):
    """The verb that planned was refused, and the one that applied did not know the policy."""
    user = unique("user")
    policy, line = written(tmp_path, user), ("quota", "set", "producer_byte_rate=60MB/s", f"user={user}")
    for more in ((), ("--apply",), ("--save", str(tmp_path / "no.json"))):
        said = under(policy, *line, *more)
        assert (said.code, "breaks ceiling" in said.err, "ask the <platform> team" in said.err) == (5, True, True)
    assert not (tmp_path / "no.json").exists()
    saved = str(tmp_path / "p.json")
    assert live(*line, "--save", saved).code == 0
    assert under(policy, "plan", "apply", saved).code == 5
    (tmp_path / "lines.txt").write_text(f"set producer_byte_rate=60MB/s user={user}\n")
    assert under(policy, "plan", "-f", str(tmp_path / "lines.txt")).code == 5
    assert live("policy", "check", policy, saved).code == 1
    assert not len(cluster.quotas.describe(user=user))
    assert live("plan", "apply", saved).code == 0
    assert under(policy, "plan", "apply", saved).code == 0  # it breaks nothing that is not so already
    eventually(lambda: len(cluster.quotas.describe(user=user)), 1)


def test_what_refuses_nothing_is_said(under, high, unique, tmp_path):
    """The rule only warned, and nobody ever saw it."""
    line = ("quota", "set", "producer_byte_rate=58MB/s", f"user={high}")
    said = under(written(tmp_path, high), *line)
    assert (said.code, "as without the plan" in said.err, f"policy: ceiling: user={high}" in said.err) == (
        0,
        True,
        True,
    )
    line = ("quota", "set", "producer_byte_rate=62MB/s", f"user={high}")
    danger = written(tmp_path, high, severity="danger", name="danger")
    said = under(danger, *line)
    assert (said.code, f"policy: danger: user={high}" in said.err) == (0, True)
    said = under(danger, *line, "--apply")
    row = f"producer_byte_rate user={high}"
    assert (said.code, f"Dangerous: user={high} " in said.err, f"--allow '{row}'" in said.err) == (5, True, True)
    assert under(danger, *line, "--apply", "--allow", row, "--reason", "meant").code == 0
    said = under(written(tmp_path, unique("user")), *line)
    assert (said.code, said.err) == (0, "")


def test_a_profile_has_a_policy(under, kadmin, high, tmp_path):
    """The policy was in force for whoever remembered to type it."""
    policy = written(tmp_path, high)
    line = ("quota", "set", f"user={high}")
    said = under("ceiling.py", *line, "producer_byte_rate=70MB/s", "--apply")
    assert (said.code, "breaks ceiling" in said.err) == (5, True)
    assert kadmin("policy", "check", policy, "dev").code == 1
    assert kadmin(*line, "-c", "dev", "producer_byte_rate=55MB/s").code == 0


def test_a_policy_that_lies_in_a_folder_is_not_run(live, unique, tmp_path, monkeypatch):
    """I went into a folder that I had unpacked, and its policies.py ran."""
    monkeypatch.chdir(tmp_path)
    for name in ("policies.py", "kadmin-nb.policies.py"):
        (tmp_path / name).write_text("raise SystemExit('it ran')\n")
    said = live("quota", "set", "producer_byte_rate=60MB/s", f"user={unique('user')}")
    assert (said.code, "it ran" in said.err) == (0, False)
    said = live("policy", "check", "policies.py")
    assert (said.code, "policies.py:1: SystemExit: it ran" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("check",), 2, "POLICIES"),
        (("check", "gone.py", "prod"), 1, "gone.py is not there, so it cannot be a policy"),
        (("chek",), 2, "Did you mean check?"),
    ],
)
def test_what_cannot_be_meant_is_one_line(kadmin, words, code, says):
    """The policy was checked, and nobody knew against what."""
    said = kadmin("policy", *words)
    assert (said.code, says in said.err) == (code, True), said.err
