"""The sheet of quotas, without a browser: editing, undo, rows that come and go, what others do meanwhile."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kadmin_nb.errors import UsageError
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.plans.stage import Stage, edits_of
from kadmin_nb.widgets.grid import Block, pasted
from kadmin_nb.widgets.quota_sheet import QuotaSheet, QuotaTable
from kadmin_nb.widgets.sheet import Arrangement, CellText
from tests.widgets.stored_quotas import RATE, all_shown, many_users, quotas

STORED = {"user=<default>": "5MB/s", "user=alice": "1MB/s", "user=bob": "2MB/s"}


class Table:
    """A sheet and its stage."""

    def __init__(self, stored: Any = STORED) -> None:
        self.stage = Stage(lambda *edits: pytest.fail("nothing is planned here"))
        self.sheet = QuotaSheet(all_shown(quotas(stored) if isinstance(stored, dict) else stored), self.stage)

    def type(self, text: str, row: str = "user=alice", column: str = RATE) -> str:
        return self.sheet.edit([CellText(0, row, column, text)]).text

    def staged(self) -> dict[str, str | None]:
        return {str(edit.resource): edit.value for edit in edits_of(self.stage).staged().values()}

    def rows(self) -> list[str]:
        return list(self.sheet.keys(0, 1000))

    def marks(self) -> list[tuple[str, str, str | None]]:
        page = self.sheet.page(0, 1000)
        return [(page.keys[row], mark.state, mark.old) for row, _, mark in page.marks if mark.state]

    def arrange(self, words: str = "", **more: str) -> list[str]:
        self.sheet.arrange(Arrangement(words=words, **more))
        return self.rows()

    def block(self, text: str, rows: int = 1, columns: int = 1, column: str = RATE) -> Block:
        return Block("v", 0, self.rows()[0], column, rows, columns, text)


@pytest.fixture
def table() -> Table:
    return Table()


# -- undo, redo, discard


def test_undo_and_redo_go_action_by_action(table: Table) -> None:
    """I typed twice into one cell, and undo took both away."""
    table.type("2MB/s"), table.type("3MB/s")
    table.sheet.undo()
    assert table.staged() == {"user=alice": "2000000"}
    table.sheet.redo()
    assert table.staged() == {"user=alice": "3000000"}
    table.sheet.undo(), table.sheet.undo()
    assert (table.staged(), table.sheet.undo().text) == ({}, "nothing to undo")


def test_undo_leaves_alone_what_code_has_staged_since(table: Table) -> None:
    """A cell of my notebook staged 9 MB/s, I pressed Ctrl-Z for an older edit, and the 9 were gone."""
    table.sheet.edit([CellText(0, "user=alice", RATE, "2MB/s"), CellText(1, "user=bob", RATE, "3MB/s")])
    table.stage.set_quota(RATE, "9MB/s", user="alice")
    result = table.sheet.undo()
    assert table.staged() == {"user=alice": "9000000"}
    assert (result.ok, result.text) == (False, "undo: 1 cell changed elsewhere since, and stay")


def test_what_was_discarded_is_brought_back_by_undo(table: Table) -> None:
    """One of my edits was wrong, the others cost me an hour."""
    table.type("2MB/s"), table.type("x", "user=bob")
    assert table.sheet.discard().text == "Discarded 2 edits. Undo brings them back."
    assert (table.staged(), table.sheet.refused()) == ({}, {})
    table.sheet.undo()
    assert (table.staged(), len(table.sheet.refused())) == ({"user=alice": "2000000"}, 1)
    table.type("2MB/s", "user=bob")  # what it was: nothing is staged there
    assert (table.staged(), table.sheet.refused()) == ({"user=alice": "2000000"}, {})


# -- states


def test_the_states_of_cells(table: Table) -> None:
    """I cannot tell what is staged, what was refused, and what I should be afraid of."""
    table.type("2MB/s"), table.type("x", "user=bob"), table.type("", "user=<default>")
    assert table.marks() == [
        ("user=<default>", "danger", "5 MB/s"),
        ("user=alice", "staged", "1 MB/s"),
        ("user=bob", "refused", "2 MB/s"),
    ]
    assert [len(table.sheet._judge()), len(table.sheet.refused()), len(table.sheet.dangers())] == [2, 1, 1]


def test_what_is_typed_as_it_is_stored_is_not_staged(table: Table) -> None:
    """I typed the same number, and it counts as a change."""
    table.type("2MB/s"), table.type("1000kB/s")
    assert table.staged() == {}


# -- rows


def test_a_row_is_added_for_every_shape(table: Table) -> None:
    """Some entities can only be typed as a line."""
    shapes = ["user=x client-id=y", "user=x client-id=<default>", "user=x", "user=<default> client-id=y"]
    shapes += ["user=<default> client-id=<default>", "client-id=y", "client-id=<default>", "ip=10.0.0.1"]
    shapes += ["ip=<default>", "user==<default>"]
    for words in shapes:
        assert table.sheet.add(Entity.parse(words)) == 0
    assert table.rows()[: len(shapes)] == shapes[::-1]
    assert Entity.parse("user==<default>").get("user") != DEFAULT


def test_an_entity_that_has_a_row_is_not_added_twice(table: Table) -> None:
    """I added bob, and there he was twice."""
    assert (table.sheet.add(Entity.parse("user=bob")), len(table.rows())) == (2, 3)
    table.arrange("user=alice")
    assert table.sheet.add(Entity.parse("user=bob")) == 2  # the filter hid it


def test_an_added_row_in_which_nothing_was_typed_is_gone_when_quotas_are_read_again(table: Table) -> None:
    """I added a row by mistake, and cannot get rid of it."""
    table.sheet.add(Entity.parse("user=carol"))
    table.sheet.add(Entity.parse("user=dora"))
    table.type("1MB/s", "user=dora")
    assert table.rows()[:2] == ["user=dora", "user=carol"]
    assert table.sheet.read_stored(table.sheet.stored).text == "reloaded: 4 rows"
    assert table.rows() == ["user=dora", *STORED]


def test_what_code_stages_for_a_new_entity_gets_a_row(table: Table) -> None:
    """I staged in a cell beside the open editor, and do not see it there."""
    table.stage.set_quota(RATE, "1MB/s", user="carol")
    assert (table.rows()[0], table.marks()) == ("user=carol", [("user=carol", "staged", "")])


# -- what others do meanwhile


def test_quotas_are_read_again_and_what_is_staged_stays(table: Table) -> None:
    """A colleague changed quotas while my editor was open."""
    table.type("2MB/s")
    result = table.sheet.read_stored(
        all_shown(
            quotas({"user=alice": "7MB/s", "user=<default>": "5MB/s", "ip=::1": {"connection_creation_rate": "5"}})
        )
    )
    assert result.text == "reloaded: 3 rows"
    assert (table.staged(), table.marks()) == ({"user=alice": "2000000"}, [("user=alice", "staged", "7 MB/s")])
    assert sorted(table.rows()) == ["ip=::1", "user=<default>", "user=alice"]
    assert table.sheet.read_stored(table.sheet.stored).ok


# -- filter


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("user=<default>", ["user=<default>", "user=<default> client-id=app"]),
        ("user==<default>", ["user==<default>"]),
        ("team-*app", ["user=team-a client-id=app"]),
        ("ALIC", ["user=alice"]),
        ("user=team-a app", ["user=team-a client-id=app"]),
        ("ip=*", ["ip=10.0.0.1"]),
        ("nobody", []),
        ("user=al", ["user=alice"]),
        ("a client-id=<", ["user=team-a client-id=<default>"]),
        ("team-a client-id", ["user=team-a client-id=app", "user=team-a client-id=<default>"]),
        (
            "=<default>",
            ["user=<default>", "user==<default>", "user=<default> client-id=app", "user=team-a client-id=<default>"],
        ),
    ],
)
def test_the_words_of_the_filter(words: str, shown: list[str]) -> None:
    """I typed a part of a name, and found nothing."""
    names = [
        "user=alice",
        "user=<default>",
        "user==<default>",
        "user=<default> client-id=app",
        "user=team-a client-id=app",
    ]
    names += ["user=team-a client-id=<default>"]
    stored = dict.fromkeys(names, "1MB/s") | {"ip=10.0.0.1": {"connection_creation_rate": "5"}}
    assert sorted(Table(stored).arrange(words)) == sorted(shown)


def test_rows_are_chosen_by_the_state_of_their_cells(table: Table) -> None:
    """Ten edits among a thousand rows: where are they?"""
    table.type("2MB/s"), table.type("x", "user=bob"), table.type("", "user=<default>")
    assert table.arrange(show="staged") == ["user=<default>", "user=alice", "user=bob"]
    table.sheet.undo(), table.sheet.undo()
    assert table.arrange(show="staged") == ["user=alice"]


# -- blocks


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("1MB/s\r\n2MB/s\r\n", ["1MB/s", "2MB/s"]),
        ('"1MB/s"\n"2MB\t/s"\n', ["1MB/s", "2MB\t/s"]),
        ('"a\nb"\n"say ""c"""', ["a\nb", 'say "c"']),
        ("1MB/s", ["1MB/s"]),
    ],
    ids=["CRLF", "quoted, with a tab", "a line end and quotes within", "one"],
)
def test_texts_come_as_spreadsheets_write_them(table: Table, text: str, cells: list[str]) -> None:
    """I copied from a spreadsheet, and quotes and line ends came along."""
    assert [cell.text for cell in pasted(table.sheet, table.block(text))] == cells


@pytest.mark.parametrize(
    ("text", "rows", "columns", "message"),
    [
        ("1\n2\n3", 2, 1, "the copied block has 3 × 1 cells, the selection 2 × 1 cells; nothing was pasted"),
        ("1\n2\n3\n4", 1, 1, "the block has 4 × 1 cells, and only 3 × 1 cells are left there"),
        ("1\t2\t3\t4\t5\t6\t7", 1, 1, "the block has 1 × 7 cells, and only 1 × 5 cells are left there"),
    ],
    ids=["larger than the selection", "past the last row", "past the last column"],
)
def test_a_block_that_does_not_fit_is_one_line(table: Table, text: str, rows: int, columns: int, message: str) -> None:
    """I pasted more than there was room for: half of it went somewhere."""
    with pytest.raises(UsageError) as caught:
        pasted(table.sheet, table.block(text, rows, columns))
    assert (str(caught.value), table.staged()) == (message, {})


def test_one_text_fills_the_selection(table: Table) -> None:
    """I copied one cell, and want it in all of these."""
    table.sheet.edit(pasted(table.sheet, table.block("4MB/s", rows=3)))
    assert [*table.staged().values()] == ["4000000"] * 3


def test_a_thousand_cells_of_a_hundred_thousand_entities_are_judged_in_time() -> None:
    """I pasted a column of a spreadsheet and waited."""
    table = Table(many_users(100_000))
    pastes, edits = [], []
    for megabytes in range(2, 5):  # a collection of garbage falls into one of them
        cells = pasted(table.sheet, table.block("\n".join(f"{n + megabytes}MB/s" for n in range(1000))))
        begin = time.thread_time()
        table.sheet.edit(cells)
        table.sheet.page(0, 100)
        pastes.append(time.thread_time() - begin)
        begin = time.thread_time()
        table.type(f"{megabytes}MB/s", "user=u050000")
        table.sheet.page(0, 100)
        edits.append(time.thread_time() - begin)
    assert len(table.stage) == 1001
    assert min(pastes) < 0.5
    assert min(edits) < 0.1


@pytest.mark.parametrize("names", [["a", "b", "d"], []], ids=["some", "none"])
def test_an_entity_is_looked_up_wherever_its_row_stands(names: list[str]) -> None:
    """Among a million rows the wrong one was edited, after I had added one on top."""
    stored = QuotaTable.of(all_shown(quotas({f"user={name}": "1MB/s" for name in names})), (RATE,))
    wider = stored.with_rows([(Entity.parse("user=c"), RATE), (Entity.parse("user=0"), RATE)])
    wanted = {f"user={name}": row for row, name in enumerate([*names, "c", "0"])}
    assert wider.rows_of([*wanted, "user=zz", "user="]) == wanted
