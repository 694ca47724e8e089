"""The launcher: what it refuses before it starts, and what a run leaves behind. No broker."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.runbooks.run_record import RunRecord, to_json

pytest.importorskip("papermill")

Written = Callable[..., Path]
Outputs = Callable[[Path], str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"aply": True}, "unknown parameter aply"),
        ({"apply": "yes"}, "apply is declared bool"),
        ({"user": 7}, "user is declared str and got 7"),
        ({"user": float("nan")}, "user is declared str"),
        ({"password": "canary-9"}, "secret"),
        ({"user": "https://a:canary-9@host"}, "looks like a secret"),
        ({"PAPERMILL_OUTPUT_PATH": "x.ipynb"}, "unknown parameter PAPERMILL_OUTPUT_PATH"),
    ],
)
def test_bad_parameters_are_refused_before_anything_starts(
    written: Written, folder: Path, parameters: dict[str, object], words: str
) -> None:
    """The run started, wrote my password into a document, and then complained."""
    mine = written("user: str = ''\napply: bool = False\n")
    with pytest.raises(kn.UsageError) as refused:
        kn.runbooks.run(mine, parameters)
    assert words in str(refused.value)
    assert "canary-9" not in f"{refused.value}{refused.value.hint}"
    assert left(folder) == {"mine.ipynb"}


@pytest.mark.parametrize(("output", "words"), [("x.html", "neither a folder"), ("mine.ipynb", "the runbook itself")])
def test_an_output_that_cannot_be_is_refused(written: Written, output: str, words: str) -> None:
    """It overwrote the runbook."""
    with pytest.raises(kn.UsageError, match=words):
        kn.runbooks.run(written("a: int = 1\n"), output=output)


@pytest.mark.slow
def test_a_run_leaves_document_page_and_record(
    written: Written, outputs: Outputs, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """I wanted to read what was done, and found a progress bar in my log."""
    mine = written("user: str = ''\napply: bool = False\nn: list[int] = []\n", "print(params, type(n))")
    run = kn.runbooks.run(
        mine, {"user": "007", "apply": "false", "n": "[1, 2]"}, output=folder / "a {b} $c" / "out.ipynb"
    )
    assert "Parameters(user='007', apply=False, n=[1, 2]) <class 'list'>" in outputs(run.document)
    assert left(run.document.parent) == {"out.ipynb", "out.json"}
    assert json.loads(run.record.read_text()) == json.loads(to_json(run.result))
    assert (run.result.state, run.result.parameters["user"]) == ("finished", "007")
    assert repr(run).startswith("mine: finished\n")
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_it_runs_from_a_notebook_too(written: Written) -> None:
    """RuntimeError: this event loop is already running."""

    async def cell() -> str:
        return str(kn.runbooks.run(written("a: int = 1\n")).result.state)

    assert asyncio.run(cell()) == "finished"


@pytest.mark.slow
def test_the_kernel_is_this_python_whatever_is_registered(
    written: Written, outputs: Outputs, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ran in another environment, whose kernel was registered as python3."""
    spec = folder / "jupyter" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text('{"argv": ["/bin/false"], "display_name": "x", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    monkeypatch.setenv("HOME", str(folder / "empty"))
    run = kn.runbooks.run(written("a: int = 1\n", "import sys; print(sys.executable)"))
    assert sys.executable in outputs(run.document)


@pytest.mark.slow
def test_a_failed_run_is_a_document_with_the_error(written: Written, outputs: Outputs, folder: Path) -> None:
    """It failed, and there was nothing to look at."""
    cell = "raise kn.NotAuthorized('no', code='CLUSTER_AUTHORIZATION_FAILED', hint='Ask.')"
    with pytest.raises(kn.NotAuthorized, match=r"^no$") as failed:
        kn.runbooks.run(written("a: int = 1\n", cell, "print('later')"), output="out.ipynb")
    assert "In [3] of" in (failed.value.hint or "")
    assert "out.ipynb" in (failed.value.hint or "")
    assert "no" in outputs(folder / "out.ipynb").splitlines()
    assert "later" not in outputs(folder / "out.ipynb")
    record = json.loads((folder / "out.json").read_text())
    assert (record["state"], record["ok"], record["error"]["type"]) == ("failed", False, "NotAuthorized")


@pytest.mark.slow
def test_what_is_not_ours_is_named_with_its_type(written: Written) -> None:
    """It said KadminError, and not that I divide by zero."""
    with pytest.raises(kn.KadminError, match=r"^ZeroDivisionError: division by zero$"):
        kn.runbooks.run(written("a: int = 0\n", "1 / a"))


@pytest.mark.slow
def test_a_kernel_that_dies_leaves_its_document(written: Written, outputs: Outputs, folder: Path) -> None:
    """The kernel was killed, and the launcher hung."""
    mine = written("a: int = 1\n", "print('before')", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(kn.KadminError, match="the kernel died"):
        kn.runbooks.run(mine, output="out.ipynb")
    assert "before" in outputs(folder / "out.ipynb")
    assert json.loads((folder / "out.json").read_text())["ok"] is False


@pytest.mark.slow
def test_an_interrupted_run_leaves_document_and_record_and_no_kernel(written: Written, folder: Path) -> None:
    """I pressed Ctrl-C, and the kernel went on in the dark."""
    cells = ("import os, pathlib; pathlib.Path('pid').write_text(str(os.getpid()))", "import time; time.sleep(60)")
    mine = str(written("a: int = 1", *cells))
    code = f"import kadmin_nb as kn; kn.runbooks.run({mine!r}, output='out.ipynb')"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, start_new_session=True) as running:
        eventually(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
        running.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in running.communicate(timeout=30)[1]
    eventually(lambda: not is_alive(int((folder / "pid").read_text())))
    assert json.loads((folder / "out.json").read_text())["error"]["type"] == "KeyboardInterrupt"
    assert (folder / "out.ipynb").exists()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(holds: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_an_old_record_is_not_taken_for_this_run(written: Written, folder: Path) -> None:
    """It failed at once, and the record said applied."""
    (folder / "out.json").write_text('{"state": "applied", "ok": true}')
    with pytest.raises(kn.KadminError):
        kn.runbooks.run(written("a: int = 0\n", "1 / a"), output="out.ipynb")
    assert json.loads((folder / "out.json").read_text())["state"] == "failed"


def test_a_record_that_cannot_be_written_is_named(folder: Path) -> None:
    """The change was applied, and then the disk was full: now the first write comes before anything else."""
    record = RunRecord(runbook="mine", state="started", ok=None, parameters={})
    with pytest.raises(kn.NotFound, match=r"x\.json cannot be written: No such file"):
        record.write(folder / "no such folder" / "x.json")


@pytest.mark.slow
def test_a_run_that_was_refused_shows_what_was_planned(written: Written) -> None:
    """The plan has 2 changes, the limit is 1: which two?"""
    cells = (
        "record = kn.runbooks.record('mine', params, globals())",
        "from tests.runbooks.test_record import PLAN",
        "with record:\n    record.plan = PLAN\n    kn.runbooks.gate(PLAN, limit=0)",
    )
    with pytest.raises(kn.PlanRefused, match="has 1 changes, the limit is 0") as refused:
        kn.runbooks.run(written("a: int = 1\n", *cells))
    assert [(row["resource"], row["key"]) for row in refused.value.rows.to_arrow().to_pylist()] == [
        ("user=alice", "producer_byte_rate")
    ]


@pytest.mark.slow
def test_a_report_that_found_something_ends_with_3(
    written: Written, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scheduler tried the audit three times, as if a broker were away, and the alarm came ten minutes late."""
    look = "record.verdicts.look('a check', ['x'], look='bad', ok='good')\nrecord.finish(fail=True)"
    mine = written("a: int = 1\n", "record = kn.runbooks.record('mine', params, globals())", look)
    assert terminal.run_line(["runbook", "run", str(mine), "-o", "out.ipynb"]) == 3
    assert capsys.readouterr().err.startswith("NeedsLook: 1 of 1 checks needs a look: a check\n")
