"""Hosted notebooks have an older IPython and ipywidgets: lines and plain tables work, and one line says so."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.environments import ROOT, made, needed

OLD = {"ipython": "7.34.0", "ipywidgets": "7.7.5"}
pytestmark = [pytest.mark.long, pytest.mark.broker, pytest.mark.tried(**OLD)]

PACKAGES = ["ipykernel<7", "anywidget", "nbclient", "setuptools"]

RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)]
client = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=120, kernel_name="python3", allow_errors=True)
with client.setup_kernel():
    client.kc.allow_stdin = True  # as in a browser
    for place, cell in enumerate(cells):
        client.execute_cell(cell, place)
json.dump([cell.outputs for cell in cells], sys.stdout)
"""


@pytest.fixture(scope="module")
def programs() -> Path:
    return made("hosted-notebook", [*(f"{name}=={OLD[name]}" for name in OLD), *PACKAGES, *needed()])


def test_reading_planning_and_applying_work_without_widgets(kafka, programs, unique, tmp_path):
    """`%load_ext kadmin_nb` was 4 kB of traceback, and a table of more than 20 rows one between two tables."""
    users = [unique("user") for _ in range(21)]
    lines = "\n".join(f"set producer_byte_rate={number + 1}MB/s user={user}" for number, user in enumerate(users))
    cells = [
        "%load_ext kadmin_nb",
        f"%kadmin use {kafka.bootstrap}",
        f"%%kquota --apply\n{lines}",
        "%kquota describe",
        f"%kquota why user={users[0]}",
        f"%kquota set producer_byte_rate=9MB/s user={users[0]}",
        "%kquota edit",
    ]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/magics", "HOME": str(tmp_path), "KADMIN_CONFIG": os.devnull}
    done = subprocess.run(
        [programs / "python", "-c", RUN], input=json.dumps(cells), capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    loaded, _used, applied, described, why, staged, edited = json.loads(done.stdout)
    assert loaded == []
    for outputs, said in ((applied, "21 verified"), (described, users[20]), (why, "1 MB/s"), (staged, "1 staged")):
        assert "error" not in [one["output_type"] for one in outputs]
        assert said in outputs[-1]["data"]["text/plain"]
    assert [one["output_type"] for one in edited] == ["error", "execute_result"]
    assert edited[0]["evalue"] == "widgets need ipywidgets 8, and this is 7.7.5"
    assert len("".join(edited[0]["traceback"])) < 300
