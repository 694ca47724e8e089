"""Words, help and errors in the terminal; no cluster is needed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.commands import run, terminal
from kadmin_nb.commands.session import Session
from kadmin_nb.errors import ConnectionFailed, KadminError, UsageError

COMMAND = [sys.executable, "-c", "from kadmin_nb.commands import main; main()"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "Usage: kadmin-nb [OPTIONS] COMMAND"),
        ("--help", "kadmin-nb quota resolve user=alice client-id=app"),
        ("quota", "kadmin-nb quota set producer_byte_rate=5MB/s"),
        ("quota set -h", "--detailed-exitcode"),
        ("plan --help", "kadmin-nb plan apply p.json"),
        ("runbook --help", "kadmin-nb runbook run change_quotas"),
        ("version", "kafka-python 3."),
        ("help", "kadmin-nb [OPTIONS] COMMAND"),
        ("help options", "--cluster TARGET"),
        ("quota describe --help --cluster nosuch", "--strict"),
    ],
)
def test_help_is_printed_and_all_is_well(kadmin, line, says):
    """--help ended with an error."""
    said = kadmin(*line.split())
    assert says in said.out
    assert (said.code, said.err) == (0, "")


def test_options_of_every_command_are_described_once(kadmin):
    """Twelve lines about --json and --out stood below each command, and I did not see its own."""
    once = kadmin("help", "options").out
    of_verbs = [kadmin(*line.split(), "--help").out for line in ("quota describe", "plan apply", "users", "config set")]
    for option in ("--cluster", "--property", "--timeout", "--as", "--out", "--json"):
        assert f"{option} " in once
        assert not [text for text in of_verbs if f"  {option} " in text]
    assert "--cluster, --json, --out and others: kadmin-nb help options" in of_verbs[0]


@pytest.mark.parametrize(
    ("line", "code", "says", "hint"),
    [
        (
            "quota alter",
            2,
            "unknown command 'alter' for 'kadmin-nb quota'",
            "mean kadmin-nb quota set or kadmin-nb quota",
        ),
        ("alter", 2, "unknown command 'alter' for 'kadmin-nb'", "kadmin-nb config set"),
        ("config unset retention.ms", 2, "unknown command 'unset'", "Did you mean kadmin-nb config reset?"),
        ("quota list", 2, "unknown command 'list'", "Did you mean kadmin-nb quota describe?"),
        ("quota --alter", 2, "No such option '--alter'", "Did you mean kadmin-nb quota set or kadmin-nb quota remove?"),
        ("topics", 2, "unknown command 'topics'", "Did you mean kadmin-nb config describe?"),
        ("kafka-topics", 2, "unknown command 'kafka-topics'", "Did you mean kadmin-nb config describe?"),
        ("kafka-acls", 2, "unknown command 'kafka-acls'", "One of "),
        ("config near", 2, "unknown command 'near'", "Did you mean kadmin-nb quota near?"),
        ("confg describe", 2, "unknown command 'confg'", "Did you mean config?"),
        ("describe", 2, "unknown command 'describe'", "kadmin-nb quota describe"),
        ("--version", 2, "No such option '--version'", "kadmin-nb version"),
        ("quota describe --entity-type users", 2, "No such option '--entity-type'", "user=alice"),
        ("quota set --user alice", 2, "No such option '--user'", "Did you mean user=…?"),
        ("--topic orders", 2, "No such option '--topic'", "Did you mean topic=…?"),
        ("quota describe --bootstrap-server a:1", 2, "No such option '--bootstrap-server'", "--cluster HOST:PORT?"),
        ("quota resolve alice", 2, "alice is neither type=value", "Did you mean user=alice?"),
        ("config describe orders", 2, "orders is neither type=value", "Did you mean topic=orders?"),
        ("quota describe producer_byte_rate", 2, "producer_byte_rate is neither", "For example producer_byte_rate"),
        ("quota set producer_byte_rate=1 user=o --save", 2, "Option '--save' requires an argument", ""),
        ("quota describe usr=alice", 2, "usr is not one of user, client-id, ip", "Did you mean user=…?"),
        ("quota set producer_byte_rate=5XB user=a", 2, "does not fit producer_byte_rate", "It takes kB"),
        ("quota set producer_byte_rate=0 user=a", 1, "must be greater than 0", "remove it"),
        ("quota set producer_byte_rate=1 user=a ip=1.1.1.1", 2, "ip cannot be combined", "ip=…"),
        ("quota set producer_byte_rate=1 user=", 2, "has no value", "no empty names"),
        ("quota describe", 2, "no cluster was named", "kadmin-nb"),
        ("quota describe --cluster nosuch", 1, "nosuch is not a file, not a profile", "host:port"),
        ("quota describe --cluster 127.0.0.1:1", 1, "Connection refused", "kadmin-nb local start"),
        ("quota describe --cluster nosuch.invalid:9092", 1, "nosuch.invalid", ""),
        ("quota describe --cluster nosuch.properties", 1, "nosuch.properties", ""),
        ("quota describe --property x --cluster a:1", 2, "x is not key=value", ""),
        (
            "quota describe --property sasl.mechansm=y --cluster a:1",
            2,
            "unknown Kafka client property sasl.mechansm",
            "",
        ),
        (
            "quota describe --out x.doc --cluster a:1",
            2,
            "does not end in .parquet, .csv, .json, .jsonl",
            "",
        ),
        ("quota resolve --pairs no.csv user=a", 1, "no such file: no.csv", ""),
        ("quota plan", 2, "unknown command 'plan' for 'kadmin-nb quota'", "Did you mean kadmin-nb plan?"),
        ("quota apply", 2, "unknown command 'apply' for 'kadmin-nb quota'", "Did you mean kadmin-nb plan apply?"),
        ("quota discard", 2, "unknown command 'discard'", "One of "),
        ("plan review p.json", 2, "unknown command 'review'", "One of "),
        ("plan", 2, "a file or a subcommand is required", "plan -f FILE"),
        ("plan -f no.txt", 1, "no.txt cannot be read", ""),
        ("plan show no.json", 1, "no such plan file: no.json", ""),
        ("plan --apply show no.json", 2, "these options belong to plan -f FILE", ""),
        (
            "use nosuch",
            1,
            "nosuch is not a file, not a profile (no kadmin-nb.toml was found) and not host:port",
            "host:port",
        ),
        ("use nosuch.properties", 1, "nosuch.properties is not a file, not a profile", ""),
        ("use a:b:c", 1, "a:b:c is not a file, not a profile", "localhost:9092"),
        ("local stop --name nosuch", 1, "nosuch", ""),
        ("local start --nodes 2", 2, "'2' is not one of '1', '3'", ""),
        ("runbook run nosuch", 1, "nosuch", ""),
        ("runbook run change_quotas -p reason=x -p reason=y", 2, "reason is given twice", ""),
        ("runbook run change_quotas -p x", 2, "x is not name=value", ""),
    ],
)
def test_a_wrong_line_is_one_line_on_standard_error(kadmin, line, code, says, hint):
    """A typing slip gave a stack trace, or exit status 0."""
    said = kadmin(*line.split())
    first, *more = said.err.rstrip("\n").split("\n")
    assert says in first
    assert hint in "".join(more)
    assert len(more) <= 1
    assert (said.code, said.out) == (code, "")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("quota describe 5 GB", "5 is neither type=value nor key=value"),
        ("quota set producer_byte_rate=5 GB user=alice", "GB is neither type=value nor key=value"),
        ("quota describe -c no-such:x", "no-such:x is not a file, not a profile"),
        ("quota describe -c nosuch", "nosuch is not a file, not a profile"),
    ],
)
def test_no_words_of_python_in_a_line_for_people(kadmin, line, says):
    """'GB' is not type=value; was None, wanted None."""
    first = kadmin(*line.split()).err.split("\n")[0]
    assert says in first
    assert not re.search(r"None|True|False|NoneType|\\\\|'", first), first


VOCABULARY = ["quota", "config", "plan", "describe", "set", "remove", "resolve", "tree", "reset", "apply", "discard",
              "user=a", "user=<any>", "user=<default>", "client-id=x", "ip=1", "topic=t", "broker=x", "user~=[",
              "producer_byte_rate=1", "retention.ms", "x=", "==", "~=", "--keys", "--as", "spark", "--strict",
              "--default", "--any", "user", "--", "-", "--help", "-f", "-k", "--detailed-exitcode",
              "--allow-unknown", "{x}", ""]  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.sampled_from(VOCABULARY) | st.text(max_size=5), max_size=7))
def test_any_words_are_answered_or_refused(words):
    """A strange line ended in a stack trace."""

    class Nowhere(Session):
        def _reached(self, target, properties):
            raise ConnectionFailed("nobody is there")

    with contextlib.suppress(KadminError):
        run([word for word in words if word not in OF_THIS_MACHINE], Nowhere())


OF_THIS_MACHINE = ("local", "demo", "runbook")


def test_a_word_that_is_no_text(kadmin):
    """A file name in another encoding gave a stack trace."""
    said = kadmin("quota", "describe", "user=\udcff")
    assert said.code == 2
    assert "is not UTF-8" in said.err


@pytest.fixture
def profiles(tmp_path, monkeypatch):
    """Two profiles, nobody listens at either."""
    place = tmp_path / "kadmin-nb.toml"
    place.write_text('[profiles.prod]\nbootstrap = "127.0.0.1:1"\n[profiles.my-test]\nbootstrap = "127.0.0.1:2"\n')
    monkeypatch.setenv("KADMIN_CONFIG", str(place))
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("KADMIN_PROFILE", raising=False)


@pytest.mark.usefixtures("profiles")
def test_use_chooses_for_the_lines_that_follow(kadmin):
    """`use` did nothing that the next command knew of, but for who typed eval around it."""
    assert kadmin("use", "prod").out == "current cluster: prod\n"
    assert "127.0.0.1:1: no connection" in kadmin("quota", "describe").err
    said = kadmin("use", "prd")
    assert "prd is not a file, not a profile" in said.err
    assert "Did you mean prod?" in said.err
    assert "127.0.0.1:1: no connection" in kadmin("quota", "describe").err


@pytest.mark.slow
@pytest.mark.usefixtures("profiles")
def test_use_takes_what_its_help_says(kadmin, tmp_path, monkeypatch):
    """use host:port was refused, though its help promises it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.properties").write_text("bootstrap.servers=127.0.0.1:4\n")
    for target, bootstrap in (("127.0.0.1:3", "127.0.0.1:3"), ("client.properties", "127.0.0.1:4")):
        monkeypatch.chdir(tmp_path)
        assert kadmin("use", target).code == 0
        monkeypatch.chdir("/")
        said = kadmin("quota", "describe").err
        assert bootstrap in said
        assert "kadmin-nb use TARGET chooses another" in said


@pytest.mark.slow
@pytest.mark.usefixtures("profiles")
def test_what_a_line_or_the_environment_names_comes_before_what_was_chosen(kadmin, monkeypatch):
    """A line went to another cluster than the one that its shell was set up for."""
    kadmin("use", "127.0.0.1:3")
    assert "127.0.0.1:2" in kadmin("quota", "describe", "--cluster", "my-test").err
    monkeypatch.setenv("KADMIN_PROFILE", "prod")
    assert "127.0.0.1:1" in kadmin("quota", "describe").err
    assert "takes precedence: prod" in kadmin("use", "my-test").out


@pytest.mark.slow
@pytest.mark.usefixtures("profiles")
def test_the_profile_of_the_environment(kadmin, monkeypatch):
    """KADMIN_PROFILE was not looked at."""
    assert kadmin("quota", "describe").code == 2
    monkeypatch.setenv("KADMIN_PROFILE", "prod")
    assert "127.0.0.1:1" in kadmin("quota", "describe").err
    assert "127.0.0.1:2" in kadmin("quota", "describe", "--cluster", "my-test").err


def test_shell_completion(monkeypatch, capsys):
    """Tab in bash did nothing."""
    monkeypatch.setenv("COMP_WORDS", "kadmin-nb quota set prod")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert terminal.complete("bash_complete") == 0
    assert capsys.readouterr().out == "plain,producer_byte_rate=\n"


@pytest.mark.slow
def test_ctrl_c_is_130():
    """Ctrl-C printed a stack trace."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen([*COMMAND, "quota", "describe", "--cluster", target],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        silent.settimeout(60)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        connection.close()
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_a_reader_that_went_away_is_no_failure():
    """`| head` printed BrokenPipeError."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, "--help"], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_narrow_encoding_prints_escapes():
    """A user called 名前 ended the program where the locale is ASCII."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([*COMMAND, "quota", "describe", "名前=x"], capture_output=True, env=environment, check=False)
    assert done.returncode == 2
    assert b"\\u540d\\u524d is not one of" in done.stderr


@pytest.mark.parametrize("number", ["nan", "inf", "1e300", "-5"])
@pytest.mark.parametrize(
    "line",
    [
        "plan apply p.json --wait",
        "plan verify p.json --wait",
        "plan apply p.json --usage used --gradual",
        "quota set producer_byte_rate=1kB/s user=a --apply --timeout",
        "quota near --percent",
    ],
)
def test_a_number_that_is_none_is_refused_before_anything_is_sent(line, number):
    """`--wait inf` changed the quota, and ended in a stack and exit 1: that nothing had been changed."""
    with pytest.raises(UsageError, match="Invalid value for '--"):
        run([*line.split(), number, "--cluster", "127.0.0.1:1"], Session())
