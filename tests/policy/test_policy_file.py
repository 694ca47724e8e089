"""A policy that cannot be meant is one clear line: the file, the line, the rule, the nearest word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.policy import load
from kadmin_nb.policy.reader import read
from tests.policy.judged_snapshots import held, policy, quotas

GOOD = 'name = "one"\nreason = "why"\nframe = "QUOTAS"\nforbid = true'


def rule(**lines: str) -> str:
    """A policy of one good rule, some of its lines replaced, added or (empty) taken out."""
    said = dict(line.split(" = ", 1) for line in GOOD.splitlines()) | lines
    return "[[rule]]\n" + "\n".join(f"{word} = {text}" for word, text in said.items() if text)


OF_TOPICS = {"frame": '"CONFIGS"', "forbid": ""}
OF_PRODUCE = {"frame": '"EFFECTIVE"', "where": '{ key = "producer_byte_rate" }', "forbid": ""}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (rule(where='{ usr = "x" }'), "p.toml:6: rule one: usr is not a column of QUOTAS Hint: Did you mean user?"),
        (rule(frame='"QUOTA"'), "p.toml:4: rule one: frame cannot be QUOTA Hint: Did you mean QUOTAS?"),
        (rule(where='{ level = "USR" }'), "p.toml:6: rule one: level cannot be USR Hint: Did you mean USER?"),
        (
            rule(where='{ key = "producer_rate" }'),
            "p.toml:6: rule one: key cannot be producer_rate Hint: Did you mean producer_byte_rate?",
        ),
        (
            rule(**OF_TOPICS, must="{ value = { at_last = 2 } }"),
            "p.toml:5: rule one: at_last is not a comparison for value Hint: Did you mean at_least?",
        ),
        (rule(severty='"warn"'), "p.toml:6: rule one: severty is not a word of a rule Hint: Did you mean severity?"),
        (rule(severity='"warning"'), "p.toml:6: rule one: severity cannot be warning Hint: Did you mean warn?"),
        (rule(reason=""), "p.toml:1: rule one: reason is required Hint: It is shown when the rule is broken"),
        (rule(name='""'), "p.toml:2: rule 1 has no name Hint: Refusals show it"),
        (rule() + "\n" + rule(), "p.toml:7: rule one: there is another rule of that name"),
        (rule(forbid=""), "p.toml:2: rule one: has no assertion Hint: One of forbid, must, required, sum."),
        (rule(must="{ value = 1 }"), "p.toml:6: rule one: has several assertions: forbid, must"),
        (rule(forbid="false"), "p.toml:5: rule one: forbid is true, or left out"),
        (
            rule(**OF_PRODUCE, must='{ value = { at_most = "5 parsec/s" } }'),
            "p.toml:6: rule one: parsec/s does not fit producer_byte_rate, which counts bytes/s Hint: It takes kB",
        ),
        (
            rule(
                frame='"CONFIGS"', where='{ key = "retention.ms" }', forbid="", must='{ value = { at_least = "7GB" } }'
            ),
            "p.toml:6: rule one: GB does not fit retention.ms Hint: It takes ms, s, min, h, d.",
        ),
        (
            rule(frame='"CONFIGS"', forbid="", must="{ source = { at_least = 7 } }"),
            "p.toml:5: rule one: source of CONFIGS is text, and at_least compares numbers",
        ),
        (
            rule(**OF_PRODUCE, sum='{ at_most = "80% of capacity" }'),
            "p.toml:6: rule one: the policy has no capacity of brokers Hint",
        ),
        (rule(**{**OF_PRODUCE, "where": ""}, sum="{ at_most = 1 }"), "values of different keys do not add up"),
        (rule(**OF_PRODUCE, sum="{ most = 1 }"), "p.toml:6: rule one: sum needs one bound"),
        (
            rule(frame='"FINDINGS"', forbid="", required='["a"]'),
            "required is for CONFIGS, QUOTAS, EFFECTIVE and CLIENT_CONFIGS",
        ),
        (rule(**OF_TOPICS, required="[]"), "p.toml:5: rule one: required is a list of keys"),
        ('[[brokers]]\nbyte_in = "1GB/s"', "p.toml:2: byte_in is not a capacity Hint: Did you mean bytes_in?"),
        ('[[brokers]]\nbytes_in = "1 Gbit/s"', "p.toml:2: Gbit/s does not fit producer_byte_rate"),
        ("[[brokers]]\nbytes_in = 5", "p.toml:2: bytes_in has no unit"),
        ("[[brokers]]\ncluster = 5", "p.toml:2: cluster is the id of a cluster, a text"),
        ("[[rules]]\nname = 'x'", "p.toml:1: rules is not a word of a policy Hint: Did you mean rule?"),
        ("rule = 3", "p.toml:1: rules are tables, [[rule]]"),
        ("pairs = 3", "p.toml:1: pairs is the name of a Parquet or CSV file"),
        ("[[rule]]\nname = 'x'\nname = 'y'\n", "p.toml:3: a key is there twice"),
        ("[[rule]]\n\tname : x", "p.toml is not TOML: "),
        (
            rule(where='{ user = "import os" }', must="{ value = \"__import__('os')\" }"),
            "several assertions: forbid, must",
        ),
    ],
)
def test_one_line_says_what_is_wrong_and_where(text, says):
    """The policy was wrong somewhere, said a stack trace."""
    with pytest.raises(kn.UsageError) as caught:
        read(text, "p.toml")
    said = " Hint: ".join(str(part) for part in (caught.value, caught.value.hint) if part)
    assert says in said
    assert "\n" not in said


def test_the_line_is_of_the_rule_that_is_wrong():
    """The line was that of the same word in another rule, where it was right."""
    first = rule(name='"first"', where='{ level = "USER" }')
    second = rule(name='"second"', frame='"EFFECTIVE"', where='{ user = "a", entity = "USER" }  # entity')
    with pytest.raises(kn.UsageError, match=r"p\.toml:13: rule second: entity is not a column of EFFECTIVE"):
        read(f"{first}\n\n{second}", "p.toml")


def test_a_file_that_is_none(tmp_path):
    """A missing policy was not a policy, and everything was allowed."""
    with pytest.raises(kn.NotFound, match="is not there, so it cannot be a policy"):
        load(tmp_path / "no.toml")
    with pytest.raises(kn.UsageError, match="is not a file"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'pairs = "\xe9"')
    with pytest.raises(kn.Invalid, match="not UTF-8"):
        load(tmp_path / "latin.toml")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(kn.UsageError, match="is not a file"):
        load(tmp_path / "pipe")


def test_clients_come_from_beside_the_policy(tmp_path: Path):
    """The policy was run from another folder, and its clients were not found."""
    (tmp_path / "clients.csv").write_text("user,client_id\nbob,app\n")
    text = 'pairs = "clients.csv"\n' + rule(**OF_PRODUCE, must="{ value = { set = true } }")
    (tmp_path / "p.toml").write_text(text)
    answer = load(tmp_path / "p.toml").check(held(quotas(("user=alice", "producer_byte_rate", 1e6))))
    assert answer.to_arrow()["resource"].to_pylist() == ["user=bob client-id=app"]
    (tmp_path / "clients.csv").unlink()
    with pytest.raises(kn.NotFound, match=r"no such file: .*clients\.csv, which the policy names"):
        load(tmp_path / "p.toml").check(held())


def test_what_is_no_target_is_said():
    """A DataFrame was handed in, and the error was about an attribute."""
    with pytest.raises(kn.UsageError, match="a policy cannot check a dict"):
        policy('frame = "QUOTAS"\nforbid = true').check({})
