"""The names that Python lacks on Windows taken away: everything but a local Kafka works without them.

This is not Windows: its file names, handles and consoles were not tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.broker

CHILD = """
import importlib.abc, json, os, select, signal, sys, time
# these look at sys.platform themselves
import deltalake, filelock, kafka.admin, pandas, papermill, platformdirs.unix, pyarrow

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("fcntl", "pwd", "grp", "termios", "tty", "pty", "resource", "readline"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
for name in ("fcntl", "pwd", "grp", "termios", "tty", "resource", "readline"):
    sys.modules.pop(name, None)
lacking = {
    os: ("O_NONBLOCK", "fchown", "chown", "getuid", "geteuid", "getgid", "getegid", "fork", "setsid", "killpg",
         "fchmod", "uname", "getpgid", "O_NOFOLLOW", "O_CLOEXEC", "sched_getaffinity"),
    signal: ("SIGKILL", "SIGHUP", "SIGSTOP", "SIGCONT", "SIGALRM", "SIGPIPE", "SIGWINCH"),
    select: ("poll", "epoll"),
    time: ("CLOCK_MONOTONIC", "CLOCK_BOOTTIME"),
}
for module, names in lacking.items():
    for name in names:
        module.__dict__.pop(name, None)

from kadmin_nb.commands import terminal

terminal.prepare()
said = [int(terminal.run_line(line)) for line in json.load(sys.stdin)]
json.dump(said, open("codes.json", "w"))
"""

POLICY = '''"""What may not be."""


def no_tiny_limit(quotas):
    """A limit below 1 kB/s stops its client."""
    return quotas[quotas["value"] < 1]
'''

PROFILE = '[profiles.here]\nbootstrap = "{bootstrap}"\npolicy = "policies.py"\n'


@pytest.fixture
def typed(kafka, tmp_path):
    """The exit codes of lines that are typed one after the other, without those names, and what was printed."""

    def run(lines: list[str]) -> tuple[list[int], str]:
        env = {**os.environ, "HOME": f"{tmp_path}/home", "KADMIN_STATE": f"{tmp_path}/state",
               "KADMIN_CONFIG": f"{tmp_path}/kadmin-nb.toml", "PYTHONPATH": os.pathsep.join(sys.path)}  # fmt: skip
        (tmp_path / "kadmin-nb.toml").write_text(PROFILE.format(bootstrap=kafka.bootstrap))
        (tmp_path / "policies.py").write_text(POLICY)
        words = json.dumps([line.split() for line in lines])
        done = subprocess.run(
            [sys.executable, "-c", CHILD], input=words, cwd=tmp_path, env=env, capture_output=True, text=True,
            timeout=240,
        )  # fmt: skip
        assert "AttributeError" not in done.stderr, done.stderr
        assert (tmp_path / "codes.json").exists(), done.stderr
        return json.loads((tmp_path / "codes.json").read_text()), done.stdout + done.stderr

    return run


@pytest.mark.long
def test_twenty_lines_work_without_the_names_that_windows_lacks(typed, unique, tmp_path):
    """I typed the first line on my laptop and got an AttributeError at files.py."""
    user = unique("user")
    declared = f"kadmin: 1\nquotas:\n  user={user}:\n    consumer_byte_rate: 4MB/s\n"
    (tmp_path / "quotas.yaml").write_text(declared)
    lines = [
        "version",
        "doctor --cluster here",
        "use here",
        "users --cluster here",
        "may-i --cluster here",
        f"quota set producer_byte_rate=1MB/s user={user} --apply --cluster here",
        f"quota describe user={user} --cluster here",
        f"quota resolve user={user} client-id=c --cluster here",
        f"quota why user={user} client-id=c --cluster here",
        "quota tree --cluster here",
        "quota audit --cluster here",
        "config describe broker=1 --cluster here",
        "config audit --cluster here",
        "export --out all.yaml --cluster here",
        "history record lake --cluster here",
        "history changes lake",
        "plan from quotas.yaml --save plan.json --cluster here",
        "plan show plan.json",
        "policy check policies.py --cluster here",
        "plan apply plan.json --cluster here",
        "plan log --cluster here",
        "plan rollback plan.json --cluster here",
        "runbook list",
        "runbook run quota_audit -p cluster=here -o audit.ipynb",
        f"quota remove producer_byte_rate user={user} --apply --cluster here",
    ]
    codes, said = typed(lines)
    assert {line: code for line, code in zip(lines, codes, strict=True) if code} == {}, said
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*")]
    assert [path for path in made if set('<>:"|?*') & set(str(path))] == []


def test_a_local_kafka_says_what_it_needs(typed):
    """`local start` ended in a traceback about SIGKILL."""
    codes, said = typed(["local start", "local", "demo"])
    assert codes == [1, 0, 1], said
    assert "a local Kafka needs Linux, macOS or WSL" in said
