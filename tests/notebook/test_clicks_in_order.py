"""Widgets in a real kernel, as JupyterLab talks to them: over a subshell, while a cell runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

pytestmark = pytest.mark.slow

WIDGETS = """
import threading, time
from kadmin_nb.widgets import controls
from kadmin_nb.widgets.grid import Grid
from kadmin_nb.widgets.sheet import Arrangement, Column, Page, Result

class Sheet:
    columns, label, edited, legend = [Column("name", "name", is_editable=True)], "names", [], ""
    __len__ = lambda self: 1
    page = lambda self, first, count: Page(0, ["a"], [["a"]])
    keys = lambda self, first, count: ["a"]
    watch = lambda self, listener: None
    def edit(self, cells):
        self.edited += [cell.text for cell in cells]
        return Result("staged")

sheet, clicked, gate = Sheet(), [], threading.Event()
field, grid = controls.text("a key"), Grid(sheet)

def act():
    clicked.append((field.value, *sheet.edited))
    button.disabled = not button.disabled  # it says something in the thread that the click came in
    if len(clicked) == 2:
        gate.set()

button = controls.button("Apply", act)
print(field.comm.comm_id, grid.comm.comm_id, button.comm.comm_id)
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    """The client of a kernel."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path), env=dict(os.environ))
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def printed(client: Any, code: str) -> str:
    """What a cell prints."""
    texts: list[str] = []
    client.execute_interactive(code, timeout=60, output_hook=lambda m: texts.append(str(m["content"].get("text", ""))))
    return "".join(texts).strip()


class Page:
    """The page of a JupyterLab: all its messages name one subshell."""

    def __init__(self, client: Any) -> None:
        self._client = client
        client.control_channel.send(client.session.msg("create_subshell_request", {}))
        reply = client.control_channel.get_msg(timeout=30)["content"]
        self._subshell = reply["subshell_id"]  # the locked ipykernel has subshells

    def send(self, comm: str, data: dict[str, Any]) -> None:
        message = self._client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        message["header"]["subshell_id"] = self._subshell
        self._client.shell_channel.send(message)


def test_a_click_comes_after_what_was_typed_before_it(client: Any) -> None:
    """I typed the key again and clicked *Apply*: it was refused as if I had typed nothing."""
    page = Page(client)
    field, grid, button = printed(client, WIDGETS).split()
    click = {"method": "custom", "content": {"event": "click"}}
    edit = {"position": 0, "key": "a", "column": "name", "text": "b"}
    page.send(button, click)
    printed(client, "while not clicked: time.sleep(0.01)")
    cell = client.execute("gate.wait(10)")  # the main thread has no time for messages
    page.send(field, {"method": "update", "state": {"value": "typed"}, "buffer_paths": []})
    page.send(grid, {"method": "custom", "content": {"kind": "edit", "view": "v", "cells": [edit]}})
    page.send(button, click)
    while client.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != cell:
        pass
    assert printed(client, "print(clicked)") == "[('',), ('typed', 'b')]"
