"""A look at runs of the past: one whose processes are gone without a word is told so, and gets its page."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import KadminError, NotFound
from ..hints import plan_verb, terminal
from ..processes import Process
from .page import write_page
from .run_record import APPLYING, WITHOUT_A_WORD, read_record, write_record
from .run_result import RunResult

_MOST = 100
"""Documents of a folder, the newest, that are looked at before a run."""


def look_at(path: Path) -> RunResult:
    """The run of this record, which is settled.

    Raises
    ------
    NotFound, Invalid
        There is no such file; it is something else.
    """
    record = read_record(path)
    if not record:
        raise NotFound(f"no such record: {path}")
    return RunResult(_settled(path, record))


def settle(folder: Path) -> None:
    """Settle the runs in this folder that ended without a word: a run that ended in any other way has a page."""
    documents = [path for path in folder.glob("*.ipynb") if not path.with_suffix(".html").exists()]
    for document in sorted(documents, key=_written, reverse=True)[:_MOST]:
        with contextlib.suppress(KadminError):  # a file of somebody else's is no reason not to run
            path = document.with_suffix(".json")
            _settled(path, read_record(path))


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _settled(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The record; of a run that ended without a word it says so from now on, and the page is made of what there is."""
    if not _is_abandoned(record):
        return record
    settled = {**record, "ok": False, "error": _without_a_word(record)}
    write_record(path, settled)
    write_page(path.with_suffix(".ipynb"), path)
    return settled


def _is_abandoned(record: Mapping[str, Any]) -> bool:
    """True if nobody has said how it ended, and nobody is left who could."""
    processes = record.get("processes")
    if record.get("ok", True) is not None or not isinstance(processes, list) or not processes:
        return False
    return all(isinstance(one, dict) and _process(one).is_gone for one in processes)


def _process(named: Mapping[str, Any]) -> Process:
    machine, pid, began = (named.get(name) for name in ("machine", "pid", "began"))
    return Process(str(machine), pid if isinstance(pid, int) else 0, began if isinstance(began, int) else 0)


def _without_a_word(record: Mapping[str, Any]) -> dict[str, Any]:
    """The error of a run that was killed, and what goes on from there."""
    last = record["processes"][-1]
    hint = "Nothing was sent. Run it again."
    if record["state"] == APPLYING:
        hint = f"{terminal(plan_verb('apply', str(record.get('plan_id'))))} continues it, and says what was sent."
    elif record.get("changed"):
        hint = "The rows were sent: run it again, which changes nothing that is there already."
    message = f"its process {last.get('pid')} on {last.get('host')} is gone"
    return {"type": WITHOUT_A_WORD, "message": message, "code": None, "hint": hint}
