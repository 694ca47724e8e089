"""What a document shows: the extension in a real kernel, run by nbclient and by papermill."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any

import nbformat
import papermill
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

pytestmark = pytest.mark.broker


def document(*cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def outputs(kafka, tmp_path, *cells):
    """The outputs of each cell, errors allowed, after the extension was loaded and the Kafka chosen."""
    notebook = document("%load_ext kadmin_nb", f"%kadmin use {kafka.bootstrap}", *cells)
    NotebookClient(notebook, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": tmp_path}},
                   timeout=60).execute()  # fmt: skip
    return [cell.outputs for cell in notebook.cells]


def test_what_cells_show(kafka, tmp_path):
    """Progress bars and warnings were left in my document."""
    loaded, used, read, staged, planned, applied, kept, helped = outputs(
        kafka, tmp_path,
        "%kquota describe user=nobody",
        "%%kquota\nset producer_byte_rate=1kB user='<b>kernel</b>'\nset consumer_byte_rate=1kB user='<b>kernel</b>'",
        "%kquota plan",
        "%kquota apply",
        "%kquota describe --out mine",
        "%kquota --help",
    )  # fmt: skip
    assert (loaded, kept) == ([], [])
    assert [one.output_type for one in used] == ["execute_result"]
    assert re.fullmatch(r"1 broker, Kafka \d\.\d, (no|\d+) quotas?, at .*", used[0].data["text/plain"])
    for shown in (read, staged, planned, applied, helped):
        assert [one.output_type for one in shown] == ["execute_result"]
    for shown in (staged, planned, applied):
        assert "&lt;b&gt;kernel" in shown[0].data["text/html"]
        assert "<b>" not in shown[0].data["text/html"]
    assert "2 verified" in applied[0].data["text/plain"]
    assert helped[0].data["text/plain"].startswith("Usage: %kquota [OPTIONS]")


def test_a_line_within_a_function_has_its_variables(kafka, tmp_path):
    """In my document the argument was alice, and the plan was for bob, the global."""
    function = "def limit(who):\n    %kquota set producer_byte_rate=1234567 user={who}\n"
    call = "who, why = 'bob', 'the fair'\nlimit('alice')"
    *_, planned, refused = outputs(
        kafka,
        tmp_path,
        function + call,
        "%kquota plan --reason {why}",
        "%kquota set producer_byte_rate=1MB/s user=$who",
    )
    assert "user=alice" in planned[0].data["text/plain"]
    assert "reason: the fair" in planned[0].data["text/plain"]
    assert refused[0].evalue == "$who is the name itself; write {who}"


FAILING = [
    ("%kquota describ", "UsageError", "unknown command 'describ' for '%kquota'", "Hint: Did you mean describe?"),
    ("%kconfig describe topic=nosuch", "NotFound", "UNKNOWN_TOPIC_OR_PARTITION for TOPIC nosuch", None),
    ("%kquota describe usr=\x1b[31m\u202ex", "UsageError", "usr is not one of", "Hint: Did you mean user=…?"),
]
FAILING_TOO = [
    ("%%kquota\nset producer_byte_rate=1 user={nobody}", "UsageError", "line 1: no such variable: nobody", None),
    ("%kquota describe --cluster 127.0.0.1:1", "ConnectionFailed", "127.0.0.1:1", "Hint: "),
    ("%kquota set producer_byte_rate=-1 user=x", "Invalid", "producer_byte_rate cannot be -1", "Hint: "),
    ("%kquota set 'usr\x1b=\u202ex' user=a", "UsageError", "usr\\x1b is neither", None),
]


@pytest.mark.parametrize(
    ("cell", "name", "says", "hint"),
    [*FAILING, *(pytest.param(*one, marks=pytest.mark.long) for one in FAILING_TOO)],
)
def test_an_error_in_a_document_is_its_name_and_one_line(kafka, tmp_path, cell, name, says, hint):
    """papermill reported an empty message; JupyterLab showed forty lines."""
    *_, [error] = outputs(kafka, tmp_path, cell)
    assert error.output_type == "error"
    assert error.ename == name
    assert says in error.evalue
    first, *more = error.traceback
    assert first.split() == f"{name}: {error.evalue}".split()
    assert len(more) <= 1
    assert hint is None or more[0].startswith(hint)
    assert "\x1b" not in "".join(error.traceback)
    assert "\u202e" not in "".join(error.traceback)


def test_rows_that_failed_are_shown_before_the_error(kafka, tmp_path):
    """Which of the topics was it?"""
    *_, [shown, error] = outputs(kafka, tmp_path, "%kconfig describe topic=nosuch topic=nosuch2")
    assert shown.output_type == "display_data"
    assert "nosuch2" in shown.data["text/html"]
    assert error.ename == "PartlyFailed"


def test_papermill_stops_and_says_why(kafka, tmp_path):
    """The run was green, and the change was not made."""
    place, done = tmp_path / "in.ipynb", tmp_path / "out.ipynb"
    nbformat.write(
        document("%load_ext kadmin_nb", f"%kadmin use {kafka.bootstrap}", "%kquota apply", "after = 1"), place
    )
    with pytest.raises(papermill.PapermillExecutionError, match="no plan was shown yet") as caught:
        papermill.execute_notebook(place, done, kernel_name="python3", progress_bar=False, log_output=False)
    assert caught.value.ename == "UsageError"
    executed = nbformat.read(done, 4)
    assert "no plan was shown yet" in str([cell.outputs for cell in executed.cells if cell.cell_type == "code"])
    assert executed.cells[-1].execution_count is None


WAITS = """
from kadmin_magics.magics import Line
import kadmin_magics.magics
kadmin_magics.magics.QUIET = 0.0
%load_ext kadmin_nb
"""


def _keep(seen, message):
    seen.append((message["msg_type"], message["content"]))


def test_progress_where_a_person_watches(kafka, tmp_path):
    """A long apply looked as if it hung; in the document each step was a line of its own."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path), env=dict(os.environ))
    try:
        client.execute_interactive(f"{WAITS}\n%kadmin use {kafka.bootstrap}", timeout=60, output_hook=lambda m: None)
        for watched in (True, False):
            seen: list[tuple[str, dict[str, Any]]] = []
            client.execute_interactive(
                f"%kquota set producer_byte_rate=1kB user=watched{watched} --apply",
                timeout=60, allow_stdin=watched, output_hook=partial(_keep, seen),
                stdin_hook=lambda m: None,
            )  # fmt: skip
            kinds = [kind for kind, _ in seen if kind in ("display_data", "update_display_data", "stream")]
            assert kinds[:1] == (["display_data"] if watched else [])
            assert set(kinds[1:]) <= {"update_display_data"}
            if watched:
                last = [content for kind, content in seen if kind == "update_display_data"][-1]
                assert last["data"]["text/plain"] == ""
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_an_interrupt_stops_a_call(kafka, tmp_path):
    """The stop button did nothing while a broker was silent."""
    silent = "import socket; s = socket.create_server(('127.0.0.1', 0)); target = f'127.0.0.1:{s.getsockname()[1]}'"
    later = "import _thread, threading\nthreading.Timer(1.0, _thread.interrupt_main).start()"
    notebook = document("%load_ext kadmin_nb", silent, f"{later}\n%kadmin use {{target}}", "1 + 1")
    client = NotebookClient(notebook, kernel_name="python3", allow_errors=True, timeout=60)
    client.execute()
    assert notebook.cells[2].outputs[-1].ename == "KeyboardInterrupt"
    assert notebook.cells[3].outputs[0].data["text/plain"] == "2"
