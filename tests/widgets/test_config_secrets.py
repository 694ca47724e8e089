"""Secrets in the config editor: set by reference, never shown, never in a message, a trait, a page or a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kadmin_nb.frames.blocks import NOTEBOOK
from kadmin_nb.plans.stage import edits_of
from kadmin_nb.widgets.grid import Grid
from tests.widgets.configs_of_double import Sheet

PASSWORD = "broker=1 ssl.keystore.password"
STORED, TYPED = "stored-canary", "typed-canary-5b1e"


class Watched:
    """An editor of a broker, and everything that leaves it."""

    def __init__(self) -> None:
        self.sheet = Sheet("broker=1", "broker=<default>", "topic=orders")
        self.grid = Grid(self.sheet.sheet)
        self.sent: list[Any] = []
        self.grid.send = lambda message, buffers=None: self.sent.append(message)

    def receive(self, kind: str, **fields: Any) -> None:
        position = self.sheet.page().keys.index(PASSWORD)
        place = {"view": "v", "position": position, "key": PASSWORD, "column": "value"}
        cell = {name: place[name] for name in ("position", "key", "column")}
        content = {"cells": [{**cell, **fields}]} if kind == "edit" else {**place, **fields}
        self.grid._received(self.grid, {"kind": kind, "view": "v", **content}, [])

    def everything(self) -> str:
        """All that a page, a document, a journal of the kernel or an error could show."""
        stage, editor = self.sheet.stage, self.sheet.editor
        editor._focused = lambda key, column: None  # type: ignore[method-assign]
        editor._focus = (PASSWORD, "value")
        texts = [repr(stage), stage.as_html(), editor.as_text(NOTEBOOK), editor.as_html(NOTEBOOK)]
        texts += [
            str(editor.remarks()),
            str(editor.lines()),
            str(self.sheet.sheet.refused()),
            str(self.sheet.sheet._judge()),
        ]
        texts += [str(self.sheet.page()), str(edits_of(stage).staged()), str(stage.to_arrow().to_pylist())]
        return json.dumps([self.sent, self.grid.get_state(), texts], default=str)


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "edit", "text": TYPED},
        {"kind": "edit", "text": f" {TYPED}\n"},
        {"kind": "block", "text": TYPED, "rows": 1, "columns": 1},
    ],
)
def test_a_secret_that_is_typed_is_refused_and_not_repeated(watched: Watched, fields: dict[str, Any]) -> None:
    """I pasted the password, and it stood in the saved notebook."""
    watched.receive("window", first=0, count=100)
    watched.receive(**fields)
    assert watched.sheet.mark(PASSWORD).state == "refused"
    assert "env:NAME" in watched.sheet.mark(PASSWORD).note
    assert watched.sheet.staged(PASSWORD) is None
    for kind in ("undo", "redo"):
        watched.receive(kind)
        assert TYPED not in watched.everything()


def test_what_is_stored_is_hidden_and_can_be_replaced_by_reference(watched: Watched) -> None:
    """The cell of a password was empty: I thought that there was none."""
    assert watched.sheet.rows()[PASSWORD][2:] == ["[secure]", "dynamic broker"]
    watched.receive("edit", text="env:KEYSTORE")
    mark = watched.sheet.mark(PASSWORD)
    assert (watched.sheet.value(PASSWORD), mark.old) == ("env:KEYSTORE", "[secure]")
    assert watched.sheet.staged(PASSWORD) == ("set", "env:KEYSTORE")
    assert STORED not in watched.everything()


def test_a_secret_that_code_stages_is_hidden_too(watched: Watched) -> None:
    """A colleague's cell staged the password itself, and my table showed it."""
    watched.receive("window", first=0, count=100)
    watched.sheet.stage.set_config("ssl.keystore.password", TYPED, broker=1)
    assert watched.sheet.value(PASSWORD) == "[secure]"
    assert TYPED not in json.dumps([watched.sent, watched.grid.get_state()], default=str)
    assert TYPED not in str([watched.sheet.page(), watched.sheet.editor.remarks(), watched.sheet.editor.lines()])


def test_the_text_of_a_hidden_value_is_not_taken_for_one(watched: Watched) -> None:
    """I filled down over the password, and `[secure]` became the password."""
    watched.receive("edit", text="[secure]")
    assert watched.sheet.staged(PASSWORD) is None
    assert not watched.sheet.sheet.refused()
