"""A policy's file that cannot be meant is one clear line: the file, the line, the rule, the nearest word."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.policy.judged_snapshots import MB, held, quotas

TOO_HIGH = 'def too_high(quotas):\n    """Ask first."""\n    return quotas[quotas.value > 5e7]\n'
ALICE = held(quotas(("user=alice", "producer_byte_rate", 60 * MB)))


def states(given, target=ALICE, **more) -> list[tuple[str, str]]:
    return [(row["rule"], row["state"]) for row in kn.check(given, target, **more).to_arrow().to_pylist()]


def test_functions_of_a_file_are_rules_in_their_order(tmp_path: Path) -> None:
    """Which of my functions is a rule, and what is it called?"""
    file = tmp_path / "policies.py"
    file.write_text(
        "import kadmin_nb as kn\nfrom os.path import join\n\ndef _limit():\n    return 5e7\n\n"
        '@kn.rule(severity="danger")\ndef second(quotas):\n    """Why.\n\n    More."""\n    return quotas[:0]\n\n'
        + TOO_HIGH.replace("5e7", "_limit()")
    )
    rows = kn.check(file, ALICE).to_arrow().to_pylist()
    assert [(row["rule"], row["severity"], row["state"], row["reason"]) for row in rows] == [
        ("second", "danger", "kept", "Why."),
        ("too_high", "error", "broken", "Ask first."),
    ]
    assert (rows[1]["resource"], rows[1]["key"], rows[1]["value"]) == ("user=alice", "producer_byte_rate", "60000000")
    assert rows[1]["message"] == "user=alice: producer_byte_rate is 60 MB/s"
    assert states([file, lambda_free]) == [("second", "kept"), ("too_high", "broken"), ("lambda_free", "kept")]


def lambda_free(configs):
    """Configs alone."""
    return configs[:0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def f(quota):\n    'x'\n", "p.py:1: rule f: quota is not a frame Hint: Did you mean quotas?"),
        ("def f(x, **y):\n    'x'\n", "p.py:1: rule f: x is not a frame Hint: It takes any of quotas, configs"),
        ("x = 1\ndef f():\n    'x'\n", "p.py:2: rule f: it takes no frame Hint: It takes any of quotas"),
        ("def f(quotas):\n    pass\n", "p.py:1: rule f: it has no docstring Hint: Its first line is shown"),
        ("f = lambda quotas: quotas\n", "p.py:1: rule <lambda>: it has no docstring"),
        ("x = 1\n", "p.py has no rule Hint: A rule is a function that takes frames"),
        ("def f(quotas)\n", "p.py:1: SyntaxError: expected ':'"),
        ("\n1 / 0\n", "p.py:2: ZeroDivisionError: division by zero"),
        ("import os\nimport nosuch\n", "p.py:2: ModuleNotFoundError: No module named 'nosuch'"),
        ("\nraise SystemExit(0)\n", "p.py:2: SystemExit: 0"),
        ("def f(quotas):\n    'x'\n    y = 1\n    return quotas.valu\n", "p.py:4: rule f: AttributeError: 'DataFrame'"),
        ("def f(quotas):\n    'x'\n    exit(0)\n", "p.py:3: rule f: SystemExit: 0"),
        ("def f(quotas):\n    'x'\n", "p.py:1: rule f: it returned nothing, not rows of a frame Hint: Rows where"),
        ("def f(quotas):\n    'x'\n    return True\n", "p.py:1: rule f: it returned a bool, not rows of a frame"),
        ("def f(quotas):\n    'x'\n    return quotas.value\n", "p.py:1: rule f: it returned a Series, not rows"),
        (
            "import kadmin_nb as kn\n@kn.rule(severity='warn')\ndef f(quotas):\n    'x'\n",
            "p.py:2: UsageError: a rule cannot have the severity warn",
        ),
    ],
)
def test_one_line_says_what_is_wrong_and_where(text, says, tmp_path, monkeypatch) -> None:
    """The policy was wrong somewhere, said a stack trace."""
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(text)
    with pytest.raises(kn.UsageError) as caught:
        kn.check("p.py", ALICE)
    said = " Hint: ".join(str(part) for part in (caught.value, caught.value.hint) if part)
    assert says in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("mode", "says"), [(0o664, "can be written by others"), (0o602, "can be written by others"), (0o600, None)]
)
def test_a_file_that_others_may_write_is_not_run(mode, says, tmp_path) -> None:
    """A colleague on the shared host put a line into my policy, and it ran with my rights."""
    file = tmp_path / "p.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + TOO_HIGH)
    file.chmod(mode)
    if says is None:
        assert states(file) == [("too_high", "broken")]
        return
    with pytest.raises(kn.UsageError, match=says) as caught:
        kn.check(file, ALICE)
    assert caught.value.hint == f"chmod go-w {file}"
    assert not (tmp_path / "ran").exists()
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_file_of_another_user_is_not_run(tmp_path, monkeypatch) -> None:
    """A file in /tmp that somebody else had put there was run."""
    (tmp_path / "p.py").write_text(TOO_HIGH)
    (tmp_path / "p.py").chmod(0o644)
    owner = (tmp_path / "p.py").stat().st_uid
    os.chown(tmp_path / "p.py", 12345, -1) if os.geteuid() == 0 else monkeypatch.setattr(
        os, "geteuid", lambda: owner + 1
    )
    with pytest.raises(kn.UsageError, match="belongs to another user, so it is not run"):
        kn.check(tmp_path / "p.py", ALICE)


def test_a_file_that_is_none(tmp_path) -> None:
    """A missing policy was not a policy, and everything was allowed."""
    with pytest.raises(kn.NotFound, match="is not there, so it cannot be a policy"):
        kn.check(tmp_path / "no.py", ALICE)
    with pytest.raises(kn.UsageError, match="is not a file"):
        kn.check(tmp_path, ALICE)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(kn.UsageError, match="is not a file"):
        kn.check(tmp_path / "pipe", ALICE)


def test_what_is_no_rule_and_no_target_is_said() -> None:
    """A DataFrame was handed in, and the error was about an attribute."""
    with pytest.raises(kn.UsageError, match="a int is not a rule"):
        kn.check(3, ALICE)
    with pytest.raises(kn.UsageError, match="rules cannot be checked on a int"):
        kn.check(lambda_free, 3)
    assert [state for _, state in states([lambda_free], {"quota": 3})] == ["unknown"]


def test_a_rule_that_changes_its_frame_changes_no_other() -> None:
    """The first rule dropped rows in place, and the second found nothing."""

    def first(quotas):
        """It changes what it was given."""
        quotas["value"] = 0.0
        return quotas[:0]

    def second(quotas):
        """It reads the same."""
        return quotas[quotas.value > 5e7]

    assert states([first, second]) == [("first", "kept"), ("second", "broken")]
