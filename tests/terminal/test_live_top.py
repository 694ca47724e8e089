"""`kadmin-nb top`: the full screen, driven by keys."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

import kadmin_nb as kn
from kadmin_nb.commands import live as live_top
from kadmin_nb.commands.live_screen import Ladder, Top
from kadmin_nb.commands.session import Session
from kadmin_nb.commands.usage import UsageSource
from tests.hostile_names import HOSTILE

KEY = "producer_byte_rate"
RECORDED = Path(__file__).parents[1] / "analytics" / "recorded" / "broker-1"


def row(user: str, mean: float | None, limit: float | None, throttle_ms: float = 0.0) -> dict[str, Any]:
    peak = None if mean is None else mean * 1.2
    return {"key": KEY, "user": user, "client_id": "app", "brokers": 1, "mean": mean, "share": None, "peak": peak,
            "throttle_ms": throttle_ms, "limit": limit}  # fmt: skip


ROWS = [row("alice", 4e6, 5e6, 120.0), row("bob", 6e6, None), row("carol", None, 1e6)]


def driven(test: Callable[[Top, Pilot[Any]], Coroutine[Any, Any, None]], again: Callable[[], Any], **more: Any) -> None:
    """Runs the screen with this as its source, and a test of it."""

    async def run() -> None:
        screen = Top(
            again, more.get("ladder", lambda user, client_id: f"the ladder of {user}"), more.get("refresh", 60.0)
        )
        async with screen.run_test(size=(120, 30)) as pilot:
            await screen.workers.wait_for_complete()
            await pilot.pause()
            await test(screen, pilot)

    asyncio.run(run())


def names(screen: Top) -> list[str]:
    table = screen.query_one(DataTable)
    return [table.get_row_at(number)[0].plain for number in range(table.row_count)]


def test_it_sorts_filters_and_shows_a_ladder():
    """I typed quota top again and again to see who it is now."""

    async def test(screen: Top, pilot: Pilot[Any]) -> None:
        assert names(screen) == ["user=bob client-id=app", "user=alice client-id=app", "user=carol client-id=app"]
        table = screen.query_one(DataTable)
        cells = [cell.plain for cell in table.get_row_at(1)]
        assert cells[1:3] == [KEY, "4 MB/s"]
        assert cells[3].endswith(" 96 %")
        assert cells[4] == "120 ms"
        assert "red" in str(table.get_row_at(1)[0].style)
        assert table.get_row_at(0)[3].plain == "no limit"
        await pilot.press("s")
        assert names(screen)[0] == "user=alice client-id=app"
        await pilot.press("slash", "b", "o", "b", "enter")
        assert names(screen) == ["user=bob client-id=app"]
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(screen.screen, Ladder)
        assert "the ladder of bob" in str(screen.screen.query_one(Static).render())
        await pilot.press("escape")
        assert not isinstance(screen.screen, Ladder)
        await pilot.press("q")

    driven(test, lambda: (ROWS, "Watched 5 s."))


def test_an_error_is_a_line_and_the_rows_stay():
    """The broker restarted, and the screen was a traceback."""
    answers: list[Any] = [(ROWS, "Watched 5 s."), kn.errors.ConnectionFailed("no broker", hint="Is it up?")]

    def again() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def test(screen: Top, pilot: Pilot[Any]) -> None:
        screen.look()
        await screen.workers.wait_for_complete()
        await pilot.pause()
        assert "no broker" in str(screen.query_one("#said", Static).render())
        assert len(names(screen)) == 3

    driven(test, again)


def test_hostile_names_are_text():
    """A client was called [red], and its row was."""
    rows = [row(name, 1.0, None) for name in HOSTILE if name]

    async def test(screen: Top, pilot: Pilot[Any]) -> None:
        assert len(names(screen)) == len(rows)
        assert not any("\x1b" in name for name in names(screen))

    driven(test, lambda: (rows, "[bold]x"))


def test_it_wants_a_terminal_and_textual(kadmin, monkeypatch):
    """In a pipe it drew boxes."""
    refused = kadmin("top")
    assert (refused.code, "top needs a terminal" in refused.err, "quota top" in refused.err) == (2, True, True)
    monkeypatch.setitem(sys.modules, "kadmin_nb.commands.live_screen", None)
    with pytest.raises(kn.errors.Unsupported, match="textual is not installed"):
        live_top.screen(lambda: ([], ""), lambda user, client_id: None, 1.0)


@pytest.mark.broker
def test_rows_have_the_limits_of_the_cluster(kafka, cluster, unique):
    """The bar was against no limit at all."""
    user = unique("live")
    stage = cluster.new_stage()
    stage.set_quota(KEY, "5MB/s", user=user)
    cluster.apply(stage.plan()).raise_for_errors()
    usage = kn.usage.usage(kn.usage.requests([str(RECORDED)], broker=1, tz="UTC"))
    session = Session(connected=cluster, owns=False)
    looks = live_top.Looks(session, UsageSource(sources=(usage,)), None, 5.0)
    rows, watched = looks.again()
    assert rows
    assert {"limit", "mean", "throttle_ms"} <= {*rows[0]}
    assert watched
    assert looks.ladder(user, "app").to_arrow().num_rows
